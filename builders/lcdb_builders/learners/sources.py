"""Which kernels a learner uses, and what they are made of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from lcdb_builders.compiling.sources import digest_of
from lcdb_builders.learners.base import Learner

__all__ = ["kernels_digest"]

KERNELS, LEARNERS = "lcdb_builders.kernels", "lcdb_builders.learners"


def kernels_digest(learner: Learner) -> str:
    """Return a digest of all that a learner's kernels are compiled from; empty if it has none.

    It changes with any definition that a kernel reaches, and not with comments, docstrings or the
    place of files; see `lcdb_builders.compiling.sources`.

    Examples
    --------
    >>> from lcdb_builders.learners import registry
    >>> kernels_digest(registry.get("LDC")) == kernels_digest(registry.get("QDC"))
    True
    >>> kernels_digest(registry.get("LDC")) == kernels_digest(registry.get("NNC"))
    False
    """
    names: set[str] = set()
    for base in type(learner).__mro__:
        names |= _kernels(base.__module__)
    return digest_of(*sorted(names)) if names else ""


@cache
def _kernels(module: str) -> frozenset[str]:
    """Return the whole names of what a module of learners, and those it uses, take from kernels."""
    names: set[str] = set()
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        module = waiting.pop()
        if module.startswith(f"{LEARNERS}.") and module not in seen:
            seen.add(module)
            for source, name in _imports(module):
                waiting.append(source)
                if source.startswith(f"{KERNELS}."):
                    names.add(f"{source}.{name}")
    return frozenset(names)


def _imports(module: str) -> Iterator[tuple[str, str]]:
    """Yield what a module imports from where."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    for node in ast.walk(ast.parse(Path(spec.origin).read_bytes())):
        if isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield str(node.module), alias.name
