"""Models of learning curves fitted to curves with labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from lcdb.analysis.apply import REPETITION, need_dims
from lcdb.analysis.selections import by_dataset, takes_selections
from lcdb.curves.fitting import STATUSES, fit_curves
from lcdb.curves.models import MODELS, Model, model
from lcdb.errors import LabelError, did_you_mean

__all__ = ["fit", "fitted"]

PARAMETERS = ("a", "b", "c", "d")


def chosen_models(models: str | Sequence[str]) -> list[Model]:
    """Return the models of names; ``"all"`` is all seventeen."""
    if isinstance(models, str) and models == "all":
        return list(MODELS)
    names = [models] if isinstance(models, str) else list(models)
    known = [each.name for each in MODELS]
    for name in names:
        if name not in known:
            msg = f"model {name!r} does not exist.{did_you_mean(str(name), known)}"
            raise LabelError(msg)
    return [model(name) for name in names]


def one_curve(curve: xr.DataArray, over: str | float) -> xr.DataArray:
    """Return what is fitted: the mean or a quantile over repetitions, or every repetition."""
    need_dims(curve, "n")
    if REPETITION not in curve.dims or over == "repetition":
        return curve
    if over == "mean":
        return curve.mean(REPETITION, keep_attrs=True)
    if isinstance(over, str) or not 0 <= float(over) <= 1:
        msg = f"over is {over!r}; expected 'mean', 'repetition', or a quantile from 0 to 1"
        raise LabelError(msg)
    # A quantile of nothing is nothing: sizes that were not computed stay NaN without a warning.
    return curve.quantile(float(over), REPETITION, keep_attrs=True, skipna=False).drop_vars(
        "quantile"
    )


@takes_selections
def fit(
    curve: xr.DataArray,
    models: str | Sequence[str] = "all",
    over: str | float = "mean",
    *,
    smallest: int = 1,
    weights: xr.DataArray | None = None,
) -> xr.Dataset:
    """Fit models of learning curves: the least-squares optimum of each, found without chance.

    Parameters
    ----------
    curve
        An array with the dim ``n`` and any others, such as `Database.curve` returns. Sizes that
        are NaN are left out.
    models
        Names, or ``"all"`` seventeen; `lcdb.curves.models` has their formulas.
    over
        What is fitted where there is a dim ``repetition``: its ``"mean"``, every ``"repetition"``
        by itself, or a quantile such as 0.05.
    smallest
        Sizes below this are left out.
    weights
        Non-negative, with the dim ``n``; 1 unless given. One over the variance of the mean weighs
        sizes by how well they are known.

    Returns
    -------
    xarray.Dataset
        ``value`` (…, model, parameter) are the parameters a-d, ``loss`` the weighted sum of
        squares, and ``status`` one of optimum, boundary (the optimum lies at the edge of the
        documented box, mostly since it lies at infinity), underdetermined (fewer sizes than
        parameters: one optimum of many), failed (no size is left).

    See Also
    --------
    fitted : what the fits say at any sizes.
    forecast : a prediction beyond the last size, with intervals.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     fits = lcdb.analysis.fit(db.curve("iris", "LDC"), ["pow3", "exp3"], smallest=10)
    >>> fits.value.dims, fits.status.values.tolist()
    (('model', 'parameter'), ['optimum', 'optimum'])
    """
    wanted = chosen_models(models)
    array = one_curve(curve, over)
    array = array.sel(n=array["n"] >= smallest).sortby("n")
    others = [dim for dim in array.dims if dim != "n"]
    ordered = array.transpose(*others, "n")
    shape = tuple(ordered.sizes[dim] for dim in others)
    scores = np.asarray(ordered.values, float).reshape(-1, ordered.sizes["n"])
    heavy = None
    if weights is not None:
        aligned = weights.sel(n=ordered["n"])
        heavy = np.asarray(aligned.broadcast_like(ordered).transpose(*others, "n").values, float)
        heavy = heavy.reshape(scores.shape)
    sizes = np.asarray(ordered["n"].values, float)
    fits = [fit_curves(each, sizes, scores, heavy) for each in wanted]
    values = np.stack([each.values for each in fits], axis=1).reshape(*shape, len(wanted), 4)
    loss = np.stack([each.loss for each in fits], axis=1).reshape(*shape, len(wanted))
    status = np.stack([each.status for each in fits], axis=1).reshape(*shape, len(wanted))
    coords: dict[Any, Any] = {
        name: coord.variable  # a coordinate as an array would bring the others along
        for name, coord in ordered.coords.items()
        if "n" not in coord.dims and name != "status"  # of the curve; here it is the fit's
    }
    coords |= {
        "model": [each.name for each in wanted],
        "parameter": list(PARAMETERS),
        "formula": ("model", [each.formula for each in wanted]),
    }
    dims = (*others, "model")
    return xr.Dataset(
        {
            "value": ((*dims, "parameter"), values, {"long_name": "parameter of the model"}),
            "loss": (dims, loss, {"long_name": "weighted sum of squared residuals"}),
            "status": (dims, np.array(STATUSES)[status], {"long_name": "what the fit is"}),
        },
        coords,
        {name: array.attrs[name] for name in ("direction", "dataset_name") if name in array.attrs},
    )


@by_dataset
def fitted(fits: xr.Dataset, n: Sequence[float] | np.ndarray | xr.DataArray) -> xr.DataArray:
    """Return what fitted models say at any sizes.

    Parameters
    ----------
    fits
        As `fit` returns them.
    n
        Sizes, also beyond the last one fitted.

    Returns
    -------
    xarray.DataArray
        With the dims of ``fits.loss`` and ``n``.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     fits = lcdb.analysis.fit(db.curve("iris", "LDC"), "pow3")
    >>> lcdb.analysis.fitted(fits, [100, 1000]).dims
    ('model', 'n')
    """
    sizes = np.atleast_1d(np.asarray(n, float))
    each = []
    for name in fits["model"].values:
        one = fits["value"].sel(model=name).transpose(..., "parameter")
        formula = model(str(name))
        values = [one.values[..., k, None] for k in range(formula.parameters)]
        with np.errstate(all="ignore"):
            each.append(formula.evaluate(sizes, *values) * np.ones(len(sizes)))
    dims = [dim for dim in fits["value"].dims if dim not in ("model", "parameter")]
    array = xr.DataArray(np.stack(each, axis=-2), dims=(*dims, "model", "n"))
    coords = {k: v for k, v in fits.coords.items() if "parameter" not in v.dims}
    named = array.assign_coords(coords | {"n": sizes})
    named.name, named.attrs = "fitted", dict(fits.attrs)
    return named.transpose(*fits["loss"].dims, "n")
