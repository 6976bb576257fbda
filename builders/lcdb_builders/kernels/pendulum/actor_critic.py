"""Actor-Critic(lambda), eight lifetimes in step: each lane of a vector is a trial of its own.

A lane's numbers do not depend on its neighbours: features that a lane lacks stay 0, and so do their
traces and weights, which adds nothing to any sum. All sums run in the order of the features.
"""

from __future__ import annotations

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.pendulum.environment import scaled_angle, scaled_speed, step
from lcdb_builders.kernels.pendulum.fourier import (
    POLICY_DEPENDENT,
    POLICY_INDEPENDENT,
    features_into,
    features_of,
    mask_into,
    masks_of_orders,
    waves_into,
)
from lcdb_builders.kernels.pendulum.noise import normals_into, starting_angle
from lcdb_builders.kernels.pendulum.vectors import (
    LANES,
    choose,
    load,
    marks,
    rows_of_lanes,
    spread,
    store,
)

__all__ = ["DISCOUNT", "actor_critic"]

DISCOUNT = 0.99
TOO_LARGE = 1e100


@kernel(inline=True, borrow=True)
def _dot(weights, features):
    """Return the sum of products, lane by lane."""
    sum_ = spread(0.0)
    for i in range(len(features)):
        sum_ = sum_ + load(weights, i) * load(features, i)
    return sum_


@kernel(inline=True, borrow=True)
def _update(weights, traces, features, after, decay, gradient, pace):
    """Let traces decay and add the gradient, move weights along; return their next output.

    `after` has the features of the next state; the output is that of the moved weights.
    """
    sum_ = spread(0.0)
    for i in range(len(features)):
        trace = decay * load(traces, i) + gradient * load(features, i)
        weight = load(weights, i) + pace * trace
        store(trace, traces, i)
        store(weight, weights, i)
        sum_ = sum_ + weight * load(after, i)
    return sum_


@kernel
def _freeze(broken, episode, freeze_episode, first, second):
    """Note the episode for the marked lanes, and clear their traces."""
    for lane in range(LANES):
        if broken >> lane & 1:
            freeze_episode[lane] = episode
            first[:, lane] = 0.0
            second[:, lane] = 0.0


@kernel
def actor_critic(
    key0, key1, trials, actor_rates, critic_rates, decays, independent, dependent, deviation,
    learns_deviation, steps, returns, deviations, freeze_episodes,
):  # fmt: skip
    """Run eight lifetimes.

    Parameters
    ----------
    key0, key1, trials
        Stream key, and the eight trials of it.
    actor_rates, critic_rates, decays
        Step sizes and lambda of each lane.
    independent, dependent
        Order of each lane's critic.
    deviation, learns_deviation
        Standard deviation of actions at the start, and whether it is learned.
    steps
        Length of an episode, an even number.
    returns
        (episodes, 8): the sum of rewards of each episode, to be filled in.
    deviations, freeze_episodes
        (8,): the standard deviation at the end, and the episode in which learning stopped because
        a number left all bounds, -1 if none; to be filled in.
    """
    lowest, highest, most = dependent.min(), dependent.max(), independent.max()
    everywhere = np.full(LANES, POLICY_INDEPENDENT), np.full(LANES, POLICY_DEPENDENT)
    _, policy_singles = masks_of_orders(*everywhere)
    products, singles = masks_of_orders(independent, dependent)
    waves, masked = rows_of_lanes(len(products)), rows_of_lanes(len(products))
    size = features_of(lowest, highest, most)
    weights, traces = rows_of_lanes(size), rows_of_lanes(size)
    now, after = rows_of_lanes(size), rows_of_lanes(size)
    policy_order = POLICY_DEPENDENT, POLICY_DEPENDENT, POLICY_INDEPENDENT
    policy_size = features_of(*policy_order)
    policy_weights, policy_traces = rows_of_lanes(policy_size), rows_of_lanes(policy_size)
    policy_now, policy_after = rows_of_lanes(policy_size), rows_of_lanes(policy_size)
    noise = rows_of_lanes(steps)
    start = np.empty(LANES)
    used = max(highest, most, POLICY_INDEPENDENT)

    actor_rate, critic_rate = load(actor_rates, 0), load(critic_rates, 0)
    decay = DISCOUNT * load(decays, 0)
    sigma = spread(deviation)
    sigma_trace = spread(0.0)
    active = sigma == sigma
    freeze_episodes[:] = -1
    for episode in range(len(returns)):
        normals_into(key0, key1, episode, trials, noise)
        for lane in range(LANES):
            start[lane] = starting_angle(key0, key1, episode, trials[lane])
        angle, speed, sum_ = load(start, 0), spread(0.0), spread(0.0)
        traces[:] = 0.0
        policy_traces[:] = 0.0
        sigma_trace = spread(0.0)
        waves_into(waves, scaled_angle(angle), scaled_speed(speed), used)
        mask_into(masked, waves, products, highest)
        features_into(now, masked, waves, singles, lowest, highest, most)
        features_into(policy_now, waves, waves, policy_singles, *policy_order)
        value = _dot(weights, now)
        mean = _dot(policy_weights, policy_now)
        for t in range(steps):
            action = mean + sigma * load(noise, t)
            angle, speed, reward = step(angle, speed, action)
            sum_ = sum_ + reward
            waves_into(waves, scaled_angle(angle), scaled_speed(speed), used)
            mask_into(masked, waves, products, highest)
            features_into(after, masked, waves, singles, lowest, highest, most)
            features_into(policy_after, waves, waves, policy_singles, *policy_order)
            expected = spread(0.0)
            if t < steps - 1:  # the last state has no future
                expected = _dot(weights, after)
            error = reward + DISCOUNT * expected - value
            bounded = choose(error > 0.0, error, -error) < TOO_LARGE
            broken = marks(active & ~bounded)
            if broken:
                _freeze(broken, episode, freeze_episodes, traces, policy_traces)
                active = active & bounded
            pull = choose(active, error, 0.0)
            value = _update(weights, traces, now, after, decay, spread(1.0), critic_rate * pull)
            gap = action - mean
            gradient = choose(active, gap / (sigma * sigma), 0.0)
            pace = actor_rate * pull
            mean = _update(
                policy_weights, policy_traces, policy_now, policy_after, decay, gradient, pace
            )
            if learns_deviation:
                sigma_trace = decay * sigma_trace + gap / (sigma * sigma * sigma) - 1.0 / sigma
                sigma = choose(active, sigma + pace * sigma_trace, sigma)
            bounded = (mean - mean == 0.0) & (sigma - sigma == 0.0)
            broken = marks(active & ~bounded)
            if broken:
                _freeze(broken, episode, freeze_episodes, traces, policy_traces)
                active = active & bounded
            now, after = after, now
            policy_now, policy_after = policy_after, policy_now
        store(sum_, returns, episode)
    store(sigma, deviations, 0)
