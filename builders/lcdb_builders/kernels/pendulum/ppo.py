"""Proximal policy optimisation of one lifetime, as the first version in OpenAI's Baselines has it.

Weights of policy and critic stand in rows of eight (`rows`), the policy's first; the logarithm of
the standard deviation is a number of its own. Sums over a minibatch run in eight lanes, which are
added up in halves; sums over a segment in its order.
"""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.rng import permute_head
from lcdb_builders.kernels.core.simd import (
    EIGHT,
    choose,
    eight,
    load_eight,
    root,
    rows_of_eight,
    store_eight,
    total,
)
from lcdb_builders.kernels.pendulum.actor_critic import DISCOUNT, TOO_LARGE
from lcdb_builders.kernels.pendulum.environment import scaled_angle, scaled_speed, step
from lcdb_builders.kernels.pendulum.fourier import POLICY_DEPENDENT, POLICY_INDEPENDENT
from lcdb_builders.kernels.pendulum.functions import exponential
from lcdb_builders.kernels.pendulum.noise import normals_into, starting_angle
from lcdb_builders.kernels.pendulum.rows import dot, rows_into, rows_of, waves_of

__all__ = ["ppo"]

SHUFFLES = 2  # lane of the streams that order the samples of an epoch
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-5
# What is kept of a sample, and of a sample in a minibatch.
ACTION, DENSITY, REWARD, VALUE, ADVANTAGE, RETURN, MEAN = range(7)

#: Parameters of PPO, see `ppo`.
Settings = namedtuple("Settings", "rate trace_decay epochs batch_size clip partial")
#: A stream of random numbers: its key and trial.
Stream = namedtuple("Stream", "key0 key1 trial")
#: What is learned: `weights` of policy and critic in rows of eight, of which the policy has the
#: first `policy_rows`; `moments` (3, weights + 8), the first and second of each weight and room for
#: a gradient, in which the log deviation has the first place behind the weights; `powers` (2,) of
#: the moments' decays.
Agent = namedtuple("Agent", "weights policy_rows moments powers")
#: Samples: `segment` (6, samples), their numbers; `features` (samples + 1, weights), the last of
#: the state after them; `begins` (samples + 1,), 1 where an episode starts; and room for a
#: minibatch of them, `order` (samples,) and `batch` (7, samples).
Samples = namedtuple("Samples", "segment features begins order batch")


@kernel(glue=True)
def _agent_of(independent, dependent):
    """Return an agent that has learned nothing."""
    policy_rows = rows_of(POLICY_INDEPENDENT, POLICY_DEPENDENT)
    rows = policy_rows + rows_of(independent, dependent)
    moments = rows_of_eight(3 * (rows + 1)).reshape(3, -1)
    return Agent(
        weights=rows_of_eight(rows).reshape(-1),
        policy_rows=policy_rows,
        moments=moments,
        powers=np.ones(2),
    )


@kernel(glue=True)
def _samples_of(size, batch_size, width):
    """Return room for samples of so many features."""
    lanes = (batch_size + EIGHT - 1) // EIGHT
    return Samples(
        segment=np.empty((6, size)),
        features=rows_of_eight(width // EIGHT * (size + 1)).reshape(size + 1, width),
        begins=np.zeros(size + 1),
        order=np.empty(size, np.int64),
        batch=rows_of_eight(7 * lanes).reshape(7, -1),
    )


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
def _outputs(samples, chosen, agent, log_deviation):
    """Gather the samples of a minibatch, with the mean action and value that they have now."""
    batch, segment, features = samples.batch, samples.segment, samples.features
    size, rows = len(chosen), len(agent.weights) // EIGHT
    for j in range(size):
        i = chosen[j]
        batch[MEAN, j] = dot(agent.weights, features[i], 0, agent.policy_rows)
        batch[VALUE, j] = dot(agent.weights, features[i], agent.policy_rows, rows)
        for kind in (ACTION, DENSITY, ADVANTAGE, RETURN):
            batch[kind, j] = segment[kind, i]
    for j in range(size, (size + EIGHT - 1) // EIGHT * EIGHT):
        batch[:, j] = 0.0  # a sample without influence
        batch[DENSITY, j] = -log_deviation


@kernel(borrow=True)
def _slopes(batch, size, log_deviation, clip):
    """Replace MEAN and VALUE by the loss's slopes along them; return that along log deviation."""
    inverse = exponential(-log_deviation)
    sum_ = eight(0.0)
    for row in range((size + EIGHT - 1) // EIGHT):
        z = (load_eight(batch[ACTION], row) - load_eight(batch[MEAN], row)) * inverse
        density = -0.5 * z * z - log_deviation
        ratio = exponential(density - load_eight(batch[DENSITY], row))
        advantage = load_eight(batch[ADVANTAGE], row)
        clipped = choose(ratio > 1.0 + clip, 1.0 + clip, ratio)
        clipped = choose(ratio < 1.0 - clip, 1.0 - clip, clipped)
        gain = ratio * advantage
        # Beyond the clip, where that is the smaller gain, the loss is flat.
        slope = choose(gain <= clipped * advantage, -gain / float(size), 0.0)
        store_eight(slope * z * inverse, batch[MEAN], row)
        sum_ = sum_ + slope * (z * z - 1.0)
        miss = load_eight(batch[VALUE], row) - load_eight(batch[RETURN], row)
        store_eight(2.0 * miss / float(size), batch[VALUE], row)
    return total(sum_)


@kernel(borrow=True)
def _gradient(gradient, slopes, features, chosen, first, stop):
    """Add up slope times feature over a minibatch.

    Parameters
    ----------
    gradient
        (weights + 8,): to be filled in.
    slopes, chosen
        Of the minibatch's samples, and which samples of the segment these are.
    features
        (samples + 1, weights).
    first, stop
        Rows of eight weights that are filled in: first..stop-1.
    """
    for row in range(first, stop):
        sum_ = eight(0.0)
        for j in range(len(chosen)):
            sum_ = sum_ + slopes[j] * load_eight(features[chosen[j]], row)
        store_eight(sum_, gradient, row)


@kernel(inline=True)
def _moved(state, gradient, pace):
    """Return a weight and its two moments, the `state`, after one step of Adam."""
    weight, moment, square = state
    moment = BETA_1 * moment + (1.0 - BETA_1) * gradient
    square = BETA_2 * square + (1.0 - BETA_2) * gradient * gradient
    return weight - pace * moment / (root(square) + EPSILON), moment, square


@kernel(inline=True, borrow=True)
def _move(agent, log_deviation, slope, rate):
    """Take a step of Adam along the gradient, and the log deviation along its slope; return it."""
    weights, powers = agent.weights, agent.powers
    first, second, gradient = agent.moments[0], agent.moments[1], agent.moments[2]
    powers[0] *= BETA_1
    powers[1] *= BETA_2
    pace = rate * math.sqrt(1.0 - powers[1]) / (1.0 - powers[0])
    for row in range(len(weights) // EIGHT):
        state = load_eight(weights, row), load_eight(first, row), load_eight(second, row)
        weight, moment, square = _moved(state, load_eight(gradient, row), pace)
        store_eight(weight, weights, row)
        store_eight(moment, first, row)
        store_eight(square, second, row)
    last = len(weights)
    log_deviation, first[last], second[last] = _moved(
        (log_deviation, first[last], second[last]), slope, pace
    )
    return log_deviation


@kernel(borrow=True)
def _improve(stream, epoch, agent, log_deviation, samples, settings):
    """Run the epochs of one segment; return log deviation.

    Parameters
    ----------
    stream, epoch
        What orders the samples, and how many epochs of the lifetime came before.
    agent, log_deviation
        What is improved.
    samples, settings
        The segment, and how to learn from it: samples that do not fill the last minibatch of an
        epoch are used if ``settings.partial``.
    """
    order, batch, gradient = samples.order, samples.batch, agent.moments[2]
    rows, policy_rows = len(agent.weights) // EIGHT, agent.policy_rows
    size, batch_size = len(order), settings.batch_size
    stop = size if settings.partial else size // batch_size * batch_size
    for _ in range(settings.epochs):
        for i in range(size):
            order[i] = i
        permute_head(stream.key0, stream.key1, epoch, stream.trial, SHUFFLES, order, size)
        epoch += 1
        for first in range(0, stop, batch_size):
            chosen = order[first : min(first + batch_size, size)]
            _outputs(samples, chosen, agent, log_deviation)
            slope = _slopes(batch, len(chosen), log_deviation, settings.clip)
            _gradient(gradient, batch[MEAN], samples.features, chosen, 0, policy_rows)
            _gradient(gradient, batch[VALUE], samples.features, chosen, policy_rows, rows)
            log_deviation = _move(agent, log_deviation, slope, settings.rate)
    return log_deviation


@kernel(borrow=True)
def _finite(weights, log_deviation):
    """Return whether policy and critic are still made of numbers."""
    deviation = exponential(log_deviation)
    fine = deviation - deviation == 0.0
    for i in range(len(weights)):
        fine = fine and weights[i] - weights[i] == 0.0
    return fine


@kernel(borrow=True)
def _learn(stream, epoch, agent, log_deviation, samples, settings, begins):
    """Improve an agent by a segment; return log deviation, and whether all is within bounds.

    Parameters
    ----------
    stream, epoch
        As of `_improve`.
    agent, log_deviation
        What is changed.
    samples, settings
        The segment is full, and the features of the state after it are there.
    begins
        Whether that state is the first of an episode.
    """
    size, rows = len(samples.order), len(agent.weights) // EIGHT
    value = dot(agent.weights, samples.features[size], agent.policy_rows, rows)
    samples.begins[size] = 0.0
    decay = DISCOUNT * settings.trace_decay
    spread = _advantages(samples.segment, samples.begins, 0.0 if begins else value, decay)
    if not (0.0 < spread < TOO_LARGE):
        return log_deviation, False
    log_deviation = _improve(stream, epoch, agent, log_deviation, samples, settings)
    return log_deviation, _finite(agent.weights, log_deviation)


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
    agent = _agent_of(independent, dependent)
    weights, policy_rows, rows = agent.weights, agent.policy_rows, len(agent.weights) // EIGHT
    highest = max(independent, dependent, POLICY_INDEPENDENT)
    samples = _samples_of(segment_size, batch_size, len(weights))
    segment, features = samples.segment, samples.features
    settings = Settings(rate, trace_decay, epochs, batch_size, clip, partial)
    stream = Stream(key0, key1, trial)
    waves = rows_of_eight(8).reshape(-1)
    noise = rows_of_eight((steps + EIGHT - 1) // EIGHT).reshape(-1)[:steps].reshape(steps, 1)
    trials = np.full(1, trial)
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
            if kept == segment_size:
                if freeze_episode < 0:
                    log_deviation, fine = _learn(
                        stream, epoch, agent, log_deviation, samples, settings, t == 0
                    )
                    epoch += epochs
                    freeze_episode = -1 if fine else episode
                features[0] = features[kept]
                kept = 0
            mean = dot(weights, features[kept], 0, policy_rows)
            z = noise[t, 0]
            action = mean + exponential(log_deviation) * z
            segment[ACTION, kept] = action
            segment[DENSITY, kept] = -0.5 * z * z - log_deviation
            segment[VALUE, kept] = dot(weights, features[kept], policy_rows, rows)
            samples.begins[kept] = t == 0
            angle, speed, reward = step(angle, speed, action)
            segment[REWARD, kept] = reward
            sum_ += reward
            kept += 1
        returns[episode] = sum_
    return exponential(log_deviation), freeze_episode
