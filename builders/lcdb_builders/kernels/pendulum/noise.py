"""What an episode draws: where it starts, and one standard normal number per step.

The stream is ``(key, n=episode, repetition=trial, lane)``. With U = words / 2**64 (53 bits of
each), lane 0 gives ``steps`` words and so as many normal numbers, in the form of Box and Muller:

    r = sqrt(-2 ln(1 - U[:steps / 2])),  a = 2 pi U[steps / 2:],  [r cos a, r sin a]

and the first word of lane 1 gives the starting angle, ``(2 U - 1) pi``.
"""

from __future__ import annotations

import math

from lcdb_builders.kernels.core.elementary import log_normal
from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import philox, uniform
from lcdb_builders.kernels.pendulum.functions import cosine, sine

__all__ = ["STARTS", "normals_into", "starting_angle"]

NORMALS, STARTS = 0, 1


@kernel(borrow=True)
def _uniforms_into(key0, key1, episode, trial, out, column):
    """Fill a lane with uniform numbers.

    Parameters
    ----------
    key0, key1, episode, trial
        Of the stream.
    out, column
        (steps, lanes), and which lane of it.
    """
    steps = out.shape[0]
    for first in range(0, steps, 4):
        words = philox(key0, key1, first // 4, episode, trial, NORMALS)
        for i in range(min(4, steps - first)):
            out[first + i, column] = uniform(words[i])


@kernel(borrow=True)
def _to_normals(u, v):
    """Replace pairs of uniform numbers by pairs of normal ones."""
    for i in range(len(u)):
        radius = math.sqrt(-2.0 * log_normal(1.0 - u[i]))
        angle = (2.0 * math.pi) * v[i]
        u[i] = radius * cosine(angle)
        v[i] = radius * sine(angle)


@kernel(borrow=True)
def normals_into(key0, key1, episode, trials, out):
    """Fill ``out[step, lane]`` with the normal numbers of an episode of ``trials[lane]``.

    The number of steps must be even.
    """
    for lane in range(len(trials)):
        _uniforms_into(key0, key1, episode, trials[lane], out, lane)
    flat = out.reshape(-1)
    half = len(flat) // 2
    _to_normals(flat[:half], flat[half:])


@kernel(inline=True)
def starting_angle(key0, key1, episode, trial):
    """Return the angle in [-pi, pi) at which an episode starts."""
    words = philox(key0, key1, 0, episode, trial, STARTS)
    return (2.0 * uniform(words[0]) - 1.0) * math.pi
