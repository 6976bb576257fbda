"""Environments with nothing but what a wheel says it needs, made without a network.

What this environment has of the needed distributions is linked into an empty one, file by file as
their own records name them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"[A-Za-z0-9._-]+")
# A command of a distribution: the function that its entry point names.
COMMAND = "#!{0}\nimport sys\nimport {1}\nif __name__ == '__main__':\n    sys.exit({1}.{2}())\n"
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")


def clean() -> dict[str, str]:
    """Return this process's environment without what would find modules elsewhere."""
    left_out = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LCDB_DOORS"}
    return {name: value for name, value in os.environ.items() if name not in left_out}


def python(code: str, *arguments: object, cwd: Path = ROOT) -> str:
    """Run code with this Python, in a process of its own, and return what it prints."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=cwd, env=clean(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(kind: str, source: Path, out: Path) -> Path:
    """Return an sdist or a wheel of a project, as its build backend makes it."""
    code = f"import sys; from setuptools import build_meta as b; b.build_{kind}(sys.argv[1])"
    out.mkdir(parents=True, exist_ok=True)
    python(code, out, cwd=source)
    (made,) = out.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return made


def needed(wheel_requires: Iterable[str], extras: Iterable[str] = ()) -> set[str]:
    """Return names of distributions that requirements ask for, and those that they ask for."""
    found: set[str] = set()
    waiting = [(line, frozenset(extras)) for line in wheel_requires]
    while waiting:
        line, wanted = waiting.pop()
        requirement, _, marker = line.partition(";")
        asked = set(EXTRA.findall(marker))
        if (asked and not asked & wanted) or not _holds(marker):
            continue
        match = NAME.match(requirement)
        assert match, line
        name = match[0].lower().replace("_", "-")
        more = re.search(r"\[([^\]]*)\]", requirement)
        inner = frozenset(more[1].replace(" ", "").split(",")) if more else frozenset()
        if name == "lcdb-plusplus":  # one of its extras asks for others
            if not inner <= wanted:
                waiting += [(other, wanted | inner) for other in wheel_requires]
        elif name not in found:
            try:
                waiting += [(r, inner) for r in distribution(name).requires or []]
                found.add(name)
            except PackageNotFoundError:  # for another platform
                assert marker, f"{line} is not installed"
    return found


def _holds(marker: str) -> bool:
    """Return whether a marker may hold here, apart from its extras."""
    return not re.search(r"(win32|Windows|darwin|emscripten|PyPy)", marker) or "!=" in marker


def environment(folder: Path, artifact: Path, extras: Iterable[str] = ()) -> Path:
    """Return the Python of a new environment with an artifact and all that it needs.

    It is a wheel, an sdist, or a folder, which is installed as developers install it: editable.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, env=clean())
    interpreter = folder / "bin" / "python"
    command = [
        *(sys.executable, "-m", "pip", "--python", interpreter, "--disable-pip-version-check"),
        *("install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"),
        *(["--editable"] if artifact.is_dir() else []),
        artifact,
    ]
    if artifact.suffix != ".whl":  # what builds it must be there
        link(interpreter, {"setuptools"})
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean())
    assert done.returncode == 0, done.stdout + done.stderr
    told = subprocess.run(
        [interpreter, "-c", "import importlib.metadata as m, json; "
         "print(json.dumps(m.requires('lcdb-plusplus')))"],
        capture_output=True, text=True, check=True, env=clean(), cwd=folder,
    ).stdout  # fmt: skip
    link(interpreter, needed(json.loads(told), extras))
    return interpreter


def link(interpreter: Path, names: Iterable[str]) -> None:
    """Link distributions of this environment into another."""
    (site,) = (interpreter.parents[1] / "lib").glob("python*/site-packages")
    for name in names:
        for file in distribution(name).files or []:
            top = file.parts[0]
            target = Path(str(file.locate())).parents[len(file.parts) - 1] / top
            if top not in {"..", "__pycache__"} and not (site / top).exists():
                (site / top).symlink_to(target)
        for command in distribution(name).entry_points.select(group="console_scripts"):
            script = interpreter.with_name(command.name)
            script.write_text(COMMAND.format(interpreter, command.module, command.attr))
            script.chmod(0o755)
