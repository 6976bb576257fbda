"""The code that computes a unit, as a digest: numbers of changed kernels never mix with others.

A learner's implementation is named by hand, and a change of its kernels can be forgotten there. The
digest covers the definitions in `lcdb_builders.kernels` that the learner and the draws reach. Of an
experiment those of its own folder count as well. See `lcdb_builders.compiling.sources`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lcdb_builders.compiling.sources import Sources
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.experiments.protocol import MAKERS

__all__ = ["code_digest"]

_PACKAGE = __name__.partition(".")[0]
_KERNELS = f"{_PACKAGE}.kernels."
_DRAWS = f"{_PACKAGE}.domain.sampling.Draws"


def code_digest(unit: AnyUnit) -> str:
    """Return the digest of the kernels that a unit is computed with.

    Parameters
    ----------
    unit
        A unit, or a part of an experiment. Of a learner from another package, or of a class that
        the plan names, the kernels of the draws count alone.

    Examples
    --------
    >>> from lcdb_builders.domain.unit import Unit
    >>> from dataclasses import replace
    >>> unit = Unit("61", "ab", 1, "LDC", "", "{}", "kernel-1", "random", "fixed", "default", "",
    ...             (1, 2, 3))
    >>> code_digest(unit) == code_digest(replace(unit, dataset="11", split="varying"))
    True
    >>> code_digest(unit) == code_digest(replace(unit, learner="NNC"))
    False
    """
    if isinstance(unit, Part):
        maker = MAKERS[unit.dataset]
        return _digest(maker, within=(_KERNELS, f"{maker.rpartition('.')[0]}."))
    if unit.is_draws or unit.estimator:
        return _digest(_DRAWS)
    return _digest(_DRAWS, *_learner(unit.learner))


@cache
def _digest(*names: str, within: tuple[str, ...] = (_KERNELS,)) -> str:
    return _sources().digest_of(*names, within=within)


@cache
def _learner(name: str) -> tuple[str, ...]:
    """Return the name of the class of a learner of this package."""
    from lcdb_builders.learners import registry

    kind = type(registry.get(name))
    inside = kind.__module__.partition(".")[0] == _PACKAGE
    return (f"{kind.__module__}.{kind.__qualname__}",) if inside else ()


@cache
def _sources() -> Sources:
    return Sources(Path(__file__).resolve().parents[1], _PACKAGE)
