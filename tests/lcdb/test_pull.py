"""`lcdb pull`: a verified copy of a host's database, gone on with after an interruption."""

from __future__ import annotations

import pytest
from lcdb_builders.storage import pull as pulling

import lcdb
from lcdb.cli import main
from tests.support.hosts import answer, serving
from tests.support.pulls import database, files, host  # noqa: F401
from tests.support.remote_database import SHIPPED

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def pieces(monkeypatch):
    monkeypatch.setattr(pulling, "PIECE", 100_000)


#: Bytes of the cube that is looked at.
SIZE = (SHIPPED / "tutorial" / "cubes" / "61.nc").stat().st_size


def test_a_whole_database_is_copied_once(host, database, tmp_path, capsys):
    copy = tmp_path / "copy"
    assert main(["pull", host.url, str(copy)]) == 0
    assert files(copy) == files(database)
    assert not (copy / "pull").exists()
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 3 and f"{SIZE:,} bytes, {SIZE:,} of them copied now" in told[1]
    host.forget()
    assert main(["pull", host.url, str(copy)]) == 0
    assert [path for path, _ in host.requests] == ["/index.json"]
    assert f"{SIZE:,} bytes, 0 of them copied now" in capsys.readouterr().out
    with lcdb.open(copy, check=True) as db, lcdb.open(host.url) as remote:
        assert db["iris"].identical(remote["iris"])


@pytest.mark.parametrize(
    ("chosen", "there"),
    [(["IRIS"], [61]), (["61", "dse"], [61]), (["11", "balance-scale", "61"], [11, 61])],
)
def test_some_datasets_are_a_smaller_database(host, tmp_path, chosen, there):
    copy = tmp_path / "copy"
    options = [word for name in chosen for word in ("--dataset", name)]
    assert main(["pull", host.url, str(copy), *options]) == 0
    with lcdb.open(copy, check=True) as db:
        assert list(db) == there and list(db.experiments) == [n for n in chosen if n == "dse"]
    with serving(copy) as second, lcdb.open(second.url) as db:
        assert list(db) == there


def test_an_interrupted_copy_goes_on_where_it_was(host, database, tmp_path, capsys):
    copy = tmp_path / "copy"
    host.fault = lambda h, path, data, span: bool(span and span[0] >= 400_000) and answer(h, 503)
    assert main(["pull", host.url, str(copy), "--dataset", "61"]) == 1
    assert "503" in capsys.readouterr().err
    assert not (copy / "cubes" / "61.nc").exists()
    host.fault = None
    host.forget()
    assert main(["pull", host.url, str(copy), "--dataset", "61"]) == 0
    assert sum(n for path, n in host.requests if path.endswith(".nc")) == SIZE - 400_000
    assert f"{SIZE - 400_000:,} of them copied now" in capsys.readouterr().out
    assert (copy / "cubes" / "61.nc").read_bytes() == (database / "cubes" / "61.nc").read_bytes()


def test_what_is_not_the_cube_is_not_kept(host, tmp_path, capsys):
    copy = tmp_path / "copy"

    def fault(h, path, data, span):
        if not path.endswith(".nc"):
            return False
        told = f"bytes {span[0]}-{span[1]}/{len(data)}"
        return answer(h, 206, bytes(span[1] - span[0] + 1), Content_Range=told)

    host.fault = fault
    assert main(["pull", host.url, str(copy), "--dataset", "61"]) == 1
    assert "another digest than its index says" in capsys.readouterr().err
    assert files(copy) == {}
    host.fault = None
    assert main(["pull", host.url, str(copy), "--dataset", "61"]) == 0


@pytest.mark.parametrize(
    ("name", "told"),
    [("61", "is no part of the host's cube: it is left as it is"), ("dse", "is another cube than")],
)
def test_nothing_is_written_over(host, tmp_path, capsys, name, told):
    cube = tmp_path / "copy" / "cubes" / f"{name}.nc"
    cube.parent.mkdir(parents=True)
    cube.write_bytes(b"mine")
    assert main(["pull", host.url, str(tmp_path / "copy"), "--dataset", name]) == 1
    assert told in capsys.readouterr().err
    assert cube.read_bytes() == b"mine"


@pytest.mark.process
def test_a_manifest_of_another_cube_stays_where_it_is(host, database, tmp_path, capsys):
    other = (database / "manifest" / "11.json").read_bytes()
    answers = {"/manifest/61.json": (200, other), "/manifest/11.json": (404, b""),
               "/manifest/dse.json": (403, b"")}  # fmt: skip
    host.fault = lambda h, path, data, span: path in answers and answer(h, *answers[path])
    copy = tmp_path / "copy"
    assert main(["pull", host.url, str(copy)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert "the host has no manifest of it" in told[0]
    assert "manifest is not of this cube" in told[1]
    assert "without its manifest: " in told[2]
    assert not [name for name in files(copy) if name.startswith("manifest/")]
    with lcdb.open(copy) as db:
        assert list(db) == [11, 61]


def test_wrong_use_is_told(host, tmp_path, capsys):
    assert main(["pull", str(tmp_path), str(tmp_path / "copy")]) == 1
    assert "is no URL" in capsys.readouterr().err
    assert main(["pull", host.url, str(tmp_path / "copy"), "--dataset", "irsi"]) == 1
    assert "Did you mean 'iris'?" in capsys.readouterr().err
    assert not (tmp_path / "copy").exists()
