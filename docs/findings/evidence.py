"""What the page rests on: curves, cells and tables of a database, each read once."""

from __future__ import annotations

import tomllib
from functools import cached_property
from importlib.resources import files

import numpy as np
import pandas as pd
import xarray as xr
from scipy.special import ndtri

import lcdb
from lcdb.cubefile import Header
from lcdb.database import Key
from lcdb.release import read_release
from lcdb.schema import LEARNERS
from lcdb.tables import Row, Table, curve_frame, published, tables
from lcdb.tables.frame import FAR

#: Where scores are compared: training sets afresh for every n, all other rows as test set.
WHERE = {"sampling": "random", "split": "varying"}


class Evidence:
    """A database of summaries, unscaled and standardised, and what is computed of it.

    Parameters
    ----------
    db
        An open database; datasets of which not both scalings are there are left out of what is
        said of scaling.
    """

    def __init__(self, db: lcdb.Database) -> None:
        self.db = db
        self.printed = published()

    @cached_property
    def headers(self) -> dict[str, Header]:
        """Of the unscaled cubes, by id."""
        return {h.id: h for h in self.db.headers.values() if h.scaling == "none"}

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of datasets, by id."""
        return {id: header.name for id, header in self.headers.items()}

    @cached_property
    def known(self) -> dict[str, str]:
        """Names of the paper's datasets, by id, whether they are there or not."""
        text = (files("lcdb.data") / "datasets.toml").read_text("utf-8")
        return {str(one["id"]): one["name"] for one in tomllib.loads(text)["dataset"]}

    def named(self, row: str) -> str:
        """Return the name of a dataset of which a row has the id; of others the row."""
        return self.names.get(row, row)

    @cached_property
    def pairs(self) -> list[tuple[Key, Key]]:
        """Keys of unscaled and standardised cubes of the same dataset."""
        keys = {(header.id, header.scaling): key for key, header in self.db.headers.items()}
        ids = [id for id, scaling in keys if scaling == "none" and (id, "standard") in keys]
        return [(keys[id, "none"], keys[id, "standard"]) for id in ids]

    @cached_property
    def release(self) -> str:
        """What citations call it."""
        found = read_release(self.db.path)
        return "a database without a version" if found is None else found.citation

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row for each unscaled curve and metric."""
        return curve_frame(self.db.scaled("none"))

    @cached_property
    def standard(self) -> pd.DataFrame:
        """The same of standardised features."""
        if not self.pairs:
            return self.frame.iloc[:0]
        return curve_frame(self.db.scaled("standard"))

    @cached_property
    def learners(self) -> list[str]:
        """The learners that there are, in the order of the paper."""
        return [name for name in LEARNERS if name in set(self.frame["learner"])]

    @cached_property
    def tables(self) -> dict[str, Table]:
        """The tables of the paper by name, such as ``"table_1"``."""
        return {table.name: table for table in tables(self.db)}

    def row(self, table: str, name: str, metric: str) -> Row:
        """Return the row of a table by its name and metric."""
        return next(r for r in self.tables[table].rows if (r.row, r.metric) == (name, metric))

    def last(self, key: Key, metric: str, tuning: str = "default", sampling: str = "random",
             split: str = "varying") -> pd.DataFrame:  # fmt: skip
        """Return mean, sd and standard error by learner at the largest size there is."""
        cube = self.db[key]
        if tuning not in cube["tuning"].values:
            return pd.DataFrame(columns=["mean", "sd", "error"])
        some = cube.sel(metric=metric, tuning=tuning, sampling=sampling, split=split)
        cell = some.dropna("n", how="all", subset=["mean"]).isel(n=-1)
        error = cell["sd"] / np.sqrt(cell["count"])
        values = {"mean": cell["mean"].values, "sd": cell["sd"].values, "error": error.values}
        return pd.DataFrame(values, index=cell["learner"].values).dropna()

    @cached_property
    def unscaled(self) -> dict[Key, str]:
        """Names of datasets, by key of the unscaled cube."""
        return {k: h.name for k, h in self.db.headers.items() if h.scaling == "none"}

    def rounded_tails(self, key: Key) -> tuple[float, float]:
        """Return the mean |tail| of accuracies if they were rounded normals, and the % above 0.5.

        Of cells whose test set has one size: those of additive and random training sets.
        """
        header = self.db.headers[key]
        cells = self.db[key].sel(metric="accuracy", sampling=["additive", "random"])
        n = cells["n"]
        fixed = xr.full_like(n, header.rows - header.largest_size)
        rows = xr.concat([fixed, header.rows - n], "split").assign_coords(
            split=["fixed", "varying"]
        )
        sd = cells["sd"].where(cells["sd"] > 0)
        quantile = cells["mean"] + ndtri(0.05) * sd
        tail = np.abs(np.rint(quantile * rows) / rows - quantile) / sd
        return float(tail.mean()), 100.0 * float((tail > FAR).sum() / tail.count())

    def cells(self, metric: str) -> dict[Key, xr.Dataset]:
        """Return what the summaries know of the unscaled cells of a metric."""
        keys = [key for key, header in self.db.headers.items() if header.scaling == "none"]
        return {key: self.db[key].sel(metric=metric) for key in keys}
