"""Markers say what a test does; a test that does more than its markers say fails.

`make check` leaves out whatever costs more than plain Python, `make test` leaves out `full`. A test
and its fixtures are watched: who starts a process or listens on a port without a marker fails.
"""

from __future__ import annotations

import _posixsubprocess
import collections
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

#: What the interpreter reports when code does what a marker is for.
EVENTS = {
    **dict.fromkeys(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"), "process"),
    **dict.fromkeys(("os.system", "os.exec"), "process"),
    "socket.bind": "server",
}
COSTLY = ("process", "server", "compiles", "browser", "slow")


def _is_kept(command: list[str]) -> bool:
    """Return whether a process is one whose answer is kept: the next test would start none.

    joblib counts cores once, `platform` asks for the processor once, and the reader probes a file
    that has no manifest once.
    """
    return command[0] in {"lscpu", "uname"} or any("lcdb.probe" in str(word) for word in command)


class Watch:
    """What tests and their fixtures do, by the interpreter's audit events."""

    def __init__(self) -> None:
        self.done: dict[str, str] = {}
        self.fixtures: list[pytest.FixtureDef[Any]] = []
        # By the definition: fixtures of several files have one name.
        self.by_fixture: dict[int, dict[str, str]] = collections.defaultdict(dict)
        sys.addaudithook(self._note)
        self._watch_forks()

    def _note(self, event: str, details: tuple[Any, ...]) -> None:
        marker = EVENTS.get(event)
        if marker == "server" and not isinstance(details[1], tuple):
            return  # a socket in a folder: no port
        if event == "subprocess.Popen" and _is_kept(list(details[1])):
            return
        if marker:
            self._add(marker, f"{event} {details[1:2]}"[:120])

    def _watch_forks(self) -> None:
        """Watch multiprocessing and loky as well, which fork below what the interpreter reports."""
        fork = _posixsubprocess.fork_exec

        def fork_exec(*arguments: Any) -> int:
            self._add("process", f"fork_exec {arguments[0][:3]}"[:120])
            return fork(*arguments)

        _posixsubprocess.fork_exec = fork_exec

    def _add(self, marker: str, detail: str) -> None:
        self.done.setdefault(marker, detail)
        for fixture in self.fixtures:
            self.by_fixture[id(fixture)].setdefault(marker, f"fixture {fixture.argname}")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        """Remember which fixture is being made: every test that takes it does what it did."""
        self.fixtures.append(fixturedef)
        try:
            return (yield)
        finally:
            self.fixtures.pop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        """Begin to watch."""
        self.done.clear()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Iterator[None]:
        """Fail a test that did what none of its markers says."""
        result = yield
        done = dict(self.done)
        for definitions in item._fixtureinfo.name2fixturedefs.values():  # type: ignore[attr-defined]
            for definition in definitions:
                done = {**self.by_fixture.get(id(definition), {}), **done}
        missing = {m: d for m, d in done.items() if not any(item.iter_markers(m))}
        if missing:
            words = ", ".join(f"@pytest.mark.{m} ({d})" for m, d in sorted(missing.items()))
            pytest.fail(f"this test needs {words}", pytrace=False)
        return result


class Limit:
    """Leave out what a time limit does not allow, and say which files that concerns."""

    def __init__(self, seconds: float) -> None:
        # Workers of pytest-xdist start with the environment of the process that started them.
        self.end = float(os.environ.setdefault("LCDB_TEST_END", str(time.time() + seconds)))

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a test that would begin too late."""
        if time.time() > self.end:
            pytest.skip("left out: the time limit of this run")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """List files of which tests were left out."""
        skipped = terminalreporter.stats.get("skipped", [])
        late = [report for report in skipped if "left out: the time" in str(report.longrepr)]
        files = collections.Counter(report.nodeid.split("::")[0] for report in late)
        if files:
            terminalreporter.section(f"left out: {len(late)} tests of {len(files)} files")
            for file, count in sorted(files.items()):
                terminalreporter.line(f"  {file}: {count}")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what CI asks for."""
    parser.addoption("--limit", type=float, metavar="SECONDS", help="leave out what begins later")
    parser.addoption("--rotate", type=int, metavar="DAY", help="begin with another file every day")


def pytest_configure(config: pytest.Config) -> None:
    """Watch what tests do."""
    config.pluginmanager.register(Watch(), "lcdb-watch")
    if config.option.limit:
        config.pluginmanager.register(Limit(config.option.limit), "lcdb-limit")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Start with the files that cost most, so that no worker is left alone with one of them."""
    files: dict[str, list[pytest.Item]] = collections.defaultdict(list)
    for item in items:
        files[item.nodeid.split("::")[0]].append(item)
    costs = {
        file: sum(any(item.iter_markers(marker)) for item in group for marker in COSTLY)
        for file, group in files.items()
    }
    order = sorted(files, key=lambda file: (-costs[file], file))
    if config.option.rotate:
        start = config.option.rotate * 7919 % len(order)
        order = order[start:] + order[:start]
    items[:] = [item for file in order for item in files[file]]
