"""The tables of Jordan, Cohen and Thomas: published, recomputed, and the difference.

Standard errors are those of ours, by bootstrap over trials.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.errors import LabelError, NotBuiltError, did_you_mean
from lcdb.tables.lifetimes import table_2, table_of_reruns
from lcdb.tables.rows import Row, Table

if TYPE_CHECKING:
    from lcdb.database import Database

__all__ = ["NAMES", "part", "published", "tables"]

NAMES = ("1", "2", "C")
_ALPHA = 0.5
_SEED = 2018


def published() -> dict[str, Any]:
    """Return the printed tables as they are in the paper."""
    return json.loads((files("lcdb.data") / "published" / "jordan2018.json").read_text())


def _row(name: str, metric: str, printed: float, sample: np.ndarray) -> Row:
    """Return CVaR of a sample beside the printed number; of no sample, the latter alone."""
    sample = sample[np.isfinite(sample)]
    if sample.size < 2:
        return Row(name, metric, printed, None)
    error, *_ = stats.bootstrap(sample, _cvar, np.random.default_rng(_SEED))
    beside: dict[str, float | None] = {"standard error": float(error)}
    return Row(name, metric, printed, float(_cvar(sample)), cells=sample.size, beside=beside)


def _cvar(sample: np.ndarray) -> np.ndarray:
    return stats.cvar_upper(sample, _ALPHA)


def _experiment(db: Database, name: str) -> xr.Dataset | None:
    return db[name] if name in db.experiments else None


def _sample(array: xr.DataArray | None, **labels: str) -> np.ndarray:
    """Return the trials of a part; none if it is not there."""
    if array is None or any(label not in array[dim].values for dim, label in labels.items()):
        return np.empty(0)
    return array.sel(labels).values.astype(float)


def _table_1(db: Database) -> list[Table]:
    printed, cube = published()["table_1"], _experiment(db, "dse")
    accuracy = None if cube is None else cube["accuracy"]
    found = []
    for mode, title in (("tuned", "tuned"), ("random", "random hyper-parameters")):
        rows = []
        for learner, numbers in printed[mode].items():
            for task, number in zip(printed["tasks"], numbers, strict=True):
                sample = _sample(accuracy, learner=learner, task=task, mode=mode)
                rows.append(_row(learner, task, number, sample))
        note = "The generators were calibrated on the random half; cells are trials."
        if mode == "tuned":
            note = "50 configurations, 3-fold cross-validation; cells are trials."
        head = f"Table 1. CVaR 0.5 of the accuracy, {title}"
        about = "Over trials, each with its own hyper-parameters and data"
        found.append(Table(f"table_1_{mode}", head, tuple(rows), digits=3, note=note, about=about))
    return found


def _table_2(db: Database) -> list[Table]:
    return [table_2(_experiment(db, "pendulum"), published()["table_2"])]


def _appendix_c(db: Database) -> list[Table]:
    return [table_of_reruns(_experiment(db, "pendulum"))]


_MAKERS = {"1": _table_1, "2": _table_2, "C": _appendix_c}


def tables(db: Database, names: Sequence[str] | None = None) -> list[Table]:
    """Return tables of the paper, recomputed from whatever parts of its experiments exist.

    Parameters
    ----------
    db
        An open database that holds ``dse``, ``pendulum`` or both.
    names
        Some of `NAMES` (``"C"`` is Appendix C); all unless given.

    Raises
    ------
    LabelError
        There is no such table.
    NotBuiltError
        The database holds neither experiment.
    """
    chosen = [str(name) for name in (NAMES if names is None else names)]
    for name in chosen:
        if name not in _MAKERS:
            msg = f"there is no table {name!r} in jordan2018.{did_you_mean(name, NAMES)}"
            raise LabelError(msg)
    if not set(db.experiments) & {"dse", "pendulum"}:
        msg = f"{db.path} holds no experiment; 'lcdb build dse --out {db.path}' makes one"
        raise NotBuiltError(msg)
    return [table for name in chosen for table in _MAKERS[name](db)]


def part(db: Database) -> list[str]:
    """Return a line for each experiment: what the numbers of a database rest on."""
    return [str(header) for header in db.experiments.values()]
