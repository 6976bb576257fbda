"""Whole blocks of GSVC: cells in, metrics out.

One Gram matrix serves all cells. Along additive sampling machines are carried: a row that joins
outside the margin leaves them as they are, and with a constant test set the cell's numbers too.
Fresh draws start from anchors, so that they do not depend on which other cells are computed.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, draw
from lcdb_builders.kernels.scores.one_vs_rest import (
    clear,
    desk,
    draw_fresh,
    fitted_classes,
    score_constant_sets,
    score_left_out,
)
from lcdb_builders.kernels.svm.anchors import (
    anchor_for,
    anchors_of,
    decide,
    fit_draw,
    machines_of,
    reach_of,
    sets_of,
)
from lcdb_builders.kernels.svm.working_set import leave_all, settle

__all__ = ["report", "svm_block"]

NEVER = 1e300
# Errors so close to the intercept are of rows that may well move when a row joins.
REACH_GROWING = 0.01
# A set of moving rows is gathered anew when it has grown by so much.
GROWN, GROWN_ROWS = 1.5, 32


@kernel(glue=True)
def _forget(machines, sets):
    machines.beta[:] = 0.0
    machines.f[:] = 0.0
    machines.bound[:] = 0.0
    machines.top[:] = -NEVER
    machines.bottom[:] = NEVER
    machines.known[:] = 0
    for found in sets:
        leave_all(found)


@kernel(glue=True)
def _admit(machines, c, order, n):
    """Let rows up to n join the machine of a class, with coefficients 0."""
    sign = machines.sign[c]
    top = machines.top[c]
    bottom = machines.bottom[c]
    for row in order[machines.known[c] : n]:
        error = sign[row] - machines.f[c, row]
        if sign[row] > 0.0:
            top = max(top, error)
        else:
            bottom = min(bottom, error)
    machines.top[c] = top
    machines.bottom[c] = bottom
    machines.known[c] = n


@kernel(glue=True)
def _grow(gram, machines, found, c, tolerance):
    """Bring the machine of a class, to which rows were added, to its optimum."""
    centre = 0.5 * (machines.top[c] + machines.bottom[c])
    if found.size[0] > GROWN * machines.fresh[c] + GROWN_ROWS:
        leave_all(found)
    gathered = found.size[0] == 0
    machines.top[c], machines.bottom[c] = settle(
        gram,
        machines.sign[c],
        machines.bound,
        machines.beta[c],
        machines.f[c],
        tolerance,
        centre,
        REACH_GROWING if gathered else 0.0,
        found,
        machines.count,
    )
    if gathered:
        machines.fresh[c] = found.size[0]


@kernel(glue=True)
def _additive_repetition(
    task, columns, gram, C, tolerance, limit, r, machines, sets, at, out, decisions
):
    draw(task, 0, task.first + r, at.order)
    _forget(machines, sets)
    at.counts[:] = 0.0
    done = 0
    present = 0
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        for row in at.order[done:n]:
            at.counts[task.y[row]] += 1.0
            at.weight[row] = 1
            machines.bound[row] = C
        done = n
        before = present
        present = fitted_classes(at)
        moved = i == 0 or present != before
        for c in range(task.classes):
            if at.fitted[c]:
                top = machines.top[c]
                bottom = machines.bottom[c]
                _admit(machines, c, at.order, n)
                if machines.top[c] - machines.bottom[c] > tolerance:
                    _grow(gram, machines, sets[min(c, len(sets) - 1)], c, tolerance)
                moved |= top != machines.top[c] or bottom != machines.bottom[c]
        if moved or columns.varying or decisions.size > 0:
            decide(machines, limit, columns, at)
            if decisions.size > 0:
                decisions[i, r] = at.F
            report(columns, at, out[i, r])
        else:
            out[i, r] = out[i - 1, r]
    for row in at.order[:done]:
        at.weight[row] = 0


@kernel(glue=True)
def report(columns, at, out):
    """Score ``at.F`` on all test sets."""
    if columns.varying:
        score_left_out(columns, at, out)
    else:
        score_constant_sets(columns, at, out)


@kernel(glue=True)
def _fresh_repetition(
    task,
    columns,
    gram,
    C,
    tolerance,
    limit,
    r,
    anchors,
    machines,
    found,
    at,
    support,
    by,
    out,
    decisions,
):
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        a = anchor_for(anchors, n)
        reach = reach_of(C, n)
        size = draw_fresh(task, n, task.first + r, at)
        for row in at.distinct[:size]:
            machines.bound[row] = C * at.weight[row]
        for c in range(task.classes):
            if at.fitted[c]:
                fit_draw(gram, anchors, a, c, tolerance, reach, machines, found, support, by)
        decide(machines, limit, columns, at)
        if decisions.size > 0:
            decisions[i, r] = at.F
        report(columns, at, out[i, r])
        for row in at.distinct[:size]:
            machines.bound[row] = 0.0
        clear(at)


@kernel
def svm_block(task, columns, gram, C, tolerance, limit, out, decisions):
    """Score the cells of a block.

    Parameters
    ----------
    task
        A `Task`.
    columns
        `Columns` to score on.
    gram
        (N, N) kernel of all rows, see `gaussian_gram`.
    C
        Price of a row's hinge loss.
    tolerance, limit
        Violation of the optimality conditions that is aimed at, and the largest that will do.
    out
        (sizes, repetitions, sets, WIDTH), filled.
    decisions
        (sizes, repetitions, K, columns), filled with decision values of fitted classes; of size 0
        if they are not wanted.

    Returns
    -------
    (4,) int64
        Rounds, pair steps, rows moved, and machines that violate optimality by more than `limit`.
    """
    at = desk(task, columns, 0)
    machines = machines_of(task)
    if task.sampling == ADDITIVE:
        sets = sets_of(task, gram, task.classes if task.classes > 2 else 1)
        for r in range(task.stop - task.first):
            _additive_repetition(
                task, columns, gram, C, tolerance, limit, r, machines, sets, at, out, decisions
            )
        return machines.count
    found = sets_of(task, gram, 1)[0]
    anchors = anchors_of(task, gram, C, tolerance, machines, found)
    support = np.empty(len(task.y), np.int64)
    by = np.empty(len(task.y))
    for r in range(task.stop - task.first):
        _fresh_repetition(
            task,
            columns,
            gram,
            C,
            tolerance,
            limit,
            r,
            anchors,
            machines,
            found,
            at,
            support,
            by,
            out,
            decisions,
        )
    return machines.count
