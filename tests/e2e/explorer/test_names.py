"""Names that would be code elsewhere, summaries, and scalings."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from urllib.parse import urlencode

import pytest

import lcdb
from lcdb.summaries.make import summarize
from tests.support.cubes import toy_units, write_cube
from tests.support.explorer import (
    HOSTILE,
    LONG,
    VIEWS,
    rounded,
    run_python,
    saved,
)
from tests.support.plausible import plausible_scores, rename, snapshot_of, write_plausible

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.server]


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
        whole = lcdb.analysis.summary(db.curve("iris", "LDC", sampling="additive", split="fixed"))
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
