"""Read every file of a database and compare it with its digest; changes nothing.

Looks at snapshots, cubes and their indexes, manifests, the journal, and summaries, which their
release has digests of. What is damaged is repaired by the next 'lcdb build', which recomputes the
damaged part and no more. With --recompute random cells of complete curves, and random trials of
experiments, are computed again as well; one that cannot be, since its reference estimator finds no
model, is told apart from one that is wrong. Curves of an earlier definition of their learner are
named and left out. Exit code 1 if something is not as it should be.

A build goes on only with numbers of the same code. After an update that changed kernels but no
number, --adopt computes some cells of every curve of other code again, and takes the curve over if
all of them are the same bit for bit: that, it writes down.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lcdb_builders.experiments.replay import ReplayedTrial
    from lcdb_builders.reference.replayed import Replay
    from lcdb_builders.run.adopt import Adopted
    from lcdb_builders.storage.repair import Report

    Again = Replay | ReplayedTrial

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `lcdb verify`."""
    what = "a database directory; or what ships, such as tutorial"
    parser.add_argument("database", metavar="DIR", help=what)
    parser.add_argument(
        "--recompute", type=_count, default=0, metavar="N", help="compute N random cells again"
    )
    parser.add_argument(
        "--adopt",
        type=_count,
        default=0,
        metavar="N",
        help="compute N cells of every curve of other code again; take it over if all are the same",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of the choice of cells (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    parser.add_argument(
        "--allow-import",
        action="store_true",
        help="allow a recomputed curve's class to come from elsewhere than scikit-learn",
    )


def _count(text: str) -> int:
    count = int(text)
    if count < 0:
        msg = f"{count} is negative"
        raise argparse.ArgumentTypeError(msg)
    return count


def run(arguments: argparse.Namespace) -> int:
    """Verify the database and print what was found."""
    from lcdb.shipped import named

    root = Path(named(arguments.database))
    report = _read(root, shown=not arguments.quiet)
    cells: list[Again] = []
    redefined: dict[tuple[str, str], int] = {}
    if arguments.recompute and report.intact:
        from lcdb_builders.reference.replay import redefined_curves

        cells = list(_recomputed(root, arguments))
        redefined = redefined_curves(root)
    skipped = arguments.recompute if not report.intact else 0
    adopted = list(_adopted(root, arguments)) if arguments.adopt and report.intact else []
    if arguments.json:
        print(json.dumps(_as_json(report, cells, adopted, redefined), indent=1))
    else:
        _print(root, report, cells, skipped)
        for (learner, implementation), count in redefined.items():
            print(
                f"no cell of {count} curves of {learner} was recomputed: {implementation} is an "
                f"earlier definition of {learner}, and what built them can compute them again"
            )
        if arguments.adopt:
            _print_adopted(adopted, report.intact)
    same = all(not adoption.different for adoption in adopted)
    return 0 if report.intact and same and all(cell.agrees for cell in cells) else 1


def _read(root: Path, shown: bool) -> Report:
    """Read every file, and tell how far that is by bytes."""
    from lcdb_builders.run.progress import Words, choose
    from lcdb_builders.storage.repair import files, verify

    sizes = {path: _size(path) for path in files(root)}
    progress = choose(shown, words=Words("verifying", "files", "to read"))
    progress.begin(sum(sizes.values()), len(sizes))
    reading: list[Path] = []

    def advance(path: Path | None = None) -> None:
        if reading:
            progress.advance(sizes.get(reading.pop(), 0.0), 1)
        reading.extend([path] if path else [])

    try:
        report = verify(root, advance)
        advance()
    finally:
        progress.end()
    return report


def _size(path: Path) -> float:
    """Return a file's bytes, and a little for opening it; it may be gone by now."""
    with suppress(OSError):
        return path.stat().st_size + 1000.0
    return 1000.0


def _recomputed(root: Path, arguments: argparse.Namespace) -> Iterator[Again]:
    from lcdb_builders.reference.replay import recompute_cells
    from lcdb_builders.run.progress import Words, choose

    progress = choose(not arguments.quiet, words=Words("recomputing", "cells", "to recompute"))
    progress.begin(arguments.recompute, arguments.recompute)
    try:
        for cell in recompute_cells(
            root,
            arguments.recompute,
            arguments.seed,
            allow_import=arguments.allow_import,
        ):
            progress.advance(1.0, 1)
            yield cell
    finally:
        progress.end()


def _adopted(root: Path, arguments: argparse.Namespace) -> Iterator[Adopted]:
    from lcdb_builders.run.adopt import adopt, others
    from lcdb_builders.run.progress import Words, choose

    count = arguments.adopt
    many = len(others(root))
    progress = choose(not arguments.quiet, words=Words("recomputing", "curves", "to recompute"))
    progress.begin(many, many)
    try:
        for adoption in adopt(root, count, arguments.seed, allow_import=arguments.allow_import):
            progress.advance(1.0, 1)
            yield adoption
    finally:
        progress.end()


def _print_adopted(adopted: list[Adopted], intact: bool) -> None:
    for adoption in adopted:
        if adoption.different:
            print(
                f"OTHER {adoption.unit.label}: {adoption.different} of {adoption.cells} cells have "
                "other bits now; a build cannot go on with it: build into another directory"
            )
    kept = sum(not adoption.different for adoption in adopted)
    if not intact:
        print("nothing was adopted: repair the database first")
    else:
        print(f"{kept} of {len(adopted)} curves of other code are the same bit for bit: adopted")


def _as_json(
    report: Report,
    cells: list[Again],
    adopted: list[Adopted],
    redefined: dict[tuple[str, str], int],
) -> dict[str, Any]:
    return {
        "intact": report.intact,
        "checked": report.checked,
        "damage": [
            {
                "path": str(damage.path),
                "what": damage.what,
                "units": list(damage.units),
                "repairable": damage.repairable,
            }
            for damage in report.damage
        ],
        "recomputed": [cell.as_json() for cell in cells],
        "redefined": [
            {"learner": learner, "implementation": implementation, "curves": count}
            for (learner, implementation), count in redefined.items()
        ],
        "adopted": [
            {"unit": f.unit.label, "cells": f.cells, "different": f.different} for f in adopted
        ],
    }


def _print(root: Path, report: Report, cells: list[Again], skipped: int) -> None:
    from lcdb.text import visible

    checked = ", ".join(f"{count} {kind}" for kind, count in sorted(report.checked.items()))
    print(visible(f"{root}: {checked or 'no files'} read"))
    for damage in report.damage:
        word = "DAMAGED" if damage.repairable else "NOT RIGHT"
        print(visible(f"{word} {damage.path}: {damage.what}"))
        for label in damage.units:
            print(f"  {visible(label)}")
    repairable = sum(damage.repairable for damage in report.damage)
    if report.intact:
        print("every file is what was written")
    elif repairable:
        print("'lcdb build' with the plan of this database repairs what is damaged")
    if len(report.damage) > repairable:
        print("no build puts right what is NOT RIGHT: do what the line says")
    wrong = [cell for cell in cells if not cell.agrees]
    unchecked = [cell for cell in cells if cell.agrees and cell.unchecked]
    for what, which in (("WRONG", wrong), ("UNCHECKED", unchecked)):
        for cell in which:
            print(f"{what} {cell.where}: {cell.verdict}")
    if cells:
        right = len(cells) - len(wrong) - len(unchecked)
        print(f"{right} of {len(cells)} recomputed cells are as stored")
    if unchecked:
        print(f"{len(unchecked)} could not be checked on both sides; nothing says they are wrong")
    if skipped:
        print(f"{skipped} cells were not recomputed: repair the database first")
