"""Machines of GSVC: what is kept of a class, and how one is fitted to a fresh draw.

Each class has a machine that keeps the decision values of all rows of the dataset: test rows need
nothing extra. Fresh draws have a *warm start*: the machine of the whole pool at the weight that
rows have on average in draws of about that size. It depends on the pool alone.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.svm.free_vectors import snapped
from lcdb_builders.kernels.svm.gram import add_kernel_rows
from lcdb_builders.kernels.svm.working_set import Machine, leave_all, moving_rows, settle

__all__ = [
    "Machines",
    "decide",
    "fit_draw",
    "list_support",
    "machines_of",
    "reach_of",
    "sets_of",
    "settle_class",
    "violates",
    "warm_starts_of",
]

# Errors so close to the intercept are of rows that may well move, where C is not small.
REACH = 0.03
# Numbers in the kernels of all sets of moving rows together, and rows in one at most.
MOVING_NUMBERS, MOVING_ROWS = 1 << 25, 1024
# Sizes of neighbouring warm starts have this ratio, about.
RATIO = 2.0**0.5

#: The machines of all classes: `gram`, a `Gram`; `sign` (K, N), coefficients `beta` and decision
#: values without intercept `f` (K, N), `bound` (N,) of coefficients, errors' extremes `top`,
#: `bottom` (K,) as `settle` has them, `joined` (K,) rows that they cover, `gathered` (K,) rows in
#: the set of moving rows when it was gathered; `support`, `factors` (N,) workspace for rows with a
#: coefficient, and those; `missed` (1,), how many have not come to their optimum.
Machines = namedtuple(
    "Machines", "gram sign beta f bound top bottom joined gathered support factors missed"
)

#: Machines of the pool: rows per draw `sizes` (A,), `share` (A, K, N) of its bound that each
#: coefficient has, `intercept` (A, K), `order` (A, K, pool) rows by their distance from the margin.
WarmStarts = namedtuple("WarmStarts", "sizes share intercept order")


@kernel(glue=True)
def sets_of(task, gram, sets):
    """Return so many empty sets of moving rows: one for all classes, or one for each."""
    places = min(len(task.pool), MOVING_ROWS, 32 + int(np.sqrt(MOVING_NUMBERS / sets)))
    return [moving_rows(len(task.y), places, gram.table) for _ in range(sets)]


@kernel(glue=True)
def machines_of(task, gram):
    """Return machines without rows."""
    classes, rows = task.classes, len(task.y)
    sign = np.empty((classes, rows))
    for c in range(classes):
        for r in range(rows):
            sign[c, r] = 1.0 if task.y[r] == c else -1.0
    return Machines(
        gram=gram,
        sign=sign,
        beta=np.zeros((classes, rows)),
        f=np.zeros((classes, rows)),
        bound=np.zeros(rows),
        top=np.empty(classes),
        bottom=np.empty(classes),
        joined=np.zeros(classes, np.int64),
        gathered=np.zeros(classes, np.int64),
        support=np.empty(rows, np.int64),
        factors=np.empty(rows),
        missed=np.zeros(1, np.int64),
    )


@kernel(borrow=True)
def settle_class(machines, moving, c, tolerance, centre, reach):
    """Bring the machine of a class to its optimum.

    Parameters
    ----------
    machines, moving, c
        The machine, and its set of moving rows.
    tolerance
        Violation of the optimality conditions that is aimed at.
    centre
        About its intercept.
    reach
        How far from that errors are of rows that may well move.
    """
    m = machines
    machine = Machine(gram=m.gram, sign=m.sign[c], bound=m.bound, beta=m.beta[c], f=m.f[c])
    m.top[c], m.bottom[c] = settle(machine, tolerance, centre, reach, moving)


@kernel(inline=True)
def reach_of(C, n):
    """Return how far from the intercept errors are of rows that may well move.

    Errors are ±1 less what coefficients give, which is small where C n is.
    """
    return REACH * min(1.0, C * n)


@kernel(inline=True)
def violates(top, bottom, limit):
    """Return whether a machine violates optimality by more than the limit, or is not a number."""
    return not top - bottom <= limit


@kernel(borrow=True)
def decide(machines, limit, columns, cell):
    """Fill ``cell.F`` with decision values of the columns; count machines not at their optimum."""
    rows = columns.rows
    for c in range(len(cell.fitted)):
        if cell.fitted[c]:
            machines.missed[0] += violates(machines.top[c], machines.bottom[c], limit)
            intercept = 0.5 * (machines.top[c] + machines.bottom[c])
            f, F = machines.f[c], cell.F[c]
            for t in range(len(rows)):
                F[t] = f[np.uint64(rows[t])] + intercept


@kernel
def warm_starts_of(task, C, tolerance, machines, moving):
    """Fit the whole pool with bounds as they are on average in draws of up to the largest size.

    Parameters
    ----------
    task
        The block.
    C, tolerance
        Price of a row's hinge loss, and the violation of optimality that is aimed at.
    machines, moving
        Workspace: `bound` is left at 0, the rest is of no use; a set of moving rows, left empty.

    Returns
    -------
    WarmStarts
        Of sizes from 1 on, in steps of `RATIO`.
    """
    pool, classes, rows = task.pool, task.classes, len(task.y)
    m = len(pool)
    last = task.sizes[len(task.sizes) - 1]
    count = 1
    while count < 64 and RATIO ** (count - 0.5) < last:
        count += 1
    sizes = np.empty(count)
    share = np.zeros((count, classes, rows))
    intercept = np.zeros((count, classes))
    order = np.empty((count, classes, m), np.int64)
    for c in range(classes):
        members = 0
        for row in pool:
            members += task.y[row] == c
        if members == 0 or members == m or (classes == 2 and c == 0):
            continue
        beta, f = machines.beta[c], machines.f[c]
        beta[:] = 0.0
        f[:] = 0.0
        centre = 0.0
        bound = 1.0
        for a in range(count):
            size = min(RATIO**a, m)
            scale = C * size / m / bound
            bound = C * size / m
            sizes[a] = size
            for row in pool:
                machines.bound[row] = bound
                beta[row] *= scale
            for row in range(rows):
                f[row] *= scale
            leave_all(moving)
            settle_class(machines, moving, c, tolerance, centre, reach_of(C, size))
            centre = 0.5 * (machines.top[c] + machines.bottom[c])
            intercept[a, c] = centre
            for row in pool:
                share[a, c, row] = beta[row] / bound
            distance = np.abs(machines.sign[c][pool] - f[pool] - centre)
            order[a, c] = pool[np.argsort(distance)]
    leave_all(moving)
    machines.bound[:] = 0.0
    return WarmStarts(sizes=sizes, share=share, intercept=intercept, order=order)


@kernel(borrow=True)
def _start_at(share, order, sign, bound, beta):
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


@kernel(borrow=True)
def list_support(beta, rows, support, factors):
    """List the rows with a coefficient, and their coefficients as factors; returns how many."""
    count = 0
    for row in rows:
        if beta[row] != 0.0:
            support[count] = row
            factors[count] = beta[row]
            count += 1
    return count


@kernel(glue=True)
def fit_draw(machines, moving, c, starts, C, n, tolerance):
    """Fit the machine of a class afresh to the rows that have a bound.

    Parameters
    ----------
    machines, moving, c
        As for `settle_class`.
    starts
        Warm starts, of which that is taken whose size is nearest.
    C, n
        Price, and number of rows with their copies.
    tolerance
        As for `settle_class`.
    """
    beta, f = machines.beta[c], machines.f[c]
    a = 0
    while a + 1 < len(starts.sizes) and n * n > starts.sizes[a] * starts.sizes[a + 1]:
        a += 1
    share, sign = starts.share[a, c], machines.sign[c]
    _start_at(share, starts.order[a, c], sign, machines.bound, beta)
    count = list_support(beta, range(len(beta)), machines.support, machines.factors)
    f[:] = 0.0
    add_kernel_rows(machines.gram, machines.support, machines.factors, count, f)
    leave_all(moving)
    centre = _mean_error(share, sign, machines.bound, f, starts.intercept[a, c])
    settle_class(machines, moving, c, tolerance, centre, reach_of(C, n))
    machines.gathered[c] = moving.size[0]


@kernel(borrow=True)
def _mean_error(share, sign, bound, f, default):
    """Return the mean error of rows that are free in the warm start, or `default` of none."""
    total = 0.0
    count = 0
    for row in range(len(f)):
        if bound[row] > 0.0 and share[row] != 0.0 and abs(share[row]) < 1.0:
            total += sign[row] - f[row]
            count += 1
    return total / count if count > 0 else default
