"""A database on a host: its headers come with one request, a cube's index with its first use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import xarray as xr

from lcdb._version import __version__
from lcdb.cubefile import Header, dask_chunks
from lcdb.errors import (
    DamagedError,
    FormatVersionError,
    LCDBError,
    NotFoundError,
    SchemaError,
    StaleError,
)
from lcdb.reasons import Reasons
from lcdb.remote.address import Address
from lcdb.remote.chunks import Table
from lcdb.remote.diskcache import DiskCache
from lcdb.remote.format import CUBE_INDEX, FOLDER_INDEX, INDEX_NAME, decode, index_name
from lcdb.remote.ranges import Memory, Reader
from lcdb.remote.store import RemoteStore
from lcdb.remote.transport import Policy, Transport, transport_for
from lcdb.schema import CUBE_KIND, EXPERIMENTS, FORMAT_VERSION, STATUSES, SUMMARY_KIND, UNIT_DIMS
from lcdb.trials import TrialHeader

__all__ = ["Host"]

#: An index of more bytes is none: a cube of 33,000 chunks has 300 kB.
_LARGEST = 256 << 20


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

    is_folder = True

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
            place = self.path.parent / index_name(self.path.name)
            record = self._fetch(place, CUBE_INDEX)
            with _sane(place):
                own = {**record["header"], "index_sha256": record["record_sha256"]}
                self._indexes[str(self.path)] = record
                return [(self.path, own)]
        place = self.path / INDEX_NAME
        record = self._fetch(place, FOLDER_INDEX)
        with _sane(place):
            for cube in record["cubes"]:
                if cube["index"] != index_name(cube["file"]):
                    msg = f"the index of {cube['file']} is not beside it"
                    raise ValueError(msg)
            return [(self.path / cube["file"], cube) for cube in record["cubes"]]

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
            if int(described["format_version"]) > FORMAT_VERSION:
                msg = (
                    f"{address} has format version {described['format_version']}; lcdb "
                    f"{__version__} reads up to {FORMAT_VERSION}: update lcdb-plusplus"
                )
                raise FormatVersionError(msg)
            if described["cube_kind"] in EXPERIMENTS:
                return _trial_header(address, described)
            return _curve_header(address, described)

    @property
    def headers(self) -> list[Header]:
        """What is known of each curve cube."""
        every = [h for h in map(self._header, self._cubes) if isinstance(h, Header)]
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
            sha256 = self._cubes[url]["index_sha256"]
            place = address.parent / index_name(address.name)
            self._indexes[url] = self._fetch(place, CUBE_INDEX, sha256)
        return self._indexes[url]

    def reader(self, address: Address) -> Reader:
        """Return what reads and checks the chunks of a cube."""
        index = self.index(address)
        place = address.parent / index_name(address.name)
        with _sane(place):
            stale = _Stale(self.transport, place, index["record_sha256"])
            header = index["header"]
            sha256, size = str(header["sha256"]), int(header["bytes"])
            if (sha256, size) != (
                self._cubes[str(address)]["sha256"],
                self._cubes[str(address)]["bytes"],
            ):
                msg = "it is of another cube than the index of the database"
                raise ValueError(msg)
            check = self.check is not False
            return Reader(
                address, sha256, size, self.transport, self._memory, self._disk, stale, check
            )

    def tables(self, address: Address) -> dict[str, Table]:
        """Return where the chunks of a cube's variables are, by name."""
        described = self.index(address)
        with _sane(address.parent / index_name(address.name)):
            size, variables = int(described["header"]["bytes"]), described["variables"]
            return {str(v["name"]): Table.of(v, size) for v in variables if "chunks" in v}

    def _store(self, address: Address) -> RemoteStore:
        reader = self.reader(address)
        with _sane(address.parent / index_name(address.name)):
            return RemoteStore(self.index(address), reader)

    def open_cube(self, header: Header) -> tuple[Header, xr.Dataset]:
        """Return the header of a cube, and a lazy dataset of it."""
        store = self._store(header.path)  # type: ignore[arg-type]
        chunks = dask_chunks(self.chunks)
        if chunks is not None and header.is_summary:
            chunks = {dim: n for dim, n in chunks.items() if dim != "repetition"}
        return header, xr.open_dataset(store, chunks=chunks)

    def open_trials(self, name: str) -> xr.Dataset:
        """Return a lazy dataset of an experiment's cube."""
        store = self._store(self._trials[name].path)  # type: ignore[arg-type]
        return xr.open_dataset(store, chunks=None if self.chunks is None else {})

    def reasons(self, header: Header) -> Reasons:
        """Return why curves of a cube are not complete."""
        index = self.index(header.path)  # type: ignore[arg-type]
        with _sane(header.path):
            return {tuple(map(str, one[:-1])): str(one[-1]) for one in index["reasons"]}


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
    """Turn what an index raises that is whole, but does not say what it should, into our error."""
    try:
        yield
    except LCDBError:
        raise
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        what = str(error).strip("'\"") or type(error).__name__
        msg = (
            f"{place} does not say what an index of lcdb has to say ({type(error).__name__}: "
            f"{what}): run 'lcdb index' on the database again"
        )
        raise SchemaError(msg) from error


def _codes(values: Any, shape: tuple[int, ...]) -> np.ndarray:
    codes = np.array(values, np.int8).reshape(shape)
    if not np.isin(codes, range(len(STATUSES))).all():
        msg = "its status table has other numbers than there are statuses"
        raise ValueError(msg)
    return codes


def _labels(described: Mapping[str, Any], dims: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {dim: tuple(map(str, described["labels"][dim])) for dim in dims}


def _curve_header(address: Any, described: Mapping[str, Any]) -> Header:
    labels, rows = _labels(described, UNIT_DIMS), int(described["rows"])
    every = np.arange(1, rows * 7 // 10 + 1, dtype=np.int32)
    sizes = np.array(described.get("sizes", every), np.int32)
    kind = described["cube_kind"]
    if kind not in (CUBE_KIND, SUMMARY_KIND) or (kind == SUMMARY_KIND) != ("sizes" in described):
        msg = f"a cube of kind {kind!r} is unknown, or has not the sizes that it should have"
        raise ValueError(msg)
    header = Header(
        path=address,
        id=str(described["id"]),
        name=str(described["name"]),
        rows=rows,
        features=int(described["features"]),
        classes=int(described["classes"]),
        format_version=int(described["format_version"]),
        labels=labels,
        sizes=sizes,
        repetitions=int(described["repetitions"]),
        status=_codes(described["status"], tuple(map(len, labels.values()))),
        scaling=str(described["scaling"]),
        bytes=int(described["bytes"]),
        kind=kind,
    )
    if "/" in described["file"] and address.name != f"{header.key}.nc":
        msg = f"{described['file']} holds dataset {header.key}, whose cube has another name"
        raise ValueError(msg)
    return header


def _trial_header(address: Any, described: Mapping[str, Any]) -> TrialHeader:
    labels = _labels(described, EXPERIMENTS[described["cube_kind"]].dims)
    shape = tuple(map(len, labels.values()))
    return TrialHeader(
        path=address,
        experiment=described["cube_kind"],
        labels=labels,
        trials=int(described["trials"]),
        wanted=np.array(described["wanted"], np.int32).reshape(shape),
        status=_codes(described["status"], shape),
        format_version=int(described["format_version"]),
        bytes=int(described["bytes"]),
    )
