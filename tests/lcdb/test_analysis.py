"""Labels in, labels out: the analysis layer says what `lcdb.stats` says, cell by cell."""

from __future__ import annotations

import dask.array
import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm, ttest_rel
from statsmodels.stats.multitest import multipletests

from lcdb import analysis, stats
from lcdb.errors import LabelError
from tests.support.counts import counts


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    data = rng.normal(0.8, 0.02, (3, 2, 6, 200)).astype(np.float32)
    data[1] += np.float32(0.05)
    data[2, 0, 0] = np.float32(0.5)  # a constant cell
    data[2, 1, 0] = np.nan
    coords = {
        "learner": ["LDC", "QDC", "NMC"],
        "split": ["fixed", "varying"],
        "n": [1, 2, 4, 8, 16, 32],
        "status": (("learner", "split"), np.full((3, 2), "complete")),
        "fraction": ("n", np.array([1, 2, 4, 8, 16, 32]) / 32),
    }
    attrs = {"direction": "maximize", "units": "1", "dataset_name": "toy"}
    return xr.DataArray(data, coords, ("learner", "split", "n", "repetition"), "accuracy", attrs)


def test_summary_keeps_labels_and_values(scores):
    found = analysis.summary(scores, [0.1, 0.5])
    assert found["mean"].dims == ("learner", "split", "n")
    assert found["quantile"].dims == ("learner", "split", "n", "q")
    assert found["constant"].dtype == bool
    fields, quantile = stats.summary(scores.values, [0.1, 0.5])
    for name, expected in fields.items():
        np.testing.assert_array_equal(found[name].values, expected)
        assert found[name].attrs["long_name"]
    np.testing.assert_array_equal(found["quantile"].values, quantile)
    assert found.attrs["metric"] == "accuracy"
    assert found.attrs["direction"] == "maximize"
    assert {"fraction", "status"} <= set(found.coords)


@pytest.mark.parametrize("chunks", [{"n": 2}, {"n": -1, "repetition": 50}, {"learner": 1}])
def test_dask_stays_lazy_and_says_the_same(scores, chunks):
    lazy = scores.chunk(chunks)
    for function in (analysis.summary, analysis.normality, analysis.quantile_curve):
        found = function(lazy)
        assert all(isinstance(v.data, dask.array.Array) for v in found.data_vars.values())
        xr.testing.assert_identical(found.compute(), function(scores))


def test_order_of_dims_does_not_matter(scores):
    turned = analysis.summary(scores.transpose("repetition", "n", "learner", "split"))
    plain = analysis.summary(scores)
    xr.testing.assert_identical(turned.transpose(*plain.dims), plain)


def test_normality_counts_constants_as_gaussian_and_missing_as_missing(scores):
    found = analysis.normality(scores)
    g = found["non_gaussian"].sel(n=1, learner="NMC")
    assert g.sel(split="fixed") == 0
    assert np.isnan(g.sel(split="varying"))
    rest = found.isel(n=slice(1, None))
    expected = (rest["shapiro_p"] < 0.05).astype(float)
    np.testing.assert_array_equal(rest["non_gaussian"], expected)
    few = analysis.normality(scores.isel(repetition=slice(7)))
    assert np.isnan(few["non_gaussian"]).all()


def test_lattice_columns_only_where_test_sets_do_not_vary(scores):
    n_test = xr.DataArray(
        np.full((2, 6, 200), 45), {"split": ["fixed", "varying"], "n": scores.n},
        ("split", "n", "repetition"),
    )  # fmt: skip
    n_test[1, :, 7] = 46
    rounded = (scores * n_test).round() / n_test
    rounded.attrs = scores.attrs
    found = analysis.normality(rounded, n_test)
    assert found["lattice_p"].dims == ("learner", "split", "n")
    assert np.isnan(found["lattice_p"].sel(split="varying")).all()
    fixed = found.sel(split="fixed", learner="LDC")
    p, bins, step = stats.grouped_normal_test(rounded.sel(split="fixed", learner="LDC").values, 45)
    np.testing.assert_array_equal(fixed["lattice_p"], p)
    np.testing.assert_array_equal(fixed["lattice_bins"], bins)
    np.testing.assert_array_equal(fixed["lattice_step"], step)
    assert fixed["lattice_step"].notnull().all()
    simulated = analysis.normality(rounded, n_test, simulations=19)["lattice_p"]
    xr.testing.assert_equal(simulated.sel(split="fixed"), found["lattice_p"].sel(split="fixed"))
    ragged = simulated.sel(split="varying", learner="LDC").values
    assert np.isfinite(ragged).all()
    np.testing.assert_allclose(ragged * 20, np.round(ragged * 20))


def test_pairs_are_differences_within_repetitions(scores):
    found = analysis.paired_normality(scores)
    assert found["first"].values.tolist() == ["LDC", "LDC", "QDC"]
    assert found["second"].values.tolist() == ["QDC", "NMC", "NMC"]
    difference = scores.sel(learner="LDC").values - scores.sel(learner="NMC").values
    expected, _ = stats.summary(difference, ())
    np.testing.assert_array_equal(
        found["shapiro_w"].isel(pair=1).transpose("split", "n"), expected["shapiro_w"]
    )


def test_accuracy_differences_are_counts(scores):
    n_test = xr.full_like(scores.isel(learner=0, drop=True), 45, dtype=int)
    counts = (scores * n_test).round()
    found = analysis.paired_normality((counts / n_test).astype(np.float32), n_test)
    difference = counts.sel(learner="LDC") - counts.sel(learner="QDC")
    expected = [len(set(cell)) for cell in difference.sel(split="fixed").values.tolist()]
    first = found["distinct"].isel(pair=0).sel(split="fixed")
    assert first.values.tolist() == expected


def test_quantile_curve_encloses_its_quantile(scores):
    found = analysis.quantile_curve(scores, [0.05, 0.5, 0.95])
    inside = (found["low"] <= found["quantile"]) & (found["quantile"] <= found["high"])
    there = found["quantile"].notnull()
    assert inside.where(there, True).all()
    assert found["low"].isnull().equals(found["quantile"].isnull())
    median = scores.astype(float).median("repetition", skipna=False)
    np.testing.assert_allclose(found["quantile"].sel(q=0.5), median.transpose(..., "n"))


def test_top_k_change_by_label(scores):
    steady = scores.isel(n=slice(1, None))
    found = analysis.top_k_change(steady, quantile=0.5, width=0, k=1)
    assert found["top_1"].dims == ("split", "n")
    assert not found["top_1"].any()
    assert found.attrs["direction"] == "maximize"
    turned = analysis.top_k_change(-steady, 0.5, 0, k=1, direction="minimize")
    assert not turned["top_1"].any()


def test_dominance_is_read_by_learner(scores):
    cell = scores.sel(split="fixed", n=16)
    found = analysis.dominance(cell, bootstraps=50)
    assert found["dominates"].sel(learner="QDC", other="LDC")
    assert not found["dominates"].sel(learner="LDC", other="QDC")
    assert not found["dominates"].sel(learner="LDC", other="NMC")
    np.testing.assert_array_equal(np.diag(found["dominates"]), False)


@pytest.mark.slow
def test_dominance_along_sizes_is_corrected_for_all_of_them(scores):
    part = scores.sel(split="fixed").isel(n=[1, -1])
    found = analysis.dominance(part, bootstraps=60, seed=2)
    assert found["violation"].dims == ("learner", "other", "n")
    for n in part["n"].values:
        bare = stats.violation(*(part.sel(learner=name, n=n).values for name in ("QDC", "LDC")))
        one = found.sel(learner="QDC", other="LDC", n=n)
        assert float(one["violation"]) == bare
        sd = float(one["sd"])
        order = norm.cdf((bare - 0.2) / sd) if sd > 0 else float(bare >= 0.2)
        pair = (part.sel(learner=name, n=n).values.astype(float) for name in ("QDC", "LDC"))
        mean = ttest_rel(*pair, alternative="greater").pvalue
        assert float(one["p"]) == pytest.approx(max(order, mean), rel=1e-6, abs=1e-300)
    p = found["p"].values[np.isfinite(found["p"].values)]
    rejected = multipletests(p, 0.05, method="holm")[0]
    assert int(found["settled"].sum()) == rejected.sum() > 0
    assert (found["settled"] <= found["dominates"]).all()


def test_equal_learners_are_rarely_settled_to_dominate():
    rng = np.random.default_rng(5)
    draws = rng.normal(size=(counts(20, 1000), 2, 100))
    cells = xr.DataArray(draws, {"learner": ["A", "B"]}, ("draw", "learner", "repetition"))
    settled = [analysis.dominance(cell, bootstraps=100)["settled"].any() for cell in cells]
    assert np.mean(settled) <= 0.06


def test_samples_that_differ_in_a_few_repetitions_settle_nothing():
    same = np.random.default_rng(0).normal(size=200)
    other = same.copy()
    other[:2] += 1.0
    cell = xr.DataArray([other, same], {"learner": ["A", "B"]}, ("learner", "repetition"))
    found = analysis.dominance(cell, bootstraps=100)
    assert float(found["violation"].sel(learner="A", other="B")) == 0
    assert not found["settled"].any()


def test_profile_counts_problems_and_penalises_missing_learners(scores):
    found = analysis.profile(scores, [0.001, 0.2, 1.0], kind="gap")
    # 12 problems; QDC is best everywhere but where nothing hinders it; NMC lacks one.
    assert found.sel(learner="QDC").values.tolist() == [1, 1, 1]
    assert found.sel(learner="NMC", tau=1.0) == pytest.approx(11 / 12)
    assert found.attrs["problems"] == 12
    pair = analysis.profile({1: scores, 2: scores.sel(learner=["LDC", "QDC"])}, [1.0], kind="gap")
    assert pair.attrs["problems"] == 24
    assert pair.sel(learner="NMC", tau=1.0) == pytest.approx(11 / 24)
    assert pair.sel(learner="LDC", tau=1.0) == 1
    with pytest.raises(ValueError, match="expected one of welch"):
        analysis.profile(scores, kind="ratio")
    lossy = analysis.profile(-scores, [0.2], kind="gap", direction="minimize")
    np.testing.assert_array_equal(lossy, found.sel(tau=[0.2]))


@pytest.mark.parametrize("kind", ["welch", "mann_whitney"])
def test_profile_kinds(scores, kind):
    found = analysis.profile(scores.isel(n=slice(1, None)), kind=kind)
    assert found.sizes["tau"] == 200
    assert found.sel(learner="QDC").min() == 1
    assert (found.isel(tau=-1) == 1).all()
    assert found.sel(learner="LDC").isel(tau=0) < 0.5


def test_sample_size_is_the_first_from_which_the_target_holds(scores):
    rising = xr.DataArray(
        np.array([0.1, 0.9, 0.3, 0.6, 0.7, 0.8])[:, None] + np.zeros((6, 50)),
        {"n": [1, 2, 4, 8, 16, 32]},
        ("n", "repetition"),
    )
    size = analysis.sample_size_for(rising, 0.65)
    assert size == 16  # 0.9 at n = 2 did not last
    assert np.isnan(analysis.sample_size_for(rising, 0.95))
    assert analysis.sample_size_for(1 - rising, 0.35, direction="minimize") == 16
    holes = rising.where(rising.n != 32)
    assert analysis.sample_size_for(holes, 0.65) == 16
    assert analysis.sample_size_for(scores, 0.0).dims == ("learner", "split")


def test_the_bad_end_of_a_loss_is_its_upper_quantile():
    loss = xr.DataArray(
        np.tile(np.linspace(0, 1, 101), (2, 1)), {"n": [1, 2]}, ("n", "repetition"),
        attrs={"direction": "minimize"},
    )  # fmt: skip
    assert np.isnan(analysis.sample_size_for(loss, 0.94, quantile=0.05))
    assert analysis.sample_size_for(loss, 0.96, quantile=0.05) == 1


def test_what_lacks_a_dim_is_told_so(scores):
    with pytest.raises(LabelError, match="expected repetition too"):
        analysis.summary(scores.mean("repetition"))
    with pytest.raises(LabelError, match="expected learner"):
        analysis.top_k_change(scores.isel(learner=0))
    with pytest.raises(LabelError, match="direction"):
        analysis.top_k_change(scores, direction="up")


def test_dominance_follows_the_direction(scores):
    cell = scores.sel(split="fixed", n=16)
    found = analysis.dominance(cell, bootstraps=50)
    loss = analysis.dominance(-cell, bootstraps=50, direction="minimize")
    assert loss.attrs["direction"] == "minimize"
    xr.testing.assert_identical(loss.drop_attrs(), found.drop_attrs())
    turned = analysis.dominance(cell, bootstraps=50, direction="minimize")
    assert turned["dominates"].sel(learner="LDC", other="QDC")
    assert not turned["dominates"].sel(learner="QDC", other="LDC")


def test_fewer_repetitions_take_their_own_test_rows():
    """The lattice of the first 100 repetitions, not of all."""
    rng = np.random.default_rng(1)
    n_test = xr.DataArray(np.full((2, 200), 45), {"n": [1, 2]}, ("n", "repetition"))
    n_test[:, 100:] = 46  # varies among all 200, not among the first 100
    accuracy = xr.DataArray(rng.binomial(45, 0.8, (2, 200)), n_test.coords, n_test.dims) / n_test
    found = analysis.normality_by_repetitions(accuracy, [100, 200], n_test)
    p, bins, step = stats.grouped_normal_test(accuracy.values[:, :100], 45)
    first = found.sel(repetitions=100)
    np.testing.assert_array_equal(first["lattice_p"], p)
    np.testing.assert_array_equal(first["lattice_bins"], bins)
    np.testing.assert_array_equal(first["lattice_step"], step)
    assert np.isnan(found["lattice_p"].sel(repetitions=200)).all()


def test_pairs_along_another_dim(scores):
    some = scores.isel(learner=[0, 1])
    with pytest.raises(LabelError, match="split differs: fixed and varying"):
        analysis.paired_normality(some, dim="split")
    some = some.rename(split="tuning").assign_coords(tuning=["default", "tuned"])
    found = analysis.paired_normality(some, dim="tuning")
    assert (found["first"].values.tolist(), found["second"].values.tolist()) == (
        ["default"],
        ["tuned"],
    )
    difference = some.sel(tuning="default").values - some.sel(tuning="tuned").values
    expected, _ = stats.summary(difference, ())
    shapiro = found["shapiro_w"].isel(pair=0).transpose("learner", "n")
    np.testing.assert_array_equal(shapiro, expected["shapiro_w"])
