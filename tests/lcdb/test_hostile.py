"""Files that are whole and cannot be meant: every one ends in an error of ours, and costs little.

Anybody can write an index, a summary or a manifest with a right digest. A mutant is such a file
with one thing changed. Whoever reads it must get an error of `lcdb.errors`, or what the file says.
"""

from __future__ import annotations

import copy
import hashlib
import json
import resource
import shutil
import tracemalloc
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from lcdb_builders.storage.manifest import Manifest

import lcdb
from lcdb import errors
from lcdb.digests import canonical_json
from lcdb.manifest import read_records
from lcdb.remote.format import FOLDER_INDEX, INDEX_VERSION, encode
from lcdb.remote.making import cube_index, folder_index
from lcdb.remote.transport import DEFAULT, Transport
from tests.support.counts import counts
from tests.support.remote_database import SHIPPED

pytestmark = pytest.mark.slow

URL = "https://host.invalid/db"
MUTANTS = counts(60, 1250)  # of each of the four kinds
# What any of the mutants may take beyond what reading the file itself does.
MEMORY = 200 << 20


class Shelf(Transport):
    """A host in memory: bytes by path."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(DEFAULT)
        self.files = files

    def whole(self, address, limit, *, fresh=False):
        name = str(address).removeprefix(f"{URL}/")
        if name not in self.files:
            raise errors.NotFoundError(name)
        return self.files[name]

    def part(self, address, first, length, size, *, fresh=False):
        data = self.whole(address, size)
        if len(data) != size:
            msg = f"{address} was replaced"
            raise errors.StaleError(msg)
        return data[first : first + length]


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A cube, a summary and an experiment, with their indexes and that of all."""
    sources = {
        "cubes/61.nc": SHIPPED / "tutorial" / "cubes" / "61.nc",
        "cubes/dse.nc": SHIPPED / "experiments" / "cubes" / "dse.nc",
        "summaries/53.nc": SHIPPED / "turan2026" / "summaries" / "53.nc",
    }
    found = {name: path.read_bytes() for name, path in sources.items()}
    indexes = {f"{name}.index.json": cube_index(path) for name, path in sources.items()}
    records = [(f"{name.partition('/')[0]}/", json.loads(data)) for name, data in indexes.items()]
    return {**found, **indexes, "index.json": folder_index(records)}


@pytest.fixture
def shelf(files, monkeypatch):
    """What a host has, which a test may change; every reader of `URL` reads it."""
    kept = dict(files)
    monkeypatch.setattr("lcdb.remote.host.transport_for", lambda *_: Shelf(kept))
    return kept


# -- mutants ---------------------------------------------------------------------------------------

OTHERS: list[Any] = [
    None, True, -1, 0, 1, 2, 7, 1.0, 0.5, -1e300, 300_000_000, 2**31 - 1, 2**31, 2**40, 2**63,
    10**30, "", "x", "61", "nan", "\x1b[31mred", "é" * 300, [], {}, [[]], [1, "a"],
    {"dtype": "<f8"}, {"dtype": "<i4", "value": "nan"}, {"dtype": "<f4", "value": 1e300},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all members of a JSON value; of a long list, those of a few."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, one in value.items():
            found += places(one, (*path, key))
    elif isinstance(value, list):
        for i in sorted({0, 1, len(value) // 2, len(value) - 1} & set(range(len(value)))):
            found += places(value[i], (*path, i))
    return found


def mutant(record: Any, draw: np.random.Generator) -> Any:
    """Return a copy of a JSON value in which one member is another, lost, or there twice."""
    changed = copy.deepcopy(record)
    every = places(changed)
    *path, last = every[draw.integers(len(every))]
    holder = changed
    for key in path:
        holder = holder[key]
    kind = draw.integers(6)
    if kind == 0:
        del holder[last]
    elif kind == 1 and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[last]))
    elif kind == 2 and isinstance(holder[last], int | float):
        factor = [2, 10, 1000, 10**6, -1][draw.integers(5)]
        holder[last] = holder[last] * factor + int(draw.integers(2))
    elif kind == 3 and isinstance(holder[last], list | str):
        holder[last] = holder[last][: len(holder[last]) // 2]
    else:
        holder[last] = copy.deepcopy(OTHERS[draw.integers(len(OTHERS))])
    return changed


def peak() -> int:
    """Return the most memory that this process has ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def outcomes(attempts) -> dict[str, int]:
    """Return how many attempts ended in an error of ours; any other error is raised."""
    before, found = peak(), {"error": 0, "read": 0}
    for attempt in attempts:
        try:
            attempt()
            found["read"] += 1
        except errors.LCDBError as error:
            assert str(error).isprintable()
            found["error"] += 1
    assert peak() - before < MEMORY
    return found


def read(path: str | Path, check: bool | None = None) -> None:
    """Use a database as a reader does who knows nothing of it."""
    with lcdb.open(path, check=check) as db:
        repr(db), db._repr_html_(), db.status()
        for key in db:
            repr(db[key])
            if db.headers[key].is_summary:
                db[key]["mean"].isel(n=-1).load()
                continue
            curve = db.curve(key, "LDC").isel(repetition=0).load()
            assert all(map(str.isprintable, repr(curve).split("\n")))
        for name in db.experiments:
            repr(db[name])


def test_what_the_mutants_are_made_of_can_be_read(shelf):
    read(URL)
    read(f"{URL}/cubes/61.nc")


def test_rows_without_end_cost_nothing(shelf):
    """820 bytes that claim 300,000,000 rows made a reader take 2.6 GB."""
    record = json.loads(shelf["index.json"])
    cube = next(one for one in record["cubes"] if one["file"] == "cubes/61.nc")
    for bytes_ in (cube["bytes"], 2**43):  # a claim that does not fit the file's length, and one
        claim = {**cube, "rows": 300_000_000, "bytes": bytes_}
        shelf["index.json"] = encode(
            {"kind": FOLDER_INDEX, "index_version": INDEX_VERSION, "cubes": [claim]}
        )
        tracemalloc.start()
        with pytest.raises(errors.SchemaError, match=r"rows|another cube"):
            read(URL)
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
        tracemalloc.stop()


def test_a_chunk_holds_no_more_than_its_bytes_can(shelf):
    record = json.loads(shelf["cubes/61.nc.index.json"])
    auc = next(one for one in record["variables"] if one["name"] == "auc")
    auc["chunks"]["shape"][-2:] = [105, 200 * 1000]  # one chunk where there were two
    place = f"{URL}/cubes/61.nc"
    del record["record_sha256"]
    shelf["cubes/61.nc.index.json"] = encode(record)
    with pytest.raises(errors.SchemaError, match=r"no sound index"), lcdb.open(place) as db:
        db["iris"]


@pytest.mark.parametrize("kind", ["folder", "cube"])
def test_every_mutant_of_an_index_ends_in_an_error_or_is_read(kind, shelf, files):
    draw = np.random.default_rng(28)
    names = (
        ["index.json"] if kind == "folder" else [n for n in files if n.endswith(".nc.index.json")]
    )

    def attempt():
        name = names[draw.integers(len(names))]
        record = {k: v for k, v in json.loads(files[name]).items() if k != "record_sha256"}
        shelf[name] = encode(mutant(record, draw))
        if kind == "folder":
            read(URL)
        else:
            read(f"{URL}/{name.removesuffix('.index.json')}")

    found = outcomes([attempt] * MUTANTS)
    assert found["error"] > found["read"] / 4


@pytest.mark.parametrize("check", [None, True])
def test_every_mutant_of_a_manifest_ends_in_an_error_or_is_read(check, tmp_path, monkeypatch):
    """The cube is as it was: what its manifest says of it is another, with a right digest."""
    monkeypatch.setattr("lcdb.probe._ask", lambda paths: [(path, "") for path in paths])
    draw = np.random.default_rng(29)
    for folder in ("cubes", "manifest"):
        (tmp_path / folder).mkdir()
    shutil.copyfile(SHIPPED / "tutorial" / "cubes" / "61.nc", tmp_path / "cubes" / "61.nc")
    original = json.loads((SHIPPED / "tutorial" / "manifest" / "61.json").read_bytes())
    del original["record_sha256"]

    def attempt():
        content = mutant(original, draw)
        try:
            digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()
        except ValueError:
            return
        text = json.dumps({**content, "record_sha256": digest})
        (tmp_path / "manifest" / "61.json").write_text(text)
        try:
            Manifest.read(tmp_path, "61", fresh=True)
        except errors.LCDBError as error:
            assert str(error).isprintable()
        read(tmp_path, check)

    outcomes([attempt] * (MUTANTS // 2))


@pytest.mark.parametrize(
    "extents",
    [[[-5, 10]], [[0, 2**62]], [[0, 10], [5, 10]], [["a", "b"]], [[0.0, 1.5]]],
)
def test_where_a_manifest_says_that_metadata_are_is_within_the_file(extents, tmp_path):
    for folder in ("cubes", "manifest"):
        (tmp_path / folder).mkdir()
    cube = shutil.copyfile(SHIPPED / "tutorial" / "cubes" / "61.nc", tmp_path / "cubes" / "61.nc")
    content = json.loads((SHIPPED / "tutorial" / "manifest" / "61.json").read_bytes())
    del content["record_sha256"]
    content["current"]["cube"]["metadata"]["extents"] = extents
    digest = hashlib.sha256(canonical_json(content).encode()).hexdigest()
    text = json.dumps({**content, "record_sha256": digest})
    (tmp_path / "manifest" / "61.json").write_text(text)
    assert read_records(cube) is None


def change(file: h5py.File, draw: np.random.Generator) -> None:
    """Change one attribute or variable of a summary: what it is called, its type, its values."""
    holders = [file, *file.values()]
    holder = holders[draw.integers(len(holders))]
    hidden = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_Netcdf4Dimid")
    names = [name for name in holder.attrs if name not in hidden]
    if names and draw.integers(2):
        name = names[draw.integers(len(names))]
        other = [None, "", "\x1b[31m", "{}", -1, 10**9, 0.5, np.nan, [1, 2], np.int8(3)]
        new = other[draw.integers(len(other))]
        if new is None:
            del holder.attrs[name]
        else:
            holder.attrs[name] = new
        return
    name = list(file)[draw.integers(len(file))]
    if draw.integers(4) == 0:
        del file[name]
        return
    stored = file[name]
    where = tuple(int(draw.integers(length)) for length in stored.shape)
    if h5py.check_string_dtype(stored.dtype):
        stored[where] = ["", "x", "\x1b[31m", "LDC", "{"][draw.integers(5)]
    else:
        kind = np.iinfo(stored.dtype) if stored.dtype.kind == "i" else np.finfo(stored.dtype)
        stored[where] = [0, 1, -1, kind.max, kind.min][draw.integers(5)]


def test_every_mutant_of_a_summary_ends_in_an_error_or_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("lcdb.probe._ask", lambda paths: [(path, "") for path in paths])
    draw, path = np.random.default_rng(30), tmp_path / "53.nc"

    def attempt():
        shutil.copyfile(SHIPPED / "turan2026" / "summaries" / "53.nc", path)
        with h5py.File(path, "r+") as file:
            change(file, draw)
        read(path)
        with lcdb.open(path) as db:
            lcdb.analysis.tidy(db[next(iter(db))][["count", "mean"]].isel(learner=0))

    outcomes([attempt] * MUTANTS)
