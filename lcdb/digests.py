"""Digests of what a cube holds: of a curve's values, and of what they are values of.

A slice is one variable of one unit (a curve, the draws that curves share, or a part of an
experiment). Its digest is of the decoded values and of the unit's key, so that right numbers under
a wrong label are found, too. Units are given as the plan of a cube and its manifest describe them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from lcdb.schema.tables import KEY_VERSION

__all__ = [
    "built_sizes",
    "canonical_json",
    "draws_key",
    "plan_units",
    "size_runs",
    "slice_digest",
    "unit_digest",
    "unit_key",
    "unit_sizes",
]

Description = Mapping[str, Any]


def canonical_json(value: Any) -> str:
    """Return JSON text that is the same for equal values: sorted keys, no spaces, no NaN.

    Examples
    --------
    >>> canonical_json({"b": 1, "a": [2]})
    '{"a":[2],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _sha256(value: Any) -> str:
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def draws_key(data: str, seed: object) -> str:
    """Return the coordinate ``draws``: what rows are drawn from, and by which seed.

    Two curves with the same key, sampling, split and n have the same training and test rows in a
    repetition; `lcdb.analysis` pairs no others.

    Parameters
    ----------
    data
        Digest of the unscaled data; the name of an experiment.
    seed
        Master seed; the digest of splits that were given.

    Examples
    --------
    >>> draws_key("005270c0da6f0ebf3bc344072940ef29", 2026)
    '005270c0da6f/2026'
    """
    return f"{data[:12]}/{seed}"


def unit_sizes(unit: Description) -> np.ndarray:
    """Return the training sizes of a curve, ascending.

    Examples
    --------
    >>> unit_sizes({"sizes": [[1, 3, 1], [10, 30, 10]]}).tolist()
    [1, 2, 3, 10, 20, 30]
    """
    runs = [np.arange(first, last + 1, step) for first, last, step in unit["sizes"]]
    return np.concatenate(runs)


def size_runs(sizes: Iterable[int]) -> list[list[int]]:
    """Return ascending sizes as [first, last, step] runs.

    Examples
    --------
    >>> size_runs([1, 2, 3, 10, 20, 30, 31])
    [[1, 3, 1], [10, 30, 10], [31, 31, 1]]
    """
    steps: list[list[int]] = []
    for n in sizes:
        if steps:
            first, last, step = steps[-1]
            if first == last:
                steps[-1] = [first, n, n - first]
                continue
            if n == last + step:
                steps[-1][1] = n
                continue
        steps.append([n, n, 1])
    return steps


def built_sizes(
    plan: Description, digests: np.ndarray, labels: Mapping[str, tuple[str, ...]], largest: int
) -> np.ndarray:
    """Return the training sizes of all curves of a cube that have values, ascending.

    Parameters
    ----------
    plan
        Of the cube.
    digests
        The cube's table of them: empty where nothing of a curve was written.
    labels
        Of the table's dims. Without any value, the sizes that the plan asks for are returned.
    largest
        The last size of the cube.
    """
    built, planned = {}, {}
    for unit in plan_units(plan):
        sizes = planned[str(unit["sizes"])] = unit["sizes"]
        if not all(0 < first <= last <= largest and step > 0 for first, last, step in sizes):
            msg = f"its plan asks for sizes that are not from 1 to {largest}"
            raise ValueError(msg)
        if unit["learner"] == "draws":
            continue
        if any(unit[dim] not in names for dim, names in labels.items()):
            continue  # a label was edited: the table has nothing of this curve
        where = tuple(names.index(unit[dim]) for dim, names in labels.items())
        if digests[where]:
            built[str(unit["sizes"])] = sizes
    if not planned:
        msg = "its plan asks for no curve"
        raise ValueError(msg)
    found = [unit_sizes({"sizes": sizes}) for sizes in (built or planned).values()]
    return np.unique(np.concatenate(found))


def unit_key(unit: Description) -> str:
    """Return the digest of all that the numbers of a unit depend on."""
    if "experiment" in unit:
        return _sha256(
            {
                "format_version": KEY_VERSION,
                "experiment": unit["experiment"],
                "labels": list(unit["labels"]),
                "seed": unit["master_seed"],
                "implementation": unit["implementation"],
                "params": canonical_json(unit["params"]),
                "data_sha256": unit["data_sha256"],
                "length": unit["length"],
            }
        )
    rule = unit.get("tuning_rule")
    more = {name: unit[name] for name in ("scaling", "rows_per_class") if name in unit}
    return _sha256(
        more
        | {
            "format_version": KEY_VERSION,
            "dataset_sha256": unit["dataset_sha256"],
            "seed": unit["master_seed"],
            "learner": unit["learner"],
            "estimator": unit.get("estimator", ""),
            "params": canonical_json(unit["params"]),
            "implementation": unit["implementation"],
            "sampling": unit["sampling"],
            "split": unit["split"],
            "tuning": unit["tuning"],
            "tuning_rule": "" if rule is None else canonical_json(rule),
            "sizes": unit_sizes(unit).tolist(),
        }
    )


def slice_digest(key: str, variable: str, values: np.ndarray) -> str:
    """Return the digest of one variable of a unit.

    Parameters
    ----------
    key
        `unit_key` of the unit.
    variable
        Name of the variable.
    values
        Array (sizes of the unit, repetitions of the cube), or (1, trials, steps of the part).
    """
    stored = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    digest = hashlib.sha256(canonical_json([key, variable, list(stored.shape)]).encode())
    digest.update(stored.data)
    return digest.hexdigest()


def unit_digest(digests: Mapping[str, str]) -> str:
    """Return the digest of a unit from those of its variables."""
    return _sha256(dict(digests))


def plan_units(plan: Description) -> Iterator[dict[str, Any]]:
    """Yield the units that the plan of a cube speaks of.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     plan = json.loads(db["iris"].attrs["plan"])
    >>> units = list(plan_units(plan))
    >>> len(units), units[0]["learner"], units[0]["sampling"]
    (30, 'draws', 'additive')
    """
    if "experiment" in plan:
        shared: dict[str, Any] = {key: plan[key] for key in ("experiment", "master_seed")}
        yield from ({**shared, **part} for part in plan["parts"])
        return
    keys = ("dataset_sha256", "master_seed", "scaling")
    shared = {key: plan[key] for key in keys if key in plan}
    for curve in plan["curves"]:
        draws: Iterable[tuple[str, str]] = curve["draws"]
        for sampling, split in draws:
            yield {**shared, **curve, "sampling": sampling, "split": split}
