"""Is what a call returns used, and does an assertion follow? Read off the source of the test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType

TESTS = Path(__file__).resolve().parents[1]
OWN = str(Path(__file__).resolve().parent)


def is_test_code(frame: FrameType) -> bool:
    """Return whether a frame runs a test, a helper of tests, or an example in the docs."""
    name = frame.f_code.co_filename
    return name.startswith(ROOTS) and not name.startswith(OWN)


# Doctests, and examples of pages that tests execute under the page's name.
EXAMPLES = ("<doctest ", "README.md")
ROOTS = (str(TESTS), *EXAMPLES)


@dataclass
class _Source:
    """Statements of a file, and where assertions are."""

    statements: list[ast.stmt] = field(default_factory=list)
    functions: list[ast.FunctionDef] = field(default_factory=list)


@cache
def _source(path: str) -> _Source:
    found = _Source()
    for node in ast.walk(ast.parse(Path(path).read_text("utf-8"))):
        if isinstance(node, ast.stmt):
            found.statements.append(node)
        if isinstance(node, ast.FunctionDef):
            found.functions.append(node)
    return found


def _called(node: ast.AST) -> str:
    """Return the last part of the name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    func = node.func
    return func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")


def _asserts(node: ast.AST, helpers: frozenset[str]) -> bool:
    name = _called(node)
    return isinstance(node, ast.Assert) or name.startswith("assert") or name in helpers


@cache
def _helpers() -> frozenset[str]:
    """Return names of functions in tests that assert something, or call one that does."""
    functions = [
        node
        for path in TESTS.rglob("*.py")
        for node in _source(str(path)).functions
        if not node.name.startswith("test_")
    ]
    names: frozenset[str] = frozenset()
    while True:
        more = {f.name for f in functions if any(_asserts(n, names) for n in ast.walk(f))}
        if more == names:
            return names
        names = frozenset(more)


def is_asserted(frame: FrameType) -> bool:
    """Return whether the result of the call that a frame is making is used and asserted.

    A fixture's result is asserted by the tests that take it.
    """
    if frame.f_code.co_filename.startswith(EXAMPLES):
        return True
    if _is_dropped(frame):
        return False
    return any(_assertion_follows(caller) for caller in _test_frames(frame))


def _test_frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if is_test_code(frame):
            yield frame
        frame = frame.f_back


def _statement(frame: FrameType) -> ast.stmt | None:
    """Return the smallest statement that a frame is in."""
    line = frame.f_lineno
    around = [
        node
        for node in _source(frame.f_code.co_filename).statements
        if node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return min(around, key=lambda node: (node.end_lineno or 0) - node.lineno, default=None)


def _is_dropped(frame: FrameType) -> bool:
    """Return whether the call is a statement of its own, so that nobody has its result."""
    statement = _statement(frame)
    if not isinstance(statement, ast.Expr):
        return False
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    value = statement.value
    return positions == (value.lineno, value.end_lineno, value.col_offset, value.end_col_offset)


def _assertion_follows(frame: FrameType) -> bool:
    """Return whether the function of a frame asserts something where it is, or later."""
    code, helpers = frame.f_code, _helpers()
    functions = [
        node
        for node in _source(code.co_filename).functions
        if node.lineno <= frame.f_lineno <= (node.end_lineno or node.lineno)
    ]
    if not functions:
        return code.co_name == "<module>"  # a constant of the module, for its tests
    function = max(functions, key=lambda node: node.lineno)
    if any("fixture" in ast.unparse(decorator) for decorator in function.decorator_list):
        return True
    statement = _statement(frame)
    start = statement.lineno if statement else frame.f_lineno
    return any(
        _asserts(node, helpers) and (getattr(node, "end_lineno", 0) or 0) >= start
        for node in ast.walk(function)
    )
