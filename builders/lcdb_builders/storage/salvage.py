"""A damaged cube goes back into the journal, as far as its slices have the digest they should.

HDF5 may crash or hang on flipped metadata, so this runs in a process of its own, which may die. It
says on its output how far it came; whoever started it leaves out the unit it died on.
"""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from lcdb.errors import DamagedError, DeterminismError, FormatVersionError, StorageError
from lcdb.regular import check_regular
from lcdb.schema import CREDITS, EXPERIMENTS, FORMAT_VERSION, VARIABLES
from lcdb_builders.domain.part import AnyUnit
from lcdb_builders.domain.unit import Block
from lcdb_builders.processes import child_environment, python
from lcdb_builders.storage.blocks import Blocks
from lcdb_builders.storage.contents import AnyContents
from lcdb_builders.storage.cube import (
    read_contents,
    read_digests,
    read_values,
    slice_digest,
    unit_digest,
)
from lcdb_builders.storage.environment import Environment
from lcdb_builders.storage.layout import Coverage, Lengths
from lcdb_builders.storage.manifest import Manifest, cube_path
from lcdb_builders.storage.naming import describe, described

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
# How much longer it may take than it computes, where the machine is busy or the disk is slow.
_PATIENCE = 20
# Signals with which a process ends that reads nonsense; others come from outside.
_CRASHES = {
    getattr(signal, name, None)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGXCPU")
}


@dataclass
class Salvaged:
    """What was found in a damaged cube.

    Parameters
    ----------
    kept, lost
        Labels of its units.
    units
        All of them by label.
    extras
        What somebody has added to it: names of variables, and attributes as ``name (attribute)``.
    foreign
        Whether it is a file of another kind, which nobody damaged.
    """

    kept: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    units: dict[str, AnyUnit] = field(default_factory=dict)
    extras: list[str] = field(default_factory=list)
    foreign: bool = False


def salvage(root: Path, dataset: str, *, keep: bool = True, strangers: bool = False) -> Salvaged:
    """Publish the good slices of a damaged cube as blocks; the cube is left as it is.

    Parameters
    ----------
    root, dataset
        Database directory and dataset.
    keep
        False to find out only.
    strangers
        Go on where somebody has put something else into the file.

    Raises
    ------
    FormatVersionError
        The cube is not damaged but written by a newer version.
    DeterminismError
        The journal has other numbers for a slice.
    StorageError
        The blocks could not be written, or the cube could not be judged: its reader was killed,
        or had no memory or time, for which the cube must not suffer.
    """
    salvaged = Salvaged()
    seen: dict[str, str] = {}
    while True:
        crashed = _attempt(root, dataset, keep, strangers, seen, salvaged)
        unfinished = [label for label, state in seen.items() if state == "begun"]
        for label in unfinished:
            seen[label] = "lost"
        if not crashed or not unfinished:
            break
    for label, state in seen.items():
        (salvaged.kept if state == "kept" else salvaged.lost).append(label)
    return salvaged


def _attempt(
    root: Path,
    dataset: str,
    keep: bool,
    strangers: bool,
    seen: dict[str, str],
    salvaged: Salvaged,
) -> bool:
    """Run the process once and note what became of each unit; return whether it crashed.

    Parameters
    ----------
    root, dataset
        Which cube.
    keep, strangers
        As of `salvage`.
    seen
        What became of each unit by its label: units that are there are not tried again.
    salvaged
        The units, and what is not lcdb's; to be filled in.
    """
    cube = cube_path(root, dataset)
    check_regular(cube, "a cube")
    seconds = _SECONDS + cube.stat().st_size / _BYTES_PER_SECOND
    request = json.dumps([str(root), dataset, keep, strangers, math.ceil(seconds), sorted(seen)])
    try:
        done = subprocess.run(
            python("lcdb_builders.storage.salvage", request),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=child_environment(),
            timeout=_PATIENCE * seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise _undecided(cube, f"it did not end in {_PATIENCE * seconds:.0f} s") from late
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for state, text, *unit in answers:
        if state in _TOLD:
            raise _TOLD[state](text)
        if state == "starved":
            raise _undecided(cube, text)
        if state == "foreign":
            salvaged.foreign = True
        elif state == "extras":
            salvaged.extras = json.loads(text)
        elif state in ("begun", "kept", "lost"):
            seen[text] = state
            for description in unit:
                salvaged.units[text] = described(description)
    if done.returncode == 0:
        return False
    if -done.returncode in _CRASHES:
        return True
    words = (done.stderr or b"").decode(errors="replace").split("\n")
    last = next((line for line in reversed(words) if line.strip()), "it was ended from outside")
    raise _undecided(cube, last.strip())


# What the process tells that is to be raised here.
_TOLD = {"newer": FormatVersionError, "storage": StorageError, "twice": DeterminismError}


def _undecided(cube: Path, why: str) -> StorageError:
    msg = (
        f"{cube} is not the file that was written, but the process that is to read it could not "
        f"work: {why}. Nothing was changed; run the same command again"
    )
    return StorageError(msg)


# -- in the process of its own -------------------------------------------------------------------


@dataclass(frozen=True)
class _View:
    """One account of what the file should hold: a manifest's, or the file's own."""

    contents: AnyContents
    digests: Mapping[AnyUnit, str]
    coverage: Mapping[AnyUnit, Any] | None = None
    computed_on: Mapping[AnyUnit, Environment] = field(default_factory=dict)
    sources: Mapping[AnyUnit, str] = field(default_factory=dict)


def _say(state: str, text: str, *unit: AnyUnit) -> None:
    print(json.dumps([state, text, *map(describe, unit)]), flush=True)


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
            {s.unit: s.source for s in held},
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
        except Exception as error:  # whatever HDF5 makes of flipped bits
            _check_memory(error, path)
            _say("unreadable", str(path))
            raise SystemExit(0) from None
        with file:
            yield file


def _check_memory(error: Exception, path: Path) -> None:
    """End where memory is short; flipped lengths ask for what no machine has."""
    if isinstance(error, MemoryError):
        try:
            bytearray(min(2 * path.stat().st_size, _MEMORY // 8) + (64 << 20))
        except MemoryError:
            _say("starved", "there is not enough memory")
            raise SystemExit(0) from None


def _examine(
    blocks: Blocks, dataset: str, keep: bool, seen: set[str], strangers: bool = False
) -> None:
    path = cube_path(blocks.root, dataset)
    with _opened(path) as file:
        views = list(_views(blocks.root, dataset, file))
        if not strangers:
            _tell_strangers(file, views)
        for unit in dict.fromkeys(unit for view in views for unit in view.digests):
            if unit.label in seen:
                continue
            seen.add(unit.label)
            _say("begun", unit.label, unit)
            good = any(_recover(blocks, file, view, unit, keep) for view in views)
            _say("kept" if good else "lost", unit.label, unit)


def _tell_strangers(file: h5py.File, views: Sequence[_View]) -> None:
    """Say what was put into the file that is not ours, or that all of it is not ours.

    What damage renames is missing under its own name: then nothing was added. Without a manifest
    an attribute more may be a fact of the dataset.
    """
    try:
        names, attributes = set(file), {name for name in file.attrs if name[0] != "_"}
    except Exception:  # whatever HDF5 makes of flipped bits
        return
    ours = [(_members(view.contents), set(view.contents.attributes)) for view in views]
    for members, described_by in ours:
        if members <= names and described_by - CREDITS.keys() <= attributes:
            more = [f"{name} (attribute)" for name in sorted(attributes - described_by)]
            extras = [*sorted(names - members), *more]
            if extras:
                _say("extras", json.dumps(extras))
                raise SystemExit(0)
            return
    known = {*VARIABLES, "status", *(v for e in EXPERIMENTS.values() for v in e.variables)}
    if (names or attributes) and not names & known and "cube_kind" not in attributes:
        _say("foreign", "")
        raise SystemExit(0)


def _members(contents: AnyContents) -> set[str]:
    """Return the names of all variables of a cube."""
    return {
        *contents.labels,
        *contents.counters,
        *(variable.name for variable in contents.variables),
        "status",
        *contents.counts,
        *contents.texts,
    }


def _recover(blocks: Blocks, file: h5py.File, view: _View, unit: AnyUnit, keep: bool) -> bool:
    """Publish a unit if its slice is what a view says; return whether it is."""
    try:
        values = {v: read_values(file, view.contents, unit, v) for v in unit.variables}
        digests = {v.name: slice_digest(unit, v, values[v]) for v in values}
    except Exception as error:  # whatever HDF5 makes of flipped bits
        _check_memory(error, blocks.root / "cubes")
        return False
    if unit_digest(digests) != view.digests.get(unit):
        return False
    if keep:
        scores = {v.name: array for v, array in values.items()}
        coverage = Coverage(unit, view.contents.repetitions, (view.coverage or {}).get(unit, ()))
        if view.coverage is None:
            coverage.there[:] = unit.computed(scores)
        blocks.lengths(unit, Lengths(*coverage.there.shape))
        for rectangle in coverage.rectangles():
            where = coverage.where(rectangle)
            sizes = unit.sizes[where[0]]
            block = Block(unit, sizes, rectangle[2], rectangle[3])
            there = {name: array[where] for name, array in scores.items()}
            computed_on = view.computed_on.get(unit, UNKNOWN)
            blocks.publish(block, there, computed_on, view.sources.get(unit, ""))
    return True


def main(request: str) -> None:
    """Do what the caller asks for in JSON: arguments of `salvage`, seconds, units to leave out."""
    root, dataset, keep, strangers, seconds, seen = json.loads(request)
    with suppress(ImportError, ValueError, OSError):
        import resource

        # A flipped length must end in an error and not in the memory of the machine. What hangs
        # computes, and is ended; what waits for a busy machine does not.
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    try:
        _examine(Blocks(root), dataset, keep, set(seen), strangers)
    except DeterminismError as error:
        _say("twice", str(error))
    except (OSError, StorageError) as error:  # not of HDF5: of reading, or of writing blocks
        _say("storage", str(error))


if __name__ == "__main__":
    main(sys.argv[1])
