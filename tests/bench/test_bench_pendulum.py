"""Bars of the agents: processor time per episode of a lifetime; small in the ordinary tests.

``LCDB_FULL=1 pytest tests/bench/test_bench_pendulum.py`` measures, over lifetimes with
hyper-parameters as they are drawn: Actor-Critic within 0.7 ms per episode, PPO within 1.9 ms. What
is printed is the time of `LIFETIMES` lifetimes of `EPISODES` episodes: divide by their product.
"""

from __future__ import annotations

import time

import pytest
from lcdb_builders.experiments import pendulum

from tests.support.counts import counts

LIFETIMES, EPISODES = counts(8, 80), counts(1, 20)


@pytest.mark.parametrize("algorithm", ["actor_critic", "ppo"])
def test_lifetimes(benchmark, algorithm):
    found = benchmark.pedantic(
        pendulum.lifetimes,
        args=(algorithm, range(LIFETIMES), EPISODES, 1),
        rounds=counts(1, 5),
        warmup_rounds=1,
    )
    assert found.episode_return.shape == (LIFETIMES, EPISODES)
    before = time.process_time()
    pendulum.lifetimes(algorithm, range(LIFETIMES), EPISODES, 1)
    seconds = time.process_time() - before
    benchmark.extra_info["ms per episode"] = 1e3 * seconds / (LIFETIMES * EPISODES)
