"""What is read is what was written, or an error: damages at random, and files that lie."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from lcdb_builders.domain.part import Part
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.naming import describe
from lcdb_builders.storage.pack import pack

import lcdb
from lcdb.digests import unit_key
from lcdb.errors import DamagedError, LCDBError, SchemaError
from lcdb.manifest import believed
from tests.support import damages
from tests.support.counts import FULL, counts, first
from tests.support.cubes import block_scores, toy_snapshot, toy_units

SNAPSHOT = toy_snapshot(rows=60)
UNITS = toy_units(SNAPSHOT, samplings=("additive", "random"), tunings=("default", "tuned"))


@pytest.fixture(scope="session")
def packed(tmp_path_factory) -> Path:
    """A database as builds leave it: with a manifest."""
    root = tmp_path_factory.mktemp("packed")
    journal = Journal(root)
    journal.prepare(UNITS)
    for unit in UNITS:
        for block in journal.missing(unit, 40):
            journal.publish(block, block_scores(block), environment())
    pack(root, SNAPSHOT, UNITS, 40)
    return root


@pytest.fixture
def root(packed, tmp_path) -> Path:
    return shutil.copytree(packed, tmp_path / "db")


def cube(root: Path) -> Path:
    return root / "cubes" / "toy.nc"


# What is left to decoded values: chunks that are whole, and not in their place.
TOLD_BY_VALUES = {"exchange", "swap"}


@pytest.mark.process
@pytest.mark.parametrize("kind", first(damages.KINDS, 3))
def test_no_damage_is_read_without_a_word(root, kind):
    ways = ["open", "check", "xarray"] if FULL else ["open", "check"]
    script = [sys.executable, "-P", damages.__file__, str(root), "toy", kind, "1"]
    run = subprocess.run(
        [*script, str(counts(3, 300)), *ways], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    ends = json.loads(run.stdout)
    assert set(ends["check"]) <= {"told", "right"}, ends
    assert set(ends["open"]) <= {"told", "right", "WRONG"}, ends
    assert "WRONG" not in ends["open"] or kind in TOLD_BY_VALUES, ends
    assert ends["check"].get("told", 0) >= ends["open"].get("told", 0)


@pytest.mark.process
@pytest.mark.parametrize("kind", first(["flip", "zero", "swap", "truncate"], 1))
def test_a_file_without_manifest_is_no_trap_either(root, kind):
    script = [sys.executable, "-P", damages.__file__, str(root), "toy", kind, "2"]
    run = subprocess.run(
        [*script, str(counts(2, 60)), "check alone"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    assert not {"hung", "crashed", "foreign error"} & set(json.loads(run.stdout)["check alone"])


def test_keys_of_units_are_those_of_the_builder():
    part = Part("dse", ("kNN", "moons", "random"), 7, "dse-1", trials=5)
    for unit in [*UNITS, part]:
        assert unit_key(describe(unit)) == unit.key


@pytest.mark.process
@pytest.mark.parametrize("alone", [False, True])
def test_checked_reading_gives_what_unchecked_gives(root, tmp_path, alone):
    path = shutil.copy(cube(root), tmp_path / "any name.nc") if alone else root
    with lcdb.open(path, check=True) as checked, lcdb.open(path, check=False) as plain:
        assert checked["toy"].load().identical(plain["toy"].load())
        one = checked.curve("toy", "LDC", split="fixed").sel(n=[3, 9]).isel(repetition=5)
        other = plain.curve("toy", "LDC", split="fixed").sel(n=[3, 9]).isel(repetition=5)
        assert one.identical(other)


@pytest.mark.process
def test_experiments_are_checked_as_well(tmp_path):
    shipped = lcdb.experiments if hasattr(lcdb, "experiments") else None
    from lcdb.shipped import experiments

    folder = (shipped or experiments)().path
    alone = shutil.copy(folder / "cubes" / "dse.nc", tmp_path / "copy.nc")
    with lcdb.open(folder, check=True) as db, lcdb.open(alone, check=True) as other:
        assert db["dse"].load().identical(other["dse"].load())


def test_whole_chunks_in_a_wrong_place_are_told_by_their_digests(root):
    """Two draws' chunks of equal length: HDF5 and the metadata find nothing wrong with them."""
    with h5py.File(cube(root), "r+") as file:
        stored = file["accuracy"].id
        chunks = [stored.get_chunk_info(i) for i in range(stored.get_num_chunks())]
    data = bytearray(cube(root).read_bytes())
    lengths = {}
    pair = next(
        (lengths[one.size], one) for one in chunks if lengths.setdefault(one.size, one) is not one
    )
    first, second = (slice(c.byte_offset, c.byte_offset + c.size) for c in pair)
    data[first], data[second] = data[second], data[first]
    cube(root).write_bytes(data)
    with lcdb.open(root) as db:
        assert db["toy"]["accuracy"].load().size
    with lcdb.open(root, check=True) as db:
        db["toy"]["auc"].load()
        with pytest.raises(DamagedError, match=r"accuracy of .* is not what was written"):
            db["toy"]["accuracy"].load()


def test_a_flipped_bit_of_metadata_is_told_on_opening_and_can_be_looked_past(root):
    record, _ = believed(cube(root))
    first, length = record.extents[0]
    data = bytearray(cube(root).read_bytes())
    data[first + length - 40] ^= 4
    cube(root).write_bytes(data)
    with pytest.raises(DamagedError, match="its metadata have another digest"):
        lcdb.open(root)
    with lcdb.open(root, check=False) as db:
        assert list(db) == ["toy"]


def test_a_cube_of_another_length_is_told_on_opening(root):
    with cube(root).open("ab") as file:
        file.write(b"\0")
    with pytest.raises(DamagedError, match="bytes, expected"):
        lcdb.open(root)


@pytest.mark.process
def test_a_lost_chunk_is_told_on_opening_a_file_without_manifest(root, tmp_path):
    alone = tmp_path / "alone.nc"
    with h5py.File(cube(root)) as source, h5py.File(alone, "w") as target:
        for name, value in source.attrs.items():
            if not name.startswith("_"):
                target.attrs[name] = value
        for name in source:
            source.copy(name, target)
    with pytest.raises(LCDBError):  # h5py breaks the dims of what it copies
        lcdb.open(alone)


def replaced(root: Path, make) -> None:
    """Put another dataset in the place of a cube's accuracies, with the same dims."""
    with h5py.File(cube(root), "r+") as file:
        old = file["accuracy"]
        scales = [dim[0] for dim in old.dims]
        attributes = {k: v for k, v in old.attrs.items() if k != "DIMENSION_LIST"}
        shape, values = old.shape, old[...]
        del file["accuracy"]
        new = make(file, shape, values)
        for name, value in attributes.items():
            new.attrs[name] = value
        for dim, scale in zip(new.dims, scales, strict=True):
            dim.attach_scale(scale)


def external(file, shape, values):
    target = Path(file.filename).with_name("values.raw")
    target.write_bytes((1 - values).astype("<f4").tobytes())
    return file.create_dataset(
        "accuracy", shape, "<f4", external=[(str(target), 0, h5py.h5f.UNLIMITED)]
    )


def virtual(file, shape, values):
    layout = h5py.VirtualLayout(shape, "<f4")
    layout[...] = h5py.VirtualSource("missing.nc", "accuracy", shape, "<f4")
    return file.create_virtual_dataset("accuracy", layout, fillvalue=np.nan)


@pytest.mark.process
@pytest.mark.parametrize(("make", "what"), [(external, "stored in the file"), (virtual, "virtual")])
@pytest.mark.parametrize("check", [None, True, False])
def test_values_from_elsewhere_are_refused(root, make, what, check):
    replaced(root, make)
    shutil.rmtree(root / "manifest")
    with pytest.raises((SchemaError, DamagedError), match=f"'accuracy' is .*{what}"):
        lcdb.open(root, check=check)


@pytest.mark.process
def test_a_damaged_manifest_vouches_for_nothing(root):
    path = root / "manifest" / "toy.json"
    path.write_bytes(path.read_bytes().replace(b"40", b"41", 1))
    assert believed(cube(root))[0] is None
    with lcdb.open(root, check=True) as db:
        assert db.curve("toy", "LDC", sampling="additive", split="fixed").notnull().all()
