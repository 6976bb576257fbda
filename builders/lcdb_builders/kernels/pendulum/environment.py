"""The pendulum: what one step of 0.01 s does to it, and the observation that agents get.

Angle 0 hangs down. Unit mass and length, gravity 9.8, friction 0.1, torque within 5. A step is ten
forward Euler steps of 0.001, each from the old state; then the speed is clipped to 3 pi. The reward
is that of the new state. Numbers or vectors of eight pendulums alike.
"""

from __future__ import annotations

import math

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import choose
from lcdb_builders.kernels.pendulum.functions import cosine, nearest, sine

__all__ = ["play", "scaled_angle", "scaled_speed", "step"]

FRICTION, GRAVITY, TORQUE = 0.1, 9.8, 5.0
SUBSTEPS, SECONDS = 10, 0.001
SPEED = 3.0 * math.pi


@kernel(inline=True)
def _within(x, bound):
    """Return x, clipped to [-bound, bound]."""
    return choose(x > bound, bound, choose(x < -bound, -bound, x))


@kernel(inline=True)
def step(angle, speed, action):
    """Return angle, speed and reward after one step; an action that is not a number is 0."""
    torque = _within(choose(action == action, action, 0.0), TORQUE)
    for _ in range(SUBSTEPS):
        acceleration = torque - FRICTION * speed - GRAVITY * sine(angle)
        angle = angle + SECONDS * speed
        speed = speed + SECONDS * acceleration
    speed = _within(speed, SPEED)
    return angle, speed, -cosine(angle) - speed * speed / 100.0


@kernel(inline=True)
def scaled_angle(angle):
    """Return the angle as a share of a turn from upright to upright, in [0, 1)."""
    turns = angle * (0.5 / math.pi) + 0.5
    whole = nearest(turns)
    return turns - choose(whole > turns, whole - 1.0, whole)


@kernel(inline=True)
def scaled_speed(speed):
    """Return the speed as a share of its range, in [0, 1]."""
    return (speed + SPEED) * (0.5 / SPEED)


@kernel
def play(angle, actions):
    """Return angles, speeds and rewards of a pendulum that starts at rest, (3, steps)."""
    reached = np.empty((3, len(actions)))
    speed = 0.0
    for i in range(len(actions)):
        angle, speed, reward = step(angle, speed, actions[i])
        reached[0, i] = angle
        reached[1, i] = speed
        reached[2, i] = reward
    return reached
