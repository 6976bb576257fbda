"""What an error is made of along n, and which rows are hard: from predictions made again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from lcdb.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from lcdb.database import Database, Key

__all__ = ["bias_variance", "hardness"]

_TEXTS = {
    "brier": "mean Brier score",
    "brier_bias": "of the mean probabilities",
    "brier_variance": "of probabilities around their mean",
    "error": "mean share of wrong labels",
    "kohavi_wolpert_bias": "squared distance of label shares from the true label, halved",
    "kohavi_wolpert_variance": "1 - sum of squared label shares, halved",
    "domingos_bias": "share of rows whose main prediction is wrong",
    "domingos_variance_unbiased": "what differing predictions add on rows that are right",
    "domingos_variance_biased": "what they gain on rows that are wrong; negative",
}


def bias_variance(
    source: Database | xr.Dataset,
    dataset: Key | None = None,
    learner: str | None = None,
    n: int | Sequence[int] | None = None,
    **options: Any,
) -> xr.Dataset:
    """Return what the mean error at some sizes is made of: bias and variance over training sets.

    Three decompositions, each of which adds up to the mean over repetitions: of the Brier score;
    of the share of wrong labels after Kohavi and Wolpert (without their small-sample correction);
    and after Domingos, where the main prediction of a row is its most frequent label, the lowest
    of several. A repetition counts as one, however many rows it was tested on.

    Parameters
    ----------
    source
        An open database; or what ``lcdb.learning_curve(..., predictions=True)`` returns.
    dataset, learner
        Which curve of the database.
    n
        Sizes; each is computed again from a database. Of a learning curve all unless given.
    **options
        As `Database.predictions` takes them, but for `rows`.

    Returns
    -------
    xarray.Dataset
        By ``n``: ``brier`` = ``brier_bias`` + ``brier_variance``; ``error`` =
        ``kohavi_wolpert_bias`` + ``kohavi_wolpert_variance`` = ``domingos_bias`` +
        ``domingos_variance_unbiased`` + ``domingos_variance_biased``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     parts = lcdb.analysis.bias_variance(db, "iris", "LDC", [10, 40], repetitions=20)
    >>> bool((parts.brier_variance.sel(n=10) > parts.brier_variance.sel(n=40)).item())
    True
    """
    sizes, said, labels = _said(source, dataset, learner, n, options)
    each = [_parts(one) for one in said]
    variables = {
        name: ("n", [part[name] for part in each], {"long_name": text, "units": "1"})
        for name, text in _TEXTS.items()
    }
    return xr.Dataset(variables, {"n": sizes, **labels})


def _said(
    source: Database | xr.Dataset,
    dataset: Key | None,
    learner: str | None,
    n: int | Sequence[int] | None,
    options: Mapping[str, Any],
) -> tuple[list[int], Iterator[xr.Dataset], dict[str, str]]:
    """Return sizes, what was said of rows at each, and whose curve it is."""
    if isinstance(source, xr.Dataset):
        if {"probability", "label", "y"} - set(source.data_vars):
            msg = (
                "the learning curve has no predictions; make it with "
                "lcdb.learning_curve(..., predictions=True)"
            )
            raise LabelError(msg)
        if dataset is not None or learner is not None or options:
            msg = "dataset, learner and options are of a database; a learning curve takes n alone"
            raise ArgumentError(msg)
        known = [int(one) for one in np.atleast_1d(source["n"].values)]
        sizes = known if n is None else [int(one) for one in np.atleast_1d(n)]
        absent = [one for one in sizes if one not in known]
        if absent:
            msg = f"the learning curve has no n = {absent[0]}; its sizes are {known}"
            raise LabelError(msg)
        curve = source if "n" in source.dims else source.expand_dims("n")
        labels = {name: str(source[name].values) for name in ("learner", "dataset")}
        # What was not computed has no label of any row.
        return sizes, (curve.sel(n=one) for one in sizes), labels
    if dataset is None or learner is None or n is None:
        msg = "of a database, dataset, learner and n say which cells are meant; give all three"
        raise ArgumentError(msg)
    sizes = [int(one) for one in np.atleast_1d(n)]
    said = (source.predictions(dataset, learner, n=one, **options) for one in sizes)
    return sizes, said, {"learner": learner, "dataset": str(dataset)}


def _parts(said: xr.Dataset) -> dict[str, float]:
    """Return the decompositions at one size."""
    said = said.isel(repetition=np.flatnonzero((said["label"] >= 0).any("row").values))
    label, y = said["label"].transpose("repetition", "row").values, said["y"].values
    p = said["probability"].transpose("repetition", "row", "class").values
    if not len(label):
        return dict.fromkeys(_TEXTS, np.nan)
    weight = (label >= 0) / (label >= 0).sum(axis=1, keepdims=True)
    row = weight.sum(axis=0)
    there = row > 0  # rows that were never tested drop out
    label, p, weight, row, y = label[:, there], p[:, there], weight[:, there], row[there], y[there]
    repetitions, classes = p.shape[0], p.shape[2]
    true = np.eye(classes)[y]
    p = np.where(weight[..., None] > 0, p, 0.0)
    mean = (weight[..., None] * p).sum(axis=0) / row[:, None]
    half = 0.5 if classes == 2 else 1.0
    bias = (row * ((mean - true) ** 2).sum(axis=1)).sum() / repetitions * half
    around = (weight * ((p - mean) ** 2).sum(axis=2)).sum() / repetitions * half
    brier = (weight * ((p - true) ** 2).sum(axis=2)).sum() / repetitions * half

    shares = np.stack([(weight * (label == c)).sum(axis=0) for c in range(classes)], 1)
    shares /= row[:, None]
    right = shares[np.arange(len(y)), y]
    main = (shares >= shares.max(axis=1, keepdims=True) - 1e-12).argmax(axis=1)
    biased = main != y

    def over_rows(values: np.ndarray) -> float:
        return float((row * values).sum() / repetitions)

    return {
        "brier": float(brier),
        "brier_bias": float(bias),
        "brier_variance": float(around),
        "error": float((weight * (label != y)).sum() / repetitions),
        "kohavi_wolpert_bias": over_rows(0.5 * ((shares - true) ** 2).sum(axis=1)),
        "kohavi_wolpert_variance": over_rows(0.5 * (1 - (shares**2).sum(axis=1))),
        "domingos_bias": over_rows(biased),
        "domingos_variance_unbiased": over_rows(np.where(biased, 0.0, 1 - right)),
        "domingos_variance_biased": over_rows(np.where(biased, -right, 0.0)),
    }


def hardness(
    source: Database | xr.Dataset,
    dataset: Key | None = None,
    learner: str | None = None,
    n: int | Sequence[int] | None = None,
    **options: Any,
) -> xr.DataArray:
    """Return how often each row is mistaken: the share of repetitions that tested on it.

    Parameters
    ----------
    source
        An open database; or what ``lcdb.learning_curve(..., predictions=True)`` returns.
    dataset, learner
        Which curve of the database.
    n
        Sizes; each is computed again from a database. Of a learning curve all unless given.
    **options
        As `Database.predictions` takes them.

    Returns
    -------
    xarray.DataArray
        Dims ``n`` and ``row``; NaN for rows that no repetition tested on.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     hard = lcdb.analysis.hardness(db, "iris", "LDC", 20, split="varying", repetitions=40)
    >>> hard.dims, float(hard.max()) > 0.5 > float(hard.median())
    (('n', 'row'), True)
    """
    sizes, each, _ = _said(source, dataset, learner, n, options)
    shares = []
    for said in each:
        wrong = (said["label"] != said["y"]).where(said["label"] >= 0)
        shares.append(wrong.mean("repetition"))
    found = xr.concat(shares, xr.DataArray(sizes, dims="n", name="n"), coords="minimal",
                      compat="override")  # fmt: skip
    attrs = {"long_name": "share of repetitions that mistake a row", "direction": "minimize"}
    found.name = "hardness"
    return found.assign_attrs(attrs)
