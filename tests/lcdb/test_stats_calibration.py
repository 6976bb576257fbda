"""Error rates: what each test rejects when its null is true, and what rounding does to it."""

from __future__ import annotations

import numpy as np
import pytest

from lcdb.stats import grouped_normal_test, ragged_lattice_test, summary
from tests.support.counts import FULL, counts

CELLS = counts(3000, 20_000)


def rejected(p):
    return 100 * np.mean(p < 0.05)


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(11).standard_normal((CELLS, 1000))


def test_every_test_keeps_its_level_on_normal_cells(normal):
    fields, _ = summary(normal, ())
    tolerance = 0.7 if FULL else 1.2
    for name in ("shapiro_p", "dagostino_p", "skewness_p", "kurtosis_p"):
        assert abs(rejected(fields[name]) - 5) <= tolerance, name


@pytest.mark.parametrize(("step", "low", "high"), [(0.02, 4, 6.5), (0.1, 16, 22), (0.15, 71, 79)])
def test_shapiro_rejects_rounded_normals(normal, step, low, high):
    """Rounding to steps of .02, .10, .15 and .20 σ: 5, 19, 75 and 100 %."""
    offset = np.random.default_rng(12).uniform(size=(CELLS, 1))
    fields, _ = summary(np.rint(normal / step + offset), ())
    assert low <= rejected(fields["shapiro_p"]) <= high


@pytest.mark.parametrize("step", [0.2, 0.4, 1.0, 1.5])
def test_coarse_rounding_fools_shapiro_and_not_dagostino(normal, step):
    offset = np.random.default_rng(13).uniform(size=(CELLS, 1))
    fields, _ = summary(np.rint(normal / step + offset), ())
    assert rejected(fields["shapiro_p"]) > 98.5
    assert abs(rejected(fields["dagostino_p"]) - 5) < 1.5


@pytest.mark.parametrize("step", [0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.15])
def test_lattice_aware_test_keeps_its_level(normal, step):
    """Between 3 and 8 % up to h/σ = 1.2; its power against skewed scores is printed."""
    rng = np.random.default_rng(14)
    offset = rng.uniform(size=(CELLS, 1))
    p, _, found = grouped_normal_test(np.rint(normal / step + offset), 1)
    tested = np.isfinite(p)
    assert 3 <= rejected(p[tested]) <= 8
    assert tested.mean() > 0.9
    np.testing.assert_allclose(np.median(found), step, rtol=0.03)
    skewed = rng.gamma(4.0, 0.5, (counts(400, 4000), 1000)) / step
    power = rejected(grouped_normal_test(np.rint(skewed), 1)[0])
    print(f"h/sigma {step:.2f}: power against a gamma of skewness 1: {power:.0f} %")
    assert power > 75


def test_what_cannot_be_tested_is_nan(normal):
    p, bins, step = grouped_normal_test(np.rint(normal[:50] / 1.6), 1)
    assert np.isnan(p).all()
    assert np.isnan(bins).all()
    assert (step > 1.2).all()
    assert np.isnan(grouped_normal_test(np.ones((1, 100)), 10)[0]).all()
    with_hole = normal[:1].copy()
    with_hole[0, 3] = np.nan
    assert np.isnan(grouped_normal_test(with_hole, 10)[0]).all()


@pytest.mark.slow
def test_ragged_lattice_test_keeps_its_level():
    """Bootstrap with varying test set: T differs by repetition."""
    rng = np.random.default_rng(15)
    cells = counts(100, 1000)
    steps = np.repeat([0.05, 0.2, 0.5, 0.9, 1.1], cells)[:, None]
    t = rng.integers(45, 62, (len(steps), 1000))
    normal = np.rint(rng.normal(0.7, 1 / steps / 53, t.shape) * t) / t
    p = ragged_lattice_test(normal, t, rng, 99)
    tested = np.isfinite(p)
    assert tested.mean() > 0.9
    spread = 100 * np.sqrt(0.05 * 0.95 / tested.sum())
    assert 3 - 2 * spread <= 100 * np.mean(p[tested] <= 0.05) <= 8
    skewed = np.rint((0.9 - rng.gamma(4.0, 0.03, (40, 1000))) * t[:40]) / t[:40]
    power = 100 * np.mean(ragged_lattice_test(skewed, t[:40], rng, 99) <= 0.05)
    print(f"ragged lattice: power against a gamma of skewness 1: {power:.0f} %")
    assert power > 90
    coarse = np.rint(rng.normal(0.7, 1 / 1.6 / 53, (20, 1000)) * t[:20]) / t[:20]
    assert np.isnan(ragged_lattice_test(coarse, t[:20], rng, 99)).all()


def test_duplicate_seeds_turn_five_percent_into_many(normal):
    """1,000 seeds drawn from 1,001 values: Shapiro-Wilk 45-48 %, D'Agostino 20 %."""
    picks = np.random.default_rng(16).integers(0, 1001, 1000)
    assert 610 <= len(set(picks)) <= 655
    more = np.random.default_rng(17).standard_normal((CELLS, 1))
    fields, _ = summary(np.concatenate([normal, more], axis=1)[:, picks], ())
    assert 42 <= rejected(fields["shapiro_p"]) <= 51
    assert 17 <= rejected(fields["dagostino_p"]) <= 23
