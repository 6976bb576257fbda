"""Cubes copied from a host into a database directory, in pieces: a copy can be gone on with.

Pieces are kept in ``pull/`` until all of a cube are there. The cube gets its name when it has the
digest that its index has of it; nothing is ever put over another file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lcdb.cubefile import read_header
from lcdb.errors import DamagedError, LabelError, LCDBError, NotFoundError, PlanError, did_you_mean
from lcdb.naming import cube_key
from lcdb.remote.address import Address
from lcdb.remote.format import encode, index_name
from lcdb.remote.host import Host
from lcdb.schema import CUBE_KIND, EXPERIMENTS, STATUSES, SUMMARY_KIND
from lcdb_builders.storage import disk
from lcdb_builders.storage.indexes import index_folder
from lcdb_builders.storage.manifest import cube_path
from lcdb_builders.storage.take import LARGEST_MANIFEST, take

__all__ = ["Pulled", "pull"]

#: Bytes of a piece: what is lost at most when a copy is interrupted, by each of the requests.
PIECE = 8 << 20
_WORKERS = 4


@dataclass(frozen=True)
class Pulled:
    """One cube that is there now.

    Parameters
    ----------
    path
        Where it is.
    bytes, copied
        Its length, and how much of it came from the host now.
    note
        What else there is to say.
    """

    path: Path
    bytes: int
    copied: int
    note: str = ""


def pull(
    host: Host, root: Path, datasets: Iterable[str] = (), learners: Iterable[str] = ()
) -> Iterator[Pulled]:
    """Copy cubes of a host into a database directory, and yield each that is there.

    Parameters
    ----------
    host
        The database on the host.
    root
        The directory, which may hold some of the cubes already; the same command goes on with it.
    datasets
        Ids, names or experiments; nothing for all of them.
    learners
        Only their curves, of cubes that have some of them; nothing for cubes as they are.

    Raises
    ------
    LabelError
        The host has no such dataset, or no curve of such a learner.
    PlanError
        The directory holds another cube under that name.
    DamagedError
        What the host sent is not the cube that its index describes.
    """
    datasets, learners = list(datasets), list(learners)
    chosen = list(_chosen(host, datasets))
    if learners:
        chosen = _with_learners(chosen, learners, bool(datasets))
    for address, described in chosen:
        yield (
            _take(host, root, address, described, learners)
            if learners
            else _pull(host, root, address, described)
        )
    index_folder(root)
    disk.remove_folder(root / "pull")


def _key(described: dict[str, Any]) -> str:
    kind = described["cube_kind"]
    return str(kind) if kind in EXPERIMENTS else cube_key(described["id"], described["scaling"])


def _chosen(host: Host, datasets: list[str]) -> Iterator[tuple[Address, dict[str, Any]]]:
    names = {_key(described): str(described.get("name", "")) for _, described in host.listing}
    keys = set() if datasets else set(names)
    for asked in datasets:
        named = [k for k, name in names.items() if asked.casefold() in (k, name.casefold())]
        if len(named) != 1:
            why = "is ambiguous: use the id." if named else f"is not in {host.path}."
            known = [name for name in (*names, *names.values()) if name]
            msg = f"dataset {asked!r} {why}{did_you_mean(asked, known)}"
            raise LabelError(msg)
        keys.add(named[0])
    yield from (one for one in host.listing if _key(one[1]) in keys)


def _with_learners(
    chosen: list[tuple[Address, dict[str, Any]]], learners: list[str], named: bool
) -> list[tuple[Address, dict[str, Any]]]:
    """Return the cubes that have curves of some learners, in order; every learner is in one."""
    cubes = [one for one in chosen if one[1]["cube_kind"] == CUBE_KIND]
    known = list(dict.fromkeys(name for _, cube in cubes for name in cube["labels"]["learner"]))
    for asked in learners:
        if asked not in known:
            where = "of the datasets that were asked for" if named else "on the host"
            msg = f"learner {asked!r} is in no cube {where}.{did_you_mean(asked, known)}"
            raise LabelError(msg)
    kept = [one for one in cubes if {*learners} & {*one[1]["labels"]["learner"]}]
    without = {_key(described) for _, described in chosen} - {_key(one[1]) for one in kept}
    if named and without:
        msg = f"{sorted(without)[0]} has no curves of {', '.join(learners)}: leave it out"
        raise LabelError(msg)
    return kept


def _take(
    host: Host, root: Path, address: Address, described: dict[str, Any], learners: Collection[str]
) -> Pulled:
    """Copy the curves of some learners."""
    copied = take(host, root, address, described, learners)
    path = cube_path(root, _key(described))
    header = read_header(path)
    every = header.labels["learner"]
    built = (header.status != STATUSES.index("not_built")).any((1, 2, 3))
    there = [name for name, one in zip(every, built, strict=True) if one]
    note = f"{len(there)} of {len(every)} learners: {', '.join(there)}"
    return Pulled(path, path.stat().st_size, copied, note)


def _pull(host: Host, root: Path, address: Address, described: dict[str, Any]) -> Pulled:
    name = f"{_key(described)}.nc"
    folder = "summaries" if described["cube_kind"] == SUMMARY_KIND else "cubes"
    path, size, sha256 = disk.under(root, folder, name), described["bytes"], described["sha256"]
    disk.make_folder(path.parent)
    copied = 0
    if path.exists():
        with path.open("rb") as file:
            is_another = hashlib.file_digest(file, "sha256").hexdigest() != sha256
        if is_another and described["cube_kind"] == CUBE_KIND:
            # Some learners of it, perhaps: then the others join them.
            return _take(host, root, address, described, described["labels"]["learner"])
        if is_another:
            msg = (
                f"{path} is another cube than {address}: it is left as it is; pull into "
                "another directory, or move the file out of this one"
            )
            raise PlanError(msg)
    else:
        index = host.index(address)
        copied = _copy(host, root, address, path, size, sha256)
        disk.replace(path.with_name(index_name(name)), _index(index, name))
    note = _manifest(host, root, address, path, sha256) if folder == "cubes" else ""
    return Pulled(path, size, copied, note)


def _index(index: dict[str, Any], name: str) -> bytes:
    record = {key: value for key, value in index.items() if key != "record_sha256"}
    return encode({**record, "header": {**record["header"], "file": name}})


def _copy(host: Host, root: Path, address: Address, path: Path, size: int, sha256: str) -> int:
    """Copy a cube; return how many bytes came from the host now.

    Parameters
    ----------
    host, address
        Where the cube is.
    root, path
        The database directory, which keeps finished pieces, and the file to write.
    size, sha256
        What the cube's manifest says of it.
    """
    folder = root / "pull" / sha256
    disk.make_folder(folder)
    pieces = {
        folder / f"{first}": (first, min(PIECE, size - first)) for first in range(0, size, PIECE)
    }

    def fetch(piece: Path) -> int:
        first, length = pieces[piece]
        if piece.is_file() and piece.stat().st_size == length:
            return 0
        disk.replace(piece, host.transport.part(address, first, length, size))
        return length

    with ThreadPoolExecutor(_WORKERS) as pool:
        copied = sum(pool.map(fetch, pieces))
    with disk.making(path) as (cube,):
        digest = hashlib.sha256()
        for piece in pieces:
            data = piece.read_bytes()
            digest.update(data)
            cube.write(data)
        right = digest.hexdigest() == sha256
        if not right:
            cube.discard()
        elif not cube.link():
            msg = f"{path} was made by somebody else meanwhile: run the same command again"
            raise PlanError(msg)
    for piece in pieces:
        disk.unlink(piece)
    disk.remove_folder(folder)
    if not right:
        msg = (
            f"{address} has another digest than its index says: it is damaged, or was replaced "
            "while it was copied; nothing of it is kept. Run the same command again, and if that "
            "does not help, 'lcdb index' where the database is kept"
        )
        raise DamagedError(msg)
    return copied


def _manifest(host: Host, root: Path, address: Address, path: Path, sha256: str) -> str:
    """Copy the manifest of a cube if it tells of this very cube; return what there is to say."""
    from lcdb.manifest import read_records

    target = disk.under(root, "manifest", f"{path.stem}.json")
    if target.exists():
        return ""
    if address.parent == host.path:
        return "its host has no folders, and so no manifest, which nothing needs but its build"
    disk.make_folder(target.parent)
    source = address.parent.parent / "manifest" / f"{path.stem}.json"
    try:
        data = host.transport.whole(source, LARGEST_MANIFEST)
    except NotFoundError:
        return "the host has no manifest of it, which nothing needs but its build"
    except LCDBError as error:
        return f"without its manifest: {error}"
    disk.replace(target, data)
    records = read_records(path)
    if records is None or records[0].sha256 != sha256:
        disk.unlink(target)
        return "the host's manifest is not of this cube, and was left there"
    return ""
