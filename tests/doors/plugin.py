"""Record doors with `--doors`, and judge them where the whole suite has run.

Nothing is imported without that option: recording takes every module of both packages, and that
takes seconds in each process.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

START = Path(__file__).parent / "start"
TESTS = Path(__file__).resolve().parents[1]


class Doors:
    """One process's part: workers of pytest-xdist record, the process that started them judges."""

    def __init__(self, config: pytest.Config) -> None:
        from tests.doors import options, record

        self.config = config
        self.judges = not hasattr(config, "workerinput")
        self.untried: list[str] = []
        self.all = 0
        self.environment = {name: os.environ.get(name) for name in (record.FOLDER, "PYTHONPATH")}
        if self.judges:
            os.environ[record.FOLDER] = tempfile.mkdtemp(prefix="lcdb-doors-")
            paths = [str(START), *filter(None, [os.environ.get("PYTHONPATH")])]
            os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        options.tell_of_options()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Have public functions tell, now that all of them are imported anyway."""
        from tests.doors import functions

        if session.items:
            functions.tell_of_calls()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Keep what was tried; judge all of it where everything ran."""
        from tests.doors import inventory, record

        record.write()
        if self.judges:
            doors = [*inventory.function_doors(), *inventory.option_doors()]
            tried = record.merged()
            self.all, self.untried = len(doors), [d for d in doors if d not in tried]
            if self.untried and self._is_whole(session) and exitstatus in (0, 1):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            shutil.rmtree(os.environ[record.FOLDER], ignore_errors=True)
            for name, value in self.environment.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})

    def _is_whole(self, session: pytest.Session) -> bool:
        """Return whether every test was asked for."""
        option = self.config.option
        narrowed = [option.keyword, option.markexpr, option.deselect, option.ignore]
        if any(narrowed) or option.collectonly or getattr(option, "lf", False):
            return False
        if session.shouldstop or session.shouldfail:
            return False
        given = [Path(self.config.invocation_params.dir, word) for word in self.config.args]
        folders = [Path(self.config.rootpath, path) for path in self.config.getini("testpaths")]
        return {p.resolve() for p in given} <= {*(p.resolve() for p in folders), TESTS.parent}

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List what no test tried."""
        if self.untried:
            terminalreporter.section("doors that no test tried", red=True)
            for line in _by_place(self.untried):
                terminalreporter.line(line)
            terminalreporter.line(
                f"{len(self.untried)} of {self.all}: a test on good input is missing, which gives "
                "the argument another value than the default and asserts the result, or runs the "
                "command with the option to exit code 0 (see tests/doors/__init__.py)"
            )


def _by_place(doors: list[str]) -> Iterator[str]:
    """Yield a line for each function or command."""
    places: dict[str, list[str]] = {}
    for door in doors:
        if door.startswith("lcdb ") and door.count(" ") > 1:
            place, _, option = door.rpartition(" ")
        else:
            place, _, option = door.partition("(")
        places.setdefault(place, []).append(option.removesuffix("=)").removesuffix(")"))
    for place, names in places.items():
        yield f"  {place}: {', '.join(names) or 'never called'}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let doors be recorded."""
    parser.addoption(
        "--doors",
        action="store_true",
        help="list arguments and options that these tests do not try; a whole run fails on them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin to record, if that is asked for."""
    if not config.option.doors:
        return
    config.pluginmanager.register(Doors(config), "lcdb-doors")
    import lcdb.cli
    from tests.doors import options

    main = lcdb.cli.main

    def recorded_main(arguments=None):
        code = main(arguments)
        options.ended(code)
        return code

    lcdb.cli.main = recorded_main
