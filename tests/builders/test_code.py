"""Numbers of changed kernels never mix with others, and are taken over where they are the same."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lcdb_builders import build
from lcdb_builders.compiling.sources import Sources
from lcdb_builders.domain.unit import Unit
from lcdb_builders.run import code
from lcdb_builders.run.adopt import adopt, others
from lcdb_builders.run.code import code_digest
from lcdb_builders.run.tasks import block_to_json, compute
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.layout import Lengths
from lcdb_builders.storage.manifest import Manifest
from lcdb_builders.storage.pack import pack

import lcdb
from lcdb._version import __version__
from lcdb.cli import main
from lcdb.errors import LCDBError, PlanError
from tests.support.cubes import block_scores, toy_snapshot, toy_units

PLAN = {"datasets": [61], "learners": ["NMC"], "sizes": [5, 30], "repetitions": 6}
UNIT = Unit("61", "ab", 1, "LDC", "", "{}", "kernel-1", "random", "fixed", "default", "", (1, 2, 3))
OTHER = "0" * 64
CURVES = 6  # of NMC: two samplings, three splits


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("code") / "db"
    build(PLAN, root, workers=1, offline=True)
    return root


@pytest.fixture
def root(built, tmp_path) -> Path:
    return shutil.copytree(built, tmp_path / "db")


def entry(root: Path):
    return Manifest.read(root, "61", fresh=True).current


def forge(root: Path, learner: str = "NMC", source: str = OTHER) -> None:
    """Have the manifest say that other code computed a learner's curves."""
    now = entry(root)
    slices = tuple(
        replace(s, source=source) if s.unit.learner == learner else s for s in now.slices
    )
    manifest = Manifest("61", current=replace(now, slices=slices))
    (root / "manifest" / "61.json").write_bytes(manifest.encode())


@pytest.mark.process
def test_every_slice_has_the_digest_of_its_code_and_the_version_is_the_codes(built):
    slices = entry(built).slices
    assert {s.unit.learner for s in slices} == {"draws", "NMC"}
    assert all(s.source == code_digest(s.unit) for s in slices)
    assert len({s.source for s in slices}) == 2
    assert all(e["packages"]["lcdb-plusplus"] == __version__ for s in slices for e in s.computed_on)
    assert environment()["packages"]["lcdb-plusplus"] == __version__


def test_a_cube_has_the_same_bytes_whatever_code_computed_it(tmp_path):
    snapshot = toy_snapshot(rows=12)
    units = toy_units(snapshot)
    digests = set()
    for source in ("", OTHER, "1" * 64):
        root = tmp_path / f"of {source[:1]}"
        journal = Journal(root)
        for unit in units:
            for block in journal.missing(unit, 3):
                journal.publish(block, block_scores(block), environment(), source)
        packed = pack(root, snapshot, units, 3)
        digests.add(packed.sha256)
        assert {s.source for s in packed.slices} == {source}
    assert len(digests) == 1


def test_blocks_of_two_codes_are_not_packed_into_one_curve(tmp_path):
    snapshot = toy_snapshot(rows=12)
    units = toy_units(snapshot)
    journal = Journal(tmp_path)
    for unit in units:
        for i, block in enumerate(journal.missing(unit, 3, Lengths(4, 3))):
            journal.publish(block, block_scores(block), environment(), str(i % 2) * 64)
    with pytest.raises(PlanError, match="computed by two versions of the code"):
        pack(tmp_path, snapshot, units, 3)


def command(capsys, *arguments: object) -> tuple[int, str]:
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr().out


@pytest.mark.process
@pytest.mark.parametrize("where", ["in the cube", "in the journal"])
@pytest.mark.parametrize("grown", [{}, {"repetitions": 8}], ids=["resumed", "grown"])
def test_a_build_does_not_go_on_with_numbers_of_other_code(root, where, grown):
    if where == "in the cube":
        forge(root)
    else:
        journal = Journal(root)
        blocks_of_other_code(root)
        assert any(OTHER in journal.sources(unit) for unit in entry_units(journal))
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    with pytest.raises(PlanError, match=r"61-NMC-.* by other code .*lcdb verify DIR --adopt"):
        build({**PLAN, **grown}, root, workers=1, offline=True)
    assert before == {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}


def blocks_of_other_code(root: Path) -> None:
    """Turn the cube into blocks, as salvaging does, of which some are of other code."""
    forge(root)
    from lcdb_builders.storage.salvage import salvage

    salvage(root, "61")
    for folder in ("cubes", "manifest"):
        shutil.rmtree(root / folder)


def entry_units(journal: Journal) -> list[Unit]:
    return list(journal.built("61"))


@pytest.mark.process
def test_other_learners_join_whatever_computed_the_first(root):
    forge(root)
    report = build({**PLAN, "learners": ["QDC"], "repetitions": 6}, root, workers=1, offline=True)
    assert report.computed > 0
    assert {s.source for s in entry(root).slices if s.unit.learner == "NMC"} == {OTHER}


@pytest.mark.process
def test_reading_and_recomputing_refuse_nothing(root, capsys):
    forge(root)
    with lcdb.open(root) as db:
        assert np.isfinite(db.curve("iris", "NMC", sampling="random", split="fixed").values).any()
    assert command(capsys, "verify", root, "--recompute", 3, "--quiet")[0] == 0


@pytest.mark.process
def test_a_worker_with_other_kernels_computes_nothing(root):
    unit = next(s.unit for s in entry(root).slices if s.unit.learner == "NMC")
    block = Journal(root).missing(unit, 9)[0]
    request = {**block_to_json(block), "source": OTHER}
    with pytest.raises(LCDBError, match=r"has other kernels .* than the machine"):
        compute(str(root), request, [unit.split], False)


@pytest.mark.process
def test_numbers_that_are_the_same_are_adopted(root, capsys):
    forge(root)
    sha256 = entry(root).sha256
    code, out = command(capsys, "verify", root, "--adopt", 4, "--seed", 1, "--quiet")
    assert code == 0 and f"{CURVES} of {CURVES} curves of other code are the same" in out
    assert others(root) == [] and entry(root).sha256 == sha256
    assert all(s.source == code_digest(s.unit) for s in entry(root).slices)
    report = build({**PLAN, "repetitions": 7}, root, workers=1, offline=True)
    assert report.computed > 0


@pytest.mark.process
def test_blocks_are_adopted_as_well(root):
    blocks_of_other_code(root)
    found = list(adopt(root, 2))
    assert found and all(f.cells == 2 and not f.different for f in found)
    assert others(root) == []
    build(PLAN, root, workers=1, offline=True)
    assert {s.source for s in entry(root).slices} == {
        code_digest(s.unit) for s in entry(root).slices
    }


@pytest.mark.process
def test_numbers_that_are_not_the_same_are_not_adopted(root, monkeypatch, capsys):
    forge(root)
    from lcdb_builders.learners.gaussian import NMC

    right = NMC.block

    def worse(self, snapshot, block, splits):
        found = right(self, snapshot, block, splits)
        for scores in found.values():
            scores["accuracy"] = scores["accuracy"] * np.float32(0.9)
        return found

    monkeypatch.setattr(NMC, "block", worse)
    found = list(adopt(root, 3))
    assert len(found) == CURVES and all(f.different == f.cells == 3 for f in found)
    assert {s.source for s in entry(root).slices if s.unit.learner == "NMC"} == {OTHER}
    code, out = command(capsys, "verify", root, "--adopt", 1, "--quiet")
    assert code == 1 and out.count("OTHER 61-NMC-") == CURVES and "1 of 1 cells" in out
    monkeypatch.undo()
    code, out = command(capsys, "verify", root, "--adopt", 1, "--json", "--quiet")
    adopted = json.loads(out)["adopted"]
    assert code == 0 and [a["cells"] for a in adopted] == [1] * CURVES


# -- the digest ------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path, monkeypatch) -> Path:
    """A copy of the package whose sources are digested in the place of the package's."""
    folder = tmp_path / "lcdb_builders"
    package = Path(code.__file__).resolve().parents[1]
    shutil.copytree(package, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def digest(folder: Path, monkeypatch, unit: Unit = UNIT) -> str:
    for cached in (code._digest, code._sources):
        cached.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(code, "_sources", lambda: Sources(folder, "lcdb_builders"))
        found = code_digest(unit)
    code._digest.cache_clear()
    return found


@pytest.mark.slow
def test_the_digest_is_of_the_learners_own_kernels(copy, monkeypatch):
    before = {
        name: digest(copy, monkeypatch, replace(UNIT, learner=name)) for name in ("LDC", "DT")
    }
    assert before["LDC"] == code_digest(UNIT)
    path = copy / "kernels" / "trees" / "split.py"
    path.write_text(path.read_text() + "\n# a comment\n")
    after = {name: digest(copy, monkeypatch, replace(UNIT, learner=name)) for name in before}
    assert after == before
    path = copy / "kernels" / "gaussian" / "model.py"
    text = path.read_text()
    assert "0.5" in text
    path.write_text(text.replace("0.5", "0.45"))
    after = {name: digest(copy, monkeypatch, replace(UNIT, learner=name)) for name in before}
    assert after["LDC"] != before["LDC"] and after["DT"] == before["DT"]
