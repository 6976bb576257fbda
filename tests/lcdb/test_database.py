"""A database as its users see it: names, slices, statuses, and what is refused."""

from __future__ import annotations

import fcntl
import itertools
import json
import pickle
import shutil

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plausible import set_status, snapshot_of, write_plausible

import lcdb
from lcdb.errors import (
    DamagedError,
    FormatVersionError,
    LabelError,
    LCDBError,
    NotBuiltError,
    NotFoundError,
    PartialCurveWarning,
    SchemaError,
)
from lcdb.schema import METRICS, STATUSES, UNIT_DIMS

UNIT = {"learner": "LDC", "sampling": "additive", "split": "fixed", "tuning": "default"}


def raw_labels(file: h5py.File) -> dict[str, list[str]]:
    return {dim: list(file[dim].asstr()[...]) for dim in UNIT_DIMS}


@pytest.fixture
def copy(database_folder, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(database_folder, tmp_path / "copy")


# -- names -----------------------------------------------------------------------------------------


def test_datasets_are_found_by_id_and_by_name(db):
    assert list(db) == [61, 1063, "mine"]
    assert len(db) == 3
    for same in (61, "61", "iris", "IRIS", np.int64(61)):
        assert same in db
        assert db[same].attrs["dataset_name"] == "iris"
        assert db.resolve(same) == 61
    assert "my table" in db and 62 not in db and None not in db
    assert db.get(62) is None


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda db: db["irs"], "Did you mean 'iris'?"),
        (lambda db: db[62], "Known: iris, kc2, my table, 61, 1063, mine."),
        (lambda db: db.curve(61, "LCD"), "learner 'LCD' is not in cube 61 (iris). Did you mean"),
        (lambda db: db.curve(61, "ldc"), "Did you mean 'LDC'?"),
        (lambda db: db.curve(61, "RFOR"), "It holds: LDC, QDC, NNC."),
        (lambda db: db.curve(61, "LDC", sampling="aditive"), "Did you mean 'additive'?"),
        (lambda db: db.curve(61, "LDC", split="pool"), "It holds: fixed, varying."),
        (lambda db: db.curve(61, "LDC", tuning="tune"), "Did you mean 'tuned'?"),
        (lambda db: db.curve(61, "LDC", metric="recall"), "Known: accuracy, auc, brier"),
        (lambda db: db.curve(61, "LDC", metric="n_test"), "metric 'n_test' does not exist."),
        (lambda db: db.select(metric="cross entropy"), "Did you mean 'cross_entropy'?"),
        (lambda db: db.select(learner=["LDC", "QDD"]), "learner 'QDD' is not in"),
        (lambda db: db.select([61, 1063], learner="MLP"), "is not in cube 61 (iris)"),
        (lambda db: db.select([61, 99]), "dataset '99' is not in"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(db, ask, told):
    with pytest.raises(LabelError) as caught:
        ask(db)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_datasets_of_one_name_must_be_told_apart_by_id(copy):
    options = {"learners": ("LDC",)}
    write_plausible(copy / "cubes" / "5.nc", snapshot_of("5", "iris", 20), 2, **options)
    with lcdb.open(copy) as db:
        assert db[5].attrs["openml_id"] == 5
        with pytest.raises(LabelError, match=r"ambiguous: \[5, 61\]"):
            db["iris"]


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_every_curve_is_what_plain_h5py_reads(database_folder, db, metric):
    for key in db:
        with h5py.File(database_folder / "cubes" / f"{key}.nc", locking=False) as file:
            labels = raw_labels(file)
            for where in itertools.product(*(range(len(v)) for v in labels.values())):
                named = {d: labels[d][i] for d, i in zip(UNIT_DIMS, where, strict=True)}
                found = db.curve(key, metric=metric, **named)
                assert found.dims == ("n", "repetition")
                assert found.dtype == np.float32
                np.testing.assert_array_equal(found.values, file[metric][where])
                assert {d: str(found[d].values) for d in UNIT_DIMS} == named


def test_a_curve_carries_its_units_and_its_place(db):
    curve = db.curve(61, "QDC", sampling="bootstrap", split="varying", metric="brier")
    assert curve.name == "brier"
    assert curve.attrs["direction"] == "minimize"
    assert curve.attrs["units"] == "1"
    assert curve.attrs["dataset_name"] == "iris"
    assert list(curve.attrs["valid_range"]) == [0, 2]
    np.testing.assert_array_equal(curve.fraction, np.arange(1, 43) / 42)
    assert curve.fraction.dims == ("n",)
    assert curve.fraction.attrs["units"] == "1"
    assert str(curve.status.values) == "complete"
    assert str(curve.dataset.values) == "61"


def test_a_tuned_curve_is_nan_below_ten_and_finite_from_there(db):
    curve = db.curve(61, "LDC", tuning="tuned")
    assert curve.sel(n=slice(1, 9)).isnull().all()
    assert curve.sel(n=slice(10, None)).notnull().all()
    assert db.curve(61, "LDC").notnull().all()


def test_nothing_is_read_before_it_is_used(db):
    curve = db.curve(61, "LDC")
    assert not curve.variable._in_memory
    whole = db[61]
    assert not any(whole[name].variable._in_memory for name in METRICS)
    one = curve.sel(n=10)
    assert one.values.shape == (5,)
    assert not curve.variable._in_memory


def test_a_dataset_that_was_handed_out_may_be_changed(db):
    mine = db[61]
    mine["accuracy"] = mine["accuracy"] * 0
    mine.attrs["title"] = "mine"
    mine["accuracy"].attrs["units"] = "?"
    db.curve(61, "LDC").attrs.clear()
    assert db[61].attrs["title"] != "mine"
    assert db.curve(61, "LDC").mean() > 0.1
    assert db.curve(61, "LDC").attrs["units"] == "1"


LABELS = {
    "learner": ["LDC", "QDC", "NNC"],
    "sampling": ["additive", "bootstrap"],
    "split": ["fixed", "varying"],
    "tuning": ["default", "tuned"],
}


@st.composite
def choices(draw):
    """One label, several in any order, or None, along each dim."""
    found = {}
    for dim, labels in LABELS.items():
        several = st.lists(st.sampled_from(labels), min_size=1, unique=True)
        found[dim] = draw(st.one_of(st.none(), st.sampled_from(labels), several))
    return found


@given(where=choices(), metric=st.sampled_from(list(METRICS)))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_selection_is_plain_indexing(database_folder, db, where, metric):
    (key, found), *rest = db.select("iris", metric=metric, **where).items()
    assert key == 61 and not rest
    with h5py.File(database_folder / "cubes" / "61.nc", locking=False) as file:
        expected = file[metric][...]
    for axis, (dim, labels) in reversed(list(enumerate(where.items()))):
        every = LABELS[dim]
        if isinstance(labels, str):
            expected = expected.take(every.index(labels), axis)
        elif labels is not None:
            expected = expected.take([every.index(label) for label in labels], axis)
    np.testing.assert_array_equal(found.values, expected)
    kept = [dim for dim, labels in where.items() if not isinstance(labels, str)]
    assert found.dims == (*kept, "n", "repetition")
    assert found.status.dims == tuple(kept)
    assert (found.status == "complete").all()
    for dim in kept:
        assert list(found[dim].values) == (where[dim] or LABELS[dim])


def test_datasets_that_lack_a_learner_are_left_out_unless_named(db):
    assert list(db.select(learner="QDC")) == [61, "mine"]
    assert list(db.select(learner="LDC")) == [61, 1063, "mine"]
    several = db.select(learner=["MLP", "LDC"])
    assert list(several[1063].learner.values) == ["MLP", "LDC"]
    assert list(several[61].learner.values) == ["LDC"]
    assert list(db.select(["kc2", 61], learner="LDC")) == [1063, 61]


def test_arrays_of_different_length_stay_apart_until_asked(db):
    found = db.select(learner="LDC", sampling="additive", split="fixed", tuning="default")
    assert {key: array.sizes["n"] for key, array in found.items()} == {61: 42, 1063: 28, "mine": 35}
    last = [array.isel(n=-1).mean("repetition") for array in found.values()]
    joined = xr.concat(last, dim="dataset", coords="minimal", compat="override")
    assert list(joined.dataset.values) == ["61", "1063", "mine"]


def test_a_tree_holds_every_cube(db):
    tree = db.to_datatree()
    assert list(tree.children) == ["61", "1063", "mine"]
    xr.testing.assert_identical(tree["1063"].to_dataset(), db[1063])
    assert not tree["61"]["accuracy"].variable._in_memory


# -- status ----------------------------------------------------------------------------------------


def test_a_curve_that_is_not_there_says_why(copy):
    path = copy / "cubes" / "61.nc"
    for status in STATUSES:
        set_status(path, status, **UNIT)
        with lcdb.open(copy) as db:
            if status == "complete":
                db.curve(61, **UNIT)
            elif status == "partial":
                with pytest.warns(PartialCurveWarning, match="LDC/additive/fixed/default is part"):
                    db.curve(61, **UNIT)
            else:
                with pytest.raises(NotBuiltError, match=status):
                    db.curve(61, **UNIT)
            table = db.select(61, learner="LDC", split="fixed")[61].status
            assert table.sel(sampling="additive", tuning="default") == status
            assert (table.sel(sampling="bootstrap") == "complete").all()


def test_the_status_table_has_one_row_per_curve(copy):
    set_status(copy / "cubes" / "61.nc", "timed_out", **UNIT)
    with lcdb.open(copy) as db:
        table = db.status()
        assert len(table) == sum(header.status.size for header in db.headers.values())
        assert not table.duplicated(["dataset", *UNIT_DIMS]).any()
        row = table.query("status == 'timed_out'")
        assert len(row) == 1
        assert row.iloc[0][list(UNIT_DIMS)].to_dict() == UNIT
        assert row.iloc[0]["dataset"] == 61 and row.iloc[0]["name"] == "iris"
        counts = table.groupby("status", observed=False).size()
        for status in STATUSES:
            told = sum(header.counts[status] for header in db.headers.values())
            assert counts[status] == told


# -- opening ---------------------------------------------------------------------------------------


def contents(folder):
    return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in folder.rglob("*")}


def test_reading_writes_nothing_and_needs_no_lock(database_folder):
    before = contents(database_folder)
    path = database_folder / "cubes" / "61.nc"
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with lcdb.open(database_folder) as db:
            assert db.curve(61, "LDC").notnull().all()
            assert len(db.status())
    assert contents(database_folder) == before


@pytest.mark.parametrize("locking", [None, True, False, "best-effort"])
def test_a_cube_can_be_opened_by_others_at_the_same_time(database_folder, locking):
    path = database_folder / "cubes" / "61.nc"
    with h5py.File(path, locking=locking) as before, lcdb.open(database_folder) as db:
        assert db.curve(61, "LDC").values.any()
        with h5py.File(path, locking=locking) as after, xr.open_dataset(path) as plain:
            assert after["n"][-1] == before["n"][-1] == plain.n[-1]


def test_one_cube_file_is_a_database_of_one(database_folder):
    with lcdb.open(database_folder / "cubes" / "1063.nc") as db:
        assert list(db) == [1063]
        assert db.curve("kc2", "MLP").sizes == {"n": 28, "repetition": 5}


def test_a_closed_database_says_so_and_its_arrays_still_read(database_folder):
    with lcdb.open(database_folder) as db:
        curve, expected = db.curve(61, "LDC"), db.curve(61, "LDC").values
    with pytest.raises(LCDBError, match="closed"):
        db.curve(61, "LDC")
    np.testing.assert_array_equal(curve.values, expected)


def test_a_lazy_curve_can_be_sent_to_another_process(db):
    curve = db.curve(61, "LDC")
    again = pickle.loads(pickle.dumps(curve))
    xr.testing.assert_identical(again.load(), curve.load())


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


def test_a_foreign_file_among_cubes_is_named(copy):
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(copy / "cubes" / "other.nc")
    with pytest.raises(SchemaError, match=r"other\.nc is not a curve cube"):
        lcdb.open(copy)


def test_other_cubes_and_files_in_the_making_are_passed_over(copy):
    other = xr.Dataset({"a": ("x", [1.0])}, attrs={"cube_kind": "dse"})
    other.to_netcdf(copy / "cubes" / "dse.nc")
    (copy / "cubes" / ".61.nc.host.tmp.nc").write_bytes(b"half")
    with lcdb.open(copy) as db:
        assert list(db) == [61, 1063, "mine"]
    refused(copy / "cubes" / "dse.nc", SchemaError, "cube_kind is 'dse', expected 'curves'")


def test_a_cube_of_a_newer_version_is_refused(copy):
    with h5py.File(copy / "cubes" / "1063.nc", "r+") as file:
        file.attrs["format_version"] = np.int64(2)
    with pytest.raises(FormatVersionError, match=r"1063\.nc has format version 2.*up to 1: update"):
        lcdb.open(copy)


# -- looks -----------------------------------------------------------------------------------------


def test_the_overview_names_every_dataset_and_counts_curves(db, copy):
    lines = repr(db).splitlines()
    assert "3 datasets" in lines[0]
    assert lines[1].split() == ["id", "name", "N", "d", "K", "sizes", "R", "complete"]
    assert lines[2].split() == ["61", "iris", "60", "2", "3", "1..42", "5", "24"]
    set_status(copy / "cubes" / "61.nc", "failed", **UNIT)
    with lcdb.open(copy) as other:
        assert repr(other).splitlines()[1].split()[-2:] == ["complete", "failed"]
        assert repr(other).splitlines()[2].split()[-2:] == ["23", "1"]


def test_html_is_escaped(copy):
    with h5py.File(copy / "cubes" / "61.nc", "r+") as file:
        file.attrs["dataset_name"] = "<script>alert(1)</script>"
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
