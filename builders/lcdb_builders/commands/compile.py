"""Compile the kernels for this machine, which a build otherwise does beside computing.

Compiled code is kept in the user's cache (or in the folder that LCDB_CACHE names), and found again
until a source, Python, NumPy, Numba or the processor is another one. Without a plan: for
everything that the ten learners can be asked for.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb compile`."""
    parser.add_argument("plan", metavar="PLAN", nargs="?", help="only what this plan needs")
    parser.add_argument("--learner", action="append", metavar="NAME", help="only this one")
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: all CPUs)")
    parser.add_argument("--quiet", action="store_true", help="print nothing")


def run(arguments: argparse.Namespace) -> None:
    """Compile, and say how long it took."""
    from lcdb.schema import LEARNERS, SAMPLINGS, SPLITS, TUNINGS
    from lcdb_builders.compiling.store import cache_folder
    from lcdb_builders.planning.plan import load_plan
    from lcdb_builders.run.compiling import check, compile_kernels, plan_kinds
    from lcdb_builders.run.machine import usable_cpus
    from lcdb_builders.run.pool import check_pool
    from lcdb_builders.run.progress import choose, duration

    everything: dict[str, Any] = {
        "datasets": [61],
        "learners": list(LEARNERS),
        "samplings": list(SAMPLINGS),
        "splits": list(SPLITS),
        "tunings": list(TUNINGS),
    }
    check_pool(arguments.workers)
    plan = load_plan(everything if arguments.plan is None else arguments.plan)
    kinds = plan_kinds(plan, arguments.learner)
    progress = choose(not arguments.quiet)
    compiled = compile_kernels(kinds, arguments.workers or usable_cpus(), tell=progress.tell)
    check(compiled)
    if arguments.quiet:
        return
    folder = cache_folder()
    if folder is None:
        print("lcdb: compiled code cannot be kept: set LCDB_CACHE to a folder", file=sys.stderr)
    elif compiled:
        took = duration(sum(family.seconds for family in compiled))
        print(f"lcdb: {took} of one core; kept in {folder}", file=sys.stderr)
    else:
        print(f"lcdb: everything is compiled, in {folder}", file=sys.stderr)
