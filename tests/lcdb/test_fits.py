"""Models of curves against many random starts of a general solver, and what is known of them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import lcdb
from lcdb.curves.families import box
from lcdb.curves.fitting import STATUSES, fit_curves
from lcdb.curves.models import GROUPS, MODELS, model
from lcdb.errors import LabelError
from tests.oracles.fits import FORMULAS, best_loss
from tests.support.counts import counts

NAMES = [each.name for each in MODELS]
SIZES = np.unique(np.round(np.geomspace(1, 500, 25))).astype(float)

#: Parameters of a curve of each model that its box holds.
TYPICAL = {
    "last1": (0.8,),
    "pow2": (0.5, 0.4),
    "log2": (0.05, 0.6),
    "exp2": (0.5, 0.004),
    "lin2": (1e-4, 0.7),
    "ilog2": (0.3, 0.9),
    "pow3": (0.9, 0.5, 0.6),
    "exp3": (-0.4, 0.02, 0.9),
    "vap3": (-0.2, -0.5, 0.02),
    "expp3": (-0.5, -2.0, 1.9),
    "expd3": (0.5, 0.02, 0.9),
    "logpower3": (0.9, 1.0, -0.8),
    "mmf4": (0.4, 8.0, 0.95, 0.9),
    "wbl4": (0.2, 0.5, 0.93, 0.6),
    "exp4": (0.2, -0.7, 0.93, 0.6),
    "pow4": (0.95, 0.9, 0.5, 3.0),
    "janoschek4": (0.93, 0.5, 0.2, 0.6),
}


def curves(count, rng):
    """Return curves of all kinds: noisy ones of every model, wild ones, and degenerate ones."""
    for k in range(count):
        kind = k % 8
        noise = rng.choice([1e-4, 1e-3, 1e-2, 0.05]) * rng.normal(size=len(SIZES))
        if kind < 4:
            name = NAMES[rng.integers(len(NAMES))]
            with np.errstate(all="ignore"):
                clean = FORMULAS[name](np.maximum(SIZES, 2.0), *TYPICAL[name])
            yield SIZES, clean + noise
        elif kind == 4:
            yield SIZES, rng.normal(size=len(SIZES))
        elif kind == 5:  # a loss that rises and falls
            yield SIZES, 0.3 + 0.1 * np.exp(-((np.log(SIZES) - rng.uniform(1, 4)) ** 2)) + noise
        elif kind == 6:
            yield SIZES, np.full(len(SIZES), rng.uniform()) + (k % 16 == 6) * 0.001 * SIZES
        else:
            few = np.sort(rng.choice(SIZES[1:], rng.integers(2, 6), replace=False))
            yield few, rng.uniform(size=len(few))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_random_start_finds_a_better_optimum(name):
    chosen = model(name)
    rng = np.random.default_rng(NAMES.index(name))
    worse = []
    count = counts(8, 2000)
    for k, (n, y) in enumerate(curves(count, rng)):
        n, y = n[n >= chosen.smallest], y[n >= chosen.smallest]
        fits = fit_curves(chosen, n, y[None])
        assert STATUSES[fits.status[0]] != "failed"
        slow = best_loss(name, n, y, counts(2, 20), np.random.default_rng(k))
        if fits.loss[0] > 1.000001 * slow + 1e-12 * np.sum(y**2):
            worse.append((k, fits.loss[0], slow))
    assert len(worse) <= 0.01 * count, worse


@pytest.mark.parametrize("name", NAMES)
def test_parameters_of_a_curve_without_noise_come_back(name):
    n = np.arange(2.0, 200.0)
    y = FORMULAS[name](n, *TYPICAL[name])
    fits = fit_curves(model(name), n, y[None])
    assert fits.values[0, : len(TYPICAL[name])] == pytest.approx(TYPICAL[name], rel=1e-4, abs=1e-6)
    assert np.isnan(fits.values[0, len(TYPICAL[name]) :]).all()
    assert fits.loss[0] <= 1e-12 * np.sum(y**2)


@pytest.mark.parametrize("name", NAMES)
def test_parameters_say_what_the_loss_says(name):
    rng = np.random.default_rng(5)
    for n, y in curves(counts(16, 200), rng):
        n, y = n[n >= model(name).smallest], y[n >= model(name).smallest]
        fits = fit_curves(model(name), n, y[None])
        with np.errstate(all="ignore"):
            said = FORMULAS[name](n, *fits.values[0, : model(name).parameters])
        assert np.sum((said - y) ** 2) == pytest.approx(fits.loss[0], rel=1e-3, abs=1e-9)


def test_families_in_other_words_have_one_optimum():
    rng = np.random.default_rng(7)
    for group in (group for group in GROUPS if len(group) > 1 and "exp4" not in group):
        for n, y in curves(counts(8, 200), rng):
            losses = [fit_curves(model(name), n, y[None]).loss[0] for name in group]
            assert losses == pytest.approx([losses[0]] * len(losses), rel=1e-9)


def test_weights_count_copies():
    rng = np.random.default_rng(3)
    y = 0.9 - 0.4 * SIZES**-0.5 + 0.01 * rng.normal(size=len(SIZES))
    weights = rng.integers(1, 4, len(SIZES)).astype(float)
    for name in NAMES:
        ours = fit_curves(model(name), SIZES, y[None], weights)
        twice = fit_curves(model(name), SIZES, y[None], 2 * weights)
        assert twice.loss[0] == pytest.approx(2 * ours.loss[0], rel=1e-9)
        gone = fit_curves(model(name), SIZES, y[None], np.where(SIZES < 20, 0.0, 1.0))
        left = fit_curves(model(name), SIZES[SIZES >= 20], y[None, SIZES >= 20])
        assert gone.loss[0] == left.loss[0]


def test_the_same_curve_has_the_same_bits_alone_and_among_others():
    rng = np.random.default_rng(11)
    many = np.array([y for n, y in curves(16, rng) if len(n) == len(SIZES)])
    many[2, 4:9] = np.nan
    for name in NAMES:
        together = fit_curves(model(name), SIZES, many)
        for k in range(len(many)):
            alone = fit_curves(model(name), SIZES, many[k : k + 1])
            assert alone.values.tobytes() == together.values[k : k + 1].tobytes()


def test_what_cannot_be_fitted_says_so():
    one = fit_curves(model("mmf4"), SIZES, np.full((2, len(SIZES)), np.nan))
    assert [STATUSES[code] for code in one.status] == ["failed"] * 2
    assert np.isnan(one.values).all() and np.isnan(one.loss).all()
    few = fit_curves(model("pow4"), np.array([4.0, 8.0]), np.array([[0.5, 0.6]]))
    assert STATUSES[few.status[0]] == "underdetermined"
    alone = fit_curves(model("ilog2"), np.array([1.0]), np.array([[0.5]]))
    assert STATUSES[alone.status[0]] == "failed"  # 1/ln 1 does not exist
    rising = fit_curves(model("exp4"), SIZES, 1.0 / SIZES[None])
    assert STATUSES[rising.status[0]] == "boundary"  # exp(b) would have to be negative


def test_boxes_hold_their_corners():
    for each in MODELS:
        edges = box(each.family.code, SIZES)
        assert edges.shape == (each.family.free, 2) and (edges[:, 0] < edges[:, 1]).all()


# -- with labels -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curve():
    with lcdb.tutorial() as db:
        return db.curve("iris", "QDC", sampling="random", split="varying").load()


def test_means_quantiles_and_repetitions_are_fitted(curve):
    mean = lcdb.analysis.fit(curve)
    assert dict(mean.sizes) == {"model": 17, "parameter": 4}
    again = lcdb.analysis.fit(curve.mean("repetition"), over="mean")
    assert np.array_equal(mean.value, again.value, equal_nan=True)
    low = lcdb.analysis.fit(curve, "pow3", over=0.05)
    direct = lcdb.analysis.fit(curve.quantile(0.05, "repetition", skipna=False), ["pow3"])
    assert np.allclose(low.value, direct.value, equal_nan=True)
    each = lcdb.analysis.fit(curve.isel(repetition=slice(3)), "exp3", over="repetition")
    assert each.loss.dims == ("repetition", "model")
    alone = lcdb.analysis.fit(curve.isel(repetition=1), "exp3")
    assert np.array_equal(each.value[1], alone.value, equal_nan=True)


def test_fits_stop_at_the_smallest_size_and_weigh(curve):
    late = lcdb.analysis.fit(curve, "log2", smallest=20)
    cut = lcdb.analysis.fit(curve.sel(n=slice(20, None)), "log2")
    assert np.array_equal(late.value, cut.value, equal_nan=True)
    steps = xr.where(curve.n >= 20, 1.0, 0.0)
    weighed = lcdb.analysis.fit(curve, "log2", weights=steps)
    assert np.allclose(weighed.value, cut.value, equal_nan=True)


def test_fitted_says_what_the_formula_says(curve):
    fits = lcdb.analysis.fit(curve)
    said = lcdb.analysis.fitted(fits, [10, 1000])
    assert said.dims == ("model", "n")
    for name in NAMES:
        values = fits.value.sel(model=name).values[: model(name).parameters]
        right = FORMULAS[name](np.array([10.0, 1000.0]), *values)
        assert said.sel(model=name).values == pytest.approx(right, rel=1e-12)


def test_a_dataset_of_curves_keeps_its_labels():
    with lcdb.tutorial() as db:
        several = db.select(61, sampling="random", split="varying", tuning="default")[61]
        fits = lcdb.analysis.fit(several, ["pow3", "last1"])
    assert fits.value.dims == ("learner", "model", "parameter")
    assert lcdb.analysis.fitted(fits, 200).dims == ("learner", "model", "n")


def test_wrong_names_suggest_right_ones(curve):
    with pytest.raises(LabelError, match="pow3"):
        lcdb.analysis.fit(curve, "pow33")
    with pytest.raises(LabelError, match="over is 'median'"):
        lcdb.analysis.fit(curve, over="median")
    with pytest.raises(LabelError, match="expected n"):
        lcdb.analysis.fit(curve.isel(n=0))


def test_the_oracle_imports_nothing_of_ours():
    source = Path(sys.modules["tests.oracles.fits"].__file__).read_text("utf-8")
    assert "lcdb" not in source
