"""Each rule of tools/check_house.py is broken once, in a project of a few files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import check_house

ROOT = Path(__file__).parents[1]
SETTINGS = """
[project]
dependencies = ["numpy>=2", "h5py"]
[tool.setuptools]
packages = ["lcdb", "lcdb.stats", "lcdb.schema", "lcdb.plot", "lcdb.schemas", "lcdb.data",
  "lcdb_builders", "lcdb_builders.kernels"]
[tool.setuptools.package-data]
"lcdb.schemas" = ["*.json"]
"lcdb.data" = ["*.toml", "plans/*.toml"]
"""
HEAD = '"""A module."""\n\n__all__ = []\n'
BUILDER = "builders/lcdb_builders"
FILES = {
    "pyproject.toml": SETTINGS,
    **{
        f"{folder}/__init__.py": '"""A package."""\n'
        for folder in ("lcdb", "lcdb/stats", "lcdb/schema", "lcdb/plot", "schemas", "data")
    },
    f"{BUILDER}/__init__.py": '"""A package."""\n',
    f"{BUILDER}/kernels/__init__.py": '"""A package."""\n',
    f"{BUILDER}/kernels/fast.py": f"{HEAD}import numpy as np\nfrom numba import njit\n",
    "lcdb/plot/lines.py": f"{HEAD}import matplotlib\n",
    "lcdb/read.py": f"{HEAD}import h5py\n\n\ndef late():\n    import matplotlib\n",
    "data/plans/a.toml": "",
    "schemas/cube.json": "{}",
}
#: Rule, file, what is appended to it (or its content), and a part of the violation.
BROKEN = [
    ("absolute_imports", "lcdb/read.py", "from . import stats\n", "relatively"),
    ("directions", "lcdb/read.py", "def f():\n    import lcdb_builders\n", "lcdb_builders"),
    ("directions", "lcdb/stats/mean.py", f"{HEAD}from lcdb import read\n", "lcdb.read"),
    ("directions", "lcdb/schema/tables.py", f"{HEAD}import lcdb.read\n", "lcdb.read"),
    ("directions", f"{BUILDER}/kernels/fast.py", "import scipy\n", "scipy"),
    ("directions", f"{BUILDER}/kernels/fast.py", "import lcdb.read\n", "lcdb.read"),
    ("optional_packages", "lcdb/read.py", "import sklearn\n", "sklearn"),
    ("cube_writers", f"{BUILDER}/a.py", f"{HEAD}CubeWriter(1)\n", "CubeWriter"),
    ("cube_writers", "lcdb/read.py", "def f():\n    import h5netcdf\n", "h5netcdf"),
    ("file_writers", "lcdb/read.py", "open('a', 'w')\n", "open"),
    ("file_writers", f"{BUILDER}/a.py", f"{HEAD}import os\nos.replace('a', 'b')\n", "os.replace"),
    ("file_writers", f"{BUILDER}/a.py", f"{HEAD}path.unlink()\n", "path.unlink"),
    ("unpickling", "lcdb/read.py", "np.load('a', allow_pickle=True)\n", "pickles"),
    ("unpickling", "lcdb/read.py", "eval('1')\n", "eval"),
    ("unpickling", f"{BUILDER}/a.py", f"{HEAD}def f():\n    import joblib\n", "joblib"),
    ("processes", "lcdb/read.py", "subprocess.run(command)\n", "without -I"),
    ("processes", f"{BUILDER}/a.py", f"{HEAD}sys.executable\n", "sys.executable"),
    ("processes", f"{BUILDER}/a.py", f"{HEAD}os.system('a')\n", "os.system"),
    ("processes", f"{BUILDER}/a.py", f"{HEAD}subprocess.run(['a'])\n", "processes.python"),
    ("processes", f"{BUILDER}/a.py", f"{HEAD}subprocess.run(python('a'))\n", "child_environment"),
    ("public_names", "lcdb/read.py", None, "no docstring"),
    ("public_names", "lcdb/more.py", '"""A module."""\n\nA = 1\nB = 2\n', "no __all__"),
    ("argument_names", f"{BUILDER}/a.py", f"{HEAD}found = 1\n", "found says nothing"),
    ("argument_names", f"{BUILDER}/a.py", f"{HEAD}def f(a, b, c, d, e, g):\n    ...\n", "6"),
    ("packages", "lcdb/new/__init__.py", '"""A package."""\n', "lcdb.new"),
    ("packages", "lcdb/bare/a.py", HEAD, "__init__.py"),
    ("packages", "data/notes.txt", "", "data/notes.txt"),
    ("machine_names", "notes.md", "see /wo" + "rk/main\n", "notes.md:1"),
    ("machine_names", "notes.md", "from https://pypi" + ".org/simple\n", "pypi"),
]


def write(root: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.fixture(autouse=True)
def no_exceptions(monkeypatch):
    """The toy has none of the modules that are exceptions from a rule."""
    monkeypatch.setattr(check_house, "MAY_WRITE", {})


def test_a_project_that_keeps_the_rules_has_no_violation(tmp_path):
    assert check_house.check(write(tmp_path, FILES)) == []


@pytest.mark.parametrize(("rule", "file", "text", "part"), BROKEN)
def test_a_broken_rule_is_reported_where_it_is(tmp_path, rule, file, text, part):
    content = "A = 1\nB = 2\n" if text is None else FILES.get(file, "") + text
    violations = check_house.check(write(tmp_path, {**FILES, file: content}))
    named = [v for v in violations if v.split(": ")[1] == rule.replace("_", "-") and part in v]
    assert len(named) == 1
    assert named[0].startswith(f"{file}:") or rule == "packages"


def test_every_rule_is_broken_by_a_test():
    assert {rule.__name__ for rule in check_house.RULES} == {row[0] for row in BROKEN}


def test_programs_other_than_python_have_no_import_path(tmp_path):
    text = 'command = ["squeue", "-h"]\nsubprocess.run(command, check=False)\n'
    assert check_house.check(write(tmp_path, {**FILES, f"{BUILDER}/a.py": HEAD + text})) == []


def test_what_only_type_checkers_import_is_no_import(tmp_path):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lcdb_builders\n"
    root = write(tmp_path, {**FILES, "lcdb/read.py": HEAD + text})
    assert check_house.check(root) == []


def test_the_command_exits_with_one_for_a_violation(tmp_path, capsys):
    root = write(tmp_path, FILES)
    assert check_house.main([str(root)]) == 0
    write(root, {"lcdb/read.py": HEAD + "eval('1')\n"})
    assert check_house.main([str(root)]) == 1
    assert "lcdb/read.py:4: unpickling: calls eval" in capsys.readouterr().out
