"""Newton steps over the rows whose coefficients are between their bounds, with their inverse kept.

At the optimum the errors of free rows are all equal. One solve with their kernel makes them so; a
row that reaches a bound on the way is no longer free, a row at a bound that should leave it becomes
free, and either is an update of the inverse. Where a machine changes little, as when rows join,
the free rows and their inverse are kept from one optimum to the next, and a new optimum takes as
many steps as rows come and go.

The inverse only says where to go, errors follow from the kernel itself: what rounding leaves in the
inverse costs steps, not digits. The last steps make the errors of free rows equal as far as
rounding allows, so that their decision values, 1 or -1 at the optimum, tie in single precision.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.elementary import from_order, to_order
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.svm.gram import add_rows, place_of

__all__ = ["Free", "fill_row", "free_rows", "newton_steps", "snapped"]

NEVER = 1e300
LOWEST = -0x7FFFFFFFFFFFFFFF
HIGHEST = 0x7FFFFFFFFFFFFFFF
# Added to the diagonal of the free rows' kernel.
JITTER = 1e-7
# A coefficient this close to a bound, as a share of what is between the bounds, is at it.
SNAP = 1e-11
# Solves that only take what jitter and rounding left, before rows are called dependent.
MOST_REFINED = 3
# Solves after the optimum is reached, for the last digits.
LAST_STEPS = 5

#: Free rows: their places `rows` (F,) in the set, `count` (1,) of them, 0 if the inverse is not
#: that of the rows between their bounds; `inverse` (F, F) of their kernel, workspace.
Free = namedtuple("Free", ["rows", "count", "inverse", "factor", "error", "step", "sums"])


@kernel
def free_rows(places):
    """Return room for so many free rows, less one."""
    return Free(
        np.empty(places, np.int64),
        np.zeros(1, np.int64),
        np.empty((places, places + 8)),
        np.empty((places, places + 8)),
        np.empty(places),
        np.empty(places),
        np.empty(places),
    )


@kernel(inline=True)
def snapped(beta, low, high):
    """Return a coefficient, or the bound that it differs from by rounding.

    Whether a row is at its bound decides how far the intercept may be from its error.
    """
    near = SNAP * (high - low)
    if high - beta <= near:
        return high
    return low if beta - low <= near else beta


@kernel(borrow=True)
def fill_row(gram, rows, K, filled, s):
    """Copy what is missing of the kernel of a row with all rows of the set."""
    first = filled[s]
    size = len(rows)
    if first < size:
        source = gram.table[place_of(gram, rows[s], 0)]
        out = K[s]
        for t in range(first, size):
            out[t] = source[np.uint64(rows[t])]
        filled[s] = size


@kernel(reorder=True)
def _invert(K, rows, count, inverse, factor):
    """Fill `inverse` with that of the free rows' kernel; returns whether it is definite."""
    for i in range(count):
        row = factor[i]
        kernel_row = K[rows[i]]
        for j in range(i + 1):
            other = factor[j]
            total = np.float64(kernel_row[rows[j]])
            if i == j:
                total += JITTER
            for k in range(j):
                total -= row[k] * other[k]
            if i == j:
                if total <= 0.1 * JITTER:
                    return False
                row[i] = np.sqrt(total)
            else:
                row[j] = total / other[j]
    # The inverse of the factor, column by column, in the upper triangle; then its square.
    for j in range(count):
        inverse[j, j] = 1.0 / factor[j, j]
        for i in range(j + 1, count):
            total = 0.0
            row = factor[i]
            column = inverse[j]
            for k in range(j, i):
                total -= row[k] * column[k]
            column[i] = total / row[i]
    for i in range(count):
        a = inverse[i]
        for j in range(i + 1):
            b = inverse[j]
            total = 0.0
            for k in range(i, count):
                total += a[k] * b[k]
            factor[i, j] = total
    for i in range(count):
        for j in range(i + 1):
            inverse[i, j] = factor[i, j]
            inverse[j, i] = factor[i, j]
    return True


@kernel(reorder=True, borrow=True)
def _drop(inverse, rows, count, place):
    """Take the row at a place out of the free rows; the last one takes its place."""
    last = count - 1
    pivot = inverse[place]
    scale = 1.0 / pivot[place]
    for i in range(count):
        if i != place:
            row = inverse[i]
            factor = row[place] * scale
            for j in range(count):
                row[j] -= factor * pivot[j]
    if place != last:
        for j in range(count):
            inverse[place, j] = inverse[last, j]
        for i in range(count):
            inverse[i, place] = inverse[i, last]
        inverse[place, place] = inverse[last, last]
        rows[place] = rows[last]
    return last


@kernel(reorder=True, borrow=True)
def _adopt(inverse, rows, count, K, r, packed, column):
    """Add a row to the free rows; returns whether it is independent of them."""
    row = K[r]
    for i in range(count):
        packed[i] = row[rows[i]]
    rest = 1.0 + JITTER
    for i in range(count):
        total = 0.0
        a = inverse[i]
        for j in range(count):
            total += a[j] * packed[j]
        column[i] = total
        rest -= total * packed[i]
    if rest <= 0.5 * JITTER:
        return False
    for i in range(count):
        a = inverse[i]
        factor = column[i] / rest
        for j in range(count):
            a[j] += factor * column[j]
        a[count] = -factor
        inverse[count, i] = -factor
    inverse[count, count] = 1.0 / rest
    rows[count] = r
    return True


@kernel(reorder=True, borrow=True)
def _direction(inverse, rows, count, error, centre, packed, step, sums):
    """Fill `step` with the change of free coefficients that makes their errors equal.

    Errors are taken from `centre`, about where they all are. Returns where they will be.

    Parameters
    ----------
    inverse, rows, count
        Inverse kernel of the free rows ``rows[:count]``.
    error, centre
        (S,) errors, and about where those of free rows are.
    packed
        Workspace.
    step, sums
        Filled: by how much coefficients change, and sums of rows of the inverse.
    """
    for i in range(count):
        packed[i] = error[rows[i]] - centre
    ones = 0.0
    along = 0.0
    for i in range(count):
        row = inverse[i]
        total = 0.0
        sum_ = 0.0
        for j in range(count):
            total += row[j] * packed[j]
            sum_ += row[j]
        step[i] = total
        sums[i] = sum_
        ones += sum_
        along += total
    ahead = along / ones
    rest = 0.0  # of rounding: coefficients keep their sum
    for i in range(count):
        step[i] -= ahead * sums[i]
        rest += step[i]
    rest /= count
    for i in range(count):
        step[i] -= rest
    return centre + ahead


@kernel(borrow=True)
def _bounded(rows, count, beta, low, high, step):
    """Move free coefficients along `step` until one is at its bound, and make `step` what they did.

    The errors of their rows become what they are changed by. Returns whether one is at its bound.
    """
    share = 1.0
    blocked = -1
    for i in range(count):
        r = rows[i]
        room = high[r] - beta[r] if step[i] > 0.0 else low[r] - beta[r]
        if abs(room) < share * abs(step[i]):
            share = room / step[i]
            blocked = i
    lost = 0.0
    for i in range(count):
        r = rows[i]
        change = share * step[i]
        if i == blocked:
            end = high[r] if step[i] > 0.0 else low[r]
            change = end - beta[r]
            beta[r] = end
        else:
            moved = beta[r] + change
            beta[r] = snapped(moved, low[r], high[r])
            if beta[r] != moved:
                change += beta[r] - moved
                lost += beta[r] - moved
        step[i] = -change
    if lost != 0.0:
        _give_back(rows, count, beta, low, high, lost, step)
    return blocked >= 0


@kernel(borrow=True)
def _give_back(rows, count, beta, low, high, lost, step):
    """Take from the coefficient farthest from its bounds what snapping has added to others."""
    widest = -1
    most = 0.0
    for i in range(count):
        r = rows[i]
        room = min(high[r] - beta[r], beta[r] - low[r])
        if room > most or (widest < 0 and low[r] < beta[r] < high[r]):
            most = room
            widest = i
    if widest >= 0:
        r = rows[widest]
        before = beta[r]
        beta[r] = snapped(min(max(before - lost, low[r]), high[r]), low[r], high[r])
        step[widest] -= beta[r] - before


@kernel(borrow=True)
def _extremes(error, beta, low, high):
    """Return the largest error of rows that may rise and the smallest of rows that may fall."""
    top = LOWEST
    bottom = HIGHEST
    for r in range(len(error)):
        rise = error[r] if beta[r] < high[r] else -NEVER
        fall = error[r] if beta[r] > low[r] else NEVER
        top = max(top, to_order(rise))
        bottom = min(bottom, to_order(fall))
    return from_order(top), from_order(bottom)


@kernel(borrow=True)
def _place(error, value, beta, bound):
    """Return the place of a row with this error that is not at its bound."""
    last = 0
    for r in range(len(error)):
        last = r if error[r] == value and beta[r] != bound[r] else last
    return last


@kernel(borrow=True)
def _spread(rows, count, error):
    """Return by how much the errors of free rows differ."""
    top = -NEVER
    bottom = NEVER
    for i in range(count):
        top = max(top, error[rows[i]])
        bottom = min(bottom, error[rows[i]])
    return top - bottom


@kernel(borrow=True)
def _step(K, error, centre, beta, low, high, free, count):
    """Take one step that would make the errors of free rows equal, as far as bounds allow.

    Returns where the errors would be, whether a bound was in the way, and how many rows are free.

    Parameters
    ----------
    K
        Kernel of the moving rows.
    error, centre
        Their errors, and about where those of free rows are.
    beta, low, high
        Coefficients, which are changed, and their bounds.
    free, count
        Free rows and the inverse of their kernel, and how many there are.
    """
    centre = _direction(
        free.inverse, free.rows, count, error, centre, free.error, free.step, free.sums
    )
    blocked = _bounded(free.rows, count, beta, low, high, free.step)
    add_rows(K, free.rows, free.step, count, error)
    for i in range(count - 1, -1, -1):
        r = free.rows[i]
        if beta[r] == low[r] or beta[r] == high[r]:
            count = _drop(free.inverse, free.rows, count, i)
    return centre, blocked, count


@kernel(borrow=True)
def _last_digits(K, error, centre, beta, low, high, free, count):
    """Step on from the optimum while that makes the errors of free rows more equal.

    Parameters
    ----------
    K
        Kernel of the moving rows.
    error, centre
        Their errors, and where those of free rows are.
    beta, low, high
        Coefficients, which are changed, and their bounds.
    free, count
        Free rows and the inverse of their kernel, and how many there are.
    """
    left = _spread(free.rows, count, error)
    for _ in range(LAST_STEPS):
        if count < 2 or left == 0.0:
            break
        before = left
        free_before = count
        centre, _, count = _step(K, error, centre, beta, low, high, free, count)
        left = _spread(free.rows, count, error)
        if count == free_before and not left <= 0.5 * before:
            break  # a row that has come to its bound moves the others
    return count


@kernel
def newton_steps(gram, rows, K, filled, error, beta, low, high, tolerance, free):
    """Go to the optimum from about there; returns by how much the errors disagree in the end.

    Unless they agree to the tolerance, because rows are dependent or too many, the free rows are
    forgotten.

    Parameters
    ----------
    gram, rows
        Kernel of all rows, and which of them move.
    K, filled
        Kernel of the moving rows, and which of its rows are there.
    error, beta, low, high
        Errors, coefficients, which are changed, and their bounds.
    tolerance
        By how much errors of free rows may disagree.
    free
        Free rows and the inverse of their kernel.
    """
    size = len(error)
    count = free.count[0]
    if count == 0:
        for r in range(size):
            if low[r] < beta[r] < high[r]:
                fill_row(gram, rows, K, filled, r)
                free.rows[count] = r
                count += 1
        if count == 0 or not _invert(K, free.rows, count, free.inverse, free.factor):
            return NEVER
    free.count[0] = 0
    centre = 0.0
    for i in range(count):
        fill_row(gram, rows, K, filled, free.rows[i])
        centre += error[free.rows[i]]
    centre /= count
    refined = 0
    gap = NEVER
    for _ in range(8 + count):
        top, bottom = _extremes(error, beta, low, high)
        gap = top - bottom
        if gap <= tolerance:
            free.count[0] = _last_digits(K, error, centre, beta, low, high, free, count)
            top, bottom = _extremes(error, beta, low, high)
            return top - bottom
        rises = top - centre > centre - bottom
        r = _place(error, top, beta, high) if rises else _place(error, bottom, beta, low)
        if low[r] < beta[r] < high[r]:
            refined += 1
            if refined > MOST_REFINED:
                return gap
        else:
            refined = 0
            fill_row(gram, rows, K, filled, r)
            if count + 1 >= len(free.rows) or not _adopt(
                free.inverse, free.rows, count, K, r, free.error, free.step
            ):
                return gap
            count += 1
        blocked = True
        while blocked:
            centre, blocked, count = _step(K, error, centre, beta, low, high, free, count)
            if count == 0:
                return gap
    return gap
