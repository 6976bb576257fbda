"""The experiments' half of `lcdb build` and `lcdb plan`: options of their own, and their use."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from lcdb.errors import PlanError

if TYPE_CHECKING:
    from lcdb_builders.domain.part import Part
    from lcdb_builders.run.builder import Report

__all__ = ["OPTIONS", "build_experiment", "check_options", "configure", "plan_experiment"]

#: Options of each experiment.
OPTIONS = {
    "dse": ("trials", "seed", "learner", "mode", "task", "data_home", "offline"),
    "pendulum": (
        "trials",
        "seed",
        "algorithm",
        "episodes",
        "appendix_c",
        "reruns",
        "partial_minibatch",
    ),
}
_OF_PLANS = ("dataset", "learner", "repetitions", "allow_import", "offline")


def configure(parser: argparse.ArgumentParser, *, builds: bool) -> None:
    """Declare the options of experiments: all for what `builds`, else those that cost time."""
    both = parser.add_argument_group("for the experiments dse and pendulum")
    both.add_argument("--trials", type=int, metavar="N", help="of each part (default: 2000)")
    if builds:
        both.add_argument("--seed", type=int, metavar="SEED", help="the master seed")
    group = parser.add_argument_group("for the experiment dse (names may be repeated)")
    group.add_argument("--mode", action="append", metavar="NAME", help="random or tuned")
    group.add_argument(
        "--task", action="append", metavar="NAME",
        help="moons, circles, linear, faces, or the further task digits",
    )  # fmt: skip
    if builds:
        where = "scikit-learn's data folder, for faces"
        group.add_argument("--data-home", metavar="DIR", help=where)
    group = parser.add_argument_group("for the experiment pendulum")
    group.add_argument(
        "--algorithm", action="append", metavar="NAME",
        help="actor_critic, ppo (default: both), or the variant actor_critic_fixed; may be "
        "repeated",
    )  # fmt: skip
    group.add_argument("--episodes", type=int, metavar="N", help="of a lifetime (default: 1000)")
    group.add_argument(
        "--appendix-c", action="store_true",
        help="also run the trials of ppo at the 1st, 50th, 95th and 99th percentile again",
    )  # fmt: skip
    group.add_argument("--reruns", type=int, metavar="N", help="how often (default: 1000)")
    group.add_argument(
        "--partial-minibatch", choices=["drop", "use"],
        help="what ppo does with samples that do not fill the last minibatch (default: drop)",
    )  # fmt: skip


def check_options(arguments: argparse.Namespace) -> None:
    """Raise where an option is given that means nothing for what is to be built."""
    name = arguments.plan
    allowed = OPTIONS.get(name, _OF_PLANS)
    every = dict.fromkeys(o for options in (_OF_PLANS, *OPTIONS.values()) for o in options)
    for option in every:
        if option not in allowed and getattr(arguments, option, None) not in (None, False):
            flag = f"--{option.replace('_', '-')}"
            msg = f"{flag} means nothing for {name or 'no plan'!r}; leave it out"
            raise PlanError(msg)


def build_experiment(
    arguments: argparse.Namespace, **options: Any
) -> tuple[Report, dict[str, str]]:
    """Build an experiment; return what was done, and what is missing and why."""
    if arguments.trials is not None:
        options["trials"] = arguments.trials
    if arguments.seed is not None:
        options["seed"] = arguments.seed
    if arguments.plan == "pendulum":
        return _build_pendulum(arguments, **options), {}
    from lcdb_builders.experiments.dse.build import build_dse

    return build_dse(
        arguments.out,
        tasks=arguments.task,
        learners=arguments.learner,
        modes=arguments.mode,
        data_home=arguments.data_home,
        offline=arguments.offline,
        **options,
    )


def _build_pendulum(arguments: argparse.Namespace, **options: Any) -> Report:
    from lcdb_builders.experiments.pendulum.build import build_pendulum

    if arguments.episodes is not None:
        options["episodes"] = arguments.episodes
    if arguments.reruns is not None:
        options["reruns"] = arguments.reruns
    if arguments.partial_minibatch is not None:
        options["partial_minibatch"] = arguments.partial_minibatch
    return build_pendulum(
        arguments.out,
        algorithms=arguments.algorithm,
        appendix_c=arguments.appendix_c,
        **options,
    )


def plan_experiment(arguments: argparse.Namespace) -> list[tuple[str, int, float]]:
    """Return label, trials and seconds of one core of every part that a build would compute."""
    from lcdb_builders.experiments.protocol import maker_of

    parts = _pendulum_parts(arguments) if arguments.plan == "pendulum" else _dse_parts(arguments)
    return [(part.label, part.trials, part.trials * maker_of(part).seconds(part)) for part in parts]


def _dse_parts(arguments: argparse.Namespace) -> list[Part]:
    from lcdb_builders.experiments.dse.build import PAPER_TASKS, TRIALS, parts

    trials = arguments.trials if arguments.trials is not None else TRIALS
    return parts(
        arguments.task or PAPER_TASKS, arguments.learner, arguments.mode, trials=_positive(trials)
    )


def _pendulum_parts(arguments: argparse.Namespace) -> list[Part]:
    from lcdb_builders.experiments.pendulum.build import RERUNS, TRIALS
    from lcdb_builders.experiments.pendulum.lifetimes import EPISODES, SEED
    from lcdb_builders.experiments.pendulum.parts import PERCENTILES, parts, rerun_parts

    trials, episodes, reruns = (
        _positive(asked if asked is not None else default)
        for asked, default in (
            (arguments.trials, TRIALS),
            (arguments.episodes, EPISODES),
            (arguments.reruns, RERUNS),
        )
    )
    partial = arguments.partial_minibatch or "drop"
    labels = arguments.algorithm or ["actor_critic", "ppo"]
    wanted = parts(labels, trials, SEED, episodes, partial)
    if arguments.appendix_c:
        # Which trials these will be is not known before the others are there.
        wanted += rerun_parts(dict.fromkeys(PERCENTILES, 0), reruns, SEED, episodes, partial)
    return wanted


def _positive(count: int) -> int:
    if count < 1:
        msg = f"{count} is asked for; expected 1 or more trials, episodes and reruns"
        raise PlanError(msg)
    return count
