"""Which files of a database directory are its cubes, and which are those of experiments."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lcdb.cubefile import Header, cube_kind, open_cube, read_header
from lcdb.errors import NotFoundError
from lcdb.naming import check_names
from lcdb.reasons import Reasons, read_reasons
from lcdb.regular import check_regular, permitted
from lcdb.schema import CUBE_KIND, EXPERIMENTS, LIFETIMES_KIND
from lcdb.trials import TrialHeader, open_trials, read_trial_header
from lcdb.trust import examine

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["Folder", "cube_files"]


def cube_files(path: Path, check: bool | None) -> tuple[list[Path], dict[str, Path]]:
    """Return the curve cubes of a database directory, or the file itself; and its experiments.

    A summary stands for a cube that is not there.
    """
    curves, experiments = _cubes(path, check)
    if path.is_dir() and "pendulum" not in experiments and (path / _LIFETIMES).is_file():
        experiments["pendulum"] = path / _LIFETIMES
    return curves, experiments


#: Where the summary of the pendulum's cube is.
_LIFETIMES = Path("lifetimes", "pendulum.nc")


def _cubes(path: Path, check: bool | None) -> tuple[list[Path], dict[str, Path]]:
    if not path.is_dir():
        check_regular(path, "a database directory or a cube")
        examine([path], check)
        kind = cube_kind(path)
        kind = "pendulum" if kind == LIFETIMES_KIND else kind
        return ([], {kind: path}) if kind in EXPERIMENTS else ([path], {})
    folder = path / "cubes"
    summaries = _files(path / "summaries")
    examine(summaries, check)
    if not folder.is_dir() and summaries:
        return summaries, {}
    if not folder.is_dir() and (path / _LIFETIMES).is_file():
        return [], {}
    if not folder.is_dir():
        if (path / "blocks").is_dir() or (path / "snapshots").is_dir():
            msg = f"{path} holds no cube yet: its build has not ended; 'lcdb build' goes on with it"
        else:
            msg = f"{path} is not a database directory: it has no folder 'cubes'"
        raise NotFoundError(msg)
    files = _files(folder)
    # Cubes of other experiments live in the same folder; a foreign file is refused by its header.
    # An experiment is examined when it is asked for.
    examine((file for file in files if file.stem not in EXPERIMENTS), check)
    kinds = {file: file.stem if file.stem in EXPERIMENTS else cube_kind(file) for file in files}
    curves = [file for file, kind in kinds.items() if kind in ("", CUBE_KIND)]
    check_names({file: kind for file, kind in kinds.items() if kind in EXPERIMENTS})
    experiments = {kind: file for file, kind in kinds.items() if kind in EXPERIMENTS}
    there = {file.name for file in curves}
    curves += [file for file in summaries if file.name not in there]
    if not curves and not experiments:
        msg = f"{folder} holds no curve cube; 'lcdb build PLAN --out {path}' makes them"
        raise NotFoundError(msg)
    return curves, experiments


class Folder:
    """A database directory, or one cube file, on a disk of this machine.

    Parameters
    ----------
    path, chunks, check
        As `lcdb.open` takes them.
    """

    def __init__(self, path: str | os.PathLike[str], *, chunks: Any, check: bool | None) -> None:
        self.path = Path(path)
        self.chunks, self.check = chunks, check
        with permitted():
            self._curves, self._experiments = cube_files(self.path, check)

    @property
    def is_folder(self) -> bool:
        """Whether it is a directory."""
        return self.path.is_dir()

    @property
    def headers(self) -> list[Header]:
        """What is known of each curve cube, read now."""
        return [read_header(file) for file in self._curves]

    @property
    def experiments(self) -> list[str]:
        """The names of the experiments that there are."""
        return list(self._experiments)

    def trial_headers(self) -> dict[str, TrialHeader]:
        """Return what is known of each experiment's cube."""
        examine(self._experiments.values(), self.check)
        return {name: read_trial_header(path) for name, path in self._experiments.items()}

    def open_cube(self, header: Header) -> tuple[Header, xr.Dataset]:
        """Return the header of a cube as it is now, and a lazy dataset of it.

        A build may have published a larger cube since its header was read.
        """
        return open_cube(header.path, self.chunks, self.check)

    def open_trials(self, name: str) -> xr.Dataset:
        """Return a lazy dataset of an experiment's cube."""
        return open_trials(self._experiments[name], self.chunks, self.check)

    def reasons(self, header: Header) -> Reasons:
        """Return why curves of a cube are not complete, as far as its manifest says."""
        return read_reasons(header.path)


def _files(folder: Path) -> list[Path]:
    # A name that starts with a dot is a file that is being published.
    return sorted(file for file in folder.glob("*.nc") if not file.name.startswith("."))
