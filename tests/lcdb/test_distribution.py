"""Algorithm 1 for a user's own algorithm, and the statistics of what comes of it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import lcdb
from lcdb.distribution import (
    cdf,
    cvar,
    cvar_difference,
    cvar_error,
    dse,
    inverse_cdf,
    nested,
    spread,
    threshold_area,
)
from tests.oracles.risk import cvar_upper
from tests.support.counts import counts


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


@pytest.mark.slow
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


def validate(chosen, data, rng):
    return -chosen["C"] + 1e-9 * rng.random()


def test_a_tuned_trial_trains_the_best_of_what_it_draws():
    plain = dse(score, sample, data, trials=6, seed=4)
    one = dse(score, sample, data, trials=6, seed=4, validate=validate, configurations=1)
    assert one.drop_vars("validation").identical(plain)  # the first draw, the same data
    tuned = dse(score, sample, data, trials=6, seed=4, validate=validate, configurations=30)
    assert (tuned["C"] <= plain["C"]).all() and (tuned["C"] < plain["C"]).any()
    assert np.allclose(tuned["validation"], -tuned["C"])
    part = dse(score, sample, data, trials=2, seed=4, first=3, validate=validate, configurations=30)
    assert tuned.isel(trial=slice(3, 5)).identical(part)


def test_what_validation_cannot_rate_is_not_chosen():
    def mostly_nan(chosen, data, rng):
        return float("nan") if chosen["kernel"] == "linear" else 0.0

    tuned = dse(score, sample, data, trials=9, seed=4, validate=mostly_nan, configurations=20)
    assert (tuned["kernel"] == "poly").all()
    with pytest.raises(ValueError, match="NaN for all 3"):
        dse(score, sample, data, 1, 4, validate=lambda c, d, r: float("nan"), configurations=3)
    with pytest.raises(ValueError, match="configurations is 0"):
        dse(score, sample, data, 1, 4, validate=validate, configurations=0)
    with pytest.raises(ValueError, match="called 'outcome'"):
        dse(score, lambda rng: {"outcome": 1.0, "C": 1.0}, data, 1, 4)


@pytest.mark.parametrize(("alpha", "tail"), [(0.5, "upper"), (0.0, "upper"), (0.3, "lower")])
def test_the_difference_is_resampled_in_pairs(alpha, tail):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=31), rng.integers(0, 3, 31).astype(float)
    a, b = keyed(x), keyed(y)
    found = cvar_difference(a, b, alpha, tail, confidence=0.8, resamples=150, seed=3)
    drawn = np.random.default_rng([3, 31]).integers(0, 31, (150, 31))

    def reference(z):
        return cvar_upper(z, alpha) if tail == "upper" else -cvar_upper(-z, 1 - alpha)

    loops = np.array([float(reference(x[rows]) - reference(y[rows])) for rows in drawn])
    assert float(found["difference"]) == pytest.approx(
        float(reference(x) - reference(y)), abs=1e-12
    )
    assert float(found["error"]) == pytest.approx(loops.std(ddof=1), abs=1e-12)
    assert float(found["low"]) == pytest.approx(np.quantile(loops, 0.1), abs=1e-12)
    assert float(found["high"]) == pytest.approx(np.quantile(loops, 0.9), abs=1e-12)
    assert float(found["share"]) == pytest.approx((loops > 0).mean() + 0.5 * (loops == 0).mean())
    assert found.attrs["trials"] == 31


def keyed(values, data=None):
    """Return outcomes of trials, with names of their data."""
    names = np.arange(len(values)) if data is None else data
    return xr.DataArray(values, {"data": ("trial", names)}, "trial")


def test_pairs_are_found_by_the_keys_of_their_data():
    a = keyed([1.0, 2.0, np.nan, 4.0], ["p", "q", "r", "s"])
    b = keyed([4.0, 0.0, 9.0], ["s", "q", "r"]).assign_coords(trial=[0, 1, 2])
    found = cvar_difference(a, b, 0.0, resamples=10)
    assert found.attrs["trials"] == 2 and float(found["difference"]) == 1.0
    same = cvar_difference(a, a, 0.5, resamples=10)
    assert float(same["share"]) == 0.5 and float(same["high"]) == 0.0
    # Neither equal lengths nor equal labels of trials say that data are the same.
    numbered = xr.DataArray([1.0, 2.0], {"trial": [0, 1]}, "trial")
    for one, other, name in ((a.drop_vars("data"), b, "a"), (numbered, numbered, "a"),
                             (a, keyed([1.0], [""]), "b")):  # fmt: skip
        with pytest.raises(ValueError, match=f"{name} has no keys of the data.*paired=False"):
            cvar_difference(one, other, 0.5)
    with pytest.raises(ValueError, match="several trials of the same data"):
        cvar_difference(keyed([1.0, 2.0], [3, 3]), a, 0.5)
    with pytest.raises(ValueError, match="no trial with the same data"):
        cvar_difference(a.isel(trial=[0]), b, 0.5)
    with pytest.raises(ValueError, match="a has the dims learner, trial"):
        cvar_difference(a.expand_dims("learner"), b, 0.5)
    with pytest.raises(ValueError, match="tail is 'left'"):
        cvar_difference(a, b, 0.5, "left")


def test_own_trials_are_pairs_where_their_data_were_the_same():
    def made(draw, seed=1, first=0):
        return dse(
            lambda chosen, x, rng: float(x.mean()) + chosen["a"], lambda rng: {"a": 0.0},
            draw, 6, seed, first=first,
        )["outcome"]  # fmt: skip

    def small(rng):
        return rng.normal(size=5)

    def large(rng):
        return rng.normal(size=50)

    assert cvar_difference(made(small), made(small), 0.5, resamples=5).attrs["trials"] == 6
    later = cvar_difference(made(small), made(small, first=2), 0.5, resamples=5)
    assert later.attrs["trials"] == 4 and float(later["difference"]) == 0.0
    for other in (made(large), made(small, seed=2)):
        with pytest.raises(ValueError, match="no trial with the same data"):
            cvar_difference(made(small), other, 0.5)
    several = lambda rng: {"x": [rng.normal(size=3), "a"], "y": (1, None)}  # noqa: E731
    table = dse(lambda chosen, x, rng: x["x"][0].sum(), lambda rng: {"a": 0.0}, several, 3, 1)
    assert len(set(table["data"].values)) == 3 and "" not in table["data"].values
    unknown = made(lambda rng: _Opaque(rng.normal()))
    with pytest.raises(ValueError, match="a has no keys"):
        cvar_difference(unknown, unknown, 0.5)


class _Opaque:
    """Data that no digest can be made of."""

    def __init__(self, value):
        self.value = value

    def mean(self):
        return self.value


def test_parts_of_the_experiment_are_pairs_within_a_task():
    with lcdb.shipped.experiments() as db:
        accuracy = db["dse"]["accuracy"].load()
        returns = db["pendulum"]["mean_return"].isel(trial=slice(0, 20)).load()
    moons = accuracy.sel(task="moons")
    pair = (moons.sel(learner="RF", mode="random"), moons.sel(learner="kNN", mode="tuned"))
    assert cvar_difference(*pair, 0.5, resamples=5).attrs["trials"] == 300  # tuned ones
    circles = accuracy.sel(task="circles", learner="kNN", mode="random")
    with pytest.raises(ValueError, match="no trial with the same data"):
        cvar_difference(pair[0], circles, 0.5)
    assert cvar_difference(pair[0], circles, 0.5, paired=False, resamples=5)["difference"] > 0
    agents = [returns.isel(algorithm=k) for k in (0, 1)]
    with pytest.raises(ValueError, match="no keys of the data"):
        cvar_difference(*agents, 0.5)


def test_the_interval_of_the_difference_holds_the_truth():
    """Of standard normals the mean of the better half is sqrt(2 / pi) standard deviations."""
    rng = np.random.default_rng(7)
    times, inside = counts(200, 2000), 0
    truth = 0.3 * np.sqrt(2 / np.pi)
    for _ in range(times):
        shared = rng.normal(size=300)
        a = keyed(1.3 * shared)
        b = keyed(shared + rng.normal(0, 1e-9, 300))
        found = cvar_difference(a, b, 0.5, resamples=400)
        inside += bool(found["low"] <= truth <= found["high"])
    slack = 0.015 + 3 * np.sqrt(0.95 * 0.05 / times)
    assert abs(inside / times - 0.95) <= slack


def mean_of_tail(x, alpha, tail):
    return float(cvar_upper(x, alpha) if tail == "upper" else -cvar_upper(-x, 1 - alpha))


@pytest.mark.parametrize(("alpha", "tail"), [(0.5, "upper"), (0.0, "upper"), (0.3, "lower")])
def test_what_is_not_paired_is_resampled_each_by_itself(alpha, tail):
    """Against loops over resamples that are drawn at once; there are ties and unlike sizes."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=31), rng.integers(0, 3, 17).astype(float)
    a = xr.DataArray([*x, np.nan], dims="trial")
    b = xr.DataArray(y, {"trial": np.arange(100, 117)}, "trial")
    options = {"confidence": 0.8, "resamples": 150, "seed": 3}
    found = cvar_difference(a, b, alpha, tail, paired=False, **options)
    first = np.random.default_rng([3, 0]).integers(0, 31, (150, 31))
    second = np.random.default_rng([3, 1]).integers(0, 17, (150, 17))
    loops = np.array(
        [
            mean_of_tail(x[i], alpha, tail) - mean_of_tail(y[j], alpha, tail)
            for i, j in zip(first, second, strict=True)
        ]
    )
    difference = mean_of_tail(x, alpha, tail) - mean_of_tail(y, alpha, tail)
    expected = {"difference": difference, "error": loops.std(ddof=1),
                "low": np.quantile(loops, 0.1), "high": np.quantile(loops, 0.9),
                "share": (loops > 0).mean() + 0.5 * (loops == 0).mean()}  # fmt: skip
    for name, value in expected.items():
        assert float(found[name]) == pytest.approx(value, abs=1e-12), name
    assert found.attrs["trials"] == [31, 17]


def test_what_is_not_paired_at_its_limits():
    one, other = xr.DataArray([2.0], dims="trial"), xr.DataArray([1.0, 1.0], dims="trial")
    found = cvar_difference(one, other, 0.5, paired=False, resamples=5)
    assert [float(found[name]) for name in ("difference", "error", "low", "high", "share")] == [
        1.0, 0.0, 1.0, 1.0, 1.0,
    ]  # fmt: skip
    rng = np.random.default_rng(2)
    z = xr.DataArray(rng.normal(size=400), dims="trial")
    same = cvar_difference(z, z, 0.5, paired=False)
    assert float(same["difference"]) == 0.0 and float(same["low"]) < 0.0 < float(same["high"])
    # Two independent samples: their squared errors add up.
    error = float(cvar_error(z, 0.5))
    assert float(same["error"]) == pytest.approx(np.sqrt(2.0) * error, rel=0.1)
    with pytest.raises(ValueError, match="b has no trials"):
        cvar_difference(one, other * np.nan, 0.5, paired=False)
    with pytest.raises(ValueError, match="a has the dims none"):
        cvar_difference(one[0], other, 0.5, paired=False)
    with pytest.raises(ValueError, match="tail is 'left'"):
        cvar_difference(one, other, 0.5, "left", paired=False)


@pytest.mark.parametrize("sizes", [(40, 25), (300, 60)])
def test_the_interval_of_what_is_not_paired_holds_the_truth(sizes):
    """Also of few trials. Of normals the mean of the better half is μ + σ sqrt(2 / π)."""
    rng = np.random.default_rng(8)
    times, inside = counts(300, 3000), 0
    truth = 1.0 + (2.0 - 1.0) * np.sqrt(2 / np.pi)
    for _ in range(times):
        a = xr.DataArray(rng.normal(1.0, 2.0, sizes[0]), dims="trial")
        b = xr.DataArray(rng.normal(0.0, 1.0, sizes[1]), dims="trial")
        found = cvar_difference(a, b, 0.5, paired=False, resamples=400)
        inside += bool(found["low"] <= truth <= found["high"])
    # A percentile interval of few trials is a little short.
    slack = 3 * np.sqrt(0.95 * 0.05 / times)
    assert 0.95 - 0.03 - slack <= inside / times <= 0.95 + 0.01 + slack


def simulated(rng, h, d, s, sizes):
    """Outcomes of independent normal effects with the given standard deviations."""
    a, b, ab, e = sizes
    return xr.DataArray(
        rng.normal(0, a, (h, 1, 1))
        + rng.normal(0, b, (1, d, 1))
        + rng.normal(0, ab, (h, d, 1))
        + rng.normal(0, e, (h, d, s)),
        dims=("hyperparameters", "data", "repetition"),
    )


def test_components_of_the_spread_are_unbiased_and_know_their_error():
    rng = np.random.default_rng(3)
    sizes = np.array([2.0, 1.0, 0.5, 0.7])
    found = [spread(simulated(rng, 12, 9, 2, sizes)) for _ in range(counts(200, 2000))]
    variances = np.array([one["variance"].values for one in found])
    errors = np.array([one["error"].values for one in found])
    off = (variances.mean(axis=0) - sizes**2) / (variances.std(axis=0) / np.sqrt(len(found)))
    assert np.abs(off).max() < 3.5
    # The jackknife errs on the safe side with so few draws, by a quarter of the error at most.
    ratio = (errors**2).mean(axis=0) / variances.var(axis=0)
    assert (ratio > 0.85).all() and (ratio < 1.25**2 + 0.15).all()
    shares = np.array([one["share"].values for one in found])
    errors = np.array([one["share_error"].values for one in found])
    ratio = (errors**2).mean(axis=0) / shares.var(axis=0)
    assert (ratio > 0.75).all() and (ratio < 1.8).all()


def test_components_are_those_of_an_analysis_of_variance():
    """Against the textbook's sums of squares, one pair after the other."""
    z = simulated(np.random.default_rng(1), 5, 4, 3, (1, 1, 1, 1))
    x = z.values
    h, d, s = x.shape
    ss_h = sum(d * s * (x[i].mean() - x.mean()) ** 2 for i in range(h))
    ss_d = sum(h * s * (x[:, j].mean() - x.mean()) ** 2 for j in range(d))
    ss_e = sum((x[i, j, r] - x[i, j].mean()) ** 2 for i, j, r in np.ndindex(h, d, s))
    ss_hd = ((x - x.mean()) ** 2).sum() - ss_h - ss_d - ss_e
    ms_hd, ms_e = ss_hd / ((h - 1) * (d - 1)), ss_e / (h * d * (s - 1))
    expected = [
        (ss_h / (h - 1) - ms_hd) / (d * s), (ss_d / (d - 1) - ms_hd) / (h * s),
        (ms_hd - ms_e) / s, ms_e,
    ]  # fmt: skip
    found = spread(z.transpose("repetition", "data", "hyperparameters"))
    assert np.allclose(found["variance"], expected, rtol=1e-10)
    assert list(found["source"].values) == [
        "hyperparameters", "data", "interaction", "randomness",
    ]  # fmt: skip
    assert float(found["share"].sum()) == pytest.approx(1.0)
    for name in ("variance", "share"):
        squares = []
        for axis in (0, 1):
            size = x.shape[axis]
            left = np.array([spread(z.drop_isel({z.dims[axis]: k}))[name] for k in range(size)])
            squares.append((size - 1) / size * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
        error = {"variance": "error", "share": "share_error"}[name]
        assert np.allclose(found[error], np.sqrt(np.max(squares, axis=0)), rtol=1e-10)


def test_what_does_not_vary_has_no_shares():
    found = spread(simulated(np.random.default_rng(1), 3, 3, 2, (0, 0, 0, 0)))
    assert (found["variance"] == 0).all() and (found["error"] == 0).all()
    assert np.isnan(found["share"]).all() and np.isnan(found["share_error"]).all()
    two = spread(simulated(np.random.default_rng(1), 2, 5, 2, (1, 1, 1, 1)))
    assert np.isnan(two["error"]).all() and np.isnan(two["share_error"]).all()


def test_nested_trials_are_crossed_and_grow():
    outcomes = nested(score, sample, data, 4, hyperparameters=3, data=4, repetitions=2)
    more = nested(score, sample, data, 4, hyperparameters=5, data=6, repetitions=3)
    assert outcomes.equals(more.isel(hyperparameters=range(3), data=range(4), repetition=range(2)))
    fixed = nested(
        lambda c, d, r: c["C"] + d.sum(), sample, data, 4, hyperparameters=3, data=4, repetitions=2
    )
    assert (fixed.isel(repetition=0) == fixed.isel(repetition=1)).all()
    result = spread(fixed)
    assert abs(float(result["variance"].sel(source="randomness"))) < 1e-20
    assert abs(float(result["variance"].sel(source="interaction"))) < 1e-12
    with pytest.raises(ValueError, match="1 repetition"):
        nested(score, sample, data, 4, repetitions=1)
    with pytest.raises(ValueError, match="dims"):
        spread(fixed.isel(data=0))
    with pytest.raises(ValueError, match="NaN"):
        spread(fixed * np.nan)


def test_bands_are_as_wide_as_their_confidence_asks():
    z = xr.DataArray(np.linspace(0, 1, 400), dims="trial")
    for confidence in (0.5, 0.99):
        found = cdf(z, [0.5], confidence=confidence)
        half = np.sqrt(np.log(2 / (1 - confidence)) / 800)
        assert float(found["high"][0] - found["cdf"][0]) == pytest.approx(half)
        assert float(found["cdf"][0] - found["low"][0]) == pytest.approx(half)


def test_the_standard_error_is_of_the_tail_that_is_asked_for():
    """The lower tail of z is the upper one of -z, and so are its resamples."""
    z = xr.DataArray(np.random.default_rng(3).gamma(1.0, size=300), dims="trial")
    options = {"seed": 5, "resamples": 60}
    lower, upper = cvar_error(z, 0.25, tail="lower", **options), cvar_error(z, 0.25, **options)
    assert float(lower) < float(upper)  # of Γ(1) the upper quarters are the wide ones
    turned = cvar_error(-z, 0.75, **options)
    assert float(turned) == pytest.approx(float(lower), rel=1e-12)
    rng = np.random.default_rng(5)
    drawn = [cvar_upper(z.values[rng.integers(0, 300, 300)], 0.25) for _ in range(60)]
    assert float(upper) == pytest.approx(np.std(np.array(drawn, float), ddof=1), rel=1e-9)
    assert float(cvar_error(z, 0.25, seed=6, resamples=60)) != float(upper)
