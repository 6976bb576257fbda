"""What is timed on: the paper's datasets where they can be had, else generated ones like them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lcdb.errors import DatasetError, FetchError, LabelError, NotFoundError, did_you_mean
from lcdb_builders import sources
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources.catalog import Expected, expected
from lcdb_builders.sources.files import FileSource
from lcdb_builders.sources.local import copy_in_folder

__all__ = ["COMPARED", "Subject", "compared", "generated", "paper_subject"]

# Numeric and few-valued features, where the catalogue cannot say: as UCI and the tabular benchmark
# describe these datasets.
KINDS = {"44037": (5, 7), "46733": (1, 15), "46847": (1, 15)}
# Rows, features, classes and seed of the two generated datasets beside iris.
COMPARED = {"768x8x2": (768, 8, 2, 1), "2111x16x7": (2111, 16, 7, 2)}


@dataclass(frozen=True)
class Subject:
    """A dataset to time on, and where it is from.

    Parameters
    ----------
    snapshot
        The dataset.
    origin
        In a few words.
    """

    snapshot: Snapshot
    origin: str

    @property
    def label(self) -> str:
        """Id, N, d and K."""
        snapshot = self.snapshot
        shape = f"{snapshot.rows}×{snapshot.features}×{snapshot.classes}"
        return shape if snapshot.id == shape.replace("×", "x") else f"{snapshot.name} {shape}"


def _snapshot(id: str, name: str, X: np.ndarray, y: np.ndarray) -> Snapshot:
    features = tuple(f"x{j}" for j in range(X.shape[1]))
    classes = tuple(f"c{c}" for c in range(int(y.max()) + 1))
    X, y = np.ascontiguousarray(X, np.float64), np.asarray(y, np.int64)
    return Snapshot(id, X, y, features, classes, name, {"source": "generated"})


def _continuous(id: str) -> Snapshot:
    """Return one of the two datasets whose features are all different numbers, standardised."""
    from sklearn.datasets import make_classification

    rows, features, classes, seed = COMPARED[id]
    kind = (
        {"n_informative": 4, "weights": [0.65], "flip_y": 0.2, "class_sep": 0.8}
        if classes == 2
        else {"n_informative": 10, "flip_y": 0.05, "class_sep": 1.2, "n_clusters_per_class": 1}
    )
    X, y = make_classification(
        rows, features, n_redundant=0, n_classes=classes, random_state=seed, **kind
    )
    return _snapshot(id, "generated", (X - X.mean(axis=0)) / X.std(axis=0), y)


def generated(entry: Expected, seed: int = 0) -> Snapshot:
    """Return a dataset with N, d, K and the kinds of features of one of the ten.

    Numeric features are Gaussian, rounded to three digits; the others have two to five values.

    Examples
    --------
    >>> snapshot = generated(expected()["46733"])
    >>> snapshot.rows, snapshot.features, snapshot.classes, len(np.unique(snapshot.X[:, 1]))
    (520, 16, 2, 2)
    """
    rng = np.random.default_rng([seed, entry.rows, entry.features])
    numeric, nominal = KINDS.get(entry.id, (entry.numeric, entry.nominal))
    if numeric is None or nominal is None:
        numeric, nominal = entry.features, 0
    y = np.sort(rng.choice(entry.classes, entry.rows, p=_shares(entry.classes)))
    y[: entry.classes] = np.arange(entry.classes)
    y = rng.permutation(y)
    # Class means this far apart leave some errors, as in most of the real ones.
    means = rng.normal(scale=0.7, size=(entry.classes, numeric + nominal))
    X = means[y] + rng.normal(size=(entry.rows, numeric + nominal))
    X[:, :numeric] = np.round(X[:, :numeric], 3)
    for j in range(nominal):
        values = 2 if entry.id in ("46733", "46847") else 2 + j % 4
        column = X[:, numeric + j]
        X[:, numeric + j] = np.searchsorted(
            np.quantile(column, np.arange(1, values) / values), column
        )
    return _snapshot(entry.id, entry.name, X, y)


def _shares(classes: int) -> np.ndarray:
    shares = np.linspace(1.0, 2.0, classes)
    return shares / shares.sum()


def paper_subject(entry: Expected, folder: Path | None = None) -> Subject:
    """Return one of the ten: the dataset itself, or a generated one of its shape.

    Parameters
    ----------
    entry
        Which.
    folder
        Where to look for files of the datasets as well.
    """
    try:
        return Subject(sources.obtain(entry.id, offline=True), "real")
    except (FetchError, DatasetError):
        pass
    if folder is not None and entry.target:
        try:
            file = copy_in_folder(folder, entry)
            source = FileSource(entry.id, file, entry.target, name=entry.name)
            return Subject(source.snapshot(), "real")
        except (DatasetError, NotFoundError):
            pass
    return Subject(generated(entry), "generated, same N, d, K and kinds of features")


def compared(names: Iterable[str] | None = None, folder: Path | None = None) -> list[Subject]:
    """Return the datasets that learners are compared on.

    Parameters
    ----------
    names
        Of the generated ones, or ids or names of the paper's; iris and both generated ones by
        default.
    folder
        Where to look for files of the paper's datasets.

    Examples
    --------
    >>> [subject.label for subject in compared()]
    ['iris 150×4×3', '768×8×2', '2111×16×7']
    """
    catalogue = expected()
    ids = {entry.name: entry.id for entry in catalogue.values()} | {id: id for id in catalogue}
    subjects = []
    for name in ["61", *COMPARED] if names is None else names:
        if name in COMPARED:
            subjects.append(Subject(_continuous(name), "generated, continuous features"))
        elif name in ids:
            subjects.append(paper_subject(catalogue[ids[name]], folder))
        else:
            known = [*COMPARED, *ids]
            msg = f"no dataset {name!r} to time on.{did_you_mean(name, known)}"
            raise LabelError(msg)
    return subjects
