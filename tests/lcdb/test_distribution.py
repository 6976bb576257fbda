"""Algorithm 1 for a user's own algorithm, and the statistics of what comes of it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from oracles.risk import cvar_upper

import lcdb
from lcdb.distribution import cdf, cvar, cvar_error, dse, inverse_cdf, threshold_area


def sample(rng):
    kernel = ["linear", "poly"][int(rng.integers(2))]
    return {"C": rng.uniform(), "kernel": kernel} | ({"degree": 3} if kernel == "poly" else {})


def score(chosen, data, rng):
    return chosen["C"] + data.mean() + rng.normal()


def data(rng):
    return rng.normal(size=5)


def test_a_trial_depends_on_seed_and_number_alone():
    every = dse(score, sample, data, trials=9, seed=4)
    part = dse(score, sample, data, trials=3, seed=4, first=5)
    assert every.isel(trial=slice(5, 8)).identical(part)
    assert not every["outcome"].equals(dse(score, sample, data, trials=9, seed=5)["outcome"])
    assert len(np.unique(every["outcome"])) == 9


def test_streams_of_a_trial_are_apart():
    """Whether hyper-parameters are drawn or not, data and training are the same."""
    fixed = dse(lambda c, d, r: d.sum() + r.random(), lambda r: {}, data, trials=4, seed=1)
    drawn = dse(lambda c, d, r: d.sum() + r.random(), sample, data, trials=4, seed=1)
    assert fixed["outcome"].equals(drawn["outcome"])


def test_hyper_parameters_are_kept():
    found = dse(score, sample, data, trials=40, seed=4)
    poly = found["kernel"].values == "poly"
    assert 0 < poly.sum() < 40
    assert (found["degree"].values[poly] == 3).all() and np.isnan(
        found["degree"].values[~poly]
    ).all()
    assert found["C"].dtype == float
    with pytest.raises(ValueError, match="trials is 0"):
        dse(score, sample, data, trials=0, seed=4)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(0, 5), st.floats(0, 0.9)
)
def test_rows_of_unlike_length_are_each_their_own_sample(values, missing, alpha):
    z = np.full((2, len(values) + missing), np.nan)
    z[0, : len(values)], z[1] = values, 3.0
    array = xr.DataArray(z, {"learner": ["a", "b"]}, ("learner", "trial"))
    assert np.isclose(float(cvar(array, alpha)[0]), float(cvar_upper(values, alpha)))
    assert np.isclose(float(threshold_area(array, 0.0)[0]), np.maximum(values, 0.0).mean())
    found = inverse_cdf(array, [0.0, 0.5, 1.0])
    assert found["value"].dims == ("learner", "probability")
    assert float(found["value"][0, -1]) == max(values) and float(found["value"][1, 0]) == 3.0
    shares = cdf(array, sorted(values))
    assert float(shares["cdf"][0, -1]) == 1.0
    assert (shares["low"] <= shares["cdf"]).all() and (shares["cdf"] <= shares["high"]).all()


def test_a_part_without_trials_has_no_statistics():
    empty = xr.DataArray(np.full((1, 4), np.nan), dims=("learner", "trial"))
    assert np.isnan(cvar(empty, 0.5)).all() and np.isnan(cvar_error(empty, 0.5)).all()


def test_the_band_holds_the_truth():
    rng = np.random.default_rng(2)
    p = np.linspace(0.01, 0.99, 99)
    inside = 0
    for _ in range(300):
        z = xr.DataArray(rng.uniform(size=80), dims="trial")
        band = inverse_cdf(z, p, confidence=0.9, support=(0, 1))
        inside += bool(((band["low"] <= p) & (p <= band["high"])).all())
    assert inside >= 0.87 * 300


def test_the_standard_error_is_that_of_the_mean():
    z = xr.DataArray(np.random.default_rng(2).normal(size=2000), dims="trial")
    expected = float(z.std()) / np.sqrt(2000)
    assert float(cvar_error(z, 0.0)) == pytest.approx(expected, rel=0.1)
    with pytest.raises(ValueError, match="tail is 'left'"):
        cvar(z, 0.5, tail="left")
    assert lcdb.distribution.dse is dse
