"""What a classifier from elsewhere may touch: a folder that goes away, and a cell's random numbers.

Some packages write files where they run, some draw from Python's or NumPy's global generators, and
many warn. None of it is to reach the user, or the next cell.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

__all__ = ["isolated", "scratch_folder"]

_PREFIX = "lcdb-estimator-"
_folders: list[str] = []


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sweep() -> None:
    """Remove the folders of processes that were killed before they could."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = re.fullmatch(rf"{_PREFIX}(\d+)-.*", folder.name)
        if owner and not _is_alive(int(owner[1])):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def scratch_folder() -> Iterator[str]:
    """Give what runs inside one folder to write to, which is removed at the end.

    Examples
    --------
    >>> with scratch_folder() as outer, scratch_folder() as inner:
    ...     outer == inner, Path(outer).is_dir()
    (True, True)
    >>> Path(outer).exists()
    False
    """
    if _folders:
        yield _folders[-1]
        return
    _sweep()
    folder = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
    _folders.append(folder)
    try:
        yield folder
    finally:
        _folders.remove(folder)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def isolated(seed: int) -> Iterator[None]:
    """Run what is inside in a scratch folder, with global generators seeded, without warnings.

    Parameters
    ----------
    seed
        Of Python's and of NumPy's global generator; both are put back afterwards.

    Examples
    --------
    >>> before = os.getcwd()
    >>> with isolated(3):
    ...     os.getcwd() == before, int(np.random.randint(100))
    (False, 24)
    >>> os.getcwd() == before
    True
    """
    place = os.getcwd()
    numpy_state, state = np.random.get_state(), random.getstate()  # noqa: NPY002
    with scratch_folder() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        try:
            yield
        finally:
            os.chdir(place)
            np.random.set_state(numpy_state)  # noqa: NPY002
            random.setstate(state)
