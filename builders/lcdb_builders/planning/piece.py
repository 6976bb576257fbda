"""A piece of a plan: what is to be built or counted now of all that the plan has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lcdb.errors import LabelError, did_you_mean
from lcdb_builders.domain.unit import Unit
from lcdb_builders.planning.plan import DatasetSpec, Plan

__all__ = ["Piece"]


@dataclass(frozen=True)
class Piece:
    """Some of a plan's datasets, learners, scalings and tunings."""

    datasets: tuple[DatasetSpec, ...]
    learners: tuple[str, ...]
    scalings: tuple[str, ...]
    tunings: tuple[str, ...]

    @classmethod
    def of(
        cls,
        plan: Plan,
        datasets: Iterable[int | str] | None = None,
        learners: Iterable[str] | None = None,
        scalings: Iterable[str] | None = None,
        tunings: Iterable[str] | None = None,
    ) -> Piece:
        """Return what is named of a plan, in its order; None is all that it has.

        Raises
        ------
        LabelError
            The plan does not have one of them.

        Examples
        --------
        >>> from lcdb_builders.planning.plan import load_plan
        >>> plan = load_plan({"datasets": [61, 11], "learners": ["LDC", "NMC"]})
        >>> piece = Piece.of(plan, datasets=["iris"], learners=["LDC"])
        >>> [spec.id for spec in piece.datasets], piece.learners, piece.scalings
        (['61'], ('LDC',), ('none',))
        """
        if learners is not None:
            learners = {plan.learner(name).name for name in learners}
        every = tuple(spec.name for spec in plan.learners)
        return cls(
            plan.datasets if datasets is None else plan.named_datasets(datasets),
            every if learners is None else tuple(name for name in every if name in learners),
            _among("scaling", plan.scalings, scalings),
            _among("tuning", plan.tunings, tunings),
        )

    def has(self, unit: Unit) -> bool:
        """Return whether a unit of one of its cubes is to be built; draws always are."""
        return unit.is_draws or (unit.learner in self.learners and unit.tuning in self.tunings)


def _among(kind: str, known: tuple[str, ...], wanted: Iterable[str] | None) -> tuple[str, ...]:
    names = known if wanted is None else tuple(wanted)
    for name in names:
        if name not in known:
            msg = f"the plan has no {kind} {name!r}.{did_you_mean(name, known)}"
            raise LabelError(msg)
    return tuple(name for name in known if name in names)
