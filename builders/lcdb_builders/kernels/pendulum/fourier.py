"""The Fourier basis of two coordinates in [0, 1], for eight lifetimes in step.

Order (i, d) means the products cos(pi c.x) for all c in {0..d} x {0..d}, in this order, then the
single waves cos(k pi x_1) for k = d+1..i, then those of x_2. Lanes may have different orders: where
a lane has no such feature it is exactly 0.
"""

from __future__ import annotations

import math

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import eight, load_eight, rows_of_eight, store_eight
from lcdb_builders.kernels.pendulum.functions import cosine, sine

__all__ = [
    "HIGHEST",
    "POLICY_DEPENDENT",
    "POLICY_INDEPENDENT",
    "features_into",
    "features_of",
    "mask_into",
    "masks_of_orders",
    "waves_into",
]

#: Order of the policy's basis.
POLICY_INDEPENDENT, POLICY_DEPENDENT = 6, 5
#: The highest order of a basis.
HIGHEST = 10
# Rows of a table of waves: cos and sin of k pi x_1, then of k pi x_2, each for k = 0..10.
WAVES = HIGHEST + 1
_COS_1, _SIN_1, _COS_2, _SIN_2 = 0, WAVES, 2 * WAVES, 3 * WAVES


@kernel(inline=True, borrow=True)
def _wave_into(waves, x, cosines, sines, highest):
    """Cosines and sines of the multiples of pi x, by adding up angles."""
    c1, s1 = cosine(x * math.pi), sine(x * math.pi)
    c, s = eight(1.0), eight(0.0)
    store_eight(c, waves, cosines)
    store_eight(s, waves, sines)
    for k in range(1, highest + 1):
        c, s = c * c1 - s * s1, s * c1 + c * s1
        store_eight(c, waves, cosines + k)
        store_eight(s, waves, sines + k)


@kernel(inline=True, borrow=True)
def waves_into(waves, x1, x2, highest):
    """Fill the table of waves of a state, up to k = `highest`."""
    _wave_into(waves, x1, _COS_1, _SIN_1, highest)
    _wave_into(waves, x2, _COS_2, _SIN_2, highest)


@kernel
def masks_of_orders(independent, dependent):
    """Return which waves enter the products and which stand alone, as tables of 0 and 1."""
    products = rows_of_eight(4 * WAVES)
    singles = rows_of_eight(WAVES)
    for lane in range(len(dependent)):
        for k in range(WAVES):
            for table in range(4):
                products[table * WAVES + k, lane] = k <= dependent[lane]
            singles[k, lane] = dependent[lane] < k <= independent[lane]
    return products, singles


@kernel(inline=True, borrow=True)
def mask_into(masked, waves, products, highest):
    """Write the waves that enter products to the table `masked`."""
    for table in range(4):
        for k in range(highest + 1):
            row = table * WAVES + k
            store_eight(load_eight(waves, row) * load_eight(products, row), masked, row)


@kernel
def features_of(lowest, highest, independent):
    """Return the number of rows that `features_into` fills."""
    return (highest + 1) ** 2 + 2 * max(0, independent - lowest)


@kernel(inline=True, borrow=True)
def features_into(features, masked, waves, singles, lowest, highest, independent):
    """Fill in the features of a state.

    Parameters
    ----------
    features
        (rows, 8): to be filled in.
    masked, waves, singles
        Tables: of the waves that enter products, of all waves, and of which of these stand alone.
    lowest, highest
        Dependent orders of the lanes.
    independent
        The highest independent order.
    """
    row = 0
    for k in range(highest + 1):
        c, s = load_eight(masked, _COS_1 + k), load_eight(masked, _SIN_1 + k)
        for l in range(highest + 1):
            product = c * load_eight(masked, _COS_2 + l) - s * load_eight(masked, _SIN_2 + l)
            store_eight(product, features, row)
            row += 1
    for table in (_COS_1, _COS_2):
        for k in range(lowest + 1, independent + 1):
            store_eight(load_eight(waves, table + k) * load_eight(singles, k), features, row)
            row += 1
