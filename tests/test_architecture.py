"""The house rules of docs/architecture.md, held by walking the sources."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"lcdb": ROOT / "lcdb", "lcdb_builders": ROOT / "builders" / "lcdb_builders"}
LIGHT = {"lcdb._version", "lcdb.errors"}


def module_name(package: str, path: Path) -> str:
    parts = path.relative_to(PACKAGES[package]).with_suffix("").parts
    return ".".join((package, *(part for part in parts if part != "__init__")))


MODULES = {
    module_name(package, path): path
    for package, folder in PACKAGES.items()
    for path in sorted(folder.rglob("*.py"))
}
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]


@functools.cache
def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text("utf-8"), str(MODULES[name]))


def nodes(body: list[ast.stmt], *, deep: bool) -> Iterator[ast.stmt]:
    """Yield statements; not what only type checkers see, nor, unless `deep`, what runs later."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from nodes(node.orelse, deep=deep)
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not deep:
            continue
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            for child in getattr(node, field, []):
                inner = [child] if isinstance(child, ast.stmt) else child.body
                yield from nodes(inner, deep=deep)


def imports(name: str, *, deep: bool = True) -> set[str]:
    """Return the modules that a module imports: when it is imported, or (deep) ever."""
    found = set()
    for node in nodes(tree(name).body, deep=deep):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively: say the whole name"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in MODULES else str(node.module))
    return found


def within(names: set[str], *packages: str) -> set[str]:
    return {n for n in names if any(n == p or n.startswith(f"{p}.") for p in packages)}


def modules_of(*packages: str) -> list[str]:
    return sorted(within(set(MODULES), *packages))


def third_party(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)


# -- directions ------------------------------------------------------------------------------------


def test_the_walk_sees_imports_where_they_are():
    assert "lcdb.database" in MODULES and "lcdb_builders.kernels.core.rng" in MODULES
    assert {"xarray", "numpy"} <= imports("lcdb.scores", deep=False)
    assert "pandas" not in imports("lcdb.reasons", deep=False)
    assert "pandas" in imports("lcdb.reasons")
    assert "lcdb.database" not in imports("lcdb")  # there for type checkers alone


@pytest.mark.parametrize("name", modules_of("lcdb"))
def test_lcdb_never_imports_the_builder(name):
    assert not within(imports(name), "lcdb_builders")


@pytest.mark.parametrize("name", modules_of("lcdb.stats"))
def test_statistics_import_nothing_of_ours(name):
    assert within(imports(name), "lcdb", "lcdb_builders") <= set(modules_of("lcdb.stats"))


@pytest.mark.parametrize("name", modules_of("lcdb_builders.kernels"))
def test_kernels_import_numpy_and_numba_only(name):
    ours = within(imports(name), "lcdb", "lcdb_builders")
    assert ours <= set(modules_of("lcdb_builders.kernels", "lcdb_builders.compiling"))
    assert third_party(imports(name) - ours) <= {"numpy", "numba", "llvmlite"}  # numba's own


@pytest.mark.parametrize("name", modules_of("lcdb.schema"))
def test_the_contract_stands_below_all_that_uses_it(name):
    allowed = {*modules_of("lcdb.schema"), *LIGHT}
    assert within(imports(name), "lcdb", "lcdb_builders") <= allowed


READING = [n for n in modules_of("lcdb") if not n.startswith(("lcdb.plot", "lcdb.commands.plot"))]


@pytest.mark.parametrize("name", READING)
def test_reading_needs_no_optional_part(name):
    """What is imported with a module is a dependency; the rest is imported where it is used."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    core = {re.match(r"[A-Za-z0-9-]+", need)[0].lower().replace("-", "_") for need in wanted}
    # xarray brings pandas.
    assert third_party(imports(name, deep=False)) <= {*core, "pandas", "lcdb"}


def test_one_module_writes_cubes():
    writers = {n for n in MODULES if "CubeWriter" in MODULES[n].read_text("utf-8")}
    assert writers == {"lcdb_builders.storage.cube", "lcdb_builders.storage.writing"}
    makers = {name for name in MODULES if within(imports(name), "h5netcdf", "netCDF4")}
    # A summary is no cube: its file is small, and made in memory.
    assert makers <= {"lcdb_builders.storage.cube", "lcdb.summaries.write"}


WRITING_METHODS = {"write_text", "write_bytes", "unlink", "rename", "rmdir", "mkdir", "touch"}
WRITING_FUNCTIONS = {
    *("os.link", "os.rename", "os.replace", "os.unlink", "os.remove", "os.mkdir", "os.makedirs"),
    *("os.rmdir", "os.removedirs", "os.symlink", "os.truncate", "os.utime"),
    *("shutil.copy", "shutil.copyfile", "shutil.copytree", "shutil.move", "shutil.rmtree"),
}


def writes(name: str) -> list[str]:
    """Return the calls in a module that change a file system."""
    found = []
    for node in ast.walk(tree(name)):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func)
        if called.startswith("disk."):
            continue
        method = called.rsplit(".", 1)[-1]
        texts = [a.value for a in (*node.args, *(k.value for k in node.keywords))
                 if isinstance(a, ast.Constant) and isinstance(a.value, str)]  # fmt: skip
        opens = method in ("open", "fdopen", "File")
        if called in WRITING_FUNCTIONS or (
            method in WRITING_METHODS and isinstance(node.func, ast.Attribute)
        ) or (opens and any(re.fullmatch(r"[rwax]b?\+?b?", t) and set(t) & set("wax+")
                            for t in texts)):  # fmt: skip
            found.append(f"{name}:{node.lineno} {called}")
    return found


# Who may change a file system besides disk.py: nothing of it is in a database directory.
MAY_WRITE = {
    "lcdb.publishing.publish": "a folder that goes to a host beside the database",
    "lcdb.site.make": "a folder that goes to a host: the page, and links to cubes",
    "lcdb_builders.storage.disk": "the one place",
    "lcdb.atomic": "whole files that a reader makes and can make again, where it is told to",
    "lcdb.summaries.write": "into memory",
    "lcdb_builders.storage.asides": "under the hook of disk.py",
    "lcdb_builders.storage.cube": "into a file object that disk.py gave",
    "lcdb.remote.diskcache": "in the folder that a user names for what was read from hosts",
    "lcdb_builders.compiling.folders": "folders of the user's cache",
    "lcdb_builders.compiling.store": "compiled kernels, in the user's cache",
    "lcdb_builders.run.child": "a pipe to the process that started it",
    "lcdb_builders.reference.isolation": "a scratch folder for classifiers from elsewhere",
    "lcdb_builders.sources.cache": "locks in the user's cache",
    "lcdb_builders.sources.openml_child": "the folder in which its parent waits for an answer",
}


@pytest.mark.parametrize("name", sorted(set(modules_of("lcdb", "lcdb_builders")) - set(MAY_WRITE)))
def test_all_writes_go_through_disk(name):
    assert writes(name) == []


UNSAFE = {
    "pickle.load",
    "pickle.loads",
    "joblib.load",
    "marshal.loads",
    "yaml.load",
    "eval",
    "exec",
}

# Numba knows no other form of machine code, which runs whoever reads it: it is sealed, and read
# from where nobody but its reader and root may write.
MACHINE_CODE = "lcdb_builders.compiling.store"


# Sends the user's own classifiers, and classes of a notebook, to processes that it starts itself.
OWN_PROCESSES = "lcdb_builders.predict.spending"


@pytest.mark.parametrize("name", sorted({*MODULES} - {MACHINE_CODE, OWN_PROCESSES}))
def test_nothing_that_is_read_is_unpickled_or_run(name):
    calls = [n for n in ast.walk(tree(name)) if isinstance(n, ast.Call)]
    assert not {ast.unparse(call.func) for call in calls} & UNSAFE
    allowed = [k for call in calls for k in call.keywords if k.arg == "allow_pickle"]
    assert not any(getattr(keyword.value, "value", True) for keyword in allowed)
    assert not within(imports(name), "pickle", "cloudpickle", "dill", "joblib", "marshal")


# -- what an import costs --------------------------------------------------------------------------

LOADED = "import sys, json; {}; print(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
HEAVY = {"sklearn", "openml", "distributed", "dask", "matplotlib", "statsmodels", "lcdb_builders"}


def loaded(statement: str) -> set[str]:
    command = [sys.executable, "-W", "error", "-c", LOADED.format(statement)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout))


def test_importing_lcdb_loads_nothing_heavy():
    more = {"numpy", "xarray", "pandas", "numba", "scipy", "h5py", "h5netcdf", "jsonschema", "rich"}
    assert not loaded("import lcdb") & (HEAVY | more)


def test_opening_a_database_loads_neither_xarray_nor_pandas_before_it_is_asked_for_arrays():
    found = loaded("import lcdb; db = lcdb.reference(); list(db); db.headers[61].counts; repr(db)")
    assert "h5py" in found
    assert not found & (HEAVY | {"xarray", "pandas", "numba", "scipy", "jsonschema"})


def test_opening_a_database_loads_what_it_needs():
    found = loaded("import lcdb; db = lcdb.tutorial(); db.curve('iris', 'LDC').load(); db.close()")
    assert {"h5py", "xarray"} <= found
    # xarray itself looks for dask as soon as it reads, and imports it where it is installed.
    assert not found & (HEAVY - {"dask"} | {"numba", "jsonschema", "rich"})


def test_kernels_compute_without_what_references_need():
    """Workers start in a fraction of a second: scikit-learn alone takes one to import."""
    found = loaded(
        "from lcdb_builders.learners import registry; import lcdb_builders.run.tasks; "
        "[registry.get(name) for name in registry.LEARNERS]"
    )
    assert "lcdb_builders" in found and "numba" in found
    assert not found & {"sklearn", "pandas", "xarray", "distributed", "openml"}


def test_every_public_name_is_there_and_lazy():
    import lcdb

    functions = {name for name, module in lcdb._LAZY.items() if module}
    # Importing a submodule would put it in the place of a function of the same name.
    assert not {f"lcdb.{name}" for name in functions} & set(MODULES)
    assert set(lcdb.__all__) <= set(dir(lcdb))
    for name in lcdb.__all__:
        assert getattr(lcdb, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'opn'"):
        lcdb.opn  # noqa: B018


# -- packaging -------------------------------------------------------------------------------------


def settings() -> dict:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["tool"]["setuptools"]


def test_the_package_list_is_that_of_the_folders():
    found = {"lcdb.schemas": ROOT / "schemas", "lcdb.data": ROOT / "data"}
    for package, folder in PACKAGES.items():
        for path in folder.rglob("__init__.py"):
            found[module_name(package, path)] = path.parent
    assert sorted(settings()["packages"]) == sorted(found)
    assert len(settings()["packages"]) == len(found)
    for folder in PACKAGES.values():
        for path in folder.rglob("*.py"):
            assert (path.parent / "__init__.py").is_file(), f"{path.parent} is no package"


def test_all_data_files_are_in_the_wheel():
    patterns = settings()["package-data"]
    for package, folder in (("lcdb.schemas", ROOT / "schemas"), ("lcdb.data", ROOT / "data")):
        for path in folder.rglob("*"):
            if path.is_file() and path.suffix not in {".py", ".pyc"}:
                name = path.relative_to(folder).as_posix()
                assert any(fnmatch(name, p) for p in patterns[package]), f"{package}: {name}"


# -- habits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PUBLIC)
def test_public_modules_say_what_is_public(name):
    module = import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    if len(tree(name).body) == 1:
        return  # a package that is no more than its modules
    assert list(module.__all__) == list(dict.fromkeys(module.__all__))
    missing = [public for public in module.__all__ if not hasattr(module, public)]
    assert not missing


@pytest.mark.parametrize("name", MODULES)
def test_modules_have_one_idea(name):
    assert len(MODULES[name].read_text("utf-8").splitlines()) <= 450


# What a name says nothing with.
EMPTY_WORDS = {"at", "found", "here", "mine", "said", "told"}


@pytest.mark.parametrize("name", modules_of("lcdb_builders"))
def test_builders_say_what_they_take_and_make(name):
    walked = list(ast.walk(tree(name)))
    used = {node.id for node in walked if isinstance(node, ast.Name)}
    used |= {node.arg for node in walked if isinstance(node, ast.arg)}
    assert not used & EMPTY_WORDS
    for node in walked:
        if isinstance(node, ast.FunctionDef):
            taken = {arg.arg for arg in node.args.args + node.args.kwonlyargs} - {"self", "cls"}
            text = ast.get_docstring(node) or ""
            assert len(taken) <= 5 or "Parameters\n" in text, f"{name}.{node.name}"


TEXT = {".py", ".md", ".toml", ".json", ".cfg", ".yaml", ".yml", ".cff", ".txt", ".ipynb", ""}
NOT_OURS = {
    *(".git", ".ci", ".venv", "build", "dist", "demo", "__pycache__"),
    *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".benchmarks"),
}


def texts() -> Iterator[Path]:
    """Yield every text file of the project, but what starts its tests on a given machine."""
    stack = [ROOT]
    while stack:
        for path in stack.pop().iterdir():
            if path.name in NOT_OURS or path.name.endswith(".egg-info"):
                continue
            if path.is_dir():
                stack.append(path)
            elif path.suffix in TEXT:
                yield path


def forbidden() -> re.Pattern[str]:
    """Return what no file may name: package registries, and places on one machine."""
    registries = ("pypi" + ".org", "python" + "hosted", "anaconda" + ".org", "conda" + "-forge")
    folders = ("work", "home", "root", "Users", "mnt")
    hosts = "|".join(map(re.escape, registries))
    return re.compile(rf"{hosts}|(?<![\w.\])}}])/(?:{'|'.join(folders)})/\w|\.\./shared")


def test_no_file_names_a_registry_or_a_place_on_one_machine():
    pattern = forbidden()
    assert pattern.search("see /wo" + "rk/main") and pattern.search("https://pypi" + ".org/x")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}"
        for path in texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []
