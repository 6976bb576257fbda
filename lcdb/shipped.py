"""A small real database that ships with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from lcdb.database import Database

__all__ = ["experiments", "tutorial"]


def tutorial(*, chunks: Any = None) -> Database:
    """Open the database that ships with the package, as `lcdb.open` opens any other.

    It was built from the plan `tutorial`: iris and balance-scale, four learners with their default
    parameters, three samplings, fixed and varying test sets, 200 repetitions. Few sizes were
    built, so that it is small; the others are NaN, and ``curve.dropna("n")`` leaves them out.
    Nothing is copied or fetched.

    Parameters
    ----------
    chunks
        As for `lcdb.open`.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     "LDC" in db["iris"].learner
    True
    """
    return Database(Path(str(files("lcdb.data"))) / "tutorial", chunks=chunks)


def experiments(*, chunks: Any = None) -> Database:
    """Open the experiment that ships with the package: trials of `dse`.

    Five learners under random hyper-parameters on three generated tasks, and two of them tuned.

    Parameters
    ----------
    chunks
        As for `lcdb.open`.

    Examples
    --------
    >>> with experiments() as db:
    ...     db["dse"]["accuracy"].dims
    ('learner', 'task', 'mode', 'trial')
    """
    return Database(Path(str(files("lcdb.data"))) / "experiments", chunks=chunks)
