"""What is distributed: built, installed where nothing else is, and used."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.support.counts import FULL
from tests.support.environments import ROOT, built, clean, environment, link, needed

with (ROOT / "pyproject.toml").open("rb") as file:
    PROJECT = tomllib.load(file)["project"]
QUERY = re.compile(r"^```python\n(import lcdb\n.*?)^```", re.DOTALL | re.MULTILINE)
LEFT_OUT = [
    *(".git", ".ci", ".venv", "build", "dist", "demo", "__pycache__", "*.egg-info", ".*_cache"),
    *(".hypothesis", ".benchmarks", ".ipynb_checkpoints", ".cache-lcdb"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("packaging")


@pytest.fixture(scope="module")
def sdist(folder):
    """The source distribution of a copy, since building leaves traces in a source tree."""
    shutil.copytree(ROOT, folder / "copy", ignore=shutil.ignore_patterns(*LEFT_OUT))
    return built("sdist", folder / "copy", folder / "dist")


@pytest.fixture(scope="module")
def unpacked(sdist, folder):
    """What the source distribution holds."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (root,) = (folder / "unpacked").iterdir()
    return root


@pytest.fixture(scope="module")
def wheel(unpacked, folder):
    """The wheel that is built from the source distribution."""
    return built("wheel", unpacked, folder / "wheels")


@pytest.fixture(scope="module")
def core(wheel, folder):
    """The Python of an environment with the wheel and what querying needs."""
    return environment(folder / "core", wheel)


def run(interpreter: Path, *arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [str(interpreter), *map(str, arguments)]
    variables = {**clean(), "MPLBACKEND": "agg", "LCDB_CACHE": str(cwd / "cache")}
    variables.pop("LCDB_FULL", None)  # once more at full counts they would say nothing new
    return subprocess.run(
        command, cwd=cwd, env=variables, capture_output=True, text=True, check=False
    )


# -- sizes -----------------------------------------------------------------------------------------


@pytest.mark.process
def test_what_ships_is_no_larger_than_it_may_be(wheel):
    reference = (ROOT / "data" / "reference").rglob("*")
    assert sum(path.stat().st_size for path in reference if path.is_file()) <= 20e6
    assert wheel.stat().st_size <= 25e6


# -- the source distribution -----------------------------------------------------------------------


@pytest.mark.process
def test_the_source_distribution_is_the_whole_project(unpacked):
    folders = ["lcdb", "builders", "schemas", "data", "tests", "docs", "notebooks"]
    files = [path for name in folders for path in (ROOT / name).rglob("*") if path.is_file()]
    names = [
        str(path.relative_to(ROOT))
        for path in files
        if not any(fnmatch(part, left) for part in path.parts for left in LEFT_OUT)
    ]
    names += ["CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md"]
    missing = [name for name in names if not (unpacked / name).is_file()]
    assert missing == []
    assert len(list((unpacked / "tests").rglob("test_*.py"))) > 60


@pytest.mark.full
@pytest.mark.process
def test_the_tests_of_the_source_distribution_run(unpacked, folder, wheel):
    """All of them where counts are full, elsewhere those of two modules, one of which reads data.

    The tree is installed as `make test` does it.
    """
    interpreter = environment(folder / "tested", unpacked, ["dev"])
    everything = ["-n", "2", "--dist", "loadfile", "--deselect", "tests/test_packaging.py"]
    which = (
        everything
        if FULL
        else ["-n", "0", "tests/lcdb/test_tools.py", "tests/lcdb/test_schema_experiments.py"]
    )
    told = run(interpreter, "-m", "pytest", "-q", "-p", "no:cacheprovider", *which, cwd=unpacked)
    assert told.returncode == 0, told.stdout[-5000:] + told.stderr


def test_links_of_the_readme_work_on_a_package_index():
    """There a relative link leads nowhere."""
    text = (ROOT / "README.md").read_text("utf-8")
    links = [*re.findall(r"\]\(([^)]+)\)", text), *re.findall(r"^\[[^]]+\]: (\S+)$", text, re.M)]
    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://")] == []
    tree = f"{PROJECT['urls']['Source']}/blob/main/"
    ours = [link.removeprefix(tree) for link in links if link.startswith(tree)]
    assert len(ours) > 10
    assert [name for name in ours if not (ROOT / name).is_file()] == []
    used = set(re.findall(r"\]\[([^]]+)\]", text))
    assert used <= set(re.findall(r"^\[([^]]+)\]: ", text, re.M))


def test_the_project_says_where_it_is():
    urls = PROJECT["urls"]
    assert {"Source", "Documentation", "Changelog"} <= set(urls)
    assert f'repository-code: "{urls["Source"]}"' in (ROOT / "CITATION.cff").read_text("utf-8")
    assert all(url.startswith(urls["Source"]) for url in urls.values())


# -- an installation that only queries -------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize(
    "command",
    [
        "build demo --out database",
        "compile --learner NMC",
        "plan demo",
        "replay {tutorial} iris LDC -n 20",
        "bench --quick --learner NMC",
        "bench --stats --cells 100",
        "verify {tutorial} --recompute 1 --quiet",
    ],
)
def test_a_command_without_its_extra_says_what_to_install(core, tmp_path, command):
    words = command.format(tutorial=tutorial(core)).split()
    done = run(core, "-m", "lcdb.cli", *words, cwd=tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(
        rf"lcdb: 'lcdb {words[0]}' needs \w+, which is not installed; "
        r"install it with: pip install 'lcdb-plusplus\[build\]'",
        line,
    )
    assert not (tmp_path / "database").exists()


def tutorial(interpreter: Path) -> Path:
    (site,) = (interpreter.parents[1] / "lib").glob("python*/site-packages")
    return site / "lcdb" / "data" / "tutorial"


@pytest.mark.process
def test_the_help_marks_commands_that_need_more(core, tmp_path):
    said = run(core, "-m", "lcdb.cli", "--help", cwd=tmp_path).stdout
    marked = dict(re.findall(r"^  (\w+) .*\[(\w+)\]$", said, re.M))
    assert marked == {
        **dict.fromkeys(["bench", "build", "compile", "curve", "plan", "replay"], "build"),
        **dict.fromkeys(["plot", "report"], "plot"),
    }
    assert "pip install 'lcdb-plusplus[build,plot]'" in said


@pytest.mark.process
@pytest.mark.parametrize(
    "command", ["info {}", "status {}", "verify {} --quiet", "datasets", "fetch 61"]
)
def test_what_needs_no_extra_works(core, tmp_path, command):
    words = command.format(tutorial(core)).split()
    done = run(core, "-m", "lcdb.cli", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "iris" in done.stdout or "read" in done.stdout or "61" in done.stdout


@pytest.mark.process
def test_the_query_of_the_readme_runs_from_the_wheel(core, tmp_path):
    ask_the_readme(core, tmp_path)


@pytest.mark.process
@pytest.mark.skipif(not FULL, reason="as from the wheel, which is built from it")
def test_the_query_of_the_readme_runs_from_the_source_distribution(sdist, folder, tmp_path):
    ask_the_readme(environment(folder / "from-sdist", sdist), tmp_path)


def ask_the_readme(interpreter: Path, folder: Path) -> None:
    link(interpreter, needed([f"{PROJECT['name']}[plot]", *requirements()]))
    query, _ = QUERY.findall((ROOT / "README.md").read_text("utf-8"))
    if not FULL:  # what comes first; the rest compiles statistics, anew in every environment
        query = query.partition("\n\n    # ")[0]
    (folder / "query.py").write_text(query)
    done = run(interpreter, "query.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    said = r"\d+ sizes, 200 repetitions\n" + (r"\d+\n" if FULL else "")
    assert re.match(said, done.stdout), done.stdout


def test_the_oldest_versions_are_those_of_the_lower_bounds():
    """What the file of constraints has somebody try is what the project promises to go with."""
    bounds = {}
    for line in requirements():
        name, _, bound = line.partition(";")[0].strip().partition(">=")
        if not name.startswith(PROJECT["name"]):
            bounds.setdefault(name.partition("[")[0], set()).add(bound)
    lines = (ROOT / "tests" / "constraints-oldest.txt").read_text().splitlines()
    oldest = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert list(oldest) == sorted(bounds, key=str.lower)
    for name, version in oldest.items():
        (bound,) = bounds[name]  # one bound, wherever it is asked for
        assert f"{version}.".startswith(f"{bound}."), name


def requirements() -> list[str]:
    """Return the project's requirements as a wheel states them."""
    lines = list(PROJECT["dependencies"])
    for extra, wanted in PROJECT["optional-dependencies"].items():
        lines += [f"{line}; extra == '{extra}'" for line in wanted]
    return lines


def test_the_demo_ends_with_what_to_do_next():
    text = (ROOT / "Makefile").read_text("utf-8")
    recipe = text.partition("\ndemo:")[2].partition("\n\n")[0].splitlines()
    said = [line for line in recipe if line.startswith("\t@echo")]
    assert recipe[-len(said) :] == said
    assert any("lcdb explore $(DEMO)" in line for line in said)
