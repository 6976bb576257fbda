"""Measure what cells cost on this machine, beside scikit-learn, and what the paper's plan takes.

Datasets of the paper that are not at hand (see 'lcdb datasets', and --data) are replaced by
generated ones of the same shape, and the output says so.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lcdb.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lcdb_builders.bench.run import Asked

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb bench`."""
    parser.add_argument("--learner", action="append", metavar="NAME", help="only this one")
    parser.add_argument(
        "--dataset",
        action="append",
        metavar="ID",
        help="compare on this one: id or name, or 768x8x2 or 2111x16x7",
    )
    parser.add_argument("--data", metavar="DIR", help="where files of the paper's datasets are")
    parser.add_argument(
        "--settings",
        choices=("default", "large"),
        default="default",
        help="large: 100 trees, 50 stumps, leaves of one row (default: those of a plan)",
    )
    parser.add_argument("--tuned", action="store_true", help="tuned cells as well")
    parser.add_argument("--quick", action="store_true", help="rough numbers within a minute")
    parser.add_argument(
        "--stats",
        action="store_true",
        help="measure statistics of distributions in the place of learners",
    )
    parser.add_argument(
        "--cells",
        type=int,
        default=10_000,
        metavar="N",
        help="with --stats: distributions of the generated database (default: %(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="write everything to a file; - prints it")


def run(arguments: argparse.Namespace) -> None:
    """Measure and print."""
    import lcdb_builders.threads  # noqa: F401  (what is not installed is told before anything else)

    if arguments.stats:
        _statistics(arguments)
        return
    from lcdb_builders.bench.run import Asked
    from lcdb_builders.learners import registry

    names = arguments.learner and tuple(registry.get(name).name for name in arguments.learner)
    asked = Asked(
        datasets=arguments.dataset and tuple(arguments.dataset),
        folder=arguments.data and Path(arguments.data).expanduser(),
        settings=arguments.settings,
        tuned=arguments.tuned,
        quick=arguments.quick,
        **({"learners": names} if names else {}),
    )
    result = {"command": shlex.join(["lcdb", *sys.argv[1:]]), **_measured(asked)}
    from lcdb_builders.bench.report import show

    _give(result, arguments.json, show)


def _statistics(arguments: argparse.Namespace) -> None:
    from lcdb_builders.bench.report import show_statistics
    from lcdb_builders.bench.statistics import look

    if arguments.cells < 1:
        msg = f"--cells is {arguments.cells}; expected 1 or more"
        raise PlanError(msg)
    timed = look(
        arguments.cells,
        lambda text: print(f"lcdb: {text}", file=sys.stderr),
        0.1 if arguments.quick else 1.0,
    )
    result = {"command": shlex.join(["lcdb", *sys.argv[1:]]), **timed}
    _give(result, arguments.json, show_statistics)


def _give(
    result: dict[str, Any], file: str | None, show: Callable[[dict[str, Any], str], None]
) -> None:
    """Print a result, as JSON or for people, and keep it in a file."""
    if file == "-":
        print(json.dumps(result, indent=1))
        return
    show(result, result["command"])
    if file:
        from lcdb_builders.storage import disk

        disk.replace(Path(file).expanduser().resolve(), json.dumps(result).encode())


def _measured(asked: Asked) -> dict[str, Any]:
    """Measure, with a bar on a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    from lcdb_builders.bench.run import bench

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("measuring")

        def step(done: int, total: int, what: str) -> None:
            bar.update(task, completed=done, total=total, description=what)

        return bench(asked, tell=lambda text: console.print(f"lcdb: {text}"), step=step)
