"""The draws: equal to a plain oracle, distinct, uniform, independent."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcdb_builders.domain.sampling import Draws, largest_size
from lcdb_builders.domain.streams import stream, stream_key
from scipy import stats

from lcdb.schema import SAMPLINGS, SPLITS
from tests.oracles import sampling as oracle
from tests.support.counts import counts

SHA = "0f" * 32
EACH = list(itertools.product(SAMPLINGS, SPLITS))


def draws(sampling, split, rows=150, seed=7):
    return Draws(rows, SHA, seed, sampling, split)


@settings(max_examples=counts(60, 600), deadline=None)
@given(
    st.integers(10, 700),
    st.integers(0, 2**31),
    st.sampled_from(EACH),
    st.integers(0, 999),
    st.floats(0, 1),
)
def test_every_cell_equals_the_oracle(rows, seed, where, repetition, fraction):
    sampling, split = where
    n = max(1, round(fraction * largest_size(rows)))
    cell = draws(sampling, split, rows, seed)
    train, test = oracle.cell(rows, seed, SHA, sampling, split, n, repetition)
    assert cell.train(n, repetition).tolist() == train
    assert cell.test(n, repetition).tolist() == test
    if split != "pool":
        assert not set(train) & set(test)
    if sampling != "bootstrap":
        assert len(set(train)) == n


@pytest.mark.parametrize("split", ["fixed", "varying"])
def test_additive_shares_its_permutation_and_others_do_not(split):
    shared = draws("additive", split)
    assert all((shared.train(n, 3) == shared.train(105, 3)[:n]).all() for n in range(1, 106))
    afresh = draws("random", split)
    alike = sum((afresh.train(n, 3) == afresh.train(105, 3)[:n]).all() for n in range(5, 105))
    assert alike == 0


@pytest.mark.parametrize(("sampling", "split"), EACH)
def test_repetitions_are_distinct(sampling, split):
    """1,000 different draws at n = m, where seeds drawn with replacement would give some 632."""
    cell = draws(sampling, split)
    assert len({tuple(cell.train(105, r)) for r in range(1000)}) == 1000


@pytest.mark.parametrize("split", ["fixed", "varying"])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_equal_small_sets_occur_at_the_birthday_rate(sampling, split):
    cell = draws(sampling, split)
    size = len(cell.pool)
    seen = np.bincount([cell.train(1, r)[0] for r in range(1000)], minlength=150)[cell.pool]
    pairs = (seen * (seen - 1) // 2).sum()
    expected = 1000 * 999 / 2 / size
    assert abs(pairs - expected) < 5 * np.sqrt(expected)


def test_pool_trains_as_fixed_and_tests_on_the_pool():
    fixed, leaky = draws("random", "fixed"), draws("random", "pool")
    assert (fixed.train(20, 5) == leaky.train(20, 5)).all()
    assert (leaky.test(20, 5) == fixed.pool).all()


def test_streams_differ_in_every_coordinate():
    coordinates = [(s, sha, p, w) for s in (1, 2) for sha in "ab" for p in "pq" for w in "xy"]
    assert len({stream_key(*c) for c in coordinates}) == len(coordinates)
    key = stream_key(1, SHA, "rows")
    first = {
        int(stream(key, n, r, lane).random_raw())
        for n in range(20)
        for r in range(20)
        for lane in range(5)
    }
    assert len(first) == 2000


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("split", ["fixed", "varying"])
def test_rows_are_included_equally_often(sampling, split):
    """A chi-square over rows; without replacement its expectation shrinks by (1 - n/M)."""
    cell = draws(sampling, split)
    size, n, repetitions = len(cell.pool), 20, counts(4000, 40000)
    seen = np.zeros(150)
    for r in range(repetitions):
        np.add.at(seen, cell.train(n, r), 1)
    seen = seen[cell.pool]
    expected = repetitions * n / size
    share = n / size
    spread = (1 - share) * size / (size - 1) if sampling != "bootstrap" else 1.0
    statistic = ((seen - expected) ** 2 / expected).sum() / spread
    assert 1e-5 < stats.chi2.sf(statistic, size - 1) < 1 - 1e-5


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_repetitions_and_sizes_are_independent(sampling):
    """Overlap of two draws is hypergeometric, between repetitions and (if afresh) between n."""
    cell = draws(sampling, "varying")
    trials = counts(2000, 20000)
    sizes = (30, 40)
    pairs = [((30, r), (40, r + 1)) for r in range(trials)]
    if sampling != "additive":
        pairs += [((30, r), (40, r)) for r in range(trials)]
    overlap = np.array([len(set(cell.train(*a)) & set(cell.train(*b))) for a, b in pairs])
    if sampling == "bootstrap":
        expected = 150 * np.prod([1 - (1 - 1 / 150) ** n for n in sizes])
    else:
        expected = sizes[0] * sizes[1] / 150
    for part in np.array_split(overlap, len(overlap) // trials):
        error = part.std(ddof=1) / np.sqrt(trials)
        assert abs(part.mean() - expected) < 4.5 * error


@pytest.mark.parametrize("sampling", ["additive", "random"])
def test_every_order_is_equally_likely(sampling):
    cell = Draws(10, SHA, 3, sampling, "varying")
    trials = counts(6000, 60000)
    orders = np.unique(
        [np.argsort(cell.train(3, r)) @ (9, 3, 1) for r in range(trials)], return_counts=True
    )[1]
    assert len(orders) == 6
    assert stats.chisquare(orders).pvalue > 1e-5


@pytest.mark.parametrize("n", [0, -1, 106])
def test_a_size_out_of_range_is_refused(n):
    with pytest.raises(ValueError, match="expected 1 to 105"):
        draws("random", "fixed").train(n, 0)
