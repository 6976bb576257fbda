"""`lcdb curve`: a picture, a table and a sentence of a file."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from lcdb_builders.predict import spending
from lcdb_builders.predict.report import sentences, table
from lcdb_builders.sources.files import FileSource

import lcdb
from lcdb.cli import main
from lcdb.errors import ArgumentError, NotBuiltError


@pytest.fixture
def wine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    kind = rng.choice(["white", "red", "rosé"], 90)
    lines = ["acid,grade,shop,kind"]
    for name in kind:
        acid = rng.normal() + 2 * (name == "red")
        lines.append(f"{acid:.3f},{rng.integers(3)},{rng.choice(['x', 'y'])},{name}")
    (tmp_path / "wine.csv").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


@pytest.mark.server
@pytest.mark.process
def test_two_learners_are_drawn_tabulated_and_compared(wine, capsys):
    command = "curve wine.csv --target kind --learner LDC --learner sklearn.naive_bayes.GaussianNB"
    assert main([*command.split(), "--repetitions", "12", "--sizes", "6,20,63"]) == 0
    title, head, *rows = capsys.readouterr().out.splitlines()
    assert title.startswith("accuracy by number of training rows n: mean")
    assert head.split() == ["n", "LDC", "GaussianNB"]
    assert [row.split()[0] for row in rows[:3]] == ["6", "20", "63"]
    text = "\n".join(rows)
    assert "With 63 training rows, LDC has a mean accuracy of 0." in text
    assert "Of 12 repetitions with the same rows, LDC is better than GaussianNB in " in text
    assert rows[-1] == "wine-curve.svg"
    assert "<svg" in (wine / "wine-curve.svg").read_text("utf-8")


def test_a_metric_that_no_learner_has_is_told():
    nothing = np.full((2, 2, 3), np.nan)
    coords = {"learner": ["LDC", "SVC"], "n": [10, 20]}
    scores = xr.DataArray(nothing, coords, ("learner", "n", "repetition"), "cross_entropy")
    assert sentences(scores) == "No learner has any cross entropy."
    assert [line.split() for line in table(scores).splitlines()[2:]] == [
        ["10", "-", "-"],
        ["20", "-", "-"],
    ]


def test_a_table_says_how_many_repetitions_each_learner_has():
    """As after a budget: enough for 200 repetitions of one learner, for 4 of another."""
    values = np.full((3, 2, 200), 0.5)
    values[1, 0, 4:] = values[1, 1, 3:] = np.nan
    values[2] = np.nan
    coords = {"learner": ["LDC", "GSVC", "QDC"], "n": [10, 20]}
    scores = xr.DataArray(values, coords, ("learner", "n", "repetition"), "accuracy")
    title, names, counts, *_ = table(scores).splitlines()
    assert title == "accuracy by number of training rows n: mean (5 % to 95 % quantile)"
    columns = [names.index(name) for name in ("LDC", "GSVC", "QDC")]
    assert [counts[left : left + 19].strip() for left in columns] == [
        "200 repetitions", "3 to 4 repetitions", "0 repetitions",
    ]  # fmt: skip
    assert table(scores.sel(learner=["LDC"])).splitlines()[0].endswith("of 200 repetitions)")


@pytest.mark.server
@pytest.mark.process
def test_a_budget_that_is_too_short_for_all_draws_nothing_and_says_so(wine, capsys, monkeypatch):
    monkeypatch.setattr(spending, "deadline_of", lambda budget: {"1s": 0.0}[budget])
    command = "curve wine.csv --target kind --learner sklearn.naive_bayes.GaussianNB --budget 1s"
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert main([*command.split(), "--sizes", "6,20"]) == NotBuiltError.exit_code
    printed = capsys.readouterr()
    assert "(5 % to 95 % quantile of 0 repetitions)" in printed.out
    assert "No learner has any accuracy." in printed.out
    told, error = printed.err.splitlines()
    assert told.startswith("lcdb: GaussianNB: the budget was over before the first of 400 cells")
    assert error == "lcdb: there is no accuracy to draw; see above for the reason"
    assert not (wine / "wine-curve.svg").exists()


@pytest.mark.server
@pytest.mark.process  # under a budget all is computed in processes
@pytest.mark.slow
def test_every_option_reaches_the_curve(wine, capsys):
    options = {
        "--learner": "NNC", "--metric": "brier", "--sizes": "3", "--repetitions": "7",
        "--sampling": "additive", "--split": "fixed", "--scaling": "standard", "--nominal": "grade",
        "--drop": "shop", "--seed": "5", "--workers": "1", "--budget": "10min",
        "--out": "mine.png", "--save": "mine.nc",
    }  # fmt: skip
    given = [word for pair in options.items() for word in pair]
    assert main(["curve", "wine.csv", "--target", "kind", *given]) == 0
    assert (wine / "mine.png").read_bytes()[:4] == b"\x89PNG"
    assert "NNC has a mean Brier score of" in capsys.readouterr().out
    source = FileSource("own", "wine.csv", "kind", nominal=("grade",), drop=("shop",))
    data = source.snapshot()
    assert data.feature_names == ("acid", "grade") and "grade" in data.origin["categories"]
    with xr.open_dataset("mine.nc", engine="h5netcdf") as saved:
        names = np.array(data.class_names)
        # Class codes of the file go by appearance; these names sort in the same order.
        order = np.array([f"{code}{name}" for code, name in enumerate(names)])
        expected = lcdb.learning_curve(
            "NNC", data.X, order[data.y], metrics="brier", sizes=3, repetitions=7, seed=5,
            sampling="additive", split="fixed", scaling="standard",
        )  # fmt: skip
        assert np.array_equal(saved.brier.sel(learner="NNC"), expected.brier)
        assert saved.attrs["scaling"] == "standard"


@pytest.mark.server
@pytest.mark.process
@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--learner", "LCD"], "Did you mean 'LDC'"),
        (["--learner", "LDC", "--sizes", "x"], "expected whole numbers"),
        (["--learner", "LDC", "--out", "a.xyz", "--sizes", "9"], "a.xyz could not be written"),
        (["--learner", "os.path.join"], "not a public class of scikit-learn"),
        (["--learner", "LDC", "--save", "no/where.nc", "--sizes", "9"], "could not be written"),
    ],
)
def test_wrong_use_is_told_in_a_line(wine, capsys, more, words):
    command = ["curve", "wine.csv", "--target", "kind", "--repetitions", "2", *more]
    assert main(command) == ArgumentError.exit_code or main(command) == 75
    assert words in capsys.readouterr().err
