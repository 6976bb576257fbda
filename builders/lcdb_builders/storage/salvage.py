"""A damaged cube goes back into the journal, as far as its slices have the digest they should.

HDF5 may crash or hang on flipped metadata, so this runs in a process of its own, which may die. It
says on its output how far it came; whoever started it leaves out the unit it died on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from lcdb.errors import DamagedError, FormatVersionError, StorageError
from lcdb.schema import FORMAT_VERSION
from lcdb_builders.domain.part import AnyUnit, piece
from lcdb_builders.processes import child_environment, python
from lcdb_builders.storage.blocks import Blocks
from lcdb_builders.storage.contents import AnyContents
from lcdb_builders.storage.cube import (
    computed,
    read_contents,
    read_digests,
    read_values,
    slice_digest,
    unit_digest,
    unit_variables,
)
from lcdb_builders.storage.environment import Environment
from lcdb_builders.storage.layout import Coverage, Lengths
from lcdb_builders.storage.manifest import Manifest, cube_path

__all__ = ["Salvaged", "salvage"]

# Who computed a slice whose manifest is lost, or which several environments computed.
UNKNOWN: Environment = {
    "cpu": "unknown",
    "host": "unknown",
    "machine": "unknown",
    "packages": {},
    "python": "unknown",
}
_SECONDS = 60.0
_BYTES_PER_SECOND = 2e6
_MEMORY = 8 << 30


@dataclass
class Salvaged:
    """What was found in a damaged cube: labels of the units kept and lost."""

    kept: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def salvage(root: Path, dataset: str, *, keep: bool = True) -> Salvaged:
    """Publish the good slices of a damaged cube as blocks; the cube is left as it is.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.
    keep
        False to find out only.

    Raises
    ------
    FormatVersionError
        The cube is not damaged but written by a newer version.
    StorageError
        The blocks could not be written.
    """
    found = Salvaged()
    seen: dict[str, str] = {}
    while True:
        crashed = _attempt(root, dataset, keep, seen)
        unfinished = [label for label, state in seen.items() if state == "begun"]
        for label in unfinished:
            seen[label] = "lost"
        if not crashed or not unfinished:
            break
    for label, state in seen.items():
        (found.kept if state == "kept" else found.lost).append(label)
    return found


def _attempt(root: Path, dataset: str, keep: bool, seen: dict[str, str]) -> bool:
    """Run the process once and note in `seen` what became of each unit; True if it died."""
    request = json.dumps([str(root), dataset, keep, sorted(seen)])
    seconds = _SECONDS + cube_path(root, dataset).stat().st_size / _BYTES_PER_SECOND
    try:
        done = subprocess.run(
            python("lcdb_builders.storage.salvage", request),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
            timeout=seconds,
            check=False,
        )
        output, crashed = done.stdout, done.returncode != 0
    except subprocess.TimeoutExpired as late:
        output, crashed = late.stdout or b"", True
    answers = [json.loads(line) for line in output.splitlines()]
    if not answers:
        # Not the cube's fault, so the cube must not suffer for it.
        msg = f"the process that is to read {cube_path(root, dataset)} could not be started"
        raise StorageError(msg)
    for state, text in answers:
        if state == "newer":
            raise FormatVersionError(text)
        if state == "storage":
            raise StorageError(text)
        if state != "started":
            seen[text] = state
    return crashed


# -- in the process of its own -------------------------------------------------------------------


@dataclass(frozen=True)
class _View:
    """One account of what the file should hold: a manifest's, or the file's own."""

    contents: AnyContents
    digests: Mapping[AnyUnit, str]
    coverage: Mapping[AnyUnit, Any] | None = None
    computed_on: Mapping[AnyUnit, Environment] = field(default_factory=dict)


def _say(state: str, text: str) -> None:
    print(json.dumps([state, text]), flush=True)


def _views(root: Path, dataset: str, file: h5py.File) -> Iterator[_View]:
    try:
        entries = Manifest.read(root, dataset).entries
    except DamagedError:
        entries = ()
    for entry in entries:
        held = [s for s in entry.slices if s.coverage]
        yield _View(
            entry.contents,
            {s.unit: unit_digest(s.digests) for s in held},
            {s.unit: s.coverage for s in held},
            {s.unit: s.computed_on[0] for s in held if len(s.computed_on) == 1},
        )
    try:
        version = int(np.asarray(file.attrs["format_version"]).reshape(-1)[0])
        if version > FORMAT_VERSION and not entries:
            path = cube_path(root, dataset)
            _say("newer", f"{path} has format version {version}: update lcdb-plusplus")
            raise SystemExit(0)
        contents = read_contents(file)
        digests = read_digests(file, contents, contents.units)
    except Exception:  # whatever HDF5, JSON or we ourselves make of flipped bits
        return
    yield _View(contents, {unit: digest for unit, digest in digests.items() if digest})


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    """Yield the HDF5 file, or end where it is none any more."""
    with path.open("rb") as raw:
        try:
            file = h5py.File(raw, "r")
        except Exception:  # whatever HDF5 makes of flipped bits
            raise SystemExit(0) from None
        with file:
            yield file


def _examine(blocks: Blocks, dataset: str, keep: bool, seen: set[str]) -> None:
    with _opened(cube_path(blocks.root, dataset)) as file:
        views = list(_views(blocks.root, dataset, file))
        for unit in dict.fromkeys(unit for view in views for unit in view.digests):
            if unit.label in seen:
                continue
            seen.add(unit.label)
            _say("begun", unit.label)
            good = any(_recover(blocks, file, view, unit, keep) for view in views)
            _say("kept" if good else "lost", unit.label)


def _recover(blocks: Blocks, file: h5py.File, view: _View, unit: AnyUnit, keep: bool) -> bool:
    """Publish a unit if its slice is what a view says; return whether it is."""
    try:
        values = {v: read_values(file, view.contents, unit, v) for v in unit_variables(unit)}
        digests = {v.name: slice_digest(unit, v, values[v]) for v in values}
    except Exception:  # whatever HDF5 makes of flipped bits
        return False
    if unit_digest(digests) != view.digests.get(unit):
        return False
    if keep:
        scores = {v.name: array for v, array in values.items()}
        coverage = Coverage(unit, view.contents.repetitions, (view.coverage or {}).get(unit, ()))
        if view.coverage is None:
            coverage.there[:] = computed(unit, scores)
        blocks.lengths(unit, Lengths(*coverage.there.shape))
        for rectangle in coverage.rectangles():
            where = coverage.where(rectangle)
            sizes = unit.sizes[where[0]]
            block = piece(unit, sizes, rectangle[2], rectangle[3])
            there = {name: array[where] for name, array in scores.items()}
            blocks.publish(block, there, view.computed_on.get(unit, UNKNOWN))
    return True


def main(request: str) -> None:
    """Do what the caller asks for: JSON of root, dataset, whether to keep, labels to leave out."""
    root, dataset, keep, seen = json.loads(request)
    try:
        import resource

        # A flipped length must end in an error and not in the memory of the machine.
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    except (ImportError, ValueError, OSError):
        pass
    _say("started", dataset)
    try:
        _examine(Blocks(root), dataset, keep, set(seen))
    except OSError as error:  # not of HDF5: of reading the file, or of writing blocks
        _say("storage", str(error))


if __name__ == "__main__":
    main(sys.argv[1])
