"""Tuned blocks of LREG and LSVC: along the path of penalties, from strong to weak.

Every fit of a path starts where the last ones point to. Paths start from the model of the whole
pool (LREG) or from 0 (LSVC), and refits from the path's own models, so that a cell's numbers do not
depend on which other cells are computed with it.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.hinge import finite_newton
from lcdb_builders.kernels.jit import kernel
from lcdb_builders.kernels.layout import ADDITIVE, draw, regroup, weigh
from lcdb_builders.kernels.linear import LREG, decide, decide_all, decide_own, take_rows
from lcdb_builders.kernels.logistic import TOLERANCE, damped_newton
from lcdb_builders.kernels.metrics import room
from lcdb_builders.kernels.onevsrest import (
    desk,
    fitted_classes,
    score_constant_sets,
    score_left_out,
    score_own_sets,
    score_side_by_side,
)
from lcdb_builders.kernels.orthogonal import HINGE, LOGISTIC, orthogonal_newton
from lcdb_builders.kernels.tuning import (
    ONE_CLASS_FIT,
    choose,
    hold_out,
    is_chosen,
    record,
    take_held,
)

__all__ = ["linear_tuned"]

# Steps converge quadratically: after the last one, a path of LREG is as good as `TOLERANCE` asks.
PATH_TOLERANCE = 1e-9

#: Models and rows in hand. `paths` (G, K, d + 1) models of the rows to fit, `start` (K, d + 1) of
#: the pool with the strongest penalty; `theta` (K, d + 1) the model that is scored; `unit` penalty
#: of size 1 and its `root`, `P` the one in use. Training rows `XT` (d, rows), `sign` (K, rows),
#: `weight` (rows,); what `finite_newton` knows of each class: `active` (K, rows), `moments`
#: (K, d + 1, d + 1), `targets` (K, d + 1), `age` (K, 1). Held-out rows `held` (d, rows), their
#: decision values `F` (K, rows) and `room` to score them. `none` (0, d + 1): no inverse Hessian is
#: wanted; `count` (4,) as `linear_block` returns it.
Paths = namedtuple(
    "Paths",
    [
        "paths",
        "start",
        "theta",
        "unit",
        "root",
        "P",
        "XT",
        "sign",
        "weight",
        "active",
        "moments",
        "targets",
        "age",
        "held",
        "F",
        "room",
        "none",
        "count",
    ],
)


@kernel(glue=True)
def _paths(task, tuning, unit, root):
    classes = task.classes
    p = len(unit)
    rows = len(task.pool)
    return Paths(
        np.zeros((len(tuning.grid), classes, p)),
        np.zeros((classes, p)),
        np.zeros((classes, p)),
        unit,
        root,
        unit.copy(),
        np.empty((p - 1, rows)),
        np.empty((classes, rows)),
        np.ones(rows),
        np.zeros((classes, rows)),
        np.zeros((classes, p, p)),
        np.zeros((classes, p)),
        np.zeros((classes, 1), np.int64),
        np.empty((p - 1, rows)),
        np.empty((classes, rows)),
        room(classes, rows),
        np.empty((0, p)),
        np.zeros(4, np.int64),
    )


@kernel
def _fit(kind, value, tolerance, models, c, n):
    """Fit a class from where its coefficients are; if moments lose too many digits, from 0."""
    theta = models.theta[c]
    if kind == LREG:
        for i in range(len(theta)):
            for j in range(len(theta)):
                models.P[i, j] = value * models.unit[i, j]
        done = damped_newton(
            models.XT,
            n,
            models.sign[c],
            models.weight,
            models.P,
            tolerance,
            theta,
            models.none,
            models.count,
        )
    else:
        done = finite_newton(
            models.XT,
            n,
            models.sign[c],
            models.weight,
            models.unit,
            value,
            theta,
            models.active[c],
            models.moments[c],
            models.targets[c],
            models.age[c],
            models.count,
        )
    if not done:
        _fit_by_reflections(kind, value, models, c, n)


@kernel(glue=True)
def _fit_by_reflections(kind, value, models, c, n):
    """Fit from 0, without moments. A model that is not found is NaN."""
    theta = models.theta[c]
    theta[:] = 0.0
    _forget(models, c)
    models.count[2] += 1
    root = models.root * np.sqrt(value) if kind == LREG else models.root
    loss = LOGISTIC if kind == LREG else HINGE
    sign = models.sign[c]
    if not orthogonal_newton(loss, models.XT, n, sign, models.weight, root, value, theta):
        theta[:] = np.nan
        models.count[3] += 1


@kernel(glue=True)
def _forget(models, c):
    """Forget which rows of a class are active."""
    models.active[c] = 0.0
    models.moments[c] = 0.0
    models.targets[c] = 0.0
    models.age[c] = 0


@kernel(glue=True)
def _point_on(paths, g, step, c, theta):
    """Start from where the last models of a path point to.

    Along equal steps of the logarithm models of separable rows change by almost the same, and
    others by ever less: the last change is continued by its ratio to the one before.
    """
    last = paths[g - step, c]
    before = paths[g - 2 * step, c]
    first = paths[g - 3 * step, c]
    now = 0.0
    then = 0.0
    for j in range(len(theta)):
        now += (last[j] - before[j]) ** 2
        then += (before[j] - first[j]) ** 2
    ratio = min(1.0, np.sqrt(now / then)) if then > 0.0 else 0.0
    for j in range(len(theta)):
        theta[j] = last[j] + ratio * (last[j] - before[j])


@kernel(glue=True)
def _follow(kind, tuning, models, c, n):
    """Fit a class to the rows in hand with every value of the grid, from strong to weak."""
    values = len(tuning.grid)
    step = -1 if kind == LREG else 1
    first = values - 1 if kind == LREG else 0
    theta = models.theta[c]
    theta[:] = models.start[c]
    _forget(models, c)
    for i in range(values):
        g = first + i * step
        if kind == LREG and i > 2:
            _point_on(models.paths, g, step, c, theta)
        _fit(kind, tuning.grid[g], PATH_TOLERANCE, models, c, n)
        models.paths[g, c] = theta


@kernel(glue=True)
def _start_from_pool(kind, task, tuning, models, at):
    """Fit the whole pool with the strongest penalty, for the paths of cells to start from."""
    if kind != LREG:
        return
    at.counts[:] = 0.0
    for row in task.pool:
        at.counts[task.y[row]] += 1.0
    fitted_classes(at)
    take_rows(task, task.pool, 0, len(task.pool), models)
    models.weight[:] = 1.0
    models.theta[:] = 0.0
    for c in range(task.classes):
        if at.fitted[c]:
            strongest = tuning.grid[len(tuning.grid) - 1]
            _fit(kind, strongest, TOLERANCE, models, c, len(task.pool))
    models.start[:] = models.theta


@kernel(glue=True)
def _try_grid(kind, task, tuning, models, at, held):
    """Score every grid value on the held-out rows."""
    n = held.sizes[0]
    rows = held.sizes[1]
    for c in range(task.classes):
        at.counts[c] = held.counts[c]
    fitted_classes(at)
    take_rows(task, held.fit, 0, n, models)
    for i in range(n):
        models.weight[i] = at.weight[held.fit[i]]
    take_held(task, held, models.held)
    for c in range(task.classes):
        if at.fitted[c]:
            _follow(kind, tuning, models, c, n)
    for g in range(len(tuning.grid)):
        for c in range(task.classes):
            if at.fitted[c]:
                decide(models.held, 0, rows, models.paths[g, c], models.F[c])
        score_side_by_side(models.F, at, held.lo, held.hi, models.room, held.scores[g])


@kernel(glue=True)
def _refit(kind, task, columns, tuning, models, at, held, n, distinct, out):
    """Score the chosen values on the test sets; `distinct` are the training rows."""
    for c in range(task.classes):
        at.counts[c] = 0.0
        _forget(models, c)
    for row in distinct:
        at.counts[task.y[row]] += at.weight[row]
    fitted_classes(at)
    take_rows(task, distinct, 0, len(distinct), models)
    for i in range(len(distinct)):
        models.weight[i] = at.weight[distinct[i]]
    for g in range(len(tuning.grid)):
        if not is_chosen(held, g):
            continue
        for c in range(task.classes):
            if at.fitted[c]:
                models.theta[c] = models.paths[g, c]
                _fit(kind, tuning.grid[g], TOLERANCE, models, c, len(distinct))
        if columns.varying and task.sampling == ADDITIVE:
            for c in range(task.classes):
                at.lo[0, c] = at.begin[c] + np.int64(at.counts[c])
            decide_own(models, at)
            score_own_sets(at, held.found)
        else:
            decide_all(models, columns, at)
            if columns.varying:
                score_left_out(columns, at, held.found)
            else:
                score_constant_sets(columns, at, held.found)
        record(held, g, out)


@kernel
def linear_tuned(kind, task, columns, unit, root, tuning, held, tuned):
    """Fill the cells of a tuned block.

    Parameters
    ----------
    kind
        `LREG` or `LSVC` of `lcdb_builders.kernels.linear`.
    task, columns
        Cells and where they are scored, with scaled features.
    unit
        (d + 1, d + 1) penalty of size 1.
    root
        Its square root: root' root = unit.
    tuning
        What is chosen from what: penalties of LREG, prices of LSVC.
    held
        A `HoldOut`.
    tuned
        Filled.

    Returns
    -------
    (4,) int64
        What `linear_block` counts.
    """
    at = desk(task, columns, task.X.shape[1])
    models = _paths(task, tuning, unit, root)
    _start_from_pool(kind, task, tuning, models, at)
    for r in range(task.stop - task.first):
        repetition = task.first + r
        if task.sampling == ADDITIVE:
            draw(task, 0, repetition, at.order)
            if columns.varying:
                regroup(task, at.order, at.XT, at.begin, at.hi[0], at.lo[0])
        for i in range(len(task.sizes)):
            n = task.sizes[i]
            if task.sampling != ADDITIVE:
                draw(task, n, repetition, at.order)
            count = weigh(at.order[:n], at.weight, at.distinct)
            distinct = at.distinct[:count]
            flag = hold_out(task, tuning, n, repetition, distinct, count, at.weight, held)
            models.paths[:] = 0.0
            if flag != ONE_CLASS_FIT:
                _try_grid(kind, task, tuning, models, at, held)
            choose(tuning, flag, held, tuned.choices[i, r], tuned.flags[i, r])
            out = tuned.values[i, r]
            _refit(kind, task, columns, tuning, models, at, held, n, distinct, out)
            for row in distinct:
                at.weight[row] = 0
    return models.count
