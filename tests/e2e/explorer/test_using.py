"""Links, choices, keys, files, a phone: what people do with the page."""

from __future__ import annotations

import csv
import io
import shutil
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

import lcdb
from tests.support.explorer import (
    VIEWS,
    saved,
)

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.server]


def test_a_link_is_the_figure(shown, host):
    shown.go("view=pair&dataset=11&a=QDC&b=NMC&metric=brier&n=200&axis=linear&sampling=bootstrap")
    link, title = shown.run("return [location.href, document.title]")
    before = shown.rows()
    shown.open(link)
    assert (
        shown.run("return document.title")
        == title
        == "QDC against NMC on balance-scale · learning curves"
    )
    assert shown.rows() == before
    shown.go("dataset=61&learner=LDC&learner=XGB&n=41&metric=speed&view=map")
    told = shown.text("#notice")
    assert all(
        word in told for word in ("“XGB”", "“speed”", "“map”", "n = 41 (the nearest size is 40)")
    )
    assert shown.text("#title") == "Accuracy of LDC on iris"


def test_choices_change_the_figure_and_its_address(shown):
    shown.go("dataset=61&learner=LDC&learner=QDC")
    shown.run(
        "const box = document.querySelector('#choose-metric'); box.value = 'brier';"
        "box.dispatchEvent(new Event('change'))"
    )
    shown.wait_for_text("#title", "Brier score of LDC and QDC on iris")
    assert "metric=brier" in shown.run("return location.hash")
    shown.click("#choose-learner-0")
    shown.wait_for_text("#title", "Brier score of NMC, LDC and QDC on iris")
    shown.run(
        "const range = document.querySelector('#choose-n'); range.value = 3;"
        "range.dispatchEvent(new Event('input'))"
    )
    shown.wait_for_text("#reading caption", "At n = 5")
    shown.click("#choose-axis-linear")
    shown.wait(lambda: "axis=linear" in shown.run("return location.hash"), "the linear axis")
    shown.click("#view-ranks")
    shown.wait_for_text("#title", "Ranks by mean Brier score")
    shown.run("history.back()")
    shown.wait_for_text("#title", "Brier score of NMC, LDC and QDC on iris")
    shown.click("[data-row=QDC] button")
    shown.wait_for_text("#title", "Brier score of QDC on iris at n = 5")


def test_the_keyboard_is_enough(shown):
    from selenium.webdriver.common.keys import Keys

    shown.go("dataset=61&learner=LDC&learner=NMC&n=50")
    chart = "[data-chart=curves]"
    shown.press(chart, Keys.ARROW_LEFT)
    shown.wait_for_text("#reading caption", "At n = 40")
    assert shown.text("#spoken").startswith("At n = 40, best first: LDC 0.9")
    shown.press(chart, Keys.HOME)
    shown.wait_for_text("#reading caption", "At n = 2,")
    shown.press(chart, Keys.END)
    shown.press(chart, Keys.ENTER)
    shown.wait_for_text("#title", "Accuracy of LDC on iris at n = 105")
    focus = "return document.activeElement.id"
    assert shown.wait(lambda: shown.run(focus) == "figure", "the focus")
    shown.press("#view-ranks", Keys.ENTER)
    shown.wait_for_text("#title", "Ranks by mean accuracy")
    assert shown.run(focus) == "view-ranks"
    shown.go("view=normality&dataset=11&one=NNC&n=437")
    shown.press("[data-chart=normality]", Keys.ARROW_DOWN)
    shown.wait_for_text("#reading caption", "iris at n = 105")
    shown.press("[data-chart=normality]", Keys.ENTER)
    shown.wait_for_text("#title", "Accuracy of NMC on iris at n = 105")


def test_a_click_on_a_curve_opens_its_distribution(shown):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By

    shown.go("dataset=61&learner=LDC&learner=NMC&n=2&band=none")
    chart = shown.driver.find_element(By.CSS_SELECTOR, "[data-chart=curves]")
    # At the right end, near the bottom: the worse of the two is nearer.
    right, down = chart.size["width"] // 2 - 120, chart.size["height"] // 2 - 80
    ActionChains(shown.driver).move_to_element_with_offset(chart, right, down).perform()
    shown.wait(lambda: "n = 2," not in shown.text("#reading caption"), "the pointer's n")
    told = shown.text("#reading caption").split(",")[0].removeprefix("At ")
    ActionChains(shown.driver).click().perform()
    shown.wait_for_text("#title", f"Accuracy of NMC on iris at {told}")


def test_files_hold_the_numbers_and_the_picture(shown, tmp_path):
    options = {"behavior": "allow", "downloadPath": str(tmp_path)}
    shown.driver.execute_cdp_cmd("Browser.setDownloadBehavior", options)
    shown.go("dataset=61&learner=LDC&metric=brier&sampling=additive&split=fixed")
    header, *lines = csv.reader(io.StringIO(saved(shown, "#save-csv")))
    with lcdb.tutorial() as db:
        labels = {"sampling": "additive", "split": "fixed", "metric": "brier"}
        curve = db.curve("iris", "LDC", **labels).dropna("n")
    assert [int(line[1]) for line in lines] == curve["n"].values.tolist()
    mean = [float(line[header.index("mean")]) for line in lines]
    assert np.allclose(mean, curve.mean("repetition"), rtol=1e-14, atol=0)
    picture = ElementTree.fromstring(saved(shown, "#save-svg-curves"))
    name = "{http://www.w3.org/2000/svg}"
    assert picture.find(f"{name}title").text == "Brier score of LDC on iris"
    strokes = {path.get("stroke") for path in picture.iter(f"{name}path")}
    assert "rgb(194, 65, 12)" in strokes
    shown.go("view=cell&dataset=61&one=LDC&n=50")
    header, *lines = csv.reader(io.StringIO(saved(shown, "#save-csv")))
    assert header == ["repetition", "value"] and len(lines) == 200


def test_tables_and_words_stand_for_the_charts(shown):
    shown.go("dataset=61&learner=LDC&learner=NMC")
    assert "Mean Accuracy at n = 105: LDC 0.9" in shown.run(
        "return document.querySelector('#charts svg').getAttribute('aria-label')"
    )
    shown.click("#numbers summary")
    rows = "return document.querySelectorAll('#numbers tbody tr').length"
    assert shown.wait(lambda: shown.run(rows)) == 30
    for view in VIEWS:
        shown.go(f"view={view}&dataset=61")
        unnamed = shown.run(
            "const told = (e) => e.ariaLabel || e.innerText || e.labels?.[0]?.innerText;"
            "return [...document.querySelectorAll('svg[data-chart], button, select, input')]"
            ".filter((e) => !told(e)).map((e) => e.outerHTML)"
        )
        assert unnamed == []
    assert shown.run("return document.documentElement.lang") == "en"


def test_it_fits_a_phone_and_has_a_dark_side(page, host):
    host.fault = None
    page.resize(375, 740)
    try:
        page.open(f"{host.url}/some/where/index.html")
        for view in VIEWS:
            page.go(f"view={view}&dataset=61")
            wide = page.run("return [document.documentElement.scrollWidth, innerWidth]")
            assert wide == [375, 375], view
        assert not page.run("return document.querySelector('#panel').open")
    finally:
        page.resize(1280, 1000)
    paper = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(paper)
    page.click("#theme")
    dark = page.run(paper)
    assert sum(map(int, dark[4:-1].split(","))) < 150 < 600 < sum(map(int, light[4:-1].split(",")))
    page.open(f"{host.url}/some/where/index.html")
    assert page.run(paper) == dark  # it is remembered
    page.click("#theme")
    page.run("localStorage.clear()")
    assert page.complaints() == []


# -- what there is not, and what is not there yet --------------------------------------------------


def options_of(page, name):
    return page.run(
        "return [...document.querySelectorAll(`#choose-${arguments[0]} option`)]"
        ".map((one) => [one.value, one.disabled, one.textContent])",
        name,
    )


def test_choices_without_curves_are_off_and_say_why(page, elsewhere, tmp_path):
    """The reference database has tuned curves of additive training sets alone, and no cubes."""
    (tmp_path / "db" / "summaries").mkdir(parents=True)
    with lcdb.reference() as db:
        shutil.copy(db.headers[61].path, tmp_path / "db" / "summaries" / "61.nc")
    elsewhere(tmp_path / "db")
    tuned = ["tuned", True, "tuned parameters (with additive sampling alone)"]
    assert options_of(page, "tuning") == [["default", False, "default parameters"], tuned]
    assert not any(is_off for _, is_off, _ in options_of(page, "sampling"))
    page.go("dataset=61&sampling=additive&tuning=tuned&view=ranks")
    assert options_of(page, "tuning")[1] == ["tuned", False, "tuned parameters"]
    off = ["random", True, "random sampling (with default parameters alone)"]
    assert options_of(page, "sampling")[1] == off
    why = page.run("return document.querySelector('#view-pair').title")
    assert why.startswith("Paired differences take the repetitions")
    page.click("#view-pair")
    assert page.run("return location.hash").count("view=ranks") == 1
    page.go("dataset=61&view=normality&metric=auc")
    assert page.run("return document.querySelector('#choose-test-lattice').disabled")
    page.go("dataset=61&view=normality&metric=accuracy")
    assert not page.run("return document.querySelector('#choose-test-lattice').disabled")


def test_learners_have_their_long_names(shown):
    shown.go("dataset=61&learner=LDC&learner=QDC")
    assert shown.rows()["LDC"][0] == "LDC linear discriminant classifier"
    assert "quadratic discriminant classifier" in shown.text(".learners")
    header, first, *_ = csv.reader(io.StringIO(saved(shown, "#save-csv")))
    assert (header[-1], first[-1]) == ("long_name", "linear discriminant classifier")


def test_the_map_of_normality_shows_what_has_come(shown, host):
    """One dataset's tests are held back: the other's are drawn, and the page says so."""
    go_on = threading.Event()

    def hold(handler, path, data, span):
        if "/data/61/" in path and path.endswith(".tests.bin"):
            go_on.wait(60)
        return False

    host.fault = hold
    try:
        shown.run("location.hash = 'view=normality&dataset=61&metric=brier'")
        shown.wait_for_text("#subtitle", "1 of 2 datasets so far")
        assert shown.text("#charts").count("balance-scale") == 1
        assert "iris" not in shown.text("#charts")
    finally:
        go_on.set()
    shown.wait_for_text("#charts", "iris")
    assert "so far" not in shown.text("#subtitle") and "LDC" in shown.rows()
