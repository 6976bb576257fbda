"""The file that is served is the one that is meant: names, ids, and what is no regular file."""

from __future__ import annotations

import errno
import os
import shutil
import threading

import h5py
import pytest

import lcdb
from lcdb.errors import DamagedError, NotFoundError, ReadError, SchemaError
from lcdb.naming import as_number
from lcdb.shipped import experiments


def refused(folder, *told):
    with pytest.raises(SchemaError) as caught:
        lcdb.open(folder)
    for text in told:
        assert str(text) in str(caught.value)


@pytest.mark.process
@pytest.mark.parametrize("name", ["61 (copy).nc", "61.sync-conflict-20250101.nc", "9.nc", "a.nc"])
def test_a_second_file_of_an_id_is_an_error_that_names_both(copy, name):
    cubes = copy / "cubes"
    shutil.copy(cubes / "61.nc", cubes / name)
    refused(copy, cubes / "61.nc", cubes / name, "both hold dataset 61")
    (cubes / "61.nc").unlink()
    refused(copy, cubes / name, "whose cube is called 61.nc")


@pytest.mark.process
def test_one_file_that_is_opened_by_itself_may_have_any_name(copy):
    path = (copy / "cubes" / "61.nc").rename(copy / "renamed by a friend.nc")
    with lcdb.open(path) as db:
        assert list(db) == [61]


@pytest.mark.process
@pytest.mark.parametrize("id", ["٦١", "６１", "061", "61 "])
def test_another_spelling_of_a_number_shadows_nothing(copy, id):
    cubes = copy / "cubes"
    (cubes / "1063.nc").rename(cubes / f"{id}.nc")
    with h5py.File(cubes / f"{id}.nc", "r+") as file:
        file.attrs["dataset_id"] = id
    assert as_number(id) == id
    with lcdb.open(cubes / f"{id}.nc") as db:
        assert list(db) == [id]
    try:
        with lcdb.open(copy) as db:
            assert db.headers[61].name == "iris" and db.resolve("61") == 61
    except SchemaError as error:  # as a name in a folder it is refused, where it is no plain ASCII
        assert not id.isascii() or " " in id, error


@pytest.mark.process
def test_the_cube_of_a_scaling_has_it_in_its_name(copy):
    cubes = copy / "cubes"
    shutil.copy(cubes / "61.nc", cubes / "61-standard.nc")
    refused(copy, "61-standard.nc", "both hold dataset 61")
    with h5py.File(cubes / "61-standard.nc", "r+") as file:
        file.attrs["scaling"] = "standard"
    with pytest.raises(DamagedError, match="its scaling is not that of its plan"):
        lcdb.open(copy)
    with lcdb.open(copy, check=False) as db:
        assert list(db) == [61, 1063, "61-standard", "mine"]
        assert db.headers["61-standard"].scaling == "standard"


@pytest.mark.process
def test_a_second_file_of_an_experiment_is_refused(tmp_path):
    shutil.copytree(experiments().path, tmp_path / "db")
    cubes = tmp_path / "db" / "cubes"
    shutil.copy(cubes / "dse.nc", cubes / "dse-old.nc")
    refused(tmp_path / "db", "both hold dataset dse", cubes / "dse-old.nc")


@pytest.mark.process
@pytest.mark.parametrize("where", ["cubes/61.nc", "alone.nc", "manifest/61.json"])
def test_a_pipe_is_refused_and_not_waited_for(copy, where):
    pipe = copy / where
    pipe.parent.mkdir(exist_ok=True)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    outcome = []

    def attempt():
        try:
            with lcdb.open(pipe if where == "alone.nc" else copy) as db:
                outcome.append(len(db.status()))
        except NotFoundError as error:
            outcome.append(str(error))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(30)
    assert outcome, "it waits for the other end of the pipe"
    if where.startswith("manifest"):
        assert outcome[0] > 0  # without a manifest there are no reasons
    else:
        assert f"{pipe} is a named pipe; expected" in outcome[0]


def test_a_device_is_refused(copy):
    path = copy / "cubes" / "61.nc"
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(NotFoundError, match=r"61\.nc is a device; expected a cube"):
        lcdb.open(copy)


def test_a_failing_disk_is_told_as_such(copy):
    """Reading the memory of a process at address 0 is a real EIO."""
    path = copy / "cubes" / "61.nc"
    path.unlink()
    path.symlink_to("/proc/self/mem")
    with pytest.raises(
        ReadError, match=r"61\.nc cannot be read now \(Input/output error\)"
    ) as told:
        lcdb.open(copy)
    assert "delete" not in str(told.value) and "\n" not in str(told.value)
    assert told.value.__cause__.errno == errno.EIO
