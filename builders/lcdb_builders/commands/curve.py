"""Learning curves of classifiers on a file of your own: a picture, a table and a sentence.

All learners get the same training and test rows. Nothing but the picture is written, unless asked
for with --save.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from lcdb.errors import ArgumentError, NotBuiltError, StorageError
from lcdb.schema import SAMPLINGS, SCALINGS

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb curve``."""
    parser.add_argument("file", type=Path, metavar="FILE", help="an ARFF, CSV or parquet file")
    parser.add_argument("--target", required=True, metavar="NAME", help="column of the classes")
    parser.add_argument(
        "--learner", action="append", required=True, metavar="NAME", dest="learners",
        help="such as LDC, or a classifier of scikit-learn such as sklearn.svm.SVC, or steps of a "
        "pipeline with ' | ' between them; may be given several times",
    )  # fmt: skip
    parser.add_argument("--metric", default="accuracy", metavar="NAME", help="default: %(default)s")
    parser.add_argument(
        "--sizes", default="30", metavar="N[,N...]",
        help="sizes of training sets, or one number: how many, log-spaced; default: %(default)s",
    )  # fmt: skip
    parser.add_argument("--repetitions", type=int, default=200, help="default: %(default)s")
    parser.add_argument("--sampling", choices=SAMPLINGS, default="random")
    parser.add_argument(
        "--split", choices=["varying", "fixed"], default="varying",
        help="test on what was not drawn, or on 0.3 of the rows, always the same",
    )  # fmt: skip
    parser.add_argument("--scaling", choices=SCALINGS, default="none", help="of all features")
    parser.add_argument(
        "--nominal", action="append", default=[], metavar="NAME", help="column of categories"
    )
    parser.add_argument("--drop", action="append", default=[], metavar="NAME", help="leave it out")
    parser.add_argument("--seed", type=int, default=0, help="of everything random")
    parser.add_argument("--workers", type=int, metavar="N", help="all cores unless given")
    parser.add_argument(
        "--budget", metavar="TIME", help="such as 60s or 5min: at most so long for each learner"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the picture; <name of the file>-curve.svg"
    )
    parser.add_argument("--save", type=Path, metavar="FILE.nc", help="keep the numbers as netCDF")


def run(arguments: argparse.Namespace) -> None:
    """Compute the curves, draw them, and print what they say."""
    from lcdb.plot.style import need_matplotlib

    need_matplotlib()
    from lcdb_builders.predict.report import sentences, table, together

    curves = _curves(arguments)
    scores = together(curves, arguments.metric)
    out = arguments.out or Path(f"{arguments.file.stem}-curve.svg")
    if arguments.save:
        _save(curves, arguments.save)
    print(table(scores))
    print()
    print(sentences(scores))
    # Of a learner for which the budget was too short there is nothing to draw.
    drawn = scores.dropna("learner", how="all")
    if not drawn.sizes["learner"]:
        msg = f"there is no {arguments.metric} to draw; see above for the reason"
        raise NotBuiltError(msg)
    _draw(drawn, out)
    print(out)


def _sizes(text: str) -> int | list[int]:
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        msg = f"--sizes is {text!r}; expected whole numbers with commas between them"
        raise ArgumentError(msg) from None
    return numbers if len(numbers) > 1 else numbers[0]


def _curves(arguments: argparse.Namespace) -> dict[str, xr.Dataset]:
    from lcdb_builders.predict.curve import curve_of
    from lcdb_builders.predict.estimators import learner_of
    from lcdb_builders.predict.own_data import OwnData
    from lcdb_builders.predict.spending import deadline_of
    from lcdb_builders.sources.files import FileSource

    name = arguments.file.stem
    source = FileSource(
        "own",
        arguments.file,
        arguments.target,
        nominal=tuple(arguments.nominal),
        drop=tuple(arguments.drop),
        name=name,
    )
    own = OwnData.of(source.snapshot())
    learners = [learner_of(each, own.classes) for each in dict.fromkeys(arguments.learners)]
    return {
        learner.name: curve_of(
            learner,
            own,
            sizes=_sizes(arguments.sizes),
            repetitions=arguments.repetitions,
            sampling=arguments.sampling,
            split=arguments.split,
            metrics=[arguments.metric],
            scaling=arguments.scaling,
            seed=arguments.seed,
            workers=arguments.workers,
            deadline=deadline_of(arguments.budget),
        )
        for learner in learners
    }


def _save(curves: dict[str, xr.Dataset], path: Path) -> None:
    import xarray as xr

    options: dict = {"coords": "minimal", "compat": "override", "join": "outer"}
    parts = [curve.assign_coords(learner=name) for name, curve in curves.items()]
    whole = xr.concat(parts, "learner", combine_attrs="drop_conflicts", **options)
    try:
        whole.to_netcdf(path, engine="h5netcdf")
    except OSError as error:
        msg = f"{path} could not be written: {error}"
        raise StorageError(msg) from error


def _draw(scores: xr.DataArray, out: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    from lcdb.plot import quantile_curves

    # Bands of several learners would cover each other: lines alone.
    quantile_curves(scores, width=None if scores.sizes["learner"] > 1 else 2.0, log=True)
    try:
        plt.savefig(out, dpi=200)
    except ValueError as error:  # of another suffix than there are
        msg = f"{out} could not be written: {error}"
        raise ArgumentError(msg) from error
    except OSError as error:
        msg = f"{out} could not be written: {error}"
        raise StorageError(msg) from error
    finally:
        plt.close()
