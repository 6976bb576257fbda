"""All that `lcdb bench` measures, as one JSON-able result."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lcdb.schema import LEARNERS
from lcdb_builders.bench.baseline import Baseline, baseline_micros
from lcdb_builders.bench.cases import CASES, Effort, case_unit, plan_for
from lcdb_builders.bench.kernels import cell_micros, growth
from lcdb_builders.bench.projection import Measured, hours, measure
from lcdb_builders.bench.subjects import Subject, compared, paper_subject
from lcdb_builders.learners import registry
from lcdb_builders.planning.plan import Plan, load_plan
from lcdb_builders.run.compiling import check, compile_kernels, plan_kinds
from lcdb_builders.run.machine import usable_cpus
from lcdb_builders.sources.catalog import expected
from lcdb_builders.storage.environment import environment

__all__ = ["NORMAL", "PLAN", "QUICK", "Asked", "bench"]

NORMAL = Effort(seconds=0.08, sizes=8, step=1, baseline_sizes=4, tuned_repetitions=8)
QUICK = Effort(seconds=0.02, sizes=4, step=8, baseline_sizes=2, tuned_repetitions=2)
# What the projection is of.
PLAN = "turan2026"


@dataclass(frozen=True)
class Asked:
    """What is to be measured.

    Parameters
    ----------
    learners
        Names; all ten by default.
    datasets
        What to compare on, see `lcdb_builders.bench.subjects.compared`.
    folder
        Where files of the paper's datasets are.
    settings
        ``"default"`` parameters, or the ``"large"`` ones that learners declare.
    tuned
        Whether tuned cells are measured as well.
    quick
        Whether a minute must do.
    """

    learners: tuple[str, ...] = LEARNERS
    datasets: tuple[str, ...] | None = None
    folder: Path | None = None
    settings: str = "default"
    tuned: bool = False
    quick: bool = False

    @property
    def effort(self) -> Effort:
        """How much time measuring may take."""
        return QUICK if self.quick else NORMAL


class _Steps:
    """Tells how far a benchmark is."""

    def __init__(self, total: int, tell: Callable[[int, int, str], None]) -> None:
        self.done, self.total, self.tell = 0, total, tell

    def __call__(self, what: str) -> None:
        self.done += 1
        self.tell(self.done, self.total, what)


def bench(
    asked: Asked,
    *,
    tell: Callable[[str], None] = lambda _: None,
    step: Callable[[int, int, str], None] = lambda *_: None,
) -> dict[str, Any]:
    """Measure, and return everything as a JSON-able dict.

    Parameters
    ----------
    asked
        What.
    tell
        Called with lines for people.
    step
        Called with the number of steps that are done, that of all steps, and what was done last.
    """
    tunings = ("default", "tuned") if asked.tuned else ("default",)
    plan = plan_for(asked.learners, asked.settings, tunings)
    check(compile_kernels(plan_kinds(plan), usable_cpus(), tell=tell))
    start = time.perf_counter()
    subjects = compared(asked.datasets, asked.folder)
    targets = _plan_subjects(asked.folder)
    tuning = [name for name in asked.learners if asked.tuned and has_tuned_kernel(name)]
    cases = len(asked.learners) * (len(subjects) * len(CASES) + 6 * len(targets))
    steps = _Steps(cases + 6 * len(targets) * len(tuning), step)
    comparison, exponents = _compare(plan, asked, subjects, steps)
    untuned = measure(plan, asked.learners, targets, asked.effort, done=steps)
    result = {
        "kind": "lcdb-bench",
        "environment": {**environment(), "cpus": usable_cpus(), "system": platform.platform()},
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "settings": asked.settings,
        "parameters": {spec.name: dict(spec.params) for spec in plan.learners},
        "quick": asked.quick,
        "datasets": [{"label": subject.label, "origin": subject.origin} for subject in subjects],
        "comparison": comparison,
        "growth": exponents,
        "projection": _projected(untuned, targets, asked.learners),
    }
    if asked.tuned:
        tuned = measure(plan, tuning, targets, asked.effort, tuning="tuned", done=steps)
        result["tuned"] = _projected(tuned, targets, tuning) | {
            "repetitions": asked.effort.tuned_repetitions,
            "ratios": _ratios(tuned, untuned, tuning),
            "without_kernel": [name for name in asked.learners if name not in tuning],
        }
    return result | {"seconds": round(time.perf_counter() - start, 1)}


def has_tuned_kernel(name: str) -> bool:
    """Return whether a kernel computes a learner's tuned cells."""
    return bool(getattr(registry.get(name), "tunes", False))


def _plan_subjects(folder: Path | None) -> list[Subject]:
    catalogue = expected()
    return [paper_subject(catalogue[spec.id], folder) for spec in load_plan(PLAN).datasets]


def _compare(
    plan: Plan, asked: Asked, subjects: Sequence[Subject], done: Callable[[str], None]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return costs beside scikit-learn's, and exponents of growth."""
    effort = asked.effort
    rows: list[dict[str, Any]] = []
    exponents: list[dict[str, Any]] = []
    for name in asked.learners:
        learner = registry.get(name)
        for subject in subjects:
            snapshot = subject.snapshot
            for case in CASES:
                unit = case_unit(plan, learner, snapshot, case, "default", effort)
                micros = cell_micros(unit, snapshot, effort)
                variants = tuple(learner.baselines(unit.parameters, snapshot.X, snapshot.classes))
                for variant in variants or (name,):
                    if variant != name and snapshot.classes == 2:
                        continue  # one against the rest is the same machine
                    other = Baseline(float("nan"), float("nan"))
                    if variants:
                        other = baseline_micros(learner, variant, unit, snapshot, effort)
                    rows.append(
                        {
                            "learner": name,
                            "baseline": variant,
                            "dataset": subject.label,
                            "sampling": case[0],
                            "split": case[1],
                            "micros": micros,
                            "lean_micros": other.lean,
                            "usual_micros": other.usual,
                        }
                    )
                if case == ("random", "fixed"):
                    exponent = growth(unit, snapshot, replace(effort, seconds=effort.seconds / 2))
                    where = {"learner": name, "dataset": subject.label}
                    exponents.append({**where, "exponent": exponent})
                done(f"{name} on {subject.label}")
    return rows, exponents


def _projected(
    measured: Sequence[Measured], subjects: Sequence[Subject], learners: Sequence[str]
) -> dict[str, Any]:
    """Return core-hours by learner and dataset, and the costs they come from."""
    return {
        "plan": PLAN,
        "datasets": [
            {"id": s.snapshot.id, "label": s.label, "origin": s.origin} for s in subjects
        ],
        "hours": {
            name: {s.snapshot.id: hours(measured, learner=name, dataset=s.snapshot.id)
                   for s in subjects}
            for name in learners
        },
        "total": hours(measured),
        "measured": [asdict(case) for case in measured],
    }  # fmt: skip


def _ratios(
    tuned: Sequence[Measured], untuned: Sequence[Measured], learners: Sequence[str]
) -> dict[str, float]:
    """Return what tuned curves cost in untuned ones."""
    return {name: hours(tuned, learner=name) / hours(untuned, learner=name) for name in learners}
