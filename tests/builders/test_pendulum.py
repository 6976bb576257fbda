"""Pendulum, Actor-Critic and PPO: kernels against plain NumPy, from the same random numbers."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from lcdb_builders.domain.streams import stream, stream_key
from lcdb_builders.experiments import pendulum
from lcdb_builders.kernels.pendulum import functions
from lcdb_builders.kernels.pendulum.actor_critic import actor_critic
from lcdb_builders.kernels.pendulum.noise import normals_into, starting_angle

from lcdb.errors import LabelError, PlanError
from tests.oracles import pendulum as oracle
from tests.support.counts import counts

SEED = 2026
# With these the oracle rounds as the kernels do, and every bit can be compared.
OURS = oracle.Functions(functions.sine, functions.cosine, functions.exponential)
AGENTS = ["actor_critic", "ppo"]


def replayed(algorithm, trial, episodes, steps=pendulum.STEPS):
    """Starting angles and normal numbers of a lifetime, from NumPy's Philox alone."""
    key = stream_key(SEED, "pendulum", "simulation", algorithm)
    starts, noise = np.empty(episodes), np.empty((episodes, steps))
    for episode in range(episodes):
        u = (stream(key, episode, trial, 0).random_raw(steps) >> np.uint64(11)) * 2.0**-53
        radius = np.sqrt(-2.0 * np.log1p(-u[: steps // 2]))
        angle = 2.0 * np.pi * u[steps // 2 :]
        noise[episode] = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])
        first = int(stream(key, episode, trial, 1).random_raw(1)[0])
        starts[episode] = (2.0 * ((first >> 11) * 2.0**-53) - 1.0) * np.pi
    return key, starts, noise


def drawn(algorithm, trial, episodes, steps=pendulum.STEPS):
    """The same as the kernels have them: as above but for the last bits of the logarithm."""
    key, starts, _ = replayed(algorithm, trial, episodes, steps)
    noise = np.empty((episodes, steps, 1))
    for episode in range(episodes):
        normals_into(*key, episode, np.array([trial]), noise[episode])
    return key, starts, noise[:, :, 0]


def orders_of(key, trial, size):
    """Order of the samples in each epoch: a Fisher-Yates shuffle from the front."""

    def orders(epoch):
        order = list(range(size))
        for i, word in enumerate(stream(key, epoch, trial, 2).random_raw(size).tolist()):
            j = i + ((word * (size - i)) >> 64)
            order[i], order[j] = order[j], order[i]
        return np.array(order)

    return orders


def settings_of(algorithm, trial):
    found = pendulum.sample_hyperparameters(algorithm, [trial], SEED)
    return {name: values[0].item() for name, values in found.items()}


def by_oracle(algorithm, trial, episodes, settings=None, exact=True, random=None, **more):
    """A lifetime by the oracle: with the kernels' elementary functions, or with NumPy's alone."""
    key, starts, noise = random or (drawn if exact else replayed)(algorithm, trial, episodes)
    settings = settings or settings_of(algorithm, trial)
    if algorithm == "ppo":
        orders = orders_of(key, trial, settings["segment_steps"])
        more["f"] = OURS if exact else oracle.Functions()
        return oracle.ppo(starts, noise, orders, *settings.values(), **more)
    if exact:
        more.update(f=OURS, waves=oracle.added_waves)
    return oracle.actor_critic(starts, noise, *settings.values(), **more)


# -- agreement -------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", AGENTS)
@pytest.mark.parametrize("trial", range(counts(2, 20)))
def test_a_lifetime_is_the_oracles_to_the_last_bit(algorithm, trial):
    episodes = counts(3, 1000)
    expected = by_oracle(algorithm, trial, episodes)
    found = pendulum.lifetimes(algorithm, [trial], episodes, SEED)
    np.testing.assert_array_equal(found.episode_return[0], expected.returns)
    assert found.final_sigma[0] == expected.sigma
    assert found.freeze_episode[0] == expected.freeze_episode


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", AGENTS)
def test_the_first_episode_is_that_of_plain_arithmetic(algorithm):
    """The oracle with NumPy's functions, direct angles and NumPy's logarithm: nothing is shared.

    An agent that learns within the episode may be chaotic: how far a start that differs in the last
    bit leads says by how much last bits of other functions may.
    """
    trials = range(counts(4, 20))
    found = pendulum.lifetimes(algorithm, trials, 1, SEED).episode_return[:, 0]
    expected, spread = np.empty(len(trials)), np.empty(len(trials))
    for t in trials:
        key, starts, noise = replayed(algorithm, t, 1)

        def first_return(starts, t=t, key=key, noise=noise):
            random = key, starts, noise
            return by_oracle(algorithm, t, 1, exact=False, random=random).returns[0]

        expected[t] = first_return(starts)
        spread[t] = first_return(np.nextafter(starts, np.inf)) - expected[t]
    assert (abs(found - expected) <= 1e-9 * abs(expected) + 20 * abs(spread)).all()
    assert np.count_nonzero(abs(spread) > 1e-12 * abs(expected)) <= 1


def run_eight(settings, steps, episodes=1, learns=True, sigma=1.0):
    """Actor-Critic of short episodes; eight trials of the same settings."""
    key = stream_key(SEED, "pendulum", "simulation", "actor_critic")
    columns = tuple(np.full(8, value) for value in settings.values())
    returns, sigmas = np.empty((episodes, 8)), np.empty(8)
    frozen = np.empty(8, np.int64)
    actor_critic(key, np.arange(8), columns, sigma, learns, steps, returns, sigmas, frozen)
    return returns, sigmas, frozen


def test_every_step_is_the_oracles():
    """An episode of t steps is the start of a longer one, so differences are single rewards."""
    settings = settings_of("actor_critic", 1)
    for steps in range(2, counts(40, 400), 2):
        found, *_ = run_eight(settings, steps)
        random = drawn("actor_critic", 0, 1, steps)
        expected = by_oracle("actor_critic", 0, 1, settings, random=random)
        assert found[0, 0] == expected.returns[0]


@pytest.mark.parametrize("sigma, learns", pendulum.SIGMAS.values())
@pytest.mark.parametrize("actor_step, critic_step", [(0.01, 50.0), (1e308, 0.01)])
def test_learning_freezes_where_the_oracles_does(sigma, learns, actor_step, critic_step):
    """Steps far too long: numbers leave all bounds, the trial is flagged and goes on."""
    settings = settings_of("actor_critic", 0)
    settings |= {"actor_step": actor_step, "critic_step": critic_step, "trace_decay": 0.9}
    returns, sigmas, frozen = run_eight(settings, 200, 4, learns, sigma)
    assert (frozen >= 0).all()
    assert np.isfinite(returns).all()
    for trial in (0, 5):
        random = drawn("actor_critic", trial, 4, 200)
        with np.errstate(all="ignore"):
            expected = by_oracle(
                "actor_critic", trial, 4, settings, random=random, sigma=sigma, learns_sigma=learns
            )
        np.testing.assert_array_equal(returns[:, trial], expected.returns)
        assert frozen[trial] == expected.freeze_episode
        np.testing.assert_equal(sigmas[trial], expected.sigma)


def test_ppo_freezes_where_the_oracle_does():
    settings = settings_of("ppo", 0) | {"learning_rate": 1e200, "segment_steps": 16, "batch": 8}
    found = pendulum.lifetime("ppo", settings, 2, SEED)
    with np.errstate(all="ignore"):
        expected = by_oracle("ppo", 0, 2, settings)
    assert expected.freeze_episode == 0
    np.testing.assert_array_equal(found, expected.returns)


@pytest.mark.parametrize("independent, dependent", [(0, 0), (10, 10), (10, 0), (3, 8), (9, 7)])
def test_every_order_of_the_critic(independent, dependent):
    orders = {"critic_independent_order": independent, "critic_dependent_order": dependent}
    for algorithm in AGENTS:
        settings = settings_of(algorithm, 3) | orders
        found = pendulum.lifetime(algorithm, settings, 1, SEED, trial=3)
        np.testing.assert_array_equal(found, by_oracle(algorithm, 3, 1, settings).returns)


# -- environment -----------------------------------------------------------------------------------


def untrained(count, start=None):
    """Returns of episodes of the policy with zero weights and sigma 1."""
    found = []
    for trial in range(count):
        _, starts, noise = drawn("actor_critic", trial, 1)
        angle = starts[0] if start is None else start
        found.append(pendulum.play_episode(angle, noise[0]).reward.sum())
    return np.array(found)


def test_an_untrained_policy_returns_what_it_should():
    found = untrained(counts(1000, 20000))
    assert found.std() == pytest.approx(366.0, rel=0.05)
    assert abs(found.mean() + 1549.0) < 3.0 * found.std() / math.sqrt(len(found))


def test_an_untrained_policy_that_starts_hanging_stays_there():
    assert untrained(counts(100, 1000), start=0.0).mean() == pytest.approx(-1998.0, abs=1.0)


def test_an_agent_that_does_not_learn_is_the_untrained_policy():
    settings = settings_of("actor_critic", 0) | {"actor_step": 0.0, "critic_step": 0.0}
    found = [pendulum.lifetime("actor_critic", settings, 1, SEED, trial)[0] for trial in range(5)]
    np.testing.assert_allclose(found, untrained(5), rtol=1e-13)


def test_the_pendulum_is_that_of_the_oracle():
    """Pushed along its motion until it is as fast as it may be; some actions are no numbers."""
    rng = np.random.default_rng(1)
    angle, speed, actions, expected = 2.0, 0.0, [], []
    for i in range(1500):
        push = rng.normal(scale=3.0) + (40.0 if speed > 0.0 else -40.0)
        actions.append(math.nan if i % 97 == 0 else push)
        angle, speed, reward = oracle.step(angle, speed, actions[-1], OURS)
        expected.append((angle, speed, reward))
    found = pendulum.play_episode(2.0, np.array(actions))
    np.testing.assert_array_equal(np.array(found).T, expected)
    assert np.abs(found.speed).max() == 3.0 * math.pi
    for angle, speed in zip(found.angle, found.speed, strict=True):
        seen = pendulum.observe(angle, speed)
        assert seen == oracle.observe(angle, speed)
        wrapped = (angle + math.pi) % (2.0 * math.pi) - math.pi
        assert seen[0] == pytest.approx((wrapped + math.pi) / (2.0 * math.pi), abs=1e-12)
        assert 0.0 <= seen[0] <= 1.0 and 0.0 <= seen[1] <= 1.0
    assert np.abs(found.angle).max() > 20.0 * math.pi  # it has turned over, many times


def test_energy_is_lost_to_friction_alone():
    """Left alone, the pendulum swings as the differential equation says, to the order of 0.001."""
    swing = pendulum.play_episode(0.1, np.zeros(2000))
    seconds = 0.01 * np.arange(1, 2001)
    expected = 0.1 * np.exp(-0.05 * seconds) * np.cos(math.sqrt(9.8 - 0.0025) * seconds)
    # Euler's method adds energy at the rate of step * omega**2 / 2.
    expected *= np.exp(0.0005 * 9.8 * seconds)
    np.testing.assert_allclose(swing.angle, expected, atol=2e-3)


@pytest.mark.parametrize(
    "name, scale", [("sine", 300.0), ("cosine", 300.0), ("exponential", 300.0), ("sine", 1e-6)]
)
def test_elementary_functions_are_accurate(name, scale):
    rng = np.random.default_rng(1)
    x = rng.uniform(-scale, scale, 2000)
    exact = {"sine": np.sin, "cosine": np.cos, "exponential": np.exp}[name](x.astype(np.longdouble))
    found = np.array([getattr(functions, name)(number) for number in x])
    unit = np.spacing(np.maximum(np.abs(exact).astype(float), 2.0**-50 if scale == 300.0 else 0))
    if name == "exponential":
        unit = np.spacing(exact.astype(float))
    assert np.abs((found - exact) / unit).max() < 3.0


def test_exponentials_end_in_zero_and_infinity():
    assert functions.exponential(0.0) == 1.0
    assert (functions.exponential(-np.inf), functions.exponential(-709.0)) == (0.0, 0.0)
    assert (functions.exponential(np.inf), functions.exponential(710.0)) == (np.inf, np.inf)
    assert math.isnan(functions.exponential(math.nan))


# -- random numbers --------------------------------------------------------------------------------


def test_noise_can_be_replayed_with_numpy():
    for trial in (0, 7, 10**6):
        key, starts, expected = replayed("ppo", trial, 3)
        found = drawn("ppo", trial, 3)[2]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
        assert starts.tolist() == [starting_angle(*key, e, trial) for e in range(3)]


def test_trials_do_not_depend_on_their_neighbours():
    rng = np.random.default_rng(5)
    for algorithm in AGENTS:
        whole = pendulum.lifetimes(algorithm, range(20), 2, SEED)
        chosen = rng.permutation(20)[:7]
        part = pendulum.lifetimes(algorithm, chosen, 2, SEED)
        np.testing.assert_array_equal(part.episode_return, whole.episode_return[chosen])
        np.testing.assert_array_equal(part.final_sigma, whole.final_sigma[chosen])
        for name, values in part.hyperparameters.items():
            np.testing.assert_array_equal(values, whole.hyperparameters[name][chosen])
        shorter = pendulum.lifetimes(algorithm, chosen, 1, SEED)
        np.testing.assert_array_equal(shorter.episode_return[:, 0], part.episode_return[:, 0])
        assert len(np.unique(whole.episode_return)) == 40


def test_reruns_share_settings_and_nothing_else():
    for algorithm in AGENTS:
        again = pendulum.reruns(algorithm, 4, range(3), 1, SEED)
        first = pendulum.lifetimes(algorithm, [4], 1, SEED)
        other = pendulum.reruns(algorithm, 5, range(3), 1, SEED)
        for name, values in first.hyperparameters.items():
            assert (again.hyperparameters[name] == values[0]).all()
        every = (first, again, other)
        assert len(np.unique(np.concatenate([f.episode_return[:, 0] for f in every]))) == 7


@pytest.mark.parametrize("algorithm", AGENTS)
def test_hyperparameters_have_their_distributions(algorithm):
    count = 4000
    found = pendulum.sample_hyperparameters(algorithm, range(count), SEED)
    shares = {}
    for parameter in pendulum.parameters_of(algorithm):
        values = found[parameter.name]
        low, high = parameter.bounds
        assert ((values >= low) & (values <= high)).all()
        if parameter.distribution == "whole":
            possible = np.arange(low, high + 1)
            seen = (values[:, None] == possible).sum(axis=0)
            expected = count / len(possible)
            # Chi-square with mean df and variance 2 df: five standard deviations.
            df = len(possible) - 1
            assert ((seen - expected) ** 2 / expected).sum() < df + 5.0 * math.sqrt(2.0 * df)
            continue
        scale = {"log-uniform": np.log, "uniform": np.asarray, "whole powers of 2": np.log2}
        to = scale[parameter.distribution]
        share = np.sort((to(values) - to(low)) / (to(high) - to(low)))
        shares[parameter.name] = share
        grid = (np.arange(count) + 0.5) / count
        assert np.abs(share - grid).max() < 0.04  # 2.5 / sqrt(count), and rounding to whole steps
    assert len(shares) >= 3


# -- misuse and plain Python -----------------------------------------------------------------------


def test_what_cannot_be_run_is_said():
    settings = settings_of("actor_critic", 0)
    with pytest.raises(LabelError, match="Did you mean 'ppo'"):
        pendulum.lifetimes("pp", [0])
    with pytest.raises(PlanError, match="needs critic_step as well"):
        pendulum.lifetime("actor_critic", {k: v for k, v in settings.items() if k != "critic_step"})
    with pytest.raises(PlanError, match="critic_dependent_order of actor_critic is 11"):
        pendulum.lifetime("actor_critic", settings | {"critic_dependent_order": 11})
    with pytest.raises(PlanError, match="expected a whole number"):
        pendulum.lifetime("actor_critic", settings | {"critic_dependent_order": 2.5})
    with pytest.raises(PlanError, match="actor_step of actor_critic is nan"):
        pendulum.lifetime("actor_critic", settings | {"actor_step": math.nan})
    with pytest.raises(PlanError, match="at least 1 episode"):
        pendulum.lifetimes("ppo", [0], 0)
    with pytest.raises(PlanError, match="Did you mean 'fixed'"):
        pendulum.lifetimes("ppo", [0], sigma="fixt")
    with pytest.raises(PlanError, match=r"cannot be 'used'. Did you mean 'use'"):
        pendulum.lifetimes("ppo", [0], partial_minibatch="used")


SCRIPT = """
import sys
import numpy as np
from lcdb_builders.kernels.pendulum.actor_critic import actor_critic
from lcdb_builders.kernels.pendulum.ppo import ppo
eight = np.arange(8)
returns, sigmas, frozen = np.empty((2, 8)), np.empty(8), np.empty(8, np.int64)
settings = np.full(8, 0.02), np.full(8, 0.03), np.full(8, 0.5), eight % 5 * 2, eight % 3
actor_critic((3, 4), eight, settings, 1.0, True, 24, returns, sigmas, frozen)
two, settings = np.empty((3, 2)), [0.01, 0.9, [9, 0], [8, 0], [17, 20], [2, 3], [8, 7], 0.2]
settings = tuple(np.resize(values, 2) for values in settings)
ppo((3, 4), eight[:2], settings, True, 24, two, sigmas[1:3], frozen[:2])
np.save(sys.argv[1], np.concatenate([returns.ravel(), sigmas, two.ravel()]))
"""


@pytest.mark.full
@pytest.mark.process
def test_plain_python_runs_the_same_lifetimes(tmp_path):
    for name, disabled in (("plain", "1"), ("compiled", "0")):
        command = [sys.executable, "-c", SCRIPT, str(tmp_path / f"{name}.npy")]
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        done = subprocess.run(command, env=environment, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
    plain, compiled = np.load(tmp_path / "plain.npy"), np.load(tmp_path / "compiled.npy")
    np.testing.assert_allclose(plain, compiled, rtol=1e-9)


@pytest.mark.parametrize(("batch", "lost"), [(8, 1), (16, 1), (17, 0), (18, 17)])
def test_ppo_leaves_out_what_does_not_fill_a_minibatch(batch, lost):
    """Of 17 samples the last is left out by Baselines, or all where a minibatch is longer."""
    settings = settings_of("ppo", 0) | {"segment_steps": 17, "batch": batch, "epochs": 1}
    returns = {
        partial: pendulum.lifetime("ppo", settings, 1, SEED, partial_minibatch=partial)
        for partial in ("drop", "use")
    }
    np.testing.assert_array_equal(pendulum.lifetime("ppo", settings, 1, SEED), returns["drop"])
    assert (returns["drop"] == returns["use"]).all() == (lost == 0)
    for partial, found in returns.items():
        expected = by_oracle("ppo", 0, 1, settings, partial=partial == "use")
        np.testing.assert_array_equal(found, expected.returns)
    # What never learns keeps its first policy.
    unlearned = pendulum.lifetime("ppo", settings | {"epochs": 0}, 1, SEED)
    assert (returns["drop"] == unlearned).all() == (lost == 17)


def test_variants_of_ppo_agree_in_lifetimes_and_reruns():
    for partial in ("drop", "use"):
        alone = pendulum.lifetimes("ppo", [3], 1, SEED, partial_minibatch=partial)
        settings = settings_of("ppo", 3)
        single = pendulum.lifetime("ppo", settings, 1, SEED, 3, partial_minibatch=partial)
        np.testing.assert_array_equal(alone.episode_return[0], single)
    again = [
        pendulum.reruns("ppo", 3, [0], 1, SEED, partial_minibatch=partial).episode_return[0]
        for partial in ("drop", "use")
    ]
    size, batch = settings["segment_steps"], settings["batch"]
    assert (again[0] == again[1]).all() == (size % batch == 0)
