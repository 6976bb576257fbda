"""Draw performance profiles of published results: how often is a method near the best.

DIR holds a CSV file for each method, with a row for each problem and columns mean, sd, mean, sd
and so on, of one or several checkpoints. The distance from the best mean is -ln p of a Welch test,
so that what few trials support counts for little.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from lcdb.errors import LabelError, NotFoundError, StorageError, did_you_mean

__all__ = ["configure", "run"]

#: Printed with the p-values that they stand for.
_TAU = {"0.5": 0.6931471805599453, "0.05": 2.995732273553991, "0.001": 6.907755278982137}


def _trials(text: str) -> tuple[str, int]:
    name, _, count = text.rpartition("=")
    if not name or not count.isdecimal() or int(count) < 2:
        msg = f"{text!r} is not NAME=N with N at least 2"
        raise argparse.ArgumentTypeError(msg)
    return name, int(count)


def _checkpoint(text: str) -> tuple[str | None, int]:
    name, _, place = text.rpartition("=")
    if not place.isdecimal() or int(place) < 1 or text.startswith("="):
        msg = f"{text!r} is not K or NAME=K with K from 1"
        raise argparse.ArgumentTypeError(msg)
    return name or None, int(place)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb profile``."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="a folder of CSV files")
    parser.add_argument(
        "--trials", metavar="NAME=N", type=_trials, action="append", required=True,
        help="trials behind each mean of DIR/NAME.csv; once for each method",
    )  # fmt: skip
    parser.add_argument(
        "--checkpoint", metavar="[NAME=]K", type=_checkpoint, action="append", default=[],
        help="pair of columns, from 1: of all methods, or of one; may be repeated (default: last)",
    )  # fmt: skip
    parser.add_argument("--kind", choices=["welch", "gap", "ratio"], default="welch")
    parser.add_argument("--minimize", action="store_true", help="small means are good")
    parser.add_argument("--out", type=Path, metavar="FILE", help="draw the profiles: svg, pdf, png")


def run(arguments: argparse.Namespace) -> None:
    """Print the profiles, and draw them if asked to."""
    from lcdb.analysis import read_results, results_profile

    methods = dict(arguments.trials)
    checkpoints = dict(arguments.checkpoint)
    for name in checkpoints:
        if name is not None and name not in methods:
            msg = (
                f"--checkpoint names {name!r}, which no --trials does.{did_you_mean(name, methods)}"
            )
            raise LabelError(msg)
    found = {
        name: read_results(
            _file(arguments.folder, name), trials, checkpoints.get(name, checkpoints.get(None))
        )
        for name, trials in methods.items()
    }
    direction = "minimize" if arguments.minimize else "maximize"
    profiles = results_profile(found, None, arguments.kind, direction)
    print(f"{profiles.attrs['problems']} problems; share on which a method is")
    if arguments.kind == "welch":
        tau = list(_TAU.values())
        columns = [f"p > {p}" for p in _TAU]
    else:
        # Rounded before they are used: a share is of the threshold that is printed above it.
        some = profiles["tau"].values[[0, 99, 149]]
        tau = list(dict.fromkeys(float(f"{t:.3g}") for t in some))
        columns = [f"< {t:g}" for t in tau]
    shares = results_profile(found, tau, arguments.kind, direction).values
    width = max(map(len, found))
    print(f"{'':<{width}}  " + "  ".join(f"{text:>9}" for text in columns))
    for name, row in zip(found, shares, strict=True):
        print(f"{name:<{width}}  " + "  ".join(f"{share:9.3f}" for share in row))
    if arguments.out:
        _draw(profiles, arguments.out)


def _file(folder: Path, name: str) -> Path:
    if not folder.is_dir():
        msg = f"{folder} is not a folder; expected one with a CSV file for each method"
        raise NotFoundError(msg)
    path = folder / f"{name}.csv"
    if not path.is_file():
        known = sorted(file.stem for file in folder.glob("*.csv"))
        msg = f"{folder} has no {name}.csv.{did_you_mean(name, known)}"
        raise LabelError(msg)
    return path


def _draw(profiles, out: Path) -> None:
    from lcdb.plot.style import need_matplotlib

    need_matplotlib()
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    from lcdb.plot import profile

    profile(profiles)
    try:
        plt.savefig(out)
    except (OSError, ValueError) as error:
        msg = f"{out} could not be written: {error}"
        raise StorageError(msg) from error
    print(out)
