"""Opening a database: beside others, lazily, and what is refused; how it looks when it is open."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pickle
import shutil
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

import lcdb
from lcdb import shipped
from lcdb.errors import (
    DamagedError,
    FormatVersionError,
    LabelError,
    LCDBError,
    NotFoundError,
    ReadError,
    SchemaError,
    StaleError,
)
from tests.support.plausible import rename, set_status, snapshot_of, write_plausible

FIRST = {"learner": "LDC", "sampling": "additive", "split": "fixed", "tuning": "default"}


def contents(folder):
    return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in folder.rglob("*")}


@pytest.mark.process
def test_reading_writes_nothing_and_needs_no_lock(database_folder):
    before = contents(database_folder)
    path = database_folder / "cubes" / "61.nc"
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with lcdb.open(database_folder) as db:
            assert db.curve(61, "LDC").notnull().all()
            assert len(db.status())
    assert contents(database_folder) == before


@pytest.mark.process
@pytest.mark.parametrize("locking", [None, True, False, "best-effort"])
def test_a_cube_can_be_opened_by_others_at_the_same_time(database_folder, locking):
    path = database_folder / "cubes" / "61.nc"
    with h5py.File(path, locking=locking) as before, lcdb.open(database_folder) as db:
        assert db.curve(61, "LDC").values.any()
        with h5py.File(path, locking=locking) as after, xr.open_dataset(path) as plain:
            assert after["n"][-1] == before["n"][-1] == plain.n[-1]


@pytest.mark.process
def test_one_cube_file_is_a_database_of_one(database_folder):
    with lcdb.open(database_folder / "cubes" / "1063.nc") as db:
        assert list(db) == [1063]
        assert db.curve("kc2", "MLP").sizes == {"n": 28, "repetition": 5}


@pytest.mark.process
def test_a_closed_database_says_so_and_its_arrays_still_read(database_folder):
    with lcdb.open(database_folder) as db:
        curve, expected = db.curve(61, "LDC"), db.curve(61, "LDC").values
    with pytest.raises(LCDBError, match="closed"):
        db.curve(61, "LDC")
    np.testing.assert_array_equal(curve.values, expected)


@pytest.mark.process
def test_a_cube_that_grows_beside_a_reader_never_mixes_its_labels(copy):
    path, larger = copy / "cubes" / "61.nc", copy / "larger.nc"
    iris = snapshot_of("61", "iris", 60)
    draws = {"samplings": ("random",), "splits": ("varying",)}
    write_plausible(path, iris, 5, learners=("LDC", "NNC"), **draws)
    write_plausible(larger, iris, 5, learners=("NMC", "LDC", "QDC", "NNC"), **draws)
    with lcdb.open(path) as old, lcdb.open(larger) as new:
        small, large = (db.curve(61, "NNC").values for db in (old, new))
        assert not np.array_equal(small, large)
    with lcdb.open(copy) as early, lcdb.open(copy) as late, lcdb.open(copy) as closed:
        held, lost = early.curve(61, "NNC"), closed.curve(61, "NNC")
        late.headers[61]
        closed.close()
        larger.replace(path)
        # Who had opened the old file goes on with it; who had not sees the new one whole.
        np.testing.assert_array_equal(held.values, small)
        np.testing.assert_array_equal(early.curve(61, "NNC").values, small)
        np.testing.assert_array_equal(late.curve(61, "NNC").values, large)
        assert late.headers[61].labels["learner"] == ("NMC", "LDC", "QDC", "NNC")
        with pytest.raises(StaleError, match="was replaced by a cube of another plan"):
            lost.load()


@pytest.mark.process
def test_a_lazy_curve_can_be_sent_to_another_process(db):
    curve = db.curve(61, "LDC")
    again = pickle.loads(pickle.dumps(curve))
    xr.testing.assert_identical(again.load(), curve.load())


@pytest.mark.process
@pytest.mark.parametrize("chunks", ["auto", True, {"learner": 2}, {"split": -1}])
def test_chunks_give_dask_arrays_of_the_same_values(database_folder, db, chunks):
    with lcdb.open(database_folder, chunks=chunks) as lazy:
        array = lazy[61]["auc"]
        wanted = {"n": -1, "repetition": -1, **(chunks if isinstance(chunks, dict) else {})}
        for dim, lengths in array.chunksizes.items():
            length = wanted.get(dim, 1)
            assert lengths[0] == (array.sizes[dim] if length == -1 else length)
        xr.testing.assert_identical(
            lazy.curve(61, "NNC", metric="auc").compute(), db.curve(61, "NNC", metric="auc").load()
        )


def test_chunks_that_cut_those_on_disk_are_warned_about(database_folder):
    with (
        lcdb.open(database_folder, chunks={"n": 10}) as db,
        pytest.warns(UserWarning, match="rech"),
    ):
        assert db["iris"]["auc"].chunksizes["n"][0] == 10


@pytest.mark.parametrize(
    ("chunks", "error", "told"),
    [
        ({"N": 1}, LabelError, "no dim 'N'. Did you mean 'n'?"),
        ({"n": 0}, TypeError, r"chunks\['n'\] is 0"),
        ({"n": "x"}, TypeError, r"chunks\['n'\] is 'x'"),
        (7, TypeError, "chunks is 7"),
    ],
)
def test_wrong_chunks_are_refused_at_once(database_folder, chunks, error, told):
    with pytest.raises(error, match=told):
        lcdb.open(database_folder, chunks=chunks)


# -- what is refused -------------------------------------------------------------------------------


def refused(path, error, told):
    with pytest.raises(error) as caught:
        lcdb.open(path)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.process
def test_foreign_folders_and_files_are_refused(tmp_path):
    refused(tmp_path / "nothing", NotFoundError, "does not exist")
    refused(tmp_path, NotFoundError, "it has no folder 'cubes'")
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    refused(tmp_path / "table.csv", DamagedError, "is not a netCDF-4 file")
    (tmp_path / "empty.nc").touch()
    refused(tmp_path / "empty.nc", DamagedError, "is not a netCDF-4 file")
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(tmp_path / "other.nc")
    refused(tmp_path / "other.nc", SchemaError, "it has no attribute 'cube_kind'")
    (tmp_path / "blocks").mkdir()
    refused(tmp_path, NotFoundError, "its build has not ended")
    (tmp_path / "cubes").mkdir()
    refused(tmp_path, NotFoundError, "holds no curve cube")


@pytest.mark.process
def test_a_foreign_file_among_cubes_is_named(copy):
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(copy / "cubes" / "other.nc")
    with pytest.raises(SchemaError, match=r"other\.nc is not a curve cube"):
        lcdb.open(copy)


@pytest.mark.process
def test_other_cubes_and_files_in_the_making_are_passed_over(copy):
    other = xr.Dataset({"a": ("x", [1.0])}, attrs={"cube_kind": "dse"})
    other.to_netcdf(copy / "cubes" / "dse.nc")
    (copy / "cubes" / ".61.nc.host.tmp.nc").write_bytes(b"half")
    with lcdb.open(copy) as db:
        assert list(db) == [61, 1063, "mine"]
        assert "dse" in db
        with pytest.raises(LabelError, match="has no learning curves"):
            db.curve("dse", "kNN")
        with pytest.raises(DamagedError, match=r"dse\.nc cannot be read"):
            db["dse"]
    refused(copy / "cubes" / "dse.nc", DamagedError, "cannot be read")
    other.attrs["cube_kind"] = "gas"
    other.to_netcdf(copy / "cubes" / "gas.nc")
    refused(copy / "cubes" / "gas.nc", SchemaError, "cube_kind is 'gas', expected 'curves'")


@pytest.mark.process
def test_a_cube_of_a_newer_version_is_refused(copy):
    with h5py.File(copy / "cubes" / "1063.nc", "r+") as file:
        file.attrs["format_version"] = np.int64(3)
    with pytest.raises(FormatVersionError, match=r"1063\.nc has format version 3.*up to 2: update"):
        lcdb.open(copy)


# -- looks -----------------------------------------------------------------------------------------


@pytest.mark.process
def test_the_overview_names_every_dataset_and_counts_curves(db, copy):
    lines = repr(db).splitlines()
    assert "3 datasets" in lines[0]
    assert lines[1].split() == ["id", "name", "N", "d", "K", "sizes", "R", "complete"]
    assert lines[2].split() == ["61", "iris", "60", "2", "3", "1..42", "5", "24"]
    set_status(copy / "cubes" / "61.nc", "failed", **FIRST)
    with lcdb.open(copy) as other:
        assert repr(other).splitlines()[1].split()[-2:] == ["complete", "failed"]
        assert repr(other).splitlines()[2].split()[-2:] == ["23", "1"]


@pytest.mark.process
def test_html_is_escaped(copy):
    rename(copy / "cubes" / "61.nc", "<script>alert(1)</script>")
    with lcdb.open(copy) as db:
        html = db._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<tr>") == 4


@pytest.fixture
def command(capsys):
    from lcdb.cli import main

    def run(*arguments):
        code = main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return run


@pytest.mark.process
def test_info_prints_a_table_and_json(command, database_folder, db):
    code, out, err = command("info", database_folder)
    assert (code, err) == (0, "")
    for text in ("iris", "kc2", "my table", "1..42", "complete", "MLP"):
        assert text in out
    code, out, _ = command("info", "--json", database_folder)
    rows = json.loads(out)
    assert code == 0
    assert [row["dataset"] for row in rows] == ["61", "1063", "mine"]
    assert rows[0]["sizes"] == {"first": 1, "last": 42, "count": 42}
    assert rows[0]["status"]["complete"] == 24
    assert rows[1]["learner"] == ["LDC", "MLP"]
    assert rows[0]["bytes"] == (database_folder / "cubes" / "61.nc").stat().st_size


def test_info_of_something_else_is_one_line_and_an_exit_code(command, tmp_path):
    code, out, err = command("info", tmp_path)
    assert code == 1 and out == ""
    assert err == f"lcdb: {tmp_path} is not a database directory: it has no folder 'cubes'\n"


@contextlib.contextmanager
def somebody_else(folder):
    """Be a user whom the owner of a folder has not let in, with all that is imported so far."""
    if os.geteuid():
        folder.chmod(0)
        try:
            yield
        finally:
            folder.chmod(0o700)
        return
    folder.chmod(0o700)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_its_owner_keeps_to_themselves_is_one_line(command, database_folder):
    """As one is made with umask 077; once as its owner, since another user may not import."""
    with tempfile.TemporaryDirectory() as above:  # pytest's own folders are closed as well
        os.chmod(above, 0o755)
        copy = shutil.copytree(database_folder, Path(above, "db"))
        assert command("info", copy)[0] == 0
        with somebody_else(copy):
            code, out, err = command("info", copy)
            with pytest.raises(ReadError, match="is closed to you"):
                lcdb.open(copy)
        assert (code, out) == (1, "")
        assert err == (
            f"lcdb: {copy} is closed to you (Permission denied): it is {copy.owner()}'s, "
            f"who can run 'chmod -R go+rX {copy}'\n"
        )


@pytest.mark.process
def test_the_class_takes_what_open_takes(database_folder, copy):
    with lcdb.Database(database_folder, chunks={"learner": 2}) as lazy:
        assert lazy[61]["auc"].chunksizes["learner"][0] == 2
    # A value that is changed in the file is seen by who compares, and by nobody else.
    path = copy / "cubes" / "61.nc"
    with h5py.File(path, "r+") as file:
        file["brier"][0, 0, 0, 0, 5, 1] += np.float32(0.25)
    with lcdb.Database(path, check=False) as trusting, lcdb.Database(path, check=True) as checking:
        where = {"sampling": "additive", "split": "fixed", "metric": "brier"}
        assert trusting.curve(61, "LDC", **where).shape == (42, 5)
        assert trusting.curve(61, "LDC", **where).notnull().all()
        with pytest.raises(DamagedError, match=r"61\.nc"):
            checking.curve(61, "LDC", **where).load()


@pytest.mark.parametrize("name", ["crossing", "experiments", "reference", "turan2026", "tutorial"])
def test_what_ships_is_opened_by_the_name_that_commands_know(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with lcdb.open(name) as db, getattr(shipped, name)() as same:
        assert db.path == same.path and list(db) == list(same)
    (tmp_path / name).mkdir()
    with pytest.raises(NotFoundError):  # a folder of that name is meant
        lcdb.open(name)


def test_a_shipped_name_that_this_installation_lacks_says_how_to_make_it(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "_DATA", tmp_path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError, match="'lcdb build reference --out DIR'"):
        lcdb.open("reference")
