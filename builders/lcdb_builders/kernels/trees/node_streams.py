"""Words of random bits for the nodes of trees, derived from their parents' words.

As `lcdb_builders.reference.randomness` defines them: no decision depends on how many came before,
so nodes that no test row reaches are never grown, and a forest can be grown in any order.
"""

from __future__ import annotations

import numpy as np
from numba import config

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import below

__all__ = ["LEFT", "OWN", "RIGHT", "descend", "draw", "restore_order", "visit"]

LEFT, RIGHT, OWN = 1, 2, 3
DRAWS_PER_WORD = 4

if config.DISABLE_JIT:
    MASK = 2**64 - 1

    def descend(word, child):
        """Return the word of a node's child, or a further word of its own."""
        state = (int(word) + child * 0x9E3779B97F4A7C15) & MASK
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & MASK
        return np.uint64(state ^ (state >> 31))

    def draw(word, m):
        """Return a draw from 0..m-1 and a word for the next draw."""
        return below(word, m), np.uint64((int(word) * int(m)) & MASK)

else:
    GOLDEN = np.uint64(0x9E3779B97F4A7C15)
    FIRST = np.uint64(0xBF58476D1CE4E5B9)
    SECOND = np.uint64(0x94D049BB133111EB)

    @kernel(inline=True, borrow=True)
    def descend(word, child):
        """Return the word of a node's child, or a further word of its own."""
        state = np.uint64(word) + np.uint64(child) * GOLDEN
        state = (state ^ (state >> np.uint64(30))) * FIRST
        state = (state ^ (state >> np.uint64(27))) * SECOND
        return state ^ (state >> np.uint64(31))

    @kernel(inline=True, borrow=True)
    def draw(word, m):
        """Return a draw from 0..m-1 and a word for the next draw."""
        return below(word, m), word * np.uint64(m)


@kernel(inline=True, borrow=True)
def visit(i, word, rest, order, swaps):
    """Bring the feature that a node visits as its i-th to ``order[i]``.

    Parameters
    ----------
    i
        Features visited so far.
    word, rest
        The node's word, and what visits have left of it: the word itself at first.
    order, swaps
        Features, 0..d-1 at first; and what `restore_order` needs.

    Returns
    -------
    rest
        What is left for the next visit.
    """
    if i > 0 and i % DRAWS_PER_WORD == 0:
        rest = descend(word, OWN + i // DRAWS_PER_WORD - 1)
    step, rest = draw(rest, len(order) - i)
    swaps[i] = i + step
    order[i], order[i + step] = order[i + step], order[i]
    return rest


@kernel(inline=True, borrow=True)
def restore_order(visited, order, swaps):
    """Undo the swaps of `visit`."""
    for i in range(visited - 1, -1, -1):
        j = swaps[i]
        order[i], order[j] = order[j], order[i]
