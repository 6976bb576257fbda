"""What the practice of few repetitions and of mean ± 2 sd implies, and which learners dominate.

How often tests call equal learners different cannot be read off a cube, whose repetitions are all
of one dataset: it was counted on many datasets drawn from known populations, once, and is stored
(`python -m lcdb_builders.predict.error_rates` counts it again).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student

from lcdb import analysis, stats
from lcdb.tables.rows import Row, Table

if TYPE_CHECKING:
    import xarray as xr

    from lcdb.database import Database

__all__ = ["IMPLIED", "counted"]

_TESTS = {"t": "paired t", "wilcoxon": "Wilcoxon", "nadeau_bengio": "Nadeau-Bengio"}
#: Sizes of a dataset at which dominance is asked for, and draws of its bootstrap.
_SIZES, _BOOTSTRAPS = 5, 200


def counted() -> dict[str, Any]:
    """Return the stored study: rates of rejection by pair, and coverage by learner."""
    return json.loads((files("lcdb.data") / "implied.json").read_text("utf-8"))


def _errors(db: Database) -> Table:
    record = counted()
    rows = []
    for population in dict.fromkeys(row["population"] for row in record["rates"]):
        for count in sorted({row["repetitions"] for row in record["rates"]}):
            some = [row for row in record["rates"]
                    if (row["population"], row["repetitions"]) == (population, count)]  # fmt: skip
            for key, name in _TESTS.items():
                rates = 100 * np.array([row[key] for row in some])
                beside: dict[str, float | None] = {
                    "claimed": 100 * record["alpha"],
                    "least pair": float(rates.min()),
                    "most pair": float(rates.max()),
                }
                title = f"{population}: {name}, {count} repetitions"
                rows.append(Row(title, "accuracy", None, float(rates.mean()), beside=beside))
    note = (
        f"Of {record['datasets']:,} datasets of {record['rows']} rows from each population: "
        f"learners trained on {record['trained']} rows, tested on the others, in each repetition "
        "anew. Two learners are made equal: the difference of their means over all datasets is "
        "taken off, and their names are swapped for a random half of the datasets. The mean over "
        f"all pairs of {', '.join(record['learners'])}. Repetitions of one dataset share its rows, "
        "so that a test that takes them for independent finds what is true of that dataset alone. "
        "Wilcoxon's p-values are those of the normal approximation where differences tie, as in "
        "SciPy. Stored; the same whatever the database."
    )
    title = "Implied. Equal learners that a test at 5 % calls different (%)"
    about = "A stored study, the same whatever the database"
    return Table("implied_errors", title, tuple(rows), digits=1, note=note, about=about)


def _coverage(db: Database) -> Table:
    record = counted()
    rows = []
    for row in record["coverage"]:
        count = row["repetitions"]
        # Of independent draws from a normal distribution.
        independent = 1 - 2 * student.sf(2 / np.sqrt(1 + 1 / count), count - 1)
        title = f"{row['population']}: {row['learner']}, {count} repetitions"
        beside: dict[str, float | None] = {
            "claimed": 95.0,
            "independent normal": 100 * float(independent),
        }
        rows.append(Row(title, "accuracy", None, 100 * row["share"], beside=beside))
    for name, curves in _curves(db):
        for learner in map(str, curves["learner"].values):
            x = curves.sel(learner=learner).values
            half = 2 * x.std(axis=-1, ddof=1, keepdims=True)
            inside = np.abs(x - x.mean(axis=-1, keepdims=True)) <= half + 1e-12
            share = 100 * float(inside.mean())
            count = x.shape[-1]
            title = f"{name}: {learner}, the same rows, {count:,} repetitions"
            beside = {"claimed": 95.0, "independent normal": 95.45}
            rows.append(Row(title, "accuracy", None, share, len(x), beside=beside))
    note = (
        "How often mean ± 2 sd of a dataset's repetitions holds the score of a new training set: "
        f"of a new dataset of the same population ({record['datasets']:,} datasets, stored), and "
        "of the same rows (this database: additive, fixed, default; the mean over all sizes, of "
        "the repetitions that the band was made of)."
    )
    title = "Implied. Scores within mean ± 2 sd (%)"
    about = "A stored study, and this database: additive, fixed, default"
    return Table("implied_coverage", title, tuple(rows), digits=1, note=note, about=about)


def _dominance(db: Database) -> Table:
    rows = []
    for name, curves in _curves(db):
        places = stats.thinned(curves["n"].values, _SIZES)
        part = curves.isel(n=places)
        found = analysis.dominance(part, bootstraps=_BOOTSTRAPS)
        settled = found["settled"].transpose("learner", "other", "n").values
        learners = list(map(str, curves["learner"].values))
        sizes = part["n"].values.astype(float)
        for i, j in zip(*np.nonzero(settled.any(axis=-1)), strict=True):
            where = sizes[settled[i, j]]
            beside: dict[str, float | None] = {
                "from n": float(where.min()),
                "to n": float(where.max()),
            }
            share = 100 * float(settled[i, j].mean())
            title = f"{name}: {learners[i]} over {learners[j]}"
            rows.append(Row(title, "accuracy", None, share, len(sizes), beside=beside))
    note = (
        "The share of sizes at which one learner almost stochastically dominates another: the "
        "squared quantile distance where it is worse is below 0.2 of all, by a bootstrap of "
        f"{_BOOTSTRAPS} draws of pairs, and its mean is better, at 5 % after Holm's "
        f"correction for all ordered pairs and sizes of the dataset. At most {_SIZES} sizes of "
        "each, evenly spread on a logarithmic axis; from and to the smallest and the "
        "largest of them. Additive, fixed, default."
    )
    title = "Implied. Which learner dominates which (% of sizes)"
    about = "Additive, fixed, default, at some sizes of each dataset"
    return Table("implied_dominance", title, tuple(rows), digits=0, note=note, about=about)


def _curves(db: Database) -> Iterator[tuple[str, xr.DataArray]]:
    """Yield the accuracies of every dataset that is there in full, at sizes that all have."""
    for key, header in db.headers.items():
        wanted = {"sampling": "additive", "split": "fixed", "tuning": "default"}
        if header.is_summary or any(v not in header.labels[k] for k, v in wanted.items()):
            continue
        scores = db.select([key], **wanted)[key].transpose("learner", "n", "repetition")
        some = scores.isel(repetition=0).notnull()
        kept = scores.isel(learner=some.any("n").values)
        kept = kept.isel(n=some.isel(learner=some.any("n").values).all("learner").values)
        if kept.size:
            name = header.name if str(key) in (header.id, header.name) else f"{header.name} ({key})"
            yield name, kept.load()


#: Tables of ``--table implied``, by name.
IMPLIED: dict[str, Callable[[Database], Table]] = {
    "errors": _errors,
    "coverage": _coverage,
    "dominance": _dominance,
}
