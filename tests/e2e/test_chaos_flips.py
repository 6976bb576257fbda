"""Flipped bits and cut files: all are found, and the next build recomputes no more than was hit."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
from lcdb_builders.domain import snapshot
from lcdb_builders.domain.unit import Unit
from lcdb_builders.storage.contents import Contents
from lcdb_builders.storage.cube import read_values
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.manifest import cube_path
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.repair import verify

from tests.support.chaos.fork import Forked
from tests.support.chaos.memory import in_memory
from tests.support.chaos.toy import LEARNERS, REPETITIONS, SNAPSHOT, UNITS, compute
from tests.support.counts import counts
from tests.support.cubes import toy_scores

pytestmark = pytest.mark.process

PACKED = [unit for unit in UNITS if unit.learner != LEARNERS[-1]]
CONTENTS = Contents.of(SNAPSHOT, PACKED, REPETITIONS)
DAMAGES = counts(8, 200)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with in_memory() as folder:
        yield folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A database with a snapshot, a cube of two learners, and a third one in the journal."""
    root = tmp_path_factory.mktemp("whole")
    snapshot.save(SNAPSHOT, root / "snapshots")
    compute(root, PACKED)
    pack(root, SNAPSHOT, PACKED, REPETITIONS)
    compute(root)
    assert verify(root).intact
    return root


@pytest.fixture(scope="module")
def undisturbed(whole, tmp_path_factory) -> str:
    root = tmp_path_factory.mktemp("undisturbed") / "db"
    shutil.copytree(whole, root)
    return pack(root, SNAPSHOT, UNITS, REPETITIONS).sha256


def metadata_of(path: Path) -> np.ndarray:
    """Return the positions of a cube's bytes that are not part of a chunk."""
    mask = np.ones(path.stat().st_size, bool)
    with h5py.File(path) as file:
        for variable in CONTENTS.variables:
            stored = file[variable.name].id
            for i in range(stored.get_num_chunks()):
                chunk = stored.get_chunk_info(i)
                mask[chunk.byte_offset : chunk.byte_offset + chunk.size] = False
    return mask


def flip(path: Path, where: int, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[where] ^= 1 << bit
    path.write_bytes(data)


# Half of the flips are in metadata, which has no checksum of its own.
KINDS = (*["metadata"] * 3, "data", "cut cube", "other", "other", "cut other")


def damage(root: Path, kind: str, draw: random.Random) -> Path:
    """Damage one file and return it."""
    cube = cube_path(root, SNAPSHOT.id)
    if kind in ("metadata", "data"):
        where = np.flatnonzero(metadata_of(cube) == (kind == "metadata"))
        flip(cube, int(draw.choice(where)), draw.randrange(8))
        return cube
    others = [p for p in root.rglob("*") if p.is_file() and p != cube]
    path = cube if kind == "cut cube" else draw.choice(sorted(others))
    if kind == "other":
        flip(path, draw.randrange(path.stat().st_size), draw.randrange(8))
    else:
        os.truncate(path, draw.randrange(path.stat().st_size))
    return path


def reads_right(path: Path, unit: Unit) -> bool:
    """Return whether plain h5py finds a unit's scores where they were put."""
    expected = toy_scores(unit, unit.sizes, range(REPETITIONS))
    with path.open("rb") as raw, h5py.File(raw) as file:
        for variable in unit.variables:
            found = read_values(file, CONTENTS, unit, variable)
            if found.tobytes() != expected[variable.name].tobytes():
                return False
    return True


def survives(path: Path, unit: Unit) -> bool:
    """Return whether a unit can be read, in a process that may crash or hang over it."""
    child = Forked(lambda: reads_right(path, unit), quiet=True)
    return child.wait(seconds=20) == 0 and child.result()


def cells_hit(root: Path, path: Path) -> int:
    """Return how many cells a damaged file costs, found out without the checks of lcdb."""
    if path == cube_path(root, SNAPSHOT.id):
        hit = [u for u in PACKED if not survives(path, u)]
        return sum(len(unit.sizes) * REPETITIONS for unit in hit)
    if path.suffix == ".block":
        blocks = [b for unit in UNITS for b in Journal(root).find(unit)]
        return next(b.cells for b in blocks if b.name == path.name.removesuffix(".block"))
    return 0


def test_every_damage_is_found_and_costs_what_it_hit(tmp_path, whole, undisturbed):
    draw = random.Random(2)
    hit = []
    for i in range(DAMAGES):
        root = tmp_path / str(i)
        shutil.copytree(whole, root)
        path = damage(root, KINDS[i % len(KINDS)], draw)
        expected = cells_hit(root, path)
        found = {damage.path for damage in verify(root).damage}
        # A snapshot has two files, and is told of by one of them.
        assert {p.with_suffix("") for p in found} == {path.with_suffix("")}, (i, path)
        if path.parent.name == "snapshots":
            snapshot.save(SNAPSHOT, root / "snapshots", replace=True)  # as fetching again does
        assert compute(root) == expected, (i, path)
        packed = pack(root, SNAPSHOT, UNITS, REPETITIONS)
        assert packed.sha256 == undisturbed, (i, path)
        assert verify(root).intact
        hit.append(expected)
        shutil.rmtree(root)
    per_unit = len(PACKED[0].sizes) * REPETITIONS
    assert 0 in hit and per_unit in hit and per_unit * len(PACKED) in hit


def test_damage_is_found_wherever_it_is(tmp_path, whole):
    """A bit and a cut in each file that is no cube, one after the other."""
    root = tmp_path / "db"
    shutil.copytree(whole, root)
    draw = random.Random(3)
    small = [path for path in sorted(root.rglob("*")) if path.is_file() and path.suffix != ".nc"]
    assert {"index.json", "toy.nc.index.json", "layout.json"} <= {path.name for path in small}
    for path in small:
        data = path.read_bytes()
        for kind in ("flip", "cut"):
            if kind == "flip":
                flip(path, draw.randrange(len(data)), draw.randrange(8))
            else:
                os.truncate(path, draw.randrange(len(data)))
            found = {damage.path for damage in verify(root).damage}
            assert {p.with_suffix("") for p in found} == {path.with_suffix("")}, (kind, path)
            path.write_bytes(data)
    assert verify(root).intact


def test_two_damaged_files_at_once(tmp_path, whole, undisturbed):
    """Cube and manifest: the cube's own digests tell good slices from bad ones."""
    root = tmp_path / "db"
    shutil.copytree(whole, root)
    cube = cube_path(root, SNAPSHOT.id)
    with h5py.File(cube) as file:
        chunk = file["brier"].id.get_chunk_info(1)
    flip(cube, chunk.byte_offset + 20, 3)
    os.truncate(root / "manifest" / "toy.json", 100)
    assert len(verify(root).damage) == 2
    assert compute(root) == len(PACKED[0].sizes) * REPETITIONS
    assert pack(root, SNAPSHOT, UNITS, REPETITIONS).sha256 == undisturbed


@pytest.mark.parametrize("lost", ["cubes/toy.nc", "manifest/toy.json"])
def test_a_file_that_is_gone(tmp_path, whole, undisturbed, lost):
    root = tmp_path / "db"
    shutil.copytree(whole, root)
    (root / lost).unlink()
    found = verify(root).damage
    assert [damage.path for damage in found] == [root / lost]
    every = sum(len(unit.sizes) * REPETITIONS for unit in PACKED)
    assert compute(root) == (every if lost.endswith(".nc") else 0)
    assert pack(root, SNAPSHOT, UNITS, REPETITIONS).sha256 == undisturbed
    assert verify(root).intact


def test_a_damaged_cube_loses_nothing_to_a_plan_that_does_not_name_it(tmp_path, whole):
    """What is salvaged is put back even by a build of something else."""
    root = tmp_path / "db"
    shutil.copytree(whole, root)
    flip(cube_path(root, SNAPSHOT.id), 8, 0)  # the superblock: nothing can be read
    flip(cube_path(root, SNAPSHOT.id), 8, 0)  # and back: whole again
    flip(root / "manifest" / "toy.json", 1000, 0)
    only = [unit for unit in UNITS if unit.learner == LEARNERS[-1]]
    assert compute(root, only) == 0
    packed = pack(root, SNAPSHOT, only, REPETITIONS)
    assert packed.complete and {s.unit for s in packed.slices} == set(UNITS)
