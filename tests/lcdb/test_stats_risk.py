"""CDFs, risks, intervals, rankings, dominance and profiles against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lcdb.stats import (
    almost_dominates,
    band_width,
    benjamini_hochberg,
    bootstrap,
    cdf,
    cvar_lower,
    cvar_upper,
    first_order,
    gap_distance,
    gaussian_null,
    inverse_cdf,
    inverse_cdf_band,
    lilliefors,
    mann_whitney_distance,
    profile,
    quantile_interval,
    quantile_ranks,
    ratio_distance,
    second_order,
    threshold_area,
    top_k_change,
    violation,
    welch_distance,
    welch_distance_of_samples,
)
from tests.oracles import risk as oracle
from tests.support.counts import counts

SAMPLES = st.lists(st.integers(-20, 20), min_size=1, max_size=30)
MANY = settings(max_examples=counts(80, 800), deadline=None)


@MANY
@given(SAMPLES, st.integers(1, 64))
def test_cvar_equals_its_definition(sample, parts):
    alpha = Fraction(parts - 1, 64)
    expected = float(oracle.cvar_upper(sample, alpha))
    x = np.array(sample, float)
    assert cvar_upper(x, float(alpha)) == pytest.approx(expected, abs=1e-12)
    assert cvar_lower(-x, float(1 - alpha)) == pytest.approx(-expected, abs=1e-12)


@MANY
@given(SAMPLES, st.integers(-25, 25), st.integers(0, 60))
def test_cdf_and_its_inverse_equal_their_definitions(sample, at, parts):
    x = np.array(sample, float)
    assert cdf(x, np.array(at)) == pytest.approx(float(oracle.cdf(sample, at)))
    p = Fraction(parts, 60)
    assert inverse_cdf(x, np.array(float(p))) == oracle.inverse_cdf(sample, p)


@MANY
@given(SAMPLES, st.integers(-25, 25))
def test_threshold_area(sample, threshold):
    expected = sum(v for v in sample if v >= threshold) / len(sample)
    assert threshold_area(np.array(sample, float), threshold) == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [-0.1, 1.0, 1.5])
def test_cvar_refuses_empty_tails(alpha):
    with pytest.raises(ValueError, match="share"):
        cvar_upper(np.arange(3.0), alpha)


def test_bands_contain_the_whole_inverse_cdf_as_often_as_they_say():
    rng = np.random.default_rng(0)
    p = np.linspace(0.001, 0.999, 500)
    low, high = inverse_cdf_band(rng.uniform(size=(counts(1000, 10_000), 200)), p, support=(0, 1))
    share = ((low <= p) & (p <= high)).all(axis=1).mean()
    assert 0.945 <= share <= 0.985
    assert band_width(200) == pytest.approx(math.sqrt(math.log(40) / 400))


@pytest.mark.parametrize(("size", "q"), [(1000, 0.05), (1000, 0.5), (50, 0.9), (20, 0.01)])
def test_quantile_ranks_cover_exactly_and_are_shortest(size, q):
    low, high, coverage = quantile_ranks(size, q)
    exact = stats.binom.cdf(high - 1, size, q) - stats.binom.cdf(low - 1, size, q)
    assert coverage == pytest.approx(exact, abs=1e-12)
    assert coverage >= 0.95
    width = high - low
    shorter = [
        stats.binom.cdf(a + width - 2, size, q) - stats.binom.cdf(a - 1, size, q)
        for a in range(size + 2 - width + 1)
    ]
    assert max(shorter) < 0.95


def test_quantile_intervals_cover():
    rng = np.random.default_rng(1)
    ordered = np.sort(rng.normal(size=(counts(3000, 30_000), 200)), axis=-1)
    for q in (0.05, 0.5, 0.975):
        low, high = quantile_interval(ordered, q)
        covered = ((low <= stats.norm.ppf(q)) & (stats.norm.ppf(q) <= high)).mean()
        assert 0.94 <= covered <= 0.985


@MANY
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=5),
    st.lists(st.integers(0, 3), min_size=2, max_size=5),
    st.integers(1, 4),
)
def test_tie_aware_change_equals_trying_all_orders(a, b, k):
    size = min(len(a), len(b))
    a, b = a[:size], b[:size]
    # Samples whose mean + 1 sd is a_i and whose maximum is b_i + 10, repetition for repetition.
    agree = oracle.tied_top_k(dict(enumerate(a)), min(k, size)) & oracle.tied_top_k(
        dict(enumerate(b)), min(k, size)
    )
    from lcdb.stats.ranking import _compare

    ordered, tie_aware, _, _ = _compare(np.array(a, float), np.array(b, float), k)
    assert tie_aware == (not agree)
    assert ordered or not tie_aware


def test_top_k_change_of_directions_and_missing_learners():
    rng = np.random.default_rng(2)
    x = rng.normal([[0.5], [0.6], [0.7], [0.8]], 0.01, (6, 4, 400))
    assert not top_k_change(x, 0.5, 0.0).ordered.any()
    skewed = x.copy()
    skewed[:, 3, :40] = 0.0  # the best mean, and the worst tail
    change = top_k_change(skewed, 0.05, 0.0, k=1)
    assert change.ordered.all()
    assert change.tie_aware.all()
    assert change.set.all()
    assert change.top_1.all()
    assert not top_k_change(-x, 0.5, 0.0, direction="minimize").ordered.any()
    skewed[:, 3] = np.nan
    assert not top_k_change(skewed, 0.05, 0.0, k=1).ordered.any()


def test_gaussian_null_keeps_mean_covariance_and_lattice():
    rng = np.random.default_rng(3)
    mixing = np.array([[1.0, 0.0], [0.8, 0.6]])
    x = 0.7 + 0.03 * mixing @ rng.normal(size=(2, 200_000))
    free = gaussian_null(x, rng)
    np.testing.assert_allclose(free.mean(axis=1), x.mean(axis=1), atol=3e-4)
    np.testing.assert_allclose(np.cov(free), np.cov(x), rtol=0.02)
    on_lattice = gaussian_null(x, rng, test_rows=50)
    np.testing.assert_allclose(on_lattice * 50, np.rint(on_lattice * 50), atol=1e-9)
    np.testing.assert_allclose(np.diag(np.cov(on_lattice)), np.diag(np.cov(x)), rtol=0.03)


def test_bare_violation_calls_equal_distributions_dominant_and_its_bound_does_not():
    rng = np.random.default_rng(4)
    trials = counts(60, 400)
    pairs = rng.normal(size=(trials, 2, 300))
    found = [almost_dominates(a, b, rng, bootstraps=counts(200, 1000)) for a, b in pairs]
    bare = np.mean([one.violation < 0.2 for one in found])
    assert 0.1 <= bare <= 0.4
    assert np.mean([one.dominates for one in found]) <= 0.08


@MANY
@given(SAMPLES, st.integers(0, 2**31))
def test_violation_by_its_definition(sample, seed):
    a = np.array(sample, float)
    b = np.random.default_rng(seed).permutation(a)
    assert math.isnan(violation(a, b))
    b = b + 1
    assert violation(b, a) == 0
    assert violation(a, b) == 1
    assert first_order(b, a)
    assert second_order(b, a)
    assert not first_order(a, b)
    assert not second_order(a, b)


def test_equal_samples_have_no_order():
    x = np.arange(10.0)
    result = almost_dominates(x, x[::-1], np.random.default_rng(0))
    assert math.isnan(result.violation)
    assert not result.dominates


def test_dominance_of_minimised_metrics():
    rng = np.random.default_rng(5)
    low, high = rng.normal(0, 1, 300), rng.normal(3, 1, 300)
    assert almost_dominates(low, high, rng, direction="minimize", bootstraps=100).dominates
    assert not almost_dominates(low, high, rng, bootstraps=100).dominates


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_welch_and_mann_whitney_distances_equal_scipy(direction):
    rng = np.random.default_rng(6)
    x = np.round(rng.normal(0, 1, (4, 5, 30)) + rng.normal(0, 0.3, (4, 5, 1)), 1)
    sign = 1 if direction == "maximize" else -1
    best = np.argmax(sign * x.mean(axis=-1), axis=0)
    welch = welch_distance_of_samples(x, direction)
    ranks = mann_whitney_distance(x, direction)
    side = "less" if direction == "maximize" else "greater"
    for m in range(4):
        for p in range(5):
            if m == best[p]:
                assert welch[m, p] == ranks[m, p] == 0
                continue
            a, b = x[m, p], x[best[p], p]
            t = stats.ttest_ind(a, b, equal_var=False, alternative=side)
            u = stats.mannwhitneyu(
                a, b, use_continuity=False, alternative=side, method="asymptotic"
            )
            assert welch[m, p] == pytest.approx(-math.log(t.pvalue), rel=1e-9)
            assert ranks[m, p] == pytest.approx(-math.log(u.pvalue), rel=1e-9)


@pytest.mark.parametrize(
    ("gap", "trials", "expected"),
    # -ln p by the incomplete beta function with 40 digits
    [(100.0, 1000, 1795.4287327904376), (60.0, 1000, 1033.7310023291236)],
)
def test_welch_distance_where_p_underflows(gap, trials, expected):
    sd = math.sqrt(trials / 2)
    distance = welch_distance([[gap], [0.0]], [[sd], [sd]], trials)
    assert distance[1, 0] == pytest.approx(expected, rel=1e-12)


def test_distances_without_spread_and_with_ties():
    distance = welch_distance([[1.0, 1.0], [0.5, 1.0]], [[0.0, 0.0], [0.0, 0.0]], 10)
    assert distance.tolist() == [[0.0, 0.0], [math.inf, 0.0]]
    with pytest.raises(ValueError, match="direction"):
        gap_distance([[1.0]], "up")


@MANY
@given(
    st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=1, max_size=4),
    st.integers(1, 9),
)
def test_profiles_count_problems_below_tau(rows, tau):
    distance = np.array(rows, float) - 1
    expected = [sum(value < tau for value in row) / 3 for row in distance.tolist()]
    assert profile(distance, [tau])[:, 0].tolist() == pytest.approx(expected)
    ratio = ratio_distance(np.array(rows, float))
    assert (ratio.min(axis=0) == 0).all()


def test_profiles_refuse_what_has_no_meaning():
    with pytest.raises(ValueError, match="above 0"):
        profile([[0.0]], [0.0])
    with pytest.raises(ValueError, match="positive"):
        ratio_distance([[0.0]])


def test_multiplicity_and_lilliefors():
    rng = np.random.default_rng(7)
    p = np.concatenate([rng.uniform(size=500), [1e-9] * 20, [np.nan]])
    rejected = benjamini_hochberg(p)
    assert rejected[500:520].all()
    assert not rejected[520]
    assert rejected[:500].sum() < 5
    expected = stats.false_discovery_control(p[:520]) <= 0.05
    np.testing.assert_array_equal(rejected[:520], expected)
    x = rng.normal(size=(3, 200))
    x[2] = 1.0
    distance, value = lilliefors(x)
    assert np.isnan(value).tolist() == [False, False, True]
    fitted = stats.kstest(x[0], "norm", args=(x[0].mean(), x[0].std(ddof=1)))
    assert distance[0] == pytest.approx(fitted.statistic, rel=1e-12)


def test_bootstrap_error_of_a_mean():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(2, 500))
    error, low, high = bootstrap(x, lambda s: s.mean(axis=-1), rng)
    np.testing.assert_allclose(error, x.std(axis=-1) / np.sqrt(500), rtol=0.1)
    assert ((low < x.mean(axis=-1)) & (x.mean(axis=-1) < high)).all()


# -- what arguments change -------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.99])
def test_intervals_cover_as_often_as_asked(confidence):
    """By the binomial distribution, and none with ranks closer together does."""
    low, high, coverage = quantile_ranks(200, 0.3, confidence)
    exact = stats.binom.cdf(high - 1, 200, 0.3) - stats.binom.cdf(low - 1, 200, 0.3)
    assert confidence <= coverage == pytest.approx(exact, abs=1e-12)
    starts = np.arange(201 - (high - low - 1) + 1)
    ends = starts + high - low - 2
    shorter = stats.binom.cdf(ends, 200, 0.3) - stats.binom.cdf(starts - 1, 200, 0.3)
    assert shorter.max() < confidence
    ordered = np.arange(1.0, 201.0)
    ends_of = quantile_interval(ordered, 0.3, confidence)
    assert [float(end) for end in ends_of] == [low, high]


def test_the_support_ends_intervals_that_leave_the_sample():
    """Of 5 values none is surely above the 90 % quantile, and none surely below the 1 % one."""
    ordered = np.tile(np.arange(1.0, 6.0), (2, 1))
    assert quantile_ranks(5, 0.9)[1] == 6 and quantile_ranks(5, 0.01)[0] == 0
    _, high = quantile_interval(ordered, 0.9, support=(0, 9))
    low, _ = quantile_interval(ordered, 0.01, support=(0, 9))
    assert high.tolist() == [9, 9] and low.tolist() == [0, 0]
    assert quantile_interval(ordered, 0.9)[1].tolist() == [np.inf, np.inf]


def test_bands_at_another_confidence():
    """Massart: P(sup |F_n - F| > e) <= 2 exp(-2 n e^2)."""
    half = band_width(300, 0.5)
    assert 2 * math.exp(-2 * 300 * half**2) == pytest.approx(0.5)
    rng = np.random.default_rng(5)
    p = np.linspace(0.005, 0.995, 199)
    low, high = inverse_cdf_band(rng.uniform(size=(2000, 100)), p, 0.5, (0, 1))
    share = ((low <= p) & (p <= high)).all(axis=1).mean()
    assert 0.47 <= share <= 0.65


def test_a_rate_of_false_discoveries_by_its_definition():
    """All up to the last p that is at most rank * alpha / number."""
    p = np.array([0.3, 0.001, np.nan, 0.04, 0.012, 0.9, 0.021])
    for alpha in (0.01, 0.05, 0.2, 0.5):
        there = np.sort(p[np.isfinite(p)])
        below = there <= alpha * np.arange(1, 7) / 6
        last = there[below].max() if below.any() else -1.0
        assert benjamini_hochberg(p, alpha).tolist() == (p <= last).tolist(), alpha
    assert benjamini_hochberg(p, 0.5).sum() > benjamini_hochberg(p, 0.01).sum() == 1


def test_a_bootstrap_of_so_many_resamples_at_a_confidence():
    """The same draws, one after the other."""
    x = np.random.default_rng(6).gamma(2.0, size=(3, 50))
    called = []

    def median(sample):
        called.append(sample.shape)
        return np.median(sample, axis=-1)

    error, low, high = bootstrap(x, median, np.random.default_rng(7), 40, 0.6)
    assert called == [(3, 50)] * 40
    rng = np.random.default_rng(7)
    drawn = [np.median(x[:, rng.integers(0, 50, 50)], axis=1) for _ in range(40)]
    np.testing.assert_array_equal(error, np.std(drawn, axis=0, ddof=1))
    np.testing.assert_allclose([low, high], np.quantile(drawn, [0.2, 0.8], axis=0))


def test_distances_of_losses_are_those_of_their_negatives():
    mean = np.array([[0.3, 0.1], [0.2, 0.4], [np.nan, 0.1]])
    sd = np.full((3, 2), 0.05)
    np.testing.assert_array_equal(gap_distance(mean, "minimize"), gap_distance(-mean))
    np.testing.assert_allclose(gap_distance(mean, "minimize")[:2], [[0.1, 0.0], [0.0, 0.3]])
    found = welch_distance(mean, sd, 20, "minimize")
    np.testing.assert_array_equal(found, welch_distance(-mean, sd, 20))
    p = stats.ttest_ind_from_stats(0.3, 0.05, 20, 0.2, 0.05, 20, False, "greater").pvalue
    assert found[0, 0] == pytest.approx(-math.log(p)) and found[1, 0] == found[0, 1] == 0
