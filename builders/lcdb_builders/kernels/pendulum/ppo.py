"""Proximal policy optimisation in up to eight lifetimes, as in the first version of Baselines.

Weights of policy and critic stand in rows of eight (`rows`), the policy's first; the logarithm of
the standard deviation, the log deviation, has a row of its own behind them. Sums over a minibatch
run in eight lanes, which are added up in halves; sums over a segment in its order.
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
    load,
    load_eight,
    root,
    rows_of_eight,
    spread,
    store,
    store_eight,
    total,
    zeros,
)
from lcdb_builders.kernels.pendulum.actor_critic import DISCOUNT, TOO_LARGE
from lcdb_builders.kernels.pendulum.environment import scaled_angle, scaled_speed, step
from lcdb_builders.kernels.pendulum.fourier import HIGHEST, POLICY_DEPENDENT, POLICY_INDEPENDENT
from lcdb_builders.kernels.pendulum.functions import exponential
from lcdb_builders.kernels.pendulum.noise import normals_into, starting_angle
from lcdb_builders.kernels.pendulum.rows import dot, rows_into, rows_of, waves_of

__all__ = ["ppo"]

SHUFFLES = 2  # lane of the streams that order the samples of an epoch
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-5
# What is kept of a sample, and of a sample in a minibatch.
ACTION, DENSITY, REWARD, VALUE, ADVANTAGE, RETURN, MEAN = range(7)

# Rows of what the lanes of a vector have: a scaled state, an action, a reward.
X1, X2, MOVE, GAIN = range(4)

#: How lifetimes are run, see `ppo`: stream key and trials, hyper-parameters, and an option.
Settings = namedtuple(
    "Settings",
    "key trials rate trace_decay independent dependent segment_size epochs batch_size clip partial",
)
#: What is learned: `weights` of policy and critic in `rows` of eight, of which the policy has the
#: first `policy_rows`, and the log deviation behind them; `moments` (3, weights or more), the first
#: and second of each weight and room for a gradient; `powers` (2,) of the moments' decays.
Agent = namedtuple("Agent", "weights policy_rows rows moments powers")
#: Room for samples: `segment` (6, samples), their numbers; `features` (samples + 1, weights), the
#: last of the state after them; `begins` (samples + 1,), 1 where an episode starts; and, for a
#: minibatch of them, `order` (samples,) and `batch` (7, samples).
Samples = namedtuple("Samples", "segment features begins order batch")
#: Lifetimes in step: arrays of `agents` and of their `samples` have one dimension more, but for
#: those of minibatches; `waves` of one state, and `lanes`, see above.
Lives = namedtuple("Lives", "settings agents samples waves lanes")


@kernel(glue=True)
def _lives_of(settings):
    """Return lifetimes that begin."""
    count, size = len(settings.trials), settings.segment_size.max()
    policy_rows = rows_of(POLICY_INDEPENDENT, POLICY_DEPENDENT)
    rows = policy_rows + rows_of(HIGHEST, HIGHEST)
    agents = Agent(
        rows_of_eight((rows + 1) * count).reshape(count, -1),
        policy_rows,
        rows,
        rows_of_eight(3 * (rows + 1) * count).reshape(count, 3, -1),
        np.ones((count, 2)),
    )
    samples = Samples(
        np.empty((count, 6, size)),
        rows_of_eight(rows * (size + 1) * count).reshape(count, size + 1, -1),
        np.zeros((count, size + 1)),
        np.empty(size, np.int64),
        rows_of_eight(7 * (settings.batch_size.max() // EIGHT + 1)).reshape(7, -1),
    )
    return Lives(settings, agents, samples, rows_of_eight(8).reshape(-1), rows_of_eight(4))


@kernel(glue=True)
def _learner(lives, lane):
    """Return agent and samples of one lifetime."""
    settings, agents, samples = lives.settings, lives.agents, lives.samples
    rows = agents.policy_rows + rows_of(settings.independent[lane], settings.dependent[lane])
    weights, moments, powers = agents.weights[lane], agents.moments[lane], agents.powers[lane]
    segment, features, begins = samples.segment[lane], samples.features[lane], samples.begins[lane]
    agent = Agent(weights, agents.policy_rows, rows, moments, powers)
    return agent, Samples(segment, features, begins, samples.order, samples.batch)


@kernel(borrow=True)
def _advantages(segment, begins, value_after, trace_decay):
    """Fill in standardised advantages and returns of a segment; return the advantages' spread.

    ``begins[i]`` is 1 where sample i starts an episode: the sample before has no future.
    """
    size = len(begins) - 1
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
def _outputs(samples, chosen, agent):
    """Gather the samples of a minibatch, with the mean action and value that they have now."""
    batch, segment, features = samples.batch, samples.segment, samples.features
    size, rows = len(chosen), agent.rows
    for j in range(size):
        i = chosen[j]
        batch[MEAN, j] = dot(agent.weights, features[i], 0, agent.policy_rows)
        batch[VALUE, j] = dot(agent.weights, features[i], agent.policy_rows, rows)
        for kind in (ACTION, DENSITY, ADVANTAGE, RETURN):
            batch[kind, j] = segment[kind, i]
    for j in range(size, (size + EIGHT - 1) // EIGHT * EIGHT):
        batch[:, j] = 0.0  # a sample without influence
        batch[DENSITY, j] = -agent.weights[EIGHT * rows]


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
    """Add up slope times feature over a minibatch, for four rows at a time.

    Parameters
    ----------
    gradient
        (weights + 8,): to be filled in.
    slopes, chosen
        Of the minibatch's samples, and which samples of the segment these are.
    features
        (samples + 1, weights).
    first, stop
        Rows of eight weights that are filled in: first..stop-1, and up to three before these.
    """
    for start in range(first, stop, 4):
        row = min(start, stop - 4)
        sum_ = zeros(slopes[0])
        for j in range(len(chosen)):
            feature = load(features[chosen[j]], EIGHT * row)
            sum_ = sum_ + spread(slopes[j], feature) * feature
        store(sum_, gradient, EIGHT * row)


@kernel(inline=True, borrow=True)
def _move(agent, rate):
    """Take a step of Adam along the gradient."""
    weights, powers = agent.weights, agent.powers
    first, second, gradient = agent.moments[0], agent.moments[1], agent.moments[2]
    powers[0] *= BETA_1
    powers[1] *= BETA_2
    pace = rate * math.sqrt(1.0 - powers[1]) / (1.0 - powers[0])
    for row in range(agent.rows + 1):
        slope = load_eight(gradient, row)
        moment = BETA_1 * load_eight(first, row) + (1.0 - BETA_1) * slope
        square = BETA_2 * load_eight(second, row) + (1.0 - BETA_2) * slope * slope
        weight = load_eight(weights, row) - pace * moment / (root(square) + EPSILON)
        store_eight(moment, first, row)
        store_eight(square, second, row)
        store_eight(weight, weights, row)


@kernel(borrow=True)
def _improve(settings, lane, segment, agent, samples):
    """Run the epochs of one segment.

    Parameters
    ----------
    settings, lane, segment
        How to learn, which lifetime it is, and how many segments of it came before.
    agent, samples
        What is improved, and by which segment.
    """
    size, batch_size = settings.segment_size[lane], settings.batch_size[lane]
    stop = size if settings.partial else size // batch_size * batch_size
    order, batch, features = samples.order[:size], samples.batch, samples.features
    gradient, last, policy_rows = agent.moments[2], EIGHT * agent.rows, agent.policy_rows
    for epoch in range(settings.epochs[lane]):
        for i in range(size):
            order[i] = i
        epoch += segment * settings.epochs[lane]
        permute_head(*settings.key, epoch, settings.trials[lane], SHUFFLES, order, stop)
        for first in range(0, stop, batch_size):
            chosen = order[first : min(first + batch_size, size)]
            _outputs(samples, chosen, agent)
            gradient[last] = _slopes(batch, len(chosen), agent.weights[last], settings.clip[lane])
            # The critic's first: it may reach into the policy's.
            _gradient(gradient, batch[VALUE], features, chosen, policy_rows, agent.rows)
            _gradient(gradient, batch[MEAN], features, chosen, 0, policy_rows)
            _move(agent, settings.rate[lane])


@kernel(borrow=True)
def _learn(settings, lane, segment, agent, samples, begins):
    """Improve an agent by a segment; return whether all is within bounds.

    Parameters
    ----------
    settings, lane, segment, agent, samples
        As `_improve` takes them; the features of the state after the segment are there.
    begins
        Whether that state is the first of an episode.
    """
    size, weights, rows = settings.segment_size[lane], agent.weights, agent.rows
    value = dot(weights, samples.features[size], agent.policy_rows, rows)
    samples.begins[size] = 0.0
    starts, decay = samples.begins[: size + 1], DISCOUNT * settings.trace_decay[lane]
    spread = _advantages(samples.segment, starts, 0.0 if begins else value, decay)
    if not (0.0 < spread < TOO_LARGE):
        return False
    _improve(settings, lane, segment, agent, samples)
    deviation = exponential(weights[EIGHT * rows])
    bounded = deviation - deviation == 0.0
    for i in range(len(weights)):
        bounded = bounded and weights[i] - weights[i] == 0.0
    return bounded


@kernel(inline=True, borrow=True)
def _observe(lives, lane, features):
    """Write the features of an agent's state, those of its policy first."""
    independent, dependent = lives.settings.independent[lane], lives.settings.dependent[lane]
    highest = max(independent, dependent, POLICY_INDEPENDENT)
    waves_of(lives.waves, lives.lanes[X1, lane], lives.lanes[X2, lane], highest)
    row = rows_into(features, 0, lives.waves, POLICY_INDEPENDENT, POLICY_DEPENDENT)
    rows_into(features, row, lives.waves, independent, dependent)


@kernel(inline=True, borrow=True)
def _act(agent, samples, i, sigma, z):
    """Note all of sample `i` but its reward; return its action.

    Parameters
    ----------
    agent, samples, i
        Who acts, where the features of the sample are, and which it is.
    sigma, z
        Standard deviation of actions, and a standard normal number.
    """
    weights, features, policy_rows = agent.weights, samples.features[i], agent.policy_rows
    action = dot(weights, features, 0, policy_rows) + sigma * z
    samples.segment[ACTION, i] = action
    samples.segment[DENSITY, i] = -0.5 * z * z - weights[EIGHT * agent.rows]
    samples.segment[VALUE, i] = dot(weights, features, policy_rows, agent.rows)
    return action


@kernel(borrow=True)
def _live(lives, episode, noise, deviations, freeze_episodes):
    """Live through an episode; row X1 has the starting angles, and then the returns.

    Parameters
    ----------
    lives
        What goes on.
    episode, noise
        Which one it is, and its normal numbers.
    deviations, freeze_episodes
        See `ppo`.
    """
    settings, lanes = lives.settings, lives.lanes
    angle, speed, sum_ = load_eight(lanes, X1), eight(0.0), eight(0.0)
    for t in range(len(noise)):
        store_eight(scaled_angle(angle), lanes, X1)
        store_eight(scaled_speed(speed), lanes, X2)
        time = episode * len(noise) + t
        for lane in range(noise.shape[1]):
            agent, samples = _learner(lives, lane)
            size, features = settings.segment_size[lane], samples.features
            i = (time - 1) % size + 1
            samples.segment[REWARD, i - 1] = lanes[GAIN, lane]
            _observe(lives, lane, features[i])
            if i == size:
                if time > 0 and freeze_episodes[lane] < 0:
                    if not _learn(settings, lane, time // size - 1, agent, samples, t == 0):
                        freeze_episodes[lane] = episode
                    deviations[lane] = exponential(agent.weights[EIGHT * agent.rows])
                i = 0
                for k in range(EIGHT * agent.rows):
                    features[i, k] = features[size, k]
            samples.begins[i] = t == 0
            lanes[MOVE, lane] = _act(agent, samples, i, deviations[lane], noise[t, lane])
        angle, speed, reward = step(angle, speed, load_eight(lanes, MOVE))
        store_eight(reward, lanes, GAIN)
        sum_ = sum_ + reward
    store_eight(sum_, lanes, X1)


@kernel
def ppo(key, trials, settings, partial, steps, returns, deviations, freeze_episodes):
    """Run up to eight lifetimes in step: their pendulums are the lanes of a vector.

    The operations of a pendulum's step wait for each other, so that eight take as long as one. An
    agent learns by itself, whenever its segment is full.

    Parameters
    ----------
    key, trials
        Stream key, and the trials of it.
    settings
        Of each lifetime: Adam's step size, and lambda; independent and dependent order of the
        critic; steps between two updates, passes over them, samples of a minibatch, and how far a
        ratio of densities may leave 1.
    partial
        Whether samples of an epoch that do not fill its last minibatch are used. Baselines leaves
        them out; a minibatch longer than the segment then never teaches anything.
    steps
        Length of an episode, an even number.
    returns
        (episodes, lifetimes): the sum of rewards of each episode, to be filled in.
    deviations, freeze_episodes
        (lifetimes,): the standard deviation of actions at the end, and the episode in which
        learning stopped because a number left all bounds, -1 if none; to be filled in.
    """
    lives = _lives_of(Settings(key, trials, *settings, partial))
    noise = np.empty((steps, len(trials)))
    deviations[:] = 1.0
    freeze_episodes[:] = -1
    for episode in range(len(returns)):
        normals_into(*key, episode, trials, noise)
        for lane in range(len(trials)):
            lives.lanes[X1, lane] = starting_angle(*key, episode, trials[lane])
        _live(lives, episode, noise, deviations, freeze_episodes)
        returns[episode] = lives.lanes[X1, : len(trials)]
