"""The current folder is never on the import path of what this package starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lcdb_builders.processes import child_environment, import_path, python

# Files that would be imported in the place of the real modules.
TRAPS = ("numpy", "json", "h5py", "lcdb_builders", "sitecustomize", "encodings", "random", "numba")
TRAP = "import os, sys; open(os.environ['TRAPPED'], 'a').write(__file__ + ' ' + str(sys.argv))\n"
LCDB = Path(sys.executable).with_name("lcdb")
SHORT = "datasets = [61]\nlearners = ['NMC']\nsizes = [10, 50]\nrepetitions = 3\n"


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


@pytest.mark.process
def test_the_traps_would_be_seen(trapped):
    done = run([sys.executable, "-c", "import h5py"], trapped)
    assert done.returncode == 0 and (trapped / "trapped.txt").is_file()


@pytest.mark.process
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


@pytest.mark.process
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


@pytest.mark.full
@pytest.mark.process
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
