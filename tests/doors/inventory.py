"""Which doors there are: `module.function(argument=)` and `lcdb command --option`."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from types import FunctionType, ModuleType

# Documented modules whose `__all__` is public.
MODULES = [
    *("lcdb", "lcdb.analysis", "lcdb.distribution", "lcdb.errors", "lcdb.plot", "lcdb.publishing"),
    *("lcdb.reporting", "lcdb.schema", "lcdb.stats", "lcdb.tables", "lcdb.tables.jordan2018"),
    "lcdb_builders",
]
# What stands behind `lcdb.replay(…)` and the like, which hand on whatever they are given.
TOOLS = "lcdb.tools"


def functions() -> dict[str, FunctionType]:
    """Return the public functions, and methods of public classes, each under one name."""
    named: dict[str, FunctionType] = {}
    for module_name in MODULES:
        module = import_module(module_name)
        for public in module.__all__:
            for name, function in _functions_of(f"{module_name}.{public}", getattr(module, public)):
                if function not in named.values():
                    named[name] = function
    for point in entry_points(group=TOOLS):
        named[point.value.replace(":", ".")] = point.load()
    return named


def _functions_of(name: str, value: object) -> Iterator[tuple[str, FunctionType]]:
    if inspect.isclass(value):
        if not issubclass(value, Exception):
            yield from _methods(name, value)
    elif callable(value) and not isinstance(value, ModuleType):
        function = inspect.unwrap(value)
        if isinstance(function, FunctionType):
            yield name, function


def _methods(name: str, cls: type) -> Iterator[tuple[str, FunctionType]]:
    """Yield public methods; and the constructor, unless it only stores (records are results)."""
    stores = dataclasses.is_dataclass(cls) or issubclass(cls, tuple)
    for attribute, value in vars(cls).items():
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if not isinstance(function, FunctionType):
            continue
        if attribute == "__init__" and not stores:
            yield name, function
        elif not attribute.startswith("_"):
            yield f"{name}.{attribute}", function


def arguments(function: FunctionType) -> list[str]:
    """Return the arguments of a function that callers give."""
    names = list(inspect.signature(function).parameters)
    bound = names and names[0] in {"self", "cls"} and function.__qualname__ != function.__name__
    return names[1:] if bound else names


def door(function: str, argument: str) -> str:
    """Return the name of an argument's door."""
    return f"{function}({argument}=)"


def function_doors() -> list[str]:
    """Return a door for each argument of each public function; those without have one as well."""
    return [
        door(name, argument) if argument else f"{name}()"
        for name, function in functions().items()
        for argument in arguments(function) or [""]
    ]


def option_name(action: argparse.Action) -> str:
    """Return the longest name of an option, or that of a positional argument."""
    return max(action.option_strings, key=len, default=str(action.metavar or action.dest))


def is_door(action: argparse.Action) -> bool:
    """Return whether an option is ours and not argparse's."""
    return not isinstance(action, argparse._HelpAction)


def option_doors() -> list[str]:
    """Return a door for each option of each command."""
    from lcdb import cli

    found = ["lcdb --version"]
    for name, (_, module, _) in cli.all_commands().items():
        parser = argparse.ArgumentParser(prog=f"lcdb {name}")
        import_module(module).configure(parser)
        actions = filter(is_door, parser._actions)
        found += [f"{parser.prog} {option_name(action)}" for action in actions]
    return found
