"""Units and parts as JSON, and the canonical order in which a cube has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lcdb.digests import size_runs
from lcdb_builders.domain.part import AnyUnit, Part
from lcdb_builders.domain.unit import Unit, canonical_json
from lcdb_builders.storage.parts import describe_part, described_part

__all__ = ["describe", "described", "unit_of"]


def describe(unit: AnyUnit) -> dict[str, Any]:
    """Return a unit as a JSON-able dict, with sizes as runs; `described` undoes it."""
    if isinstance(unit, Part):
        return describe_part(unit)
    description: dict[str, Any] = {
        "dataset": unit.dataset,
        "dataset_sha256": unit.dataset_sha256,
        "master_seed": unit.seed,
        "learner": unit.learner,
        "sampling": unit.sampling,
        "split": unit.split,
        "tuning": unit.tuning,
        "implementation": unit.implementation,
        "params": json.loads(unit.params),
        "sizes": size_runs(unit.sizes),
    }
    if unit.estimator:
        description["estimator"] = unit.estimator
    if unit.tuning_rule:
        description["tuning_rule"] = json.loads(unit.tuning_rule)
    if unit.rows_per_class:
        description["rows_per_class"] = unit.rows_per_class
    if unit.scaling != "none":
        description["scaling"] = unit.scaling
    return description


def described(text: Mapping[str, Any]) -> AnyUnit:
    """Return the unit, or the part, of a description.

    Examples
    --------
    >>> unit = Unit("61", "ab", 7, "LDC", "", "{}", "reference-1", "random", "fixed", "default",
    ...             "", (1, 2, 3, 5, 7))
    >>> described(describe(unit)) == unit
    True
    """
    return described_part(text) if "experiment" in text else unit_of(text)


def unit_of(text: Mapping[str, Any]) -> Unit:
    """Return the unit of a description of one."""
    return Unit(
        dataset=text["dataset"],
        dataset_sha256=text["dataset_sha256"],
        seed=text["master_seed"],
        learner=text["learner"],
        estimator=text.get("estimator", ""),
        params=canonical_json(text["params"]),
        implementation=text["implementation"],
        sampling=text["sampling"],
        split=text["split"],
        tuning=text["tuning"],
        tuning_rule=canonical_json(text["tuning_rule"]) if "tuning_rule" in text else "",
        sizes=tuple(n for first, last, step in text["sizes"] for n in range(first, last + 1, step)),
        rows_per_class=text.get("rows_per_class", 0),
        scaling=text.get("scaling", "none"),
    )
