"""A build says what it found damaged, what is kept, and what it computes again."""

from __future__ import annotations

import h5py
import pytest
from lcdb_builders import build
from lcdb_builders.run.progress import Silent
from lcdb_builders.storage.manifest import cube_path, file_sha256
from lcdb_builders.storage.repair import verify

from lcdb.errors import PlanError

PLAN = {
    "datasets": [61],
    "learners": ["NMC", "LDC"],
    "samplings": ["random"],
    "splits": ["fixed"],
    "sizes": [5],
    "repetitions": 3,
}


class Recorder(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def tell(self, text: str) -> None:
        self.lines.append(text)


@pytest.mark.process
def test_damage_is_told_and_undone(tmp_path):
    root = tmp_path / "db"
    build(PLAN, root, workers=1, offline=True)
    cube = cube_path(root, "61")
    sha256 = file_sha256(cube)
    with h5py.File(cube) as file:
        where = file["brier"].id.get_chunk_info(0).byte_offset
    data = bytearray(cube.read_bytes())
    data[where + 5] ^= 4
    cube.write_bytes(data)
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    with pytest.raises(PlanError, match="master_seed"):
        build({**PLAN, "seed": 2, "samplings": ["bootstrap"]}, root, workers=1, offline=True)
    assert before == {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    told = Recorder()
    report = build(PLAN, root, workers=1, offline=True, progress=told)
    (note,) = [line for line in told.lines if "damaged" in line]
    assert "2 of 3 curves are kept, lost are 61-NMC-random-fixed-default" in note
    assert "computed again" in note
    (aside,) = cube.parent.glob("61.nc.damaged-*")
    assert aside.name in note and aside.read_bytes() == data
    assert report.cubes["61"].written and file_sha256(cube) == sha256
    assert verify(root).intact
