"""The ten datasets and what to expect of them: `data/datasets.toml`, read once.

Nothing here needs the data or the network.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from lcdb.errors import DatasetError, LabelError, did_you_mean
from lcdb_builders.domain.snapshot import Snapshot

__all__ = ["Expected", "expected", "find"]


@dataclass(frozen=True)
class Expected:
    """What is known of a dataset before it is fetched; empty or None where it is not known.

    Parameters
    ----------
    id
        OpenML id, as text.
    name
        Such as ``"iris"``.
    rows, features, classes
        N, d, K.
    printed_rows
        N as the paper prints it, where that differs.
    target
        Column of the classes.
    numeric, nominal
        Number of features of each kind.
    openml_version, md5
        As OpenML publishes them.
    sha256, sha256_from
        Digest of the canonical bytes, and what it was computed from: ``"openml"`` or ``"rule"``
        must agree with what is fetched, ``"copy"`` may differ.
    bundled
        Whether the data come with the package.
    notes
        For readers.
    scaling
        Of a scaled dataset, see `lcdb_builders.planning.units.subjects`.
    """

    id: str
    name: str
    rows: int
    features: int
    classes: int
    printed_rows: int | None = None
    target: str = ""
    numeric: int | None = None
    nominal: int | None = None
    openml_version: int | None = None
    md5: str = ""
    sha256: str = ""
    sha256_from: str = ""
    bundled: bool = False
    notes: str = ""
    scaling: str = "none"

    @property
    def key(self) -> str:
        """Digest of the unscaled data, as far as it is known."""
        return self.sha256

    @property
    def label(self) -> str:
        """Id and name, as messages have them."""
        return f"{self.id} ({self.name})"

    @property
    def is_certain(self) -> bool:
        """Whether a snapshot with another digest is certainly not this dataset."""
        return self.sha256_from in {"openml", "rule"}

    def check(self, snapshot: Snapshot) -> None:
        """Raise unless a snapshot has the expected N, d, K and, where certain, the same bytes."""
        wrong = [
            f"{getattr(snapshot, key)} {key}, expected {getattr(self, key)}"
            for key in ("rows", "features", "classes")
            if getattr(snapshot, key) != getattr(self, key)
        ]
        if wrong:
            msg = f"not the dataset that is known by this id: {'; '.join(wrong)}"
            raise DatasetError(msg)
        if self.is_certain and snapshot.sha256 != self.sha256:
            msg = (
                "not the dataset that is known by this id: N, d and K agree but the values differ "
                f"(sha256 {snapshot.sha256[:12]}…, expected {self.sha256[:12]}…); "
                "rows and columns must be in OpenML's order"
            )
            raise DatasetError(msg)

    def facts(self, snapshot: Snapshot) -> dict[str, Any]:
        """Return what a snapshot's origin says about OpenML: the same wherever it came from."""
        origin: dict[str, Any] = {"openml_id": int(self.id)}
        if self.openml_version is not None:
            origin["openml_version"] = self.openml_version
        if self.md5 and snapshot.sha256 == self.sha256:
            origin["openml_md5"] = self.md5
        if self.sha256:
            origin["equals_known_copy"] = snapshot.sha256 == self.sha256
        return origin


@cache
def expected() -> Mapping[str, Expected]:
    """Return what is expected of each of the ten datasets, by id, ascending.

    Examples
    --------
    >>> iris = expected()["61"]
    >>> iris.name, iris.rows, iris.features, iris.classes
    ('iris', 150, 4, 3)
    """
    text = files("lcdb.data").joinpath("datasets.toml").read_text("utf-8")
    entries = tomllib.loads(text)["dataset"]
    by_id = {str(entry["id"]): Expected(**{**entry, "id": str(entry["id"])}) for entry in entries}
    return MappingProxyType(by_id)


def find(dataset: int | str) -> Expected | None:
    """Return what is expected of a dataset by id or name; None for an id that is not listed.

    Examples
    --------
    >>> find("iris").id, find(37).name, find(4)
    ('61', 'diabetes', None)
    """
    key = str(dataset).strip()
    if key in expected():
        return expected()[key]
    if key.isascii() and key.isdigit() and int(key) > 0 and str(int(key)) == key:
        return None
    by_name = {entry.name: entry for entry in expected().values()}
    if key in by_name:
        return by_name[key]
    msg = (
        f"no dataset {key!r}; expected an OpenML id (a number) or the name of one of the ten."
        f"{did_you_mean(key, [*by_name, *expected()])}"
    )
    raise LabelError(msg)
