"""Public functions tell of their calls, by their own code: no frame more, the same signature.

Each is compiled again with a `return` that passes through `_returned`. Whoever has the function
already, has the new code as well, and warnings still point at the caller.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from tests.doors.asserts import is_asserted, is_test_code
from tests.doors.inventory import arguments, door, functions
from tests.doors.record import tried

HOOK = "__lcdb_door__"
BOUND = "__lcdb_bound__"
#: Decorators and stand-ins of public functions, which are between a test and what it calls.
WRAPPERS = ("lcdb/analysis/selections.py", "lcdb/tools.py")


class _Calls:
    """What is told of, and what is known of it already."""

    def __init__(self) -> None:
        self.left: dict[str, set[str]] = {}
        self.parameters: dict[str, dict[str, inspect.Parameter]] = {}

    def returned(self, name: str, bound: dict[str, Any], result: Any) -> Any:
        """Note which arguments of a call differ from their defaults; return the result."""
        left = self.left[name]
        if left:
            caller = sys._getframe(1).f_back
            while caller is not None and caller.f_code.co_filename.endswith(WRAPPERS):
                caller = caller.f_back
            if caller is not None and is_test_code(caller):
                given = {key for key in left if not key or self._differs(name, key, bound)}
                if given and is_asserted(caller):
                    left -= given
                    for key in given:
                        tried(door(name, key) if key else f"{name}()")
        return result

    def _differs(self, name: str, key: str, bound: dict[str, Any]) -> bool:
        parameter, value = self.parameters[name][key], bound.get(key)
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return bool(value)
        if parameter.default is parameter.empty:
            return True
        if value is parameter.default:
            return False
        same = value == parameter.default
        return not (isinstance(same, bool) and same)


_calls = _Calls()


def tell_of_calls() -> None:
    """Have every public function tell of its calls from tests."""
    setattr(builtins, HOOK, _calls.returned)
    for name, function in functions().items():
        if name not in _calls.left:
            _calls.left[name] = set(arguments(function) or [""])
            _calls.parameters[name] = dict(inspect.signature(function).parameters)
            function.__code__ = _telling(name, function)


def _telling(name: str, function: FunctionType) -> CodeType:
    """Return the code of a function with returns that tell."""
    old = function.__code__
    module = ast.parse(Path(old.co_filename).read_text("utf-8"), old.co_filename)
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == old.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == old.co_firstlineno:
                _Returns(name).rewrite(node)
    whole = compile(ast.fix_missing_locations(module), old.co_filename, "exec", dont_inherit=True)
    return next(code for code in _codes(whole) if code.co_qualname == old.co_qualname
                and code.co_firstlineno == old.co_firstlineno)  # fmt: skip


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


class _Returns(ast.NodeTransformer):
    """Rewrites the returns of one function, and of none inside of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def rewrite(self, node: ast.FunctionDef) -> None:
        documented = ast.get_docstring(node, clean=False) is not None
        head, body = node.body[:documented], node.body[documented:]
        first = body[0] if body else node
        bound = ast.parse(f"{BOUND} = dict(locals())").body[0]
        end = ast.Return(self._told(None, first))
        body = [self.visit(statement) for statement in body]
        node.body = [*head, ast.copy_location(bound, first), *body]
        node.body.append(ast.copy_location(end, body[-1] if body else node))

    def _told(self, value: ast.expr | None, where: ast.AST) -> ast.expr:
        called = ast.parse(f"{HOOK}({self.name!r}, {BOUND}, None)", mode="eval").body
        assert isinstance(called, ast.Call)
        if value is not None:
            called.args[-1] = value
        for node in (called, called.func, *called.args[:2]):
            ast.copy_location(node, where)
        return called

    def visit_Return(self, node: ast.Return) -> ast.Return:
        return ast.copy_location(ast.Return(self._told(node.value, node)), node)

    def _leave(self, node: Any) -> Any:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _leave
