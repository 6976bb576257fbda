"""Any ARFF, CSV or parquet file as a dataset."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lcdb.errors import DatasetError, did_you_mean
from lcdb.schema import SCALINGS
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources.arff import read_arff
from lcdb_builders.sources.convert import to_snapshot
from lcdb_builders.sources.delimited import MISSING, read_delimited
from lcdb_builders.sources.parquet import read_parquet
from lcdb_builders.sources.table import Table, about, decode, read_bytes

__all__ = ["FORMATS", "FileSource", "check_id"]

# Format by the end of a file's name.
FORMATS = {
    ".arff": "ARFF",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_ID = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?", re.ASCII)
# Names of other cubes and of devices.
_TAKEN = frozenset({"dse", "pendulum", "con", "nul", "aux", "prn"})


def check_id(id: str) -> str:
    """Return the id of a file's dataset, or raise: it becomes a file name of the database.

    Examples
    --------
    >>> check_id("my-wine")
    'my-wine'
    """
    if not isinstance(id, str) or not _ID.fullmatch(id) or ".." in id:
        msg = (
            f"{id!r} cannot name a file's dataset; expected up to 64 letters, digits, '-', '_' or "
            "'.', starting with a letter (numbers are OpenML's)"
        )
        raise DatasetError(msg)
    if id.lower() in _TAKEN:
        msg = f"{id!r} cannot name a file's dataset: it means something else; take 'my-{id}', say"
        raise DatasetError(msg)
    for scaling in SCALINGS[1:]:
        if id.lower().endswith(f"-{scaling}"):
            msg = (
                f"{id!r} cannot name a file's dataset: cubes of scaled features end in "
                f"'-{scaling}'; take {id[: -len(scaling) - 1] + '_' + scaling!r}, say"
            )
            raise DatasetError(msg)
    return id


@dataclass(frozen=True)
class FileSource:
    """A file, and how to read it.

    Parameters
    ----------
    id
        What the dataset is called in the database: letters, digits, ``-``, ``_``, ``.``.
    path
        An ARFF, CSV or parquet file.
    target
        Column of the classes.
    nominal
        Columns to read as categories although they look like numbers.
    drop
        Columns to leave out: names, or in CSV positions from 1 on.
    missing
        Texts that stand for a missing cell in CSV.
    delimiter
        Of CSV; empty for the one that the header line uses most.
    encoding
        Of ARFF and CSV.
    format
        ``"ARFF"``, ``"CSV"`` or ``"parquet"``; empty to go by the end of the file's name.
    name
        For people; the id if empty.
    """

    id: str
    path: str | Path
    target: str
    nominal: tuple[str, ...] = ()
    drop: tuple[str | int, ...] = ()
    missing: tuple[str, ...] = MISSING
    delimiter: str = ""
    encoding: str = "utf-8"
    format: str = ""
    name: str = ""

    @property
    def file_format(self) -> str:
        """The format, given or told by the name of the file."""
        path = Path(self.path)
        if self.format:
            known = {name.lower(): name for name in FORMATS.values()}
            if self.format.lower() in known:
                return known[self.format.lower()]
            msg = f"no file format {self.format!r}.{did_you_mean(self.format, known.values())}"
            raise DatasetError(msg)
        if path.suffix.lower() in FORMATS:
            return FORMATS[path.suffix.lower()]
        msg = f"{path} ends in none of {', '.join(FORMATS)}; rename the file or name its format"
        raise DatasetError(msg)

    @property
    def reading(self) -> dict[str, Any]:
        """How the file is read, as a snapshot's origin records it."""
        return {
            "target": self.target,
            "nominal": sorted(self.nominal),
            "drop": sorted(self.drop, key=str),
            "missing": sorted(self.missing),
            "delimiter": self.delimiter,
            "encoding": self.encoding,
        }

    def content(self) -> bytes:
        """Return the file's bytes."""
        return read_bytes(Path(self.path))

    def table(self, content: bytes) -> Table:
        """Return the columns of the file."""
        if self.target in self.drop:
            msg = f"the target {self.target!r} is among the columns to drop"
            raise DatasetError(msg)
        kind = self.file_format
        named = [one for one in self.drop if isinstance(one, str)]
        if len(named) < len(self.drop) and kind != "CSV":
            msg = f"drop names a column by position; in {kind} all columns have names: use those"
            raise DatasetError(msg)
        if kind == "parquet":
            return read_parquet(content, self.nominal, named)
        text = decode(content, self.encoding)
        if kind == "ARFF":
            return read_arff(text, self.nominal, named)
        return read_delimited(text, self.nominal, self.drop, self.missing, self.delimiter)

    def snapshot(self, content: bytes | None = None, **origin: Any) -> Snapshot:
        """Return the snapshot of the file.

        Parameters
        ----------
        content
            The file's bytes, if they have been read already.
        **origin
            Further facts to record.
        """
        path = Path(self.path)
        with about(f"{self.id} ({path})"):
            content = self.content() if content is None else content
            table = self.table(content)
            md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
            facts = {
                "source": "file",
                "file": {"name": path.name, "format": self.file_format, "md5": md5},
                "reading": self.reading,
            }
            return to_snapshot(
                table,
                id=self.id,
                name=self.name or self.id,
                target=self.target,
                origin={**facts, **origin},
            )
