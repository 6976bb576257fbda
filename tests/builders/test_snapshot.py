"""Snapshots on disk: what is written comes back, and nothing else ever does."""

from __future__ import annotations

import hashlib
import json
import struct
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lcdb_builders.domain import snapshot as store
from lcdb_builders.domain.snapshot import Snapshot, canonical_sha256
from lcdb_builders.sources.bundled import bundled
from lcdb_builders.storage import disk

from lcdb.errors import DamagedError, DatasetError, FormatVersionError, NotFoundError
from tests.support.counts import counts

SCHEMA = json.loads((files("lcdb.schemas") / "dataset.schema.json").read_text("utf-8"))


def tiny(id: str = "tiny", scale: float = 1.0) -> Snapshot:
    X = scale * np.arange(24.0).reshape(12, 2)
    return Snapshot(
        id, X, np.arange(12) % 3, ("größe", "b"), ("x", "y", "z"), "Tiny", {"source": "file"}
    )


def assert_same(one: Snapshot, other: Snapshot) -> None:
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    assert (one.X.dtype, one.y.dtype) == (np.float64, np.int64)
    assert one.X.flags.c_contiguous
    names = ("id", "name", "feature_names", "class_names", "origin", "sha256")
    assert [getattr(one, name) for name in names] == [getattr(other, name) for name in names]


def test_the_digest_is_that_of_the_documented_bytes():
    one = tiny()
    content = struct.pack("<3q", 12, 2, 12)
    content += struct.pack("<24d", *one.X.ravel()) + struct.pack("<12q", *one.y)
    assert one.sha256 == hashlib.sha256(content).hexdigest()
    assert canonical_sha256(np.asfortranarray(one.X), one.y.astype(np.int8)) == one.sha256


@settings(
    max_examples=counts(30, 500),
    deadline=None,
    derandomize=True,
)
@given(data=st.data())
def test_round_trip(tmp_path_factory, data):
    rows, features = data.draw(st.integers(10, 20)), data.draw(st.integers(1, 5))
    cells = st.floats(allow_nan=False, allow_infinity=False)
    X = np.array(
        data.draw(st.lists(cells, min_size=rows * features, max_size=rows * features))
    ).reshape(rows, features)
    names = data.draw(st.lists(st.text(min_size=1), min_size=features, max_size=features))
    one = Snapshot("a.b", X, np.arange(rows) % 2, tuple(names), ("a", "é"), "n", {})
    folder = tmp_path_factory.mktemp("db") / "snapshots"
    store.save(one, folder)
    assert_same(store.load(folder, "a.b"), one)
    assert store.stored(folder) == ["a.b"]


def test_the_same_snapshot_gives_the_same_bytes(tmp_path):
    for name in "ab":
        store.save(tiny(), tmp_path / name)
    for suffix in (".npz", ".json"):
        one, other = (tmp_path / name / f"tiny{suffix}" for name in "ab")
        assert one.read_bytes() == other.read_bytes()
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["tiny.json", "tiny.npz"]


def test_the_manifest_follows_its_schema(tmp_path):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for id in ("11", "61"):
        store.save(bundled(id), tmp_path)
        content = json.loads((tmp_path / f"{id}.json").read_text("utf-8"))
        jsonschema.validate(content, SCHEMA)
        assert content == store.manifest(bundled(id))


def test_saving_again_changes_nothing_and_other_data_are_refused(tmp_path):
    store.save(tiny(), tmp_path)
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}
    store.save(tiny(), tmp_path)
    with pytest.raises(DatasetError, match=r"describes other data.*another database directory"):
        store.save(tiny(scale=2), tmp_path)
    assert before == {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in tmp_path.iterdir()}
    store.save(tiny(scale=2), tmp_path, replace=True)
    assert_same(store.load(tmp_path, "tiny"), tiny(scale=2))


def test_arrays_that_a_dead_process_left_are_no_snapshot(tmp_path):
    store.save(tiny(scale=2), tmp_path)
    (tmp_path / "tiny.json").unlink()
    with pytest.raises(NotFoundError, match=r"no snapshot of dataset 'tiny'"):
        store.load(tmp_path, "tiny")
    assert store.stored(tmp_path) == []
    store.save(tiny(), tmp_path)
    assert_same(store.load(tmp_path, "tiny"), tiny())


class Died(BaseException):
    """What stands for the end of a process."""


@pytest.mark.parametrize("present", ["nothing", "arrays", "damage"])
def test_death_at_any_change_leaves_no_half_snapshot(tmp_path, monkeypatch, present):
    """Before and after every create, write, fsync, link and rename; then it is saved again."""
    for step in range(0, 1000, counts(3, 1)):
        folder = tmp_path / str(step)
        store.save(tiny(scale=2), folder)
        if present == "nothing":
            (folder / "tiny.npz").unlink()
        if present != "damage":
            (folder / "tiny.json").unlink()
        left = step

        def die(when: str, what: str, path: Path) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Died

        monkeypatch.setattr(disk, "hook", die)
        with suppress(Died):
            store.save(tiny(), folder, replace=present == "damage")
        monkeypatch.setattr(disk, "hook", None)
        with suppress(NotFoundError, DamagedError):
            assert store.load(folder, "tiny").sha256 in {tiny().sha256, tiny(scale=2).sha256}
        store.save(tiny(), folder, replace=present == "damage")
        assert_same(store.load(folder, "tiny"), tiny())
        if left >= 0:
            break
    assert step > 15


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content with one bit flipped, or cut short, or with a tail."""
    kind = rng.integers(4)
    if kind == 0:
        return content[: rng.integers(len(content))]
    if kind == 1:
        return content + b"\n"
    changed = bytearray(content)
    changed[rng.integers(len(content))] ^= 1 << rng.integers(8)
    return bytes(changed)


@pytest.mark.parametrize("suffix", [".npz", ".json"])
def test_every_flip_and_truncation_is_found(tmp_path, suffix):
    store.save(bundled("61"), tmp_path)
    path = tmp_path / f"61{suffix}"
    whole = path.read_bytes()
    rng = np.random.default_rng(61)
    for _ in range(counts(300, 3000)):
        path.write_bytes(damaged(whole, rng))
        with pytest.raises(DamagedError, match=r"is damaged: .*; put a copy of it back"):
            store.verify(tmp_path, "61")
    path.write_bytes(whole)
    store.verify(tmp_path, "61")


def test_missing_arrays_are_damage(tmp_path):
    store.save(tiny(), tmp_path)
    (tmp_path / "tiny.npz").unlink()
    with pytest.raises(DamagedError, match=r"tiny.npz is damaged: the file is gone"):
        store.load(tmp_path, "tiny")


def test_a_snapshot_under_another_name_is_refused(tmp_path):
    store.save(tiny(), tmp_path)
    for suffix in (".npz", ".json"):
        (tmp_path / f"tiny{suffix}").rename(tmp_path / f"other{suffix}")
    with pytest.raises(DamagedError, match="it describes dataset 'tiny'"):
        store.load(tmp_path, "other")


def signed(content: dict) -> bytes:
    """Return a manifest with right digests, as an attacker or another program might write it."""
    content = {key: value for key, value in content.items() if key != "manifest_sha256"}
    rendered = store._rendered(content)
    return store._rendered({**content, "manifest_sha256": hashlib.sha256(rendered).hexdigest()})


def test_a_newer_format_is_refused(tmp_path):
    store.save(tiny(), tmp_path)
    path = tmp_path / "tiny.json"
    path.write_bytes(signed({**json.loads(path.read_bytes()), "format_version": 99}))
    with pytest.raises(FormatVersionError, match=r"format version 99.*upgrade lcdb-plusplus"):
        store.load(tmp_path, "tiny")


def test_nothing_is_unpickled(tmp_path):
    """Arrays of objects are pickles: even with right digests they are not read."""
    store.save(tiny(), tmp_path)
    arrays = tmp_path / "tiny.npz"
    np.savez(arrays, X=np.array([{"a": 1}], dtype=object), y=np.arange(1))
    content = json.loads((tmp_path / "tiny.json").read_bytes())
    content["npz_sha256"] = hashlib.sha256(arrays.read_bytes()).hexdigest()
    (tmp_path / "tiny.json").write_bytes(signed(content))
    with pytest.raises(DamagedError, match="does not hold the arrays of a snapshot"):
        store.load(tmp_path, "tiny")


@pytest.mark.parametrize("id", ["", "../61", "a/b", ".hidden", "a\0b", "x" * 65, "a.", "ä", "a b"])
def test_an_id_cannot_leave_the_folder(tmp_path, id):
    folder = tmp_path / "db" / "snapshots"
    with pytest.raises(DatasetError, match="cannot name a dataset"):
        store.save(tiny(id), folder)
    with pytest.raises(DatasetError, match="cannot name a dataset"):
        store.load(folder, id)
    assert list(tmp_path.rglob("*")) == []
