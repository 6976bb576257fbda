"""One trial of an experiment again, beside what is stored of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from lcdb.schema import EXPERIMENTS
from lcdb_builders.domain.part import Part
from lcdb_builders.domain.unit import Block
from lcdb_builders.experiments.protocol import maker_of, trials_of
from lcdb_builders.storage.blockfile import canonical_scores
from lcdb_builders.storage.cells import cells_of, stored_cell
from lcdb_builders.storage.environment import environment, same_kind
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.manifest import believed
from lcdb_builders.threads import one_thread

__all__ = ["ReplayedTrial", "replay_trial", "stored_trials"]


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


@one_thread()
def replay_trial(root: str | os.PathLike[str], part: Part, trial: int) -> ReplayedTrial:
    """Compute one trial of a database again and compare it with what is stored.

    Examples
    --------
    >>> from lcdb.shipped import experiments
    >>> path = experiments().path
    >>> part = next(part for part in stored_trials(path) if part.label == "dse-kNN-moons-random")
    >>> replay_trial(path, part, 7).trial
    7
    """
    journal = Journal(root)
    block = Block(part, part.sizes, trial, trial + 1)
    now = canonical_scores(block, trials_of(part, block, journal.root))
    stored = stored_cell(journal, block)
    names = tuple(name for name, array in now.items() if stored[name].tobytes() != array.tobytes())
    entry = believed(journal.root, part.dataset)
    known = entry.by_unit.get(part) if entry is not None else None
    # Without an entry, nobody knows what computed it.
    computed_on = known.computed_on if known is not None else ()
    expects = part.implementation == maker_of(part).IMPLEMENTATION and bool(computed_on)
    expects = expects and all(same_kind(environment(), other) for other in computed_on)
    return ReplayedTrial(part, trial, names, expects)
