"""What a result of an analysis says, in a sentence that claims no more than it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from lcdb import stats
from lcdb.analysis.selections import by_dataset
from lcdb.errors import ArgumentError, LabelError

__all__ = ["in_words"]


@by_dataset
def in_words(result: xr.Dataset) -> str:
    """Return what a result says, in plain words.

    Parameters
    ----------
    result
        Of `compare`, `crossing`, `shape`, `power`, `repetitions_for`, `halving`, `lccv`,
        `aggregate`, `forecast` or `rows_needed`, for one curve or pair of curves: select one first.
        Where there are several sizes, p-values are corrected for them (Holm) before anything is
        called settled.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curves = [db.curve("iris", name) for name in ("QDC", "LDC")]
    >>> in_words(lcdb.analysis.crossing(*curves)).partition(" from")[0]
    'On iris, LDC has the better mean accuracy'
    """
    about = result.attrs.get("analysis")
    if about not in _SENTENCES:
        msg = f"the result is of {about!r}; expected one of {', '.join(_SENTENCES)}"
        raise ArgumentError(msg)
    extra = [str(dim) for dim in result.dims if dim not in _DIMS[about]]
    if extra:
        msg = f"the result has the dim {', '.join(extra)}; select one label of it first"
        raise LabelError(msg)
    return _SENTENCES[about](result)


def _dataset(result: xr.Dataset) -> str:
    name = result.attrs.get("dataset_name")
    return f"On {name}, " if name else ""


def _sides(result: xr.Dataset) -> tuple[str, str]:
    names = [result.attrs.get(side) or str(result[side].values) for side in ("first", "second")]
    return names[0], names[1]


def _metric(result: xr.Dataset) -> str:
    return str(result.attrs.get("metric", "score")).replace("_", " ")


def _p(value: float) -> str:
    """Return a p-value with two digits; one that is 0 in doubles by its bound."""
    return f"p = {value:.2g}" if value > 1e-300 else "p < 1e-300"


def _is_paired(result: xr.Dataset) -> bool:
    return result.attrs.get("design", "paired") == "paired"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _runs(sizes: np.ndarray, chosen: np.ndarray) -> str:
    """Return the sizes that are chosen, as runs among all: n = 3 to 9, and 20."""
    places = np.flatnonzero(chosen)
    groups = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
    texts = [
        f"n = {sizes[group[0]]:g}"
        if len(group) == 1
        else f"from n = {sizes[group[0]]:g} to n = {sizes[group[-1]]:g}"
        for group in groups
    ]
    texts = [text if text.startswith("from") else f"at {text}" for text in texts]
    if len(texts) > 3:
        return f"at {len(places)} of {len(sizes)} sizes between n = {sizes[places[0]]:g} and " \
               f"n = {sizes[places[-1]]:g}"  # fmt: skip
    return " and ".join(texts)


def _orders(result: xr.Dataset, order: np.ndarray, what: str, how: str) -> str:
    """Return who is better at which sizes."""
    sizes = np.atleast_1d(result["n"].values)
    there = ~np.isnan(order)
    sizes, order = sizes[there], order[there]
    names = _sides(result)
    parts = [
        f"{name} has the better {what} {_runs(sizes, order == side)}"
        for name, side in zip(names, (1, -1), strict=True)
        if (order == side).any()
    ]
    if not parts:
        text = f"no difference in {what} between {names[0]} and {names[1]} is settled ({how})."
        return _capital(_dataset(result) + text)
    rest = "; other sizes are open" if (order == 0).any() else ""
    return _capital(_dataset(result) + ", ".join(parts) + f"{rest} ({how}).")


def _compare(result: xr.Dataset) -> str:
    sign = 1.0 if result.attrs["direction"] == "maximize" else -1.0
    alpha = 1.0 - result.attrs["confidence"]
    if "n" not in result.dims:
        return _one_cell(result, sign, alpha)
    p = result["t_p"].values
    there = ~np.isnan(p)
    settled = np.zeros(len(p), bool)
    corrected = stats.holm(p[there])
    settled[there] = corrected <= alpha
    order = np.where(there, sign * np.sign(result["mean_difference"].values) * settled, np.nan)
    tests = "paired t-tests" if _is_paired(result) else "Welch's t-tests without pairs"
    how = f"{tests}, {100 * alpha:.3g} % after Holm over {there.sum()} sizes"
    if settled.any():
        how += f", where these have {_p(corrected[corrected <= alpha].max())} or less"
    elif there.any():
        how += f", the smallest {_p(corrected.min())}"
    return _orders(result, order, f"mean {_metric(result)}", how)


def _one_cell(result: xr.Dataset, sign: float, alpha: float) -> str:
    first, second = _sides(result)
    mean, low, high, better = (
        float(result[name]) for name in ("mean_difference", "mean_low", "mean_high", "better")
    )
    paired = _is_paired(result)
    counts = [float(result[k]) for k in (("count",) if paired else ("first_count", "second_count"))]
    number = " and ".join(f"{count:.0f}" for count in counts) + " repetitions"
    number += "" if paired else " without pairs"
    size = f"at n = {result['n'].item():g} " if "n" in result.coords else ""
    if np.isnan(mean):
        what = "common repetitions" if paired else "repetitions to compare"
        return _capital(f"{_dataset(result)}{size}{first} and {second} have no {what}.")
    ends = f"{100 * (1 - alpha):g} % interval {low:.3g} to {high:.3g}, "
    ends += f"{_p(float(result['t_p']))}, {number}"
    if float(result["t_p"]) > alpha:
        text = f"no difference in mean {_metric(result)} between {first} and {second} is settled"
        return _capital(f"{_dataset(result)}{size}{text} ({mean:.3g}; {ends}).")
    word = "better" if sign * mean > 0 else "worse"
    of_what = "repetitions" if paired else "pairs of a repetition of each"
    return _capital(
        f"{_dataset(result)}{size}{first}'s mean {_metric(result)} is {word} than {second}'s by "
        f"{abs(mean):.3g} (difference {ends}); it is better in {100 * better:.3g} % of "
        f"{of_what}, ties counting half."
    )


def _crossing(result: xr.Dataset) -> str:
    at = result.attrs["at"]
    what = f"mean {_metric(result)}" if at == "mean" else f"{at:g} quantile of {_metric(result)}"
    count = int(result["order"].notnull().sum())
    how = f"{100 * result.attrs['confidence']:g} % band over {count} sizes"
    how += "" if _is_paired(result) else ", without pairs"
    text = _orders(result, result["order"].values, what, how)
    if not result["changes"] > 0:
        return text
    low, high = float(result["open_low"]), float(result["open_high"])
    last = "The curves cross" if result["changes"] == 1 else "The last of several crossings lies"
    return f"{text} {last} between n = {low:g} and n = {high:g}."


def _shape(result: xr.Dataset) -> str:
    value = {str(name): float(variable) for name, variable in result.data_vars.items()}
    if np.isnan(value["monotone"]):
        return _capital(f"{_dataset(result)}the curve has too few sizes or repetitions to judge.")
    loss = "loss" if result.attrs["direction"] == "minimize" else "error"
    parts = []
    if not value["monotone"]:
        parts.append(f"the mean {loss} rises by {value['rise']:.3g} from n = "
                     f"{value['rise_from']:g} to n = {value['rise_to']:g}")  # fmt: skip
    if value["dipping"]:
        parts.append(f"at the last size it is worse by {value['dip']:.3g} than at "
                     f"n = {value['dip_from']:g}")  # fmt: skip
    if not value["convex"]:
        parts.append(f"at n = {value['bump_n']:g} it lies {value['bump']:.3g} above the line from "
                     f"n = {value['bump_left']:g} to n = {value['bump_right']:g}")  # fmt: skip
    if value["peaking"]:
        parts.append(f"it has a peak at n = {value['peak_n']:g}")
    level = f"{100 * result.attrs['alpha']:g} % after correction for all sizes"
    if not parts:
        text = f"no violation of monotone or convex is significant ({level}"
        text += f", {value['repetitions']:.0f} repetitions); small ones may have been missed"
        return _capital(f"{_dataset(result)}{text}.")
    return _capital(f"{_dataset(result)}{'; '.join(parts)} (each significant at {level}).")


def _power(result: xr.Dataset) -> str:
    first, second = _sides(result)
    found, wrong = 100 * result["power"].values, 100 * result["wrong_sign"].values
    numbers = result["repetitions"].values
    if np.isnan(found).all():
        return _capital(f"{_dataset(result)}{first} and {second} do not differ in any direction.")
    test = f"{result.attrs['test']}-test" + ("" if _is_paired(result) else " without pairs")
    shares = ", ".join(f"{f:.0f} % with {r}" for f, r in zip(found, numbers, strict=True))
    return _capital(
        f"{_dataset(result)}the difference between {first} and {second} would be found "
        f"({test}, {100 * result.attrs['alpha']:g} %) by {shares} "
        f"repetitions, and with the wrong sign by at most {wrong.max():.1f} %."
    )


def _repetitions_for(result: xr.Dataset) -> str:
    first, second = _sides(result)
    number, low, high = (
        float(result[name]) for name in ("repetitions", "repetitions_low", "repetitions_high")
    )
    aim = f"{100 * result.attrs['power']:g} % power"
    of_moments = result.attrs.get("spread") == "largest"
    if not np.isfinite(high):
        who = "means and spreads alone" if of_moments else "the repetitions"
        text = f"{who} do not settle that {first} and {second} differ, so that no number"
        return _capital(f"{_dataset(result)}{text} of repetitions is sure to give {aim}.")
    most = "at most " if of_moments else ""
    each, test = ("", "paired t-test") if _is_paired(result) else (" of each", "Welch's t-test")
    return _capital(
        f"{_dataset(result)}{most}{number:.0f} repetitions{each} ({low:.0f} to {high:.0f}) tell "
        f"{first} and {second} apart with {aim} ({test}, {100 * result.attrs['alpha']:g} %)."
    )


def _aggregate(result: xr.Dataset) -> str:
    count = result.attrs["datasets"]
    falls = result.attrs["direction"] == "minimize"
    values = result["interquartile_mean"].values
    best = int(values.argmin() if falls else values.argmax())
    name, low, high = (
        result[part].values[best]
        for part in ("learner", "interquartile_mean_low", "interquartile_mean_high")
    )
    alpha = 1.0 - result.attrs["confidence"]
    text = (
        f"Over {count} datasets {name} has the best interquartile mean {_metric(result)}, "
        f"{values[best]:.3g} ({100 * (1 - alpha):g} % interval {low:.3g} to {high:.3g}, for these "
        "datasets)"
    )
    text += f"; {_ranks(result, alpha)}"
    left = result.attrs["left_out"]
    return f"{text}. Left out: {', '.join(left)}." if left else f"{text}."


def _ranks(result: xr.Dataset, alpha: float) -> str:
    """Return what tests of ranks over datasets say."""
    count, p = result.attrs["datasets"], float(result["friedman_p"])
    if np.isnan(p):
        return "there are too few datasets or learners for a test of ranks"
    holm_p = result["holm_p"].values[np.triu_indices(result.sizes["learner"], k=1)]
    apart = int((holm_p <= alpha).sum())
    is_rejected = p <= alpha
    verdict = "is" if is_rejected else "is not"
    alike = f"that learners rank alike {verdict} rejected (Friedman, p = {p:.2g})"
    # No p-value of signed ranks is smaller than 2 ** (1 - count), unless differences are tied.
    if not apart and 2.0 ** (1 - count) * len(holm_p) > alpha:
        few = f"{count} datasets are too few for a test of ranks to tell any two learners apart"
        return f"{alike}, but {few}" if is_rejected else few
    return (
        f"{alike}, and {apart} of {len(holm_p)} pairs are told apart (Wilcoxon over datasets, Holm)"
    )


def _early(result: xr.Dataset) -> str:
    names = {"halving": "successive halving", "lccv": "learning-curve cross-validation"}
    budgets = ", ".join(map(str, result.attrs["budgets"]))
    value = {name: float(result[name]) for name in ("regret", "regret_high", "right", "rows_share")}
    if np.isnan(value["regret"]):
        return _capital(f"{_dataset(result)}there are no values to choose by.")
    return _capital(
        f"{_dataset(result)}{names[result.attrs['analysis']]} over n = {budgets} takes "
        f"{100 * value['rows_share']:.0f} % of the training rows of trying every learner at the "
        f"last size and chooses a best one in {100 * value['right']:.0f} % of repetitions; the "
        f"chosen one's mean {_metric(result)} is worse than the best by {value['regret']:.3g} on "
        f"average, and by at most {value['regret_high']:.3g} in 95 %."
    )


def _whose(result: xr.Dataset) -> str:
    """Return whose score it is: QDC's mean accuracy."""
    over = result.attrs["over"]
    what = (
        f"mean {_metric(result)}" if over == "mean" else f"{over:g} quantile of {_metric(result)}"
    )
    scalar = "learner" in result.coords and not result["learner"].dims
    return f"{result['learner'].item()}'s {what}" if scalar else f"the {what}"


def _forecast(result: xr.Dataset) -> str:
    level = f"{100 * result.attrs['level']:g} %"
    count = result.sizes.get("n", 1)
    sizes = result.expand_dims("n") if "n" not in result.dims else result
    # Of many sizes the first, the last, and some between them.
    sizes = sizes.isel(n=np.unique(np.linspace(0, count - 1, min(count, 3)).round().astype(int)))
    parts = []
    for k in range(sizes.sizes["n"]):
        one = {str(name): float(sizes[name].isel(n=k)) for name in ("n", *_LINES)}
        text = f"{one['mean']:.3g} at n = {one['n']:g} ({one['mean_low']:.3g} to "
        text += f"{one['mean_high']:.3g}"
        low, high = one["single_low"], one["single_high"]
        if not np.isnan(low):
            text += f"; of a single training set {low:.3g} to {high:.3g}"
        parts.append(f"{text})")
    calibrated = np.atleast_1d(result["calibrated"].values)
    sure = f"{level} intervals"
    if not calibrated.any():
        sure += "; their coverage was not measured"
    else:
        known = np.atleast_1d(result["n"].values)[calibrated].max()
        until = "" if calibrated.all() else f" up to n = {known:g}"
        sure += f"; their coverage was measured for the mean{until}, not for single training sets"
    text = f"{_dataset(result)}{_whose(result)} is forecast to be {', '.join(parts)} ({sure})."
    return _capital(text)


_LINES = ("mean", "mean_low", "mean_high", "single_low", "single_high")


def _rows_needed(result: xr.Dataset) -> str:
    rows, low, high, largest = (
        float(result[name]) for name in ("rows", "rows_low", "rows_high", "largest")
    )
    target, level = result.attrs["target"], f"{100 * result.attrs['level']:g} % interval"
    who, about = _whose(result), _dataset(result)
    upper = f"{high:,.0f}" if np.isfinite(high) else f"beyond {largest:,.0f}"
    ends = f"{level}: {low:,.0f} to {upper} rows" if np.isfinite(low) else ""
    if result["answer"].item() == "beyond":
        text = f"{who} is not forecast to reach {target:g} and keep it by n = {largest:,.0f}"
        might = f"; it may from n = {low:,.0f} on ({level})" if np.isfinite(low) else ""
        if not might:
            might = f", nor is the better end of its {level}"
        return _capital(f"{about}{text}{might}.")
    verb = "reaches" if result["answer"].item() == "seen" else "is forecast to reach"
    keeps = "keeps" if verb == "reaches" else "to keep"
    return _capital(
        f"{about}{who} {verb} {target:g} at n = {rows:,.0f} and {keeps} it, as far as is seen and "
        f"forecast, to n = {largest:,.0f} ({ends})."
    )


_SENTENCES: dict[str, Callable[[xr.Dataset], str]] = {
    "aggregate": _aggregate,
    "compare": _compare,
    "halving": _early,
    "lccv": _early,
    "crossing": _crossing,
    "forecast": _forecast,
    "rows_needed": _rows_needed,
    "shape": _shape,
    "power": _power,
    "repetitions_for": _repetitions_for,
}
#: Which dims a sentence goes over.
_DIMS = {
    "aggregate": {"learner", "other"},
    "compare": {"n", "q"},
    "crossing": {"n"},
    "forecast": {"n", "model"},
    "rows_needed": set[str](),
    "halving": {"learner"},
    "lccv": {"learner"},
    "shape": set[str](),
    "power": {"repetitions"},
    "repetitions_for": set[str](),
}
