"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with copies of public datasets, named by LCDB_TEST_DATA."""
    folder = os.environ.get("LCDB_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("LCDB_TEST_DATA does not name a folder with the OpenML copies")
    return Path(folder)
