"""The page in a real Chromium: its numbers are xarray's, its links are figures, names are text."""

from __future__ import annotations

import csv
import io
import json
import zlib
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from math import isnan
from pathlib import Path
from urllib.parse import urlencode
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats as scipy_stats

import lcdb
from lcdb.schema import METRICS
from lcdb.site import write_site
from lcdb.summaries.make import summarize
from tests.support.browser import Page, chromium
from tests.support.counts import counts
from tests.support.cubes import toy_units, write_cube
from tests.support.hosts import answer, serving
from tests.support.plausible import plausible_scores, rename, snapshot_of, write_plausible

VIEWS = ("curves", "cell", "pair", "ranks", "normality")
HOSTILE = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'> \"q\" =1+1"
LONG = "long " * 2000


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """The tutorial's site in a subfolder of a static server."""
    root = tmp_path_factory.mktemp("host")
    list(write_site(lcdb.tutorial().path, root / "some" / "where"))
    with serving(root) as served:
        yield served


@pytest.fixture
def shown(page, host):
    """The page on its first figure; at the end nothing may be on the console."""
    host.fault = None
    host.forget()
    page.complaints()
    page.open(f"{host.url}/some/where/index.html")
    yield page
    assert page.complaints() == []


def rounded(x: float, digits: int = 4) -> str:
    """Return a number as the page shows it."""
    if isnan(x):
        return "–"
    if x == 0:
        return "0"
    exact = Decimal(abs(x))
    place = exact.adjusted() - digits + 1
    value = exact.quantize(Decimal(1).scaleb(place), ROUND_HALF_UP)
    if value.adjusted() > exact.adjusted():  # 0.99999 has become 1.0000
        place += 1
        value = exact.quantize(Decimal(1).scaleb(place), ROUND_HALF_UP)
    sign = "−" if x < 0 else ""
    if 1e-3 <= abs(x) < 1e5:
        return f"{sign}{value:f}"
    mantissa = value.scaleb(-value.adjusted())
    return f"{sign}{mantissa:f}e{value.adjusted():+d}"


def test_the_oracle_of_digits():
    told = {0.90625: "0.9063", 1.0: "1.000", 0.99996: "1.000", 2.5e-7: "2.500e-7", -0.5: "−0.5000"}
    assert {x: rounded(x) for x in told} == told


# -- numbers ---------------------------------------------------------------------------------------


def draw_state(rng: np.random.Generator, view: str, datasets: list[dict]) -> dict:
    """Return a random state of a view."""
    dataset = datasets[int(rng.integers(len(datasets)))]
    labels = dataset["labels"]
    some = rng.permutation(labels["learner"])[: int(rng.integers(2, len(labels["learner"]) + 1))]
    first, second = (str(name) for name in rng.permutation(labels["learner"])[:2])
    state = {dim: str(rng.choice(labels[dim])) for dim in ("sampling", "split", "tuning")}
    return state | {
        "view": view,
        "dataset": dataset["key"],
        "metric": str(rng.choice(list(METRICS))),
        "n": int(rng.choice(dataset["sizes"])),
        "learner": [str(name) for name in labels["learner"] if name in some],
        "one": first,
        "a": first,
        "b": second,
        "band": str(rng.choice(["none", "0.025", "0.05", "0.25", "0.005"])),
        "axis": str(rng.choice(["log", "linear"])),
        "middle": str(rng.choice(["mean", "median"])),
    }


def expected_rows(db: lcdb.Database, state: dict) -> dict[str, list[float]]:
    """Return the numbers that the page shows for a state, by the learner of a row."""
    key, n = int(state["dataset"]), state["n"]
    unit = {dim: state[dim] for dim in ("sampling", "split", "tuning")}
    metric, view = state["metric"], state["view"]
    rows = db[key].n_test.sel(sampling=unit["sampling"], split=unit["split"], n=n)
    scores = db.select(key, **unit, metric=metric)[key].sel(n=n)
    if view == "curves":
        part = scores.sel(learner=state["learner"])
        ends = [] if state["band"] == "none" else [float(state["band"]), 1 - float(state["band"])]
        columns = [
            part.mean("repetition"),
            part.quantile(0.5, "repetition"),
            *(part.quantile(q, "repetition") for q in ends),
            part.std("repetition", ddof=1),
        ]
        return {name: [float(c.sel(learner=name)) for c in columns] for name in state["learner"]}
    if view == "ranks":
        part = scores.sel(learner=state["learner"])
        is_mean = state["middle"] == "mean"
        by = part.mean("repetition") if is_mean else part.quantile(0.5, "repetition")
        sign = 1 if METRICS[metric].direction == "minimize" else -1
        places = scipy_stats.rankdata(sign * by.values.round(9))
        return {name: [float(places[i]), float(by[i])] for i, name in enumerate(state["learner"])}
    if view == "pair":
        found = lcdb.analysis.compare(
            *(scores.sel(learner=state[side]) for side in "ab"), resamples=2
        )
        names = ("mean_difference", "mean_low", "mean_high", "better", "better_low", "better_high")
        numbers = [float(found[name]) for name in names]
        return {"difference": numbers[:3], "better": numbers[3:]}
    tests = lcdb.analysis.normality(scores, rows if metric == "accuracy" else None)
    if view == "normality":
        return {
            name: [float(tests[v].sel(learner=name)) for v in ("shapiro_w", "shapiro_p")]
            for name in map(str, scores["learner"].values)
        }
    cell, tests = scores.sel(learner=state["one"]), tests.sel(learner=state["one"])
    one = {
        "mean": [float(cell.mean())],
        "standard deviation": [float(cell.std(ddof=1))],
        "skewness": [float(tests["skewness"])],
        "Shapiro–Wilk W": [float(tests["shapiro_w"])],
        "Shapiro–Wilk p": [float(tests["shapiro_p"])],
        "D’Agostino–Pearson p": [float(tests["dagostino_p"])],
    }
    if metric == "accuracy" and (tests["constant"] or not np.isnan(tests["lattice_p"])):
        one["normal on the lattice, p"] = [float(tests["lattice_p"])]
    return one


def digits_of(view: str, row: str, column: int) -> int:
    return 3 if row.endswith((" p", ", p")) or (view == "normality" and column) else 4


def screen(view: str, rows: dict[str, list[str]], columns: int, row: str) -> list[str]:
    return rows[row][1 : 1 + columns]


def compare_screen(page: Page, state: dict, expected: dict[str, list[float]]) -> None:
    rows = page.rows()
    assert set(expected) <= set(rows), (state, rows)
    for row, numbers in expected.items():
        wanted = [rounded(x, digits_of(state["view"], row, i)) for i, x in enumerate(numbers)]
        if digits_of(state["view"], row, len(numbers) - 1) == 3 and numbers[-1] == 0:
            wanted[-1] = "< 1e-300"
        if state["view"] == "ranks":
            wanted[0] = f"{numbers[0]:g}"
        assert screen(state["view"], rows, len(wanted), row) == wanted, (state, row)


def run_python(page: Page) -> object:
    """Run the Python that the page shows, as somebody who copies it would; return its result."""
    space: dict = {}
    code = page.run("return document.querySelector('#code code').textContent")
    exec(compile(code, "copied", "exec"), space)
    space["db"].close()
    return space["result"]


def python_rows(result, state: dict) -> dict[str, list[float]]:
    """Return the numbers of a result of copied Python, as far as `expected_rows` has them."""
    view, n = state["view"], state["n"]
    if view == "curves":
        at = result.sel(n=n)
        low = float("nan") if state["band"] == "none" else float(state["band"])
        q = [0.5] if isnan(low) else [0.5, low, 1 - low]
        return {
            name: [float(at["mean"].sel(learner=name))]
            + [float(at["quantile"].sel(learner=name).sel(q=p, method="nearest")) for p in q]
            + [float(at["sd"].sel(learner=name))]
            for name in state["learner"]
        }
    if view == "ranks":
        return {name: [float(result.loc[n][name])] for name in state["learner"]}
    if view == "pair":
        names = ("mean_difference", "mean_low", "mean_high", "better", "better_low", "better_high")
        numbers = [float(result[name].item()) for name in names]
        return {"difference": numbers[:3], "better": numbers[3:]}
    if view == "normality":
        at = result.sel(n=n)
        return {
            str(name): [float(at[v].sel(learner=name)) for v in ("shapiro_w", "shapiro_p")]
            for name in at["learner"].values
        }
    found = {
        "skewness": [float(result["skewness"])],
        "Shapiro–Wilk W": [float(result["shapiro_w"])],
        "Shapiro–Wilk p": [float(result["shapiro_p"])],
    }
    return found


def test_numbers_on_the_screen_and_of_the_copied_python_are_those_of_xarray(shown, host, capsys):
    site = json.loads((host.root / "some" / "where" / "site.json").read_bytes())
    rng = np.random.default_rng(14)
    with lcdb.tutorial() as db:
        for i in range(counts(5, 20)):
            state = draw_state(rng, VIEWS[i % len(VIEWS)], site["datasets"])
            shown.go(urlencode(state, doseq=True))
            assert shown.text("#notice") == ""
            compare_screen(shown, state, expected_rows(db, state))
            compare_screen(shown, state, python_rows(run_python(shown), state))
    assert capsys.readouterr().out  # what it prints


def test_what_the_page_computes_itself_is_what_scipy_and_zlib_do(shown):
    rng = np.random.default_rng(3)
    p = [1e-12, 1e-3, 0.0749, 0.5, 0.9, 1 - 1e-9]
    values = [0.5, 0.7, float("nan"), 0.5 + 1e-12, 0.1]
    data = rng.integers(0, 256, 1000).tolist()
    ordered = np.sort(rng.normal(size=500)).tolist()
    found = shown.driver.execute_async_script(
        """
        const [p, values, data, ordered, done] = arguments;
        const clean = values.map((x) => x === null ? NaN : x);
        Promise.all([import("./numbers.js"), import("./cube.js")]).then(([n, c]) => done({
          z: p.map(n.normalQuantile), density: n.normalDensity(1.3, 1, 0.5),
          up: n.ranks(clean, "maximize"), down: n.ranks(clean, "minimize"),
          crc: c.crc32(Uint8Array.from(data)), even: n.evenBins(ordered, 60),
          lattice: n.latticeBins([0.1, 0.2, 0.2, 0.7], 10, 60),
          wide: n.latticeBins([0, 0.5, 1], 100, 10),
        }));
        """,
        p, [None if isnan(x) else x for x in values], data, ordered,
    )  # fmt: skip
    assert np.allclose(found["z"], scipy_stats.norm.ppf(p), rtol=1e-13, atol=0)
    assert found["density"] == pytest.approx(scipy_stats.norm.pdf(1.3, 1, 0.5), rel=1e-14)
    assert found["up"] == [2.5, 1, None, 2.5, 4] and found["down"] == [2.5, 4, None, 2.5, 1]
    assert found["crc"] == zlib.crc32(bytes(data))
    edges = found["even"]["start"] + found["even"]["width"] * np.arange(
        len(found["even"]["bars"]) + 1
    )
    assert found["even"]["bars"] == np.histogram(ordered, edges)[0].tolist()
    assert found["lattice"]["bars"] == [1, 2, 0, 0, 0, 0, 1]
    assert found["lattice"]["start"] == pytest.approx(0.05)
    assert found["wide"]["step"] == 11 and sum(found["wide"]["bars"]) == 3


def test_a_p_value_that_no_double_holds_is_not_shown_as_nothing(shown):
    found = shown.driver.execute_async_script(
        "const done = arguments[0];"
        'import("./numbers.js").then(({ pValue }) => done([0, 3e-320, 0.04996].map(pValue)))'
    )
    assert found == ["< 1e-300", "3.00e-320", "0.0500"]


def test_ticks_say_where_they_are(shown):
    rng = np.random.default_rng(5)
    domains = [[float(a), float(a + b)] for a, b in 10.0 ** rng.uniform(-6, 2, (60, 2))]
    domains += [[-0.075, 0.035], [0.0, 1.0], [-0.02, 1.02], [0.3, 1.01]]
    sizes = [[1, 105], [2, 3480], [10, 437], [50, 60], [1, 2]]
    found = shown.driver.execute_async_script(
        """
        const [even, log, done] = arguments;
        import("./chart.js").then(({ scale }) => done([["linear", even], ["log", log]].map(
          ([kind, list]) => list.map((one) =>
            [5, 8, 16].map((count) => scale(kind, one, [0, 100]).ticks(count))))));
        """,
        domains, sizes,
    )  # fmt: skip
    for domain, by_count in zip(domains + sizes, found[0] + found[1], strict=True):
        for ticks, count in zip(by_count, (5, 8, 16), strict=True):
            values = np.array([tick["value"] for tick in ticks])
            told = np.array([float(tick["text"].replace("−", "-")) for tick in ticks])
            span = domain[1] - domain[0]
            assert 1 <= len(ticks) <= 2 * count + 2, (domain, ticks)
            assert np.allclose(told, values, rtol=0, atol=1e-9 * span + 1e-12), (domain, ticks)
            assert (values >= domain[0] - 0.01 * span).all() and (np.diff(values) > 0).all()


def test_bars_and_points_are_the_repetitions(shown):
    state = {"view": "cell", "one": "QDC", "n": 20, "metric": "accuracy", "dataset": "61"}
    shown.go(urlencode({**state, "sampling": "random", "split": "fixed"}))
    with lcdb.tutorial() as db:
        cell = db.curve("iris", "QDC", sampling="random", split="fixed").sel(n=20).values
    counted = np.bincount(np.round(cell * 45).astype(int))
    heights = shown.run(
        "return [...document.querySelectorAll('[data-chart=histogram] .bar')]"
        ".map((bar) => Number(bar.getAttribute('height')))"
    )
    bars = np.array(heights) / max(heights) * counted.max()
    assert np.allclose(bars, counted[np.flatnonzero(counted)[0] :], atol=1e-9)
    points = shown.run("return document.querySelector('[data-chart=qq] .points').getAttribute('d')")
    assert points.count("M") == 200
    assert "multiples of 1/45; a bar is one of them" in shown.text("#charts")


def test_a_pair_the_other_way_round_is_turned(shown):
    unit = {"sampling": "random", "split": "varying", "tuning": "default"}
    state = {"view": "pair", "dataset": "11", "metric": "brier", "n": 70, **unit}
    with lcdb.tutorial() as db:
        for sides in ({"a": "QDC", "b": "NMC"}, {"a": "NMC", "b": "QDC"}):
            shown.go(urlencode(state | sides))
            compare_screen(shown, state | sides, expected_rows(db, state | sides))


# -- what is read ----------------------------------------------------------------------------------


def test_a_distribution_is_one_range_and_its_index_is_read_once(shown, host):
    host.forget()
    shown.go("view=cell&dataset=61&one=LDC&n=50&metric=auc")
    paths = [path.removeprefix("/some/where/") for path, _ in host.requests]
    assert paths == ["data/61/1-1-0-auc.tests.bin", "cubes/61.nc.index.json", "cubes/61.nc"]
    assert "Range" in host.headers[-1] and "Range" not in host.headers[0]
    host.forget()
    shown.go("view=cell&dataset=61&one=QDC&n=50&metric=auc")
    assert [path.rpartition("/")[2] for path, _ in host.requests] == ["61.nc"]
    host.forget()
    shown.go("view=curves&dataset=61&one=QDC&n=50&metric=auc")
    assert [path.rpartition("/")[2] for path, _ in host.requests] == ["1-1-0-auc.curves.bin"]


def test_the_first_curve_needs_little(page, host):
    host.fault = None
    page.run("location.href = 'about:blank'")
    host.forget()
    page.open(f"{host.url}/some/where/index.html")
    data = [size for path, size in host.requests if path.endswith((".bin", "site.json"))]
    assert len(data) == 2 and sum(data) < 250_000
    assert host.bytes < 400_000 and page.complaints() == []


def refuse_ranges(handler, path, data, span) -> bool:
    return span is not None and answer(handler, 200, data)


def flip(handler, path, data, span) -> bool:
    if span is None:
        return False
    first, last = span
    part = bytearray(data[first : last + 1])
    part[len(part) // 2] ^= 1
    return answer(handler, 206, bytes(part), Content_Range=f"bytes {first}-{last}/{len(data)}")


def shorten(handler, path, data, span) -> bool:
    return span is not None and answer(handler, 206, data[span[0] : span[1]])


def of_another_cube(handler, path, data, span) -> bool:
    if not path.endswith(".nc.index.json"):
        return False
    index = json.loads(data)
    index["header"]["sha256"] = "0" * 64
    return answer(handler, 200, json.dumps(index).encode())


def gone(handler, path, data, span) -> bool:
    return ".nc" in path and answer(handler, 404)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (refuse_ranges, "ignores ranges"),
        (flip, "is not what its index describes"),
        (shorten, "was cut off"),
        (of_another_cube, "was replaced since"),
        (gone, "answers 404"),
    ],
)
def test_what_a_host_does_wrong_is_told_and_draws_nothing(page, host, fault, told):
    host.fault = fault
    page.open(f"{host.url}/some/where/index.html#view=cell&dataset=61&one=LDC&n=50")
    assert told in page.text("#reading .why")
    assert page.run("return document.querySelectorAll('#charts svg').length") == 0
    assert len(page.rows()) >= 9  # what is known without the cube is there
    host.fault = None
    page.go("view=cell&dataset=61&one=LDC&n=40")
    assert page.run("return document.querySelectorAll('#charts svg').length") == 2
    page.complaints()  # the browser's own lines about what the host answered


def test_a_page_without_its_data_says_so(page, host):
    def broken(handler, path, data, span) -> bool:
        return path.endswith(".bin") and answer(handler, 503)

    host.fault = broken
    page.driver.get("about:blank")
    page.driver.get(f"{host.url}/some/where/index.html#metric=brier")
    page.wait_for_text("#charts", "the host answers 503")
    host.fault = None
    page.complaints()
    page.go("metric=auc")
    assert page.text("#title").startswith("AUC of")


# -- links, keys, files ----------------------------------------------------------------------------


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


def saved(page: Page, button: str) -> str:
    """Return the text of the file that a button hands to the reader."""
    return page.driver.execute_async_script(
        """
        const [button, done] = arguments;
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return make.call(URL, blob); };
        document.querySelector(button).click();
        URL.createObjectURL = make;
        """,
        button,
    )


def test_files_hold_the_numbers_and_the_picture(shown, tmp_path):
    options = {"behavior": "allow", "downloadPath": str(tmp_path)}
    shown.driver.execute_cdp_cmd("Browser.setDownloadBehavior", options)
    shown.go("dataset=61&learner=LDC&metric=brier&sampling=additive&split=fixed")
    header, *lines = csv.reader(io.StringIO(saved(shown, "#save-csv")))
    with lcdb.tutorial() as db:
        curve = db.curve("iris", "LDC", metric="brier").dropna("n")
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


# -- names, summaries, scalings --------------------------------------------------------------------


@pytest.fixture
def elsewhere(page, tmp_path):
    """Return what shows a database of the test's own, and gives the address of its site."""
    running = []

    def show(database: Path, state: str = "", **options: str) -> str:
        list(write_site(database, tmp_path / "host" / "site", **options))
        context = serving(tmp_path / "host")
        running.append(context)
        url = f"{context.__enter__().url}/site/index.html"
        page.open(f"{url}{state}")
        return url

    yield show
    for context in running:
        context.__exit__(None, None, None)


def test_hostile_names_show_as_text(page, tmp_path, elsewhere):
    (tmp_path / "db" / "cubes").mkdir(parents=True)
    for id, name in (("61", HOSTILE), ("62", LONG)):
        path = tmp_path / "db" / "cubes" / f"{id}.nc"
        write_plausible(path, snapshot_of(id, "iris", 30), 9, learners=("LDC", HOSTILE, LONG))
        rename(path, name)
    page.complaints()
    elsewhere(tmp_path / "db", sizes="10,20")
    for view in VIEWS:
        for key in ("61", "62")[: 2 if view == "normality" else 1]:
            names = {"dataset": key, "one": HOSTILE, "a": HOSTILE, "b": LONG, "learner": HOSTILE}
            page.go(urlencode({"view": view, **names}))
            made = "document.querySelectorAll('img, main script, form script').length"
            assert page.run(f"return [window.hit ?? 0, {made}]") == [0, 0]
            assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    page.go(urlencode({"dataset": "61", "learner": HOSTILE}))
    assert page.text("#title").startswith("Accuracy of </script><script>")
    assert HOSTILE in page.run("return document.querySelector('#reading tr[data-row]').dataset.row")
    result = run_python(page)
    assert result["learner"].values.tolist() == [HOSTILE]
    _, first, *_ = csv.reader(io.StringIO(saved(page, "#save-csv")))
    assert first[0] == HOSTILE
    page.go(urlencode({"dataset": "61", "learner": LONG}))
    assert len(page.text("#title")) < 200
    assert page.complaints() == []


def test_a_summary_has_all_but_its_repetitions(page, tmp_path, elsewhere, capsys):
    (tmp_path / "full" / "cubes").mkdir(parents=True)
    path = tmp_path / "full" / "cubes" / "61.nc"
    write_plausible(path, snapshot_of("61", "iris", 40), 60, learners=("NMC", "LDC", "QDC"))
    with lcdb.open(tmp_path / "full") as db:
        list(summarize(db, tmp_path / "db", sizes="10,20"))
        whole = lcdb.analysis.summary(db.curve("iris", "LDC"))
    elsewhere(tmp_path / "db", "#learner=LDC&n=20&band=0.05")
    at = whole.sel(n=20)
    numbers = [float(at["mean"]), *(float(at["quantile"].sel(q=q)) for q in (0.5, 0.05, 0.95))]
    assert page.rows()["LDC"][1:5] == [rounded(x) for x in numbers]
    assert float(run_python(page)["mean"].sel(n=20, learner="LDC")) == numbers[0]
    page.go("view=cell&one=LDC&n=20")
    assert "There is a summary" in page.text("#reading .why")
    assert page.rows()["Shapiro–Wilk W"][1] == rounded(float(at["shapiro_w"]))
    assert float(run_python(page)["shapiro_w"]) == float(at["shapiro_w"])
    page.go("view=normality&n=20")
    told = float(run_python(page)["shapiro_w"].sel(n=20, learner="LDC"))
    assert page.rows()["LDC"][1] == rounded(told)
    page.go("view=ranks&n=20")
    ranks = run_python(page).loc[20]
    assert {name: row[1] for name, row in page.rows().items()} == {
        name: f"{ranks[name]:g}" for name in ("NMC", "LDC", "QDC")
    }
    page.go("view=pair")
    assert "take the repetitions" in page.text("#charts")
    assert page.complaints() == []


def test_scalings_of_one_dataset_are_one_choice_more(page, tmp_path, elsewhere):
    (tmp_path / "db" / "cubes").mkdir(parents=True)
    for name, scaling in (("61", "none"), ("61-standard", "standard"), ("62", "none")):
        path = tmp_path / "db" / "cubes" / f"{name}.nc"
        plain = snapshot_of(name[:2], {"61": "iris", "62": "wine"}[name[:2]], 30)
        snapshot = replace(plain, id=name, scaling=scaling)
        units = [replace(unit, scaling=scaling) for unit in toy_units(snapshot)]
        scores = plausible_scores(units, snapshot.rows, 20)
        write_cube(path, snapshot, units, 20, scores)
    elsewhere(tmp_path / "db", "#dataset=61", sizes="10,20")
    options = "return [...document.querySelectorAll('#choose-dataset option')].map((o) => o.text)"
    assert page.run(options) == ["iris (61)", "wine (62)"]
    before = page.rows()
    page.click("#choose-scaling-61-standard")
    page.wait_for_text("#subtitle", "standardised features")
    assert "dataset=61-standard" in page.run("return location.hash")
    assert page.run(options) == ["iris (61)", "wine (62)"]
    result = run_python(page).sel(n=20, learner="LDC")
    assert page.rows()["LDC"][1] == rounded(float(result["mean"]))
    page.go("dataset=62")
    assert page.run("return document.querySelector('#choose-scaling-62')") is None
    assert before and page.complaints() == []
