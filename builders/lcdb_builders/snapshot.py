"""A dataset as it is computed on: immutable, checksummed, converted once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

__all__ = ["Snapshot", "canonical_sha256"]


def canonical_sha256(X: np.ndarray, y: np.ndarray) -> str:
    """Return the digest of the canonical bytes: shape, X as little-endian float64, y as int64."""
    digest = hashlib.sha256()
    digest.update(np.array([*X.shape, len(y)], "<i8").tobytes())
    digest.update(np.ascontiguousarray(X, "<f8").tobytes())
    digest.update(np.ascontiguousarray(y, "<i8").tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Features, classes and origin of one dataset.

    Parameters
    ----------
    id
        Name of the cube: an OpenML id such as ``"61"``, or a plan's own name for a file.
    X
        Features, float64 (N, d), C-contiguous, finite; nominal ones as codes.
    y
        Class codes, int64 (N,), 0..K-1, every class present.
    feature_names, class_names
        In column and code order.
    name
        Human name, such as ``"iris"``.
    origin
        JSON-able facts: where it came from (source, OpenML id, version, md5, path), categories of
        nominal features, imputed cells per feature, dropped rows, duplicate rows.
    """

    id: str
    X: np.ndarray
    y: np.ndarray
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]
    name: str
    origin: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of rows, N."""
        return len(self.y)

    @property
    def features(self) -> int:
        """Number of columns, d."""
        return self.X.shape[1]

    @property
    def classes(self) -> int:
        """K."""
        return len(self.class_names)

    @cached_property
    def sha256(self) -> str:
        """Digest of the canonical bytes: part of every stream and block key."""
        return canonical_sha256(self.X, self.y)
