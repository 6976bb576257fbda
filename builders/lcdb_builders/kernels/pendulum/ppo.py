"""Proximal policy optimisation of one lifetime, as the first version in OpenAI's Baselines has it.

Weights of policy and critic stand in rows of eight (`rows`), the policy's first; the logarithm of
the standard deviation is a number of its own. Sums over a minibatch run in eight lanes, which are
added up in halves; sums over a segment in its order.
"""

from __future__ import annotations

import math

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import permute_head
from lcdb_builders.kernels.pendulum.actor_critic import DISCOUNT, TOO_LARGE
from lcdb_builders.kernels.pendulum.environment import scaled_angle, scaled_speed, step
from lcdb_builders.kernels.pendulum.fourier import POLICY_DEPENDENT, POLICY_INDEPENDENT
from lcdb_builders.kernels.pendulum.functions import exponential
from lcdb_builders.kernels.pendulum.noise import normals_into, starting_angle
from lcdb_builders.kernels.pendulum.rows import dot, rows_into, rows_of, waves_of
from lcdb_builders.kernels.pendulum.vectors import (
    LANES,
    choose,
    load,
    root,
    rows_of_lanes,
    spread,
    store,
    total,
)

__all__ = ["SHUFFLES", "ppo"]

SHUFFLES = 2  # lane of the streams that order the samples of an epoch
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-5
# What is kept of a sample, and of a sample in a minibatch.
ACTION, DENSITY, REWARD, VALUE, ADVANTAGE, RETURN, MEAN = range(7)


@kernel(borrow=True)
def _advantages(segment, begins, value_after, trace_decay):
    """Fill in standardised advantages and returns of a segment; return the advantages' spread.

    ``begins[i]`` is 1 where sample i starts an episode: the sample before has no future.
    """
    size = segment.shape[1]
    advantage, mean = 0.0, 0.0
    for i in range(size - 1, -1, -1):
        goes_on = 1.0 - begins[i + 1]
        expected = value_after if i == size - 1 else segment[VALUE, i + 1] * goes_on
        error = segment[REWARD, i] + DISCOUNT * expected - segment[VALUE, i]
        advantage = error + trace_decay * goes_on * advantage
        segment[ADVANTAGE, i] = advantage
        segment[RETURN, i] = advantage + segment[VALUE, i]
        mean += advantage
    mean /= size
    squares = 0.0
    for i in range(size):
        squares += (segment[ADVANTAGE, i] - mean) * (segment[ADVANTAGE, i] - mean)
    spread_ = math.sqrt(squares / size)
    for i in range(size):
        segment[ADVANTAGE, i] = (segment[ADVANTAGE, i] - mean) / spread_
    return spread_


@kernel(borrow=True)
def _outputs(batch, segment, features, weights, chosen, policy_rows, log_deviation):
    """Gather the samples of a minibatch, with the mean action and value that they have now."""
    size, rows = len(chosen), len(weights) // LANES
    for j in range(size):
        i = chosen[j]
        batch[MEAN, j] = dot(weights, features[i], 0, policy_rows)
        batch[VALUE, j] = dot(weights, features[i], policy_rows, rows)
        batch[ACTION, j] = segment[ACTION, i]
        batch[DENSITY, j] = segment[DENSITY, i]
        batch[ADVANTAGE, j] = segment[ADVANTAGE, i]
        batch[RETURN, j] = segment[RETURN, i]
    for j in range(size, (size + LANES - 1) // LANES * LANES):
        batch[:, j] = 0.0  # a sample without influence
        batch[DENSITY, j] = -log_deviation


@kernel(borrow=True)
def _slopes(batch, size, log_deviation, clip):
    """Replace MEAN and VALUE by the loss's slopes along them; return that along log deviation."""
    inverse = exponential(-log_deviation)
    sum_ = spread(0.0)
    for row in range((size + LANES - 1) // LANES):
        z = (load(batch[ACTION], row) - load(batch[MEAN], row)) * inverse
        density = -0.5 * z * z - log_deviation
        ratio = exponential(density - load(batch[DENSITY], row))
        advantage = load(batch[ADVANTAGE], row)
        clipped = choose(ratio > 1.0 + clip, 1.0 + clip, ratio)
        clipped = choose(ratio < 1.0 - clip, 1.0 - clip, clipped)
        gain = ratio * advantage
        # Beyond the clip, where that is the smaller gain, the loss is flat.
        slope = choose(gain <= clipped * advantage, -gain / float(size), 0.0)
        store(slope * z * inverse, batch[MEAN], row)
        sum_ = sum_ + slope * (z * z - 1.0)
        miss = load(batch[VALUE], row) - load(batch[RETURN], row)
        store(2.0 * miss / float(size), batch[VALUE], row)
    return total(sum_)


@kernel(borrow=True)
def _gradient(gradient, slopes, features, chosen, first, stop):
    """Add up slope times feature over a minibatch, for rows first..stop-1."""
    for row in range(first, stop):
        sum_ = spread(0.0)
        for j in range(len(chosen)):
            sum_ = sum_ + slopes[j] * load(features[chosen[j]], row)
        store(sum_, gradient, row)


@kernel(inline=True)
def _moved(weight, gradient, moment, square, pace):
    """Return a weight and its two moments after one step of Adam."""
    moment = BETA_1 * moment + (1.0 - BETA_1) * gradient
    square = BETA_2 * square + (1.0 - BETA_2) * gradient * gradient
    return weight - pace * moment / (root(square) + EPSILON), moment, square


@kernel(borrow=True)
def _improve(
    key0, key1, trial, epoch, weights, log_deviation, moments, segment, features, policy_rows, rate,
    epochs, batch_size, clip, partial, powers, order, batch,
):  # fmt: skip
    """Run the epochs of one segment, from the `epoch`-th of the lifetime on; return log deviation.

    `moments` holds first and second moments and room for a gradient. In each of them the log
    deviation has the first place behind the weights. Samples that do not fill the last minibatch
    of an epoch are used if `partial`.

    Parameters
    ----------
    key0, key1, trial, epoch
        Stream, trial and epoch: they order the samples.
    weights, log_deviation
        Of policy and value, in lanes; the weights are changed.
    moments
        (3, weights + 8), see above.
    segment, features, policy_rows
        Samples, their features, and how many rows of these the policy has.
    rate, epochs, batch_size, clip, partial
        Parameters of PPO.
    powers, order, batch
        Powers of the decays of the moments, and workspace.
    """
    gradient = moments[2]
    rows, last = len(weights) // LANES, moments.shape[1] - LANES
    size = segment.shape[1]
    stop = size if partial else size // batch_size * batch_size
    for _ in range(epochs):
        for i in range(size):
            order[i] = i
        permute_head(key0, key1, epoch, trial, SHUFFLES, order, size)
        epoch += 1
        for first in range(0, stop, batch_size):
            chosen = order[first : min(first + batch_size, size)]
            _outputs(batch, segment, features, weights, chosen, policy_rows, log_deviation)
            slope = _slopes(batch, len(chosen), log_deviation, clip)
            _gradient(gradient, batch[MEAN], features, chosen, 0, policy_rows)
            _gradient(gradient, batch[VALUE], features, chosen, policy_rows, rows)
            powers[0] *= BETA_1
            powers[1] *= BETA_2
            pace = rate * math.sqrt(1.0 - powers[1]) / (1.0 - powers[0])
            for row in range(rows):
                weight, moment, square = _moved(
                    load(weights, row), load(gradient, row), load(moments[0], row),
                    load(moments[1], row), pace,
                )  # fmt: skip
                store(weight, weights, row)
                store(moment, moments[0], row)
                store(square, moments[1], row)
            log_deviation, moments[0, last], moments[1, last] = _moved(
                log_deviation, slope, moments[0, last], moments[1, last], pace
            )
    return log_deviation


@kernel(borrow=True)
def _finite(weights, log_deviation):
    """Return whether policy and critic are still made of numbers."""
    deviation = exponential(log_deviation)
    fine = deviation - deviation == 0.0
    for i in range(len(weights)):
        fine = fine and weights[i] - weights[i] == 0.0
    return fine


@kernel
def ppo(
    key0, key1, trial, rate, trace_decay, independent, dependent, segment_size, epochs, batch_size,
    clip, partial, steps, returns,
):  # fmt: skip
    """Run one lifetime.

    Parameters
    ----------
    key0, key1, trial
        Stream key, and the trial of it.
    rate, trace_decay
        Adam's step size, and lambda.
    independent, dependent
        Order of the critic.
    segment_size, epochs, batch_size, clip
        Steps between two updates, passes over them, samples of a minibatch, and how far a ratio of
        densities may leave 1.
    partial
        Whether samples of an epoch that do not fill its last minibatch are used. Baselines leaves
        them out; a minibatch longer than the segment then never teaches anything.
    steps
        Length of an episode, an even number.
    returns
        (episodes,): the sum of rewards of each episode, to be filled in.

    Returns
    -------
    deviation, freeze_episode
        Standard deviation of actions at the end, and the episode in which learning stopped because
        a number left all bounds, -1 if none.
    """
    policy_rows = rows_of(POLICY_INDEPENDENT, POLICY_DEPENDENT)
    rows = policy_rows + rows_of(independent, dependent)
    highest = max(independent, dependent, POLICY_INDEPENDENT)
    width = LANES * rows
    features = rows_of_lanes(rows * (segment_size + 1)).reshape(segment_size + 1, width)
    weights = rows_of_lanes(rows).reshape(-1)
    moments = rows_of_lanes(3 * (rows + 1)).reshape(3, -1)
    waves = rows_of_lanes(8).reshape(-1)
    noise = rows_of_lanes((steps + LANES - 1) // LANES).reshape(-1)[:steps].reshape(steps, 1)
    segment = np.empty((6, segment_size))
    batch = rows_of_lanes(7 * ((batch_size + LANES - 1) // LANES)).reshape(7, -1)
    order, begins = np.empty(segment_size, np.int64), np.zeros(segment_size + 1)
    powers, trials = np.ones(2), np.full(1, trial)
    log_deviation, freeze_episode = 0.0, -1
    kept, epoch = 0, 0
    for episode in range(len(returns)):
        normals_into(key0, key1, episode, trials, noise)
        angle = starting_angle(key0, key1, episode, trial)
        speed, sum_ = 0.0, 0.0
        for t in range(steps):
            waves_of(waves, scaled_angle(angle), scaled_speed(speed), highest)
            row = rows_into(features[kept], 0, waves, POLICY_INDEPENDENT, POLICY_DEPENDENT)
            rows_into(features[kept], row, waves, independent, dependent)
            if kept == segment_size and freeze_episode < 0:
                value = dot(weights, features[kept], policy_rows, rows)
                begins[segment_size] = 0.0
                value_after = 0.0 if t == 0 else value
                spread_ = _advantages(segment, begins, value_after, DISCOUNT * trace_decay)
                if not (0.0 < spread_ < TOO_LARGE):
                    freeze_episode = episode
                else:
                    log_deviation = _improve(
                        key0, key1, trial, epoch, weights, log_deviation, moments, segment,
                        features, policy_rows, rate, epochs, batch_size, clip, partial, powers,
                        order, batch,
                    )  # fmt: skip
                    epoch += epochs
                    if not _finite(weights, log_deviation):
                        freeze_episode = episode
            if kept == segment_size:
                features[0] = features[kept]
                kept = 0
            mean = dot(weights, features[kept], 0, policy_rows)
            z = noise[t, 0]
            action = mean + exponential(log_deviation) * z
            segment[ACTION, kept] = action
            segment[DENSITY, kept] = -0.5 * z * z - log_deviation
            segment[VALUE, kept] = dot(weights, features[kept], policy_rows, rows)
            begins[kept] = t == 0
            angle, speed, reward = step(angle, speed, action)
            segment[REWARD, kept] = reward
            sum_ += reward
            kept += 1
        returns[episode] = sum_
    return exponential(log_deviation), freeze_episode
