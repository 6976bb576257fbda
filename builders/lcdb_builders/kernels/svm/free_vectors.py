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

__all__ = ["NEVER", "Dual", "Free", "fill_row", "free_rows", "newton_steps", "snapped"]

# Farther than any error.
NEVER = 1e300
# Added to the diagonal of the free rows' kernel.
JITTER = 1e-7
# A coefficient this close to a bound, as a share of what is between the bounds, is at it.
SNAP = 1e-11
# Solves that only take what jitter and rounding left, before rows are called dependent.
MOST_REFINED = 3
# Solves after the optimum is reached, for the last digits.
LAST_STEPS = 5

#: Free rows: their places `rows` (F,) in the set, `count` (1,) of them, 0 if the inverse is not
#: that of the rows between their bounds; `inverse` (F, F) of their kernel; workspace.
Free = namedtuple("Free", "rows count inverse factor packed step sums")
#: The dual of a set of rows: the kernel of all rows, `gram`, and which `rows` (S,) the set is of;
#: their kernel `K`, of whose rows the first `filled` (S,) numbers are there; errors `error`,
#: coefficients `beta` and their bounds `low` and `high` (S,); and the `free` rows.
Dual = namedtuple("Dual", "gram rows K filled error beta low high free")


@kernel
def free_rows(places):
    """Return workspace for so many free rows, less one."""
    return Free(
        rows=np.empty(places, np.int64),
        count=np.zeros(1, np.int64),
        inverse=np.empty((places, places + 8)),
        factor=np.empty((places, places + 8)),
        packed=np.empty(places),
        step=np.empty(places),
        sums=np.empty(places),
    )


@kernel(inline=True)
def snapped(beta, low, high):
    """Return a coefficient, or the bound that it differs from by rounding.

    Whether a row is at its bound decides how far the intercept may be from its error.
    """
    rounding = SNAP * (high - low)
    if high - beta <= rounding:
        return high
    return low if beta - low <= rounding else beta


@kernel(borrow=True)
def fill_row(dual, s):
    """Copy what is missing of the kernel of a row with all rows of the set."""
    rows, filled = dual.rows, dual.filled
    first = filled[s]
    size = len(rows)
    if first < size:
        source = dual.gram.table[place_of(dual.gram, rows[s], 0)]
        out = dual.K[s]
        for t in range(first, size):
            out[t] = source[np.uint64(rows[t])]
        filled[s] = size


@kernel(reorder=True, borrow=True)
def _invert(K, free, count):
    """Fill the inverse of the free rows' kernel; returns whether it is definite."""
    rows, inverse, factor = free.rows, free.inverse, free.factor
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
def _drop(free, count, place):
    """Take the row at a place out of the free rows; the last one takes its place."""
    inverse, rows = free.inverse, free.rows
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
def _adopt(K, free, count, r):
    """Add a row to the free rows; returns whether it is independent of them."""
    inverse, rows, packed, column = free.inverse, free.rows, free.packed, free.step
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
def _direction(free, count, error, centre):
    """Fill `free.step` with the change of free coefficients that makes their errors equal.

    Errors (S,) are taken from `centre`, about where they all are. Returns where they will be.
    """
    inverse, rows, packed, step, sums = free.inverse, free.rows, free.packed, free.step, free.sums
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
def _move_to_bound(dual, count):
    """Move free coefficients along their step until one is at its bound, and make it what they did.

    The errors of their rows become what they are changed by. Returns whether one is at its bound.
    """
    beta, low, high = dual.beta, dual.low, dual.high
    rows, step = dual.free.rows, dual.free.step
    share = 1.0
    blocked = -1
    for i in range(count):
        r = rows[i]
        to_bound = high[r] - beta[r] if step[i] > 0.0 else low[r] - beta[r]
        if abs(to_bound) < share * abs(step[i]):
            share = to_bound / step[i]
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
        _give_back(dual, count, lost)
    return blocked >= 0


@kernel(borrow=True)
def _give_back(dual, count, lost):
    """Take from the coefficient farthest from its bounds what snapping has added to others."""
    beta, low, high = dual.beta, dual.low, dual.high
    rows, step = dual.free.rows, dual.free.step
    farthest = -1
    most = 0.0
    for i in range(count):
        r = rows[i]
        to_bound = min(high[r] - beta[r], beta[r] - low[r])
        if to_bound > most or (farthest < 0 and low[r] < beta[r] < high[r]):
            most = to_bound
            farthest = i
    if farthest >= 0:
        r = rows[farthest]
        before = beta[r]
        beta[r] = snapped(min(max(before - lost, low[r]), high[r]), low[r], high[r])
        step[farthest] -= beta[r] - before


@kernel(borrow=True)
def _extremes(dual):
    """Return the largest error of rows that may rise and the smallest of rows that may fall."""
    error, beta, low, high = dual.error, dual.beta, dual.low, dual.high
    top, bottom = to_order(-NEVER), to_order(NEVER)
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
def _step(dual, centre, count):
    """Take one step that would make the errors of free rows equal, as far as bounds allow.

    Returns where the errors would be, whether a bound was in the way, and how many rows are free.

    Parameters
    ----------
    dual
        The set, of which coefficients and errors are changed.
    centre, count
        About where the errors of free rows are, and how many there are.
    """
    free = dual.free
    centre = _direction(free, count, dual.error, centre)
    blocked = _move_to_bound(dual, count)
    add_rows(dual.K, free.rows, free.step, count, dual.error)
    for i in range(count - 1, -1, -1):
        r = free.rows[i]
        if dual.beta[r] == dual.low[r] or dual.beta[r] == dual.high[r]:
            count = _drop(free, count, i)
    return centre, blocked, count


@kernel(borrow=True)
def _last_digits(dual, centre, count):
    """Step on from the optimum while that makes the errors of free rows more equal.

    Returns how many rows are free then.
    """
    rows, error = dual.free.rows, dual.error
    left = _spread(rows, count, error)
    for _ in range(LAST_STEPS):
        if count < 2 or left == 0.0:
            break
        before = left
        free_before = count
        centre, _, count = _step(dual, centre, count)
        left = _spread(rows, count, error)
        if count == free_before and not left <= 0.5 * before:
            break  # a row that has come to its bound moves the others
    return count


@kernel(borrow=True)
def _list_free(dual):
    """List the rows between their bounds, and invert their kernel; returns how many, or 0."""
    free, count = dual.free, 0
    for r in range(len(dual.error)):
        if dual.low[r] < dual.beta[r] < dual.high[r]:
            fill_row(dual, r)
            free.rows[count] = r
            count += 1
    return count if count > 0 and _invert(dual.K, free, count) else 0


@kernel(borrow=True)
def newton_steps(dual, tolerance):
    """Go to the optimum from about there; returns by how much the errors disagree in the end.

    Unless they agree to the tolerance, because rows are dependent or too many, the free rows are
    forgotten.

    Parameters
    ----------
    dual
        The set, of which coefficients and errors are changed.
    tolerance
        By how much errors of free rows may disagree.
    """
    free, error, beta, low, high = dual.free, dual.error, dual.beta, dual.low, dual.high
    count = free.count[0]
    if count == 0:
        count = _list_free(dual)
        if count == 0:
            return NEVER
    free.count[0] = 0
    centre = 0.0
    for i in range(count):
        fill_row(dual, free.rows[i])
        centre += error[free.rows[i]]
    centre /= count
    refined = 0
    gap = NEVER
    for _ in range(8 + count):
        top, bottom = _extremes(dual)
        gap = top - bottom
        if gap <= tolerance:
            free.count[0] = _last_digits(dual, centre, count)
            top, bottom = _extremes(dual)
            return top - bottom
        rises = top - centre > centre - bottom
        r = _place(error, top, beta, high) if rises else _place(error, bottom, beta, low)
        if low[r] < beta[r] < high[r]:
            refined += 1
            if refined > MOST_REFINED:
                return gap
        else:
            refined = 0
            fill_row(dual, r)
            if count + 1 >= len(free.rows) or not _adopt(dual.K, free, count, r):
                return gap
            count += 1
        blocked = True
        while blocked:
            centre, blocked, count = _step(dual, centre, count)
            if count == 0:
                return gap
    return gap
