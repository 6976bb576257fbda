"""The dual of a support vector classifier over a small set of rows, solved to the last digit.

Each row has a signed coefficient beta between `low` and `high` (0 and C w for the class itself,
-C w and 0 for the rest) and an error: its sign minus its decision value without intercept. At the
optimum there is an intercept that no error of a row that may still rise exceeds, and that no error
of a row that may still fall is below.

Pair steps as in SMO (the most violating row, the partner with the largest gain) find out which
rows are at a bound. The last digits, and where rows are nearly dependent all digits, would take
them for ever: Newton steps over the free rows take turns with them. A set whose free rows are known
from its last optimum begins with those, and mostly needs no pair step.

Maxima are taken over integers that order like the numbers: compilers vectorise those. Rows of the
kernel are copied out of the Gram matrix when they are first needed: most rows never move.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.elementary import from_order, to_order
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.svm.free_vectors import NEVER, fill_row, newton_steps, snapped

__all__ = ["solve_dual"]

# Two rows this close to being the same have a step as long as their bounds allow; the half is for
# where partners are chosen.
LEAST_CURVATURE = 1e-12
LEAST_HALF_CURVATURE = np.float32(5e-13)
MOST_STEPS = 1_000_000
# Nanoseconds, roughly: of a pair step, alone and per row, and of a multiplication in a matrix.
PAIR_STEP, PER_ROW, MULTIPLICATION = 60.0, 0.25, 0.2
# Pair steps cost this share of Newton steps before those are tried first: they nearly always reach
# the optimum, and their inverse serves the next one. Once they have not, pair steps cost as much.
EAGER = 0.1


@kernel(reorder=True, borrow=True)
def _move(up, down, x, y, step):
    """Take ``step * (x - y)`` from both errors; return the largest of up, the smallest of down."""
    top, bottom = to_order(-NEVER), to_order(NEVER)
    for r in range(len(up)):
        change = step * (x[r] - y[r])
        u = up[r] - change
        d = down[r] - change
        up[r] = u
        down[r] = d
        top = max(top, to_order(u))
        bottom = min(bottom, to_order(d))
    return from_order(top), from_order(bottom)


@kernel(reorder=True, borrow=True)
def _gains(down, x, top, gain):
    """Fill `gain` with what lowering each row would gain, up to a factor.

    In single precision: it chooses a partner, no number depends on it.
    """
    for r in range(len(down)):
        violation = top - down[r]
        violation = violation if violation > 0.0 else 0.0
        rounded = np.float32(violation)
        curvature = np.float32(1.0) - np.float32(x[r])
        curvature = curvature if curvature > LEAST_HALF_CURVATURE else LEAST_HALF_CURVATURE
        gain[r] = rounded * rounded / curvature


@kernel(borrow=True)
def _largest(bits):
    """Return the last position of the largest of non-negative numbers, given as their bits."""
    best = np.int32(0)
    for r in range(len(bits)):
        best = max(best, bits[r])
    last = 0
    for r in range(len(bits)):
        last = r if bits[r] == best else last
    return last


@kernel(borrow=True)
def _last(values, value):
    """Return the last position of a value that is there."""
    last = 0
    for r in range(len(values)):
        last = r if values[r] == value else last
    return last


@kernel(borrow=True)
def _pair_steps(dual, tolerance, budget, up, down, gain, bits):
    """Take pair steps until errors agree within `tolerance` or `budget` steps are taken.

    A pair is one row that may rise and one that may fall; of partners, that with the largest gain.

    Parameters
    ----------
    dual
        The set, of which coefficients and errors are changed.
    tolerance, budget
        When to stop.
    up, down, gain, bits
        (S,) workspace: errors of rows that may rise and fall, gains of pairs, and their bits.

    Returns
    -------
    gap, steps
        By how much the errors disagree, and how many steps were taken.
    """
    error, beta, low, high = dual.error, dual.beta, dual.low, dual.high
    size = len(error)
    for r in range(size):
        up[r] = error[r] if beta[r] < high[r] else -NEVER
        down[r] = error[r] if beta[r] > low[r] else NEVER
    top, bottom = _move(up, down, gain, gain, 0.0)
    steps = 0
    while top - bottom > tolerance and steps < budget:
        steps += 1
        i = _last(up, top)
        fill_row(dual, i)
        row_i = dual.K[i, :size]
        _gains(down, row_i, top, gain)
        j = _largest(bits)
        fill_row(dual, j)
        row_j = dual.K[j, :size]
        error_i = top
        error_j = down[j]
        curvature = max(2.0 - 2.0 * row_i[j], LEAST_CURVATURE)
        step = min((error_i - error_j) / curvature, high[i] - beta[i], beta[j] - low[j])
        beta[i] = snapped(beta[i] + step, low[i], high[i])
        beta[j] = snapped(beta[j] - step, low[j], high[j])
        up[i] = error_i if beta[i] < high[i] else -NEVER
        down[i] = error_i
        up[j] = error_j
        down[j] = error_j if beta[j] > low[j] else NEVER
        top, bottom = _move(up, down, row_i, row_j, step)
    for r in range(size):
        error[r] = up[r] if beta[r] < high[r] else down[r]
    return top - bottom, steps


@kernel
def solve_dual(dual, tolerance):
    """Bring coefficients to the optimum.

    Parameters
    ----------
    dual
        The set, with a start of any sum of coefficients that is to be kept. Its free rows are kept
        from one call to the next while the set only grows and bounds stay; with more of them than
        there are places for, pair steps go alone.
    tolerance
        By how much errors may disagree.
    """
    low, beta, high = dual.low, dual.beta, dual.high
    size = len(dual.error)
    if dual.free.count[0] > 0 and newton_steps(dual, tolerance) <= tolerance:
        return
    up, down, gain = np.empty(size), np.empty(size), np.zeros(size, np.float32)
    bits = gain.view(np.int32)
    total = 0
    spent = 0.0
    share = EAGER
    tried = False
    batch = 16 + size // 4
    while True:
        gap, steps = _pair_steps(dual, tolerance, batch, up, down, gain, bits)
        total += steps
        if total >= MOST_STEPS or (gap <= tolerance and tried):
            return
        spent += steps * (PAIR_STEP + PER_ROW * size)
        count = 0
        for r in range(size):
            count += low[r] < beta[r] < high[r]
        has_places = 1 < count < len(dual.free.rows) - 8
        if gap <= tolerance:
            tried = True  # for the last digits
            if not has_places or newton_steps(dual, tolerance) <= tolerance:
                return
            continue
        cost = MULTIPLICATION * count * (0.7 * count * count + 4.0 * (count + size))
        if spent >= share * cost and has_places:
            if newton_steps(dual, tolerance) <= tolerance:
                return
            spent = 0.0
            share = 1.0
