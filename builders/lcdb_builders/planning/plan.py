"""Plans: a TOML file says what a database is to hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from lcdb import schema
from lcdb.errors import DatasetError, LabelError, NotFoundError, PlanError, did_you_mean
from lcdb_builders.domain.unit import DRAWS, canonical_json
from lcdb_builders.learners.constructing import STEPS, step_names
from lcdb_builders.planning.config import check, check_extent, read_toml
from lcdb_builders.planning.sizes import training_sizes
from lcdb_builders.sources.catalog import expected
from lcdb_builders.sources.files import FileSource, check_id

__all__ = [
    "DatasetSpec",
    "LearnerSpec",
    "Plan",
    "load_plan",
    "shipped_plans",
]


#: Samplings of a plan that names none.
_DEFAULT_SAMPLINGS = tuple(row.name for row in schema.SAMPLING_ROWS.values() if row.is_default)


@dataclass(frozen=True)
class DatasetSpec:
    """One dataset of a plan: an OpenML id, or a local file under a name of its own.

    Parameters
    ----------
    id
        Name of its cube.
    file
        What the plan says of the file; empty for OpenML's datasets.
    """

    id: str
    file: Mapping[str, Any]

    def as_json(self) -> Any:
        """Return what a plan file has in this place."""
        return {"id": self.id, **self.file} if self.file else int(self.id)

    def source(self, folder: Path) -> int | FileSource:
        """Return what `lcdb_builders.sources.obtain` takes; a file's path starts at the folder."""
        if not self.file:
            return int(self.id)
        options: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in self.file.items()
            if key != "file"
        }
        return FileSource(id=self.id, path=folder / self.file["file"], **options)


@dataclass(frozen=True)
class LearnerSpec:
    """One learner of a plan: a registered name, or classes from elsewhere, and its parameters.

    Parameters
    ----------
    name
        Label in cubes.
    estimator
        Path of a class, or those of a pipeline's steps; empty for registered learners.
    params
        Parameters; of a pipeline's steps under ``step__parameter``.
    tuning
        What is tuned from what.
    steps
        A pipeline as the plan has it.
    from_n
        The first size; 0 for all that the plan has.
    rows_per_class
        How many rows each class drawn must have.
    """

    name: str
    estimator: str
    params: Mapping[str, Any]
    tuning: Mapping[str, Any]
    steps: tuple[Any, ...] = ()
    from_n: int = 0
    rows_per_class: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return what a plan file has in this place."""
        shown: dict[str, Any] = dict(self.params)
        if self.steps:
            shown = {"steps": [list(step) for step in self.steps]}
        elif self.estimator:
            shown = {"estimator": self.estimator, "params": shown}
        for key in ("from_n", "rows_per_class"):
            if getattr(self, key):
                shown[key] = getattr(self, key)
        return shown | ({"tuning": dict(self.tuning)} if self.tuning else {})


@dataclass(frozen=True)
class Plan:
    """What a database is to hold: every combination of its lists.

    Examples
    --------
    >>> plan = load_plan({"datasets": [61], "learners": ["LDC", "NNC"], "repetitions": 50})
    >>> plan.samplings, plan.splits, plan.repetitions
    (('additive', 'random', 'bootstrap'), ('fixed', 'varying'), 50)
    """

    name: str
    title: str
    datasets: tuple[DatasetSpec, ...]
    learners: tuple[LearnerSpec, ...]
    samplings: tuple[str, ...]
    splits: tuple[str, ...]
    tunings: tuple[str, ...]
    tuned: Mapping[str, Any]
    sizes: Any
    repetitions: int
    seed: int
    scalings: tuple[str, ...]
    tie: str
    folder: Path

    @cached_property
    def content(self) -> dict[str, Any]:
        """Everything the plan says, defaults included, as a JSON-able dict."""
        return {
            "title": self.title,
            "datasets": [dataset.as_json() for dataset in self.datasets],
            "learners": {learner.name: learner.as_json() for learner in self.learners},
            "samplings": list(self.samplings),
            "splits": list(self.splits),
            "tunings": list(self.tunings),
            **({"tuned": dict(self.tuned)} if self.tuned else {}),
            "sizes": self.sizes,
            "repetitions": self.repetitions,
            "seed": self.seed,
            "scalings": list(self.scalings),
            "tie": self.tie,
        }

    def dataset(self, wanted: object) -> DatasetSpec:
        """Return the dataset of that id, or raise with the closest one."""
        for dataset in self.datasets:
            if dataset.id == str(wanted):
                return dataset
        known = [dataset.id for dataset in self.datasets]
        msg = f"the plan has no dataset {str(wanted)!r}.{did_you_mean(wanted, known)}"
        raise LabelError(msg)

    def named_dataset(self, wanted: object) -> DatasetSpec:
        """Return a dataset by id, or by name if it is one of the ten."""
        by_name = {entry.name: entry.id for entry in expected().values()}
        return self.dataset(by_name.get(str(wanted), wanted))

    def named_datasets(self, wanted: Iterable[object]) -> tuple[DatasetSpec, ...]:
        """Return datasets by id or name, each once.

        Examples
        --------
        >>> plan = load_plan({"datasets": [61, 11], "learners": ["LDC"]})
        >>> [dataset.id for dataset in plan.named_datasets(["iris", 61])]
        ['61']
        """
        return tuple({dataset.id: dataset for dataset in map(self.named_dataset, wanted)}.values())

    def learner(self, wanted: str) -> LearnerSpec:
        """Return the learner of that name, or raise with the closest one."""
        for learner in self.learners:
            if learner.name == wanted:
                return learner
        known = [learner.name for learner in self.learners]
        msg = f"the plan has no learner {wanted!r}.{did_you_mean(wanted, known)}"
        raise LabelError(msg)

    def with_repetitions(self, repetitions: int) -> Plan:
        """Return the plan with another number of repetitions."""
        check({**self.content, "repetitions": repetitions}, "plan", self.name)
        return replace(self, repetitions=repetitions)


def shipped_plans() -> dict[str, str]:
    """Return the titles of the plans that ship with lcdb, by name."""
    folder = files("lcdb.data") / "plans"
    titles = {}
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.name.endswith(".toml"):
            with as_file(entry) as path:
                titles[entry.name.removesuffix(".toml")] = str(read_toml(path).get("title", ""))
    return titles


def load_plan(source: str | Path | Mapping[str, Any] | Plan) -> Plan:
    """Return a validated plan.

    Parameters
    ----------
    source
        Path of a TOML file, name of a shipped plan (``"demo"``), or the content as a mapping.
    """
    if isinstance(source, Plan):
        return source
    if isinstance(source, Mapping):
        return _checked(source, "plan", "plan", Path.cwd())
    path = Path(source)
    if path.suffix != ".toml" and not path.is_file():
        return _shipped(str(source))
    return _checked(read_toml(path), path.name, path.stem, path.resolve().parent)


def _shipped(name: str) -> Plan:
    entry = files("lcdb.data") / "plans" / f"{name}.toml"
    if not name.isidentifier() or not entry.is_file():
        hint = did_you_mean(name, shipped_plans())
        msg = f"{name!r} is neither a file nor a shipped plan.{hint} A file's name ends in .toml."
        raise NotFoundError(msg)
    with as_file(entry) as path:
        return _checked(read_toml(path), f"plan {name}", name, path.parent)


def _checked(content: Mapping[str, Any], where: str, name: str, folder: Path) -> Plan:
    check_extent(content, where)
    try:
        check(content, "plan", where)
    except PlanError as error:
        hints = _misspelt_learners(content)
        if not hints:
            raise
        msg = f"{error} Also: {' '.join(hints)}"
        raise PlanError(msg) from error
    try:
        plan = _plan(content, name, folder)
        # Any N shows whether the rule itself can be read.
        training_sizes(plan.sizes, 10**4)
        canonical_json(plan.content)
    except PlanError as error:
        msg = f"{where}: {error}"
        raise PlanError(msg) from error
    except ValueError as error:
        msg = f"{where}: a number is infinite or not a number; expected finite ones"
        raise PlanError(msg) from error
    return plan


def _misspelt_learners(content: Mapping[str, Any]) -> list[str]:
    """Return what is to be said of names that are nobody's, beside another fault of a plan."""
    from lcdb_builders.learners import registry

    entries = content.get("learners")
    if isinstance(entries, Mapping):
        other = {name for name, table in entries.items() if not isinstance(table, Mapping) or table}
        entries = [name for name in entries if name not in other]
    hints = []
    for name in entries if isinstance(entries, list) else []:
        try:
            registry.get(str(name))
        except LabelError as error:
            hints.append(str(error))
    return hints


def _plan(content: Mapping[str, Any], name: str, folder: Path) -> Plan:
    def labels(key: str, default: tuple[str, ...], order: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(content.get(key, default), key=order.index))

    return Plan(
        name=name,
        title=content.get("title", name),
        datasets=_datasets(content["datasets"]),
        learners=_learners(content["learners"]),
        samplings=labels("samplings", _DEFAULT_SAMPLINGS, schema.SAMPLINGS),
        splits=labels("splits", ("fixed", "varying"), schema.SPLITS),
        tunings=labels("tunings", ("default",), schema.TUNINGS),
        tuned=_tuned(content),
        sizes=content.get("sizes", "all"),
        repetitions=content.get("repetitions", 1000),
        seed=content.get("seed", 1),
        scalings=labels("scalings", ("none",), schema.SCALINGS),
        tie=content.get("tie", "nearest_default"),
        folder=folder,
    )


def _tuned(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a plan says of its tuned curves, after checking that it has such curves."""
    rules = content.get("tuned", {})
    if rules and "tuned" not in content.get("tunings", ()):
        msg = 'tuned is there, but tunings has no "tuned"; expected both or none'
        raise PlanError(msg)
    for sampling in rules.get("samplings", ()):
        if sampling not in content.get("samplings", _DEFAULT_SAMPLINGS):
            msg = (
                f"tuned.samplings has {sampling!r}, which samplings has not; expected some of them"
            )
            raise PlanError(msg)
    return rules


def _datasets(entries: Iterable[Any]) -> tuple[DatasetSpec, ...]:
    specs: dict[str, DatasetSpec] = {}
    for entry in entries:
        spec = (
            DatasetSpec(entry["id"], {k: v for k, v in entry.items() if k != "id"})
            if isinstance(entry, Mapping)
            else DatasetSpec(_id_of(entry), {})
        )
        if spec.file:
            _check_id(spec.id)
        if spec.id.casefold() in specs:
            msg = f"datasets has {spec.id} twice; expected every id once"
            raise PlanError(msg)
        specs[spec.id.casefold()] = spec
    return tuple(specs.values())


def _id_of(entry: int | str) -> str:
    """Return the id of a dataset of OpenML, which a plan may also name if it is one of the ten."""
    if isinstance(entry, int):
        return str(entry)
    by_name = {known.name: known.id for known in expected().values()}
    if entry not in by_name:
        msg = (
            f"datasets has {entry!r}; expected an OpenML id, a name of the ten, or a table that "
            f"names a file.{did_you_mean(entry, by_name)}"
        )
        raise PlanError(msg)
    return by_name[entry]


def _check_id(id: str) -> None:
    try:
        check_id(id)
    except DatasetError as error:
        msg = f"datasets: {error}"
        raise PlanError(msg) from error


def _learners(entries: Any) -> tuple[LearnerSpec, ...]:
    tables: Mapping[str, Mapping[str, Any]]
    tables = entries if isinstance(entries, Mapping) else {name: {} for name in entries}
    if len({name.casefold() for name in tables} | {DRAWS}) != len(entries) + 1:
        msg = f"learners has a name twice, or {DRAWS!r}, which is taken; expected other names"
        raise PlanError(msg)
    return tuple(_learner(name, tables[name]) for name in schema.learner_order(set(tables)))


# Keys of a learner's table that are no parameters.
_KEYS = ("estimator", "steps", "params", "tuning", "from_n", "rows_per_class")


def _learner(name: str, table: Mapping[str, Any]) -> LearnerSpec:
    rest = {k: v for k, v in table.items() if k not in _KEYS}
    estimator, steps = table.get("estimator", ""), table.get("steps", [])
    foreign = "steps" if steps else "estimator" if estimator else ""
    if estimator and steps:
        msg = f"learners.{name} has both estimator and steps; expected one of them"
        raise PlanError(msg)
    if foreign and rest:
        key = next(iter(rest))
        where = "the table of its step" if steps else "params"
        msg = f"learners.{name}.{key} is not a key beside {foreign}; put it into {where}"
        raise PlanError(msg)
    if not estimator and "params" in table:
        what = "belongs into the tables of its steps" if steps else "needs an estimator"
        msg = f"learners.{name}.params {what}; write its parameters without params"
        raise PlanError(msg)
    if foreign and name in schema.LEARNERS:
        msg = f"learners.{name} is a built-in learner; an estimator needs a name of its own"
        raise PlanError(msg)
    if "rows_per_class" in table and not foreign:
        msg = f"learners.{name}.rows_per_class needs an estimator; built-in learners take any rows"
        raise PlanError(msg)
    params = table.get("params", {}) if estimator else rest
    if steps:
        estimator, params = _pipeline(name, steps)
    return LearnerSpec(
        name,
        estimator,
        params,
        table.get("tuning", {}),
        tuple(tuple(step) for step in steps),
        table.get("from_n", 0),
        table.get("rows_per_class", 0),
    )


def _pipeline(name: str, steps: Sequence[Sequence[Any]]) -> tuple[str, dict[str, Any]]:
    """Return the path that names all steps, and parameters under their steps' names."""
    pairs = []
    for place, step in enumerate(steps):
        path, params, *more = [*step, {}, {}][: max(2, len(step))]
        if not isinstance(path, str) or not isinstance(params, Mapping) or more:
            msg = (
                f"learners.{name}.steps[{place}] is {list(step)!r}; expected a path and a table of "
                'parameters, such as ["sklearn.svm.SVC", { C = 10.0 }]'
            )
            raise PlanError(msg)
        pairs.append((path, params))
    names = step_names(path for path, _ in pairs) if len(pairs) > 1 else [""]
    flat = {
        f"{own}__{key}" if own else key: value
        for own, (_, params) in zip(names, pairs, strict=True)
        for key, value in params.items()
    }
    return STEPS.join(path for path, _ in pairs), flat
