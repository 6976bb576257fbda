"""What a build says at its end of blocks that failed and of curves without values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from lcdb.errors import FailedBlocksError
from lcdb_builders.storage.journal import Failure
from lcdb_builders.storage.packed import Cube

__all__ = ["failed", "look_for_values"]


def failed(failures: Sequence[Failure], root: Path) -> FailedBlocksError:
    """Return the error that tells of blocks that failed or timed out."""
    counts = Counter(failure.status for failure in failures)
    many = " and ".join(f"{count} {status.replace('_', ' ')}" for status, count in counts.items())
    first = failures[0]
    msg = (
        f"{many} of the blocks, the first of {first.block.unit.label}: {first.reason}; "
        f"all others are built. 'lcdb status {root}' names them, --retry-failed tries them again"
    )
    return FailedBlocksError(msg)


def look_for_values(
    cubes: Iterable[Cube], labels: Collection[str], root: Path, tell: Callable[[str], None]
) -> None:
    """Raise where a curve was computed and has no value; tell of those that lack some.

    Parameters
    ----------
    cubes
        The cubes of a build.
    labels
        Of the units that it was asked for.
    root
        The database directory.
    tell
        Called with a line.
    """
    by_label = [pair for cube in cubes for pair in cube.statuses.items() if pair[0] in labels]
    reason = f"'lcdb status {root}' says why"
    empty = [label for label, status in by_label if status == "failed"]
    if empty:
        msg = f"{len(empty)} curves have no value in any cell, the first {empty[0]}; {reason}"
        raise FailedBlocksError(msg)
    if partial := sum(status == "partial" for _, status in by_label):
        tell(f"{partial} curves lack values in some cells; {reason}")
