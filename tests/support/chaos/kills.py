"""Kill builders that work on one directory, start them again, and see what they end up with."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

__all__ = ["Builder", "kill_and_restart"]


class Builder(Protocol):
    """A builder at work: a process of `subprocess`, or anything that can be asked the same."""

    def poll(self) -> int | None: ...
    def kill(self) -> Any: ...


def kill_and_restart(
    launch: Sequence[Callable[[], Builder]],
    kills: int,
    seconds: float,
    draw: random.Random,
) -> int:
    """Run builders side by side, killing a random one at random moments; return the kills.

    Parameters
    ----------
    launch
        One function per builder that starts it; again after it was killed.
    kills
        How often to kill at most: builders that have come to their end end the killing, too.
    seconds
        Mean time between kills.
    draw
        Decides who is killed, and when.
    """
    running = [start() for start in launch]
    done = 0
    while done < kills:
        time.sleep(draw.expovariate(1 / seconds))
        alive = [i for i, builder in enumerate(running) if builder.poll() is None]
        if not alive:
            break
        i = draw.choice(alive)
        running[i].kill()
        running[i] = launch[i]()
        done += 1
    while any(builder.poll() is None for builder in running):
        time.sleep(0.02)
    codes = [builder.poll() for builder in running]
    assert codes == [0] * len(codes), f"builders ended with {codes}"
    return done
