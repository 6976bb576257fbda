"""Trials of the pendulum as they are stored: values, labels, and which trials run again."""

from __future__ import annotations

import numpy as np
import pytest
from lcdb_builders.domain.part import Part
from lcdb_builders.experiments import pendulum
from lcdb_builders.experiments.pendulum import maker
from lcdb_builders.experiments.pendulum.build import selection
from lcdb_builders.experiments.pendulum.parts import (
    LABELS,
    PERCENTILES,
    parts,
    rerun_parts,
    selected_trials,
)
from lcdb_builders.experiments.protocol import trials_of
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal, Lengths
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.parts import Target

from lcdb.errors import LabelError, NotFoundError
from lcdb.schema import EXPERIMENTS

SEED = 5


def every_part(episodes: int) -> list[Part]:
    selected = dict.fromkeys(PERCENTILES, 3)
    return parts(LABELS, 4, SEED, episodes) + rerun_parts(selected, 4, SEED, episodes)


def test_labels_are_those_of_the_contract():
    known = EXPERIMENTS["pendulum"].labels["algorithm"]
    assert {*LABELS, *PERCENTILES} == set(known)


@pytest.mark.parametrize("part", every_part(2), ids=lambda part: part.label)
def test_a_run_of_trials_is_stored_as_it_was_computed(part):
    found = maker.trials(part, range(1, 4))
    assert list(found) == [v.name for v in part.experiment.part_variables(part.labels)]
    for variable in part.experiment.part_variables(part.labels):
        values = found[variable.name]
        assert values.dtype == variable.dtype
        assert values.shape == ((3, 2) if "episode" in variable.dims else (3,))
        assert not (values == variable.empty).any()
    np.testing.assert_allclose(found["episode_return"].mean(axis=1), found["mean_return"], 1e-6)
    asked = part.parameters
    names = [parameter.name for parameter in pendulum.parameters_of(asked["algorithm"])]
    assert set(names) <= set(found)
    single = maker.trials(part, range(2, 3))
    assert all((single[name][0] == values[1]).all() for name, values in found.items())


def test_variants_and_reruns_are_lifetimes_of_their_own():
    found = [maker.trials(part, range(2))["episode_return"] for part in every_part(1)]
    # The four reruns of one trial are the same part under four labels.
    assert len(np.unique(np.concatenate(found))) == 2 * (len(LABELS) + 1)
    first = pendulum.lifetimes("ppo", range(2), 1, SEED).episode_return
    np.testing.assert_array_equal(found[list(LABELS).index("ppo")], first.astype(np.float32))


def test_percentiles_select_trials_in_order():
    rng = np.random.default_rng(3)
    for count in (1, 2, 50, 1000):
        means = rng.normal(size=count)
        chosen = selected_trials(means)
        ranks = np.argsort(np.argsort(means))[list(chosen.values())] + 1
        expected = [max(1, -(-count * p // 100)) for p in PERCENTILES.values()]
        assert ranks.tolist() == expected


def stored(root, wanted, skip=()):
    """Compute and pack parts without workers, but for the blocks of trials to skip."""
    journal = Journal(root)
    journal.prepare(wanted)
    for part in wanted:
        for block in journal.missing(part, part.trials, Lengths(1, 3)):
            if block.first in skip:
                continue
            journal.publish(block, trials_of(part, block.repetitions, root), environment())
    pack(root, Target("pendulum"), wanted, max(part.trials for part in wanted))


def test_what_runs_again_is_decided_once(tmp_path):
    with pytest.raises(NotFoundError, match="no trials of ppo"):
        stored(tmp_path, parts(["actor_critic"], 2, SEED, 1))
        selection(tmp_path)
    stored(tmp_path, parts(["ppo"], 5, SEED, 1))
    first = selection(tmp_path)
    means = pendulum.lifetimes("ppo", range(5), 1, SEED).episode_return[:, 0]
    assert first == selected_trials(means)
    chosen = dict.fromkeys(PERCENTILES, 4)  # as if selected among other trials
    stored(tmp_path, rerun_parts(chosen, 2, SEED, 1))
    assert selection(tmp_path) == chosen
    stored(tmp_path, parts(["ppo"], 9, SEED, 1))
    assert selection(tmp_path) == chosen


def test_trials_that_are_not_there_do_not_shift_what_is_selected(tmp_path):
    means = np.array([np.nan, 30.0, 10.0, np.nan, 20.0])
    assert list(selected_trials(means).values()) == [2, 4, 1, 1]
    stored(tmp_path, parts(["ppo"], 5, SEED, 1), skip=[0])
    last = pendulum.lifetimes("ppo", range(3, 5), 1, SEED).episode_return[:, 0]
    assert selection(tmp_path) == {
        label: 3 + trial for label, trial in selected_trials(last).items()
    }


def test_numbers_of_trials_may_be_numpys():
    assert [part.trials for part in parts(["ppo"], np.int64(7), seed=1)] == [7]
    assert [part.trials for part in parts(["ppo"], {"ppo": 9}, seed=1)] == [9]


def test_an_unknown_algorithm_is_named():
    with pytest.raises(LabelError, match="Did you mean 'actor_critic'"):
        parts(["actor_critik"], 3, SEED)
