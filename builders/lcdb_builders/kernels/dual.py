"""The dual of a support vector classifier over a small set of rows, solved to the last digit.

Each row has a signed coefficient beta between `low` and `high` (0 and C w for the class itself,
-C w and 0 for the rest) and an error: its sign minus its decision value without intercept. At the
optimum there is an intercept that no error of a row that may still rise exceeds, and that no error
of a row that may still fall is below.

Pair steps as in SMO (the most violating row, the partner with the largest gain) find out which
rows are at a bound. Where rows are nearly dependent the last digits would take them for ever, so
an active-set Newton method over the free rows takes turns with them: as soon as pair steps have
cost what it would cost.

Maxima are taken over integers that order like the numbers: compilers vectorise those. Rows of the
kernel are copied out of the Gram matrix when they are first needed: most rows never move.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.elementary import from_order, to_order
from lcdb_builders.kernels.jit import kernel

__all__ = ["snapped", "solve_dual"]

NEVER = 1e300
LOWEST = -0x7FFFFFFFFFFFFFFF
HIGHEST = 0x7FFFFFFFFFFFFFFF
# Two rows this close to being the same have a step as long as their bounds allow.
LEAST_CURVATURE = 1e-12
LEAST_GAP = np.float32(5e-13)
# Added to the diagonal of the free rows' kernel, which is kept in single precision.
JITTER = 1e-7
MOST_STEPS = 1_000_000
# A coefficient this close to a bound, as a share of what is between the bounds, is at it.
SNAP = 1e-11
# Nanoseconds, roughly: of a pair step, alone and per row, and of a multiplication in a matrix.
PAIR_STEP, PER_ROW, MULTIPLICATION = 60.0, 0.25, 0.2


@kernel(inline=True)
def snapped(beta, low, high):
    """Return a coefficient, or the bound that it differs from by rounding.

    Whether a row is at its bound decides how far the intercept may be from its error.
    """
    near = SNAP * (high - low)
    if high - beta <= near:
        return high
    return low if beta - low <= near else beta


@kernel(reorder=True, borrow=True)
def _move(up, down, x, y, step):
    """Take ``step * (x - y)`` from both errors; return the largest of up, the smallest of down."""
    top = LOWEST
    bottom = HIGHEST
    for r in range(len(up)):
        change = step * (x[r] - y[r])
        u = up[r] - change
        d = down[r] - change
        up[r] = u
        down[r] = d
        top = max(top, to_order(u))
        bottom = min(bottom, to_order(d))
    return from_order(top), from_order(bottom)


@kernel(borrow=True)
def _fill_row(gram, rows, K, filled, s):
    """Copy what is missing of the kernel of a row with all rows of the set."""
    first = filled[s]
    size = len(rows)
    if first < size:
        source = gram[rows[s]]
        out = K[s]
        for t in range(first, size):
            out[t] = source[np.uint64(rows[t])]
        filled[s] = size


@kernel(reorder=True, borrow=True)
def _gains(down, x, top, gain):
    """Fill `gain` with what lowering each row would gain, up to a factor.

    In single precision: it chooses a partner, no number depends on it.
    """
    for r in range(len(down)):
        short = top - down[r]
        short = short if short > 0.0 else 0.0
        near = np.float32(short)
        curvature = np.float32(1.0) - np.float32(x[r])
        curvature = curvature if curvature > LEAST_GAP else LEAST_GAP
        gain[r] = near * near / curvature


@kernel(borrow=True)
def _largest(bits):
    """Return the last position of the largest of non-negative numbers, given as their bits."""
    best = np.int32(0)
    for r in range(len(bits)):
        best = max(best, bits[r])
    found = 0
    for r in range(len(bits)):
        found = r if bits[r] == best else found
    return found


@kernel(borrow=True)
def _last(values, value):
    """Return the last position of a value that is there."""
    found = 0
    for r in range(len(values)):
        found = r if values[r] == value else found
    return found


@kernel(borrow=True)
def _open(error, beta, low, high, up, down):
    for r in range(len(error)):
        up[r] = error[r] if beta[r] < high[r] else -NEVER
        down[r] = error[r] if beta[r] > low[r] else NEVER


@kernel
def _pair_steps(
    gram, rows, K, filled, error, beta, low, high, tolerance, budget, up, down, gain, bits
):
    """Take pair steps until errors agree within `tolerance` or `budget` steps are taken.

    Returns
    -------
    gap, steps
        By how much the errors disagree, and how many steps were taken.
    """
    size = len(error)
    _open(error, beta, low, high, up, down)
    top, bottom = _move(up, down, gain, gain, 0.0)
    steps = 0
    while top - bottom > tolerance and steps < budget:
        steps += 1
        i = _last(up, top)
        _fill_row(gram, rows, K, filled, i)
        row_i = K[i, :size]
        _gains(down, row_i, top, gain)
        j = _largest(bits)
        _fill_row(gram, rows, K, filled, j)
        row_j = K[j, :size]
        error_i = top
        error_j = down[j]
        curvature = max(2.0 - 2.0 * row_i[j], LEAST_CURVATURE)
        room_i = high[i] - beta[i]
        room_j = beta[j] - low[j]
        step = min((error_i - error_j) / curvature, room_i, room_j)
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


@kernel(reorder=True)
def _invert_free(K, free, count, inverse, factor):
    """Fill `inverse` with that of the free rows' kernel; returns whether it is definite."""
    for i in range(count):
        row = factor[i]
        kernel_row = K[free[i]]
        for j in range(i + 1):
            other = factor[j]
            total = np.float64(kernel_row[free[j]])
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
def _drop(inverse, free, count, at):
    """Take the row at a place out of the free rows; the last one takes its place."""
    last = count - 1
    pivot = inverse[at]
    scale = 1.0 / pivot[at]
    for i in range(count):
        if i != at:
            row = inverse[i]
            factor = row[at] * scale
            for j in range(count):
                row[j] -= factor * pivot[j]
    if at != last:
        for j in range(count):
            inverse[at, j] = inverse[last, j]
        for i in range(count):
            inverse[i, at] = inverse[i, last]
        inverse[at, at] = inverse[last, last]
        free[at] = free[last]
    return last


@kernel(reorder=True, borrow=True)
def _adopt(inverse, free, count, K, r, column):
    """Add a row to the free rows; returns whether it is independent of them."""
    row = K[r]
    for i in range(count):
        total = 0.0
        a = inverse[i]
        for j in range(count):
            total += a[j] * row[free[j]]
        column[i] = total
    rest = 1.0 + JITTER
    for i in range(count):
        rest -= column[i] * row[free[i]]
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
    free[count] = r
    return True


@kernel(reorder=True, borrow=True)
def _direction(inverse, free, count, error, step):
    """Fill `step` with the change of free coefficients that makes their errors equal."""
    ones = 0.0
    along = 0.0
    for i in range(count):
        row = inverse[i]
        total = 0.0
        sum_ = 0.0
        for j in range(count):
            total += row[j] * error[free[j]]
            sum_ += row[j]
        step[i] = total
        ones += sum_
        along += total
    intercept = along / ones
    rest = 0.0  # of rounding: coefficients keep their sum
    for i in range(count):
        row = inverse[i]
        sum_ = 0.0
        for j in range(count):
            sum_ += row[j]
        step[i] -= intercept * sum_
        rest += step[i]
    for i in range(count):
        step[i] -= rest / count
    return intercept


@kernel(reorder=True, borrow=True)
def _take(error, row, change):
    for r in range(len(error)):
        error[r] -= change * row[r]


@kernel
def _newton_steps(
    gram,
    rows,
    K,
    filled,
    error,
    beta,
    low,
    high,
    tolerance,
    budget,
    up,
    down,
    gain,
    free,
    inverse,
    factor,
):
    """Active-set Newton over the free rows; returns by how much the errors disagree."""
    size = len(error)
    count = 0
    for r in range(size):
        if low[r] < beta[r] < high[r]:
            free[count] = r
            count += 1
            _fill_row(gram, rows, K, filled, r)
    gap = NEVER
    if count == 0 or not _invert_free(K, free, count, inverse, factor):
        return gap
    step = factor[0]
    refined = 0
    for _ in range(budget):
        if count > 0:
            intercept = _direction(inverse, free, count, error, step)
            share = 1.0
            blocked = -1
            for i in range(count):
                r = free[i]
                room = high[r] - beta[r] if step[i] > 0.0 else low[r] - beta[r]
                if step[i] != 0.0 and room / step[i] < share:
                    share = room / step[i]
                    blocked = i
            for i in range(count):
                r = free[i]
                change = share * step[i]
                if i == blocked:
                    end = high[r] if step[i] > 0.0 else low[r]
                    change = end - beta[r]
                    beta[r] = end
                else:
                    beta[r] = snapped(beta[r] + change, low[r], high[r])
                _take(error, K[r, :size], change)
            if blocked >= 0:
                count = _drop(inverse, free, count, blocked)
                refined = 0
                continue
        _open(error, beta, low, high, up, down)
        top, bottom = _move(up, down, gain, gain, 0.0)
        gap = top - bottom
        if gap <= tolerance or count == 0 or count + 1 >= inverse.shape[0]:
            return gap
        i = _last(up, top)
        j = _last(down, bottom)
        r = i if top - intercept > intercept - bottom else j
        if low[r] < beta[r] < high[r]:  # an error of a free row: what jitter and rounding left
            refined += 1
            if refined > 3:
                return gap
            continue
        _fill_row(gram, rows, K, filled, r)
        if not _adopt(inverse, free, count, K, r, step):
            return gap
        count += 1
        refined = 0
    return gap


@kernel
def solve_dual(gram, rows, K, filled, error, beta, low, high, tolerance, inverse, factor):
    """Bring coefficients to the optimum.

    Parameters
    ----------
    gram, rows
        Kernel of all rows, with ones on the diagonal, and which rows the set is of.
    K, filled
        The kernel in the set: of row s, the first ``filled[s]`` numbers are there; updated.
    error, beta
        A start with any sum of beta that is to be kept; updated.
    low, high
        Bounds of beta.
    tolerance
        By how much errors may disagree.
    inverse, factor
        Workspace, square, for the free rows; with more free rows, pair steps go alone.

    Returns
    -------
    int
        How many pair steps were taken.
    """
    size = len(error)
    up = np.empty(size)
    down = np.empty(size)
    gain = np.zeros(size, np.float32)
    bits = gain.view(np.int32)
    free = np.empty(size + 1, np.int64)
    total = 0
    spent = 0.0
    batch = 16 + size // 4
    while True:
        gap, steps = _pair_steps(
            gram, rows, K, filled, error, beta, low, high, tolerance, batch, up, down, gain, bits
        )
        total += steps
        if gap <= tolerance or total >= MOST_STEPS:
            return total
        spent += steps * (PAIR_STEP + PER_ROW * size)
        count = 0
        for r in range(size):
            count += low[r] < beta[r] < high[r]
        price = MULTIPLICATION * count * (0.7 * count * count + 4.0 * (count + size))
        if spent >= price and 1 < count < inverse.shape[0] - 8:
            gap = _newton_steps(
                gram,
                rows,
                K,
                filled,
                error,
                beta,
                low,
                high,
                tolerance,
                8 + count,
                up,
                down,
                gain,
                free,
                inverse,
                factor,
            )
            if gap <= tolerance:
                return total
            spent = 0.0
