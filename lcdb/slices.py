"""Values compared with their digests when they are read: what `lcdb.open(..., check=True)` does.

A checksum of HDF5 finds a damaged chunk, and the manifest damaged metadata. What is left are chunks
that are whole and not what was written there, such as two that a failing disk has swapped: these
are told by digests of decoded values alone.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from lcdb.digests import plan_units, slice_digest, unit_digest, unit_key, unit_sizes
from lcdb.errors import DamagedError, StaleError
from lcdb.manifest import Record, Stamp, stamp_of
from lcdb.schema import EXPERIMENTS, METRICS, UNIT_DIMS, VARIABLES, Variable
from lcdb.schema.experiments import TRIAL

__all__ = ["Slices", "variables_of"]

_DRAWS = "draws"
#: Where a slice is: name of the variable, and positions along its dims of labels.
Place = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class _Unit:
    """What a unit's slices must be.

    Parameters
    ----------
    described
        The unit, as a manifest describes it.
    places
        Of its slices, by variable.
    digests
        By variable, as far as they are known one by one.
    digest
        Of all of them together; both empty where nothing of the unit was written.
    status
        As in the cube; empty of draws, which have none.
    """

    described: Mapping[str, Any]
    places: Mapping[str, Place]
    digests: Mapping[str, str]
    digest: str
    status: str


@dataclass
class Slices:
    """The digests of a cube's slices, each compared the first time that something of it is read.

    Parameters
    ----------
    path, stamp
        The file, and what it was when its digests were looked up.
    labels
        By dim of labels.
    units
        By place of each of their slices.
    """

    path: Path
    stamp: Stamp
    labels: Mapping[str, tuple[str, ...]]
    units: Mapping[Place, _Unit]
    _right: set[Place] = field(default_factory=set)

    @classmethod
    def of(cls, path: Path, stamp: Stamp, file: h5py.File, record: Record | None) -> Slices:
        """Return what a manifest says of a cube's slices; what the cube itself says without one."""
        plan = json.loads(file.attrs["plan"])
        experiment = EXPERIMENTS.get(str(plan.get("experiment", "")))
        dims = experiment.dims if experiment else UNIT_DIMS
        labels = {dim: tuple(file[dim].asstr()[...].tolist()) for dim in dims}
        known = _recorded(record) if record is not None else _own(file, plan, labels)
        units: dict[Place, _Unit] = {}
        for described, digests, digest, status in known:
            places = {
                variable.name: (variable.name, _position(described, variable, labels))
                for variable in variables_of(described)
            }
            unit = _Unit(described, places, digests, digest, status)
            units |= dict.fromkeys(places.values(), unit)
        return cls(path, stamp, labels, units)

    def compare(self, file: h5py.File, name: str, key: tuple[Any, ...]) -> None:
        """Compare every slice of which an index of a variable takes something.

        Raises
        ------
        DamagedError, StaleError
            Values are not what was written; the cube was replaced since it was opened.
        """
        variable = _every(self.labels).get(name)
        if variable is None:
            return
        lengths = [len(self.labels[dim]) for dim in variable.dims if dim in self.labels]
        chosen = zip(lengths, key, strict=False)
        ranges = (np.atleast_1d(np.arange(length)[one]).tolist() for length, one in chosen)
        for position in itertools.product(*ranges):
            if (name, position) not in self._right:
                self._compare(file, (name, position), variable)

    def _compare(self, file: h5py.File, place: Place, variable: Variable) -> None:
        unit = self.units.get(place)
        if unit is None or not (unit.digests or unit.digest):
            right = _is_empty(file[place[0]][place[1]], variable)
            right = right and (unit is None or unit.status != "complete")
            checked = [place]
        elif unit.digests:
            values = _values(file, unit, place)
            told = unit.digests.get(place[0])
            key = unit_key(unit.described)
            right = values is not None and slice_digest(key, place[0], values) == told
            checked = [place]
        else:
            right, checked = self._whole_unit(file, unit), list(unit.places.values())
        if not right:
            raise self._error(place)
        self._right.update(checked)

    def _whole_unit(self, file: h5py.File, unit: _Unit) -> bool:
        """Return whether all slices of a unit have the digest that the cube has of them."""
        key, digests = unit_key(unit.described), {}
        for name, place in unit.places.items():
            values = _values(file, unit, place)
            if values is None:
                return False
            digests[name] = slice_digest(key, name, values)
            if name == "n_clipped" and (unit.status == "complete") != bool((values >= 0).all()):
                return False
        return unit_digest(digests) == unit.digest

    def _error(self, place: Place) -> Exception:
        name, position = place
        dims = [dim for dim in _every(self.labels)[name].dims if dim in self.labels]
        label = "/".join(self.labels[dim][i] for dim, i in zip(dims, position, strict=True))
        try:
            replaced = stamp_of(self.path.stat()) != self.stamp
        except OSError:
            replaced = True
        if replaced:
            msg = f"{self.path} was replaced since it was opened: open the database again"
            return StaleError(msg)
        msg = (
            f"{self.path}: {name} of {label} is not what was written: the file is damaged; "
            "'lcdb build' with the plan of its database computes it again"
        )
        return DamagedError(msg)


def _every(labels: Mapping[str, Any]) -> Mapping[str, Variable]:
    """Return the variables of the kind of cube that has such dims."""
    for experiment in EXPERIMENTS.values():
        if set(experiment.dims) == set(labels):
            return experiment.variables
    return VARIABLES


def variables_of(unit: Mapping[str, Any]) -> tuple[Variable, ...]:
    """Return the variables that hold a unit's values."""
    if "experiment" in unit:
        return EXPERIMENTS[unit["experiment"]].part_variables(unit["labels"])
    if unit["learner"] == _DRAWS:
        return VARIABLES["n_test"], VARIABLES["n_classes_train"]
    names = [*METRICS, "n_clipped"]
    if unit["tuning"] == "tuned":
        names += [name for name in VARIABLES if name.startswith("choice_")]
    return tuple(VARIABLES[name] for name in names)


def _position(
    unit: Mapping[str, Any], variable: Variable, labels: Mapping[str, tuple[str, ...]]
) -> tuple[int, ...]:
    """Return where a unit is along the dims of labels of a variable."""
    own = dict(zip(labels, unit["labels"], strict=True)) if "experiment" in unit else unit
    return tuple(labels[dim].index(own[dim]) for dim in variable.dims if dim in labels)


Known = tuple[Mapping[str, Any], Mapping[str, str], str, str]


def _recorded(record: Record) -> Iterator[Known]:
    for one in record.units:
        draws = one["unit"].get("learner") == _DRAWS
        yield one["unit"], one["digests"], "", "" if draws else one["status"]


def _own(
    file: h5py.File, plan: Mapping[str, Any], labels: Mapping[str, tuple[str, ...]]
) -> Iterator[Known]:
    """Yield what a cube itself says of its units."""
    codes = file["status"][...]
    meanings = str(file["status"].attrs["flag_meanings"]).split()
    for unit in plan_units(plan):
        draws = unit.get("learner") == _DRAWS
        table = "draws_digest" if draws else "digest"
        dims = ("sampling", "split") if draws else tuple(labels)
        own = dict(zip(labels, unit["labels"], strict=True)) if "experiment" in unit else unit
        where = tuple(labels[dim].index(own[dim]) for dim in dims)
        status = "" if draws else meanings[codes[where]]
        yield unit, {}, file[table].asstr()[where], status


def _values(file: h5py.File, unit: _Unit, place: Place) -> np.ndarray | None:
    """Return the values that a digest is of; None if there are some outside of the unit."""
    variable = next(v for v in variables_of(unit.described) if v.name == place[0])
    whole = file[place[0]][place[1]]
    if "experiment" in unit.described:
        if variable.dims[-1] != TRIAL:
            length = unit.described["length"]
            if not _is_empty(whole[:, length:], variable):
                return None
            whole = whole[:, :length]
        return whole[None]
    sizes = unit_sizes(unit.described) - 1
    outside = np.ones(len(whole), bool)
    outside[sizes] = False
    return whole[sizes] if _is_empty(whole[outside], variable) else None


def _is_empty(values: np.ndarray, variable: Variable) -> bool:
    return bool((np.isnan(values) if values.dtype.kind == "f" else values == variable.empty).all())
