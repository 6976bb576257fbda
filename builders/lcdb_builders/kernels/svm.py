"""Whole blocks of GSVC: cells in, metrics out.

One Gram matrix serves all cells. Each class has a machine that keeps the decision values of all
rows of the dataset: test rows need nothing extra.

Along additive sampling machines are carried. A row that joins outside the margin leaves them as
they are, and with a constant test set the cell's numbers too. Fresh draws start from an *anchor*:
the machine of the whole pool at the weight that rows have on average in draws of about that size.
It does not depend on which other cells are computed.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.dual import snapped
from lcdb_builders.kernels.gram import add_rows
from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.layout import ADDITIVE, draw
from lcdb_builders.kernels.nearby import leave_all, near, settle
from lcdb_builders.kernels.onevsrest import (
    clear,
    desk,
    draw_fresh,
    fitted_classes,
    score_constant_sets,
    score_left_out,
)

__all__ = ["svm_block"]

NEVER = 1e300
# Errors so close to the intercept are of rows that may well move.
REACH_GROWING, REACH_FRESH = 0.01, 0.03
# A set of moving rows is gathered anew when it has grown by so much.
GROWN, GROWN_ROWS = 1.5, 32
# Numbers in the kernels of all sets of moving rows together, and rows in one at most.
NEAR_NUMBERS, NEAR_ROWS = 1 << 25, 1024
# Neighbouring anchors' sizes have this ratio, about.
ANCHOR_RATIO = 2.0**0.5

#: The machines of all classes: `sign` (K, N), coefficients `beta` and decision values without
#: intercept `f` (K, N), `bound` (N,) of coefficients, errors' extremes `top`, `bottom` (K,) as
#: `settle` has them, `known` (K,) rows that they cover, `fresh` (K,) rows in the set of moving rows
#: when it was gathered.
Machines = namedtuple(
    "Machines",
    ["sign", "beta", "f", "bound", "top", "bottom", "known", "fresh", "count"],
)

#: Machines of the pool: rows per draw `sizes` (A,), `share` (A, K, N) of its bound that each
#: coefficient has, `centre` (A, K) intercepts, `order` (A, K, pool) rows by their distance from the
#: margin.
Anchors = namedtuple("Anchors", ["sizes", "share", "centre", "order"])


@kernel(glue=True)
def _sets(task, gram, sets):
    """Return so many empty sets of moving rows."""
    places = min(len(task.pool), NEAR_ROWS, 32 + int(np.sqrt(NEAR_NUMBERS / sets)))
    return [near(len(task.y), places, gram) for _ in range(sets)]


@kernel(glue=True)
def _machines(task):
    classes = task.classes
    rows = len(task.y)
    sign = np.empty((classes, rows))
    for c in range(classes):
        for r in range(rows):
            sign[c, r] = 1.0 if task.y[r] == c else -1.0
    return Machines(
        sign,
        np.zeros((classes, rows)),
        np.zeros((classes, rows)),
        np.zeros(rows),
        np.empty(classes),
        np.empty(classes),
        np.zeros(classes, np.int64),
        np.zeros(classes, np.int64),
        np.zeros(3, np.int64),
    )


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


@kernel(borrow=True)
def _decide(machines, columns, at):
    """Fill ``at.F`` with decision values of the columns."""
    rows = columns.rows
    for c in range(len(at.fitted)):
        if at.fitted[c]:
            intercept = 0.5 * (machines.top[c] + machines.bottom[c])
            f = machines.f[c]
            F = at.F[c]
            for t in range(len(rows)):
                F[t] = f[np.uint64(rows[t])] + intercept


@kernel(glue=True)
def _additive_repetition(task, columns, gram, C, tolerance, r, machines, sets, at, out, decisions):
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
            _decide(machines, columns, at)
            _report(columns, at, i, r, out, decisions)
        else:
            out[i, r] = out[i - 1, r]
    for row in at.order[:done]:
        at.weight[row] = 0


@kernel(glue=True)
def _report(columns, at, i, r, out, decisions):
    if decisions.size > 0:
        decisions[i, r] = at.F
    if columns.varying:
        score_left_out(columns, at, out[i, r])
    else:
        score_constant_sets(columns, at, out[i, r])


@kernel
def _anchors(task, gram, C, tolerance, machines, found):
    """Fit the whole pool with bounds as they are on average in draws of up to the largest size."""
    pool = task.pool
    m = len(pool)
    classes = task.classes
    rows = len(task.y)
    last = task.sizes[len(task.sizes) - 1]
    count = 1
    while count < 64 and ANCHOR_RATIO ** (count - 0.5) < last:
        count += 1
    sizes = np.empty(count)
    share = np.zeros((count, classes, rows))
    centre = np.zeros((count, classes))
    order = np.empty((count, classes, m), np.int64)
    for c in range(classes):
        members = 0
        for row in pool:
            members += task.y[row] == c
        if members == 0 or members == m or (classes == 2 and c == 0):
            continue
        beta = machines.beta[c]
        f = machines.f[c]
        beta[:] = 0.0
        f[:] = 0.0
        middle = 0.0
        bound = 1.0
        for a in range(count):
            size = min(ANCHOR_RATIO**a, m)
            scale = C * size / m / bound
            bound = C * size / m
            sizes[a] = size
            for row in pool:
                machines.bound[row] = bound
                beta[row] *= scale
            for row in range(rows):
                f[row] *= scale
            leave_all(found)
            top, bottom = settle(
                gram,
                machines.sign[c],
                machines.bound,
                beta,
                f,
                tolerance,
                middle,
                REACH_FRESH,
                found,
                machines.count,
            )
            middle = 0.5 * (top + bottom)
            centre[a, c] = middle
            for row in pool:
                share[a, c, row] = beta[row] / bound
            distance = np.abs(machines.sign[c][pool] - f[pool] - middle)
            order[a, c] = pool[np.argsort(distance)]
    leave_all(found)
    machines.bound[:] = 0.0
    return Anchors(sizes, share, centre, order)


@kernel(borrow=True)
def _start(share, order, sign, bound, beta):
    """Fill coefficients with their shares of the bounds, and move the first until they sum to 0."""
    total = 0.0
    for row in order:
        beta[row] = share[row] * bound[row]
        total += beta[row]
    for row in order:
        if total == 0.0:
            return
        if bound[row] > 0.0:
            high = bound[row] if sign[row] > 0.0 else 0.0
            low = high - bound[row]
            before = beta[row]
            beta[row] = snapped(min(max(before - total, low), high), low, high)
            total += beta[row] - before


@kernel(glue=True)
def _fit_draw(gram, anchors, a, c, tolerance, machines, found, support, by):
    """Fit the machine of a class to the rows that have a bound."""
    beta = machines.beta[c]
    f = machines.f[c]
    _start(anchors.share[a, c], anchors.order[a, c], machines.sign[c], machines.bound, beta)
    count = 0
    for row in range(len(beta)):
        if beta[row] != 0.0:
            support[count] = row
            by[count] = beta[row]
            count += 1
    f[:] = 0.0
    add_rows(gram, support, by, count, f)
    leave_all(found)
    machines.top[c], machines.bottom[c] = settle(
        gram,
        machines.sign[c],
        machines.bound,
        beta,
        f,
        tolerance,
        _middle(anchors.share[a, c], machines.sign[c], machines.bound, f, anchors.centre[a, c]),
        REACH_FRESH,
        found,
        machines.count,
    )


@kernel(borrow=True)
def _middle(share, sign, bound, f, otherwise):
    """Return the mean error of rows that are free in the anchor."""
    total = 0.0
    count = 0
    for row in range(len(f)):
        if bound[row] > 0.0 and share[row] != 0.0 and abs(share[row]) < 1.0:
            total += sign[row] - f[row]
            count += 1
    return total / count if count > 0 else otherwise


@kernel(glue=True)
def _fresh_repetition(
    task, columns, gram, C, tolerance, r, anchors, machines, found, at, support, by, out, decisions
):
    a = 0
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        while a + 1 < len(anchors.sizes) and n * n > anchors.sizes[a] * anchors.sizes[a + 1]:
            a += 1
        size = draw_fresh(task, n, task.first + r, at)
        for row in at.distinct[:size]:
            machines.bound[row] = C * at.weight[row]
        for c in range(task.classes):
            if at.fitted[c]:
                _fit_draw(gram, anchors, a, c, tolerance, machines, found, support, by)
        _decide(machines, columns, at)
        _report(columns, at, i, r, out, decisions)
        for row in at.distinct[:size]:
            machines.bound[row] = 0.0
        clear(at)


@kernel
def svm_block(task, columns, gram, C, tolerance, out, decisions):
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
    tolerance
        Largest violation of the optimality conditions.
    out
        (sizes, repetitions, sets, 5), filled.
    decisions
        (sizes, repetitions, K, columns), filled with decision values of fitted classes; of size 0
        if they are not wanted.

    Returns
    -------
    (3,) int64
        Rounds, pair steps, and rows moved.
    """
    at = desk(task, columns, 0)
    machines = _machines(task)
    if task.sampling == ADDITIVE:
        sets = _sets(task, gram, task.classes if task.classes > 2 else 1)
        for r in range(task.stop - task.first):
            _additive_repetition(
                task, columns, gram, C, tolerance, r, machines, sets, at, out, decisions
            )
        return machines.count
    found = _sets(task, gram, 1)[0]
    anchors = _anchors(task, gram, C, tolerance, machines, found)
    support = np.empty(len(task.y), np.int64)
    by = np.empty(len(task.y))
    for r in range(task.stop - task.first):
        _fresh_repetition(
            task,
            columns,
            gram,
            C,
            tolerance,
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
