"""Build the cubes of a plan, or of an experiment, in a directory, or go on building them.

What is there already is not computed again: a build that was stopped, or a plan that has grown, is
simply built again. Several builds may run on one directory at the same time, on one machine or on
many that share it.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from lcdb_builders.commands import experiments

if TYPE_CHECKING:
    from lcdb_builders.run.builder import Report

__all__ = ["configure", "run"]

# As lcdb_builders.run.build.TIMEOUT: written twice so that --help imports nothing heavy.
TIMEOUT = 3600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb build`."""
    what = "a TOML file, the name of a shipped plan, or an experiment: dse, pendulum"
    parser.add_argument("plan", metavar="PLAN", help=what)
    parser.add_argument("--out", metavar="DIR", required=True, help="the database directory")
    where = parser.add_argument_group("where to compute (default: all CPUs of this machine)")
    which = where.add_mutually_exclusive_group()
    which.add_argument("--workers", type=int, metavar="N", help="processes on this machine")
    which.add_argument("--scheduler", metavar="ADDRESS", help="a dask scheduler: tls://host:port")
    which.add_argument("--slurm", metavar="FILE", help="a TOML file of SLURM options")
    where.add_argument(
        "--certificates",
        metavar="FOLDER",
        help="ca.pem, cert.pem and key.pem for a scheduler at tls://",
    )
    part = parser.add_argument_group("build only a part of the plan (may be repeated)")
    part.add_argument("--dataset", action="append", metavar="ID", help="id or name")
    part.add_argument("--learner", action="append", metavar="NAME", help="such as LDC")
    part.add_argument("--scaling", action="append", metavar="NAME", help="none, standard, minmax")
    part.add_argument("--tuning", action="append", metavar="NAME", help="default or tuned")
    parser.add_argument("--repetitions", type=int, metavar="R", help="instead of the plan's")
    parser.add_argument(
        "--timeout",
        type=float,
        default=TIMEOUT,
        metavar="SECONDS",
        help="time that a block may take, 0 for ever (default: %(default)g)",
    )
    parser.add_argument(
        "--retry-failed", action="store_true", help="try blocks again that failed before"
    )
    parser.add_argument(
        "--allow-import",
        action="store_true",
        help="allow the plan to name classes from elsewhere than scikit-learn: runs their code",
    )
    parser.add_argument("--offline", action="store_true", help="download nothing")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    experiments.configure(parser, builds=True)


def run(arguments: argparse.Namespace) -> None:
    """Build, and say what was done."""
    experiments.check_options(arguments)
    options: dict[str, Any] = {
        "workers": arguments.workers,
        "scheduler": arguments.scheduler,
        "slurm": arguments.slurm,
        "certificates": arguments.certificates,
        "timeout": arguments.timeout or None,
        "retry_failed": arguments.retry_failed,
        "progress": not arguments.quiet,
    }
    missing: dict[str, str] = {}
    if arguments.plan in experiments.OPTIONS:
        report, missing = experiments.build_experiment(arguments, **options)
    else:
        from lcdb_builders.run.build import build

        report = build(
            arguments.plan,
            arguments.out,
            datasets=arguments.dataset,
            learners=arguments.learner,
            scalings=arguments.scaling,
            tunings=arguments.tuning,
            repetitions=arguments.repetitions,
            allow_import=arguments.allow_import,
            offline=arguments.offline,
            **options,
        )
    if not arguments.quiet:
        _tell(report)
    for name, why in missing.items():
        print(f"lcdb: {name} was not built: {why}", file=sys.stderr)


def _tell(report: Report) -> None:
    twice = f" ({report.duplicates} of them twice)" if report.duplicates else ""
    others = f", {report.elsewhere} by other builders" if report.elsewhere else ""
    done = report.computed + report.duplicates
    print(f"lcdb: {done} blocks computed{twice}{others}", file=sys.stderr)
    for cube in report.cubes.values():
        size = cube.path.stat().st_size / 1e6
        state = "written" if cube.written else "unchanged"
        print(f"lcdb: {cube.path} {state}, {size:.1f} MB", file=sys.stderr)
