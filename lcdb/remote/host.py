"""A database on a host: its headers come with one request, a cube's index with its first use."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from lcdb._version import __version__
from lcdb.cubefile import Header, dask_chunks
from lcdb.digests import built_sizes, size_runs
from lcdb.errors import DamagedError, FormatVersionError, LCDBError, NotFoundError, StaleError
from lcdb.naming import cube_key
from lcdb.reasons import Reasons
from lcdb.remote.address import Address
from lcdb.remote.chunks import Table
from lcdb.remote.diskcache import DiskCache
from lcdb.remote.format import CUBE_INDEX, FOLDER_INDEX, INDEX_NAME, decode, index_name, unsound
from lcdb.remote.ranges import Memory, Reader
from lcdb.remote.store import RemoteStore
from lcdb.remote.transport import Policy, Transport, transport_for
from lcdb.schema import EXPERIMENTS, FORMAT_VERSION, UNIT_DIMS, validate
from lcdb.text import visible
from lcdb.trials import TrialHeader

__all__ = ["Host"]

#: An index of more bytes is none: a cube of 33,000 chunks has 300 kB.
_LARGEST = 256 << 20
# Bytes of a training size and of a repetition in a cube, where coordinates are stored as they are.
_COORDINATE = 4


class Host:
    """A database directory, or one cube file, that is given by a URL.

    Parameters
    ----------
    url
        Of a directory with ``index.json``, or of a cube (``….nc``) with its index beside it.
    chunks, check
        As `lcdb.open` takes them.
    cache
        A folder in which to keep what is read.
    options
        For the transport: credentials and the like.
    policy
        How the host is asked.
    """

    #: Names of files are compared with what they hold when the index is read.
    is_folder = False

    def __init__(
        self,
        url: str,
        *,
        chunks: Any = None,
        check: bool | None = None,
        cache: str | os.PathLike[str] | None = None,
        options: Mapping[str, Any] | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.path = Address(url)
        self.chunks, self.check = chunks, check
        self.transport: Transport = transport_for(self.path, options, policy)
        self._memory = Memory()
        self._disk = DiskCache(cache) if cache is not None else None
        self._indexes: dict[str, dict[str, Any]] = {}
        #: Address and description of every cube.
        self.listing = self._listed()
        self._cubes = {str(address): described for address, described in self.listing}
        self._trials = {
            header.experiment: header
            for header in map(self._header, self._cubes)
            if isinstance(header, TrialHeader)
        }

    # -- what there is -------------------------------------------------------------------------

    def _listed(self) -> list[tuple[Address, dict[str, Any]]]:
        """Return address and description of every cube."""
        if self.path.name.endswith(".nc"):
            record = self._fetch(self.path.parent / index_name(self.path.name), CUBE_INDEX)
            self._indexes[str(self.path)] = record
            return [(self.path, {**record["header"], "index_sha256": record["record_sha256"]})]
        place = self.path / INDEX_NAME
        cubes = self._fetch(place, FOLDER_INDEX)["cubes"]
        for cube in cubes:
            if cube["index"] != index_name(cube["file"]):
                raise unsound(place, f"the index of {cube['file']} is not beside it")
        if len({cube["file"] for cube in cubes}) < len(cubes):
            raise unsound(place, "it lists a cube twice")
        return [(self.path / cube["file"], cube) for cube in cubes]

    def _fetch(self, place: Address, kind: str, sha256: str = "") -> dict[str, Any]:
        """Return an index; from the host's own disk where a first answer was no good."""
        known = self._disk.get(f"index-{sha256}") if self._disk is not None and sha256 else None
        if known is not None:
            try:
                return decode(known, kind, place)
            except LCDBError:
                pass  # of the cache's own disk: the host has it
        try:
            data = self.transport.whole(place, _LARGEST)
        except NotFoundError as error:
            msg = (
                f"{place} does not exist: a database on a host needs an index; run 'lcdb index' "
                "on its directory and upload what that writes"
            )
            raise NotFoundError(msg) from error
        try:
            record = decode(data, kind, place)
        except DamagedError:
            data = self.transport.whole(place, _LARGEST, fresh=True)
            record = decode(data, kind, place)
        if sha256 and record["record_sha256"] != sha256:
            # A cache on the way may have an old one.
            data = self.transport.whole(place, _LARGEST, fresh=True)
            record = decode(data, kind, place)
            if record["record_sha256"] != sha256:
                msg = f"{place} was replaced since the database was opened: open it again"
                raise StaleError(msg)
        if self._disk is not None and sha256:
            self._disk.put(f"index-{sha256}", data)
        return record

    def _header(self, url: str) -> Header | TrialHeader:
        described = self._cubes[url]
        address = self.path if str(self.path) == url else self.path / described["file"]
        with _sane(address):
            if described["format_version"] > FORMAT_VERSION:
                msg = (
                    f"{address} has format version {described['format_version']}; lcdb "
                    f"{__version__} reads up to {FORMAT_VERSION}: update lcdb-plusplus"
                )
                raise FormatVersionError(msg)
            if described["cube_kind"] in EXPERIMENTS:
                header: Header | TrialHeader = _trial_header(address, described)
                key = described["cube_kind"]
            else:
                header = _curve_header(address, described)
                key = cube_key(header.id, header.scaling)
            if "/" in described["file"] and address.name != f"{key}.nc":
                msg = f"{described['file']} holds {key}, whose cube has another name"
                raise ValueError(msg)
            return header

    @property
    def headers(self) -> list[Header]:
        """What is known of each curve cube."""
        every = [h for h in map(self._header, self._cubes) if isinstance(h, Header)]
        if len({(header.key, header.is_summary) for header in every}) < len(every):
            raise unsound(self.path / INDEX_NAME, "two of its cubes are of one dataset")
        # A summary stands for a cube that is not there.
        there = {header.key for header in every if not header.is_summary}
        return [header for header in every if not header.is_summary or header.key not in there]

    @property
    def experiments(self) -> list[str]:
        """The names of the experiments that there are."""
        return list(self._trials)

    def trial_headers(self) -> dict[str, TrialHeader]:
        """Return what is known of each experiment's cube."""
        return dict(self._trials)

    # -- cubes ---------------------------------------------------------------------------------

    def index(self, address: Address) -> dict[str, Any]:
        """Return the index of a cube, which is asked for once."""
        url = str(address)
        if url not in self._indexes:
            described = self._cubes[url]
            place = address.parent / index_name(address.name)
            record = self._fetch(place, CUBE_INDEX, described["index_sha256"])
            own = {**record["header"], "file": described["file"]}
            if own != {k: v for k, v in described.items() if k not in ("index", "index_sha256")}:
                raise unsound(place, "it describes another cube than the index of the database")
            self._indexes[url] = record
        return self._indexes[url]

    def reader(self, address: Address) -> Reader:
        """Return what reads and checks the chunks of a cube."""
        index = self.index(address)
        place = address.parent / index_name(address.name)
        stale = _Stale(self.transport, place, index["record_sha256"])
        sha256, size, check = index["header"]["sha256"], index["header"]["bytes"], self.check
        return Reader(
            address,
            sha256,
            size,
            self.transport,
            self._memory,
            self._disk,
            stale,
            check is not False,
        )

    def tables(self, address: Address) -> dict[str, Table]:
        """Return where the chunks of a cube's variables are, by name."""
        described = self.index(address)
        with _sane(address.parent / index_name(address.name)):
            size, variables = described["header"]["bytes"], described["variables"]
            return {v["name"]: Table.of(v, size) for v in variables if "chunks" in v}

    def _opened(self, header: Header | TrialHeader, chunks: Any) -> xr.Dataset:
        """Return a lazy dataset that is what the header says, and keeps the contract of cubes."""
        address: Address = header.path  # type: ignore[assignment]
        index, reader = self.index(address), self.reader(address)
        with _sane(address.parent / index_name(address.name)):
            dataset = xr.open_dataset(RemoteStore(index, reader), chunks=chunks)
            if self.check is not False:
                validate(dataset, values=False)
            for dim, labels in header.labels.items():
                if tuple(dataset[dim].values) != labels:
                    msg = f"its header has other labels of {dim} than its variable"
                    raise ValueError(msg)
            if not np.array_equal(dataset["status"].values, header.status):
                msg = "its header has another status table than its variable"
                raise ValueError(msg)
            return dataset

    def open_cube(self, header: Header) -> tuple[Header, xr.Dataset]:
        """Return the header of a cube, and a lazy dataset of it."""
        chunks = dask_chunks(self.chunks)
        if chunks is not None and header.is_summary:
            chunks = {dim: n for dim, n in chunks.items() if dim != "repetition"}
        dataset = self._opened(header, chunks)
        with _sane(header.path):
            return _checked(header, dataset), dataset

    def open_trials(self, name: str) -> xr.Dataset:
        """Return a lazy dataset of an experiment's cube."""
        dataset = self._opened(self._trials[name], None if self.chunks is None else {})
        if dataset.sizes["trial"] != self._trials[name].trials:
            raise unsound(self._trials[name].path, "its header counts other trials than it has")
        return dataset

    def reasons(self, header: Header) -> Reasons:
        """Return why curves of a cube are not complete."""
        index = self.index(header.path)  # type: ignore[arg-type]
        return {tuple(map(visible, one[:-1])): visible(one[-1]) for one in index["reasons"]}


class _Stale:
    """Tells whether the host has another index by now, which whoever reads chunks may ask."""

    def __init__(self, transport: Transport, place: Address, sha256: str) -> None:
        self.transport, self.place, self.sha256 = transport, place, sha256

    def __call__(self) -> bool:
        try:
            data = self.transport.whole(self.place, _LARGEST, fresh=True)
            return decode(data, CUBE_INDEX, self.place)["record_sha256"] != self.sha256
        except LCDBError:
            return False


@contextmanager
def _sane(place: object) -> Iterator[None]:
    """Turn what an index raises that keeps its schema, and cannot be meant, into our error."""
    try:
        yield
    except (LCDBError, Warning):
        raise
    except Exception as error:  # xarray decodes what the index says, and raises anything
        raise unsound(place, " ".join(str(error).split()) or type(error).__name__) from error


def _codes(described: Mapping[str, Any], labels: Mapping[str, tuple[str, ...]]) -> np.ndarray:
    return np.array(described["status"], np.int8).reshape([len(names) for names in labels.values()])


def _labels(described: Mapping[str, Any], dims: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    if set(described["labels"]) != set(dims):
        msg = f"labels are of {', '.join(described['labels'])}, expected {', '.join(dims)}"
        raise ValueError(msg)
    return {dim: tuple(map(visible, described["labels"][dim])) for dim in dims}


def _runs(described: Mapping[str, Any]) -> tuple[tuple[int, int, int], ...]:
    """Return the sizes of a cube, without making arrays of them: they may be anything."""
    largest = described["rows"] * 7 // 10
    runs = described.get("runs", [[1, largest, 1]])
    if "sizes" in described:
        runs = size_runs(described["sizes"])
    ends = [0, *(n for first, last, _ in runs for n in (first, last))]
    ascending = all(a <= b if i % 2 else a < b for i, (a, b) in enumerate(itertools.pairwise(ends)))
    if not ascending or ends[-1] > largest or any(step < 1 for _, _, step in runs):
        msg = f"its sizes are not some of 1 to {largest}, ascending"
        raise ValueError(msg)
    # A file has each of its sizes and repetitions, in four bytes.
    if _COORDINATE * max(largest, described["repetitions"]) > described["bytes"] and (
        "sizes" not in described
    ):
        msg = f"a cube of {described['bytes']:,} bytes cannot have {described['rows']:,} rows and "
        msg += f"{described['repetitions']:,} repetitions"
        raise ValueError(msg)
    return tuple((first, last, step) for first, last, step in runs)


def _curve_header(address: Any, described: Mapping[str, Any]) -> Header:
    labels = _labels(described, UNIT_DIMS)
    return Header(
        path=address,
        id=visible(described["id"]),
        name=visible(described["name"]),
        rows=described["rows"],
        features=described["features"],
        classes=described["classes"],
        format_version=described["format_version"],
        labels=labels,
        runs=_runs(described),
        repetitions=described["repetitions"],
        status=_codes(described, labels),
        scaling=visible(described["scaling"]),
        bytes=described["bytes"],
        kind=described["cube_kind"],
    )


def _checked(header: Header, dataset: xr.Dataset) -> Header:
    """Return the header of a cube with the sizes that its plan says; raise where it lies."""
    attributes = dataset.attrs
    known = {
        "dataset_id": header.id,
        "dataset_name": header.name,
        "n_rows": header.rows,
        "n_features": header.features,
        "n_classes": header.classes,
        "format_version": header.format_version,
    }
    wrong = [name for name, value in known.items() if attributes.get(name) != value]
    if attributes.get("scaling", "none") != header.scaling:
        wrong.append("scaling")
    repetitions = attributes["repetitions"] if header.is_summary else dataset.sizes["repetition"]
    if repetitions != header.repetitions:
        wrong.append("repetitions")
    if header.is_summary:
        sizes = dataset["n"].values
    else:
        digests, plan = dataset["digest"].values, json.loads(attributes["plan"])
        sizes = built_sizes(plan, digests, header.labels, header.largest_size)
    if wrong:
        msg = f"its header has another value of {wrong[0]} than its attributes"
        raise ValueError(msg)
    # Indexes that were made before they said which sizes have values promise all of them.
    runs = tuple((first, last, step) for first, last, step in size_runs(sizes.tolist()))
    return replace(header, runs=runs)


def _trial_header(address: Any, described: Mapping[str, Any]) -> TrialHeader:
    labels = _labels(described, EXPERIMENTS[described["cube_kind"]].dims)
    status = _codes(described, labels)
    return TrialHeader(
        path=address,
        experiment=described["cube_kind"],
        labels=labels,
        trials=described["trials"],
        wanted=np.array(described["wanted"], np.int32).reshape(status.shape),
        status=status,
        format_version=described["format_version"],
        bytes=described["bytes"],
    )
