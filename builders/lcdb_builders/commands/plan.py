"""Show what a plan means: units, blocks, cells, size on disk, estimated time.

No dataset is fetched: N, d and K of the ten are known, local files are read.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from lcdb_builders.commands import experiments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table as RichTable

    from lcdb_builders.learners.base import Learner
    from lcdb_builders.planning.estimate import Estimate, Line
    from lcdb_builders.planning.plan import DatasetSpec, Plan
    from lcdb_builders.planning.timing import Timings

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb plan`."""
    parser.add_argument(
        "plan",
        metavar="PLAN",
        nargs="?",
        help="a TOML file, a shipped plan, or an experiment: dse, pendulum; none: list plans",
    )
    parser.add_argument("--dataset", action="append", metavar="ID", help="only this one")
    parser.add_argument("--learner", action="append", metavar="NAME", help="only this one")
    parser.add_argument("--scaling", action="append", metavar="NAME", help="only this one")
    parser.add_argument("--tuning", action="append", metavar="NAME", help="only this one")
    parser.add_argument("--repetitions", type=int, metavar="R", help="instead of the plan's")
    parser.add_argument(
        "--allow-import",
        action="store_true",
        help="allow the plan to name classes from elsewhere than scikit-learn: runs their code",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    experiments.configure(parser, builds=False)


def run(arguments: argparse.Namespace) -> None:
    """Print the estimate of a plan, or the names of those that ship."""
    from dataclasses import replace

    from lcdb_builders.planning.estimate import estimate
    from lcdb_builders.planning.piece import Piece
    from lcdb_builders.planning.plan import load_plan, shipped_plans
    from lcdb_builders.planning.units import plan_learners
    from lcdb_builders.run.compiling import compile_seconds, uncompiled
    from lcdb_builders.run.progress import duration

    experiments.check_options(arguments)
    if arguments.plan in experiments.OPTIONS:
        _tell_experiment(arguments)
        return
    if arguments.plan is None:
        for name, title in shipped_plans().items():
            print(f"{name:<10} {title}")
        return
    plan = load_plan(arguments.plan)
    if arguments.repetitions is not None:
        plan = plan.with_repetitions(arguments.repetitions)
    learners = plan_learners(plan, allow_import=arguments.allow_import)
    part = Piece.of(plan, arguments.dataset, arguments.learner, arguments.scaling, arguments.tuning)
    learners, datasets = {name: learners[name] for name in part.learners}, part.datasets
    plan = replace(plan, scalings=part.scalings, tunings=part.tunings)
    estimated = estimate(plan, learners, datasets, _timings(plan, learners, datasets, arguments))
    waiting = uncompiled(plan, learners)
    if arguments.json:
        compiling = {"compiling_core_hours": round(sum(map(compile_seconds, waiting)) / 3600, 4)}
        print(json.dumps({**_as_json(plan, estimated), **compiling}, indent=2))
    else:
        _print(plan, estimated)
        if waiting:
            names = ", ".join(name for family in waiting.values() for name in family)
            about = duration(sum(map(compile_seconds, waiting)))
            print(
                f"Not in these times: kernels of {names} are compiled on the way, once per "
                f"machine, which takes about {about} of one core."
            )


def _tell_experiment(arguments: argparse.Namespace) -> None:
    """Print what the parts of an experiment will take."""
    from rich.console import Console

    lines = experiments.plan_experiment(arguments)
    if arguments.json:
        parts = [
            {"part": label, "trials": trials, "core_hours": round(seconds / 3600, 4)}
            for label, trials, seconds in lines
        ]
        hours = round(sum(seconds for *_, seconds in lines) / 3600, 4)
        print(json.dumps({"parts": parts, "core_hours": hours}, indent=2))
        return
    rows = [(label, f"{trials:,}", _hours(s / 3600)) for label, trials, s in lines]
    total = sum(trials for _, trials, _ in lines), sum(seconds for *_, seconds in lines)
    footer = ("total", f"{total[0]:,}", _hours(total[1] / 3600))
    console = Console()
    console.print(_table(("part", "trials", "core-hours"), rows, footer))
    console.print("Times are estimates for one core; many cores share them.", highlight=False)


def _timings(
    plan: Plan,
    learners: Mapping[str, Learner],
    datasets: Sequence[DatasetSpec] | None,
    arguments: argparse.Namespace,
) -> Timings:
    """Time what comes from elsewhere on the datasets that are at hand."""
    if not any(learner.foreign for learner in learners.values()):
        return {}
    import tempfile
    from pathlib import Path

    from lcdb_builders.domain import snapshot as snapshots
    from lcdb_builders.learners.registry import keep_files
    from lcdb_builders.planning.estimate import known_here
    from lcdb_builders.planning.units import subjects, units
    from lcdb_builders.run.machine import usable_cpus
    from lcdb_builders.run.timing import time_units

    with tempfile.TemporaryDirectory(prefix="lcdb-plan-") as folder:
        root = Path(folder)
        for learner in learners.values():
            keep_files(learner, root)
        there = known_here(plan, datasets)
        for snapshot in there.values():
            snapshots.save(snapshot, root / "snapshots")
        every = [
            unit
            for snapshot in there.values()
            for subject in subjects(plan, snapshot)
            for unit in units(plan, subject, learners)
        ]
        return time_units(every, root, allow_import=arguments.allow_import, workers=usable_cpus())


def _as_json(plan: Plan, estimated: Estimate) -> dict[str, object]:
    return {
        "plan": plan.content,
        "datasets": [line.as_json() for line in estimated.datasets],
        "learners": [line.as_json() for line in estimated.learners],
        "total": estimated.total.as_json(),
        "unknown": list(estimated.unknown),
        "worker_bytes": estimated.memory,
    }


def _print(plan: Plan, estimated: Estimate) -> None:
    from rich.console import Console

    from lcdb.text import as_rich

    console = Console()
    console.print(as_rich(plan.title), highlight=False)
    console.print(
        f"{plan.repetitions:,} repetitions; {', '.join(plan.samplings)}; {', '.join(plan.splits)}; "
        f"{', '.join(plan.tunings)}; scaling: {', '.join(plan.scalings)}",
        highlight=False,
    )
    names = ("units", "blocks", "cells", "on disk", "core-hours")
    for first, lines in (("dataset", estimated.datasets), ("learner", estimated.learners)):
        rows = [_cells(line) for line in lines]
        console.print(_table((first, *names), rows, _cells(estimated.total)))
    if estimated.unknown:
        console.print(
            as_rich(
                "not counted, since nothing is known of them before they are fetched: "
                f"{', '.join(estimated.unknown)}"
            ),
            highlight=False,
        )
    if estimated.memory:
        needed = _size(estimated.memory)
        text = f"Each worker needs {needed} for tables of pairs of rows (GSVC, NNC)."
        console.print(text, highlight=False)
    console.print("Times are estimates for one core; many cores share them.", highlight=False)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], footer: Sequence[str]) -> RichTable:
    """Return a table whose last line is the total; all columns but the first are numbers."""
    from rich import box
    from rich.table import Table

    from lcdb.text import as_rich

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", show_footer=True)
    for name, last in zip(names, footer, strict=True):
        table.add_column(name, footer=last, justify="left" if name == names[0] else "right")
    for row in rows:
        table.add_row(*map(as_rich, row))
    return table


def _cells(line: Line) -> tuple[str, ...]:
    counts = (f"{count:,}" for count in (line.units, line.blocks, line.cells))
    return (line.label, *counts, _size(line.size), _hours(line.hours))


def _hours(hours: float) -> str:
    if hours < 0.01:
        return "< 0.01"
    return f"{hours:,.0f}" if hours >= 10 else f"{hours:.2g}"


def _size(size: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"
