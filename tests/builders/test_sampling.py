"""The draws: equal to a plain oracle, distinct, uniform, independent."""

from __future__ import annotations

import importlib
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcdb_builders.domain.sampling import Draws, class_counts, largest_size
from lcdb_builders.domain.streams import stream, stream_key
from lcdb_builders.kernels.core.sets import Task, draw
from lcdb_builders.planning import cost
from scipy import stats

from lcdb.schema import SAMPLINGS, SPLITS
from tests.oracles import sampling as oracle
from tests.support.counts import counts

SHA = "0f" * 32
EACH = list(itertools.product(SAMPLINGS, SPLITS))


def classes(rows):
    """Classes of unlike size, in no order of the file; the rarest has one row."""
    y = np.random.default_rng(rows).choice(4, rows, p=(0.5, 0.3, 0.15, 0.05))
    y[0], y[1:][y[1:] == 3] = 3, 0
    return y


def draws(sampling, split, rows=150, seed=7):
    return Draws(rows, SHA, seed, sampling, split, classes(rows))


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
    train, test = oracle.cell(
        rows, seed, SHA, sampling, split, n, repetition, classes(rows).tolist()
    )
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
@pytest.mark.parametrize("sampling", ["additive", "random", "bootstrap"])
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
    y = classes(150)
    cell = draws(sampling, split)
    size, n, repetitions = len(cell.pool), 20, counts(4000, 40000)
    seen = np.zeros(150)
    for r in range(repetitions):
        np.add.at(seen, cell.train(n, r), 1)
    seen = seen[cell.pool]
    if sampling == "stratified":  # among the rows of each class
        for c, wanted in enumerate(class_counts(n, np.bincount(y[cell.pool]))):
            of_class = seen[y[cell.pool] == c]
            if 0 < wanted < len(of_class):
                expected, share = repetitions * wanted / len(of_class), wanted / len(of_class)
                spread = (1 - share) * len(of_class) / (len(of_class) - 1)
                statistic = ((of_class - expected) ** 2 / expected).sum() / spread
                assert 1e-5 < stats.chi2.sf(statistic, len(of_class) - 1) < 1 - 1e-5
        return
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
    elif sampling == "stratified":
        available = np.bincount(classes(150))
        both = [class_counts(n, available) for n in sizes]
        expected = (both[0] * both[1] / available).sum()
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


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=7).filter(lambda k: sum(k) >= 1),
    st.floats(0, 1),
)
def test_classes_are_in_proportion(available, fraction):
    """Whole rows that add up to n, as near to the exact shares as these can be."""
    total = sum(available)
    n = max(1, round(fraction * total))
    counts = class_counts(n, np.array(available))
    assert counts.sum() == n
    assert (counts <= available).all() and (abs(counts - n * np.array(available) / total) < 1).all()
    assert counts.tolist() == oracle.proportional(n, available)


@pytest.mark.parametrize("split", ["fixed", "varying"])
def test_stratified_sets_have_the_classes_of_the_rows_they_are_drawn_from(split):
    cell, y = draws("stratified", split), classes(150)
    available = np.bincount(y[cell.pool], minlength=4)
    for n in (1, 2, 7, 30, 105):
        exact = n * available / len(cell.pool)
        sets = [cell.train(n, r) for r in range(50)]
        for rows in sets:
            assert len(set(rows)) == n
            assert (abs(np.bincount(y[rows], minlength=4) - exact) < 1).all()
    alike = sum(set(cell.train(30, r)) < set(cell.train(31, r)) for r in range(50))
    assert alike == 0  # afresh for every n


def test_stratified_rows_come_in_any_order():
    """A class of one row out of ten stands at each place equally often."""
    y = np.array([1, *[0] * 9])
    cell = Draws(10, SHA, 3, "stratified", "varying", y)
    trials = counts(3000, 30000)
    drawn = [y[cell.train(7, r)] for r in range(trials)]
    places = [int(np.flatnonzero(classes)[0]) for classes in drawn if classes.any()]
    assert len(places) == trials  # 0.7 of a row is one
    assert stats.chisquare(np.bincount(places, minlength=7)).pvalue > 1e-5


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_kernels_draw_the_same_rows(sampling):
    y = classes(150)
    cell = draws(sampling, "fixed")
    task = Task(SAMPLINGS.index(sampling), *cell.key, 0, 1, np.arange(1), cell.pool,
                np.zeros((150, 1)), y, 4, np.empty((2, 4), int))  # fmt: skip
    rows = np.empty(len(cell.pool), np.int64)
    for n in (1, 2, 3, 20, 104, 105):
        for repetition in (0, 5, 999):
            draw(task, n, repetition, rows)
            assert (rows[:n] == cell.train(n, repetition)).all()


def test_a_label_that_nobody_draws_is_refused():
    for where in (("stratifed", "fixed"), ("random", "fixd")):
        with pytest.raises(ValueError, match="expected one of"):
            Draws(150, SHA, 7, *where)
    with pytest.raises(ValueError, match="need the classes of all 150 rows"):
        Draws(150, SHA, 7, "stratified", "fixed")
    with pytest.raises(ValueError, match="no test rows are known"):
        cost._test_rows(150, np.arange(3), "stratifed", "varying")


@pytest.mark.parametrize("left_out", ["domain", "kernels"])
def test_a_sampling_that_is_not_drawn_fails_at_import(left_out, monkeypatch):
    """What the schema declares, both implementations have: or else neither can be imported."""
    names = {"domain": "lcdb_builders.domain.sampling", "kernels": "lcdb_builders.learners.batch"}
    name = names[left_out]
    source = Path(importlib.import_module(name).__file__).read_text("utf-8")
    monkeypatch.setattr("lcdb.schema.SAMPLINGS", (*SAMPLINGS, "sorted"))
    with pytest.raises(AssertionError, match="sorted"):
        exec(compile(source, name, "exec"), {"__name__": name})
