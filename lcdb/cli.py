"""The command line: parses, calls the library, turns its errors into one line.

A command is a module with `configure(parser)` and `run(arguments) -> int | None`. This package
brings those that read a database; the builder brings the others through an entry point.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import NoReturn

from lcdb._version import __version__
from lcdb.commands import COMMANDS
from lcdb.errors import LCDBError, MissingExtraError, ReadError, did_you_mean
from lcdb.regular import FAILING, read_error
from lcdb.text import one_line

__all__ = ["main"]

EPILOG = "Exit codes: 0 done, 1 error, 2 wrong use, 3 blocks failed, 75 stopped: run it again."


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors suggest the command that was probably meant."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"lcdb: {one_line(message)} (see '{self.prog} --help')\n")


def all_commands() -> dict[str, tuple[str, str]]:
    """Return ``{name: (help, module)}`` of this package's commands and of installed ones."""
    found: dict[str, tuple[str, str]] = dict(COMMANDS)
    for point in entry_points(group="lcdb.commands"):
        more: Mapping[str, tuple[str, str]] = point.load()
        found.update(more)
    return dict(sorted(found.items()))


def _load(name: str, module: str):
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in {"lcdb", "lcdb_builders"}:
            raise
        msg = (
            f"'lcdb {name}' needs {error.name}, which is not installed; "
            "install the builder with: pip install 'lcdb-plusplus[build]'"
        )
        raise MissingExtraError(msg) from error


def _overview(commands: Mapping[str, tuple[str, str]]) -> _Parser:
    parser = _Parser(
        prog="lcdb",
        description="Learning curves as distributions: build, query and analyse them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"lcdb {__version__}")
    lines = "\n".join(f"  {name:<10} {text}" for name, (text, _) in commands.items())
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of the commands below")
    parser.epilog = f"commands:\n{lines}\n\nlcdb COMMAND --help says more. {EPILOG}"
    return parser


def _run(arguments: Sequence[str]) -> int:
    commands = all_commands()
    overview = _overview(commands)
    if not arguments or arguments[0].startswith("-"):
        overview.parse_args(arguments)
        overview.print_help()
        return 0
    name, *rest = arguments
    if name not in commands:
        overview.error(f"no command {name!r}.{did_you_mean(name, commands)}")
    text, module_name = commands[name]
    module = _load(name, module_name)
    parser = _Parser(
        prog=f"lcdb {name}",
        description=module.__doc__ or text,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.configure(parser)
    return int(module.run(parser.parse_args(rest)) or 0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except LCDBError as error:
        print(f"lcdb: {one_line(error)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("lcdb: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone
        sys.stderr.close()
        return 0
    except OSError as error:
        if error.errno not in FAILING:
            raise
        print(
            f"lcdb: {one_line(read_error(Path(error.filename or 'a file'), error))}",
            file=sys.stderr,
        )
        return ReadError.exit_code


if __name__ == "__main__":
    sys.exit(main())
