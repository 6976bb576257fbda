"""One cube of an experiment: its header, and a lazy dataset of its trials."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from lcdb._version import __version__
from lcdb.cubefile import open_store
from lcdb.errors import FormatVersionError, SchemaError, SummaryError
from lcdb.foreign import refuse_foreign_storage
from lcdb.hdf5 import DRIVER, attributes, damage
from lcdb.schema import EXPERIMENTS, FORMAT_VERSION, LIFETIMES_KIND, STATUSES
from lcdb.schema.experiments import TRIAL
from lcdb.text import visible

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["TrialHeader", "open_trials", "read_trial_header"]


# Five learners on four tasks in two modes; two agents, and four trials that are run again.
_PARTS_OF_PAPER = {"dse": 40, "pendulum": 6}


@dataclass(frozen=True)
class TrialHeader:
    """What is known of an experiment's cube without reading its trials."""

    path: Path
    experiment: str
    labels: dict[str, tuple[str, ...]]
    trials: int
    wanted: np.ndarray = field(repr=False)
    status: np.ndarray = field(repr=False)
    format_version: int = FORMAT_VERSION
    bytes: int = 0
    is_summary: bool = False

    def need_episodes(self) -> None:
        """Raise if this is a summary: what is asked for takes the returns of episodes.

        Raises
        ------
        SummaryError
            The message says which file that is.
        """
        if self.is_summary:
            msg = (
                f"{self.experiment} is here as a summary ({self.path}), which has no episodes; "
                "this takes its full cube: lcdb.open the database that has it"
            )
            raise SummaryError(msg)

    def as_json(self) -> dict[str, Any]:
        """Return the header as a JSON-able dict."""
        found = np.bincount(self.status.ravel(), minlength=len(STATUSES))
        return {
            "experiment": self.experiment,
            **{dim: list(labels) for dim, labels in self.labels.items()},
            "trials": self.trials,
            "status": {name: int(n) for name, n in zip(STATUSES, found, strict=True)},
            "file": str(self.path),
            "bytes": self.bytes,
        }

    def __str__(self) -> str:
        counts = " × ".join(
            f"{len(labels)} {dim}{'' if len(labels) == 1 else 's'}"
            for dim, labels in self.labels.items()
        )
        complete = int((self.status == STATUSES.index("complete")).sum())
        parts = f"{complete} of {int((self.wanted > 0).sum())} parts asked for are complete"
        whole = f"the paper has {_PARTS_OF_PAPER[self.experiment]}"
        summary = " (summary, without episodes)" if self.is_summary else ""
        trials = f"up to {self.trials} trials{summary}"
        return f"{self.experiment}: {counts}, {trials}; {parts}, {whole}"


def read_trial_header(path: Path) -> TrialHeader:
    """Return the header of an experiment's cube, or raise what is wrong with the file.

    Raises
    ------
    DamagedError, FormatVersionError
        The file is not what was written; a newer lcdb wrote it.
    """
    with damage(path), h5py.File(path, "r", **DRIVER) as file:
        refuse_foreign_storage(path, file)
        known = attributes(file)
        is_summary = known["cube_kind"] == LIFETIMES_KIND
        experiment = "pendulum" if is_summary else known["cube_kind"]
        if experiment not in EXPERIMENTS:
            msg = f"{path} is no cube of an experiment: cube_kind is {experiment!r}"
            raise SchemaError(msg)
        _check_version(path, int(known["format_version"]))
        dims = EXPERIMENTS[experiment].dims
        return TrialHeader(
            path=path,
            experiment=experiment,
            labels={dim: tuple(map(visible, file[dim].asstr()[...].tolist())) for dim in dims},
            trials=len(file[TRIAL]),
            wanted=file["trials"][...],
            status=file["status"][...],
            format_version=int(known["format_version"]),
            bytes=file.id.get_filesize(),
            is_summary=is_summary,
        )


def _check_version(path: Path, version: int) -> None:
    if version > FORMAT_VERSION:
        msg = (
            f"{path} has format version {version}; lcdb {__version__} reads up to "
            f"{FORMAT_VERSION}: update lcdb-plusplus"
        )
        raise FormatVersionError(msg)


def open_trials(path: Path, chunks: Any = None, check: bool | None = None) -> xr.Dataset:
    """Open an experiment's cube; arrays are read when they are used.

    Parameters
    ----------
    path
        The file.
    chunks
        None for plain arrays; anything else for dask arrays as they are chunked in the file.
    check
        As `lcdb.open` takes it.
    """
    import xarray as xr

    with damage(path):
        store = open_store(path, check)
        _check_version(path, int(store.get_attrs()["format_version"]))
        return xr.open_dataset(store, chunks=None if chunks is None else {})
