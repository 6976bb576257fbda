"""A folder of descriptions is written that goes to a host together with the database."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from lcdb.errors import ArgumentError, StorageError
from lcdb.publishing.contents import Contents, File, read_contents
from lcdb.publishing.crate import ro_crate
from lcdb.publishing.croissant import croissant
from lcdb.publishing.datacite import datacite
from lcdb.publishing.metadata import ADDRESS, Metadata, read_metadata
from lcdb.publishing.pages import citation, license_page, readme, sums
from lcdb.publishing.text import as_json
from lcdb.regular import read_regular
from lcdb.remote.format import FOLDER_INDEX, INDEX_NAME, INDEX_VERSION, decode, encode

__all__ = ["Published", "checked_url", "publish"]

_KINDS = {
    "README.md": "text/markdown",
    "LICENSE": "text/plain",
    "CITATION.cff": "text/yaml",
    "croissant.json": "application/ld+json",
    "datacite.json": "application/json",
    "SHA256SUMS": "text/plain",
}


@dataclass(frozen=True)
class Published:
    """What was written: the files, and the fields that nobody gave with what was said instead.

    Without an index the database has to be downloaded before `lcdb.open` can open it.
    """

    files: tuple[Path, ...]
    defaults: Mapping[str, str]
    is_indexed: bool


def publish(
    directory: str | os.PathLike[str],
    url: str,
    out: str | os.PathLike[str],
    metadata: str | os.PathLike[str] | None = None,
    flat: bool = False,
) -> Published:
    """Write what catalogues, archives and people read beside a database.

    The same database, address and metadata give the same bytes.

    Parameters
    ----------
    directory
        A database directory. Its cubes are read whole and compared with their manifests.
    url
        Where the database will be: the address that `lcdb.open` takes.
    out
        A folder, made if it is missing; it may not be inside `directory`. Files of the same names
        are replaced, others are left.
    metadata
        A TOML file with title, creators, licence and so on; what it leaves out gets a default.
    flat
        For a host that has no folders, such as Zenodo: the database goes into `out` as well, under
        names such as ``cubes-61.nc``, so that `out` is all there is to upload.

    Returns
    -------
    Published
        The files, and the defaults by field.

    Raises
    ------
    NotFoundError, DamagedError, StaleError
        There is no database; a file is not what was written; the index is of other cubes.
    ArgumentError
        `url` is no address; the metadata have an unknown field or a wrong value.
    StorageError
        `out` cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import lcdb
    >>> with lcdb.tutorial() as db, tempfile.TemporaryDirectory() as folder:
    ...     made = publish(db.path, "https://example.org/tutorial", folder)
    ...     sorted(path.name for path in made.files)[:3]
    ['CITATION.cff', 'LICENSE', 'README.md']
    >>> made.defaults["date"].partition(" ")[2]
    '(the manifests)'
    """
    place, source = Path(out), Path(directory)
    checked = checked_url(url)
    if place.resolve().is_relative_to(source.resolve()):
        msg = f"{place} is inside {source}, which holds nothing but the database; name another"
        raise ArgumentError(msg)
    contents = read_contents(source)
    described = read_metadata(metadata, contents)
    index = _flat_index(source) if flat and contents.is_indexed else b""
    shown = _flattened(contents, index) if flat else contents
    written = _documents(shown, described, checked)
    if flat:
        for file in contents.files:
            _link(source / file.path, place / _flat(file.path))
    _write(place, written | ({INDEX_NAME: index} if index else {}))
    names = [file.path for file in shown.files] if flat else []
    files = tuple(place / name for name in (*names, *written))
    return Published(files, described.defaults, contents.is_indexed)


def _flat(path: str) -> str:
    return path.replace("/", "-")


def _flat_index(folder: Path) -> bytes:
    """Return the index of a directory whose files all lie in one folder."""
    place = folder / INDEX_NAME
    record = decode(read_regular(place, "an index"), FOLDER_INDEX, place)
    cubes = [
        {**cube, "file": _flat(cube["file"]), "index": _flat(cube["index"])}
        for cube in record["cubes"]
    ]
    return encode({"kind": FOLDER_INDEX, "index_version": INDEX_VERSION, "cubes": cubes})


def _flattened(contents: Contents, index: bytes) -> Contents:
    """Return the same contents under names without folders."""
    files = [replace(file, path=_flat(file.path)) for file in contents.files]
    if index:
        digest = hashlib.sha256(index).hexdigest()
        own = File(INDEX_NAME, len(index), digest)
        files = [own if file.path == INDEX_NAME else file for file in files]
    cubes = tuple(replace(cube, path=_flat(cube.path)) for cube in contents.cubes)
    return replace(contents, files=tuple(files), cubes=cubes)


def _link(source: Path, target: Path) -> None:
    """Put a file under another name as well: as a link if the disk can, else as a copy."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            try:
                os.link(source.resolve(), temporary)
            except OSError:
                shutil.copyfile(source, temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        msg = f"{target} could not be written ({error.strerror or error}); name another --out"
        raise StorageError(msg) from error


def checked_url(url: str) -> str:
    """Return an address without a slash at its end, or raise what is wrong with it."""
    expected = "expected where the database will be, such as 'https://example.org/db'"
    if not ADDRESS.fullmatch(url):
        msg = f"url is {url!r}, which is no address; {expected}, without '?' and '#'"
        raise ArgumentError(msg)
    try:
        parts = urlsplit(url)
        host, secret = parts.hostname, parts.username is not None
    except ValueError as error:
        msg = f"url is {url!r}: {error}; {expected}"
        raise ArgumentError(msg) from error
    if secret:
        msg = f"url has a user name or a password in it, which would be published; {expected}"
        raise ArgumentError(msg)
    if not host:
        msg = f"url is {url!r} and names no host; {expected}"
        raise ArgumentError(msg)
    return url.rstrip("/")


def _documents(contents: Contents, metadata: Metadata, url: str) -> dict[str, bytes]:
    """Return what each file will hold; the digests are of all the others."""
    texts = {
        "README.md": readme(contents, metadata, url),
        "LICENSE": license_page(metadata),
        "CITATION.cff": citation(metadata, url),
        "croissant.json": as_json(croissant(contents, metadata, url)),
        "datacite.json": as_json(datacite(contents, metadata, url)),
        "ro-crate-metadata.json": as_json(ro_crate(contents, metadata, url, _KINDS)),
    }
    written = {name: text.encode() for name, text in texts.items()}
    digests = {file.path: file.sha256 for file in contents.files}
    digests |= {name: hashlib.sha256(body).hexdigest() for name, body in written.items()}
    return {**written, "SHA256SUMS": sums(digests).encode()}


def _write(folder: Path, documents: Mapping[str, bytes]) -> None:
    """Write each file whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, body in documents.items():
            temporary = folder / f".{name}.{os.getpid()}"
            try:
                temporary.write_bytes(body)
                os.replace(temporary, folder / name)
            finally:
                temporary.unlink(missing_ok=True)
    except OSError as error:
        msg = f"{folder} could not be written ({error.strerror or error}); name another --out"
        raise StorageError(msg) from error
