"""The record of tried doors itself: on a project of one function and one command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

TESTS = Path(__file__).parent
SETTINGS = """
[pytest]
testpaths = tests
pythonpath = .
addopts = --import-mode=importlib
"""
TOY = '''
"""A module."""
import warnings
__all__ = ["Bell", "shout"]


def shout(text, mark="!", *, times=1):
    """Return a text, louder."""
    if times < 0:
        raise ValueError(times)
    if times == 7:
        warnings.warn("loud", UserWarning, stacklevel=2)
        return 7 * text + mark
    return times * text + mark


class Bell:
    """A bell."""

    def __init__(self, tone="c"):
        self.tone = tone

    def ring(self):
        """Return what is heard."""
        return self.tone
'''
COMMAND = '''
"""A command."""
import toy


def configure(parser):
    parser.add_argument("text", metavar="TEXT")
    parser.add_argument("-t", "--times", type=int, default=1)
    parser.add_argument("--loud", action="store_true")


def run(arguments):
    print(toy.shout(arguments.text, times=arguments.times))
    return 3 if arguments.loud and arguments.times == 1 else 0
'''
# The real plugin and the real command line, of another package.
START = """
import lcdb.cli

lcdb.cli.all_commands = lambda: {"greet": ("greet", "command", "")}
"""
CONFTEST = f"""
from tests.doors import inventory
{START}
inventory.MODULES = ["toy"]
inventory.TOOLS = "toy.tools"
pytest_plugins = ["tests.doors.plugin"]
"""
# An argument counts in a call that returns, by a test, whose result is asserted, also by a helper.
GOOD = """
import subprocess
import sys
import warnings

import pytest
import toy
from lcdb.cli import main

PROGRAM = "import sys, start, lcdb.cli; sys.exit(lcdb.cli.main(sys.argv[2:]))"


def same(one, other):
    assert one == other


@pytest.fixture
def bell():
    return toy.Bell("d")


def test_text():
    found = toy.shout("a", mark="?")
    same(found, "a?")


def test_warnings_point_here():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert toy.shout("a", times=7) == "aaaaaaa!"
    assert caught[0].filename == __file__


def test_bell(bell):
    assert bell.ring() == "d"


def test_command(capsys):
    assert main(["greet", "a", "-t", "2"]) == 0
    with pytest.raises(SystemExit):
        main(["--version"])


def test_command_of_another_process():
    command = [sys.executable, "-c", PROGRAM, "lcdb.cli", "greet", "a", "--loud", "-t", "3"]
    assert subprocess.run(command, check=True).returncode == 0
"""
# All of it is called, and nothing of it is tried.
BAD = """
import pytest
import toy
from lcdb.cli import main


def test_errors_results_dropped_and_failed_commands(capsys):
    with pytest.raises(ValueError):
        assert toy.shout("a", times=-1)
    toy.shout("a", mark="?")
    assert main(["greet", "a", "--loud"]) == 3
    with pytest.raises(SystemExit):
        main(["greet", "a", "--times", "b"])
    assert toy.shout("a", times=1) == "a!"


def test_nothing_is_asserted():
    bell = toy.Bell("d")
    bell.ring()
"""


@pytest.fixture
def project(tmp_path):
    shutil.copytree(TESTS / "doors", tmp_path / "tests" / "doors")
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "command.py").write_text(COMMAND)
    (tmp_path / "start.py").write_text(START)
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    return tmp_path


def run(project, *more):
    options = ["-p", "no:cacheprovider", "-p", "xdist.plugin", "--doors"]
    command = [sys.executable, "-m", "pytest", *options, *more]
    environment = {k: v for k, v in os.environ.items() if k != "LCDB_DOORS"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # importing the others takes longest
    environment["PYTHONPATH"] = str(project)
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    listed = re.findall(r"^  (\S.*): (.+)$", done.stdout.partition("no test tried")[2], re.M)
    return done.returncode, dict(listed), done.stdout + done.stderr


@pytest.mark.process
@pytest.mark.parametrize("workers", [0, 2])
def test_what_is_tried_counts_in_whichever_process(project, workers):
    (project / "tests" / "test_good.py").write_text(GOOD)
    code, listed, output = run(project, "-n", str(workers))
    assert (code, listed) == (0, {}), output


@pytest.mark.process
def test_what_is_only_called_is_listed_and_fails_the_run(project):
    (project / "tests" / "test_bad.py").write_text(BAD)
    code, listed, output = run(project, "-n", "0")
    assert code == 1, output
    assert listed == {
        "toy.Bell": "tone",
        "toy.Bell.ring": "never called",
        "toy.shout": "mark, times",
        "lcdb --version": "never called",
        "lcdb greet": "TEXT, --times, --loud",
    }
    assert "2 passed" in output


def test_some_of_the_tests_are_listed_and_not_judged(project):
    (project / "tests" / "test_bad.py").write_text(BAD)
    for narrowed in (["tests/test_bad.py"], ["-k", "errors"]):
        code, listed, output = run(project, "-n", "0", *narrowed)
        assert code == 0 and "toy.shout" in listed, output
