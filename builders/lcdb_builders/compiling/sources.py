"""What a kernel is made of: a digest of its definition and of all that it reaches.

Numbers, and machine code, depend on a function's definition and on the definitions of whatever it
calls. They are digested as syntax trees, without comments, docstrings, hints and imports, and a
name that is defined in the kernels stands for its definition, wherever that is. So a function may
move to another file, and files to other folders. What is imported from elsewhere counts by its
whole name.

A statement that binds several names, such as the two versions of a module under
``if config.DISABLE_JIT``, is one definition. One that binds none, and a loop that registers
something, belong to every definition of their module.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

__all__ = ["Sources", "digest_of", "kernel_sources"]

# A definition: the module it is in, and its place among the statements there.
Key = tuple[str, int]


@dataclass
class _Module:
    """A module's statements, which of them bind a name, and what its imports stand for."""

    statements: list[ast.stmt] = field(default_factory=list)
    places: dict[str, list[int]] = field(default_factory=dict)
    nameless: list[int] = field(default_factory=list)
    inside: dict[str, tuple[str, str]] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)


@dataclass
class _Definition:
    """A definition by itself, and the definitions that its names stand for."""

    content: str
    names: dict[str, list[Key]]


class Sources:
    """The sources of a package as they are now; what is edited later is not what runs.

    Parameters
    ----------
    folder
        The package's folder.
    package
        Its name.
    """

    def __init__(self, folder: Path, package: str) -> None:
        self.package = package
        self._texts: dict[str, bytes] = {}
        self._paths: set[Path] = set()
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *(part for part in parts if part != "__init__")))
            self._texts[name] = path.read_bytes()
            self._paths.add(path.resolve())
        self._modules: dict[str, _Module] = {}
        self._definitions: dict[Key, _Definition] = {}
        self._digests: dict[str, str] = {}

    def digest_of(self, *names: str, within: tuple[str, ...] = ("",)) -> str:
        """Return a digest of modules, or of functions in them, and of all that they reach.

        Parameters
        ----------
        *names
            What.
        within
            How the names of modules begin of which what is reached counts.
        """
        key = repr((names, within))
        if key not in self._digests:
            reached = self._reached(key for name in names for key in self._named(name))
            kept = {key for key in reached if key[0].startswith(within)}
            self._digests[key] = _sha256(sorted(set(self._refined(kept))))
        return self._digests[key]

    def cover(self, path: str) -> bool:
        """Return whether a file is one of these sources."""
        return Path(path).resolve() in self._paths

    def _named(self, name: str) -> list[Key]:
        if name in self._texts:
            return self._keys(name)
        module, _, function = name.rpartition(".")
        keys = self._keys(module, function) if module in self._texts else []
        if not keys:
            msg = f"{name} is no module of {self.package} and no definition in one"
            raise LookupError(msg)
        return keys

    def _keys(self, module: str, name: str = "") -> list[Key]:
        """Return the definitions that a name of a module stands for; all of them without a name."""
        content = self._module(module)
        if not name:
            return [(module, place) for place in range(len(content.statements))]
        if name in content.places:
            return [(module, place) for place in content.places[name] + content.nameless]
        return self._keys(*content.inside[name]) if name in content.inside else []

    def _module(self, name: str) -> _Module:
        if name not in self._modules:
            tree = ast.parse(self._texts[name])
            module = self._modules[name] = _Module()
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._note_import(module, node)
            for statement in tree.body:
                bare = _Bare().visit(statement)
                names = [] if bare is None else _bound(bare)
                if bare is None or names == ["__all__"] or _is_text(bare):
                    continue
                place = len(module.statements)
                module.statements.append(bare)
                for bound in dict.fromkeys(names):
                    module.places.setdefault(bound, []).append(place)
                if not names or isinstance(statement, ast.For | ast.While | ast.With | ast.Try):
                    module.nameless.append(place)
        return self._modules[name]

    def _note_import(self, module: _Module, node: ast.Import | ast.ImportFrom) -> None:
        """Note what the names of an import stand for: a module of the package or what is in one."""
        for alias in node.names:
            if isinstance(node, ast.Import):
                name, whole, source = alias.asname or alias.name.split(".")[0], alias.name, ""
            else:
                source = str(node.module)
                name, whole = alias.asname or alias.name, f"{source}.{alias.name}"
            if whole in self._texts:
                module.inside[name] = (whole, "")
            elif source in self._texts:
                module.inside[name] = (source, alias.name)
            else:
                module.outside[name] = whole

    def _definition(self, key: Key) -> _Definition:
        if key not in self._definitions:
            module = self._module(key[0])
            statement = module.statements[key[1]]
            names = sorted({node.id for node in ast.walk(statement) if isinstance(node, ast.Name)})
            outside = [(name, module.outside[name]) for name in names if name in module.outside]
            self._definitions[key] = _Definition(
                _sha256([_plain(statement), outside]),
                {name: keys for name in names if (keys := self._keys(key[0], name))},
            )
        return self._definitions[key]

    def _reached(self, keys: Iterable[Key]) -> set[Key]:
        """Return definitions and all that they reach, through any number of names."""
        reached: set[Key] = set()
        waiting = list(keys)
        while waiting:
            key = waiting.pop()
            if key not in reached:
                reached.add(key)
                waiting.extend(chain.from_iterable(self._definition(key).names.values()))
        return reached

    def _refined(self, keys: set[Key]) -> Iterable[str]:
        """Return a digest of each definition that covers what its names stand for.

        Each round looks one call further. Functions may call each other in circles, so there is no
        order in which one round would do; a round that tells none apart that the last one did not
        has seen everything.
        """
        digests = {key: self._definition(key).content for key in keys}
        kinds = 0
        while kinds < len(set(digests.values())):
            kinds = len(set(digests.values()))
            digests = {
                key: _sha256([digests[key], *(
                    (name, sorted(digests[other] for other in others if other in digests))
                    for name, others in self._definition(key).names.items()
                )])
                for key in keys
            }  # fmt: skip
        return digests.values()


class _Bare(ast.NodeTransformer):
    """Drop what changes no number: docstrings, hints of arguments and results, imports."""

    def _without_text(self, node: Any) -> Any:
        self.generic_visit(node)
        if node.body and _is_text(node.body[0]):
            node.body = node.body[1:]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.returns = None
        return self._without_text(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return self._without_text(node)

    def visit_arg(self, node: ast.arg) -> Any:
        node.annotation = None
        return node

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None


def _is_text(statement: ast.AST) -> bool:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return isinstance(statement.value.value, str)
    return False


def _bound(node: ast.AST) -> list[str]:
    """Return the names that a statement binds at the top level of its module."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store) else []
    return [name for child in ast.iter_child_nodes(node) for name in _bound(child)]


def _plain(node: Any) -> Any:
    """Return a syntax tree as tuples; unlike `ast.dump`, the same in every version of Python."""
    if isinstance(node, list):
        return [_plain(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, _plain(value)) for name, value in ast.iter_fields(node)]
    return (type(node).__name__, [pair for pair in fields if pair[1] not in (None, [])])


def _sha256(content: list[Any]) -> str:
    return hashlib.sha256(repr(content).encode()).hexdigest()


@cache
def kernel_sources() -> Sources:
    """Return the sources of the kernels, read when this is first called."""
    package = __name__.rpartition(".compiling.")[0]
    return Sources(Path(__file__).resolve().parents[1] / "kernels", f"{package}.kernels")


def digest_of(*names: str) -> str:
    """Return a digest of what kernels are made of, which does not depend on where it is.

    Parameters
    ----------
    *names
        Modules below ``lcdb_builders.kernels``, or functions in them, by their whole names. All
        that they reach counts, in whatever module it is.

    Examples
    --------
    >>> whole = digest_of("lcdb_builders.kernels.gaussian.block")
    >>> whole == digest_of("lcdb_builders.kernels.core.rng.below")
    False
    >>> digest_of("lcdb_builders.kernels.core.rng.belov")
    Traceback (most recent call last):
    ...
    LookupError: lcdb_builders.kernels.core.rng.belov is no module of lcdb_builders.kernels and no \
definition in one
    """
    return kernel_sources().digest_of(*names)
