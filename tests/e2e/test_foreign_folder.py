"""The current folder is never on the import path of what this package starts."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import lcdb_builders
import pytest
from lcdb_builders.processes import child_environment, import_path, python

import lcdb

PACKAGES = (Path(lcdb.__file__).parent, Path(lcdb_builders.__file__).parent)
SOURCES = {path: path.read_text("utf-8") for p in PACKAGES for path in sorted(p.rglob("*.py"))}
# Files that would be imported in the place of the real modules.
TRAPS = ("numpy", "json", "h5py", "lcdb_builders", "sitecustomize", "encodings", "random", "numba")
TRAP = "import os, sys; open(os.environ['TRAPPED'], 'a').write(__file__ + ' ' + str(sys.argv))\n"
LCDB = Path(sys.executable).with_name("lcdb")
SHORT = "datasets = [61]\nlearners = ['NMC']\nsizes = [10, 50]\nrepetitions = 3\n"


def starts(text):
    """Yield the calls in a source that start a process."""
    names = {"run", "Popen", "call", "check_call", "check_output", "getoutput"}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            module, _, function = called.rpartition(".")
            if (module == "subprocess" and function in names) or (
                module == "os" and function.startswith(("exec", "spawn", "posix_spawn", "fork"))
            ) or called in {"os.system", "os.popen", "Popen"}:  # fmt: skip
                yield node


def test_the_walk_sees_the_starts():
    text = "subprocess.run([1])\nos.execv('a', [])\nos.system('x')\nclient.run(f)\n"
    assert len(list(starts(text))) == 3
    assert sum(bool(list(starts(text))) for text in SOURCES.values()) >= 4


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: "/".join(path.parts[-2:]))
def test_every_process_is_started_in_the_one_way(path):
    text = SOURCES[path]
    if path.parent.name == "lcdb":  # cannot ask the builder: isolated, which is stricter still
        for call in starts(text):
            assert '[sys.executable, "-I", "-c"' in text and ast.unparse(call.args[0]) == "command"
        return
    if path.name != "processes.py":
        assert "sys.executable" not in text
    assert "multiprocessing" not in text.replace("through multiprocessing", "")
    if "ProcessPool" in text:  # joblib's, which starts processes its own way
        assert "env=safe" in text and '"PYTHONSAFEPATH": "1"' in text
    for call in starts(text):
        assert ast.unparse(call.func) in {"subprocess.run", "subprocess.Popen"}
        command = ast.unparse(call.args[0])
        assert command.startswith("python(") or "command = python(" in text, command
        environment = ast.unparse({k.arg: k.value for k in call.keywords}["env"])
        assert (
            "alone = child_environment(" in text
            or environment.startswith("child_environment(")
            or ("**child_environment()" in text)
        )


@pytest.fixture
def trapped(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for name in TRAPS:
        (folder / f"{name}.py").write_text(TRAP)
    return folder


def run(command, folder, **variables):
    environment = {**os.environ, "TRAPPED": str(folder / "trapped.txt"), **variables}
    return subprocess.run(
        command, cwd=folder, env=environment, text=True, capture_output=True, check=False
    )


def test_the_traps_would_be_seen(trapped):
    done = run([sys.executable, "-c", "import h5py"], trapped)
    assert done.returncode == 0 and (trapped / "trapped.txt").is_file()


@pytest.mark.parametrize("variables", [{}, {"PYTHONPATH": ""}])
def test_what_is_handed_on_is_without_the_current_folder(trapped, variables):
    """Also where the process itself was started in a way that puts the folder on its path."""
    code = (
        "import os, sys\n"
        "from lcdb_builders.processes import import_path\n"
        "sys.path[:0] = ['', os.getcwd(), os.curdir]\n"
        "print('|'.join(import_path()))"
    )
    done = run([sys.executable, "-P", "-c", code], trapped, **variables)
    assert done.returncode == 0, done.stderr
    paths = done.stdout.strip().split("|")
    assert len(paths) > 2 and str(trapped.resolve()) not in paths


def test_a_script_keeps_its_folder(tmp_path):
    """What is beside it, an estimator say, is imported by its children as by itself."""
    script = tmp_path / "script.py"
    script.write_text(
        "import json, sys\nfrom lcdb_builders.processes import import_path\n"
        "print(json.dumps(import_path()))\n"
    )
    done = run([sys.executable, "script.py"], tmp_path)
    assert str(tmp_path) in json.loads(done.stdout)


def test_our_own_environment_is_safe():
    environment = child_environment(LCDB_TEST="1")
    assert environment["PYTHONSAFEPATH"] == environment["LCDB_TEST"] == "1"
    assert environment["PYTHONPATH"].split(os.pathsep) == import_path()
    assert python("/a/b.py", "c")[1:] == ["-P", "/a/b.py", "c"]


def test_nothing_in_the_folder_of_a_database_is_imported(trapped):
    """Building, verifying a damaged cube, salvaging it and building again."""
    (trapped / "short.toml").write_text(SHORT)
    build = [LCDB, "build", "short.toml", "--out", "db", "--workers", "1", "--offline", "--quiet"]
    done = run(build, trapped)
    assert done.returncode == 0, done.stderr
    database = trapped / "db"
    for trap in trapped.glob("*.py"):
        (database / trap.name).write_text(trap.read_text())
    cube = database / "cubes" / "61.nc"
    content = bytearray(cube.read_bytes())
    content[len(content) // 2] ^= 1
    cube.write_bytes(content)
    done = run([LCDB, "verify", "."], database)
    assert done.returncode != 0 and "61" in done.stdout + done.stderr
    done = run([LCDB, "status", "."], database)
    assert done.returncode == 0, done.stderr
    again = [part if part != "db" else "." for part in build]
    done = run([part if part != "short.toml" else "../short.toml" for part in again], database)
    assert done.returncode == 0, done.stderr
    assert run([LCDB, "verify", "."], database).returncode == 0
    for folder in (trapped, database):
        assert not (folder / "trapped.txt").exists(), (folder / "trapped.txt").read_text()
