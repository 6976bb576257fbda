"""The four metrics of a cell in one pass over its test rows.

Test rows are grouped by class: those of class c are the columns ``lo[c]:hi[c]`` of a class-major
array, one row of which belongs to one class. ``out`` receives the numbers of
`lcdb_builders.kernels.core.cell`.

=====================  =============================================================================
entry                  for
=====================  =============================================================================
`score_log_scores`     log scores s_c of the present classes: p = softmax(s), AUC by class log-odds
`score_decisions`      decision values f_c: the same with s = ln sigma(f), labelled by f
`score_margins`        K = 2, both present, from s_1 - s_0 alone (f of a binary one-vs-rest learner)
`score_probabilities`  probabilities p_c, AUC by odds p_c / (1 - p_c)
=====================  =============================================================================

Two rules keep the order of rounding errors out of the numbers. Scores within 1e-9 (1 + |score|) of
the largest are tied with it: the lowest class is the label, and log-odds as near to 0 are 0. What
the AUC ranks is rounded to single precision.

All take a `Room`, which `room` makes once for many cells. Where rows come in groups of equal
probabilities, see `lcdb_builders.kernels.scores.counts`.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.cell import WIDTH, Sums, add_sums, write_cell
from lcdb_builders.kernels.core.elementary import log_sigmoid
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import copy
from lcdb_builders.kernels.scores.auc import WORKSPACE, pairs_won, rank_beyond, round_ranks
from lcdb_builders.kernels.scores.counts import score_constant
from lcdb_builders.kernels.scores.kept import keep_margins, keep_probabilities, keep_softmax
from lcdb_builders.kernels.scores.losses import (
    CHUNK,
    FIRST,
    GUESS,
    ROWS,
    TIED,
    label_columns,
    margin_losses,
    pad,
    probability_losses,
    softmax_losses,
)

__all__ = ["room", "score_decisions", "score_log_scores", "score_margins", "score_probabilities"]

# Decision values so near to 0 are tied with their opposite: both scores are about ln 1/2.
TIED_DECISION = TIED * (1.0 + math.log(2.0))

#: Workspace: `packed` (K, T) and `label` (T,), the test columns side by side; `powers` (K, CHUNK)
#: and `rows` (ROWS, CHUNK) for the run in hand, see `losses`; `floats` (float32), for ranks, and
#: `buckets` for `pairs_won`; `start` (K + 1,) first packed column of each class; `classes` (K,),
#: those of the training set.
Room = namedtuple("Room", "packed label powers rows floats buckets start classes")


@kernel
def room(classes, columns):
    """Return the workspace for so many classes and at most so many test rows."""
    padded = pad(columns)
    return Room(
        packed=np.empty((classes, padded)),
        label=np.empty(padded),
        powers=np.empty((classes, CHUNK)),
        rows=np.empty((ROWS, CHUNK)),
        floats=np.empty(2 * padded + WORKSPACE, np.float32),
        buckets=np.empty(padded, np.uint8),
        start=np.empty(classes + 1, np.int64),
        classes=np.empty(classes, np.int64),
    )


@kernel(glue=True)
def _begin(lo, hi, workspace):
    """Lay out the packed columns: write `start` and `label`, return the number of test rows."""
    start, label = workspace.start, workspace.label
    rows = 0
    for c in range(len(lo)):
        start[c] = rows
        for i in range(hi[c] - lo[c]):
            label[rows + i] = float(c)
        rows += hi[c] - lo[c]
    start[len(lo)] = rows
    for i in range(rows, pad(rows)):
        label[i] = -1.0
    return rows


@kernel(glue=True)
def _pack(values, lo, hi, start, out):
    """Copy the test columns of one row side by side, and pad them with ones."""
    c = 0
    while c < len(lo):
        first = c
        while c + 1 < len(lo) and lo[c + 1] == hi[c]:  # columns that stand side by side already
            c += 1
        copy(values[lo[first] : hi[c]], out[start[first] :])
        c += 1
    rows = start[len(lo)]
    for i in range(rows, pad(rows)):
        out[i] = 1.0


@kernel(borrow=True)
def _part(packed, c, rows, workspace):
    """Round the packed columns into `floats`, those of the class before the others."""
    first, stop = workspace.start[c], workspace.start[c + 1]
    ranks = workspace.floats
    beyond = round_ranks(packed[first:stop], ranks)
    beyond += round_ranks(packed[:first], ranks[stop - first :])
    return beyond + round_ranks(packed[stop:rows], ranks[stop:])


@kernel(glue=True)
def _class_auc(packed, c, workspace):
    """AUC of one class against the rest of the packed columns; NaN if there is none of either."""
    start = workspace.start
    rows = start[len(start) - 1]
    size = start[c + 1] - start[c]
    if size == 0 or size == rows:
        return np.nan
    beyond = _part(packed, c, rows, workspace)
    if beyond > 0:
        rank_beyond(packed[:rows])
        _part(packed, c, rows, workspace)
    ranks = workspace.floats
    won = pairs_won(ranks[:size], ranks[size:], rows - size, workspace.buckets)
    return won / (2.0 * size * (rows - size))


@kernel(glue=True)
def _mean_auc(ranked, workspace):
    """Mean AUC over the classes of the test set; a class that is not ranked ties all rows."""
    start = workspace.start
    area, classes = 0.0, 0
    for c in range(len(ranked)):
        if start[c + 1] > start[c]:
            classes += 1
            area += _class_auc(workspace.packed[c], c, workspace) if ranked[c] else 0.5
    return area / classes if classes > 1 else np.nan


@kernel(glue=True)
def _list_classes(present, classes):
    """Write the present classes; returns how many there are."""
    count = 0
    for c in range(len(present)):
        if present[c]:
            classes[count] = c
            count += 1
    return count


@kernel(borrow=True)
def score_log_scores(scores, present, lo, hi, workspace, out):
    """Score a cell from log scores; rows of absent classes are never read.

    Parameters
    ----------
    scores
        (K, T) float64 log scores. Where those of a present class are not finite, the cell has no
        numbers: `out` is NaN.
    present
        (K,) bool, classes of the training set.
    lo, hi
        (K,) int64, columns of the test rows of each class.
    workspace
        Of `room(K, T)` or larger.
    out
        (WIDTH,) float64, or longer to keep what is said of rows, see
        `lcdb_builders.kernels.scores.kept`.
    """
    classes = workspace.classes[: _list_classes(present, workspace.classes)]
    if len(classes) == 1:
        score_constant(classes[0], lo, hi, out)
        return
    rows = _pack_classes(scores, classes, lo, hi, workspace, out)
    if rows > 0 and len(present) == 2:
        _to_margins(workspace.packed, rows)
        _score_packed_margins(rows, workspace, out)
    elif rows > 0:
        _score_packed_classes(classes, present, False, rows, workspace, out)


@kernel(borrow=True)
def score_decisions(decisions, present, lo, hi, workspace, out):
    """Score a cell of more than two classes from decision values, one class against the rest.

    Parameters
    ----------
    decisions
        (K, T) float64; there are two or more present classes.
    present, lo, hi, workspace, out
        As for `score_log_scores`.
    """
    classes = workspace.classes[: _list_classes(present, workspace.classes)]
    rows = _pack_classes(decisions, classes, lo, hi, workspace, out)
    if rows > 0:
        _score_packed_classes(classes, present, True, rows, workspace, out)


@kernel(borrow=True)
def _are_numbers(values):
    """Whether all values are finite."""
    count = 0
    for i in range(len(values)):
        count += abs(values[i]) < np.inf
    return count == len(values)


@kernel(glue=True)
def _pack_classes(values, classes, lo, hi, workspace, out):
    """Pack the rows of present classes; returns how many columns, 0 if not all are numbers.

    Such a cell has no numbers: `out` is NaN.

    Parameters
    ----------
    values
        (K, T) scores.
    classes
        Present classes, ascending.
    lo, hi, workspace, out
        As for `score_log_scores`.
    """
    rows = _begin(lo, hi, workspace)
    all_finite = True
    for c in classes:
        _pack(values[c], lo, hi, workspace.start, workspace.packed[c])
        all_finite &= _are_numbers(workspace.packed[c, :rows])
    if not all_finite:
        out[:] = np.nan
        return 0
    return rows


@kernel(glue=True)
def _to_margins(packed, rows):
    """Write s_1 - s_0 of packed columns into the first row, 0 where the scores are tied."""
    zeros, ones = packed[0], packed[1]
    for i in range(rows):
        margin = ones[i] - zeros[i]
        largest = ones[i] if margin > 0.0 else zeros[i]
        zeros[i] = margin if abs(margin) > TIED * (1.0 + abs(largest)) else 0.0


@kernel(glue=True)
def _score_packed_classes(classes, present, decisions, rows, workspace, out):
    """Score packed log scores, or decision values.

    Parameters
    ----------
    classes, present
        Present classes, ascending, and (K,) which those are.
    decisions
        Whether decision values are packed.
    rows
        Number of test rows.
    workspace, out
        As for `score_log_scores`.
    """
    sums = Sums(right=0, error=0.0, loss=0.0, clipped=0)
    packed, work = workspace.packed, workspace.rows
    for a in range(0, rows, CHUNK):
        b = min(a + CHUNK, rows)
        end = a + pad(b - a)
        label_columns(packed, classes, a, end, work[FIRST], work[GUESS])
        for c in classes if decisions else classes[:0]:
            f = packed[c, a:end]
            for i in range(len(f)):
                f[i] = log_sigmoid(f[i])
        run = softmax_losses(packed, classes, workspace.label, a, b, workspace.powers, work)
        sums = add_sums(sums, run)
        if len(out) > WIDTH:
            keep_softmax(packed, classes, workspace.powers, work, a, b, rows, out)
    write_cell(sums, _mean_auc(present, workspace), rows, out)


@kernel(glue=True)
def _score_packed_margins(rows, workspace, out):
    """Score packed differences of log scores."""
    sums = Sums(right=0, error=0.0, loss=0.0, clipped=0)
    margin = workspace.packed[0]
    for a in range(0, rows, CHUNK):
        b = min(a + CHUNK, rows)
        run = margin_losses(margin, workspace.label, a, b, workspace.rows)
        sums = add_sums(sums, run)
        if len(out) > WIDTH:
            keep_margins(margin, a, b, rows, out)
    # Log-odds of the classes are opposite numbers: both areas are the same.
    write_cell(sums, _class_auc(margin, 1, workspace), rows, out)


@kernel(borrow=True)
def score_margins(margin, lo, hi, workspace, out):
    """Score a cell of two classes, both of them in the training set, from s_1 - s_0.

    Parameters
    ----------
    margin
        (T,) differences of log scores, such as decision values for class 1.
    lo, hi, workspace, out
        As for `score_log_scores`.
    """
    rows = _begin(lo, hi, workspace)
    packed = workspace.packed[0]
    _pack(margin, lo, hi, workspace.start, packed)
    if not _are_numbers(packed[:rows]):
        out[:] = np.nan
        return
    for i in range(rows):
        packed[i] = packed[i] if abs(packed[i]) > TIED_DECISION else 0.0
    _score_packed_margins(rows, workspace, out)


@kernel(borrow=True)
def score_probabilities(p, present, lo, hi, workspace, out):
    """Score a cell from probabilities; their odds rank the rows.

    Parameters
    ----------
    p
        (K, T) float64; exactly 0 for classes that are absent from training.
    present
        (K,) bool, classes of the training set.
    lo, hi, workspace, out
        As for `score_log_scores`.
    """
    classes = workspace.classes[: _list_classes(present, workspace.classes)]
    rows = _begin(lo, hi, workspace)
    packed = workspace.packed
    for c in range(len(p)):
        _pack(p[c], lo, hi, workspace.start, packed[c])
    sums = Sums(right=0, error=0.0, loss=0.0, clipped=0)
    for a in range(0, rows, CHUNK):
        b = min(a + CHUNK, rows)
        if len(out) > WIDTH:
            keep_probabilities(packed, a, b, rows, out)
        run = probability_losses(packed, classes, workspace.label, a, b, workspace.rows)
        sums = add_sums(sums, run)
    write_cell(sums, _mean_auc(present, workspace), rows, out)
