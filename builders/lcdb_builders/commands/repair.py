"""Free a directory that builds refuse; without options, say what is the matter with it.

Damage needs no command: the next 'lcdb build' repairs it. But it cannot choose between two plans
that were built into one directory and contradict each other, and it never overwrites a file that
is not its own. Nothing is deleted: what is in the way is moved to DIR/aside, or keeps its bytes as
DIR/cubes/ID.nc.damaged-…
"""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb repair`."""
    parser.add_argument("database", metavar="DIR", help="a database directory")
    parser.add_argument(
        "--keep",
        action="append",
        default=[],
        metavar="ID=GROUP",
        help="of a dataset, keep this group of curves, such as 61=A, and move the others aside",
    )
    parser.add_argument(
        "--aside",
        action="append",
        default=[],
        metavar="ID",
        help="put cubes/ID.nc aside, whatever it is; its good curves stay",
    )


def run(arguments: argparse.Namespace) -> int:
    """Move aside what is asked for, and say how things are then."""
    from lcdb.errors import NotFoundError, PlanError
    from lcdb_builders.storage.mixed import aside, datasets, keep

    root = Path(arguments.database)
    if not (root / "blocks").is_dir() and not (root / "cubes").is_dir():
        msg = f"{root} is not a database directory: it has neither blocks nor cubes"
        raise NotFoundError(msg)
    for dataset in arguments.aside:
        _tell(f"{root / 'cubes' / dataset}.nc is now {aside(root, dataset)}")
    for choice in arguments.keep:
        dataset, equals, letter = choice.rpartition("=")
        if not equals:
            msg = f"--keep is {choice!r}; expected a dataset and a group, such as 61=A"
            raise PlanError(msg)
        for path in keep(root, dataset, letter):
            _tell(f"moved to {path}")
    wrong = [dataset for dataset in datasets(root) if _refused(root, dataset)]
    if not wrong:
        _tell(f"{root}: builds can go on with every dataset")
    return 1 if wrong else 0


def _refused(root: Path, dataset: str) -> bool:
    """Say why builds refuse a dataset, and return whether they do."""
    from lcdb.errors import LCDBError
    from lcdb_builders.storage.mixed import mixed
    from lcdb_builders.storage.restore import check_strangers

    try:
        check_strangers(root, dataset)
        groups = mixed(root, dataset)
    except LCDBError as error:
        _tell(f"{dataset}: {error}")
        return True
    if len(groups) < 2:
        return False
    _tell(f"{dataset}: {len(groups)} plans are mixed, which cannot stand in one cube:")
    for group in groups:
        where = "the cube" if group.in_cube else "the journal"
        blocks = f", {group.blocks} blocks not packed" if group.blocks else ""
        seeds = sorted({unit.seed for unit in group.units})
        why = f": {group.reason}" if group.reason else ""
        seed = ", ".join(map(str, seeds))
        many = len(group.units)
        _tell(f"  {group.letter}  {many} curves in {where}{blocks}, master seed {seed}{why}")
    _tell(f"say which to keep: lcdb repair {root} --keep {dataset}={groups[0].letter}")
    return True


def _tell(text: str) -> None:
    from lcdb.text import visible

    print(visible(text))
