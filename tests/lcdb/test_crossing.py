"""Simultaneous bands and crossings, the power of small studies, and the sentences that say them.

Seeds were fixed before any result was looked at.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats as scipy_stats
from statsmodels.stats.power import TTestPower

import lcdb
from lcdb import analysis, stats
from lcdb.errors import ArgumentError, LabelError
from tests.oracles import comparing as oracle
from tests.support.counts import FULL, counts

LABELS = {"sampling": "random", "split": "varying", "tuning": "default"}


def walks(rng, simulations, sizes=12, repetitions=100):
    """Noise that neighbouring sizes share much of."""
    steps = rng.standard_normal((simulations, sizes, repetitions))
    noise = np.empty_like(steps)
    noise[:, 0] = steps[:, 0]
    for i in range(1, sizes):
        noise[:, i] = 0.8 * noise[:, i - 1] + 0.6 * steps[:, i]
    return noise


# -- bands -----------------------------------------------------------------------------------------


def test_the_band_of_means_is_a_plain_bootstrap():
    d = np.random.default_rng(40).gamma(2.0, size=(4, 15))
    found = stats.difference_band(d, np.zeros((4, 15)), resamples=40, seed=3, confidence=0.9)
    drawn = stats.bootstrap_counts(15, 40, 3).T
    centre, width = oracle.band([list(map(float, row)) for row in d], drawn.tolist(), 0.9)
    np.testing.assert_allclose(found.difference, centre, rtol=1e-12)
    np.testing.assert_allclose(found.high - found.difference, width, rtol=1e-12)


def test_the_band_of_quantiles_is_a_plain_bootstrap():
    a, b = np.random.default_rng(41).gamma(2.0, size=(2, 3, 20))
    b *= 0.2  # hardly varies: fewer degrees of freedom than 19
    found = stats.difference_band(a, b, 0.3, resamples=30, seed=3, confidence=0.9)
    drawn = stats.bootstrap_counts(20, 30, 3)
    z, spread = [], []
    for x, y in zip(a, b, strict=True):
        centre = oracle.harrell_davis(list(x), 0.3) - oracle.harrell_davis(list(y), 0.3)
        both = np.array(
            [
                [oracle.harrell_davis(list(np.repeat(s, drawn[:, i])), 0.3) for i in range(30)]
                for s in (x, y)
            ]
        )
        spread.append(both)
        resampled = both[0] - both[1]
        z.append(np.abs(resampled - centre) / np.std(resampled))
    limit = np.quantile(np.max(z, axis=0), 0.9)
    var_a, var_b = np.moveaxis(np.var(spread, axis=-1), -1, 0)
    apart = np.mean(np.abs(var_a - var_b) / (var_a + var_b))
    dof = min(19, 6 * np.sqrt(20 * 0.3 * 0.7) / apart)
    expected = scipy_stats.t.isf(scipy_stats.norm.sf(limit), dof)
    np.testing.assert_allclose(found.critical, expected, rtol=1e-9)


def test_bands_of_what_never_varies_and_of_gaps():
    a = np.random.default_rng(42).standard_normal((4, 30))
    b = a.copy()
    b[1] -= 0.5
    b[2:] *= 0.5
    found = stats.difference_band(a, b, resamples=100)
    assert found.low[0] == found.high[0] == 0
    assert found.low[1] == found.high[1] == pytest.approx(0.5)
    assert (found.low[2:] < found.high[2:]).all()
    gaps = a.copy()
    gaps[2] = np.nan
    gaps[3, 5] = np.nan
    found = stats.difference_band(gaps, b, resamples=100)
    kept = np.delete(np.delete(np.stack([a, b]), 2, axis=1), 5, axis=2)
    expected = stats.difference_band(*kept, resamples=100)
    assert np.isnan(found.low[2])
    np.testing.assert_array_equal(np.delete(found.low, 2), expected.low)
    assert np.isnan(stats.difference_band(a[:, :1], b[:, :1]).critical)
    same = stats.difference_band(a, a)
    assert (same.low == 0).all() and same.critical == 0


@pytest.mark.parametrize(
    ("quantile", "other"),
    [(None, 0.0), (0.5, 0.0), (0.5, 1.0), (0.05, 0.0), (0.05, 0.5), (0.95, 1.0)],
)
def test_bands_hold_at_all_sizes_at_once(quantile, other):
    """Two learners of which the second varies not at all, half as much, or alike; paired."""
    simulations = counts(100, 10_000)
    rng = np.random.default_rng(43)
    noise = walks(rng, simulations)
    own = walks(rng, simulations)
    true = 0.0 if quantile is None else (1 - other) * scipy_stats.norm.ppf(quantile)
    held = 0
    for a, b in zip(noise, own, strict=True):
        second = other * (0.8 * a + 0.6 * b)
        band = stats.difference_band(a, second, quantile, resamples=counts(200, 1000))
        held += bool(((band.low <= true) & (band.high >= true)).all())
    rate = 100 * held / simulations
    print(quantile, other, rate)
    assert abs(rate - 95) <= (1.5 if FULL else 8.0)


@pytest.mark.slow
def test_crossings_lie_where_they_are_said_to():
    """Curves that cross between the 6th and the 7th of 12 sizes."""
    simulations = counts(400, 10_000)
    rng = np.random.default_rng(44)
    place, true = np.arange(12.0), 5.4
    noise = walks(rng, simulations)
    covered, crossed = 0, 0
    for d in noise:
        band = stats.difference_band(d, 0.1 * (place - true)[:, None], resamples=counts(500, 2000))
        change = stats.last_change(band.low, band.high)
        crossed += change.changes == 1
        covered += change.changes == 0 or change.before < true < change.after
    print("covered", 100 * covered / simulations, "crossings seen", 100 * crossed / simulations)
    assert covered / simulations >= 0.93 and crossed / simulations > 0.8


def test_the_last_of_several_changes():
    low = np.array([1, np.nan, -3, -1, 1, 2.0])
    assert stats.last_change(low, low + 1.5) == (2, 4, 2)
    assert stats.last_change(np.ones(3), np.full(3, 2.0)) == (-1, -1, 0)


# -- power -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("effect", [0.2, 0.6])
def test_power_is_that_of_the_noncentral_t(effect):
    d = np.random.default_rng(45).standard_normal(1000)
    d = effect + (d - d.mean()) / d.std(ddof=1)
    numbers = np.array([5, 10, 25, 100])
    found = stats.power_of_studies(d, numbers, "t", studies=counts(4000, 20_000), seed=1)
    expected = stats.power_of_t(effect, numbers)
    print(100 * found.found, 100 * expected, 100 * found.wrong_sign)
    assert (abs(found.found - expected) <= (0.02 if FULL else 0.035)).all()
    both = TTestPower().power(effect, 100, 0.05)  # two-sided: with the wrong sign as well
    np.testing.assert_allclose(expected[-1], both, atol=1e-4)


def test_the_number_of_repetitions_is_the_first_that_suffices():
    effects = np.array([0.02, 0.1, 0.35, 1.2, 30.0])
    needed = stats.repetitions_for(effects, 0.9, alpha=0.01)
    reached = stats.power_of_t(effects[1:4], needed[1:4], 0.01)
    short = stats.power_of_t(effects[1:4], needed[1:4] - 1, 0.01)
    assert (reached >= 0.9).all() and (short < 0.9).all()
    expected = TTestPower().solve_power(0.02, power=0.9, alpha=0.01)
    np.testing.assert_allclose(needed[0], expected, rtol=1e-3)
    assert needed[4] == 2 or stats.power_of_t(1.0, 2, 0.01) < 0.9
    assert np.isnan(stats.repetitions_for(np.nan))


@pytest.mark.parametrize(("mean", "low", "high"), [(0.3, 0.1, 0.5), (-0.3, -0.4, -0.2)])
def test_repetitions_of_a_mean_and_its_interval(mean, low, high):
    """The mean, the end farther from 0 and the nearer one, each by a search of its own."""
    needed = stats.repetitions_of_moments(mean, low, high, 0.4, power=0.9, alpha=0.01)
    ends = max(abs(low), abs(high)), min(abs(low), abs(high))
    for found, size in zip(needed, (abs(mean), *ends), strict=False):
        enough = (
            r
            for r in range(2, 10_000)
            if scipy_stats.nct.sf(scipy_stats.t.isf(0.005, r - 1), r - 1, size / 0.4 * r**0.5)
            >= 0.9
        )
        assert found == next(enough)
    wider = stats.repetitions_of_moments(mean, -0.1, 0.5, 0.4, power=0.9, alpha=0.01)
    assert np.isinf(wider[2])


def test_power_of_other_tests():
    d = np.random.default_rng(46).normal(-0.4, 1.0, 500)
    numbers = np.array([10, 60])
    for test, p_of in (("sign", stats.sign_test), ("wilcoxon", stats.wilcoxon)):
        found = stats.power_of_studies(d, numbers, test, studies=200, alpha=0.1)
        rng = np.random.default_rng([0, 60])
        samples = d[rng.integers(0, 500, (200, 60))]
        rejected = p_of(samples) <= 0.1
        assert found.found[1] + found.wrong_sign[1] == pytest.approx(rejected.mean())
        assert found.found[1] > 0.8 > found.found[0] > found.wrong_sign[0]
    assert np.isnan(stats.power_of_studies(np.zeros(9), numbers).found).all()


# -- labels ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped():
    with lcdb.tutorial() as db:
        yield db


@pytest.fixture(scope="module")
def curves(shipped):
    return {name: shipped.curve("iris", name, **LABELS).load() for name in ("QDC", "LDC", "NMC")}


@pytest.fixture(scope="module")
def together(shipped):
    learners = ["QDC", "LDC", "NMC"]
    return shipped.select("iris", learner=learners, **LABELS)[61].load()


OPTIONS = {
    "crossing": {"resamples": 50, "seed": 2, "confidence": 0.9},
    "power": {"studies": 30, "seed": 2, "alpha": 0.1, "test": "sign", "repetitions": [4, 8]},
    "repetitions_for": {"alpha": 0.1, "confidence": 0.9, "power": 0.7},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_all_pairs_are_the_pairs(curves, together, name):
    function, options = getattr(analysis, name), OPTIONS[name]
    every = function(together.rename(learner="method"), dim="method", **options)
    for pair in range(3):
        sides = [str(every[side].values[pair]) for side in ("first", "second")]
        alone = function(*(curves[side] for side in sides), **options)
        assert [alone.attrs["first"], alone.attrs["second"]] == sides
        for variable in alone.data_vars:
            expected = every[variable].isel(pair=pair)
            xr.testing.assert_equal(
                alone[variable].drop_vars(alone[variable].coords),
                expected.transpose(*alone[variable].dims).drop_vars(expected.coords),
            )
            assert alone[variable].attrs["long_name"]


def test_a_crossing_and_its_direction(curves):
    found = analysis.crossing(curves["QDC"], curves["NMC"], resamples=500)
    assert found["changes"] == 1 and found["winner"] == 1
    before, after = float(found["open_low"]), float(found["open_high"])
    assert found["order"].sel(n=before) == -1 and found["order"].sel(n=after) == 1
    assert found["winner_from"] == after
    means = (curves["QDC"] - curves["NMC"]).mean("repetition")
    assert means.sel(n=before) < 0 < means.sel(n=after)
    loss = analysis.crossing(curves["QDC"], curves["NMC"], resamples=500, direction="minimize")
    assert loss["winner"] == -1
    tail = analysis.crossing(curves["QDC"], curves["NMC"], at=0.05, resamples=100)
    hd = stats.harrell_davis(curves["QDC"].sel(n=40), [0.05])
    other = stats.harrell_davis(curves["NMC"].sel(n=40), [0.05])
    np.testing.assert_allclose(tail["difference"].sel(n=40), (hd - other)[0])


def test_equal_learners_have_no_order(curves):
    found = analysis.crossing(curves["QDC"], curves["QDC"], resamples=20)
    assert found["changes"] == 0 and found["winner"] == 0 and np.isnan(found["open_low"])
    assert (
        "no difference in mean accuracy between first and second is settled"
        in analysis.in_words(found)
    )
    nothing = analysis.crossing(curves["QDC"] * np.nan, curves["LDC"], resamples=20)
    assert np.isnan(nothing["changes"])


def test_repetitions_of_real_differences(curves):
    found = analysis.repetitions_for(curves["QDC"], curves["LDC"]).sel(n=20)
    d = (curves["QDC"] - curves["LDC"]).sel(n=20)
    expected = TTestPower().solve_power(float(abs(d.mean()) / d.std(ddof=1)), power=0.8, alpha=0.05)
    assert found["repetitions"] == np.ceil(expected)
    assert found["effect"] < 0
    same = analysis.repetitions_for(curves["LDC"], curves["LDC"]).sel(n=20)
    assert np.isinf(same["repetitions"]) and np.isinf(same["repetitions_high"])


def test_what_is_wrong_is_said(curves, together):
    a, b = curves["QDC"], curves["LDC"]
    with pytest.raises(ArgumentError, match="no test 'sing'"):
        analysis.power(a, b, test="sing")
    with pytest.raises(ArgumentError, match="each at least 2"):
        analysis.power(a, b, repetitions=[1])
    with pytest.raises(ArgumentError, match="power is 80"):
        analysis.repetitions_for(a, b, power=80)
    with pytest.raises(ArgumentError, match=r"is 5\.0; expected a number between"):
        analysis.crossing(a, b, at=5)
    with pytest.raises(ArgumentError, match="expected one of aggregate, compare"):
        analysis.in_words(analysis.summary(a))
    with pytest.raises(LabelError, match="dim pair; select one"):
        analysis.in_words(analysis.crossing(together, resamples=10))


# -- sentences -------------------------------------------------------------------------------------


def test_sentences_claim_what_the_tests_settle(curves):
    a, b = curves["QDC"], curves["LDC"]
    cell = analysis.compare(a, b, resamples=20).sel(n=20)
    text = analysis.in_words(cell)
    assert text.startswith("On iris, at n = 20 QDC's mean accuracy is worse than LDC's by 0.213")
    assert f"{100 * float(cell['better']):.3g} % of repetitions" in text
    equal = analysis.in_words(analysis.compare(a, b, resamples=20).sel(n=2))
    assert "no difference in mean accuracy between QDC and LDC is settled" in equal
    absent = analysis.in_words(analysis.compare(a.where(a.n > 2), b, resamples=20).sel(n=2))
    assert absent == "On iris, at n = 2 QDC and LDC have no common repetitions."
    along = analysis.in_words(analysis.compare(a, b, resamples=20))
    assert "LDC has the better mean accuracy" in along and "after Holm over 15 sizes" in along
    crossed = analysis.in_words(analysis.crossing(a, curves["NMC"]))
    assert crossed.endswith("The curves cross between n = 28 and n = 40.")
    dict_of = analysis.in_words({61: cell})
    assert dict_of == {61: text}


def test_sentences_of_shapes_and_studies(curves):
    bad = analysis.in_words(analysis.shape(curves["QDC"]))
    assert "the mean error rises by 0.0729 from n = 10 to n = 14" in bad
    assert "peak" not in bad
    good = analysis.in_words(analysis.shape(curves["LDC"]))
    assert "no violation" in good and "may have been missed" in good
    assert "too few" in analysis.in_words(analysis.shape(curves["LDC"] * np.nan))
    n = np.array([1, 2, 3, 4.0])
    rng = np.random.default_rng(5)
    peaked = np.array([0.5, 0.2, 0.9, 0.6])[:, None] + 0.01 * rng.standard_normal((4, 50))
    loss = xr.DataArray(peaked, {"n": n}, ("n", "repetition"), "brier", {"direction": "minimize"})
    text = analysis.in_words(analysis.shape(loss))
    assert text.startswith("The mean loss rises by 0.70") and "peak at n = 3" in text
    assert "at the last size it is worse by 0.40" in text and "than at n = 2;" in text
    power = analysis.power(curves["QDC"], curves["LDC"], [5, 10], studies=100).sel(n=20)
    share = 100 * float(power["power"][0])
    assert f"{share:.0f} % with 5" in analysis.in_words(power)
    same = analysis.power(curves["LDC"], curves["LDC"], [5], studies=10).sel(n=20)
    assert "do not differ" in analysis.in_words(same)
    needed = analysis.repetitions_for(curves["QDC"], curves["LDC"]).sel(n=20)
    assert f"{int(needed['repetitions'])} repetitions" in analysis.in_words(needed)
    unsure = analysis.repetitions_for(curves["LDC"], curves["LDC"]).sel(n=20)
    assert "do not settle that" in analysis.in_words(unsure)
