"""The command line as users run it: a program of its own, which can be stopped and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
# Classes that plans name.
ELSEWHERE = ROOT / "tests" / "elsewhere"
# Nothing takes as long; but on a new machine kernels are compiled first.
PATIENCE = 900.0


def environment() -> dict[str, str]:
    """Return an environment in which plans can name the classes in tests/elsewhere."""
    paths = [str(ELSEWHERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONWARNINGS": "ignore"}


def start(*arguments: object, **options) -> subprocess.Popen[str]:
    """Start an lcdb command."""
    command = [sys.executable, "-m", "lcdb.cli", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment(), **{**pipes, **options})


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return exit code, output and error output."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, err


def lcdb(*arguments: object, **options) -> tuple[int, str, str]:
    """Run an lcdb command to its end."""
    return finish(start(*arguments, **options))


def plan_file(path: Path, text: str) -> Path:
    """Write a plan of iris that is small unless `text` says otherwise."""
    path.write_text(text)
    return path


def descendants(pid: int) -> list[psutil.Process]:
    """Return the processes that a process has started, and they, and so on."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def kill(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Kill a command, and return the processes that it leaves to themselves."""
    left = descendants(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return left


def all_gone(processes: Sequence[psutil.Process], seconds: float = PATIENCE) -> bool:
    """Return whether processes end by themselves."""
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not alive


def wait_until(condition, seconds: float = PATIENCE) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def status(root: Path) -> dict[str, int]:
    """Return how many curves have which status."""
    code, out, err = lcdb("status", root, "--json")
    assert code == 0, err
    return json.loads(out)["totals"]
