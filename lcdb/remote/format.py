"""The index of a cube and of a database: names, versions, and how arrays are written in JSON.

What is stored is described in ``schemas/index.schema.json``. A column of numbers is their
little-endian bytes, compressed by zlib, in base64.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from lcdb._version import __version__
from lcdb.digests import canonical_json
from lcdb.errors import DamagedError, FormatVersionError, SchemaError
from lcdb.text import visible

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

__all__ = [
    "CUBE_INDEX",
    "FOLDER_INDEX",
    "INDEX_NAME",
    "INDEX_VERSION",
    "column",
    "decode",
    "encode",
    "from_plain",
    "index_name",
    "numbers",
    "plain",
    "unsound",
]

#: Version of the format of indexes; an index of a newer one is refused.
INDEX_VERSION = 1
#: What an index is of.
FOLDER_INDEX, CUBE_INDEX = "lcdb database index", "lcdb cube index"
#: The index of a database directory.
INDEX_NAME = "index.json"
_SAFE = re.compile(r"(cubes/|summaries/)?[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)


def index_name(cube: str) -> str:
    """Return the name of the index of a cube: it lies beside it.

    Examples
    --------
    >>> index_name("cubes/61.nc")
    'cubes/61.nc.index.json'
    """
    if not _SAFE.fullmatch(cube):
        msg = f"{cube!r} is not the name of a cube: expected letters, digits, '-', '_' and '.'"
        raise SchemaError(msg)
    return f"{cube}.index.json"


def encode(record: Mapping[str, Any]) -> bytes:
    """Return the bytes of an index: one line of JSON with a digest of all the rest.

    Examples
    --------
    >>> data = encode({"kind": FOLDER_INDEX, "index_version": 1, "cubes": []})
    >>> sorted(decode(data, FOLDER_INDEX, "here"))
    ['cubes', 'index_version', 'kind', 'record_sha256']
    """
    return (canonical_json({**record, "record_sha256": _digest(record)}) + "\n").encode()


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical_json(record).encode()).hexdigest()


def decode(data: bytes, kind: str, where: object) -> dict[str, Any]:
    """Return an index that is whole, of the kind that is meant, and keeps the schema of indexes.

    Anybody can write an index with a right digest. After this, its members have the types that
    ``schemas/index.schema.json`` gives them, and no number is larger than a cube can have.

    Parameters
    ----------
    data
        Its bytes.
    kind
        `FOLDER_INDEX` or `CUBE_INDEX`.
    where
        Where it was read, for messages.

    Raises
    ------
    DamagedError, FormatVersionError, SchemaError
        It is not what was written; a newer lcdb wrote it; it is of something else, or does not
        say what an index has to say.
    """
    try:
        record = json.loads(data)
        known, version = record.get("kind"), record.get("index_version")
        written = record.get("record_sha256")
        digest = _digest({k: v for k, v in record.items() if k != "record_sha256"})
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        start = data[:40].decode("utf-8", "replace")
        msg = (
            f"{where} is not an index of lcdb: it is damaged, or it is something else (it begins "
            f"with {start!r}); expected what 'lcdb index' writes"
        )
        raise DamagedError(msg) from error
    if known in (FOLDER_INDEX, CUBE_INDEX) and isinstance(version, int) and version > INDEX_VERSION:
        # A newer version may count its digest in another way; damage can be told by who knows it.
        msg = (
            f"{where} is an index of version {version}; lcdb {__version__} reads up to "
            f"{INDEX_VERSION}: update lcdb-plusplus, or run its 'lcdb index' on the database"
        )
        raise FormatVersionError(msg)
    if digest != written:
        msg = (
            f"{where} is damaged: it has another digest than was written; run 'lcdb index' on the "
            "database again, and upload what it writes"
        )
        raise DamagedError(msg)
    if known != kind:
        msg = f"{where} is of kind {known!r}, expected {kind!r}"
        raise SchemaError(msg)
    _check_schema(record, where)
    return record


@cache
def _validator() -> Validator:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    text = files("lcdb.schemas").joinpath("index.schema.json").read_text("utf-8")
    # To JSON Schema 2.0 is an integer; to what counts by it, it is not.
    strict = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, x: type(x) is int)
    return extend(Draft202012Validator, type_checker=strict)(json.loads(text))


def _check_schema(record: Mapping[str, Any], where: object) -> None:
    for error in _validator().iter_errors(record):
        place = ".".join(map(str, error.absolute_path)) or "it"
        text = error.message if len(error.message) < 200 else f"{error.message[:200]}…"
        raise unsound(where, f"{place}: {text}")


def unsound(where: object, why: object) -> SchemaError:
    """Return the error for an index that is whole and cannot be meant.

    Examples
    --------
    >>> print(unsound("host/index.json", "it lists no cube"))
    host/index.json is no sound index of lcdb (it lists no cube): run 'lcdb index' on the \
database again
    """
    msg = (
        f"{where} is no sound index of lcdb ({visible(why)}): run 'lcdb index' on the database "
        "again"
    )
    return SchemaError(msg)


# -- values ----------------------------------------------------------------------------------------


def column(values: np.ndarray) -> str:
    """Return numbers as text: as `numbers` reads them.

    Examples
    --------
    >>> numbers(column(np.arange(4)), "<i8", 4)
    array([0, 1, 2, 3])
    """
    stored = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return base64.b64encode(zlib.compress(stored.tobytes(), 9)).decode()


def numbers(text: str, dtype: str, count: int) -> np.ndarray:
    """Return a column of so many numbers, never more."""
    size = count * np.dtype(dtype).itemsize
    reader = zlib.decompressobj()
    data = reader.decompress(base64.b64decode(text, validate=True), size + 1)
    if len(data) != size:
        msg = f"a column does not have {count} numbers"
        raise ValueError(msg)
    return np.frombuffer(data, dtype)


def plain(value: Any) -> Any:
    """Return an attribute as JSON, with its dtype unless it is text.

    Examples
    --------
    >>> plain("iris"), plain(np.float32("nan"))
    ('iris', {'dtype': '<f4', 'value': 'nan'})
    """
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return {"dtype": "text", "value": [str(one) for one in array.ravel()]}
    finite = array.dtype.kind != "f" or bool(np.isfinite(array).all())
    told = array.tolist() if finite else array.astype(str).tolist()
    return {"dtype": array.dtype.newbyteorder("<").str, "value": told}


def from_plain(value: Any) -> Any:
    """Return an attribute that `plain` wrote.

    Examples
    --------
    >>> from_plain(plain(np.float32("nan"))), from_plain(plain(np.array([1, 2], np.int8)))
    (np.float32(nan), array([1, 2], dtype=int8))
    """
    if isinstance(value, str):
        return visible(value)
    if value["dtype"] == "text":
        return np.array([visible(one) for one in value["value"]], object)
    with np.errstate(all="raise"):  # a number that its dtype does not have
        return np.array(value["value"]).astype(value["dtype"])[()]
