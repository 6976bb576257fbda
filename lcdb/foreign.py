"""Where the values of a cube may be: in its own file, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import h5py

from lcdb.errors import SchemaError

__all__ = ["refuse_foreign_storage"]


def refuse_foreign_storage(path: Path, file: h5py.File) -> None:
    """Raise where a cube takes values from other files, which may be anybody's, or missing.

    HDF5 reads a missing source of a virtual dataset as fill values, under any status.

    Raises
    ------
    SchemaError
        Something is a link, is stored externally, or is a virtual dataset.
    """
    for name in file:
        how = _foreign(file, name)
        if how:
            msg = (
                f"{path} is no cube that can be trusted: {name!r} is {how}, so that its values "
                "come from elsewhere; expected all of them in the file itself"
            )
            raise SchemaError(msg)


def _foreign(file: h5py.File, name: str) -> str:
    link = file.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink):
        return f"a link into the file {link.filename!r}"
    if isinstance(link, h5py.SoftLink):
        return f"a link to {link.path!r}"
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset):
        return ""
    if dataset.is_virtual:
        return "a virtual dataset"
    if dataset.external:
        return f"stored in the file {dataset.external[0][0]!r}"
    return ""
