"""What the practice of few repetitions implies: the study that is stored, and tables of it."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.predict import error_rates as rates

import lcdb
from lcdb import tables
from lcdb.cli import main
from lcdb.tables.implied import counted
from tests.support.counts import counts


def test_of_independent_repetitions_tests_have_their_size():
    rng = np.random.default_rng(3)
    draws = rng.normal(size=(counts(2000, 20000), 25))
    room = 4 * np.sqrt(0.05 * 0.95 / len(draws))
    for count in (10, 25):
        found = rates.rejections(draws, count)
        assert abs(found["t"] - 0.05) < room and abs(found["wilcoxon"] - 0.05) < room
        assert found["nadeau_bengio"] < 0.02  # its guess of the correlation is wrong here
    shared = draws + rng.normal(size=(len(draws), 1))  # the rows of one dataset
    assert rates.rejections(shared, 25)["t"] > 0.5
    equal = rates.error_rates(0.3 + shared, np.zeros_like(shared), seed=1)
    assert equal[25]["t"] == pytest.approx(rates.rejections(shared, 25)["t"], abs=0.05)


def test_coverage_of_independent_repetitions_is_that_of_t():
    draws = np.random.default_rng(4).normal(size=(counts(4000, 40000), 25))
    for count, expected in ((5, 0.858), (10, 0.911), (25, 0.938)):
        assert abs(rates.coverage(draws, count) - expected) < 4 / np.sqrt(len(draws)) / 2


def test_populations_are_what_they_say():
    X, y = rates.POPULATIONS["balance-scale"](np.random.default_rng(0))
    assert len(np.unique(X, axis=0)) == rates.ROWS == len(y)
    for row, label in zip(X[:20], y, strict=False):
        assert np.sign(row[0] * row[1] - row[2] * row[3]) == label
    X, y = rates.POPULATIONS["two normals"](np.random.default_rng(0))
    assert X.shape == (rates.ROWS, 5) and set(y) == {0, 1}


def test_learners_see_the_same_rows_and_scores_are_those_of_the_engine():
    one = rates.scores("two normals", "NMC", datasets=2, repetitions=3, seed=8)
    X, y = rates.POPULATIONS["two normals"](np.random.default_rng([8, 1]))
    curve = lcdb.learning_curve("NMC", X, y, sizes=[rates.TRAINED], repetitions=3, seed=9,
                                metrics=["accuracy"], workers=1, progress=False)  # fmt: skip
    np.testing.assert_array_equal(one[1], curve["accuracy"].values[0])


def test_the_stored_study_is_what_the_command_makes(tmp_path, monkeypatch):
    record = counted()
    monkeypatch.setattr(rates, "LEARNERS", ("LDC", "QDC"))
    rates.main(tmp_path / "again.json", counts(25, 200))
    again = lcdb.tables.implied.json.loads((tmp_path / "again.json").read_text("utf-8"))
    assert record["rows"] == again["rows"] and record["seed"] == again["seed"]
    stored = {(r["population"], *r["pair"], r["repetitions"]): r for r in record["rates"]}
    assert len(stored) == 2 * 10 * 3
    for row in again["rates"]:
        other = stored[row["population"], "LDC", "QDC", row["repetitions"]]
        room = 4 * np.sqrt(0.25 / again["datasets"])
        assert all(abs(row[test] - other[test]) < room for test in ("t", "nadeau_bengio"))


@pytest.mark.slow
def test_the_tables_print_what_was_counted(capsys):
    with lcdb.tutorial() as db:
        errors, coverage, dominance = tables.tables(db, ["implied"])
        assert tables.tables(db, ["errors"]) == [errors]
        folder = str(db.path)
        curve = db.curve("iris", "NMC", sampling="additive", split="fixed").dropna("n").values
    record = counted()
    some = [row["t"] for row in record["rates"]
            if row["population"] == "two normals" and row["repetitions"] == 25]  # fmt: skip
    row = next(r for r in errors.rows if r.row == "two normals: paired t, 25 repetitions")
    assert row.ours == pytest.approx(100 * np.mean(some)) and row.beside["claimed"] == 5
    inside = [np.abs(x - x.mean()) <= 2 * x.std(ddof=1) + 1e-12 for x in curve]
    row = next(r for r in coverage.rows if r.row.startswith("iris: NMC, the same rows"))
    assert row.ours == pytest.approx(100 * np.mean(inside))
    pairs = [r.row for r in dominance.rows]
    assert "balance-scale: LDC over NMC" in pairs
    assert "balance-scale: NMC over LDC" not in pairs
    assert main(["tables", folder, "--paper", "turan2026", "--table", "implied", "--format",
                 "csv"]) == 0  # fmt: skip
    assert 'implied_errors,"two normals: paired t, 25 repetitions"' in capsys.readouterr().out
    assert main(["tables", folder, "--table", "implide"]) == 1
    assert "implied" in capsys.readouterr().err
