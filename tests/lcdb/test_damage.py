"""Damaged cubes: whatever bytes a file holds, users meet our errors and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import lcdb
from lcdb.errors import DamagedError
from tests.support.counts import counts

pytestmark = pytest.mark.process

# Reads everything there is to read. Runs by itself: what damaged bytes do to a process stays there.
READ_EVERYTHING = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import lcdb, lcdb.probe
from lcdb.errors import LCDBError
lcdb.probe._CPU_SECONDS = 3  # of a file that HDF5 hangs on: opening a whole one takes less
original, damaged, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
clean = open(original, "rb").read()
draw = np.random.default_rng(seed)
told = {"read": 0}
for trial in range(count):
    data = bytearray(clean)
    if trial % 4 == 0:
        del data[draw.integers(len(data)):]
    else:  # half of the flips at the start, where most of the metadata is
        where = draw.integers(len(data) if trial % 4 == 1 else 30_000)
        data[where] ^= 1 << draw.integers(8)
    open(damaged, "wb").write(data)
    try:
        with lcdb.open(damaged) as db:
            repr(db), db._repr_html_(), db.status()
            for key in db:
                db[key].load()
        told["read"] += 1
    except LCDBError as error:
        assert "\\n" not in str(error), error
        told[type(error).__name__] = told.get(type(error).__name__, 0) + 1
print(json.dumps(told))
"""


def test_any_flip_or_truncation_ends_in_one_of_our_errors(database_folder, tmp_path):
    count = counts(20, 300)
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            READ_EVERYTHING,
            str(database_folder / "cubes" / "1063.nc"),
            str(tmp_path / "1063.nc"),
            "20",
            str(count),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    told = json.loads(run.stdout)
    assert sum(told.values()) == count
    # Truncations are found by HDF5 itself; what flips in metadata do is for `lcdb verify`.
    assert told["DamagedError"] >= count / 4


def test_damage_in_values_is_told_when_they_are_read(database_folder, tmp_path):
    import h5py

    path = tmp_path / "61.nc"
    data = bytearray((database_folder / "cubes" / "61.nc").read_bytes())
    with h5py.File(database_folder / "cubes" / "61.nc", locking=False) as file:
        chunk = file["accuracy"].id.get_chunk_info_by_coord((0, 0, 0, 0, 0, 0))
    data[chunk.byte_offset + chunk.size // 2] ^= 1
    path.write_bytes(data)
    with lcdb.open(path) as db:
        assert db.curve(61, "QDC").notnull().all()
        assert db.curve(61, "LDC", metric="auc").shape == (42, 5)
        curve = db.curve(61, "LDC", sampling="additive", split="fixed")
        with pytest.raises(DamagedError, match=r"61\.nc cannot be read.*'lcdb verify'"):
            curve.load()
        with pytest.raises(DamagedError, match="lcdb verify"):
            np.asarray(db[61]["accuracy"])
        with pytest.raises(IndexError):
            db.curve(61, "QDC")[99]
