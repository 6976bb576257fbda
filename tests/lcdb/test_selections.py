"""Every public function of lcdb.analysis takes what `select` returns, and gives the same kind."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import lcdb
from lcdb import analysis, stats
from lcdb.errors import ArgumentError, LabelError
from tests.support.remote_database import SHIPPED

LABELS = {"learner": ["NMC", "LDC"], "sampling": "random", "split": "varying", "tuning": "default"}
#: Each function of scores: further arguments, and dims that it wants to see gone before.
OF_SCORES = {
    "compare": ({"quantiles": (0.1, 0.9), "resamples": 20}, {}),
    "crossing": ({"resamples": 20}, {}),
    "dominance": ({"bootstraps": 20, "seed": 3}, {"n": -1}),
    "fit": ({"models": ["pow2"], "over": 0.5, "smallest": 2}, {}),
    "halving": ({"keep": 0.4, "direction": "minimize"}, {}),
    "lccv": ({"direction": "minimize"}, {}),
    "normality": ({}, {}),
    "normality_by_repetitions": ({"counts": [25, 200]}, {}),
    "paired_normality": ({"dim": "learner"}, {}),
    "power": ({"repetitions": [5], "studies": 20}, {}),
    "quantile_curve": ({"quantiles": [0.05, 0.95], "confidence": 0.9}, {}),
    "rank_change": ({"quantile": 0.1, "width": 1.0}, {}),
    "repetitions_for": ({"power": 0.9}, {}),
    "sample_size_for": ({"target": 0.7, "quantile": 0.1}, {}),
    "shape": ({"at_most": 50}, {}),
    "summary": ({"quantiles": [0.1, 0.9]}, {}),
    "top_k_change": ({"quantile": 0.95, "width": 1.5, "k": 1}, {}),
}
#: Those that compare learners.
OF_LEARNERS = {
    *("compare", "crossing", "dominance", "halving", "lccv", "paired_normality", "power"),
    "rank_change",
    *("repetitions_for", "top_k_change"),
}
#: Those that make one answer of all datasets.
OVER_DATASETS = {
    "aggregate",
    "best",
    "forecast_benchmark",
    "forecast_calibration",
    "profile",
    "tidy",
}
#: Those that need more sizes than two.
OF_MANY_SIZES = {"forecast": {"n": [400], "models": "pow2"}, "rows_needed": {"target": 0.9}}
#: Those that take no scores: a database, choices of tuned curves, and what others published.
OTHERS = {
    "bias_variance",
    "hardness",
    "in_words",
    "choice_shares",
    "chosen_values",
    "fitted",
    "Results",
    "read_results",
    "results_profile",
}


@pytest.fixture(scope="module")
def shipped():
    with lcdb.tutorial() as db:
        yield db


@pytest.fixture(scope="module")
def several(shipped):
    return {k: v.dropna("n").isel(n=[3, -1]) for k, v in shipped.select(**LABELS).items()}


@pytest.fixture(scope="module")
def metrics(shipped):
    found = shipped.select(**LABELS, metric=["accuracy", "brier"])
    return {k: v.dropna("n").isel(n=[3, -1]) for k, v in found.items()}


def same(found, expected):
    xr.testing.assert_equal(found, expected)
    assert type(found) is type(expected)


def test_every_public_function_is_here():
    assert set(analysis.__all__) == {*OF_SCORES, *OVER_DATASETS, *OF_MANY_SIZES, *OTHERS}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_SCORES)
def test_one_array_a_dict_and_several_metrics(name, several, metrics):
    function = getattr(analysis, name)
    options, gone = OF_SCORES[name]
    alone = {key: function(array.isel(gone), **options) for key, array in several.items()}
    together = function({key: array.isel(gone) for key, array in several.items()}, **options)
    assert list(together) == list(several)
    for key, expected in alone.items():
        same(together[key], expected)
    by_metric = function({key: part.isel(gone) for key, part in metrics.items()}, **options)
    for key, part in metrics.items():
        for metric in ("accuracy", "brier"):
            same(
                by_metric[key].sel(metric=metric, drop=True),
                function(part[metric].isel(gone), **options).drop_vars("metric", errors="ignore"),
            )
        same(by_metric[key], function(part.isel(gone), **options))


@pytest.mark.parametrize("name", OF_MANY_SIZES)
def test_curves_of_all_sizes(name, shipped):
    function, options = getattr(analysis, name), OF_MANY_SIZES[name]
    metrics = {"metric": ["accuracy", "auc"], "learner": "LDC", "split": "varying"}
    one, other = (
        shipped.select(61, sampling=draw, **metrics)[61] for draw in ("random", "additive")
    )
    together = function({61: one, "again": other}, **options)
    assert list(together) == [61, "again"]
    for key, part in {61: one, "again": other}.items():
        same(together[key], function(part, **options))
        for metric in ("accuracy", "auc"):
            alone = function(part[metric], **options)
            same(
                together[key].sel(metric=metric, drop=True),
                alone.drop_vars("metric", errors="ignore"),
            )


@pytest.mark.parametrize("name", OF_SCORES)
def test_a_lone_curve(name, several):
    function = getattr(analysis, name)
    options, gone = OF_SCORES[name]
    curve = several[61].isel(learner=0)
    if name in OF_LEARNERS:
        with pytest.raises(LabelError, match="expected learner"):
            function(curve.isel(gone), **options)
    else:
        assert "repetition" not in function(curve.isel(gone), **options).dims


def test_test_rows_go_with_their_dataset_and_with_accuracy_alone(shipped, several, metrics):
    draws = {"sampling": "random", "split": "varying"}
    n_test = {key: shipped[key].n_test.sel(draws) for key in shipped}
    found = analysis.normality(several, n_test)
    for key in several:
        same(found[key], analysis.normality(several[key], n_test[key]))
        assert found[key]["lattice_p"].notnull().any()
    both = analysis.normality(metrics, n_test, 0)[61]
    same(both["lattice_p"].sel(metric="accuracy", drop=True), found[61]["lattice_p"])
    assert both["lattice_p"].sel(metric="brier").isnull().all()
    assert "lattice_p" not in analysis.normality(metrics[61]["brier"])
    with pytest.raises(LabelError, match="no entry for dataset 61"):
        analysis.normality(several, {11: n_test[11]})


def test_a_whole_cube_needs_no_dask(shipped, monkeypatch):
    cube = shipped["iris"]
    found = analysis.summary(cube, [0.5])
    assert found.metric.values.tolist() == ["accuracy", "auc", "brier", "cross_entropy"]
    curve = shipped.curve("iris", "QDC", split="varying")
    here = found.sel(learner="QDC", sampling="random", split="varying", tuning="default")
    expected = analysis.summary(curve, [0.5])
    for name in ("mean", "quantile", "distinct"):
        np.testing.assert_array_equal(here[name].sel(metric="accuracy"), expected[name])


def test_what_holds_no_scores_is_refused(shipped):
    with pytest.raises(LabelError, match="holds n_test; expected one or more of accuracy"):
        analysis.summary(shipped["iris"][["n_test"]])


# -- over datasets ---------------------------------------------------------------------------------


def test_a_profile_is_of_all_datasets(several, metrics):
    taus = [0.01, 0.1]
    whole = analysis.profile(several, taus, kind="gap")
    assert whole.dims == ("learner", "tau") and whole.attrs["problems"] == 4
    alone = [analysis.profile(array, taus, kind="gap") for array in several.values()]
    np.testing.assert_allclose(whole, sum(alone) / 2)
    both = analysis.profile(metrics, taus, kind="gap")
    same(both.sel(metric="accuracy", drop=True), whole)
    one = analysis.profile({key: part[["brier"]] for key, part in metrics.items()}, kind="gap")
    assert one.metric.values.tolist() == ["brier"]
    with pytest.raises(LabelError, match="accuracy, brier have no thresholds in common; give tau="):
        analysis.profile(metrics, kind="gap")
    with pytest.raises(ArgumentError, match="expected one of welch, mann_whitney, gap"):
        analysis.profile(several, kind="gaps")


def test_a_table_has_a_row_for_every_value(several, metrics):
    frame = analysis.tidy(metrics)
    assert list(frame.columns) == [
        *("dataset", "learner", "sampling", "split", "tuning", "n", "fraction", "repetition"),
        *("status", "scaling", "accuracy", "brier"),
    ]
    assert len(frame) == sum(part["accuracy"].size for part in metrics.values())
    row = frame[(frame.dataset == "61") & (frame.learner == "LDC") & (frame.repetition == 7)]
    for size, value in zip(row["n"], row["brier"], strict=True):
        cell = metrics[61]["brier"].sel(learner="LDC", n=size, repetition=7)
        assert value == cell
    one = analysis.tidy(several[61])
    assert one["accuracy"].tolist() == frame[frame.dataset == "61"]["accuracy"].tolist()
    assert str(frame["learner"].dtype) == "category"
    moments = analysis.tidy(analysis.summary(several, [0.5]))
    assert {"mean", "sd", "quantile", "q"} <= set(moments.columns)
    assert len(moments) == 8
    with pytest.raises(LabelError, match="no arrays"):
        analysis.tidy({})


def test_a_table_keeps_what_is_missing_if_asked_to(shipped):
    curve = shipped.curve("iris", "LDC")
    assert len(analysis.tidy(curve, missing=True)) == curve.size
    assert len(analysis.tidy(curve)) == int(curve.notnull().sum())
    moments = analysis.summary(curve)
    assert len(analysis.tidy(moments.drop_dims("q"))) == curve.dropna("n").sizes["n"]


def test_fits_of_several_datasets(several):
    fits = analysis.fit(several, ["pow2"])
    found = analysis.fitted(fits, [10, 1000])
    same(found[11], analysis.fitted(fits[11], [10, 1000]))


# -- choices ---------------------------------------------------------------------------------------


@pytest.mark.process
def test_choices_of_several_cubes(db):
    cubes = {key: db[key] for key in (61, "mine")}
    chosen = analysis.chosen_values(cubes, "LDC", metric="brier")
    same(chosen[61], analysis.chosen_values(cubes[61], "LDC", "brier"))
    part = {key: one.isel(grid=slice(2)) for key, one in chosen.items()}
    shares = analysis.choice_shares(part, ties=False)
    same(shares[61], analysis.choice_shares(part[61], ties=False))


# -- rules -----------------------------------------------------------------------------------------


def test_cells_are_counted_by_one_rule(shipped, several):
    tests = analysis.normality(several[61])
    for index in np.ndindex(tests["shapiro_p"].shape):
        cell = {name: tests[name].values[index] for name in ("count", "constant", "shapiro_p")}
        expected = np.nan if cell["count"] < 8 else float(
            not cell["constant"] and cell["shapiro_p"] < 0.05
        )  # fmt: skip
        np.testing.assert_equal(tests["non_gaussian"].values[index], expected)
    frame = lcdb.tables.curve_frame(shipped, lattice=False)
    row = frame[(frame.dataset == "61") & (frame.learner == "LDC") & (frame.metric == "accuracy")
                & (frame.sampling == "random") & (frame.split == "varying")]  # fmt: skip
    curve = shipped.curve("iris", "LDC", sampling="random", split="varying")
    rates = analysis.normality(curve)["non_gaussian"]
    assert row["rate"].item() == pytest.approx(100 * float(rates.mean()))


def test_a_simulated_p_of_the_level_itself_rejects():
    flat = np.zeros(3, bool)
    found = stats.lattice_non_gaussian(np.array([0.05, 0.06, np.nan]), np.full(3, 9), flat)
    np.testing.assert_array_equal(found, [1, 0, np.nan])
    assert stats.non_gaussian(np.array([0.05]), np.array([9]), flat[:1]).tolist() == [0]


def test_a_summary_is_one_table_piece_by_piece():
    """Rows of all combinations of its labels would be 10^10."""
    with lcdb.open(SHIPPED / "turan2026") as db:
        summary = db["iris"].isel(sampling=[0], split=[0], n=[0, -1])
        frame = analysis.tidy({61: summary})
    assert set(frame["dataset"]) == {"61"}
    cells = frame[frame["mean"].notna()].set_index(["metric", "learner", "tuning", "n"])
    stored = summary["mean"].squeeze(["sampling", "split"], drop=True).to_series().dropna()
    assert cells["mean"].reindex(stored.index.reorder_levels(cells.index.names)).tolist() == (
        stored.tolist()
    )
    assert len(cells) == len(stored) and cells["q"].isna().all()
    quantiles = frame[frame["quantile"].notna()]
    assert len(quantiles) == int(summary["quantile"].notnull().sum())
    assert quantiles["q"].notna().all() and quantiles["pair"].isna().all()
    pairs = frame[frame["pair_statistic"].notna()]
    assert len(pairs) == int(summary["pair_statistic"].notnull().sum())
    few = analysis.tidy(summary[["count", "mean"]])
    assert few.columns[-2:].tolist() == ["count", "mean"] and len(few) == len(stored)
