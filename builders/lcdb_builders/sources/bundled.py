"""The two datasets that come with the package, row for row as OpenML has them."""

from __future__ import annotations

import itertools
from importlib.resources import files

import numpy as np

from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources.arff import read_arff
from lcdb_builders.sources.catalog import expected
from lcdb_builders.sources.convert import to_snapshot, with_origin
from lcdb_builders.sources.table import Column, Table

__all__ = ["bundled"]


def _iris() -> Table:
    """Return OpenML's iris; scikit-learn's differs from it in two rows."""
    return read_arff(files("lcdb.data").joinpath("iris.arff").read_text("utf-8"))


def _balance_scale() -> Table:
    """Return every combination of weights and distances, and the side to which the scale tips."""
    names = ("left-weight", "left-distance", "right-weight", "right-distance")
    cells = np.array(list(itertools.product(range(1, 6), repeat=4)), np.float64)
    left, right = cells[:, 0] * cells[:, 1], cells[:, 2] * cells[:, 3]
    codes = np.select([left > right, left < right], [0.0, 2.0], 1.0)
    features = tuple(Column(name, column) for name, column in zip(names, cells.T, strict=True))
    return Table((*features, Column("class", codes, ("L", "B", "R"))))


_TABLES = {"61": _iris, "11": _balance_scale}


def bundled(id: str) -> Snapshot | None:
    """Return the snapshot of a dataset that comes with the package; None for any other id.

    Examples
    --------
    >>> bundled("11").X[-1].tolist(), bundled("11").class_names
    ([5.0, 5.0, 5.0, 5.0], ('L', 'B', 'R'))
    """
    if id not in _TABLES:
        return None
    entry = expected()[id]
    table = _TABLES[id]()
    snapshot = to_snapshot(table, id=id, name=entry.name, target=entry.target)
    entry.check(snapshot)
    return with_origin(snapshot, {"source": "bundled", **entry.facts(snapshot)})
