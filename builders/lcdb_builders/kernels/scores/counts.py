"""The numbers of a cell from counts of test rows that share their probabilities.

=====================  =============================================================================
entry                  for
=====================  =============================================================================
`score_groups`         probabilities of groups, such as leaves: AUC by odds p_c / (1 - p_c)
`score_confusion`      hard labels, p = 1 for the label
`score_constant`       a training set of one class
=====================  =============================================================================

Labels and ranks are those of `lcdb_builders.kernels.scores.metrics`.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.cell import WIDTH, Sums, write_cell
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.scores.auc import round_rank
from lcdb_builders.kernels.scores.kept import keep_constant
from lcdb_builders.kernels.scores.losses import EPSILON, LARGEST, LOSS_OF_ONE, LOSS_OF_ZERO, TIED

__all__ = ["score_confusion", "score_constant", "score_groups"]


@kernel(borrow=True)
def _odds(p):
    """Return what a probability is ranked by."""
    return round_rank(p / (1.0 - p)) if p < 1.0 else LARGEST


@kernel(borrow=True)
def _grouped_auc(p, counts, order, c):
    """AUC of one class from groups of rows in ascending order of p; NaN if a side is empty."""
    won, below, chosen, g = 0, 0, 0, 0
    while g < len(order):
        level = _odds(p[order[g], c])
        own, others = 0, 0
        while g < len(order) and _odds(p[order[g], c]) == level:
            own += counts[order[g], c]
            others += counts[order[g]].sum() - counts[order[g], c]
            g += 1
        won += own * (2 * below + others)
        below += others
        chosen += own
    return won / (2.0 * chosen * below) if chosen * below > 0 else np.nan


@kernel
def _mean_grouped_auc(p, counts):
    """Return the mean AUC of the classes that have test rows, NaN if it is one."""
    area, present = 0.0, 0
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
        (WIDTH,) float64.
    """
    classes = p.shape[1]
    rows, right = 0, 0
    error, loss, clipped = 0.0, 0.0, 0
    for g in range(len(p)):
        label = 0
        squares = 0.0
        best = p[g].max()
        best -= TIED * (1.0 + best)
        for c in range(classes - 1, -1, -1):
            label = c if p[g, c] >= best else label
        for c in range(classes):
            squares += p[g, c] * p[g, c]
        for k in range(classes):
            members = counts[g, k]
            if members == 0:
                continue
            rows += members
            right += members if k == label else 0
            own = p[g, k]
            error += members * (squares - own * own + (1.0 - own) * (1.0 - own))
            within = min(max(own, EPSILON), 1.0 - EPSILON)
            clipped += members if within > own else 0
            loss -= members * np.log(within)
    error *= 0.5 if classes == 2 else 1.0
    sums = Sums(right=right, error=error, loss=loss, clipped=clipped)
    write_cell(sums, _mean_grouped_auc(p, counts), rows, out)


@kernel(borrow=True)
def score_confusion(counts, out):
    """Score a cell of hard labels: probability 1 for the label and 0 for the others.

    Parameters
    ----------
    counts
        (K, K) int64 test rows by true class and label.
    out
        (WIDTH,) float64.
    """
    classes = len(counts)
    rows, right = 0, 0
    for k in range(classes):
        right += counts[k, k]
        for label in range(classes):
            rows += counts[k, label]
    area, present = 0.0, 0
    for c in range(classes):
        chosen, taken = 0, 0
        for k in range(classes):
            chosen += counts[c, k]
            taken += counts[k, c]
        others = rows - chosen
        if chosen > 0:
            present += 1
        if chosen > 0 and others > 0:
            hits = counts[c, c]
            # Both labelled c, or both not, tie.
            won = chosen * (others - (taken - hits)) + others * hits
            area += won / (2.0 * chosen * others)
    wrong = rows - right
    error = wrong * (1.0 if classes == 2 else 2.0)
    loss = wrong * LOSS_OF_ZERO + right * LOSS_OF_ONE
    area = area / present if present > 1 else np.nan
    write_cell(Sums(right=right, error=error, loss=loss, clipped=wrong), area, rows, out)


@kernel
def score_constant(c, lo, hi, out):
    """Score a cell whose training set has one class, c: probability 1 for it.

    A longer `out` keeps what is said of rows, see `lcdb_builders.kernels.scores.kept`.
    """
    counts = np.zeros((len(lo), len(lo)), np.int64)
    for k in range(len(lo)):
        counts[k, c] = hi[k] - lo[k]
    score_confusion(counts, out)
    if len(out) > WIDTH:
        keep_constant(c, len(lo), counts[:, c].sum(), out)
