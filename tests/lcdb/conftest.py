"""A small database that the tests of this folder read and never change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.plausible import write_database


@pytest.fixture(scope="session")
def database_folder(tmp_path_factory) -> Path:
    """A database of three cubes: 61 (iris), 1063 (kc2) and mine (my table)."""
    return write_database(tmp_path_factory.mktemp("database"))


@pytest.fixture
def db(database_folder):
    """The database, open."""
    import lcdb

    with lcdb.open(database_folder) as opened:
        yield opened


@pytest.fixture
def copy(database_folder, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(database_folder, tmp_path / "copy")
