"""The pendulum, Actor-Critic and PPO in plain NumPy, one lifetime at a time.

Random numbers are given: an angle per episode, a standard normal number per step, an order of the
samples per epoch. So are the elementary functions, and the order in which sums run is written out:
with the kernels' own sine the numbers can be compared to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

GAMMA = 0.99


class Functions(NamedTuple):
    """Elementary functions of one number."""

    sine: Callable[[float], float] = math.sin
    cosine: Callable[[float], float] = math.cos
    exponential: Callable[[float], float] = math.exp


PLAIN = Functions()


class Lifetime(NamedTuple):
    """Return of each episode, final standard deviation, episode of the freeze or -1."""

    returns: np.ndarray
    sigma: float
    freeze_episode: int


# -- environment -----------------------------------------------------------------------------------


def step(angle, speed, action, f=PLAIN):
    """Ten Euler steps of a millisecond."""
    torque = 0.0 if math.isnan(action) else min(max(action, -5.0), 5.0)
    for _ in range(10):
        acceleration = torque - 0.1 * speed - 9.8 * f.sine(angle)
        angle, speed = angle + 0.001 * speed, speed + 0.001 * acceleration
    speed = min(max(speed, -3.0 * math.pi), 3.0 * math.pi)
    return angle, speed, -f.cosine(angle) - speed * speed / 100.0


def observe(angle, speed):
    """Angle and speed as shares of their ranges."""
    turns = angle * (0.5 / math.pi) + 0.5
    return turns - math.floor(turns), (speed + 3.0 * math.pi) * (0.5 / (3.0 * math.pi))


# -- Fourier basis ---------------------------------------------------------------------------------


def direct_waves(x, highest, f):
    """cos and sin of k pi x."""
    angles = [k * (math.pi * x) for k in range(highest + 1)]
    return np.array([f.cosine(a) for a in angles]), np.array([f.sine(a) for a in angles])


def added_waves(x, highest, f):
    """The same by adding up angles."""
    c1, s1 = f.cosine(x * math.pi), f.sine(x * math.pi)
    c, s = [1.0], [0.0]
    for _ in range(highest):
        c1k, s1k = c[-1] * c1 - s[-1] * s1, s[-1] * c1 + c[-1] * s1
        c.append(c1k)
        s.append(s1k)
    return np.array(c), np.array(s)


def parts(waves, independent, dependent):
    """Products (d+1, d+1), and single waves of both coordinates."""
    (c1, s1), (c2, s2) = waves
    d = dependent + 1
    products = np.multiply.outer(c1[:d], c2[:d]) - np.multiply.outer(s1[:d], s2[:d])
    return products, np.concatenate([c1[d : independent + 1], c2[d : independent + 1]])


def features(waves, independent, dependent):
    """All in one row, products first."""
    products, singles = parts(waves, independent, dependent)
    return np.concatenate([products.ravel(), singles])


def in_rows(waves, independent, dependent):
    """The same in rows of eight, padded with 0."""
    products, singles = parts(waves, independent, dependent)
    width = 8 if dependent < 8 else 16
    padded = np.zeros((dependent + 1, width))
    padded[:, : dependent + 1] = products
    rest = np.zeros(-(-len(singles) // 8) * 8)
    rest[: len(singles)] = singles
    return np.concatenate([padded.ravel(), rest]).reshape(-1, 8)


def in_order(values, axis=0):
    """Sum one after the other."""
    return np.add.accumulate(values, axis=axis).take(-1, axis=axis)


def in_halves(lanes):
    """Sum of eight: halves upon halves."""
    four = lanes[..., :4] + lanes[..., 4:]
    two = four[..., :2] + four[..., 2:]
    return two[..., 0] + two[..., 1]


# -- Actor-Critic ----------------------------------------------------------------------------------


def actor_critic(
    starts, noise, actor_step, critic_step, trace_decay, independent, dependent, sigma=1.0,
    learns_sigma=True, f=PLAIN, waves=direct_waves,
):  # fmt: skip
    """Run one lifetime; `starts` (episodes,) and `noise` (episodes, steps) are its randomness."""
    highest = max(independent, dependent, 6)
    decay = GAMMA * trace_decay
    theta, w = np.zeros(38), np.zeros(len(features(_flat(highest), independent, dependent)))
    returns = np.zeros(len(starts))
    frozen = -1
    steps = noise.shape[1]

    def see(angle, speed):
        found = [waves(x, highest, f) for x in observe(angle, speed)]
        return features(found, 6, 5), features(found, independent, dependent)

    for episode, angle in enumerate(starts):
        speed, total = 0.0, 0.0
        e_theta, e_w, e_sigma = np.zeros_like(theta), np.zeros_like(w), 0.0
        phi, psi = see(angle, speed)
        mean, value = in_order(theta * phi), in_order(w * psi)
        for t in range(steps):
            action = mean + sigma * noise[episode, t]
            angle, speed, reward = step(float(angle), float(speed), float(action), f)
            total += reward
            phi_after, psi_after = see(angle, speed)
            expected = in_order(w * psi_after) if t < steps - 1 else 0.0
            delta = reward + GAMMA * expected - value
            if frozen < 0 and not abs(delta) < 1e100:
                frozen = episode
            if frozen < 0:
                e_w = decay * e_w + psi
                w = w + critic_step * delta * e_w
                value = in_order(w * psi_after)
                gap = action - mean
                e_theta = decay * e_theta + gap / (sigma * sigma) * phi
                theta = theta + actor_step * delta * e_theta
                if learns_sigma:
                    e_sigma = decay * e_sigma + gap / (sigma * sigma * sigma) - 1.0 / sigma
                    sigma = sigma + actor_step * delta * e_sigma
            mean = in_order(theta * phi_after)
            if frozen < 0 and not (np.isfinite(mean) and np.isfinite(sigma)):
                frozen = episode
            phi, psi = phi_after, psi_after
        returns[episode] = total
    return Lifetime(returns, sigma, frozen)


def _flat(highest):
    return [(np.ones(highest + 1), np.zeros(highest + 1))] * 2


# -- PPO -------------------------------------------------------------------------------------------


def ppo(
    starts, noise, orders, rate, gae_lambda, independent, dependent, segment_steps, epochs, batch,
    clip, f=PLAIN, partial=False,
):  # fmt: skip
    """Run one lifetime; ``orders(e)`` is the order of the samples in the e-th epoch of its life."""
    learner = Learner(rate, gae_lambda, epochs, batch, clip, independent, dependent, orders, f)
    learner.partial = partial
    highest = max(independent, dependent, 6)
    kept = []
    returns = np.zeros(len(starts))
    for episode, angle in enumerate(starts):
        speed = 0.0
        for t in range(noise.shape[1]):
            seen = [direct_waves(x, highest, f) for x in observe(angle, speed)]
            psi = np.concatenate([in_rows(seen, 6, 5), in_rows(seen, independent, dependent)])
            if len(kept) == segment_steps:
                if learner.frozen < 0:
                    learner.improve(kept, psi, t == 0, episode)
                kept = []
            mean, value = learner.outputs(psi)
            z = noise[episode, t]
            action = mean + f.exponential(learner.log_sigma) * z
            density = -0.5 * z * z - learner.log_sigma
            angle, speed, reward = step(float(angle), float(speed), float(action), f)
            kept.append((psi, action, density, value, reward, t == 0))
            returns[episode] += reward
    return Lifetime(returns, f.exponential(learner.log_sigma), learner.frozen)


class Learner:
    """Policy, critic, and the Adam that moves both."""

    def __init__(self, rate, gae_lambda, epochs, batch, clip, independent, dependent, orders, f):
        self.rate, self.decay = rate, GAMMA * gae_lambda
        self.epochs, self.batch, self.clip = epochs, batch, clip
        self.orders, self.f, self.partial = orders, f, False
        self.weights = np.zeros((7 + len(in_rows(_flat(10), independent, dependent)), 8))
        self.log_sigma, self.frozen, self.epoch = 0.0, -1, 0
        # Weights and log sigma, flat, as Adam sees them.
        self.moment, self.square = np.zeros(self.weights.size + 1), np.zeros(self.weights.size + 1)
        self.powers = [1.0, 1.0]

    def outputs(self, psi):
        """Mean action and value of a state, or of many."""
        found = self.weights * psi
        return in_halves(in_order(found[..., :7, :], -2)), in_halves(
            in_order(found[..., 7:, :], -2)
        )

    def improve(self, kept, psi_after, is_new, episode):
        """One update from a segment of samples."""
        columns = zip(*kept, strict=True)
        psi, action, density, value, reward, new = (np.array(column) for column in columns)
        value_after = 0.0 if is_new else self.outputs(psi_after)[1]
        advantage, target, size = np.zeros(len(kept)), np.zeros(len(kept)), len(kept)
        last, mean, squares = 0.0, 0.0, 0.0
        for i in reversed(range(size)):
            goes_on = 1.0 if i == size - 1 else 1.0 - new[i + 1]
            expected = value_after if i == size - 1 else value[i + 1] * goes_on
            delta = reward[i] + GAMMA * expected - value[i]
            last = delta + self.decay * goes_on * last
            advantage[i], target[i] = last, last + value[i]
            mean += last
        mean /= size
        for x in advantage:
            squares += (x - mean) * (x - mean)
        spread = math.sqrt(squares / size) if np.isfinite(squares) else math.inf
        if not 0.0 < spread < 1e100:
            self.frozen = episode
            return
        advantage = (advantage - mean) / spread
        for _ in range(self.epochs):
            order = self.orders(self.epoch)
            self.epoch += 1
            first = 0  # as Baselines' iterate_once: ``while next_id <= n - batch_size``
            while first <= size - self.batch or (self.partial and first < size):
                j = order[first : first + self.batch]
                first += self.batch
                self.descend(psi[j], action[j], density[j], advantage[j], target[j])
        sigma = self.f.exponential(self.log_sigma)
        if not (np.isfinite(self.weights).all() and np.isfinite(sigma)):
            self.frozen = episode

    def descend(self, psi, action, density, advantage, target):
        """One step of Adam from a minibatch."""
        size = len(action)
        mean, value = self.outputs(psi)
        inverse = self.f.exponential(-self.log_sigma)
        z = (action - mean) * inverse
        now = -0.5 * z * z - self.log_sigma
        ratio = np.array([self.f.exponential(x) for x in now - density])
        gain = ratio * advantage
        # Derivative of -min(gain, clipped gain): that of the first wherever it is the smaller.
        inside = gain <= np.clip(ratio, 1.0 - self.clip, 1.0 + self.clip) * advantage
        slope = np.where(inside, -gain / size, 0.0)
        along_mean, along_value = slope * z * inverse, 2.0 * (value - target) / size
        of_log_sigma = np.zeros(-(-size // 8) * 8)
        of_log_sigma[:size] = slope * (z * z - 1.0)
        gradient = np.concatenate([
            in_order(along_mean[:, None, None] * psi[:, :7]).ravel(),
            in_order(along_value[:, None, None] * psi[:, 7:]).ravel(),
            [in_halves(in_order(of_log_sigma.reshape(-1, 8)))],
        ])  # fmt: skip
        self.powers = [self.powers[0] * 0.9, self.powers[1] * 0.999]
        pace = self.rate * math.sqrt(1.0 - self.powers[1]) / (1.0 - self.powers[0])
        self.moment = 0.9 * self.moment + (1.0 - 0.9) * gradient
        self.square = 0.999 * self.square + (1.0 - 0.999) * gradient * gradient
        moved = np.append(self.weights.ravel(), self.log_sigma)
        moved = moved - pace * self.moment / (np.sqrt(self.square) + 1e-5)
        self.weights, self.log_sigma = moved[:-1].reshape(-1, 8), moved[-1]
