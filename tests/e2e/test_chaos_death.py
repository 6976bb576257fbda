"""Dying before and after every change to the file system, of everything that makes some."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal, Lengths
from lcdb_builders.storage.manifest import believed, cube_path
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.repair import verify

from tests.support.chaos.death import DIED, changes, run_until
from tests.support.chaos.memory import in_memory
from tests.support.counts import counts, first
from tests.support.cubes import block_scores, toy_snapshot, toy_units

SNAPSHOT = toy_snapshot(rows=12)
SMALL = toy_units(SNAPSHOT, learners=("LDC",))
UNITS = toy_units(SNAPSHOT, learners=("NMC", "LDC"))
R = 4
HERE = environment()


def compute(root: Path, units=UNITS, repetitions: int = R) -> int:
    """Compute what is missing, as the next builder would; return the number of cells."""
    journal = Journal(root)
    journal.prepare(units)
    cells = 0
    for unit in units:
        for block in journal.missing(unit, repetitions, Lengths(8, 3)):
            with journal.lease(block):
                journal.publish(block, block_scores(block), HERE)
            cells += block.cells
    return cells


def build(root: Path, units=UNITS, repetitions: int = R) -> str:
    compute(root, units, repetitions)
    return pack(root, SNAPSHOT, units, repetitions).sha256


def flip(path: Path, where: float) -> None:
    data = bytearray(path.read_bytes())
    data[int(len(data) * where)] ^= 16
    path.write_bytes(data)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with in_memory() as folder:
        yield folder


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> str:
    """The digest of the cube that nobody died over."""
    return build(tmp_path_factory.mktemp("undisturbed"))


def steps(work: Callable[[], object], stride: int = 1) -> list[int]:
    """Return the changes to die at: all of them, or every so many where tests are to be quick."""
    seen = changes(work)
    stride = counts(2 * stride, 1)
    draw = random.Random(len(seen))
    # Writes to an HDF5 file that nobody sees yet are all alike: of these fewer will do.
    few = counts(30, 1)
    found = [i for i, (_, what, _) in enumerate(seen) if what != "write" or draw.random() < 1 / few]
    assert len(found) > 10
    return found[::stride]


def assert_clean(root: Path) -> None:
    """Nothing is left that somebody would have to remove."""
    left = {p.name for p in root.rglob("*") if p.is_file()}
    assert not {name for name in left if name.startswith(".") or "block" in name}
    assert not {name for name in left if name.endswith((".lease", ".lock", ".failed.json"))}
    assert verify(root).intact


def ready_first(root: Path) -> None:
    compute(root)


def ready_grown(root: Path) -> None:
    build(root, SMALL, R - 1)
    compute(root)


def ready_settling(root: Path) -> None:
    """The cube is right, but late blocks and an old announcement are around."""
    compute(root)
    shutil.copytree(root / "blocks", root / "kept")
    pack(root, SNAPSHOT, UNITS, R)
    shutil.rmtree(root / "blocks")
    (root / "kept").rename(root / "blocks")


def ready_damaged(root: Path) -> None:
    build(root)
    flip(cube_path(root, "toy"), 0.01)  # in the metadata: values stay readable


def ready_unmanifested(root: Path) -> None:
    build(root)
    flip(root / "manifest" / "toy.json", 0.5)


STATES = {
    "first": (ready_first, 1),
    "grown": (ready_grown, 1),
    "settling": (ready_settling, 1),
    "damaged": (ready_damaged, 15),
    "unmanifested": (ready_unmanifested, 15),
}


@pytest.mark.process
@pytest.mark.parametrize("state", first(STATES, 1))
def test_dying_while_packing_costs_nothing(tmp_path, state, undisturbed):
    ready, stride = STATES[state]
    start = tmp_path / "start"
    ready(start)

    def work(root: Path) -> None:
        pack(root, SNAPSHOT, UNITS, R)

    rehearsal = tmp_path / "rehearsal"
    shutil.copytree(start, rehearsal)
    for step in steps(lambda: work(rehearsal), stride):
        root = tmp_path / "db"
        shutil.copytree(start, root)
        assert run_until(lambda root=root: work(root), step) == DIED
        assert compute(root) == 0, step
        assert build(root) == undisturbed, step
        assert believed(root, "toy", fresh=True).sha256 == undisturbed
        assert_clean(root)
        shutil.rmtree(root)


@pytest.mark.process
def test_dying_while_publishing_leaves_a_whole_block_or_none(tmp_path, undisturbed):
    unit = UNITS[-1]
    block = Journal(tmp_path / "none").missing(unit, R, Lengths(8, 3))[0]
    scores = block_scores(block)

    def work(root: Path) -> None:
        journal = Journal(root)
        journal.prepare(UNITS)
        journal.lengths(unit, Lengths(8, 3))
        with journal.lease(block):
            journal.publish(block, scores, HERE)

    published = 0
    for step in steps(lambda: work(tmp_path / "rehearsal")):
        root = tmp_path / "db"
        assert run_until(lambda root=root: work(root), step) == DIED
        journal = Journal(root)
        if journal.path(block).exists():
            published += 1
            found = journal.read(block)
            assert all(found[name].tobytes() == scores[name].tobytes() for name in scores)
            assert journal.publish(block, scores, HERE) == "duplicate"
        missing = journal.missing(unit, R, Lengths(8, 3))
        assert (block in missing) != journal.path(block).exists()
        assert build(root) == undisturbed
        assert_clean(root)
        shutil.rmtree(root)
    assert published > 3


@pytest.mark.process
def test_dying_while_recording_a_failure(tmp_path, undisturbed):
    unit = UNITS[-1]
    block = Journal(tmp_path / "none").missing(unit, R, Lengths(8, 3))[0]

    def work(root: Path) -> None:
        journal = Journal(root)
        journal.prepare(UNITS)
        journal.lengths(unit, Lengths(8, 3))
        journal.fail(block, "failed", "ValueError", HERE)
        journal.retry(unit)

    for step in steps(lambda: work(tmp_path / "rehearsal")):
        root = tmp_path / "db"
        assert run_until(lambda root=root: work(root), step) == DIED
        journal = Journal(root)
        assert len(journal.failures(unit)) in (0, 1)
        journal.retry(unit)
        assert build(root) == undisturbed
        assert_clean(root)
        shutil.rmtree(root)


def test_what_is_named_has_been_synced_and_removal_comes_last(tmp_path):
    """A power cut keeps what was synced: names may only ever point to synced content."""

    def work() -> None:
        build(tmp_path, SMALL, R - 1)
        build(tmp_path)

    dirty: dict[Path, bool] = {}
    unsynced: set[Path] = set()
    published: list[str] = []
    for when, what, path in changes(work):
        if when != "after":
            continue
        if what in ("create", "write"):
            dirty[path] = True
        elif what == "fsync":
            dirty[path] = False
            unsynced.discard(path)
        elif what in ("link", "rename"):
            name = path.name[1:].rsplit(".", 3)[0]
            published.append(name)
            if not name.endswith((".lease", ".lock")):
                assert not dirty[path], name
                unsynced.add(path.parent)
        elif what == "unlink" and path.suffix == ".block":
            assert not unsynced, "a block was removed before the cube's name was synced"
            packed = [name for name in published if not name.endswith("index.json")]
            assert packed[-3:] == ["toy.json", "toy.nc", "toy.json"]
    assert published.count("toy.nc") == 2 and not unsynced
