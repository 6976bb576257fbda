"""A database on a host that is slow to nobody, and the files of a copy of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lcdb.remote.transport import Policy
from tests.support.hosts import serving
from tests.support.remote_database import make_database

__all__ = ["database", "files", "host"]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """What the host serves."""
    return make_database(tmp_path_factory.mktemp("remote") / "db")


@pytest.fixture
def host(database, monkeypatch):
    """A host of the database, of which little patience is needed."""
    quick = Policy(attempts=2, wait=0.001, longest=0.01, timeout=1.0)
    monkeypatch.setattr("lcdb.remote.transport.DEFAULT", quick)
    with serving(database) as served:
        yield served


def files(root: Path) -> dict[str, bytes]:
    """Return what is in the files of a folder, by path."""
    paths = (path for path in root.rglob("*") if path.is_file())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}
