"""Whole blocks of GSVC: cells in, metrics out; tuned along the path of C.

One kernel matrix serves all cells. Fresh draws have warm starts, so that they do not depend on
which other cells are computed. Along additive sampling machines are carried row by row: one that
joins outside the margin leaves them as they are, and with a constant test set the cell's numbers
too. They start afresh at every 32nd size and go through all that follow, whichever sizes are asked
for: the way to a cell, and so its last bit, is the same in every list of sizes.

Tuned cells have a path along C on the rows that are not held out. While C is so small that nearly
every coefficient is at its bound, machines of two values of C have the same shares of their bounds:
each value starts from the one before it, scaled. A refit starts from the path's machine of its
value, to which the held-out rows are added that it gets wrong; without a path, from a warm start.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import (
    FIT_COPIES,
    FIT_ROWS,
    HELD_COPIES,
    HELD_ROWS,
    is_chosen,
    list_distinct,
    record,
    tune_cell,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.sets import ADDITIVE, copy
from lcdb_builders.kernels.scores.cells import begin_curve, cell_of, take_rows
from lcdb_builders.kernels.scores.one_vs_rest import (
    count_part,
    fitted_classes,
    part_of,
    score_decided,
    score_side_by_side,
    take_classes,
)
from lcdb_builders.kernels.svm.free_vectors import NEVER, snapped
from lcdb_builders.kernels.svm.gram import add_kernel_rows
from lcdb_builders.kernels.svm.machines import (
    decide,
    fit_draw,
    list_support,
    machines_of,
    reach_of,
    sets_of,
    settle_class,
    violates,
    warm_starts_of,
)
from lcdb_builders.kernels.svm.working_set import leave_all

__all__ = ["Aims", "svm_block"]

# Errors so close to the intercept are of rows that may well move when a row joins.
REACH_GROWING = 0.01
# Along additive curves machines start afresh where n is a multiple of this. A fresh start takes up
# to twenty times as long as one more row: with all sizes it costs little, and a short list of sizes
# costs no more than twice what fresh starts alone would.
RESTART = 32
# A set of moving rows is gathered anew when it has grown by so much.
GROWN, GROWN_ROWS = 1.5, 32

#: Machines by value of C: `beta`, `f` (G, K, N), `intercept` (G, K); and the `part` of a cell that
#: they are fitted to and scored on.
Path = namedtuple("Path", "beta f intercept part")
#: By value of C: the violation of the optimality conditions that is aimed at (`tolerances`), and
#: the largest that will do (`limits`).
Aims = namedtuple("Aims", "tolerances limits")
#: A block: its `task`, the `columns` to score on and its `tuning`, values of C, with their `aims`;
#: `starts` of fits, `machines`, their set of `moving` rows and the `cell` in hand, its `HoldOut`,
#: `held`, and the `path` of the rest; what is filled, `tuned` and `decisions`.
Block = namedtuple(
    "Block", "task columns tuning aims starts machines moving cell held path tuned decisions"
)


@kernel(glue=True)
def _score_machines(machines, limit, columns, cell, decisions, out):
    """Score machines on all test sets, and copy decision values if they are wanted.

    Parameters
    ----------
    machines, limit
        The machines, and the violation of optimality from which on they are counted as missed.
    columns, cell
        Where they are scored.
    decisions
        (1, 1, K, columns), filled, or of size 0: tests alone ask for them.
    out
        (sets, WIDTH), filled.
    """
    decide(machines, limit, columns, cell)
    for c in range(len(cell.F) if decisions.size > 0 else 0):
        if cell.fitted[c]:
            copy(cell.F[c], decisions[0, 0, c])
    score_decided(columns, cell, out)


# -- additive curves -------------------------------------------------------------------------------


@kernel(glue=True)
def _add_errors(machines, c, order, n):
    """Let rows up to n join the machine of a class, with coefficients 0."""
    sign, top, bottom = machines.sign[c], machines.top[c], machines.bottom[c]
    for row in order[machines.joined[c] : n]:
        error = sign[row] - machines.f[c, row]
        if sign[row] > 0.0:
            top = max(top, error)
        else:
            bottom = min(bottom, error)
    machines.top[c] = top
    machines.bottom[c] = bottom
    machines.joined[c] = n


@kernel(glue=True)
def _reoptimise(machines, moving, c, tolerance):
    """Bring the machine of a class, to which rows were added, to its optimum."""
    centre = 0.5 * (machines.top[c] + machines.bottom[c])
    if moving.size[0] > GROWN * machines.gathered[c] + GROWN_ROWS:
        leave_all(moving)
    empty = moving.size[0] == 0
    settle_class(machines, moving, c, tolerance, centre, REACH_GROWING if empty else 0.0)
    if empty:
        machines.gathered[c] = moving.size[0]


@kernel(glue=True)
def _restart(task, C, tolerance, n, starts, machines, sets, cell):
    """Fit the first n rows of the repetition's order afresh; with none of them, forget all.

    Parameters
    ----------
    task
        The block's.
    C, tolerance
        Price of a row's hinge loss, and the violation of optimality that is aimed at.
    n
        How many rows.
    starts, machines, sets, cell
        Warm starts, what is fitted, its sets of moving rows, and the cell that counts classes.
    """
    machines.beta[:] = 0.0
    machines.f[:] = 0.0
    machines.bound[:] = 0.0
    machines.top[:] = -NEVER
    machines.bottom[:] = NEVER
    machines.joined[:] = 0
    for moving in sets:
        leave_all(moving)
    cell.counts[:] = 0.0
    if n == 0:
        return
    for row in cell.order[:n]:
        cell.counts[task.y[row]] += 1.0
        machines.bound[row] = C
    fitted_classes(cell)
    for c in range(task.classes):
        if cell.fitted[c]:
            moving = sets[min(c, len(sets) - 1)]
            fit_draw(machines, moving, c, starts, C, n, tolerance)
            machines.joined[c] = n


@kernel(glue=True)
def _add_row(task, C, tolerance, n, machines, sets, cell):
    """Let row n of the order join all machines; returns whether one of them changed.

    Parameters
    ----------
    task, C, tolerance, n, machines, sets, cell
        As for `_restart`; rows before n have joined.
    """
    row = cell.order[n - 1]
    cell.counts[task.y[row]] += 1.0
    machines.bound[row] = C
    changed = False
    fitted_classes(cell)
    for c in range(task.classes):
        if cell.fitted[c]:
            top, bottom = machines.top[c], machines.bottom[c]
            changed |= machines.joined[c] == 0
            _add_errors(machines, c, cell.order, n)
            changed |= top != machines.top[c] or bottom != machines.bottom[c]
            if machines.top[c] - machines.bottom[c] > tolerance:
                changed = True
                _reoptimise(machines, sets[min(c, len(sets) - 1)], c, tolerance)
    return changed


@kernel(glue=True)
def _carry(block, sets, r):
    """Score a repetition along an additive curve with one value of C; `sets` move."""
    task, columns, starts, machines = block.task, block.columns, block.starts, block.machines
    cell, values, decisions = block.cell, block.tuned.values, block.decisions
    C, tolerance, limit = block.tuning.grid[0], block.aims.tolerances[0], block.aims.limits[0]
    begin_curve(task, task.first + r, cell)
    done = -1
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        changed = i == 0
        start = n - n % RESTART
        if done < start:
            _restart(task, C, tolerance, start, starts, machines, sets, cell)
            done = start
            changed = True
        while done < n:
            done += 1
            changed |= _add_row(task, C, tolerance, done, machines, sets, cell)
        take_rows(task, n, task.first + r, cell)
        if changed or columns.varying or decisions.size > 0:
            wanted = decisions[i : i + 1, r : r + 1]
            _score_machines(machines, limit, columns, cell, wanted, values[i, r])
        else:
            values[i, r] = values[i - 1, r]


# -- any others ------------------------------------------------------------------------------------


@kernel(borrow=True)
def _scale(beta, f, rows, weight, old, new):
    """Multiply a machine as C changes; coefficients at a bound stay there.

    Parameters
    ----------
    beta, f
        (N,) coefficients and decision values without intercept, changed.
    rows, weight
        Which rows have coefficients, and (N,) how often each row was drawn.
    old, new
        The values of C.
    """
    ratio = new / old
    for row in rows:
        if abs(beta[row]) == old * weight[row]:
            beta[row] = np.copysign(new * weight[row], beta[row])
        else:
            beta[row] *= ratio
    for r in range(len(f)):
        f[r] *= ratio


@kernel
def _fit_path(block):
    """Fit every value of C to the rows that are not held out, and score it on those that are.

    See `tune_cell`.
    """
    grid, held, machines, moving = block.tuning.grid, block.held, block.machines, block.moving
    path, part, weight = block.path, block.path.part, block.cell.weight
    rows, n = held.fit[: held.sizes[FIT_ROWS]], held.sizes[FIT_COPIES]
    list_distinct(held.rows[: held.sizes[HELD_COPIES]], held.order)
    count_part(held, part)
    for g in range(len(grid)):
        C, tolerance = grid[g], block.aims.tolerances[g]
        for row in rows:
            machines.bound[row] = C * weight[row]
        for c in range(len(part.fitted)):
            if not part.fitted[c]:
                continue
            if g == 0:
                fit_draw(machines, moving, c, block.starts, C, n, tolerance)
            else:
                _scale(machines.beta[c], machines.f[c], rows, weight, grid[g - 1], C)
                leave_all(moving)
                centre = 0.5 * (machines.top[c] + machines.bottom[c])
                settle_class(machines, moving, c, tolerance, centre, reach_of(C, n))
            path.beta[g, c] = machines.beta[c]
            path.f[g, c] = machines.f[c]
            limit = block.aims.limits[g]
            machines.missed[0] += violates(machines.top[c], machines.bottom[c], limit)
            path.intercept[g, c] = 0.5 * (machines.top[c] + machines.bottom[c])
            for t in range(held.sizes[HELD_COPIES]):
                part.F[c, t] = machines.f[c, held.rows[t]] + path.intercept[g, c]
        score_side_by_side(part.F, part.present, held.lo, held.hi, part.room, held.scores[g])


@kernel(borrow=True)
def _join(machines, c, centre, rows):
    """Put rows that a machine gets wrong at their bounds, as many as leaves the sum what it is."""
    sign, bound, beta, f = machines.sign[c], machines.bound, machines.beta[c], machines.f[c]
    total = 0.0
    for row in rows:
        if bound[row] > 0.0 and beta[row] == 0.0 and (sign[row] - f[row] - centre) * sign[row] > 0:
            beta[row] = sign[row] * bound[row]
            total += beta[row]
    for row in rows:
        if total * sign[row] > 0.0 and beta[row] != 0.0:
            before = beta[row]
            low = min(0.0, sign[row] * bound[row])
            high = low + bound[row]
            beta[row] = snapped(min(max(before - total, low), high), low, high)
            total += beta[row] - before
    count = list_support(beta, rows, machines.support, machines.factors)
    add_kernel_rows(machines.gram, machines.support, machines.factors, count, f)


@kernel(glue=True)
def _refit(block, g, n):
    """Fit all rows of a cell, n with copies, with a value of the grid."""
    machines, moving, held = block.machines, block.moving, block.held
    cell, path = block.cell, block.path
    C, tolerance = block.tuning.grid[g], block.aims.tolerances[g]
    for row in cell.distinct[: cell.size[0]]:
        machines.bound[row] = C * cell.weight[row]
    for c in range(len(cell.fitted)):
        if not cell.fitted[c]:
            continue
        if not path.part.fitted[c]:
            fit_draw(machines, moving, c, block.starts, C, n, tolerance)
            continue
        centre = path.intercept[g, c]
        copy(path.beta[g, c], machines.beta[c])
        copy(path.f[g, c], machines.f[c])
        machines.top[c] = centre
        machines.bottom[c] = centre
        _join(machines, c, centre, held.order[: held.sizes[HELD_ROWS]])
        leave_all(moving)
        settle_class(machines, moving, c, tolerance, centre, reach_of(C, n))


@kernel(borrow=True)
def _fit_anew(block, r):
    """Score a repetition each cell of which is fitted by itself."""
    task, cell, held = block.task, block.cell, block.held
    begin_curve(task, task.first + r, cell)
    for i in range(len(task.sizes)):
        n = task.sizes[i]
        take_classes(task, n, task.first + r, cell)
        block.path.part.fitted[:] = False
        tune_cell(block, n, i, r, _fit_path)
        for g in range(len(block.tuning.grid)):
            if is_chosen(held, g):
                _refit(block, g, n)
                limit, wanted = block.aims.limits[g], block.decisions[i : i + 1, r : r + 1]
                _score_machines(block.machines, limit, block.columns, cell, wanted, held.refit)
                record(held, g, block.tuned.values[i, r])
        for row in cell.distinct[: cell.size[0]]:
            block.machines.bound[row] = 0.0


@kernel
def svm_block(task, columns, gram, tuning, aims, held, tuned, decisions):
    """Fill the cells of a block.

    Parameters
    ----------
    task
        A `Task`.
    columns
        `Columns` to score on.
    gram
        Kernel of all rows, of `gram_of`.
    tuning
        Values of C, prices of a row's hinge loss, and what is chosen from what.
    aims
        `Aims` for each of them.
    held, tuned
        A `HoldOut`, of `hold_out_of`, and what is filled, a `Tuned`.
    decisions
        (sizes, repetitions, K, columns), filled with decision values of fitted classes; of size 0
        if they are not wanted.

    Returns
    -------
    int
        How many machines violate optimality by more than its limit.
    """
    grid, classes, tunes = tuning.grid, task.classes, tuned.choices.size > 0
    carries = task.sampling == ADDITIVE and not tunes
    machines = machines_of(task, gram)
    sets = sets_of(task, gram, classes if carries and classes > 2 else 1)
    starts = warm_starts_of(task, grid[0], aims.tolerances[0], machines, sets[0])
    shape = len(grid) if tunes else 0, classes, len(task.y)
    part = part_of(task, columns, held)
    path = Path(beta=np.zeros(shape), f=np.zeros(shape), intercept=np.zeros(shape[:2]), part=part)
    block = Block(
        task=task,
        columns=columns,
        tuning=tuning,
        aims=aims,
        starts=starts,
        machines=machines,
        moving=sets[0],
        cell=cell_of(task, columns, 0),
        held=held,
        path=path,
        tuned=tuned,
        decisions=decisions,
    )
    for r in range(task.stop - task.first):
        if carries:
            _carry(block, sets, r)
        else:
            _fit_anew(block, r)
    return machines.missed[0]
