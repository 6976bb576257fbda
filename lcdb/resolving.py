"""Which cube is meant: by its key, or by id or name of its dataset and a scaling."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from numbers import Integral

from lcdb.cubefile import Header
from lcdb.errors import LabelError, did_you_mean
from lcdb.schema import EXPERIMENTS, SCALINGS
from lcdb.selection import Labels, as_list, check_scaling

__all__ = ["of_scaling", "resolve", "resolve_all"]

Headers = Mapping[int | str, Header]


def of_scaling(headers: Headers, scaling: str, place: str) -> dict[int | str, Header]:
    """Return the cubes of one scaling; of unscaled ones there may be none."""
    check_scaling(scaling)
    found = {key: header for key, header in headers.items() if header.scaling == scaling}
    if not found and scaling != "none":
        known = {header.scaling for header in headers.values()}
        msg = f"{place} has no cube of scaling {scaling!r}.{did_you_mean(scaling, known)}"
        raise LabelError(msg)
    return found


def resolve_all(
    headers: Headers,
    one: Callable[[object, str], int | str],
    datasets: int | str | Sequence[int | str] | None,
    scaling: Labels,
) -> list[int | str]:
    """Return the keys of datasets under scalings, in the order asked for, each once.

    Parameters
    ----------
    headers
        What there is, by key.
    one
        Returns the key of a dataset under a scaling.
    datasets
        Ids or names; None for all.
    scaling
        One, several, or None for all that there are.
    """
    known = {header.scaling for header in headers.values()}
    scalings = as_list(scaling) or [name for name in SCALINGS if name in known]
    for name in scalings:
        check_scaling(name)
    if datasets is None:
        return [key for key, header in headers.items() if header.scaling in scalings]
    several = datasets if isinstance(datasets, list | tuple) else [datasets]
    return list(dict.fromkeys(one(dataset, name) for dataset in several for name in scalings))


def resolve(
    headers: Headers, experiments: Container[str], dataset: object, scaling: str, place: str
) -> int | str:
    """Return the key of a cube, or raise LabelError with what there is.

    Parameters
    ----------
    headers, experiments
        What there is, by key.
    dataset
        Id or name of a dataset; or the key of the cube itself, such as ``"61-standard"``.
    scaling
        Of its features.
    place
        Where this is, for errors.
    """
    check_scaling(scaling)
    if isinstance(dataset, bool) or not isinstance(dataset, str | Integral):
        kind = type(dataset).__name__
        msg = f"dataset is {dataset!r}, a {kind}; expected one id or name, as 61 or 'iris'"
        raise LabelError(msg)
    text = str(dataset)
    if text in EXPERIMENTS:
        there = f"db[{text!r}] has its" if text in experiments else "it would have"
        msg = f"{text!r} is an experiment and has no learning curves: {there} trials"
        raise LabelError(msg)
    for key, header in headers.items():
        if str(key) == text and scaling in ("none", header.scaling):
            return key
    alike = _alike(headers, text)
    named = [key for key, header in alike.items() if header.scaling == scaling]
    if len(named) == 1:
        return named[0]
    if named:
        msg = f"dataset {text!r} is ambiguous: {named} have that name; use the id"
        raise LabelError(msg)
    if alike:
        there = ", ".join(f"{header.scaling!r} (db[{key!r}])" for key, header in alike.items())
        msg = f"dataset {text!r} is not in {place} with scaling {scaling!r}, but {there}"
        raise LabelError(msg)
    known = [*(header.name for header in headers.values()), *headers]
    msg = f"dataset {text!r} is not in {place}.{did_you_mean(text, known)}"
    raise LabelError(msg)


def _alike(headers: Headers, text: str) -> Headers:
    """Return the cubes of the dataset of that id; else those of that name."""
    by_id = {key: header for key, header in headers.items() if header.id == text}
    folded = text.casefold()
    return by_id or {key: one for key, one in headers.items() if one.name.casefold() == folded}
