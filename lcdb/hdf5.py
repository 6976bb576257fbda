"""HDF5 files as lcdb reads them, without xarray: how they are opened, and what damage looks like.

Headers are read with this alone, so that a database opens before xarray is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from lcdb.errors import DamagedError, LCDBError
from lcdb.regular import failing_disk
from lcdb.text import visible

__all__ = ["DRIVER", "attributes", "damage", "dims_of"]

#: Keyword arguments with which lcdb opens every HDF5 file that it reads.
DRIVER: Mapping[str, Any] = {"driver": "stdio", "locking": False}
# Attributes by which netCDF-4 keeps its books.
_HIDDEN = {"CLASS", "DIMENSION_LIST", "NAME", "REFERENCE_LIST"}


@contextmanager
def damage(path: Path, errors: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
    """Turn what HDF5 and its readers raise on a damaged file into one of our errors.

    Flipped bits in metadata come out as any error there is; values fail in fewer ways.
    """
    try:
        yield
    except (LCDBError, Warning):  # a warning that a user's filter made an error is no damage
        raise
    except errors as error:
        if failing := failing_disk(path):
            raise failing from error
        what = " ".join(str(error).strip("'\"").split()) or type(error).__name__
        msg = (
            f"{path} cannot be read ({what}): it is damaged, or was never a cube; "
            f"'lcdb verify' on its database says which parts"
        )
        raise DamagedError(msg) from error


def attributes(holder: h5py.File | h5py.Dataset) -> dict[str, Any]:
    """Return attributes as xarray has them: text as str, one-element arrays as scalars.

    Text is safe to print: what a terminal would obey is spelt out (`lcdb.text.visible`).
    """
    found = {}
    for name, value in holder.attrs.items():
        if name in _HIDDEN or name.startswith(("_NC", "_Netcdf4", "_nc3")):
            continue
        if isinstance(value, bytes):
            value = value.decode()
        elif isinstance(value, np.ndarray) and value.shape == (1,):
            value = value[0]
        if isinstance(value, np.ndarray) and value.dtype == object:
            value = np.array([visible(one) for one in value.ravel()], object).reshape(value.shape)
        found[visible(name)] = visible(value) if isinstance(value, str) else value
    return found


def dims_of(dataset: h5py.Dataset) -> tuple[str, ...]:
    """Return the names of the dims of a variable."""
    if dataset.is_scale:
        return (dataset.name.lstrip("/"),)
    return tuple(dim[0].name.lstrip("/") for dim in dataset.dims)
