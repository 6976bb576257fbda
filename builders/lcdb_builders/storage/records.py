"""JSON files that know their own digest, so that a flipped bit in them is found."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from lcdb.errors import DamagedError
from lcdb_builders.domain.unit import canonical_json

__all__ = ["decode_record", "encode_record", "read_record"]

_DIGEST = "record_sha256"


def encode_record(content: dict[str, Any]) -> bytes:
    """Return the bytes of a record.

    Examples
    --------
    >>> data = encode_record({"b": 1, "a": [2]})
    >>> decode_record(data, "here")
    {'a': [2], 'b': 1}
    """
    return _text({**content, _DIGEST: _digest(content)}).encode()


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, indent=1, allow_nan=False) + "\n"


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def decode_record(data: bytes, where: object) -> dict[str, Any]:
    """Return the content of a record, or raise where its bytes are not what was written."""
    try:
        content = json.loads(data)
        written = content.pop(_DIGEST)
        # Comparing bytes finds what JSON would read the same way, such as a changed space.
        intact = written == _digest(content) and encode_record(content) == data
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        intact = False
    if not intact:
        msg = f"{where} is damaged: its content does not have the digest that stands in it"
        raise DamagedError(msg)
    return content


def read_record(path: Path) -> dict[str, Any]:
    """Return the content of a record file; FileNotFoundError and DamagedError tell why not."""
    return decode_record(path.read_bytes(), path)
