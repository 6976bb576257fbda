"""Random words as a pure function of their coordinates: Philox4x64-10, counter-based.

Word ``i`` of the stream ``(key, n, repetition, lane)`` is word ``i % 4`` of the Philox block whose
counter is ``(i // 4 + 1, n, repetition, lane)``. This is what ``numpy.random.Philox(key=key,
counter=[0, n, repetition, lane]).random_raw()`` returns, so every draw in the database can be
replayed with NumPy alone.

An integer below ``m`` is ``(word * m) >> 64``. Its bias is below ``m / 2**64``.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from lcdb_builders.kernels.core.jit import kernel

__all__ = ["below", "bootstrap_into", "permute_head", "philox", "uniform"]

M0 = np.uint64(0xD2E7470EE14C6C93)
M1 = np.uint64(0xCA5A826395121157)
W0 = np.uint64(0x9E3779B97F4A7C15)
W1 = np.uint64(0xBB67AE8584CAA73B)
_TO_UNIT = 2.0**-53

if config.DISABLE_JIT:  # plain Python stands in, so that kernels can be stepped through

    def philox(key0, key1, block, n, repetition, lane):
        """Return the four words of one Philox block (block counts from 0).

        Parameters
        ----------
        key0, key1
            The key.
        block, n, repetition, lane
            The counter: which block of which stream.
        """
        generator = np.random.Philox(
            key=np.array([key0, key1], np.uint64),
            counter=np.array([block, n, repetition, lane], np.uint64),
        )
        return tuple(generator.random_raw(4))

    def below(word, m):
        """Return the integer in 0..m-1 that a word stands for."""
        return (int(word) * int(m)) >> 64

else:

    @intrinsic
    def _multiply_wide(typingctx, a, b):
        """High and low 64 bits of a product: one machine instruction."""
        signature = types.UniTuple(types.uint64, 2)(types.uint64, types.uint64)

        def codegen(context, builder, sig, args):
            wide = ir.IntType(128)
            word = ir.IntType(64)
            product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
            high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
            low = builder.trunc(product, word)
            return cgutils.pack_array(builder, [high, low])

        return signature, codegen

    @kernel(inline=True)
    def philox(key0, key1, block, n, repetition, lane):
        """Return the four words of one Philox block (block counts from 0).

        Parameters
        ----------
        key0, key1
            The key.
        block, n, repetition, lane
            The counter: which block of which stream.
        """
        c0 = np.uint64(block) + np.uint64(1)
        c1 = np.uint64(n)
        c2 = np.uint64(repetition)
        c3 = np.uint64(lane)
        k0 = np.uint64(key0)
        k1 = np.uint64(key1)
        for _ in range(10):
            high0, low0 = _multiply_wide(M0, c0)
            high1, low1 = _multiply_wide(M1, c2)
            c0 = high1 ^ c1 ^ k0
            c1 = low1
            c2 = high0 ^ c3 ^ k1
            c3 = low0
            k0 += W0
            k1 += W1
        return c0, c1, c2, c3

    @kernel(inline=True)
    def below(word, m):
        """Return the integer in 0..m-1 that a word stands for."""
        return np.int64(_multiply_wide(word, np.uint64(m))[0])


@kernel(inline=True)
def uniform(word):
    """Return the float64 in [0, 1) that a word stands for."""
    return (word >> np.uint64(11)) * _TO_UNIT


@kernel(borrow=True)
def permute_head(key0, key1, n, repetition, lane, values, head):
    """Fisher-Yates in place: ``values[:head]`` becomes a draw without replacement, in order.

    Parameters
    ----------
    key0, key1, n, repetition, lane
        The stream.
    values
        What is drawn from.
    head
        How many are drawn.
    """
    size = len(values)
    for block in range((head + 3) // 4):
        words = philox(key0, key1, block, n, repetition, lane)
        first = 4 * block
        for i in range(first, min(first + 4, head)):
            j = i + below(words[i - first], size - i)
            values[i], values[j] = values[j], values[i]


@kernel(borrow=True)
def bootstrap_into(key0, key1, n, repetition, lane, size, out):
    """Fill ``out`` with draws with replacement from 0..size-1.

    Parameters
    ----------
    key0, key1, n, repetition, lane
        The stream.
    size
        How many numbers are drawn from.
    out
        As many as are drawn, filled.
    """
    for block in range((len(out) + 3) // 4):
        words = philox(key0, key1, block, n, repetition, lane)
        first = 4 * block
        for i in range(first, min(first + 4, len(out))):
            out[i] = below(words[i - first], size)
