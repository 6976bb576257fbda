"""Which files of a database directory are its cubes, and which are those of experiments."""

from __future__ import annotations

from pathlib import Path

from lcdb.cubefile import cube_kind
from lcdb.errors import NotFoundError
from lcdb.naming import check_names
from lcdb.regular import check_regular
from lcdb.schema import CUBE_KIND, EXPERIMENTS
from lcdb.trust import examine

__all__ = ["cube_files"]


def cube_files(path: Path, check: bool | None) -> tuple[list[Path], dict[str, Path]]:
    """Return the curve cubes of a database directory, or the file itself; and its experiments."""
    if not path.is_dir():
        check_regular(path, "a database directory or a cube")
        examine([path], check)
        kind = cube_kind(path)
        return ([], {kind: path}) if kind in EXPERIMENTS else ([path], {})
    folder = path / "cubes"
    if not folder.is_dir():
        if (path / "blocks").is_dir() or (path / "snapshots").is_dir():
            msg = f"{path} holds no cube yet: its build has not ended; 'lcdb build' goes on with it"
        else:
            msg = f"{path} is not a database directory: it has no folder 'cubes'"
        raise NotFoundError(msg)
    # A name that starts with a dot is a file that is being published.
    files = sorted(file for file in folder.glob("*.nc") if not file.name.startswith("."))
    # Cubes of other experiments live in the same folder; a foreign file is refused by its header.
    # An experiment is examined when it is asked for.
    examine((file for file in files if file.stem not in EXPERIMENTS), check)
    kinds = {file: file.stem if file.stem in EXPERIMENTS else cube_kind(file) for file in files}
    curves = [file for file, kind in kinds.items() if kind in ("", CUBE_KIND)]
    check_names({file: kind for file, kind in kinds.items() if kind in EXPERIMENTS})
    experiments = {kind: file for file, kind in kinds.items() if kind in EXPERIMENTS}
    if not curves and not experiments:
        msg = f"{folder} holds no curve cube; 'lcdb build PLAN --out {path}' makes them"
        raise NotFoundError(msg)
    return curves, experiments
