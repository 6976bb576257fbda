"""The experiments' half of `lcdb build`: options of their own, and what they are built with."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from lcdb.errors import PlanError

if TYPE_CHECKING:
    from lcdb_builders.run.build import Report

__all__ = ["OPTIONS", "build_experiment", "check_options", "configure"]

#: Options that an experiment has and a plan has not, and those that it has not.
OPTIONS = {"dse": ("trials", "seed", "mode", "task", "data_home")}
_NOT_FOR = ("dataset", "repetitions", "allow_import")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options of experiments."""
    group = parser.add_argument_group("for 'lcdb build dse' (those of a list may be repeated)")
    group.add_argument("--trials", type=int, metavar="N", help="of each part (default: 2000)")
    group.add_argument("--seed", type=int, metavar="SEED", help="the master seed")
    group.add_argument("--mode", action="append", metavar="NAME", help="random or tuned")
    group.add_argument(
        "--task", action="append", metavar="NAME",
        help="moons, circles, linear, faces, or the further task digits",
    )  # fmt: skip
    group.add_argument("--data-home", metavar="DIR", help="scikit-learn's data folder, for faces")


def check_options(arguments: argparse.Namespace) -> None:
    """Raise where an option is given that means nothing for what is to be built."""
    name = arguments.plan
    mine = OPTIONS.get(name, ())
    wrong = [o for options in OPTIONS.values() for o in options if o not in mine]
    wrong += _NOT_FOR if name in OPTIONS else []
    for option in wrong:
        if getattr(arguments, option) not in (None, False):
            msg = (
                f"--{option.replace('_', '-')} means nothing for 'lcdb build {name}'; leave it out"
            )
            raise PlanError(msg)


def build_experiment(
    arguments: argparse.Namespace, **options: Any
) -> tuple[Report, dict[str, str]]:
    """Build an experiment; return what was done, and what is missing and why."""
    from lcdb_builders.dse.build import SEED, TRIALS, build_dse

    return build_dse(
        arguments.out,
        tasks=arguments.task,
        learners=arguments.learner,
        modes=arguments.mode,
        trials=TRIALS if arguments.trials is None else arguments.trials,
        seed=SEED if arguments.seed is None else arguments.seed,
        data_home=arguments.data_home,
        offline=arguments.offline,
        **options,
    )
