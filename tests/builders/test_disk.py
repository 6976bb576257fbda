"""Publishing files: whole or not at all, first or last wins, and no space is a clear error."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lcdb_builders.storage import disk
from lcdb_builders.storage.process import is_dead, this_process

from lcdb.errors import PlanError, StorageError
from tests.support.chaos import toy


def test_the_first_one_wins_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "a.txt"
    assert disk.publish(path, b"first") and not disk.publish(path, b"second")
    assert path.read_bytes() == b"first"
    disk.replace(path, b"third")
    assert path.read_bytes() == b"third"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [1, 38, 95], ids=["EPERM", "ENOSYS", "EOPNOTSUPP"])
def test_where_there_are_no_hard_links_files_are_renamed(tmp_path, monkeypatch, error):
    def refuse(source, target):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "a.txt"
    assert disk.publish(path, b"first") and not disk.publish(path, b"second")
    assert path.read_bytes() == b"first" and list(tmp_path.iterdir()) == [path]


def test_a_database_without_hard_links_is_the_same(tmp_path, monkeypatch):
    """Leases, blocks, and the cube with its manifest."""
    toy.build(tmp_path / "links")
    tried = []

    def refuse(source, target):
        tried.append(os.fspath(target))
        raise PermissionError(1, os.strerror(1))

    monkeypatch.setattr(os, "link", refuse)
    toy.build(tmp_path / "none")
    suffixes = {name.rpartition(".")[2] for name in tried}
    assert {"lease", "lock"} <= suffixes
    cubes = [tmp_path / kind / "cubes" / "toy.nc" for kind in ("links", "none")]
    assert cubes[0].read_bytes() == cubes[1].read_bytes()
    names = [sorted(p.name for p in (tmp_path / kind).rglob("*")) for kind in ("links", "none")]
    assert names[0] == names[1]


def test_an_answer_that_a_network_file_system_lost(tmp_path, monkeypatch):
    """It linked the file, the answer got lost, and the second attempt says that it is there."""
    link = os.link

    def lossy(source, target):
        link(source, target)
        raise FileExistsError(17, "File exists", str(target))

    monkeypatch.setattr(os, "link", lossy)
    assert disk.publish(tmp_path / "a.txt", b"mine")


def test_a_file_that_was_taken_away_is_not_published(tmp_path):
    path = tmp_path / "a.txt"
    disk.replace(path, b"newer")
    temporary = disk.Temporary(path)
    temporary.write(b"older")
    disk.unlink(temporary.path)
    assert not temporary.replace()
    assert path.read_bytes() == b"newer"


def test_a_temporary_file_is_a_file_object(tmp_path):
    """Like io.BytesIO in every operation that HDF5 does, in any order."""
    draw = random.Random(0)
    temporary, model = disk.Temporary(tmp_path / "a"), io.BytesIO()
    for _ in range(500):
        step = draw.choice(["write", "read", "seek", "end", "truncate"])
        if step == "write":
            data = draw.randbytes(draw.randint(0, 50))
            assert temporary.write(data) == model.write(data)
        elif step == "read":
            size = draw.choice([-1, 0, 7, 100])
            assert temporary.read(size) == model.read(size)
        elif step == "seek":
            where = draw.randint(0, 300)
            assert temporary.seek(where) == model.seek(where)
        elif step == "end":
            assert temporary.seek(0, os.SEEK_END) == model.seek(0, os.SEEK_END)
        else:
            model.truncate(max(model.tell(), len(model.getvalue()) // 2))
            model_size = len(model.getvalue())
            # BytesIO does not grow when it is truncated to more, files do.
            temporary.truncate(model_size)
            assert temporary.seek(0, os.SEEK_END) == model.seek(0, os.SEEK_END)
        assert temporary.tell() == model.tell()
    temporary.link()
    assert (tmp_path / "a").read_bytes() == model.getvalue()


def test_a_failed_write_is_kept_from_the_reader_until_it_is_asked_for(tmp_path, monkeypatch):
    """HDF5 goes on writing and reading what it wrote, and then closes without a crash."""
    temporary = disk.Temporary(tmp_path / "a")
    temporary.write(b"0123456789")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    temporary.seek(5)
    assert temporary.write(b"abcdefgh") == 8
    temporary.seek(2)
    temporary.write(b"XY")
    temporary.seek(0)
    assert temporary.read(20) == b"01XY4abcdefgh"
    with pytest.raises(StorageError, match=r"No space left.*free some space.*run the same command"):
        temporary.link()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_only_the_files_of_the_dead_are_swept(tmp_path):
    code = (
        "import sys; from pathlib import Path; from lcdb_builders.storage import disk;"
        "disk.Temporary(Path(sys.argv[1]) / 'theirs')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    mine = disk.Temporary(tmp_path / "mine")
    elsewhere = tmp_path / ".far.00000000-1-1.abcdef01.tmp"
    long_ago = tmp_path / ".old.00000000-1-1.abcdef01.tmp"
    hidden = tmp_path / ".hidden"
    for path in (elsewhere, long_ago, hidden):
        path.touch()
    then = time.time() - disk.ORPHAN_AGE - 60
    os.utime(long_ago, (then, then))
    assert disk.sweep(tmp_path) == 2
    assert set(tmp_path.iterdir()) == {mine.path, elsewhere, hidden}


@pytest.mark.parametrize("hours", [2, 14, 26])
def test_a_machine_whose_clock_is_ahead_sweeps_nobodys_live_file(tmp_path, monkeypatch, hours):
    theirs = tmp_path / ".61.nc.00000000-1-1.abcdef01.tmp"
    theirs.touch()
    now = time.time
    monkeypatch.setattr(disk.time, "time", lambda: now() + 3600 * hours)
    assert disk.sweep(tmp_path) == 0 and theirs.exists()


def test_sweeping_follows_no_link_and_takes_nothing_that_only_looks_like_ours(tmp_path):
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "folder"
    for path in (elsewhere, folder):
        path.mkdir()
    long_ago = time.time() - disk.ORPHAN_AGE - 60
    victim = elsewhere / ".a.00000000-1-1.abcdef01.tmp"
    notes = folder / ".my.notes.about.it.tmp"
    for path in (victim, notes):
        path.touch()
        os.utime(path, (long_ago, long_ago))
    link = folder / ".b.00000000-1-1.abcdef01.tmp"
    link.symlink_to(victim)
    (tmp_path / "link").symlink_to(elsewhere)
    assert disk.sweep(folder) == 0 and disk.sweep(tmp_path / "link") == 0
    assert victim.exists() and notes.exists() and link.is_symlink()


@pytest.mark.process
def test_a_killed_process_is_dead_before_its_parent_has_noticed():
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time; from lcdb_builders.storage.process import this_process;"
            "print(this_process(), flush=True); time.sleep(60)",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    name = child.stdout.readline().strip()
    assert is_dead(name) is False and name != this_process()
    child.kill()
    deadline = time.monotonic() + 20
    while not is_dead(name) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert is_dead(name) is True
    child.wait()
    child.stdout.close()
    assert is_dead(name) is True


@pytest.mark.parametrize("name", ["..", "../a", "a/b", "", ".hidden", "/etc/passwd", "a\0b"])
def test_no_name_leads_out_of_the_directory(name):
    with pytest.raises(PlanError, match="cannot name a file"):
        disk.under(Path("db"), name)
