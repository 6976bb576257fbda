"""The four metrics of a cell in one pass over its test rows.

Test rows are grouped by class: those of class c are the columns ``lo[c]:hi[c]`` of a class-major
array, one row of which belongs to one class. ``out`` receives five numbers, in this order:
accuracy, AUC, Brier score, cross-entropy, and the number of rows clipped from below.

=====================  =============================================================================
entry                  for
=====================  =============================================================================
`score_log_scores`     log scores s_c of the present classes: p = softmax(s), AUC by class log-odds
`score_margins`        K = 2, both present, from s_1 - s_0 alone (f of a binary one-vs-rest learner)
`score_probabilities`  probabilities p_c that are ranked as they are
`score_groups`         the same where many rows share their p: a leaf, a vote
`score_confusion`      hard labels, p = 1 for the label
`score_constant`       a training set of one class
=====================  =============================================================================

All take a `Room`, which `room` makes once for many cells.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.scores.auc import WORKSPACE, pairs_won
from lcdb_builders.kernels.scores.losses import (
    CHUNK,
    EPSILON,
    LOSS_OF_ONE,
    LOSS_OF_ZERO,
    margin_losses,
    pad,
    probability_losses,
    softmax_losses,
)

__all__ = [
    "Room",
    "room",
    "score_confusion",
    "score_constant",
    "score_groups",
    "score_log_scores",
    "score_margins",
    "score_probabilities",
]

#: Workspace: `packed` (K, T) and `label` (T,), the test columns side by side; `powers` (K, CHUNK)
#: and `rows` (9, CHUNK) for the run in hand; `floats` and `buckets` for `pairs_won`; `start`
#: (K + 1,) first packed column of each class; `classes` (K,).
Room = namedtuple(
    "Room", ["packed", "label", "powers", "rows", "floats", "buckets", "start", "classes"]
)


@kernel
def room(classes, columns):
    """Return the workspace for so many classes and at most so many test rows."""
    padded = pad(columns)
    return Room(
        np.empty((classes, padded)),
        np.empty(padded),
        np.empty((classes, CHUNK)),
        np.empty((9, CHUNK)),
        np.empty(2 * padded + WORKSPACE),
        np.empty(padded, np.uint8),
        np.empty(classes + 1, np.int64),
        np.empty(classes, np.int64),
    )


@kernel(glue=True)
def _begin(lo, hi, workspace):
    """Lay out the packed columns: write `start` and `label`, return the number of test rows."""
    start = workspace.start
    label = workspace.label
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


@kernel(inline=True, borrow=True)
def _copy(source, target):
    for i in range(len(source)):  # a loop costs a third of a slice assignment
        target[i] = source[i]


@kernel(glue=True)
def _pack(values, lo, hi, start, out):
    """Copy the test columns of one row side by side, and pad them with ones."""
    c = 0
    while c < len(lo):
        first = c
        while c + 1 < len(lo) and lo[c + 1] == hi[c]:  # columns that stand side by side already
            c += 1
        _copy(values[lo[first] : hi[c]], out[start[first] :])
        c += 1
    rows = start[len(lo)]
    for i in range(rows, pad(rows)):
        out[i] = 1.0


@kernel(glue=True)
def _class_auc(packed, c, workspace):
    """AUC of one class against the rest of the packed columns; NaN if there is none of either."""
    start = workspace.start
    held = workspace.floats
    chosen = packed[start[c] : start[c + 1]]
    rows = start[len(start) - 1]
    size = rows - len(chosen)
    if len(chosen) == 0 or size == 0:
        return np.nan
    _copy(packed[: start[c]], held)
    _copy(packed[start[c + 1] : rows], held[start[c] :])
    won = pairs_won(chosen, held, size, workspace.buckets)
    return won / (2.0 * len(chosen) * size)


@kernel(glue=True)
def _mean_auc(ranked, workspace):
    """Mean AUC over the classes of the test set; a class that is not ranked ties all rows."""
    start = workspace.start
    area = 0.0
    classes = 0
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
        (K, T) float64 log scores, finite where present.
    present
        (K,) bool, classes of the training set.
    lo, hi
        (K,) int64, columns of the test rows of each class.
    workspace
        Of `room(K, T)` or larger.
    out
        (5,) float64.
    """
    classes = workspace.classes[: _list_classes(present, workspace.classes)]
    if len(classes) == 1:
        score_constant(classes[0], lo, hi, out)
        return
    rows = _begin(lo, hi, workspace)
    packed = workspace.packed
    for c in classes:
        _pack(scores[c], lo, hi, workspace.start, packed[c])
    if len(present) == 2:
        for i in range(pad(rows)):
            packed[0, i] = packed[1, i] - packed[0, i]
        packed[0, rows : pad(rows)] = 1.0
        _score_packed_margins(rows, workspace, out)
        return
    right = 0
    error = 0.0
    loss = 0.0
    clipped = 0
    for a in range(0, rows, CHUNK):
        b = min(a + CHUNK, rows)
        found = softmax_losses(
            packed, classes, workspace.label, a, b, workspace.powers, workspace.rows
        )
        right += found[0]
        error += found[1]
        loss += found[2]
        clipped += found[3]
    out[0] = right / rows
    out[1] = _mean_auc(present, workspace)
    out[2] = error / rows
    out[3] = loss / rows
    out[4] = clipped


@kernel(glue=True)
def _score_packed_margins(rows, workspace, out):
    right = 0
    error = 0.0
    loss = 0.0
    clipped = 0
    margin = workspace.packed[0]
    for a in range(0, rows, CHUNK):
        b = min(a + CHUNK, rows)
        found = margin_losses(margin, workspace.label, a, b, workspace.rows)
        right += found[0]
        error += found[1]
        loss += found[2]
        clipped += found[3]
    out[0] = right / rows
    # Log-odds of the classes are opposite numbers: both areas are the same.
    out[1] = _class_auc(margin, 1, workspace)
    out[2] = error / rows
    out[3] = loss / rows
    out[4] = clipped


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
    _pack(margin, lo, hi, workspace.start, workspace.packed[0])
    _score_packed_margins(rows, workspace, out)


@kernel(borrow=True)
def score_probabilities(p, present, lo, hi, workspace, out):
    """Score a cell from probabilities, which also rank the rows.

    Parameters
    ----------
    p
        (K, T) float64; exactly 0 for classes that are absent from training.
    present
        (K,) bool, classes of the training set.
    lo, hi, workspace, out
        As for `score_log_scores`.
    """
    rows = _begin(lo, hi, workspace)
    packed = workspace.packed
    for c in range(len(p)):
        _pack(p[c], lo, hi, workspace.start, packed[c])
    right = 0
    error = 0.0
    loss = 0.0
    clipped = 0
    for a in range(0, rows, CHUNK):
        b = min(a + CHUNK, rows)
        found = probability_losses(packed, workspace.label, a, b, workspace.rows)
        right += found[0]
        error += found[1]
        loss += found[2]
        clipped += found[3]
    out[0] = right / rows
    out[1] = _mean_auc(present, workspace)
    out[2] = error / rows / (2.0 if len(p) == 2 else 1.0)
    out[3] = loss / rows
    out[4] = clipped


@kernel(borrow=True)
def _grouped_auc(p, counts, order, c):
    """AUC of one class from groups of rows in ascending order of p; NaN if a side is empty."""
    won = 0
    below = 0
    chosen = 0
    g = 0
    while g < len(order):
        level = p[order[g], c]
        mine = 0
        others = 0
        while g < len(order) and p[order[g], c] == level:
            for k in range(p.shape[1]):
                if k == c:
                    mine += counts[order[g], k]
                else:
                    others += counts[order[g], k]
            g += 1
        won += mine * (2 * below + others)
        below += others
        chosen += mine
    return won / (2.0 * chosen * below) if chosen * below > 0 else np.nan


@kernel
def _mean_grouped_auc(p, counts):
    area = 0.0
    present = 0
    for c in range(p.shape[1]):
        if counts[:, c].sum() > 0:
            present += 1
            area += _grouped_auc(p, counts, np.argsort(p[:, c]), c)
    return area / present if present > 1 else np.nan


@kernel
def score_groups(p, counts, out):
    """Score a cell whose test rows come in groups of equal probabilities, such as leaves.

    Parameters
    ----------
    p
        (G, K) float64 probabilities of each group.
    counts
        (G, K) int64 test rows by group and true class; groups may be empty.
    out
        (5,) float64.
    """
    classes = p.shape[1]
    rows = 0
    right = 0
    error = 0.0
    loss = 0.0
    clipped = 0
    for g in range(len(p)):
        label = 0
        squares = 0.0
        for c in range(classes):
            label = c if p[g, c] > p[g, label] else label
            squares += p[g, c] * p[g, c]
        for k in range(classes):
            here = counts[g, k]
            if here == 0:
                continue
            rows += here
            right += here if k == label else 0
            mine = p[g, k]
            error += here * (squares - mine * mine + (1.0 - mine) * (1.0 - mine))
            kept = min(max(mine, EPSILON), 1.0 - EPSILON)
            clipped += here if kept > mine else 0
            loss -= here * np.log(kept)
    out[0] = right / rows
    out[1] = _mean_grouped_auc(p, counts)
    out[2] = error / rows / (2.0 if classes == 2 else 1.0)
    out[3] = loss / rows
    out[4] = clipped


@kernel(borrow=True)
def score_confusion(counts, out):
    """Score a cell of hard labels: probability 1 for the label and 0 for the others.

    Parameters
    ----------
    counts
        (K, K) int64 test rows by true class and label.
    out
        (5,) float64.
    """
    classes = len(counts)
    rows = 0
    right = 0
    for k in range(classes):
        right += counts[k, k]
        for label in range(classes):
            rows += counts[k, label]
    area = 0.0
    present = 0
    for c in range(classes):
        chosen = 0
        taken = 0
        for k in range(classes):
            chosen += counts[c, k]
            taken += counts[k, c]
        others = rows - chosen
        if chosen > 0:
            present += 1
        if chosen > 0 and others > 0:
            hits = counts[c, c]
            # Both labelled c, or both not, tie.
            won = hits * (others - (taken - hits)) + others * hits
            won += (chosen - hits) * (others - (taken - hits))
            area += won / (2.0 * chosen * others)
    wrong = rows - right
    out[0] = right / rows
    out[1] = area / present if present > 1 else np.nan
    out[2] = wrong * (1.0 if classes == 2 else 2.0) / rows
    out[3] = (wrong * LOSS_OF_ZERO + right * LOSS_OF_ONE) / rows
    out[4] = wrong


@kernel
def score_constant(c, lo, hi, out):
    """Score a cell whose training set has one class, c: probability 1 for it."""
    counts = np.zeros((len(lo), len(lo)), np.int64)
    for k in range(len(lo)):
        counts[k, c] = hi[k] - lo[k]
    score_confusion(counts, out)
