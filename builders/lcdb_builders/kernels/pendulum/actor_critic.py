"""Actor-Critic(lambda), eight lifetimes in step: each lane of a vector is a trial of its own.

A lane's numbers do not depend on its neighbours: features that a lane lacks stay 0, and so do their
traces and weights, which adds nothing to any sum. All sums run in the order of the features.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from lcdb_builders.kernels.core.jit import kernel
from lcdb_builders.kernels.core.simd import (
    EIGHT,
    choose,
    eight,
    load_eight,
    marks,
    rows_of_eight,
    store_eight,
)
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

__all__ = ["DISCOUNT", "actor_critic"]

DISCOUNT = 0.99
TOO_LARGE = 1e100
# What `features_into` takes as the orders of the policy: all lanes have the same.
POLICY_ORDERS = POLICY_DEPENDENT, POLICY_DEPENDENT, POLICY_INDEPENDENT

#: How features are made of states: tables of `waves`, and of those that enter products (`masked`,
#: by `products`) or stand alone (`singles`; for the policy `policy_singles`); lowest and highest
#: dependent order, and highest independent one, of the critics: `orders`.
Basis = namedtuple("Basis", "waves masked products singles policy_singles orders")
#: Features of a state.
State = namedtuple("State", "critic policy")
#: What is learned, a number per feature and lane: `weights`, and the `traces` of their gradients.
Linear = namedtuple("Linear", "weights traces")
#: Eight agents: the `basis`, what `critic` and `policy` have learned, and room for the features of
#: two states, `now` and `after`.
Agents = namedtuple("Agents", "basis critic policy now after")
#: Step sizes of `actor` and `critic`, and by how much traces `decay`, in lanes.
Rates = namedtuple("Rates", "actor critic decay")


@kernel(glue=True)
def _basis_of(independent, dependent):
    """Return the basis of critics of these orders."""
    policy = np.full(EIGHT, POLICY_INDEPENDENT), np.full(EIGHT, POLICY_DEPENDENT)
    _, policy_singles = masks_of_orders(*policy)
    products, singles = masks_of_orders(independent, dependent)
    rows = len(products)
    orders = dependent.min(), dependent.max(), independent.max()
    return Basis(
        waves=rows_of_eight(rows),
        masked=rows_of_eight(rows),
        products=products,
        singles=singles,
        policy_singles=policy_singles,
        orders=orders,
    )


@kernel(glue=True)
def _state_of(orders):
    """Return room for the features of a state."""
    return State(rows_of_eight(features_of(*orders)), rows_of_eight(features_of(*POLICY_ORDERS)))


@kernel(glue=True)
def _linear_of(orders):
    """Return weights and traces of 0."""
    size = features_of(*orders)
    return Linear(rows_of_eight(size), rows_of_eight(size))


@kernel(inline=True, borrow=True)
def _observe(basis, angle, speed, state):
    """Fill in the features of a state."""
    _, highest, most = basis.orders
    used = max(highest, most, POLICY_INDEPENDENT)
    waves_into(basis.waves, scaled_angle(angle), scaled_speed(speed), used)
    mask_into(basis.masked, basis.waves, basis.products, highest)
    features_into(state.critic, basis.masked, basis.waves, basis.singles, *basis.orders)
    features_into(state.policy, basis.waves, basis.waves, basis.policy_singles, *POLICY_ORDERS)


@kernel(inline=True, borrow=True)
def _dot(weights, features):
    """Return the sum of products, lane by lane."""
    sum_ = eight(0.0)
    for i in range(len(features)):
        sum_ = sum_ + load_eight(weights, i) * load_eight(features, i)
    return sum_


@kernel(inline=True, borrow=True)
def _update(linear, features, after, decay, gradient, pace):
    """Let traces decay and add the gradient, move weights along; return their next output.

    Parameters
    ----------
    linear
        Weights and traces, which are changed.
    features, after
        Features of the state and of the next one, whose output with the moved weights is returned.
    decay, gradient, pace
        What traces are multiplied with, what of the features is added to them, and what of them is
        added to the weights; in lanes.
    """
    sum_ = eight(0.0)
    for i in range(len(features)):
        trace = decay * load_eight(linear.traces, i) + gradient * load_eight(features, i)
        weight = load_eight(linear.weights, i) + pace * trace
        store_eight(trace, linear.traces, i)
        store_eight(weight, linear.weights, i)
        sum_ = sum_ + weight * load_eight(after, i)
    return sum_


@kernel(inline=True, borrow=True)
def _freeze(active, bounded, episode, freeze_episodes, critic, policy):
    """Return which active lanes go on; for the others note the episode, and clear their traces.

    Parameters
    ----------
    active, bounded
        Who has learned so far, and whose numbers are within bounds: masks of lanes.
    episode, freeze_episodes
        Which episode it is, and (8,) where it is noted.
    critic, policy
        Whose traces are cleared.
    """
    broken = marks(active & ~bounded)
    if broken:
        for lane in range(EIGHT):
            if broken >> lane & 1:
                freeze_episodes[lane] = episode
                critic.traces[:, lane] = 0.0
                policy.traces[:, lane] = 0.0
    return active & bounded


@kernel(borrow=True)
def _live(agents, rates, learns_deviation, sigma, active, angle, noise, episode, returns, frozen):
    """Live through an episode; returns the standard deviation of actions, and who still learns.

    Parameters
    ----------
    agents, rates, learns_deviation
        The agents, and how they learn.
    sigma, active
        Standard deviation of actions, and who learns.
    angle, noise
        Where the pendulums start, and (steps, 8) normal numbers.
    episode, returns, frozen
        Which episode; see `actor_critic`.
    """
    basis, critic, policy, now, after = agents
    steps = len(noise)
    speed, sum_, sigma_trace = eight(0.0), eight(0.0), eight(0.0)
    critic.traces[:] = 0.0
    policy.traces[:] = 0.0
    _observe(basis, angle, speed, now)
    value = _dot(critic.weights, now.critic)
    mean = _dot(policy.weights, now.policy)
    for t in range(steps):
        action = mean + sigma * load_eight(noise, t)
        angle, speed, reward = step(angle, speed, action)
        sum_ = sum_ + reward
        _observe(basis, angle, speed, after)
        expected = eight(0.0)
        if t < steps - 1:  # the last state has no future
            expected = _dot(critic.weights, after.critic)
        error = reward + DISCOUNT * expected - value
        bounded = choose(error > 0.0, error, -error) < TOO_LARGE
        active = _freeze(active, bounded, episode, frozen, critic, policy)
        pull = choose(active, error, 0.0)
        pace = rates.critic * pull
        value = _update(critic, now.critic, after.critic, rates.decay, eight(1.0), pace)
        gap = action - mean
        gradient = choose(active, gap / (sigma * sigma), 0.0)
        pace = rates.actor * pull
        mean = _update(policy, now.policy, after.policy, rates.decay, gradient, pace)
        if learns_deviation:
            sigma_trace = rates.decay * sigma_trace + gap / (sigma * sigma * sigma) - 1.0 / sigma
            sigma = choose(active, sigma + pace * sigma_trace, sigma)
        bounded = (mean - mean == 0.0) & (sigma - sigma == 0.0)
        active = _freeze(active, bounded, episode, frozen, critic, policy)
        now, after = after, now
    store_eight(sum_, returns, episode)
    return sigma, active


@kernel
def actor_critic(
    key, trials, settings, deviation, learns_deviation, steps, returns, deviations, freeze_episodes
):
    """Run eight lifetimes.

    Parameters
    ----------
    key, trials
        Stream key, and the eight trials of it.
    settings
        Of each lane: step sizes of actor and critic, and lambda; independent and dependent order of
        the critic.
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
    actor_rates, critic_rates, decays, independent, dependent = settings
    basis = _basis_of(independent, dependent)
    agents = Agents(
        basis=basis,
        critic=_linear_of(basis.orders),
        policy=_linear_of(POLICY_ORDERS),
        now=_state_of(basis.orders),
        after=_state_of(basis.orders),
    )
    noise, start = rows_of_eight(steps), np.empty(EIGHT)
    decay = DISCOUNT * load_eight(decays, 0)
    rates = Rates(load_eight(actor_rates, 0), load_eight(critic_rates, 0), decay)
    sigma = eight(deviation)
    active = sigma == sigma
    freeze_episodes[:] = -1
    for episode in range(len(returns)):
        normals_into(*key, episode, trials, noise)
        for lane in range(EIGHT):
            start[lane] = starting_angle(*key, episode, trials[lane])
        angle = load_eight(start, 0)
        sigma, active = _live(
            agents, rates, learns_deviation, sigma, active, angle, noise, episode, returns,
            freeze_episodes,
        )  # fmt: skip
    store_eight(sigma, deviations, 0)
