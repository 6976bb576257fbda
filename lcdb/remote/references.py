"""An index becomes references as kerchunk has them, for xarray without lcdb.

A chunk's last four bytes are HDF5's own checksum, which zarr's decoders do not know: a reference
leaves them out, and what remains is zlib and shuffle, which every reader has.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from lcdb.errors import SchemaError
from lcdb.remote.chunks import Table
from lcdb.remote.format import from_plain, numbers

__all__ = ["references"]

_CHECKSUM = 4


def references(index: Mapping[str, Any], url: str) -> bytes:
    """Return references to a cube, for ``xarray.open_dataset(…, engine="kerchunk")``.

    Parameters
    ----------
    index
        Of the cube.
    url
        Of the cube itself.

    Raises
    ------
    SchemaError
        A chunk is stored in a way that references cannot tell.
    """
    refs: dict[str, Any] = {
        ".zgroup": json.dumps({"zarr_format": 2}),
        ".zattrs": _attributes(index["attributes"]),
    }
    for variable in index["variables"]:
        name = variable["name"]
        dims = {"_ARRAY_DIMENSIONS": variable["dims"]}
        refs[f"{name}/.zattrs"] = _attributes(variable["attributes"], **dims)
        if "chunks" in variable:
            _stored(refs, variable, int(index["header"]["bytes"]), url)
        else:
            _inline(refs, variable)
    return json.dumps({"version": 1, "refs": refs}, sort_keys=True).encode()


def _attributes(attributes: Mapping[str, Any], **more: Any) -> str:
    told = {name: from_plain(value) for name, value in attributes.items() if name != "_FillValue"}
    plain = {
        k: v.tolist() if isinstance(v, np.ndarray | np.generic) else v for k, v in told.items()
    }
    return json.dumps({**plain, **more})


def _array(variable: Mapping[str, Any], chunk: Iterable[int], **more: Any) -> str:
    text = variable["dtype"] == "text"
    described = {
        "zarr_format": 2,
        "shape": variable["shape"],
        "chunks": list(chunk),
        "dtype": "|O" if text else variable["dtype"],
        "order": "C",
        "compressor": None,
        "filters": [{"id": "vlen-utf8"}] if text else None,
        "fill_value": None,
    }
    return json.dumps({**described, **more})


def _key(name: str, place: Iterable[int]) -> str:
    return f"{name}/{'.'.join(map(str, place)) or '0'}"


def _inline(refs: dict[str, Any], variable: Mapping[str, Any]) -> None:
    name, shape = variable["name"], variable["shape"]
    refs[f"{name}/.zarray"] = _array(variable, [max(1, length) for length in shape])
    if variable["dtype"] == "text":
        texts = [one.encode() for one in variable["values"]]
        data = struct.pack("<I", len(texts))
        data += b"".join(struct.pack("<I", len(one)) + one for one in texts)
    else:
        count = int(np.prod(shape, dtype=np.int64))
        data = numbers(variable["values"], variable["dtype"], count).tobytes()
    refs[_key(name, (0 for _ in shape))] = f"base64:{base64.b64encode(data).decode()}"


def _stored(refs: dict[str, Any], variable: Mapping[str, Any], size: int, url: str) -> None:
    name, table = variable["name"], Table.of(variable, size)
    filters = list(table.filters)
    if filters != ["shuffle", "deflate", "fletcher32"] or table.masks.any():
        msg = (
            f"{name} of {url} has chunks without {', '.join(filters)}: references cannot tell that"
        )
        raise SchemaError(msg)
    level = variable["chunks"]["filters"][1]["level"]
    whole = bool((table.lengths > 0).all())
    fill = "NaN" if table.dtype.kind == "f" else None if whole else int(table.fill)
    refs[f"{name}/.zarray"] = _array(
        variable,
        table.chunk,
        compressor={"id": "zlib", "level": level},
        filters=[{"id": "shuffle", "elementsize": table.dtype.itemsize}],
        fill_value=fill,
    )
    grid = [-(-n // c) for n, c in zip(table.shape, table.chunk, strict=True)]
    for row, place in enumerate(np.ndindex(*grid)):
        if length := int(table.lengths[row]):
            refs[_key(name, place)] = [url, int(table.offsets[row]), length - _CHECKSUM]
