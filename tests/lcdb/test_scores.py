"""Scores in float64: accuracies are the shares that their counts are, read when they are used."""

from __future__ import annotations

import os
import pickle
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import xarray as xr

import lcdb
from lcdb.errors import ArgumentError
from lcdb.schema import METRICS, UNIT_DIMS
from lcdb.scores import exact_scores
from tests.oracles.thresholds import quantile, smallest_size
from tests.support.counts import FULL

TARGETS = ("0.5", "0.6", "0.7", "0.8", "0.9", "0.95", "0.975")
QUANTILES = ("0.05", "0.5")


@pytest.fixture(scope="module")
def shipped():
    with lcdb.tutorial() as db:
        yield db


def counts_of(cube: xr.Dataset, labels: dict[str, str]) -> tuple[np.ndarray, np.ndarray]:
    """Return correct and test rows (n, repetition) of one curve: correct ones -1 without score."""
    stored = cube["accuracy"].sel(labels).transpose("n", "repetition").values
    draws = {dim: labels[dim] for dim in ("sampling", "split")}
    rows = cube["n_test"].sel(draws).transpose("n", "repetition").values
    counts = np.where(np.isnan(stored), -1, np.rint(stored.astype(np.longdouble) * rows))
    return counts.astype(int), rows


def units(cube: xr.Dataset):
    for values in product(*(cube[dim].values for dim in UNIT_DIMS)):
        yield dict(zip(UNIT_DIMS, map(str, values), strict=True))


# -- values ----------------------------------------------------------------------------------------


def test_an_accuracy_is_its_count_over_its_test_rows(shipped):
    compared = 0
    for key in shipped:
        cube = shipped[key]
        for labels in units(cube):
            counts, rows = counts_of(cube, labels)
            curve = shipped.curve(key, **labels)
            assert curve.dtype == np.float64
            there = counts >= 0
            expected = [c / t for c, t in zip(counts[there].tolist(), rows[there].tolist(),
                                              strict=True)]  # fmt: skip
            assert curve.values[there].tolist() == expected
            assert np.isnan(curve.values[~there]).all()
            compared += len(expected)
    assert compared == 96_000


def test_the_plain_file_stays_as_it_is_and_gives_the_count(shipped):
    cube = shipped["iris"]
    assert cube["accuracy"].dtype == np.float32
    with xr.open_dataset(shipped.headers[61].path, engine="h5netcdf") as plain:
        built = plain["accuracy"].sel(n=cube["n"].values)
        xr.testing.assert_equal(built, cube["accuracy"].reset_coords("draws", drop=True))
    counts = (cube["accuracy"].astype(float) * cube["n_test"]).round()
    curve = shipped.curve("iris", "QDC", split="varying").dropna("n")
    here = counts.sel(learner="QDC", sampling="random", split="varying", tuning="default")
    rows = cube["n_test"].sel(sampling="random", split="varying")
    xr.testing.assert_equal((here / rows).sel(n=curve.n).drop_attrs(), curve.drop_attrs())


@pytest.mark.parametrize("metric", [name for name in METRICS if name != "accuracy"])
def test_other_scores_are_what_is_stored(shipped, metric):
    curve = shipped.curve("iris", "LDC", metric=metric)
    stored = shipped["iris"][metric].sel(
        learner="LDC", sampling="random", split="varying", tuning="default"
    )
    assert curve.dtype == np.float64
    np.testing.assert_array_equal(curve.values, stored.values)


def test_a_share_may_be_compared_with_what_one_types(shipped):
    curve = shipped.curve("iris", "LDC", sampling="additive", split="fixed")
    rows = 45  # of the fixed test set
    for count in range(rows + 1):
        hits = int((shipped["iris"]["accuracy"].sel(
            learner="LDC", sampling="additive", split="fixed", tuning="default"
        ).astype(float) * rows).round().isin([count]).sum())  # fmt: skip
        assert int((curve == count / rows).sum()) == hits
    assert 0.8 == 36 / 45
    assert int((curve >= 0.8).sum()) > int((curve > 0.8).sum())


def test_they_are_read_when_they_are_used_and_can_be_sent_to_another_process(shipped):
    exact = exact_scores(shipped["iris"], "accuracy")
    assert not exact.variable._in_memory
    points = {"n": xr.DataArray([4, 14], dims="q"), "repetition": xr.DataArray([7, 0], dims="q")}
    steps = {"n": slice(14, None, -3), "repetition": [5, 3], "learner": 2, "split": [1, 0]}
    for where in (points, steps, {"sampling": [2, 0], "split": 1}, {"n": []}):
        part = exact.isel(where)
        assert not exact.variable._in_memory
        np.testing.assert_array_equal(part.values, exact.copy().compute().isel(where).values)
    again = pickle.loads(pickle.dumps(exact.isel(split=1)))
    np.testing.assert_array_equal(again.values, exact.isel(split=1).values)


@pytest.mark.parametrize("chunks", ["auto", {"n": 64}, {"sampling": 2, "learner": 3}])
def test_dask_arrays_say_the_same(shipped, chunks):
    with lcdb.tutorial(chunks=chunks) as lazy:
        for metric in METRICS:
            asked = {"learner": ["NNC", "LDC"], "split": "varying", "metric": metric}
            found = lazy.select("iris", **asked)[61]
            assert found.chunks is not None and found.dtype == np.float64
            xr.testing.assert_identical(found.compute(), shipped.select("iris", **asked)[61])


def test_they_are_written_as_what_they_are(shipped, tmp_path):
    curve = shipped.curve("iris", "LDC").dropna("n")
    curve.drop_vars("status").to_netcdf(tmp_path / "curve.nc", engine="h5netcdf")
    with xr.open_dataarray(tmp_path / "curve.nc", engine="h5netcdf") as again:
        np.testing.assert_array_equal(again.values, curve.values)


# -- thresholds ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def threshold_database(tmp_path_factory):
    """The demo at full counts: built, or that of LCDB_TEST_DEMO. Else the tutorial."""
    if not FULL:
        with lcdb.tutorial() as db:
            yield db
        return
    folder = os.environ.get("LCDB_TEST_DEMO")
    if not folder:
        from lcdb_builders.run.build import build

        folder = str(tmp_path_factory.mktemp("demo"))
        build("demo", folder)
    with lcdb.open(folder) as db:
        yield db


@pytest.mark.slow
def test_threshold_queries_are_those_of_whole_numbers(threshold_database):
    asked = 0
    for key in threshold_database:
        cube = threshold_database[key]
        for labels in units(cube):
            counts, rows = counts_of(cube, labels)
            curve = threshold_database.curve(key, **labels)
            sizes = [
                (int(n), counts[i], rows[i])
                for i, n in enumerate(cube["n"].values)
                if counts[i].min() >= 0
            ]
            for q in QUANTILES:
                values = [(n, quantile(c, t, Fraction(q))) for n, c, t in sizes]
                for target in TARGETS:
                    expected = smallest_size(values, Fraction(target))
                    found = float(
                        lcdb.analysis.sample_size_for(curve, float(target), quantile=float(q))
                    )
                    where = (key, labels, q, target, expected, found)
                    assert found == expected if expected else np.isnan(found), where
                    asked += 1
    assert asked == (840 if FULL else 672)


def test_a_quantile_between_two_counts_that_is_the_target_reaches_it():
    # Between 40 and 41 of 45 lies 0.9 exactly; in doubles the middle of the two is less.
    counts = np.array([[40, 41]])
    curve = xr.DataArray(counts / 45, {"n": [10]}, ("n", "repetition"), "accuracy")
    assert np.quantile(counts[0] / 45, 0.5) != 0.9
    assert lcdb.analysis.sample_size_for(curve, 0.9, quantile=0.5) == 10


def test_both_ways_to_ask_for_rows_ask_the_same_by_default(shipped):
    """The mean, exactly: targets are the means of a curve, as fractions of whole numbers."""
    curve = shipped.curve("iris", "LDC").dropna("n")
    rows = shipped["iris"].n_test.sel(sampling="random", split="varying", n=curve.n)
    counts = np.rint(curve * rows).astype(int)
    targets = [
        float(Fraction(int(c), int(t)))
        for c, t in zip(counts.sum("repetition").values, rows.sum("repetition").values, strict=True)
    ]
    assert any(curve.mean("repetition").values[i] < target for i, target in enumerate(targets))
    for target in targets:
        asked = lcdb.analysis.sample_size_for(curve, target)
        needed = lcdb.analysis.rows_needed(curve, target)
        assert needed.answer == "seen" and needed.rows == asked
        means = curve.mean("repetition") >= target - 1e-9
        assert asked == min(n for n in curve.n.values if means.sel(n=slice(n, None)).all())


def test_stored_float32_reaches_its_target_too():
    curve = xr.DataArray(np.full((1, 9), 171 / 180, np.float32), {"n": [10]}, ("n", "repetition"))
    assert lcdb.analysis.sample_size_for(curve, 0.95) == 10
    loss = curve.rename("brier").assign_attrs(direction="minimize")
    assert lcdb.analysis.sample_size_for(1 - loss, 0.05, direction="minimize") == 10


@pytest.mark.process
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"target": 90}, "target is 90; accuracy lies between 0 and 1: did you mean 0.9?"),
        ({"target": -1}, "target is -1; accuracy lies between 0 and 1"),
        ({"target": 0.9, "quantile": 5}, "quantile is 5; expected a probability between 0 and 1"),
    ],
)
def test_a_target_that_cannot_be_is_refused(shipped, asked, told):
    with pytest.raises(ArgumentError) as caught:
        lcdb.analysis.sample_size_for(shipped.curve("iris", "LDC"), **asked)
    assert told in str(caught.value)
