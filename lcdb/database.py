"""A database directory as a mapping from dataset to cube: open it, and ask it for curves."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lcdb import display
from lcdb.cubefile import Header, dask_chunks
from lcdb.digests import draws_key
from lcdb.errors import (
    LabelError,
    LCDBError,
)
from lcdb.naming import check_names, cube_key
from lcdb.reasons import Reasons, status_table, tell_gaps
from lcdb.resolving import of_scaling, resolve, resolve_all
from lcdb.schema import STATUSES, UNIT_DIMS
from lcdb.selection import (
    Labels,
    as_list,
    at_sizes,
    check_label,
    check_labels,
    check_metric,
    check_where,
    positions,
    take,
    take_several,
)
from lcdb.source import source_of
from lcdb.tools import Recomputes
from lcdb.trials import TrialHeader

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Database", "Key", "open"]

#: An OpenML id, or a plan's own name for a file.
Key = int | str


def open(
    path: str | os.PathLike[str],
    *,
    chunks: Any = None,
    check: bool | None = None,
    cache: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Database:
    """Open a database directory, a cube or a summary of one, for reading; or one on a host.

    Only headers are read; arrays are read when they are used. Nothing is written or locked, and
    nothing beside the cubes is needed. Size and metadata of each file are compared with its
    manifest; a file without one is gone through by a process of its own, which may take a second.

    Of a URL the index is read, and ranges of cubes when they are used. Every range is compared with
    its checksum in the index.

    Parameters
    ----------
    path
        A directory that ``lcdb build`` made (its cubes are in ``cubes/``), or one ``.nc`` file; or
        the URL of one, ``https://…`` or any that fsspec knows (``s3://…``, with the extra
        ``remote``), where ``lcdb index`` has written an index. Or, where there is no such folder,
        the name of a database that ships, as commands take it: ``"reference"``, ``"tutorial"``.
    chunks
        None for plain arrays, best for slices. ``"auto"`` for dask arrays of whole curves; a dict
        from dim to chunk length for others.
    check
        True to compare values with their digests when they are read; False to compare nothing,
        for files that are known to be damaged; None for what takes no time.
    cache
        Of a URL: a folder in which to keep what is read; None to keep it in memory.
    storage_options
        Of a URL: credentials and the like as fsspec takes them; for http ``{"headers": {…}}``.

    Returns
    -------
    Database
        A mapping from dataset to `xarray.Dataset`; use it in a ``with`` statement, or close it.

    Raises
    ------
    NotFoundError, SchemaError, FormatVersionError, DamagedError
        There is no cube; a file is not one; a newer lcdb wrote it; its bytes are damaged.
    HostError, ReadError, StaleError
        Of a URL: the host cannot serve ranges; it does not answer; a cube was replaced meanwhile.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     curve = db.curve("iris", "LDC", metric="accuracy")
    ...     curve.dims
    ('n', 'repetition')
    """
    from lcdb.shipped import named

    path = named(path) if isinstance(path, str) else path
    return Database(path, chunks=chunks, check=check, cache=cache, storage_options=storage_options)


class Database(Recomputes, Mapping[Key, "xr.Dataset"]):
    """The cubes of one directory, by dataset.

    ``db[61]``, ``db["61"]`` and ``db["iris"]`` are the same `xarray.Dataset`, read lazily;
    ``db["61-standard"]`` is that of the same dataset with standardised features. So are
    experiments, as ``db["dse"]``: these hold trials and no curves, and are told by `experiments`
    instead of by iteration.

    Parameters
    ----------
    path, chunks, check, cache, storage_options
        As `lcdb.open` takes them.

    Examples
    --------
    >>> import lcdb
    >>> db = lcdb.tutorial()
    >>> "iris" in db, 61 in db, 62 in db
    (True, True, False)
    >>> db["iris"].sizes["n"]
    15
    >>> db.close()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        chunks: Any = None,
        check: bool | None = None,
        cache: str | os.PathLike[str] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        dask_chunks(chunks)  # a mistake is told now, not at the first use
        self.chunks, self.check = chunks, check
        self._source = source_of(path, chunks, check, cache, storage_options)
        #: The directory or file, or its URL.
        self.path = self._source.path
        self._experiments = self._source.experiments
        headers = self._source.headers
        if not headers:
            self.experiments  # noqa: B018  # nothing else is there: damage is told now
        if self._source.is_folder:
            check_names({head.path: cube_key(head.id, head.scaling) for head in headers})
        keyed = {header.key: header for header in headers}
        order = sorted(keyed, key=lambda key: (isinstance(key, str), key))
        self._headers = {key: keyed[key] for key in order}
        self._datasets: dict[Key, xr.Dataset] = {}
        self._trials: dict[str, xr.Dataset] = {}
        self._why: dict[Key, Reasons] = {}
        self._scaling = "none"
        self._life = {"closed": False}

    # -- mapping -------------------------------------------------------------------------------

    def __getitem__(self, dataset: object) -> xr.Dataset:
        """Return the cube of a dataset, by id or name, at the sizes of which there are values.

        Changing it leaves the database as it is. The file has every size from 1 to 0.7 N.
        An experiment's cube by its name, ``"dse"`` or ``"pendulum"``.
        """
        if isinstance(dataset, str) and dataset in self._experiments:
            return self._experiment(dataset).copy(deep=False)
        return self._dataset(self.resolve(dataset)).copy(deep=False)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)

    def __contains__(self, dataset: object) -> bool:
        if isinstance(dataset, str) and dataset in self._experiments:
            return True
        try:
            self.resolve(dataset)
        except LabelError:
            return False
        return True

    __eq__ = object.__eq__  # two open databases are not compared value by value
    __hash__ = object.__hash__

    def _ipython_key_completions_(self) -> list[Key]:
        """Return what may stand in the brackets: names, ids, experiments."""
        names = [header.name for header in self._headers.values()]
        return list(dict.fromkeys([*names, *self._headers, *self._experiments]))

    def resolve(self, dataset: object, scaling: str = "none") -> Key:
        """Return the key of a cube whose dataset is given by id (61, "61") or by name ("iris").

        Parameters
        ----------
        dataset
            Id or name; or the key itself, such as ``"61-standard"``.
        scaling
            Of the features: ``"none"``, ``"standard"`` or ``"minmax"``.
        """
        named = self._scaling if scaling == "none" else scaling
        return resolve(self._headers, self._experiments, dataset, named, str(self.path))

    def _check_open(self) -> None:
        if self._life["closed"]:
            msg = f"the database {self.path} is closed; open it again with lcdb.open"
            raise LCDBError(msg)

    def _experiment(self, name: str) -> xr.Dataset:
        self._check_open()
        if name not in self._trials:
            trials = self._source.open_trials(name)
            if "task" in trials.dims:  # in a trial all learners see the same data of a task
                trials = trials.assign_coords(draws=draws_key(name, trials.attrs["master_seed"]))
            self._trials[name] = trials
        return self._trials[name]

    def _dataset(self, key: Key) -> xr.Dataset:
        self._check_open()
        if key not in self._datasets:
            header, whole = self._source.open_cube(self._headers[key])
            built = at_sizes(whole, header.sizes)
            drawn = draws_key(whole.attrs["dataset_sha256"], whole.attrs["master_seed"])
            dataset = built.assign_coords(draws=drawn)
            dataset.set_close(whole.close)
            self._headers[key], self._datasets[key] = header, dataset
        return self._datasets[key]

    def scaled(self, scaling: str = "none") -> Database:
        """Return the same database, of which only the cubes of one scaling are seen.

        Everything that asks it for curves gets those: tables, figures and analyses of all datasets,
        which otherwise see unscaled features, and `curve` and `select`.

        Raises
        ------
        LabelError
            There is no cube of that scaling.

        Examples
        --------
        >>> import lcdb
        >>> with lcdb.tutorial() as db:
        ...     list(db.scaled("none"))
        [11, 61]
        """
        view = copy.copy(self)
        view._scaling = self._scaling if scaling == "none" else scaling
        view._headers = of_scaling(self._headers, view._scaling, str(self.path))
        return view

    # -- queries -------------------------------------------------------------------------------

    @property
    def headers(self) -> Mapping[Key, Header]:
        """What is known of each cube without reading its arrays."""
        return MappingProxyType(self._headers)

    @property
    def experiments(self) -> Mapping[str, TrialHeader]:
        """What is known of each experiment's cube without reading its trials, by name."""
        found = self._source.trial_headers()
        if self._source.is_folder:
            check_names({header.path: header.experiment for header in found.values()})
        return found

    def curve(
        self,
        dataset: Key,
        learner: str,
        *,
        sampling: str = "random",
        split: str = "varying",
        tuning: str = "default",
        scaling: str = "none",
        metric: str = "accuracy",
    ) -> xr.DataArray:
        """Return one curve: a metric by size and repetition, in float64, read when it is used.

        An accuracy is exactly the count of correct rows / the number of test rows, so that it can
        be compared with a number such as 0.95.

        The sizes are those that were built: a plan may have steps, and a tuned curve starts at 10.
        The coordinate `fraction` is n as a share of the largest size of the dataset, for comparing
        datasets of different length.

        Parameters
        ----------
        dataset
            Id or name.
        learner, sampling, split, tuning
            Labels. Unless given, training sets are drawn afresh for every size, and tested on all
            rows that were not drawn.
        scaling
            Of the features: ``"none"``, ``"standard"`` or ``"minmax"``. Curves under different
            scalings are paired: their repetitions have the same training and test rows.
        metric
            Which score.

        Raises
        ------
        LabelError
            A name does not exist.
        NotBuiltError
            The curve has no values: the message gives its status and the reason.

        Warns
        -----
        PartialCurveWarning
            Only a part was computed, whatever the reason; what is missing is NaN.

        Examples
        --------
        >>> import lcdb
        >>> with lcdb.tutorial() as db:
        ...     curve = db.curve(61, "LDC", metric="brier")
        ...     curve.sizes["n"], curve.attrs["direction"], float(curve.fraction[-1])
        (15, 'minimize', 1.0)
        """
        check_metric(metric)
        labels = (learner, sampling, split, tuning)
        for dim, label in zip(UNIT_DIMS, labels, strict=True):
            check_label(dim, label, "db.select")
        key = self.resolve(dataset, scaling)
        cube, header = self._dataset(key), self._headers[key]
        index = positions(header, dict(zip(UNIT_DIMS, labels, strict=True)))
        status = STATUSES[header.status[tuple(index.values())]]
        if status != "complete":
            # A curve without digest has no values: nothing of it was written.
            some = status != "not_built" and bool(cube["digest"].isel(index).item())
            reason = self._reasons(header).get((*labels, status), "")
            tell_gaps(header, labels, status, reason, some=some)
        return take(cube, header, index, metric)

    def _reasons(self, header: Header) -> Reasons:
        if header.key not in self._why:
            self._why[header.key] = self._source.reasons(header)
        return self._why[header.key]

    def select(
        self,
        datasets: Key | Sequence[Key] | None = None,
        *,
        learner: Labels = None,
        sampling: Labels = "random",
        split: Labels = "varying",
        tuning: Labels = None,
        scaling: Labels = "none",
        metric: str | list[str] | tuple[str, ...] = "accuracy",
    ) -> dict[Key, Any]:
        """Return the same part of several cubes, as one lazy array per dataset.

        Datasets differ in their sizes, so arrays are not put together here: reduce or select
        first, then `xarray.concat(..., dim="dataset")`.

        Parameters
        ----------
        datasets
            Ids or names; None for all that hold the labels asked for.
        learner, sampling, split, tuning
            One label (the dim goes), several (the dim stays, in that order) or None (all of it).
            Draws are those of `curve` unless given.
        scaling
            Of the features, as `curve` takes it: the cubes of one, of several, or of all (None).
        metric
            One of the four metrics, or a list of several: then there is an `xarray.Dataset` in
            the place of each array, with a variable for each.

        Returns
        -------
        dict
            By dataset, in float64 as `curve` has it, at the sizes that any of the curves was
            built at. The coordinate `status` says which curves are complete; those that were not
            built are NaN.

        Examples
        --------
        >>> import lcdb
        >>> import xarray as xr
        >>> with lcdb.tutorial() as db:
        ...     curves = db.select(learner=["LDC", "QDC"], tuning="default")
        ...     last = [curve.isel(n=-1).mean("repetition") for curve in curves.values()]
        ...     xr.concat(last, dim="dataset", coords="minimal", compat="override").sizes["learner"]
        2
        """
        metrics = list(metric) if isinstance(metric, list | tuple) else [metric]
        for name in metrics:
            check_metric(name)
        where = dict(zip(UNIT_DIMS, (learner, sampling, split, tuning), strict=True))
        check_where(where)
        scaling = self._scaling if scaling == "none" else scaling
        keys = resolve_all(self._headers, self.resolve, datasets, scaling)
        lenient = datasets is None
        if lenient:
            check_labels([self._headers[key] for key in keys], where, str(self.path))
        parts: dict[Key, Any] = {}
        for key in keys:
            cube, header = self._dataset(key), self._headers[key]
            try:
                index = positions(header, where, lenient=lenient)
            except LabelError:
                if not lenient:
                    raise
                continue
            if isinstance(metric, str):
                parts[key] = take(cube, header, index, metric)
            else:
                parts[key] = take_several(cube, header, index, metrics)
        return parts

    def best(
        self,
        n: int | None = None,
        by: str | float | Sequence[str | float] = ("mean", 0.05),
        *,
        datasets: Key | Sequence[Key] | None = None,
        learner: Labels = None,
        sampling: str = "random",
        split: str = "varying",
        tuning: str = "default",
        scaling: str = "none",
        metric: str = "accuracy",
        **options: Any,
    ) -> pd.DataFrame:
        """Return which learner is first on each dataset, by how much, and whether that is settled.

        Of summaries it says who is first and by how much; what is settled takes the repetitions.

        Parameters
        ----------
        n
            Number of training rows: the nearest size that there is, at most a fifth away; the last
            of each dataset unless given.
        by
            ``"mean"``, a quantile of the bad end such as 0.05, or several of these.
        datasets
            Ids or names; None for all that hold the labels.
        learner
            Whom to compare; all unless given.
        sampling, split, tuning, scaling, metric
            Labels, as `curve` takes them.
        **options
            As `lcdb.analysis.best` takes them: alpha, resamples, seed, direction.

        Returns
        -------
        pandas.DataFrame
            A row for each dataset and `by`, as `lcdb.analysis.best` returns it.

        Examples
        --------
        >>> import lcdb
        >>> with lcdb.tutorial() as db:
        ...     table = db.best(by="mean")
        >>> table[["name", "n", "first", "second"]].values.tolist()
        [['balance-scale', 437, 'QDC', 'LDC'], ['iris', 105, 'LDC', 'QDC']]
        """
        from lcdb.analysis import best

        check_metric(metric)
        labels = {"learner": learner, "sampling": sampling, "split": split, "tuning": tuning}
        check_where(labels)
        scaling = self._scaling if scaling == "none" else scaling
        keys = resolve_all(self._headers, self.resolve, datasets, scaling)
        check_labels([self._headers[key] for key in keys], labels, str(self.path))
        asked = {dim: as_list(some) for dim, some in labels.items()}
        parts: dict[Key, Any] = {}
        for key in keys:
            header = self._headers[key]
            if datasets is None and not all(
                set(some) & set(header.labels[dim]) or not some for dim, some in asked.items()
            ):
                continue
            whom = [name for name in asked["learner"] if name in header.labels["learner"]]
            chosen = {**labels, "learner": whom or list(header.labels["learner"])}
            if header.is_summary:
                parts[key] = self._dataset(key).sel({**chosen, "metric": metric})
            else:
                parts |= self.select([key], **chosen, scaling=header.scaling, metric=metric)
        return best(parts, n, by, **options)

    def status(self) -> pd.DataFrame:
        """Return one row per curve (without metric): labels, status, and the reason if known.

        Examples
        --------
        >>> import lcdb
        >>> with lcdb.tutorial() as db:
        ...     table = db.status()
        >>> list(table.columns)
        ['dataset', 'name', 'learner', 'sampling', 'split', 'tuning', 'status', 'reason']
        """
        return status_table(self._headers, self._reasons)

    def to_datatree(self) -> xr.DataTree:
        """Return all cubes as one tree, a node per dataset, lazily.

        Examples
        --------
        >>> import lcdb
        >>> with lcdb.tutorial() as db:
        ...     tree = db.to_datatree()
        ...     sorted(tree.children)[-1], tree["61"]["accuracy"].dims[-1]
        ('61', 'repetition')
        """
        import xarray as xr

        nodes = {str(key): self[key] for key in self}
        return xr.DataTree.from_dict(nodes, name=self.path.name)

    # -- life and looks ------------------------------------------------------------------------

    def close(self) -> None:
        """Close every cube; arrays that were handed out open their file again if they have to."""
        for dataset in (*self._datasets.values(), *self._trials.values()):
            dataset.close()
        self._datasets.clear()
        self._trials.clear()
        self._life["closed"] = True

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return display.as_text(self)

    def _repr_html_(self) -> str:
        return display.as_html(self)
