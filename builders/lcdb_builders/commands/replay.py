"""Compute one cell of a database again, alone, and compare it with what is stored.

Shows the rows that were drawn, and each score as stored, as the build would compute it now (which
must give the same bits), and as the readable reference estimator has it (which must agree to the
learner's tolerance). Exit code 1 if either is not so, or could not be computed.
"""

from __future__ import annotations

import argparse
import json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb replay`."""
    what = "a database directory; or what ships, such as tutorial"
    parser.add_argument("database", metavar="DIR", help=what)
    parser.add_argument("dataset", metavar="DATASET", help="id or name, such as 61 or iris")
    parser.add_argument("learner", metavar="LEARNER", help="such as LDC")
    parser.add_argument("-n", type=int, required=True, metavar="N", help="size of the training set")
    parser.add_argument("-r", "--repetition", type=int, default=0, metavar="R", help="0, 1, ...")
    parser.add_argument("--sampling", default="random", help="default: %(default)s")
    parser.add_argument("--split", default="varying", help="default: %(default)s")
    parser.add_argument("--tuning", default="default", help="default or tuned")
    parser.add_argument("--scaling", default="none", help="none, standard or minmax")
    parser.add_argument("--json", action="store_true", help="print JSON, with all rows")
    parser.add_argument(
        "--allow-import",
        action="store_true",
        help="allow the curve's class to come from elsewhere than scikit-learn: runs its code",
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay the cell and print it."""
    from lcdb.shipped import named
    from lcdb_builders.reference.replay import replay

    cell = replay(
        named(arguments.database),
        arguments.dataset,
        arguments.learner,
        arguments.sampling,
        arguments.split,
        arguments.n,
        arguments.repetition,
        arguments.tuning,
        scaling=arguments.scaling,
        allow_import=arguments.allow_import,
    )
    print(json.dumps(cell.as_json(), indent=1) if arguments.json else cell)
    return 0 if cell.agrees and not cell.unchecked else 1
