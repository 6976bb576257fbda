"""The metrics of kernels: equal to a plain oracle and to the reference, pair by pair."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lcdb_builders.kernels.core import elementary
from lcdb_builders.kernels.core.cell import WIDTH
from lcdb_builders.kernels.scores import auc as ranking
from lcdb_builders.kernels.scores import counts as grouped_scores
from lcdb_builders.kernels.scores import metrics
from lcdb_builders.learners import batch
from lcdb_builders.reference.metrics import cell_scores
from numba import njit

from tests.oracles import metrics as oracle
from tests.support.counts import counts

# The log-odds at which p is clipped.
CLIP = math.log(2.0**-52)


def grouped(y, classes):
    """Order of rows by class, and where each class begins and ends."""
    order = np.argsort(y, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(y, minlength=classes))])
    return order, start[:-1].copy(), start[1:].copy()


def spread_out(values, order, lo, hi, rng):
    """Columns in class order with columns of no meaning between the classes."""
    gap = rng.integers(0, 4, len(lo)).cumsum()
    wide = np.full((values.shape[1], len(order) + gap[-1] + 3), np.nan)
    for c in range(len(lo)):
        wide[:, lo[c] + gap[c] : hi[c] + gap[c]] = values[order[lo[c] : hi[c]]].T
    return wide, lo + gap, hi + gap


def score(entry, values, present, y, rng):
    order, lo, hi = grouped(y, values.shape[1])
    wide, lo, hi = spread_out(values, order, lo, hi, rng)
    out = np.full(WIDTH, np.nan)
    workspace = metrics.room(values.shape[1], len(y))
    entry(wide, present, lo, hi, workspace, out)
    return out


@st.composite
def cells(draw):
    """Log scores with duplicates, ties, absent classes, and rows far beyond a float's range."""
    seed = draw(st.integers(0, 2**31))
    classes = draw(st.integers(2, 10))
    rows = draw(st.sampled_from([1, 2, 3, 7, 8, 9, 30, 255, 256, 257, 300]))
    scale = draw(st.sampled_from([0.0, 0.1, 1.0, 30.0, 1000.0, 1e6]))
    absent = draw(st.integers(0, classes - 1))
    return seed, classes, rows, scale, absent


def generate(seed, classes, rows, scale, absent):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, rng.integers(1, classes + 1), rows)
    distinct = rng.normal(size=(max(1, rows // 2), classes)) * scale
    scores = distinct[rng.integers(0, len(distinct), rows)]
    if seed % 3 == 0:
        scores = np.round(scores)
    present = np.ones(classes, bool)
    present[rng.permutation(classes)[:absent]] = False
    scores[:, ~present] = -np.inf
    return rng, scores, present, y


def near_clip(scores, y):
    """How many rows may or may not be clipped, for want of digits."""
    odds = [oracle.log_odds(list(row), label) for row, label in zip(scores, y, strict=True)]
    return sum(abs(o - CLIP) < 1e-9 for o in odds)


@pytest.mark.slow
@settings(max_examples=counts(150, 3000), deadline=None)
@given(cells())
@example((1, 2, 300, 1000.0, 0))
@example((1, 3, 300, 1000.0, 0))
@example((3, 3, 30, 1.0, 1))
def test_log_scores(cell):
    rng, scores, present, y = generate(*cell)
    ours = score(metrics.score_log_scores, scores, present, y, rng)
    plain = oracle.from_scores(scores.tolist(), y.tolist())
    slack = near_clip(scores, y) if present.sum() > 1 else 0
    np.testing.assert_allclose(ours[[0, 2, 3]], np.array(plain)[[0, 2, 3]], rtol=1e-12, atol=2e-15)
    assert abs(ours[4] - plain[4]) <= slack
    low, high = oracle.area_bounds(scores.tolist(), y.tolist(), 1e-13)
    reference = cell_scores(y, scores=scores)
    for area in (ours[1], reference.auc):
        assert np.isnan([area, low]).all() or low - 1e-15 <= area <= high + 1e-15
    # Where no two rows are all but tied, there is one answer.
    assert low != high or abs(ours[1] - reference.auc) < 1e-15
    np.testing.assert_allclose(ours[0], reference.accuracy, rtol=0)


@pytest.mark.slow
@settings(max_examples=counts(100, 2000), deadline=None)
@given(cells())
def test_probabilities(cell):
    rng, scores, present, y = generate(*cell)
    p = np.array([oracle.probabilities(row) for row in scores.tolist()])
    if cell[0] % 2:  # shares of votes, as trees and neighbours have them
        p = np.where(present, rng.multinomial(4, present / present.sum(), len(y)) / 4, 0.0)
    ours = score(metrics.score_probabilities, p, present, y, rng)
    plain = oracle.from_probabilities(p.tolist(), y.tolist())
    np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=2e-15)
    groups, inverse = np.unique(p, axis=0, return_inverse=True)
    members = np.zeros(groups.shape, np.int64)
    np.add.at(members, (inverse.ravel(), y), 1)
    out = np.empty(WIDTH)
    grouped_scores.score_groups(groups, members, out)
    np.testing.assert_allclose(out, plain, rtol=1e-12, atol=2e-15)


@pytest.mark.parametrize("seed", range(counts(20, 400)))
def test_hard_labels(seed):
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 8))
    rows = int(rng.integers(1, 60))
    y, labels = rng.integers(0, classes, rows), rng.integers(0, rng.integers(1, classes + 1), rows)
    confusion = np.zeros((classes, classes), np.int64)
    np.add.at(confusion, (y, labels), 1)
    out = np.empty(WIDTH)
    grouped_scores.score_confusion(confusion, out)
    plain = oracle.from_probabilities(np.eye(classes)[labels].tolist(), y.tolist())
    np.testing.assert_allclose(out, plain, rtol=1e-14)
    _, lo, hi = grouped(y, classes)
    grouped_scores.score_constant(1, lo, hi, out)
    certain = np.eye(classes)[np.ones(rows, int)]
    np.testing.assert_allclose(
        out, oracle.from_probabilities(certain.tolist(), y.tolist()), rtol=1e-14
    )


def test_margins_are_scores_of_two_classes():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, 400)
    margin = np.round(rng.normal(size=400) * 20, 1)
    scores = np.stack([np.zeros(400), margin], axis=1)
    present = np.ones(2, bool)

    def entry(wide, present, lo, hi, workspace, out):
        metrics.score_margins(wide[1], lo, hi, workspace, out)

    from_margin = score(entry, scores, present, y, rng)
    from_scores = score(metrics.score_log_scores, scores, present, y, rng)
    assert from_margin.tolist() == from_scores.tolist()


def test_saturated_scores_still_rank():
    """All probabilities of class 0 are 1 in float64; the log-odds know better."""
    scores = np.zeros((4, 3))
    scores[:, 0] = [900.0, 901.0, 850.0, 900.5]
    y = np.array([0, 0, 1, 1])
    out = score(metrics.score_log_scores, scores, np.ones(3, bool), y, np.random.default_rng(0))
    assert out[1] == 0.75


@pytest.mark.parametrize("classes", [2, 4])
def test_order_of_test_rows_does_not_matter(classes):
    """Counts and ranks are exact; sums may differ in the last bit."""
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 700)
    scores = rng.normal(size=(700, classes))[rng.integers(0, 500, 700)] * 5
    present = np.ones(classes, bool)
    first = score(metrics.score_log_scores, scores, present, y, rng)
    for _ in range(5):
        order = rng.permutation(700)
        again = score(metrics.score_log_scores, scores[order], present, y[order], rng)
        assert again[[0, 1, 4]].tolist() == first[[0, 1, 4]].tolist()
        np.testing.assert_allclose(again, first, rtol=1e-14)


@pytest.mark.parametrize("sizes", [(1, 1), (5, 900), (900, 5), (300, 400), (1200, 700)])
@pytest.mark.parametrize("kind", ["smooth", "tied", "constant", "apart", "skewed"])
def test_pairs_are_counted_exactly(sizes, kind):
    rng = np.random.default_rng(sizes[0])
    chosen, others = rng.normal(0.5, 1, sizes[0]), rng.normal(0, 1, sizes[1])
    if kind == "tied":
        chosen, others = chosen.round(1), others.round(1)
    elif kind == "constant":
        chosen, others = chosen * 0, others * 0
    elif kind == "apart":
        chosen = chosen + 100
    elif kind == "skewed":
        chosen, others = np.exp(20 * chosen), np.exp(20 * others)
    chosen, others = chosen.astype(np.float32), others.astype(np.float32)
    room = np.empty(2 * sizes[1] + sizes[0] + ranking.WORKSPACE, np.float32)
    room[: sizes[1]] = others
    won = ranking.pairs_won(chosen, room, sizes[1], np.empty(max(sizes), np.uint8))
    pairs = chosen[:, None] - others[None, :]
    assert won == 2 * (pairs > 0).sum() + (pairs == 0).sum()


def test_elementary_functions():
    """Two units in the last place, and the same bits in a vector and outside of one."""
    rng = np.random.default_rng(0)
    size = counts(10_001, 1_000_001)

    def compare(function, x, exact):
        @njit
        def fill(x, out):
            for i in range(len(x)):
                out[i] = function(x[i])

        out = np.empty_like(x)
        fill(x, out)
        error = np.abs((out - exact) / np.where(exact == 0, 1, exact))
        assert error.max() < 2.5 * 2.0**-52
        assert [function(value) for value in x[:50]] == out[:50].tolist()

    x = np.maximum(-np.abs(rng.normal(size=size)) * 10.0 ** rng.uniform(-20, 3, size), -707.9)
    compare(elementary.exp_nonpositive, x, np.exp(x.astype(np.longdouble)))
    x = np.append(10.0 ** rng.uniform(-300, 300, size), 1 + rng.uniform(-0.5, 7, size))
    compare(elementary.log_normal, x, np.log(x.astype(np.longdouble)))
    x = np.minimum(rng.normal(size=size) * 10.0 ** rng.uniform(-20, 2.5, size), 700)
    compare(elementary.log_sigmoid, x, -np.logaddexp(np.longdouble(0), -x.astype(np.longdouble)))
    assert elementary.exp_nonpositive(-1e9) == 0.0
    assert elementary.exp_nonpositive(-np.inf) == 0.0
    assert elementary.exp_nonpositive(0.0) == 1.0


def margins_of(values, y):
    """Score differences of two classes."""
    order, lo, hi = grouped(np.asarray(y), 2)
    out = np.full(WIDTH, np.nan)
    metrics.score_margins(np.array(values)[order], lo, hi, metrics.room(2, len(y)), out)
    return out


def test_rounding_errors_break_no_tie():
    """Free support vectors all have f = 1: what differs is rounding."""
    y = np.array([0, 0, 1, 1])
    noise = np.array([3e-16, -2e-16, -4e-16, 1e-16])
    assert margins_of(1 + noise, y)[1] == 0.5
    even = margins_of(1e3 * noise, y)
    assert even[:2].tolist() == [0.5, 0.5]  # label 0, and no order at f = 0
    scores = np.array([[5.0, 5.0, -90.0], [0.0, 1.0, -90.0]])[[0, 0, 0, 1]]
    scores[:3, 1] += [1e-13, -1e-13, 0.0]
    y = np.array([0, 1, 2, 1])
    out = score(metrics.score_log_scores, scores, np.ones(3, bool), y, np.random.default_rng(0))
    assert out[0] == 0.5
    assert out[1] == pytest.approx(cell_scores(y, scores=scores).auc, abs=1e-15)
    assert out[1] == pytest.approx((2 / 3 + 3 / 4 + 1 / 3) / 3)


@pytest.mark.parametrize("scale", [1e-300, 1e-60, 1.0, 1e30, 1e60, 1e300])
def test_ranks_have_24_bits_at_any_size(scale):
    """Beyond the range of single precision as within it: no order is lost, and no tie broken."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=300) * scale
    values[150:] = values[:150] * (1 + rng.integers(-1, 2, 150) * 1e-12)
    y = np.arange(300) // 150
    floats = np.empty(300)
    floats[:] = values
    ranking.rank_beyond(floats)
    assert len(set(floats.tolist())) == 150
    np.testing.assert_array_equal(floats[:150], floats[150:])
    if scale >= 1.0:
        out = margins_of(values, y)
        assert out[1] == 0.5 or abs(out[1] - 0.5) < 1e-12
        assert out[1] == pytest.approx(oracle.from_scores([[0.0, v] for v in values], y)[1])


@pytest.mark.slow
def test_decisions_that_saturate_are_labelled_by_their_size():
    """Of two classes that are all but certain the one with the larger decision value wins."""
    decisions = np.array([[40.0, 800.0, -1.0], [900.0, 30.0, -1.0], [2.0, 2.0 + 1e-12, -5.0]])
    y = np.array([1, 0, 0])
    out = score(metrics.score_decisions, decisions, np.ones(3, bool), y, np.random.default_rng(0))
    assert out[0] == 1.0
    scores = -np.logaddexp(0, -decisions)
    assert cell_scores(y, scores=scores, decisions=decisions).accuracy == 1.0
    assert cell_scores(y, scores=scores).accuracy == pytest.approx(2 / 3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers_give_none(wrong):
    rng, y = np.random.default_rng(0), np.array([0, 1, 2, 1, 0])
    scores = rng.normal(size=(5, 3))
    for place in range(5):
        broken = scores.copy()
        broken[place, 1] = wrong
        for entry in (metrics.score_log_scores, metrics.score_decisions):
            assert np.isnan(score(entry, broken, np.ones(3, bool), y, rng)).all()
    for place in range(4):
        margins = np.array([1.0, -1.0, 2.0, 0.5])
        margins[place] = wrong
        assert np.isnan(margins_of(margins, np.array([0, 1, 1, 0]))).all()


def test_probabilities_near_one_keep_their_order():
    """Single precision tells odds of 1e9 and 1e10 apart; of the probabilities it makes 1."""
    p = np.array([[1e-9, 1 - 1e-9], [1e-10, 1 - 1e-10], [1e-10, 1 - 1e-10], [0.0, 1.0]])
    y = np.array([0, 0, 1, 1])
    out = score(metrics.score_probabilities, p, np.ones(2, bool), y, np.random.default_rng(0))
    assert out[1] == cell_scores(y, p=p).auc == 0.875


def test_kernels_write_the_metrics_of_the_schema(monkeypatch):
    """A fifth metric must not be filled with the number of clipped rows."""
    batch._check_cell()
    more = {**batch.METRICS, "log_loss": batch.METRICS["brier"]}
    for other in (more, dict(reversed(batch.METRICS.items()))):
        monkeypatch.setattr(batch, "METRICS", other)
        with pytest.raises(AssertionError, match="kernels write"):
            batch._check_cell()
