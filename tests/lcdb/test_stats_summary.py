"""One pass against SciPy, against exact arithmetic, and against itself."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lcdb.stats import FIELDS, is_constant, summary, summary_of_counts
from tests.support.counts import counts


def vectors(number, largest=5000, seed=0):
    """Samples of many sizes, shapes and scales: with ties, skewed, discrete, far from zero."""
    rng = np.random.default_rng(seed)
    shapes = [
        lambda n: rng.normal(size=n),
        lambda n: rng.exponential(size=n),
        lambda n: rng.integers(0, 4, n) * 1.0,
        lambda n: rng.binomial(45, 0.8, n) / 45,
        lambda n: np.repeat(rng.normal(size=-(-n // 3)), 3)[:n],
        lambda n: 100 + rng.normal(size=n),
        lambda n: rng.standard_t(2, n),
        lambda n: rng.uniform(size=n).astype(np.float32).astype(float),
    ]
    for i in range(number):
        n = int(
            rng.choice([rng.integers(3, 30), rng.integers(30, 400), rng.integers(400, largest)])
        )
        x = shapes[i % len(shapes)](n)
        if np.ptp(x) > 0:
            yield x * rng.choice([1.0, 1e-5, 1e100, 1e-12])


@pytest.mark.slow
def test_agreement_with_scipy():
    """W within 1e-12, its p within 1e-9, K² within 1e-10 relative, p of both parts 1e-9."""
    worst = dict.fromkeys(("w", "p", "k2", "skew", "kurt", "g1"), 0.0)
    compared = 0
    for x in vectors(counts(1600, 10_000), counts(1500, 5000)):
        ours = {name: value[0] for name, value in summary(x[None], ())[0].items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            w, p = stats.shapiro(x)
            k2, k2_p = stats.normaltest(x)
            skew_p = stats.skewtest(x).pvalue
            kurt_p = stats.kurtosistest(x).pvalue
        worst["w"] = max(worst["w"], abs(ours["shapiro_w"] - w))
        # With 3 equidistant values p = 1 - 6/π asin √(1 - W) turns one rounding of W into 1e-8.
        if len(x) > 3 or w < 1 - 1e-12:
            worst["p"] = max(worst["p"], abs(ours["shapiro_p"] - p))
        assert np.isfinite(ours["dagostino_k2"]) == (len(x) >= 8)
        # SciPy's fourth moments overflow at 1e100; a skewness of 0 is apart.
        if np.isfinite(k2) and stats.skew(x) != 0:
            assert len(x) >= 8
            compared += 1
            worst["k2"] = max(worst["k2"], abs(ours["dagostino_k2"] / k2 - 1))
            worst["skew"] = max(worst["skew"], abs(ours["skewness_p"] - skew_p))
            worst["kurt"] = max(worst["kurt"], abs(ours["kurtosis_p"] - kurt_p))
            assert ours["dagostino_p"] == pytest.approx(k2_p, abs=1e-9)
            worst["g1"] = max(worst["g1"], abs(ours["skewness"] - stats.skew(x)))
    assert compared > counts(500, 4000)
    assert worst["w"] <= 1e-12, worst
    assert max(worst["p"], worst["skew"], worst["kurt"]) <= 1e-9, worst
    assert worst["k2"] <= 1e-10, worst
    assert worst["g1"] <= 1e-10, worst


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 11, 12])
def test_the_smallest_samples(n):
    rng = np.random.default_rng(n)
    x = rng.normal(size=(50, n))
    fields, _ = summary(x, ())
    expected = np.array([stats.shapiro(row) for row in x])
    np.testing.assert_allclose(fields["shapiro_w"], expected[:, 0], atol=1e-12)
    np.testing.assert_allclose(fields["shapiro_p"], expected[:, 1], atol=1e-9)
    assert np.isnan(fields["dagostino_p"]).all() == (n < 8)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-25, 1e160, 1e300])
def test_scales_where_scipy_is_wrong(scale):
    """W does not depend on scale; SciPy takes a range below 1e-19 for none at all."""
    x = np.random.default_rng(1).exponential(size=(1, 200))
    scaled, _ = summary(x * scale, ())
    plain, _ = summary(x, ())
    for name in ("shapiro_w", "skewness", "excess_kurtosis", "dagostino_k2"):
        np.testing.assert_allclose(scaled[name], plain[name], rtol=1e-12)
    if scale < 1e-19:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert stats.shapiro(x[0] * scale).statistic == 1.0


def test_an_offset_costs_no_digits():
    """Values on a binary grid stay exact under the shift, so the shape must not move at all."""
    x = np.random.default_rng(8).integers(-(2**20), 2**20, (5, 300)) * 2.0**-20
    plain, _ = summary(x, ())
    shifted, _ = summary(x + 2.0**24, ())
    for name in ("shapiro_w", "skewness", "excess_kurtosis", "sd"):
        np.testing.assert_allclose(shifted[name], plain[name], rtol=1e-12)


def test_zero_skewness_where_scipy_is_wrong():
    """A symmetric sample has skewness score 0; SciPy gives it the score of y = 1."""
    x = np.concatenate([np.arange(1.0, 20), -np.arange(1.0, 20)])
    assert stats.skew(x) == 0
    fields, _ = summary(x[None], ())
    assert fields["skewness_p"][0] == pytest.approx(1.0, abs=1e-12)
    assert stats.skewtest(x).pvalue < 0.5


def test_constants_are_named_and_have_no_test():
    x = np.full((1, 100), 0.7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert stats.shapiro(x[0]).statistic == 1.0  # SciPy calls a constant perfectly normal
    fields, quantile = summary(x, [0.5])
    assert fields["constant"][0]
    assert fields["distinct"][0] == 1
    assert fields["sd"][0] == 0
    assert np.isnan(fields["shapiro_w"][0])
    assert quantile[0, 0] == 0.7


def test_rounding_alone_is_constant():
    third = np.float32(1 / 3)
    x = np.array([[third, np.nextafter(third, np.float32(1))] * 50], np.float32)
    assert summary(x, ())[0]["constant"][0]
    assert is_constant(np.float32(100.0), np.nextafter(np.float32(100), np.float32(101)), 100.0)
    assert not is_constant(0.5, 0.50001, 0.5)


@settings(max_examples=counts(150, 2000), deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=60))
def test_moments_equal_exact_arithmetic(values):
    n = len(values)
    mean = Fraction(sum(values), n)
    m2, m3, m4 = (sum((v - mean) ** k for v in values) / n for k in (2, 3, 4))
    fields, _ = summary(np.array([values], float), ())
    assert fields["mean"][0] == pytest.approx(float(mean), rel=1e-12, abs=1e-12)
    assert fields["sd"][0] == pytest.approx(float(m2 * n / (n - 1)) ** 0.5, rel=1e-12)
    assert fields["distinct"][0] == len(set(values))
    if m2:
        assert fields["skewness"][0] == pytest.approx(float(m3) / float(m2) ** 1.5, abs=1e-10)
        assert fields["excess_kurtosis"][0] == pytest.approx(float(m4 / m2**2) - 3, abs=1e-10)


def test_missing_values_are_left_out_row_by_row():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 60))
    holes = rng.uniform(size=x.shape) < np.linspace(0, 0.97, 40)[:, None]
    holes[-1] = True
    fields, quantile = summary(np.where(holes, np.nan, x), [0.3])
    for i in range(39):
        alone, q = summary(x[i][~holes[i]][None], [0.3])
        for name in FIELDS:
            np.testing.assert_array_equal(fields[name][i], alone[name][0], err_msg=name)
        np.testing.assert_array_equal(quantile[i], q[0])
    assert fields["count"][-1] == 0
    assert np.isnan(fields["mean"][-1])
    assert not fields["constant"][-1]


def test_an_infinity_spoils_its_own_row_only():
    x = np.random.default_rng(3).normal(size=(3, 50))
    x[1, 7] = np.inf
    fields, _ = summary(x, ())
    assert np.isnan(fields["shapiro_w"]).tolist() == [False, True, False]


def test_a_batch_equals_single_rows_in_any_order_and_shape():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4, 5, 300)).astype(np.float32)
    fields, quantile = summary(x)
    shuffled = rng.permuted(x, axis=-1)
    again, quantile_again = summary(shuffled.reshape(20, 300))
    for name in FIELDS:
        np.testing.assert_array_equal(fields[name].reshape(20), again[name])
    np.testing.assert_array_equal(quantile.reshape(20, 7), quantile_again)
    np.testing.assert_allclose(quantile[..., 3], np.median(x.astype(float), axis=-1), rtol=1e-15)


@settings(max_examples=counts(100, 1000), deadline=None)
@given(st.integers(1, 5000), st.floats(0, 1), st.integers(4, 400), st.integers(0, 2**32 - 1))
def test_counts_equal_the_sorted_path(test_rows, p, size, seed):
    k = np.random.default_rng(seed).binomial(test_rows, p, (4, size))
    by_counts, quantile = summary_of_counts(k, test_rows)
    by_values, expected = summary(k.astype(float))
    per_row = {"mean", "sd", "minimum", "maximum"}
    for fields in (by_counts, by_values):  # where p is 0 its logarithm is a matter of rounding
        fields["shapiro_log_p"] = np.exp(fields["shapiro_log_p"])
    for name in FIELDS:
        scale = test_rows if name in per_row else 1.0
        tolerance = {"rtol": 1e-9, "atol": 1e-9}
        np.testing.assert_allclose(
            by_counts[name] * scale, by_values[name], err_msg=name, **tolerance
        )
    np.testing.assert_allclose(quantile * test_rows, expected, rtol=1e-9, atol=1e-9)


def test_counts_are_checked():
    for bad in (np.zeros((2, 2), int), np.zeros((2, 9)), -np.ones((2, 9), int)):
        with pytest.raises(ValueError, match="non-negative integers"):
            summary_of_counts(bad, 10)


def test_quantiles_of_counts_are_those_that_are_asked_for():
    k = np.random.default_rng(1).binomial(30, 0.7, (4, 101))
    quantiles = [0.0, 0.33, 0.5, 0.999, 1.0]
    _, found = summary_of_counts(k, np.array([30, 31, 32, 33]), quantiles)
    shares = k / np.array([[30], [31], [32], [33]])
    np.testing.assert_allclose(found, np.quantile(shares, quantiles, axis=1).T, rtol=1e-12)


@pytest.mark.full
@pytest.mark.process
def test_compiled_anew_and_loaded_give_the_same_bits(tmp_path):
    """Sums in lanes that are compiled into their callers depend on what was compiled before."""
    code = (
        "import numpy as np; from lcdb.stats import summary\n"
        "x = np.random.default_rng(0).normal(size=(50, 1000)).astype(np.float32)\n"
        "fields, quantile = summary(x)\n"
        "print(*(array.tobytes().hex() for array in (*fields.values(), quantile)))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-P", "-c", code]
    anew, loaded = (subprocess.check_output(command, env=environment) for _ in range(2))
    assert list(tmp_path.rglob("*.nbc")) and anew == loaded
