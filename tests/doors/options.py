"""Parsers tell which options they were given; they count when the command exits with 0.

Imported by `start/sitecustomize.py` in every Python that a test starts: standard library only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from tests.doors.inventory import is_door, option_name
from tests.doors.record import tried, write

_pending: list[str] = []


def _given(parser: argparse.ArgumentParser, parsed: argparse.Namespace) -> list[str]:
    return [
        f"{parser.prog} {option_name(action)}"
        for action in filter(is_door, parser._actions)
        if hasattr(parsed, action.dest) and getattr(parsed, action.dest) != action.default
    ]


def tell_of_options() -> None:
    """Have the parsers of commands tell of what they parse."""
    original = argparse.ArgumentParser.parse_args

    def parse_args(self: Any, args: Any = None, namespace: Any = None) -> Any:
        if self.prog.split()[:1] != ["lcdb"]:
            return original(self, args, namespace)
        _pending.clear()
        try:
            parsed = original(self, args, namespace)
        except SystemExit as end:
            if not end.code and "--version" in (sys.argv if args is None else args):
                tried("lcdb --version")
            raise
        _pending.extend(_given(self, parsed))
        return parsed

    argparse.ArgumentParser.parse_args = parse_args  # type: ignore[method-assign]


def ended(code: object) -> None:
    """Count the options of the command that has ended, if it ended well."""
    for option in _pending if code in (0, None) else ():
        tried(option)
    _pending.clear()


def tell_of_this_program() -> None:
    """Count the options that this program was started with, when it exits with 0."""
    tell_of_options()
    leave: Callable[[object], Any] = sys.exit

    def exit(code: object = None) -> None:
        ended(code)
        write()
        leave(code)

    sys.exit = exit  # type: ignore[assignment]
