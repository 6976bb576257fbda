"""The command line: parses, calls the library, turns its errors into one line.

A command is a module with `configure(parser)` and `run(arguments) -> int | None`. This package
brings those that read a database; the builder brings the others through an entry point. Both say
which optional part of the installation (an extra) a command needs.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution, entry_points, requires
from pathlib import Path
from typing import Any, NoReturn

from lcdb._version import __version__
from lcdb.commands import COMMANDS
from lcdb.errors import LCDBError, MissingExtraError, ReadError, did_you_mean
from lcdb.regular import FAILING, read_error, refused_error
from lcdb.text import one_line

__all__ = ["main"]

PROJECT = "lcdb-plusplus"
EPILOG = (
    "Exit codes: 0 done, 1 error, 2 wrong use, 3 blocks failed, 4 a block came out otherwise,\n"
    "75 stopped: run it again, 130 interrupted."
)


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors suggest the command that was probably meant."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"lcdb: {one_line(message)} (see '{self.prog} --help')\n")


def all_commands() -> dict[str, tuple[str, str, str]]:
    """Return ``{name: (help, module, extra)}`` of this package's commands and of installed ones."""
    commands: dict[str, tuple[str, str, str]] = dict(COMMANDS)
    for point in entry_points(group="lcdb.commands"):
        more: Mapping[str, tuple[str, str, str]] = point.load()
        commands.update(more)
    return dict(sorted(commands.items()))


@contextmanager
def _told_what_to_install(name: str, extra: str) -> Iterator[None]:
    """Turn the import error of an optional dependency into one that says how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in {"lcdb", "lcdb_builders"}:
            raise
        msg = (
            f"'lcdb {name}' needs {error.name}, which is not installed; "
            f"install it with: pip install '{PROJECT}[{extra or 'build'}]'"
        )
        raise MissingExtraError(msg) from error


def _is_installed(extra: str) -> bool:
    """Return whether every distribution that an extra asks for is there."""
    try:
        wanted = [
            line for line in requires(PROJECT) or () if re.search(rf"['\"]{extra}['\"]", line)
        ]
        for line in wanted:
            distribution(re.split(r"[^\w.-]", line)[0])
    except PackageNotFoundError:
        return False
    return True


def _overview(commands: Mapping[str, tuple[str, str, str]]) -> _Parser:
    parser = _Parser(
        prog="lcdb",
        description="Learning curves as distributions: build, query and analyse them.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"lcdb {__version__}")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of the commands below")
    parser.epilog = f"commands:\n{_listed(commands)}\n\nlcdb COMMAND --help says more. {EPILOG}"
    return parser


def _listed(commands: Mapping[str, tuple[str, str, str]]) -> str:
    """Return a line for each command; those that need what is not installed are marked."""
    extras = dict.fromkeys(extra for _, _, extra in commands.values() if extra)
    absent = [extra for extra in extras if not _is_installed(extra)]
    lines = [
        f"  {name:<10} {text}" + (f" [{extra}]" if extra in absent else "")
        for name, (text, _, extra) in commands.items()
    ]
    if absent:
        marks = " and ".join(f"[{extra}]" for extra in absent)
        install = f"pip install '{PROJECT}[{','.join(absent)}]'"
        lines += ["", f"Commands marked {marks} need more than is installed: {install}"]
    return "\n".join(lines)


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
    text, module_name, extra = commands[name]
    with _told_what_to_install(name, extra):
        module = importlib.import_module(module_name)
        parser = _Parser(
            prog=f"lcdb {name}",
            description=module.__doc__ or text,
            epilog=EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(parser)
        return int(module.run(parser.parse_args(rest)) or 0)


class _Logged(logging.Handler):
    """Prints what is logged as a line like every other."""

    def emit(self, record: logging.LogRecord) -> None:
        _tell(record.getMessage())


def _tell(text: object) -> None:
    # The stream of now: a bar on a terminal prints what is written to it above itself.
    print(f"lcdb: {one_line(text)}", file=sys.stderr)


@contextmanager
def _warnings_in_a_line() -> Iterator[None]:
    """Print our warnings as our own lines: which line of which file warns is nothing to users."""
    logger, handler = logging.getLogger("lcdb"), _Logged()
    logger.addHandler(handler)
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if category.__module__ == LCDBError.__module__:
                _tell(message)
            else:
                others(message, category, *where)

        warnings.showwarning = show  # type: ignore[assignment]
        try:
            yield
        finally:
            logger.removeHandler(handler)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        with _warnings_in_a_line():
            return _run(sys.argv[1:] if arguments is None else arguments)
    except LCDBError as error:
        _tell(error)
        return error.exit_code
    except KeyboardInterrupt:
        _tell("interrupted")
        return 130
    except BrokenPipeError:  # the reader of a pipe has gone
        sys.stderr.close()
        return 0
    except PermissionError as error:
        _tell(refused_error(error))
        return ReadError.exit_code
    except OSError as error:
        if error.errno not in FAILING:
            raise
        _tell(read_error(Path(error.filename or "a file"), error))
        return ReadError.exit_code


if __name__ == "__main__":
    sys.exit(main())
