"""Fixtures that every test may use."""

from __future__ import annotations

import signal
from pathlib import Path

import hypothesis
import pytest

# No test depends on how long something takes, on a busy machine least of all.
hypothesis.settings.register_profile("lcdb", deadline=None)
hypothesis.settings.load_profile("lcdb")

# Which tests run when; which arguments and options they try (--doors).
pytest_plugins = ["tests.circles", "tests.doors.plugin"]

# Builds leave a signal ignored that they were started with ignored (nohup, a shell's background
# jobs). Tests that send signals start from the usual state, whoever started them.
for _number, _usual in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with copies of public datasets, named by LCDB_TEST_DATA."""
    from tests.support import snapshots

    return snapshots.data_folder()
