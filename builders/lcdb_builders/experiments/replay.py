"""Trials of an experiment again, beside what is stored of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcdb.schema import EXPERIMENTS
from lcdb_builders.domain.part import Part
from lcdb_builders.domain.unit import Block
from lcdb_builders.experiments.protocol import maker_of, trials_of
from lcdb_builders.storage.blockfile import canonical_scores
from lcdb_builders.storage.cells import StoredUnit, cells_of
from lcdb_builders.storage.environment import environment, same_kind
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.manifest import believed
from lcdb_builders.threads import one_thread

__all__ = ["ReplayedTrial", "replay_trials", "stored_trials"]

# Lifetimes run by eights; of more at once nobody would see how far it is.
_AT_ONCE = 16


@dataclass(frozen=True)
class ReplayedTrial:
    """One trial, computed again.

    Parameters
    ----------
    part, trial
        Which.
    different
        Names of the variables that have other bits now.
    expects_same_bits
        Whether what is stored comes from this implementation, on this type of machine.
    """

    part: Part
    trial: int
    different: tuple[str, ...]
    expects_same_bits: bool

    @property
    def agrees(self) -> bool:
        """Whether nothing says that the stored numbers are wrong."""
        return not (self.different and self.expects_same_bits)

    @property
    def unchecked(self) -> bool:
        """Whether nothing can be said: other bits, of another version or type of machine."""
        return bool(self.different) and not self.expects_same_bits

    @property
    def where(self) -> str:
        """The trial in words."""
        return f"{self.part.label}, trial {self.trial}"

    @property
    def verdict(self) -> str:
        """What the comparison says, in one line."""
        if not self.different:
            return "bit-equal"
        names = ", ".join(self.different)
        if self.expects_same_bits:
            return f"NOT bit-equal in {names}"
        return f"not bit-equal in {names} (computed by another version or machine)"

    def as_json(self) -> dict[str, Any]:
        """Return what it says as a JSON-able dict."""
        return {
            "dataset": self.part.dataset,
            "part": self.part.label,
            "trial": self.trial,
            "different": list(self.different),
            "expects_same_bits": self.expects_same_bits,
            "agrees": self.agrees,
            "unchecked": self.unchecked,
        }


def stored_trials(root: str | os.PathLike[str]) -> dict[Part, np.ndarray]:
    """Return the numbers of the trials that a database has, by part of an experiment."""
    journal, trials_by_part = Journal(root), {}
    for name in EXPERIMENTS:
        for part in journal.built(name, believed(journal.root, name)):
            if isinstance(part, Part):
                trials_by_part[part] = cells_of(journal, part)[:, 1]
    return trials_by_part


def replay_trials(
    root: str | os.PathLike[str], part: Part, trials: Sequence[int]
) -> Iterator[ReplayedTrial]:
    """Compute trials of a database again and compare them with what is stored.

    Examples
    --------
    >>> from lcdb.shipped import experiments
    >>> path = experiments().path
    >>> part = next(part for part in stored_trials(path) if part.label == "dse-kNN-moons-random")
    >>> [again.trial for again in replay_trials(path, part, [7, 3])]
    [7, 3]
    """
    journal = Journal(root)
    stored, expects = StoredUnit(journal, part), _expects_same_bits(journal, part)
    for first in range(0, len(trials), _AT_ONCE):
        run = trials[first : first + _AT_ONCE]
        with one_thread():
            now = trials_of(part, run, journal.root)
        for i, trial in enumerate(run):
            alone = {name: values[:, i : i + 1] for name, values in now.items()}
            yield ReplayedTrial(part, trial, _different(stored, part, trial, alone), expects)


def _different(
    stored: StoredUnit, part: Part, trial: int, now: dict[str, np.ndarray]
) -> tuple[str, ...]:
    """Return the names of the values of a trial that are not those that are stored."""
    again = canonical_scores(Block(part, part.sizes, trial, trial + 1), now)
    there = stored.cell(part.sizes[0], trial)
    return tuple(name for name in again if there[name].tobytes() != again[name].tobytes())


def _expects_same_bits(journal: Journal, part: Part) -> bool:
    """Return whether this implementation computed the trials, on this type of machine."""
    entry = believed(journal.root, part.dataset)
    known = entry.by_unit.get(part) if entry is not None else None
    # Without an entry, nobody knows what computed it.
    computed_on = known.computed_on if known is not None else ()
    expects = part.implementation == maker_of(part).IMPLEMENTATION and bool(computed_on)
    return expects and all(same_kind(environment(), other) for other in computed_on)
