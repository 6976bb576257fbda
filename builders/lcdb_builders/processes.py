"""How this package starts Python: never with the current folder on the import path.

A database may lie anywhere, and beside it a ``numpy.py`` of somebody else's. Python would import it
from the current folder wherever a program is started with ``-m`` or ``-c``, or where
``PYTHONPATH`` has an empty entry. So programs are started with ``-P``, and what they start in turn
finds ``PYTHONSAFEPATH``.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

__all__ = ["child_environment", "import_path", "python"]


def python(program: str, *arguments: str) -> list[str]:
    """Return the command that runs a module, or a file, with this Python.

    Examples
    --------
    >>> python("lcdb_builders.run.child", "17")[1:]
    ['-P', '-m', 'lcdb_builders.run.child', '17']
    """
    start = [program] if program.endswith(".py") else ["-m", program]
    return [sys.executable, "-P", *start, *arguments]


def child_environment(**variables: str) -> dict[str, str]:
    """Return the environment of a process of ours: this one's, with the same import path.

    Parameters
    ----------
    **variables
        What is to be different.

    Examples
    --------
    >>> environment = child_environment(OMP_NUM_THREADS="1")
    >>> environment["PYTHONSAFEPATH"], environment["OMP_NUM_THREADS"]
    ('1', '1')
    """
    path = os.pathsep.join(import_path())
    return {**os.environ, "PYTHONPATH": path, "PYTHONSAFEPATH": "1", **variables}


def import_path() -> list[str]:
    """Return this process's import path without the current folder.

    It is handed on since a script's folder is on it without being in any variable. The current
    folder stays only where it is the script's, or this package's, own: what is in it runs already.
    """
    current = _real(os.curdir)
    kept = {_real(folder) for folder in (_script_folder(), *_package_folders()) if folder}
    paths = [os.path.abspath(entry) for entry in sys.path if entry]
    return [path for path in paths if _real(path) != current or current in kept]


def _real(path: str | os.PathLike[str]) -> str:
    return os.path.realpath(path)


def _script_folder() -> Path | None:
    """Return the folder of the script that this process runs, if it runs one."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    started_by_name = getattr(main, "__spec__", None) is not None
    return None if file is None or started_by_name else Path(file).parent


def _package_folders() -> list[Path]:
    specs = [find_spec(name) for name in ("lcdb", "lcdb_builders")]
    return [Path(spec.origin).parents[1] for spec in specs if spec is not None and spec.origin]
