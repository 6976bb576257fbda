"""The least-squares optimum of one shape: linear parameters solved for, the others searched.

For each place `u` of the box, intercept and slope have a closed form, and so has the gradient of
the loss that is left (variable projection: Golub and Pereyra 1973). A grid over the box finds the
valleys; Newton steps, with a Hessian from differences of that gradient, go down the deepest of
them. Nothing is random: the same curve has the same optimum, to the last bit.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lcdb.curves.families import shape

__all__ = ["minimise", "project"]

#: Valleys of the grid that Newton steps go down.
STARTS = 4
STEPS = 60
#: A slope whose sign is wrong stands at this end of its range.
NO_SLOPE = 0.0


@njit(nogil=True, cache=True, error_model="numpy")
def project(code, intercept, sign, n, y, weight, u, value, slope, out):
    """Fill out = (loss, intercept, slope, gradient along u) of a shape; loss is inf out of bounds.

    Parameters
    ----------
    code, intercept, sign
        Of the family.
    n, y, weight
        (S,) sizes, scores, and non-negative weights.
    u
        (2,) place in the box.
    value, slope
        (S,) and (2, S), workspace: the shape there.
    out
        (5,) to be filled.
    """
    out[0] = np.inf
    if not shape(code, n, u, value, slope):
        return
    total = 0.0
    mean_y = 0.0
    mean = 0.0
    if intercept:
        for i in range(len(n)):
            total += weight[i]
            mean_y += weight[i] * y[i]
            mean += weight[i] * value[i]
        mean_y /= total
        mean /= total
    dot = 0.0
    norm = 0.0
    for i in range(len(n)):
        centred = value[i] - mean
        dot += weight[i] * centred * (y[i] - mean_y)
        norm += weight[i] * centred * centred
    b = dot / norm if norm > 0.0 else 0.0
    if sign == 2:
        b = -1.0
    elif sign * b < 0.0 or not math.isfinite(b):
        b = NO_SLOPE
    loss = 0.0
    down = 0.0
    across = 0.0
    for i in range(len(n)):
        rest = y[i] - mean_y - b * (value[i] - mean)
        loss += weight[i] * rest * rest
        down += weight[i] * rest * slope[0, i]
        across += weight[i] * rest * slope[1, i]
    if not math.isfinite(loss):
        return
    out[0] = loss
    out[1] = mean_y - b * mean
    out[2] = b
    out[3] = -2.0 * b * down
    out[4] = -2.0 * b * across


@njit(nogil=True, cache=True, error_model="numpy")
def _descend(code, intercept, sign, n, y, weight, free, low, high, u, value, slope, enough, best):
    """Go down from `u` by Newton steps that stay in the box; `best` ends as `project` there."""
    probe = np.empty(2)
    probe[:] = u
    out = np.empty(5)
    gradient = np.empty((2, 2))
    project(code, intercept, sign, n, y, weight, u, value, slope, best)
    damping = 1e-3
    for _ in range(STEPS):
        if not best[0] > enough:
            return
        # Hessian by central differences of the gradient, one-sided at the box.
        whole = True
        for k in range(free):
            h = 1e-5 * (high[k] - low[k])
            ahead = min(u[k] + h, high[k])
            behind = max(u[k] - h, low[k])
            probe[:] = u
            probe[k] = ahead
            project(code, intercept, sign, n, y, weight, probe, value, slope, out)
            whole = whole and math.isfinite(out[0])
            gradient[k, 0] = out[3]
            gradient[k, 1] = out[4]
            probe[k] = behind
            project(code, intercept, sign, n, y, weight, probe, value, slope, out)
            whole = whole and math.isfinite(out[0])
            gradient[k, 0] = (gradient[k, 0] - out[3]) / (ahead - behind)
            gradient[k, 1] = (gradient[k, 1] - out[4]) / (ahead - behind)
        h00 = gradient[0, 0] if whole else 0.0
        h11 = gradient[1, 1] if whole and free == 2 else 0.0
        h01 = 0.5 * (gradient[0, 1] + gradient[1, 0]) if whole and free == 2 else 0.0
        moved = False
        reached = 0.0
        before = best[0]
        while damping < 1e12:
            _step(best, free, low, high, u, h00, h01, h11, damping, probe)
            project(code, intercept, sign, n, y, weight, probe, value, slope, out)
            if out[0] < best[0]:
                for k in range(free):
                    reached = max(reached, abs(probe[k] - u[k]) / (high[k] - low[k]))
                u[:] = probe
                best[:] = out
                damping = max(damping * 0.1, 1e-12)
                moved = True
                break
            damping *= 10.0
        if not moved or (reached < 1e-10 and best[0] > before * (1.0 - 1e-13)):
            return


@njit(nogil=True, cache=True, error_model="numpy")
def _step(best, free, low, high, u, h00, h01, h11, damping, probe):
    """Write the damped Newton step from `u`, clipped to the box; what the box holds stays there."""
    g0 = best[3]
    g1 = best[4] if free == 2 else 0.0
    width0 = high[0] - low[0]
    width1 = high[1] - low[1] if free == 2 else 1.0
    # Coordinates in units of the box, so that one damping serves both.
    g0 *= width0
    g1 *= width1
    a = h00 * width0 * width0
    b = h01 * width0 * width1
    c = h11 * width1 * width1
    held0 = (u[0] <= low[0] and g0 > 0.0) or (u[0] >= high[0] and g0 < 0.0)
    held1 = free == 1 or (u[1] <= low[1] and g1 > 0.0) or (u[1] >= high[1] and g1 < 0.0)
    scale = abs(a) + abs(c) + abs(b) + abs(g0) + abs(g1)
    if scale == 0.0:
        scale = 1.0
    # The smallest eigenvalue decides how far the Hessian is from a valley's.
    if held0 or held1:
        lowest = c if held0 else a
    else:
        lowest = 0.5 * (a + c) - math.sqrt(0.25 * (a - c) ** 2 + b * b)
    shift = damping * scale + max(0.0, -lowest) * (1.0 + 1e-6)
    d0 = 0.0
    d1 = 0.0
    if held0 and held1:
        pass
    elif held1:
        d0 = -g0 / (a + shift)
    elif held0:
        d1 = -g1 / (c + shift)
    else:
        det = (a + shift) * (c + shift) - b * b
        d0 = -((c + shift) * g0 - b * g1) / det
        d1 = -((a + shift) * g1 - b * g0) / det
    probe[:] = u
    probe[0] = min(max(u[0] + d0 * width0, low[0]), high[0])
    if free == 2:
        probe[1] = min(max(u[1] + d1 * width1, low[1]), high[1])


@njit(nogil=True, cache=True, error_model="numpy")
def _dot(row, y):
    total = 0.0
    for i in range(len(row)):
        total += row[i] * y[i]
    return total


@njit(nogil=True, cache=True, error_model="numpy")
def grid_shapes(code, intercept, sign, n, weight, places, unit, norm):
    """Fill the shapes at places of the box, centred and of length 1; out of bounds they are zero.

    Parameters
    ----------
    code, intercept, sign, n, weight
        As for `project`.
    places
        (P, 2) of the box.
    unit
        (P, S) to be filled: multiplied by the weights, so that a product with y is all that a
        curve needs.
    norm
        (P,) to be filled: length of the centred shape; NaN out of bounds.
    """
    value = np.empty(len(n))
    slope = np.zeros((2, len(n)))
    for p in range(len(places)):
        norm[p] = np.nan
        unit[p, :] = 0.0
        if not shape(code, n, places[p], value, slope):
            continue
        mean = 0.0
        total = 0.0
        if intercept:
            for i in range(len(n)):
                mean += weight[i] * value[i]
                total += weight[i]
            mean /= total
        square = 0.0
        for i in range(len(n)):
            square += weight[i] * (value[i] - mean) ** 2
        length = math.sqrt(square)
        if not math.isfinite(length):
            continue
        norm[p] = length
        if length > 0.0:
            for i in range(len(n)):
                unit[p, i] = weight[i] * (value[i] - mean) / length


@njit(nogil=True, cache=True, error_model="numpy")
def _score(product, norm, sign):
    """Return by how much a place lowers the sum of squares of a curve."""
    if math.isnan(norm):
        return -np.inf
    if sign == 2:
        return -(2.0 * product * norm + norm * norm)
    if sign * product < 0.0:
        return 0.0
    return product * product


@njit(nogil=True, cache=True, error_model="numpy")
def minimise(code, intercept, sign, n, y, weight, low, high, places, counts, unit, norm, u, out):
    """Find the optimum of a shape for one curve: fill its place and what `project` says there.

    Parameters
    ----------
    code, intercept, sign, n, y, weight
        As for `project`.
    low, high
        (free,) the box.
    places, unit, norm
        What `grid_shapes` filled.
    counts
        (2,) the grid's points along each coordinate.
    u, out
        (2,) and (5,), to be filled.
    """
    free = len(low)
    value = np.empty(len(n))
    slope = np.zeros((2, len(n)))
    u[:] = 0.0
    if free == 0:
        project(code, intercept, sign, n, y, weight, u, value, slope, out)
        return
    whole = 0.0
    for i in range(len(n)):
        whole += weight[i] * y[i] * y[i]
    enough = 1e-30 * whole
    score = np.empty(len(places))
    for p in range(len(places)):
        score[p] = _score(_dot(unit[p], y), norm[p], sign)
    out[0] = np.inf
    trial = np.empty(2)
    best = np.empty(5)
    starts = np.empty(STARTS, np.int64)
    # Without an intercept the middle of the box is the flat shape. Curves that hardly change have
    # their optimum beside it, in a valley too narrow for the grid.
    first = -1 if free == 2 and not intercept else 0
    for s in range(first, _deepest(score, counts, starts)):
        if s < 0:
            trial[:] = 0.5 * (low + high)
        else:
            trial[:] = places[starts[s]]
        _descend(
            code, intercept, sign, n, y, weight, free, low, high, trial, value, slope, enough, best
        )
        if best[0] < out[0]:
            out[:] = best
            u[:] = trial
        if out[0] <= enough:
            return


@njit(nogil=True, cache=True, error_model="numpy")
def _deepest(score, counts, starts):
    """Write the places of the best local maxima of a score on a grid; returns how many."""
    rows = counts[0]
    columns = counts[1]
    kept = 0
    for i in range(rows):
        for j in range(columns):
            p = i * columns + j
            if score[p] == -np.inf:
                continue
            peak = True
            for a in range(max(i - 1, 0), min(i + 2, rows)):
                for b in range(max(j - 1, 0), min(j + 2, columns)):
                    q = a * columns + b
                    # Of equal neighbours the first is the peak.
                    if score[q] > score[p] or (score[q] == score[p] and q < p):
                        peak = False
            if not peak:
                continue
            place = kept
            while place > 0 and score[starts[place - 1]] < score[p]:
                place -= 1
            if place >= len(starts):
                continue
            for k in range(min(kept, len(starts) - 1), place, -1):
                starts[k] = starts[k - 1]
            starts[place] = p
            kept = min(kept + 1, len(starts))
    return kept
