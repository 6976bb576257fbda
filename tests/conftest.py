"""Fixtures that every test may use."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import hypothesis
import pytest

# No test depends on how long something takes, on a busy machine least of all.
hypothesis.settings.register_profile("lcdb", deadline=None)
hypothesis.settings.load_profile("lcdb")

# Records which arguments and options tests try, and judges when all of them have run.
pytest_plugins = ["tests.doors.plugin"]

# Builds leave a signal ignored that they were started with ignored (nohup, a shell's background
# jobs). Tests that send signals start from the usual state, whoever started them.
for _number, _usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the files that take longest, so that no worker is left alone with them."""
    items.sort(key=lambda item: "e2e" not in item.path.parts)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with copies of public datasets, named by LCDB_TEST_DATA."""
    folder = os.environ.get("LCDB_TEST_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("LCDB_TEST_DATA does not name a folder with the OpenML copies")
    return Path(folder)
