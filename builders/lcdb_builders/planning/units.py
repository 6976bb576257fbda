"""What a plan means for one dataset: its units, in the order of the cube."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lcdb.errors import PlanError
from lcdb.naming import cube_key
from lcdb_builders.domain.scaling import scaled
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import DRAWS, Unit, canonical_json
from lcdb_builders.learners.base import Learner
from lcdb_builders.learners.generic import GenericLearner
from lcdb_builders.planning.plan import LearnerSpec, Plan
from lcdb_builders.planning.sizes import SMALLEST_TUNED, grid_values, thinned, training_sizes
from lcdb_builders.sources.catalog import Expected

__all__ = ["DRAWS_IMPLEMENTATION", "Subject", "plan_learners", "subjects", "units"]

# What computes `n_test` and `n_classes_train`; raise it when the draws themselves change.
DRAWS_IMPLEMENTATION = "draws-1"


# N, d, K and a digest: a snapshot, or what is known of a dataset that need not be at hand.
Subject = Snapshot | Expected


def plan_learners(plan: Plan, *, allow_import: bool = False) -> dict[str, Learner]:
    """Return the plan's learners by name, after checking their parameters and grids.

    Parameters
    ----------
    plan
        The plan.
    allow_import
        Allow estimators from elsewhere than scikit-learn; importing one runs its code.
    """
    from lcdb_builders.learners import registry

    # Names first: a misspelt one is told of, whatever is wrong with the parameters of another.
    learners = {
        spec.name: registry.get(
            spec.name,
            spec.estimator,
            allow_import=allow_import,
            files=lambda file: plan.folder / file,
        )
        for spec in plan.learners
    }
    for spec in plan.learners:
        learners[spec.name].complete(spec.params)
        _tuning_rule(plan, spec, learners[spec.name])
    return learners


def subjects(plan: Plan, dataset: Subject) -> list[Subject]:
    """Return a dataset under each scaling of a plan: what its cubes are of.

    Examples
    --------
    >>> from lcdb_builders.planning.plan import load_plan
    >>> from lcdb_builders.sources import expected
    >>> plan = load_plan({"datasets": [61], "learners": ["LDC"], "scalings": ["none", "minmax"]})
    >>> [subject.id for subject in subjects(plan, expected()["61"])]
    ['61', '61-minmax']
    """
    if isinstance(dataset, Snapshot):
        return [scaled(dataset, scaling, plan.seed) for scaling in plan.scalings]
    return [
        replace(dataset, id=cube_key(dataset.id, scaling), scaling=scaling)
        for scaling in plan.scalings
    ]


def units(plan: Plan, dataset: Subject, learners: Mapping[str, Learner]) -> list[Unit]:
    """Return the units of one cube in its order, the draws' own first.

    Parameters
    ----------
    plan
        The plan.
    dataset
        What the cube is of, see `subjects`: a snapshot, or what the catalogue says of it where
        only costs are wanted.
    learners
        By name; those that are missing are left out.
    """
    sizes = training_sizes(plan.sizes, dataset.rows)
    tuned = tuple(n for n in sizes if n >= SMALLEST_TUNED)
    tuned = thinned(tuned, plan.tuned.get("sizes", len(tuned)))
    wheres = [(sampling, split) for sampling in plan.samplings for split in plan.splits]
    draws = Unit(
        dataset=dataset.id,
        dataset_sha256=dataset.key,
        seed=plan.seed,
        learner=DRAWS,
        estimator="",
        params="{}",
        implementation=DRAWS_IMPLEMENTATION,
        sampling="",
        split="",
        tuning="default",
        tuning_rule="",
        sizes=sizes,
        scaling=dataset.scaling,
    )
    planned = [replace(draws, sampling=sampling, split=split) for sampling, split in wheres]
    for spec in plan.learners:
        if spec.name not in learners:
            continue
        learner = learners[spec.name]
        if isinstance(dataset, Snapshot) and isinstance(learner, GenericLearner):
            learner.check_columns(spec.params, dataset)
        plain = replace(
            draws,
            learner=spec.name,
            estimator=spec.estimator,
            params=canonical_json(learner.complete(spec.params)),
            implementation=learner.implementation,
            sizes=tuple(n for n in sizes if n >= spec.from_n),
            rows_per_class=spec.rows_per_class,
        )
        rule = _tuning_rule(plan, spec, learner) if "tuned" in plan.tunings else ""
        for sampling, split in wheres:
            placed = replace(plain, sampling=sampling, split=split)
            if "default" in plan.tunings and placed.sizes:
                planned.append(placed)
            own = tuple(n for n in tuned if n >= spec.from_n)
            if rule and own and sampling in plan.tuned.get("samplings", plan.samplings):
                planned.append(replace(placed, tuning="tuned", tuning_rule=rule, sizes=own))
    return planned


def _tuning_rule(plan: Plan, spec: LearnerSpec, learner: Learner) -> str:
    """Return parameter, grid and tie rule as canonical JSON; empty if the learner has no grid."""
    where = f"learners.{spec.name}.tuning"
    parameter = spec.tuning.get("parameter", learner.tuned_parameter)
    rule = {key: value for key, value in spec.tuning.items() if key != "parameter"}
    if parameter is None and not rule:
        return ""
    if parameter is None:
        msg = f"{where}.parameter is missing (the parameter to choose)"
        raise PlanError(msg)
    if learner.tuned_parameter not in (None, parameter):
        msg = f"{where}.parameter is {parameter!r}; {spec.name} tunes {learner.tuned_parameter!r}"
        raise PlanError(msg)
    values = grid_values(rule or {"values": learner.grid}, where)
    declared = learner.parameters.get(parameter)
    if declared is None:
        learner.complete({**spec.params, parameter: values[0]})
    else:
        values = [declared.check(spec.name, f"tuning ({parameter})", value) for value in values]
    return canonical_json({"parameter": parameter, "grid": values, "tie": plan.tie})
