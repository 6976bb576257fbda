"""Features of one state in rows of eight, so that an inner product is a few vector instructions.

The products cos(pi c.x) have one row per c_1, with c_2 along it (two rows where the order is above
7), and the single waves follow, those of x_1 first. What a row does not need is 0, and so stay its
weights. `dot` adds up rows one after the other, and the eight sums in halves.
"""

from __future__ import annotations

import math

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import EIGHT, choose, eight, load_eight, store_eight, total
from lcdb_builders.kernels.pendulum.functions import cosine, sine

__all__ = ["dot", "rows_into", "rows_of", "waves_of"]

_WIDTH = 2 * EIGHT
_MULTIPLES = np.arange(float(_WIDTH))


@kernel
def rows_of(independent, dependent):
    """Return the number of rows of a basis."""
    products = (dependent + 1) * (1 if dependent < EIGHT else 2)
    return products + (2 * max(0, independent - dependent) + EIGHT - 1) // EIGHT


@kernel(inline=True, borrow=True)
def waves_of(waves, x1, x2, highest):
    """Fill four rows of 16: cosines and sines of k pi x_1, and of k pi x_2, for k up to 7 or 15."""
    for part in range(1 if highest < EIGHT else 2):
        multiples = load_eight(_MULTIPLES, part)
        for coordinate, x in ((0, x1), (2, x2)):
            angles = multiples * (math.pi * x)
            store_eight(cosine(angles), waves, 2 * coordinate + part)
            store_eight(sine(angles), waves, 2 * coordinate + 2 + part)


@kernel(inline=True, borrow=True)
def rows_into(features, row, waves, independent, dependent):
    """Write the features of a basis to rows from `row` on; return the row after them.

    `waves` is flat, as `waves_of` fills it.
    """
    for part in range(1 if dependent < EIGHT else 2):
        wanted = load_eight(_MULTIPLES, part) <= float(dependent)
        c2 = choose(wanted, load_eight(waves, 4 + part), 0.0)
        s2 = choose(wanted, load_eight(waves, 6 + part), 0.0)
        parts = 1 if dependent < EIGHT else 2
        for k in range(dependent + 1):
            product = waves[k] * c2 - waves[_WIDTH + k] * s2
            store_eight(product, features, row + parts * k + part)
    row += (dependent + 1) * (1 if dependent < EIGHT else 2)
    if independent > dependent:
        slot = EIGHT * row
        for coordinate in (0, 2 * _WIDTH):
            for k in range(dependent + 1, independent + 1):
                features[slot] = waves[coordinate + k]
                slot += 1
        while slot % EIGHT:
            features[slot] = 0.0
            slot += 1
        row = slot // EIGHT
    return row


@kernel(inline=True, borrow=True)
def dot(weights, features, first, stop):
    """Return the inner product of rows first..stop-1 of two flat arrays."""
    sum_ = eight(0.0)
    for row in range(first, stop):
        sum_ = sum_ + load_eight(weights, row) * load_eight(features, row)
    return total(sum_)
