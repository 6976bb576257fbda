"""What packing tells of a cube, to who asked for it and between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from lcdb_builders.storage.manifest import Slice

__all__ = ["Cube"]


@dataclass(frozen=True)
class Cube:
    """A cube after packing.

    Parameters
    ----------
    dataset
        Its name.
    path, sha256
        The file and its digest.
    written
        Whether it was written now; False if it held everything already.
    statuses
        By label of the unit, such as ``61-LDC-random-fixed-default``.
    notes
        Damage that was found on the way, and what became of it.
    slices
        What it holds of every unit: status, reason, coverage. Not told by the process that packs.
    """

    dataset: str
    path: Path
    sha256: str
    written: bool
    statuses: dict[str, str]
    notes: tuple[str, ...] = ()
    slices: tuple[Slice, ...] = field(default=(), compare=False, repr=False)

    @property
    def complete(self) -> bool:
        """Whether every unit of the cube is complete."""
        return all(status == "complete" for status in self.statuses.values())

    def as_json(self) -> dict[str, Any]:
        """Return what another process is told, as a JSON-able dict; `from_json` undoes it."""
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        del content["slices"]
        return content | {"path": str(self.path), "notes": list(self.notes)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Cube:
        """Return the cube that another process has told of."""
        return cls(**{**content, "path": Path(content["path"]), "notes": tuple(content["notes"])})
