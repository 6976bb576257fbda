"""Draw a figure from a database into a file (SVG, PDF or PNG by its name)."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from lcdb.commands import SHIPPED
from lcdb.errors import ArgumentError, StorageError
from lcdb.schema import METRICS, SCALINGS, UNIT_DIMS

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb plot``."""
    what = f"a database directory or a cube file; {SHIPPED}"
    parser.add_argument("database", metavar="DIR", help=what)
    parser.add_argument(
        "--figure", required=True, metavar="NAME",
        help="1a, 2a, 2b, 2c, 2d, 3a, 3b, D5 of Turan, Loog and Tax 2026; map (non-Gaussian share "
        "by learner and dataset), repetitions (against R), views (honest, duplicate seeds, pool), "
        "ranks (moves by the 5 %% quantile), icdf (with bands), profile; curves (a panel for each "
        "learner), means, shape, early (choosing by early sizes), aggregate (over datasets); of "
        "two learners differences, crossing, "
        "power",
    )  # fmt: skip
    parser.add_argument(
        "--paper", choices=["turan2026", "jordan2018"], default="turan2026",
        help="whose figures; jordan2018 has 1, 2 and 3, of the experiments dse and pendulum",
    )  # fmt: skip
    parser.add_argument("--dataset", metavar="ID", help="another dataset than the paper's")
    parser.add_argument("--metric", default="accuracy", metavar="NAME", help=", ".join(METRICS))
    for name in UNIT_DIMS:
        parser.add_argument(
            f"--{name}", type=_labels, metavar="NAME,...",
            help="instead of the figure's own; of several there are lines or panels",
        )  # fmt: skip
    parser.add_argument(
        "--scaling", choices=SCALINGS, default="none", help="of the features: none unless given"
    )
    parser.add_argument(
        "--log", action=argparse.BooleanOptionalAction, default=None,
        help="whether the axis of sizes is logarithmic",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FILE", help="figure-NAME.svg unless given")
    parser.add_argument("--dpi", type=int, default=200, help="of a PNG")


def _labels(text: str) -> list[str]:
    return [label for label in text.split(",") if label]


def _refuse(asked: Mapping[str, object]) -> None:
    """Raise ArgumentError for options that experiments have no use for."""
    names = [f"--{name}" for name, value in asked.items() if value is not None]
    if names:
        msg = f"{', '.join(names)}: the figures of jordan2018 are of experiments, without curves"
        raise ArgumentError(msg)


def run(arguments: argparse.Namespace) -> None:
    """Draw and save the figure, and print where it is."""
    from lcdb.plot.style import need_matplotlib

    need_matplotlib()
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    from lcdb.database import open as open_database
    from lcdb.plot import draw, draw_experiment
    from lcdb.shipped import named

    out = arguments.out or Path(f"figure-{arguments.figure}.svg")
    with open_database(named(arguments.database)) as db:
        asked = {name: getattr(arguments, name) for name in (*UNIT_DIMS, "dataset", "log")}
        if arguments.paper == "jordan2018":
            _refuse(asked)
            draw_experiment(db, arguments.figure)
        else:
            more = {"metric": arguments.metric, "scaling": arguments.scaling}
            draw(db, arguments.figure, **more, **asked)
    try:
        plt.savefig(out, dpi=arguments.dpi)
    except ValueError as error:  # of another suffix than there are
        msg = f"{out} could not be written: {error}"
        raise ArgumentError(msg) from error
    except OSError as error:
        msg = f"{out} could not be written: {error}"
        raise StorageError(msg) from error
    print(out)
