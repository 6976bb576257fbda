"""A binary support vector machine over many rows, of which few near the margin move at a time.

Decision values (without intercept) of all rows of the dataset are kept, so that test rows cost
nothing extra and every training row's optimality can be checked in one pass. What moves is a set of
rows near the margin whose kernel is copied out into a small matrix: `solve_dual` brings them to
their optimum there, then all decision values follow from the coefficients that changed. Rows that
are found to violate optimality join, until none does.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.elementary import from_order, to_order
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.svm.free_vectors import NEVER, Dual, free_rows
from lcdb_builders.kernels.svm.gram import add_kernel_rows
from lcdb_builders.kernels.svm.smo import solve_dual

__all__ = ["Machine", "Moving", "leave_all", "moving_rows", "settle"]

FREE_ROWS = 384
MOST_ROUNDS = 1000

#: The machine of a class: kernel of all rows, a `Gram`; `sign` (N,), the class as +1 or -1;
#: `bound` (N,), C times weight, 0 outside the training set; signed coefficients `beta` (N,) with
#: sum 0, and decision values without intercept that they give, `f` (N,).
Machine = namedtuple("Machine", "gram sign bound beta f")
#: The working set, rows near the margin that move: `rows` (S,), of which there are `size` (1,);
#: the `slot` (N,) in it of each row, or -1; their kernel `K`, of whose rows the first `filled` (S,)
#: numbers are there; errors `error`, coefficients `beta` and their bounds `low` and `high` (S,);
#: which rows have `moved` (S,), and the `change` (S,) of their coefficients; those between their
#: bounds, `free`, a `Free`.
Moving = namedtuple("Moving", "rows slot size K filled error beta low high moved change free")


@kernel
def moving_rows(rows, places, like):
    """Return an empty set of at most so many of N rows; `like` has the kernel's type."""
    return Moving(
        rows=np.empty(places, np.int64),
        slot=np.full(rows, -1, np.int64),
        size=np.zeros(1, np.int64),
        K=np.empty((places, places + 8), like.dtype),
        filled=np.zeros(places, np.int64),
        error=np.empty(places),
        beta=np.empty(places),
        low=np.empty(places),
        high=np.empty(places),
        moved=np.empty(places, np.int64),
        change=np.empty(places),
        free=free_rows(min(places + 9, FREE_ROWS)),  # all may be free, with as many as are spare
    )


@kernel(borrow=True)
def _extremes(machine):
    """Return the largest error of rows that may rise and the smallest of rows that may fall."""
    sign, bound, beta, f = machine.sign, machine.bound, machine.beta, machine.f
    top, bottom = to_order(-NEVER), to_order(NEVER)
    for r in range(len(f)):
        error = sign[r] - f[r]
        high = bound[r] if sign[r] > 0.0 else 0.0
        low = 0.0 if sign[r] > 0.0 else -bound[r]
        rise = error if beta[r] < high else -NEVER
        fall = error if beta[r] > low else NEVER
        top = max(top, to_order(rise))
        bottom = min(bottom, to_order(fall))
    return from_order(top), from_order(bottom)


@kernel(borrow=True)
def leave_all(moving):
    """Empty the set."""
    for s in range(moving.size[0]):
        moving.slot[moving.rows[s]] = -1
        moving.filled[s] = 0
    moving.size[0] = 0
    moving.free.count[0] = 0


@kernel(borrow=True)
def _enlist(machine, low_cut, high_cut, quota, moving):
    """Add training rows that could rise from above `low_cut` or fall from below `high_cut`.

    At most `quota` of each kind are added. Returns whether these were all.
    """
    sign, bound, beta, f = machine.sign, machine.bound, machine.beta, machine.f
    size = moving.size[0]
    slot = moving.slot
    risers = 0
    fallers = 0
    for r in range(len(f)):
        if bound[r] > 0.0 and slot[r] < 0:
            error = sign[r] - f[r]
            high = bound[r] if sign[r] > 0.0 else 0.0
            rises = beta[r] < high and error >= low_cut
            falls = beta[r] > high - bound[r] and error <= high_cut
            if (rises and risers < quota) or (falls and fallers < quota):
                moving.rows[size] = r
                slot[r] = size
                size += 1
            risers += rises
            fallers += falls
    moving.size[0] = size
    return risers <= quota and fallers <= quota


@kernel(borrow=True)
def _gather_rows(machine, top, bottom, tolerance, centre, reach, moving):
    """Enlist what violates optimality at the intercept `centre`, or by -reach nearly does.

    If there is no place for all of it the set starts anew and takes half as many of each kind;
    the worst violators of both kinds are always among them. Returns how many rows were in the set
    before and stayed.

    Parameters
    ----------
    machine
        The machine.
    top, bottom
        Its extreme errors.
    tolerance, centre, reach
        What violates optimality, at which intercept, and how nearly.
    moving
        The set that is added to.
    """
    places, start, margin = len(moving.rows), moving.size[0], reach
    quota = (places - start) // 2
    while True:
        low_cut, high_cut = min(centre - margin, top), max(centre + margin, bottom)
        if _enlist(machine, low_cut, high_cut, quota, moving):
            return start
        leave_all(moving)
        if not margin > tolerance:
            break
        start, quota = 0, places // 2
        margin *= 0.5
    _enlist(machine, top, bottom, 1, moving)
    low_cut = min(centre + 0.25 * tolerance, top)
    high_cut = max(centre - 0.25 * tolerance, bottom)
    _enlist(machine, low_cut, high_cut, places // 2 - 1, moving)
    return 0


@kernel
def _solve_moving(machine, tolerance, centre, moving):
    """Bring the rows in the set to their optimum; returns how many moved, and the intercept.

    With a small C all errors that matter are nearly 1 or nearly -1. They are taken from there:
    their differences, of the order of C, would otherwise keep few digits.

    Parameters
    ----------
    machine
        The machine, which is changed.
    tolerance, centre
        Violation that is aimed at, and about where the intercept is.
    moving
        The rows that move.
    """
    sign, bound, beta = machine.sign, machine.bound, machine.beta
    size = moving.size[0]
    base = 0.0 if abs(centre) < 0.5 else np.copysign(1.0, centre)
    for s in range(size):
        r = moving.rows[s]
        high = bound[r] if sign[r] > 0.0 else 0.0
        moving.high[s] = high
        moving.low[s] = high - bound[r]
        moving.beta[s] = beta[r]
        moving.error[s] = (sign[r] - base) - machine.f[r]
    dual = Dual(
        gram=machine.gram,
        rows=moving.rows[:size],
        K=moving.K,
        filled=moving.filled,
        error=moving.error[:size],
        beta=moving.beta[:size],
        low=moving.low[:size],
        high=moving.high[:size],
        free=moving.free,
    )
    solve_dual(dual, tolerance)
    moved = 0
    top = -NEVER
    bottom = NEVER
    for s in range(size):
        r = moving.rows[s]
        change = moving.beta[s] - beta[r]
        if change != 0.0:
            beta[r] = moving.beta[s]
            moving.moved[moved] = r
            moving.change[moved] = change
            moved += 1
        if moving.beta[s] < moving.high[s]:
            top = max(top, moving.error[s])
        if moving.beta[s] > moving.low[s]:
            bottom = min(bottom, moving.error[s])
    add_kernel_rows(machine.gram, moving.moved, moving.change, moved, machine.f)
    return moved, base + 0.5 * (top + bottom)


@kernel(borrow=True)
def settle(machine, tolerance, centre, reach, moving):
    """Bring a machine to its optimum.

    Parameters
    ----------
    machine
        The machine, which is changed.
    tolerance
        Largest violation of optimality.
    centre, reach
        About where the intercept is, and how far from it errors are of rows that may well move.
    moving
        The set of rows that move; may hold rows already.

    Returns
    -------
    top, bottom
        Largest error of a row that may rise, smallest of one that may fall. The intercept is
        between them.
    """
    top, bottom = _extremes(machine)
    for _ in range(MOST_ROUNDS):
        if top - bottom <= tolerance:
            break
        start = _gather_rows(machine, top, bottom, tolerance, centre, reach, moving)
        grown = moving.size[0] > start
        moved, centre = _solve_moving(machine, 0.5 * tolerance, centre, moving)
        top, bottom = _extremes(machine)
        if moved == 0 and not grown:
            break  # what is left is rounding
        reach = -0.25 * tolerance
    return top, bottom
