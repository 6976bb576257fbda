"""Tuned blocks of GSVC: the path along C on the rows that are not held out, then refits.

While C is so small that nearly every coefficient is at its bound, machines of two values of C have
the same shares of their bounds: each value starts from the one before it, scaled. A refit starts
from the path's machine of its value, to which the held-out rows are added that it gets wrong.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.holdout import (
    FIT_COPIES,
    FIT_ROWS,
    HELD_COPIES,
    HELD_ROWS,
    ONE_CLASS_FIT,
    choose,
    hold_out,
    is_chosen,
    record,
)
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.scores.cells import cell_of, clear
from lcdb_builders.kernels.scores.one_vs_rest import draw_fresh, fitted_classes, score_own_sets
from lcdb_builders.kernels.svm.block import report
from lcdb_builders.kernels.svm.free_vectors import snapped
from lcdb_builders.kernels.svm.gram import add_kernel_rows
from lcdb_builders.kernels.svm.machines import (
    decide,
    fit_draw,
    list_support,
    machines_of,
    missed,
    nearest_start,
    reach_of,
    sets_of,
    settle_class,
    warm_starts_of,
)
from lcdb_builders.kernels.svm.working_set import MISSED, leave_all

__all__ = ["svm_tuned"]

#: Machines by value of C: `beta`, `f` (G, K, N), intercepts `centre` (G, K).
Path = namedtuple("Path", "beta f centre")
#: What a block is tuned with: values of C, `grid`, and what violations go with them, `tolerances`
#: and `limits`; `starts` of fits, `machines` and their set of `moving` rows; which rows are `held`
#: out; the `cell` in hand, what is fitted of it to tune it, `part`, and its `path`.
Tuner = namedtuple("Tuner", "grid tolerances limits starts machines moving held cell part path")


@kernel(borrow=True)
def _scale(beta, f, rows, weight, old, new):
    """Multiply a machine as C changes; coefficients at a bound stay there."""
    ratio = new / old
    for row in rows:
        if abs(beta[row]) == old * weight[row]:
            beta[row] = np.copysign(new * weight[row], beta[row])
        else:
            beta[row] *= ratio
    for r in range(len(f)):
        f[r] *= ratio


@kernel(glue=True)
def _climb(tuner):
    """Fit every value of C to the rows that are not held out, and score it on those that are."""
    grid, tolerances, limits, starts, machines, moving, held, cell, part, path = tuner
    rows = held.fit[: held.sizes[FIT_ROWS]]
    total = held.sizes[FIT_COPIES]
    a = nearest_start(starts, total)
    part.lo[0] = held.lo
    part.hi[0] = held.hi
    for g in range(len(grid)):
        C = grid[g]
        reach = reach_of(C, total)
        for row in rows:
            machines.bound[row] = C * cell.weight[row]
        for c in range(len(part.fitted)):
            if not part.fitted[c]:
                continue
            if g == 0:
                fit_draw(machines, moving, c, starts, a, tolerances[g], reach)
            else:
                _scale(machines.beta[c], machines.f[c], rows, cell.weight, grid[g - 1], C)
                leave_all(moving)
                centre = 0.5 * (machines.top[c] + machines.bottom[c])
                settle_class(machines, moving, c, tolerances[g], centre, reach)
            path.beta[g, c] = machines.beta[c]
            path.f[g, c] = machines.f[c]
            machines.count[MISSED] += missed(machines.top[c], machines.bottom[c], limits[g])
            path.centre[g, c] = 0.5 * (machines.top[c] + machines.bottom[c])
            for t in range(held.sizes[HELD_COPIES]):
                part.F[c, t] = machines.f[c, held.held[t]] + path.centre[g, c]
        score_own_sets(part, held.scores[g : g + 1])


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
    count = list_support(beta, rows, machines.support, machines.by)
    add_kernel_rows(machines.gram, machines.support, machines.by, count, f)


@kernel(glue=True)
def _refit(tuner, g, n):
    """Fit all rows of a cell, n with copies, with a value of the grid."""
    grid, tolerances, _, starts, machines, moving, held, cell, part, path = tuner
    C, tolerance = grid[g], tolerances[g]
    reach = reach_of(C, n)
    for row in cell.distinct[: cell.size[0]]:
        machines.bound[row] = C * cell.weight[row]
    for c in range(len(cell.fitted)):
        if not cell.fitted[c]:
            continue
        if not part.fitted[c]:
            fit_draw(machines, moving, c, starts, nearest_start(starts, n), tolerance, reach)
            continue
        centre = path.centre[g, c]
        machines.beta[c] = path.beta[g, c]
        machines.f[c] = path.f[g, c]
        machines.top[c] = centre
        machines.bottom[c] = centre
        _join(machines, c, centre, held.order[: held.sizes[HELD_ROWS]])
        leave_all(moving)
        settle_class(machines, moving, c, tolerance, centre, reach)


@kernel(glue=True)
def _list_held(held):
    """Write the distinct held-out rows to `order`: copies stand side by side."""
    count = 0
    for t in range(held.sizes[HELD_COPIES]):
        if t == 0 or held.held[t] != held.held[t - 1]:
            held.order[count] = held.held[t]
            count += 1


@kernel
def svm_tuned(task, columns, gram, tuning, tolerances, limits, held, held_columns, tuned):
    """Tune the cells of a block.

    Parameters
    ----------
    task, columns, gram
        As for `svm_block`.
    tuning
        Values of C, tie rule and stream.
    tolerances, limits
        (G,) violation of the optimality conditions that is aimed at for each value, and the largest
        that will do.
    held
        Of `hold_out_of`.
    held_columns
        `Columns` with as many rows as can be held out, which are not looked at.
    tuned
        Values, choices and flags, filled.

    Returns
    -------
    (4,) int64
        As of `svm_block`.
    """
    grid, classes = tuning.grid, task.classes
    cell, part = cell_of(task, columns, 0), cell_of(task, held_columns, 0)
    machines, moving = machines_of(task, gram), sets_of(task, gram, 1)[0]
    starts = warm_starts_of(task, grid[0], tolerances[0], machines, moving)
    shape = len(grid), classes, len(task.y)
    path = Path(np.zeros(shape), np.zeros(shape), np.zeros(shape[:2]))
    tuner = Tuner(grid, tolerances, limits, starts, machines, moving, held, cell, part, path)
    for r in range(task.stop - task.first):
        repetition = task.first + r
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            count = draw_fresh(task, n, repetition, cell)
            flag = hold_out(task, tuning, n, repetition, cell.distinct, count, cell.weight, held)
            _list_held(held)
            for c in range(classes):
                part.counts[c] = held.counts[c]
            fitted_classes(part)
            if flag != ONE_CLASS_FIT:
                _climb(tuner)
            else:
                part.fitted[:] = False
            choose(tuning, flag, held, tuned.choices[i, r], tuned.flags[i, r])
            for g in range(len(grid)):
                if is_chosen(held, g):
                    _refit(tuner, g, n)
                    decide(machines, limits[g], columns, cell)
                    report(columns, cell, held.refit)
                    record(held, g, tuned.values[i, r])
            for row in cell.distinct[:count]:
                machines.bound[row] = 0.0
            clear(cell)
    return machines.count
