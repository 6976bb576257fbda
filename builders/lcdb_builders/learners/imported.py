"""Classes that a plan names: by an import path, or in a file beside the plan.

Importing a class runs code. Only public modules of scikit-learn are imported unless the caller
passes ``allow_import=True``, and `load_class` is the one place where a path becomes a class, so
every way to a learner (plan, journal, downloaded cube) passes the check.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.abc
import sys
import types
from collections.abc import Callable
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

from lcdb.errors import ImportRefusedError, PlanError, did_you_mean

__all__ = ["FileFinder", "file_of", "load_class", "source_of", "stored_name"]

#: Says where the file of a class is, such as ``"mine.py"``.
FileFinder = Callable[[str], Path]

_NOT_PUBLIC = {"conftest", "externals", "tests"}
# Digits of a file's SHA-256 that stand in keys and names.
_DIGITS = 16


def _is_public_sklearn(path: str) -> bool:
    first, *rest = path.split(".")
    private = any(part.startswith("_") or part in _NOT_PUBLIC for part in rest)
    return first == "sklearn" and len(rest) >= 2 and not private


def file_of(path: str) -> str:
    """Return the file that a class's path names, empty if it is an import path.

    Examples
    --------
    >>> file_of("mine.py:MyClassifier"), file_of("sklearn.svm.SVC")
    ('mine.py', '')
    """
    file, colon, _ = path.rpartition(":")
    return file if colon else ""


def load_class(path: str, *, allow_import: bool, files: FileFinder = Path) -> type:
    """Return the class of an import path, or of a file.

    Parameters
    ----------
    path
        ``package.module.Class``, or ``file.py:Class``.
    allow_import
        Allow other code than scikit-learn's.
    files
        Says where a file is.

    Examples
    --------
    >>> load_class("sklearn.tree.DecisionTreeClassifier", allow_import=False).__name__
    'DecisionTreeClassifier'
    >>> load_class("os.path.join", allow_import=False)
    Traceback (most recent call last):
    ...
    lcdb.errors.ImportRefusedError: the estimator 'os.path.join' is not a public class of \
scikit-learn, and importing it would run code; if you trust it, say so with --allow-import \
(allow_import=True)
    """
    trusted = _is_public_sklearn(path)
    if not trusted and not allow_import:
        msg = (
            f"the estimator {path!r} is not a public class of scikit-learn, and importing it would "
            "run code; if you trust it, say so with --allow-import (allow_import=True)"
        )
        raise ImportRefusedError(msg)
    if file_of(path):
        return _class_of_file(path, files(file_of(path)))
    module_name, _, class_name = path.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except (ImportError, ValueError) as error:
        msg = f"the estimator {path!r} cannot be imported: {error}; expected package.module.Class"
        raise PlanError(msg) from error
    if not trusted:
        _source_of_module(module_name)  # as it is now, for it may be edited later
    cls = _member(path, module, class_name, module_name)
    # A module of scikit-learn also holds what it imported from elsewhere.
    if trusted and not str(getattr(cls, "__module__", "")).startswith("sklearn."):
        raise _no_class(path)
    return cls


def _member(path: str, module: object, name: str, where: str) -> type:
    """Return a class of a module that can be fitted, or raise."""
    cls = getattr(module, name, None)
    if cls is None:
        hint = did_you_mean(name, [known for known in dir(module) if known[:1].isupper()])
        msg = f"the estimator {path!r} does not exist: no {name!r} in {where}.{hint}"
        raise PlanError(msg)
    if not isinstance(cls, type) or not hasattr(cls, "fit"):
        raise _no_class(path)
    return cls


def _no_class(path: str) -> PlanError:
    msg = f"the estimator {path!r} is not a scikit-learn classifier class: it has no fit"
    return PlanError(msg)


def _not_loaded(path: str, file: Path, why: str) -> PlanError:
    msg = f"the estimator {path!r} cannot be loaded: {file} {why}"
    return PlanError(msg)


class _Content(importlib.abc.SourceLoader):
    """Loads a module from bytes at hand: no compiled copy is read, or left beside the file."""

    def __init__(self, name: str, file: Path, content: bytes) -> None:
        self.name, self.file, self.content = name, str(file), content

    def get_filename(self, fullname: str) -> str:
        """Return the file's name."""
        return self.file

    def get_data(self, path: Any) -> bytes:
        """Return the source; nothing else is to be had."""
        if str(path) != self.file:
            raise OSError(path)
        return self.content


def _class_of_file(path: str, file: Path) -> type:
    """Return a class of a file, which is run once for every content that it has."""
    try:
        content = file.read_bytes()
    except OSError as error:
        why = f"cannot be read ({error.strerror or error}); expected a file beside the plan"
        raise _not_loaded(path, file, why) from error
    name = f"lcdb_estimator_{hashlib.sha256(content).hexdigest()}"
    if name not in sys.modules:
        loader = _Content(name, file, content)
        module = types.ModuleType(name)
        module.__file__ = str(file)
        sys.modules[name] = module
        try:
            loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            why = f"ends in {type(error).__name__}: {error}; it may import only what is installed"
            raise _not_loaded(path, file, why) from error
    return _member(path, sys.modules[name], path.rpartition(":")[2], file.name)


def stored_name(file: str, implementation: str) -> str:
    """Return the name under which a database keeps the file of an implementation's class.

    Examples
    --------
    >>> stored_name("sub/mine.py", "generic-3,mine.py-0123456789abcdef,scikit-learn-1.6.1")
    'mine-0123456789abcdef.py'
    """
    name = Path(file).name
    digests = [part.removeprefix(f"{name}-") for part in implementation.split(",")]
    known = [digest for digest in digests if len(digest) == _DIGITS and digest.isalnum()]
    return f"{Path(name).stem}-{known[0] if known else 'unknown'}.py"


def source_of(path: str, cls: type, files: FileFinder = Path) -> str:
    """Return what the numbers of a class depend on, besides scikit-learn; empty if nothing else.

    An installed class is told by the version of its distribution, any other by a digest of its
    source.

    Parameters
    ----------
    path
        As `load_class` was given it.
    cls
        The class.
    files
        Says where a file is.
    """
    file = file_of(path)
    if file:
        digest = hashlib.sha256(files(file).read_bytes()).hexdigest()[:_DIGITS]
        return f"{Path(file).name}-{digest}"
    if cls.__module__.split(".")[0] == "sklearn":
        return ""
    return _source_of_module(cls.__module__)


@cache
def _distributions() -> dict[str, list[str]]:
    return {name: list(owners) for name, owners in packages_distributions().items()}


@cache
def _source_of_module(module_name: str) -> str:
    """Return name and version, or name and digest: of the source as it was when first asked."""
    root = module_name.split(".")[0]
    module = sys.modules.get(root)
    file = getattr(module, "__file__", None) or getattr(
        sys.modules.get(module_name), "__file__", None
    )
    distributions = _distributions().get(root, [])
    # What is installed for development keeps its version while it is edited.
    installed = file is None or {"site-packages", "dist-packages"} & set(Path(file).parts)
    if distributions and installed:
        return f"{root}-{version(distributions[0])}"
    if file is None:
        return f"{root}-unknown"
    source = Path(file)
    every = sorted(source.parent.rglob("*.py")) if source.name == "__init__.py" else [source]
    digest = hashlib.sha256()
    for one in every:
        digest.update(f"{one.relative_to(source.parent)}\0".encode())
        digest.update(one.read_bytes())
    return f"{root}-{digest.hexdigest()[:_DIGITS]}"
