"""What needs the builder is found through an entry point, and says so where it is missing."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

import lcdb
from lcdb import tools
from lcdb.cli import main
from lcdb.errors import MissingExtraError


def offer(monkeypatch, *points):
    def entry_points(*, group, name):
        assert group == "lcdb.tools"
        return [point for point in points if point.name == name]

    monkeypatch.setattr(tools, "entry_points", entry_points)


def test_replay_is_what_the_builder_registered(monkeypatch):
    offer(monkeypatch, EntryPoint("replay", "builtins:dict", "lcdb.tools"))
    assert lcdb.replay(learner="LDC") == {"learner": "LDC"}


def test_without_the_builder_its_extra_is_named(monkeypatch):
    offer(monkeypatch)
    with pytest.raises(MissingExtraError, match=r"lcdb\.replay needs the builder: .*\[build\]"):
        lcdb.replay()


def test_a_builder_that_lacks_a_part_names_it(monkeypatch):
    offer(monkeypatch, EntryPoint("replay", "no_such_package.sub:replay", "lcdb.tools"))
    with pytest.raises(MissingExtraError, match=r"\(no_such_package is not installed\)"):
        lcdb.replay()


def test_chunks_without_dask_name_the_extra(monkeypatch, database_folder):
    monkeypatch.setattr("lcdb.cubefile.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"needs dask.*pip install dask"):
        lcdb.open(database_folder, chunks="auto")


def test_the_version_is_printed(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"lcdb {lcdb.__version__}\n"
