"""Databases that ship with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from lcdb.database import Database
from lcdb.errors import NotFoundError

__all__ = ["crossing", "experiments", "named", "opening", "reference", "turan2026", "tutorial"]

_DATA = Path(str(files("lcdb.data")))
#: Sizes at which cells ship, as ``lcdb summarize`` was asked for them: of what ships as summaries.
_SIZES = {"reference": "log:48", "turan2026": "log:12"}


def tutorial(*, chunks: Any = None) -> Database:
    """Open the database that ships with the package, as `lcdb.open` opens any other.

    It was built from the plan `tutorial`: iris and balance-scale, four learners with their default
    parameters, three samplings, fixed and varying test sets, 200 repetitions. Few sizes were
    built, so that it is small. Nothing is copied or fetched.

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
    return Database(_DATA / "tutorial", chunks=chunks)


def crossing(*, chunks: Any = None) -> Database:
    """Open two learners on three datasets, for the question of who wins when.

    It was built from the plan `crossing`: QDC and LDC on iris, balance-scale and kc2, training sets
    that grow row by row, all other rows as test set, 1,000 repetitions at 11 to 18 sizes.

    Parameters
    ----------
    chunks
        As for `lcdb.open`.

    Examples
    --------
    >>> with crossing() as db:
    ...     print(*(header.name for header in db.headers.values()))
    balance-scale iris kc2
    """
    return Database(_DATA / "crossing", chunks=chunks)


def reference() -> Database:
    """Open the summary of the reference database, which ships with the package.

    It was built from the plan `reference`: ten learners, three samplings, fixed and varying test
    sets, unscaled and standardised features, tuned and not, 1,000 repetitions. Of each cell there
    are moments, quantiles and tests of normality, at up to 48 sizes; the tables of all sizes come
    out as from the whole. ``lcdb info reference`` lists its datasets and the version that citations
    name.

    Raises
    ------
    NotFoundError
        This installation has no such data; the message says how to make them.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.reference() as db:
    ...     db["iris"]["mean"].dims
    ('metric', 'learner', 'sampling', 'split', 'tuning', 'n')
    """
    return _summaries("reference")


def turan2026() -> Database:
    """Open the summary of what was built of the plan `turan2026`: every n, all curves tuned too.

    It is what the paper has, for some of its datasets. Cells are there at few sizes, since
    `reference` has those; what tables need of each curve is of every n.

    Raises
    ------
    NotFoundError
        This installation has no such data; the message says how to make them.

    Examples
    --------
    >>> with turan2026() as db:
    ...     iris = db["iris"].sel(metric="accuracy", learner="LDC", split="fixed", tuning="tuned")
    >>> iris["curve_statistic"].sel(sampling="bootstrap", statistic="cells").item()
    96.0
    """
    return _summaries("turan2026")


def _summaries(plan: str) -> Database:
    """Open the summaries of a plan, which were checked when they were packaged."""
    return Database(_summaries_folder(plan), check=False)


def _summaries_folder(plan: str) -> Path:
    """Return where the summaries of a plan are; raise where this installation has none."""
    folder = _DATA / plan
    if not any((folder / "summaries").glob("*.nc")):
        msg = (
            f"{folder} holds no summaries of the plan {plan!r}: this installation was made without "
            f"them. To make them: 'lcdb build {plan} --out DIR', then 'lcdb summarize DIR --out "
            f"SMALL --sizes {_SIZES[plan]}', and lcdb.open('SMALL')"
        )
        raise NotFoundError(msg)
    return folder


def experiments(*, chunks: Any = None) -> Database:
    """Open the experiments that ship with the package: trials of `dse`, lifetimes of `pendulum`.

    Five learners under random hyper-parameters on three generated tasks, and tuned; and the summary
    of lifetimes of two agents, without the returns of their episodes.

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
    # Checked when it was packaged; a summary without a manifest would take a probe.
    return Database(_DATA / "experiments", chunks=chunks, check=False)


# Names on a command line and for `lcdb.open`, and the calls that do the same.
_CALLS = {
    "crossing": "lcdb.shipped.crossing()",
    "experiments": "lcdb.shipped.experiments()",
    "reference": "lcdb.reference()",
    "turan2026": "lcdb.shipped.turan2026()",
    "tutorial": "lcdb.tutorial()",
}


def named(path: str) -> str:
    """Return where a database is that is given by its name, if it ships, or by its path.

    Examples
    --------
    >>> named("some/folder"), Path(named("tutorial")).name
    ('some/folder', 'tutorial')
    """
    if path not in _CALLS or Path(path).exists():
        return path
    return str(_summaries_folder(path) if path in _SIZES else _DATA / path)


def opening(path: object) -> str:
    """Return the call that opens a database again: of those that ship, whoever runs it.

    Examples
    --------
    >>> opening("some/folder"), opening(tutorial().path)
    ("lcdb.open('some/folder')", 'lcdb.tutorial()')
    """
    for name, call in _CALLS.items():
        if Path(str(path)) == _DATA / name:
            return call
    return f"lcdb.open({str(path)!r})"
