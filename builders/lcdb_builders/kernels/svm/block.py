"""Whole blocks of GSVC: cells in, metrics out.

One kernel matrix serves all cells. Fresh draws have warm starts, so that they do not depend on
which other cells are computed. Along additive sampling machines are carried row by row: one that
joins outside the margin leaves them as they are, and with a constant test set the cell's numbers
too. They start afresh at every 32nd size and go through all that follow, whichever sizes are asked
for: the way to a cell, and so its last bit, is the same in every list of sizes.
"""

from __future__ import annotations

from collections import namedtuple

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, draw
from lcdb_builders.kernels.scores.cells import cell_of, clear
from lcdb_builders.kernels.scores.one_vs_rest import (
    draw_fresh,
    fitted_classes,
    score_constant_sets,
    score_left_out,
)
from lcdb_builders.kernels.svm.machines import (
    decide,
    fit_draw,
    machines_of,
    nearest_start,
    reach_of,
    sets_of,
    settle_class,
    warm_starts_of,
)
from lcdb_builders.kernels.svm.working_set import leave_all

__all__ = ["report", "svm_block"]

NEVER = 1e300
# Errors so close to the intercept are of rows that may well move when a row joins.
REACH_GROWING = 0.01
# Along additive curves machines start afresh where n is a multiple of this. A fresh start takes up
# to twenty times as long as one more row: with all sizes it costs little, and a short list of sizes
# costs no more than twice what fresh starts alone would.
RESTART = 32
# A set of moving rows is gathered anew when it has grown by so much.
GROWN, GROWN_ROWS = 1.5, 32

#: What machines are to be: price `C` of a row's hinge loss, the violation of the optimality
#: conditions that is aimed at (`tolerance`), and the largest that will do (`limit`).
Price = namedtuple("Price", "C tolerance limit")
#: A block: a `task`, the `columns` to score on and the `price`; `starts` of fits, `machines`, their
#: `sets` of moving rows and the `cell` in hand; what is filled, `out` and `decisions`.
Block = namedtuple("Block", "task columns price starts machines sets cell out decisions")


@kernel(glue=True)
def _forget(machines, sets):
    """Return to machines without rows."""
    machines.beta[:] = 0.0
    machines.f[:] = 0.0
    machines.bound[:] = 0.0
    machines.top[:] = -NEVER
    machines.bottom[:] = NEVER
    machines.known[:] = 0
    for moving in sets:
        leave_all(moving)


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
def _grow(machines, moving, c, tolerance):
    """Bring the machine of a class, to which rows were added, to its optimum."""
    centre = 0.5 * (machines.top[c] + machines.bottom[c])
    if moving.size[0] > GROWN * machines.fresh[c] + GROWN_ROWS:
        leave_all(moving)
    gathered = moving.size[0] == 0
    settle_class(machines, moving, c, tolerance, centre, REACH_GROWING if gathered else 0.0)
    if gathered:
        machines.fresh[c] = moving.size[0]


@kernel(glue=True)
def _begin_at(task, price, n, starts, machines, sets, cell):
    """Fit the first n rows of the repetition's order afresh; with none of them, forget all."""
    _forget(machines, sets)
    cell.counts[:] = 0.0
    if n == 0:
        return
    for row in cell.order[:n]:
        cell.counts[task.y[row]] += 1.0
        machines.bound[row] = price.C
    fitted_classes(cell)
    a = nearest_start(starts, n)
    reach = reach_of(price.C, n)
    for c in range(task.classes):
        if cell.fitted[c]:
            moving = sets[min(c, len(sets) - 1)]
            fit_draw(machines, moving, c, starts, a, price.tolerance, reach)
            machines.known[c] = n


@kernel(glue=True)
def _add_row(task, price, n, machines, sets, cell):
    """Let row n of the order join all machines; returns whether one of them changed."""
    row = cell.order[n - 1]
    cell.counts[task.y[row]] += 1.0
    machines.bound[row] = price.C
    changed = False
    fitted_classes(cell)
    for c in range(task.classes):
        if cell.fitted[c]:
            top = machines.top[c]
            bottom = machines.bottom[c]
            changed |= machines.known[c] == 0
            _admit(machines, c, cell.order, n)
            changed |= top != machines.top[c] or bottom != machines.bottom[c]
            if machines.top[c] - machines.bottom[c] > price.tolerance:
                changed = True
                _grow(machines, sets[min(c, len(sets) - 1)], c, price.tolerance)
    return changed


@kernel(glue=True)
def _tell(machines, price, columns, cell, out, shown):
    """Score decision values on all test sets, and show them if they are wanted."""
    decide(machines, price.limit, columns, cell)
    if shown.size > 0:
        shown[0, 0] = cell.F
    report(columns, cell, out)


@kernel(glue=True)
def report(columns, cell, out):
    """Score ``cell.F`` on all test sets."""
    if columns.varying:
        score_left_out(columns, cell, out)
    else:
        score_constant_sets(columns, cell, out)


@kernel(glue=True)
def _additive_repetition(block, r):
    """Score a repetition along an additive curve."""
    task, columns, price, starts, machines, sets, cell, out, decisions = block
    draw(task, 0, task.first + r, cell.order)
    done = -1
    weighed = 0
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        moved = i == 0
        start = n - n % RESTART
        if done < start:
            _begin_at(task, price, start, starts, machines, sets, cell)
            done = start
            moved = True
        while done < n:
            done += 1
            moved |= _add_row(task, price, done, machines, sets, cell)
        for row in cell.order[weighed:n]:
            cell.weight[row] = 1
        weighed = n
        if moved or columns.varying or decisions.size > 0:
            _tell(machines, price, columns, cell, out[i, r], decisions[i : i + 1, r : r + 1])
        else:
            out[i, r] = out[i - 1, r]
    for row in cell.order[:weighed]:
        cell.weight[row] = 0


@kernel(glue=True)
def _fresh_repetition(block, r):
    """Score a repetition whose rows are drawn afresh for each size."""
    task, columns, price, starts, machines, sets, cell, out, decisions = block
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        a = nearest_start(starts, n)
        reach = reach_of(price.C, n)
        size = draw_fresh(task, n, task.first + r, cell)
        for row in cell.distinct[:size]:
            machines.bound[row] = price.C * cell.weight[row]
        for c in range(task.classes):
            if cell.fitted[c]:
                fit_draw(machines, sets[0], c, starts, a, price.tolerance, reach)
        _tell(machines, price, columns, cell, out[i, r], decisions[i : i + 1, r : r + 1])
        for row in cell.distinct[:size]:
            machines.bound[row] = 0.0
        clear(cell)


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
        Kernel of all rows, of `gram_of`.
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
    additive = task.sampling == ADDITIVE
    machines = machines_of(task, gram)
    sets = sets_of(task, gram, task.classes if additive and task.classes > 2 else 1)
    starts = warm_starts_of(task, C, tolerance, machines, sets[0])
    price, cell = Price(C, tolerance, limit), cell_of(task, columns, 0)
    block = Block(task, columns, price, starts, machines, sets, cell, out, decisions)
    for r in range(task.stop - task.first):
        if additive:
            _additive_repetition(block, r)
        else:
            _fresh_repetition(block, r)
    return machines.count
