"""A process of its own that looks at cubes of which nothing is known: HDF5 may hang or crash.

Flipped metadata have made HDF5 run for ever, crash, and read chunks from other places. So a file
that no manifest vouches for is gone through here, with a limit on time and memory: every object,
attribute and label, and where each chunk lies. What this process comes through, the reader does.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import lcdb
from lcdb.digests import plan_units
from lcdb.errors import DamagedError, LCDBError
from lcdb.foreign import refuse_foreign_storage
from lcdb.manifest import Stamp
from lcdb.regular import failing_disk
from lcdb.schema import (
    CUBE_KIND,
    EXPERIMENTS,
    FORMAT_VERSION,
    SAMPLINGS,
    SPLITS,
    STATUSES,
    TUNINGS,
    UNIT_DIMS,
    VARIABLES,
    Variable,
    learner_order,
)
from lcdb.slices import variables_of

__all__ = ["main", "probe"]

# Of the processor, so that a busy machine or a slow disk is no reason to refuse a file.
_CPU_SECONDS = 10
_WALL_SECONDS = 120.0
_MEMORY = 8 << 30
_CODE = (
    "import sys, json; sys.path.extend(json.loads(sys.argv[1])); "
    "from lcdb.probe import main; main(sys.argv[2])"
)

# Files that were found to be right, so that opening them again costs nothing.
_known: dict[Path, Stamp] = {}


def probe(files: Mapping[Path, Stamp]) -> None:
    """Raise unless every file is a cube that can be read, as far as it can be known from itself.

    Parameters
    ----------
    files
        What each was when its manifest was looked for.

    Raises
    ------
    DamagedError
        HDF5 cannot read a file, or does not come back from it, or its parts do not fit together.
    """
    unknown = [path for path, stamp in files.items() if _known.get(path.absolute()) != stamp]
    if not unknown:
        return
    for path, problem in _ask(unknown):
        if problem:
            if failing := failing_disk(path):
                raise failing
            msg = (
                f"{path} cannot be read ({problem}): it is damaged, or was never a cube; "
                f"'lcdb verify' on its database says which parts"
            )
            raise DamagedError(msg)
        _known[path.absolute()] = files[path]


def _ask(paths: list[Path]) -> Iterable[tuple[Path, str]]:
    """Run the process, and return what it says of each file."""
    # Where the modules of this process came from, and no other folder: -I leaves out the current
    # one, which may hold anything.
    places = dict.fromkeys(
        str(Path(str(module.__file__)).parents[1]) for module in (lcdb, h5py, np)
    )
    request = json.dumps([_CPU_SECONDS, *(str(path.absolute()) for path in paths)])
    command = [sys.executable, "-I", "-c", _CODE, json.dumps(list(places)), request]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_WALL_SECONDS,
            check=False,
        )
        output, how = done.stdout, f"HDF5 ended with exit code {done.returncode}"
        if done.returncode in (-24, -9):
            how = "HDF5 does not come to an end"
        errors = done.stderr.decode(errors="replace").strip().splitlines()
    except subprocess.TimeoutExpired as late:
        output, how, errors = late.stdout or b"", "HDF5 does not come to an end", []
    answers = [json.loads(line) for line in output.splitlines()]
    if not answers:
        reason = errors[-1] if errors else how
        msg = f"the process that is to look at {paths[0]} could not be started ({reason})"
        raise LCDBError(msg)
    problems = [one["problem"] for one in answers if "problem" in one]
    if len(problems) < len(paths):
        problems.append(how)
    return zip(paths, problems, strict=False)


# -- in the process of its own ---------------------------------------------------------------------


def main(request: str) -> None:
    """Look at each file that is asked for, and print what is wrong with it.

    The request is a list in JSON: seconds of the processor that a file may take, and the files.
    """
    seconds, *paths = json.loads(request)
    _say(started=len(paths))
    for path in paths:
        _limit(seconds)
        try:
            problem = _problem(Path(path))
        except LCDBError as error:
            problem = str(error)
        except Exception as error:  # whatever HDF5 and its readers make of damaged bytes
            problem = str(error).strip("'\"") or type(error).__name__
        _say(problem=" ".join(problem.split()))


def _say(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


def _limit(more: int) -> None:
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = int(used.ru_utime + used.ru_stime) + more
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
        # A flipped length must end in an error and not in the memory of the machine.
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass


def _problem(path: Path) -> str:
    """Return what is wrong with a file, nothing if it is a cube or something else altogether."""
    with h5py.File(path, "r", driver="stdio", locking=False) as file:
        refuse_foreign_storage(path, file)
        for name in file:
            dict(file[name].attrs)
        attributes = {name: _plain(value) for name, value in file.attrs.items()}
        kind = attributes.get("cube_kind")
        if kind != CUBE_KIND and kind not in EXPERIMENTS:
            return ""  # told by its header
        if attributes["format_version"] > FORMAT_VERSION:
            return ""
        plan = json.loads(attributes["plan"])
        if hashlib.sha256(attributes["plan"].encode()).hexdigest() != attributes["plan_sha256"]:
            return "its plan has another digest"
        return _structure(path, file, attributes, plan)


def _plain(value: Any) -> Any:
    item = np.asarray(value).reshape(-1)[0]
    if isinstance(item, bytes | str):
        return item.decode() if isinstance(item, bytes) else str(item)
    return item.item()


def _structure(
    path: Path, file: h5py.File, attributes: Mapping[str, Any], plan: Mapping[str, Any]
) -> str:
    experiment = EXPERIMENTS.get(attributes["cube_kind"])
    dims = experiment.dims if experiment else UNIT_DIMS
    labels = {dim: tuple(file[dim].asstr()[...].tolist()) for dim in dims}
    units = list(plan_units(plan))
    if labels != _planned(units, dims):
        return "its labels are not those of its plan"
    shape = {dim: len(names) for dim, names in labels.items()}
    if experiment:
        counters = {"trial": (0, plan["trials"])}
        if experiment.inner:
            counters[experiment.inner] = (1, max(unit["length"] for unit in units))
    else:
        facts = ("dataset_sha256", "master_seed", "format_version")
        if any(plan[name] != attributes[name] for name in facts):
            return "its attributes are not those of its plan"
        if plan.get("scaling", "none") != attributes.get("scaling", "none"):
            return "its scaling is not that of its plan"
        if not attributes["title"].endswith(_title(attributes)):
            return "its title names another dataset"
        counters = {
            "n": (1, attributes["n_rows"] * 7 // 10),
            "repetition": (0, plan["repetitions"]),
        }
    for dim, (first, length) in counters.items():
        shape[dim] = length
        if not np.array_equal(file[dim][...], np.arange(first, first + length)):
            return f"{dim} does not count from {first} to {first + length - 1}"
    every: Mapping[str, Variable] = experiment.variables if experiment else VARIABLES
    size = path.stat().st_size
    chunks = {}
    for name, variable in every.items():
        if name in file:
            chunks[name], wrong = _chunks(file[name], variable, shape, size)
            if wrong:
                return f"{name}: {wrong}"
    return _held(file, units, labels, every, chunks) or _overlap(chunks)


def _title(attributes: Mapping[str, Any]) -> str:
    name = attributes["dataset_name"]
    return f"{name} (OpenML {attributes['openml_id']})" if "openml_id" in attributes else name


def _planned(
    units: Iterable[Mapping[str, Any]], dims: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """Return the labels that a plan asks for, in canonical order."""
    every = list(units)
    if "experiment" in every[0]:
        experiment = EXPERIMENTS[every[0]["experiment"]]
        used = {dim: {unit["labels"][i] for unit in every} for i, dim in enumerate(dims)}
        return {
            dim: tuple(label for _, label in sorted(experiment.rank(dim, name) for name in names))
            for dim, names in used.items()
        }
    found = {"learner": learner_order({unit["learner"] for unit in every} - {"draws"})}
    for dim, known in (("sampling", SAMPLINGS), ("split", SPLITS), ("tuning", TUNINGS)):
        used_labels = {unit[dim] for unit in every}
        found[dim] = tuple(label for label in known if label in used_labels)
    return found


#: First byte and length of a chunk by where it begins along every dim.
Chunks = dict[tuple[int, ...], tuple[int, int]]


def _chunks(
    dataset: h5py.Dataset, variable: Variable, shape: Mapping[str, int], size: int
) -> tuple[Chunks, str]:
    """Return where the chunks of a variable are, and what is wrong with how it is stored."""
    found: Chunks = {}
    if [dim[0].name.lstrip("/") for dim in dataset.dims] != list(variable.dims):
        return found, "its dims are others"
    if dataset.shape != tuple(shape[dim] for dim in variable.dims):
        return found, "its shape is another"
    if not dataset.id.get_type().equal(h5py.h5t.py_create(np.dtype(variable.dtype))):
        return found, "its type is another"
    fill = dataset.fillvalue
    if not (fill == variable.empty or (fill != fill and variable.empty != variable.empty)):
        return found, "it has another fill value"
    filters = (dataset.compression, dataset.shuffle, dataset.fletcher32)
    if not dataset.chunks or filters != ("gzip", True, True):
        return found, "it is stored in another way"
    wrong: list[str] = []

    def note(chunk: Any) -> None:
        outside = chunk.byte_offset + chunk.size > size
        aligned = all(
            start % length == 0 and start < end
            for start, length, end in zip(
                chunk.chunk_offset, dataset.chunks, dataset.shape, strict=True
            )
        )
        if outside or not aligned or chunk.filter_mask or chunk.chunk_offset in found:
            wrong.append(f"the chunk at {chunk.chunk_offset} is not where it should be")
        found[chunk.chunk_offset] = (chunk.byte_offset, chunk.size)

    dataset.id.chunk_iter(note)
    return found, wrong[0] if wrong else ""


def _held(
    file: h5py.File,
    units: Iterable[Mapping[str, Any]],
    labels: Mapping[str, tuple[str, ...]],
    every: Mapping[str, Variable],
    chunks: Mapping[str, Chunks],
) -> str:
    """Return which unit lacks a chunk of its values, or has status complete and none."""
    codes = file["status"][...]
    if codes.shape != tuple(map(len, labels.values())):
        return "its status table does not fit its labels"
    wanted: dict[str, set[tuple[int, ...]]] = {name: set() for name in chunks}
    filled = np.zeros(codes.shape, bool)
    for unit in units:
        part = dict(zip(labels, unit["labels"], strict=True)) if "experiment" in unit else unit
        name = "/".join(part[dim] for dim in labels if dim in part)
        draws = part["learner"] == "draws" if "learner" in part else False
        dims = ("sampling", "split") if draws else tuple(labels)
        where = tuple(labels[dim].index(part[dim]) for dim in dims)
        digest = file["draws_digest" if draws else "digest"].asstr()[where]
        if not draws:
            filled[where] = bool(digest)
            if STATUSES[codes[where]] == "complete" and not digest:
                return f"{name} has status complete, but no values"
        if digest:
            for variable in variables_of(unit):
                wanted[variable.name] |= _starts(file[variable.name], variable, part, labels)
    if (codes[~filled] == STATUSES.index("complete")).any():
        return "a curve without values has status complete"
    for name, starts in wanted.items():
        if lost := starts - set(chunks[name]):
            return f"{name} lacks {len(lost)} of {len(starts)} chunks"
    return ""


def _starts(
    dataset: h5py.Dataset,
    variable: Variable,
    part: Mapping[str, str],
    labels: Mapping[str, tuple[str, ...]],
) -> set[tuple[int, ...]]:
    """Return where the chunks of a unit begin in a variable."""
    where = [labels[dim].index(part[dim]) for dim in variable.dims if dim in labels]
    lengths = zip(dataset.shape[len(where) :], dataset.chunks[len(where) :], strict=True)
    starts = itertools.product(*(range(0, length, chunk) for length, chunk in lengths))
    return {(*where, *start) for start in starts}


def _overlap(chunks: Mapping[str, Chunks]) -> str:
    runs = sorted(run for found in chunks.values() for run in found.values())
    for (first, length), (following, _) in itertools.pairwise(runs):
        if first + length > following:
            return "two of its chunks are in the same place"
    return ""
