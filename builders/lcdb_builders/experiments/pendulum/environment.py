"""The pendulum by itself: play actions, see what happens."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lcdb_builders.kernels.pendulum.environment import play, scaled_angle, scaled_speed

__all__ = ["Episode", "observe", "play_episode"]


class Episode(NamedTuple):
    """The states after each step of an episode, and the rewards for them."""

    angle: np.ndarray
    speed: np.ndarray
    reward: np.ndarray


def play_episode(angle: float, actions: np.ndarray) -> Episode:
    """Play torques on a pendulum at rest, one per step of 0.01 s.

    Parameters
    ----------
    angle
        Where it starts; 0 hangs down.
    actions
        One torque per step, which the pendulum clips to [-5, 5]; one that is not a number is 0.

    Examples
    --------
    >>> left_alone = play_episode(0.0, np.zeros(2000))
    >>> round(float(left_alone.reward.sum()), 9)
    -2000.0
    """
    return Episode(*play(float(angle), np.asarray(actions, np.float64)))


def observe(angle: float, speed: float) -> tuple[float, float]:
    """Return what agents see of a state: two numbers in [0, 1].

    Examples
    --------
    >>> observe(0.0, 0.0)
    (0.5, 0.5)
    """
    return scaled_angle(float(angle)), scaled_speed(float(speed))
