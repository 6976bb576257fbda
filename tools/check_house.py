"""Check rules about source text that ruff and mypy do not know; docs/architecture.md explains them.

    python tools/check_house.py

prints each violation as `FILE:LINE: rule: sentence` and exits with 1 if there is one. A rule is a
function that takes the sources and yields violations; `RULES` lists them.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

PACKAGES = {"lcdb": "lcdb", "lcdb_builders": "builders/lcdb_builders"}
#: Folders beside the package that are importable as a part of it.
RESOURCES = {"lcdb.schemas": "schemas", "lcdb.data": "data"}


class Module:
    """One source file of a package."""

    def __init__(self, name: str, path: Path, file: str) -> None:
        self.name = name
        self.path = path
        self.file = file

    @cached_property
    def text(self) -> str:
        """The source."""
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree."""
        return ast.parse(self.text, str(self.path))

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Every node of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def calls(self) -> list[tuple[ast.Call, str]]:
        """Every call, with the name of what is called."""
        return [(n, ast.unparse(n.func)) for n in self.nodes if isinstance(n, ast.Call)]

    @property
    def is_public(self) -> bool:
        """Whether no part of the name begins with an underscore."""
        return not any(part.startswith("_") for part in self.name.split("."))

    def violation(self, rule: str, sentence: str, node: ast.AST | None = None) -> str:
        """Return one line of the report."""
        line = getattr(node, "lineno", 1)
        return f"{self.file}:{line}: {rule}: {sentence}"


class Sources:
    """The modules of both packages below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.modules: dict[str, Module] = {}
        for package, folder in PACKAGES.items():
            for path in sorted((root / folder).rglob("*.py")):
                parts = path.relative_to(root / folder).with_suffix("").parts
                name = ".".join((package, *(part for part in parts if part != "__init__")))
                self.modules[name] = Module(name, path, path.relative_to(root).as_posix())

    def of(self, *packages: str) -> list[Module]:
        """Return the modules of some packages."""
        return [module for name, module in self.modules.items() if is_within(name, *packages)]

    def imports(self, module: Module, *, deep: bool = True) -> dict[str, ast.stmt]:
        """Return what a module imports: when it is imported itself, or (deep) ever."""
        names: dict[str, ast.stmt] = {}
        for node in statements(module.tree.body, deep=deep):
            if isinstance(node, ast.Import):
                names |= {alias.name: node for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    names[full if full in self.modules else str(node.module)] = node
        return names

    @cached_property
    def settings(self) -> Mapping[str, dict]:
        """What pyproject.toml says."""
        with (self.root / "pyproject.toml").open("rb") as file:
            return tomllib.load(file)


def is_within(name: str, *packages: str) -> bool:
    """Return whether a module is one of these packages or in one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def statements(body: Iterable[ast.stmt], *, deep: bool) -> Iterator[ast.stmt]:
    """Yield statements; not those for type checkers, nor, unless `deep`, bodies of functions."""
    for node in body:
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from statements(node.orelse, deep=deep)
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not deep:
            continue
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            for child in getattr(node, field, []):
                inner = [child] if isinstance(child, ast.stmt) else child.body
                yield from statements(inner, deep=deep)


# -- directions ------------------------------------------------------------------------------------


def absolute_imports(sources: Sources) -> Iterator[str]:
    """Yield relative imports: whole names can be searched for."""
    for module in sources.modules.values():
        for node in module.nodes:
            if isinstance(node, ast.ImportFrom) and node.level:
                yield module.violation("absolute-imports", "imports relatively", node)


#: Package: which of our modules it may import.
DIRECTIONS = {
    "lcdb": ("lcdb",),
    "lcdb.stats": ("lcdb.stats",),
    "lcdb.schema": ("lcdb.schema", "lcdb._version", "lcdb.errors"),
    "lcdb_builders.kernels": ("lcdb_builders.kernels", "lcdb_builders.compiling"),
}
#: Package: which other packages it may import, besides the standard library.
THIRD_PARTY = {"lcdb_builders.kernels": {"numpy", "numba", "llvmlite"}}


def directions(sources: Sources) -> Iterator[str]:
    """Yield imports that go the wrong way between packages."""
    for package, allowed in DIRECTIONS.items():
        for module in sources.of(package):
            for name, node in sources.imports(module).items():
                if is_within(name, *PACKAGES) and not is_within(name, *allowed):
                    yield module.violation("directions", f"imports {name}", node)
    for package, others in THIRD_PARTY.items():
        for module in sources.of(package):
            for name, node in sources.imports(module).items():
                top = name.split(".")[0]
                if top not in {*PACKAGES, *others, *sys.stdlib_module_names}:
                    yield module.violation("directions", f"imports {top}", node)


#: Parts of the reader that need an optional package.
OPTIONAL = ("lcdb.plot", "lcdb.commands.plot")


def optional_packages(sources: Sources) -> Iterator[str]:
    """Yield modules of the reader that need an optional package as soon as they are imported."""
    needs = sources.settings["project"]["dependencies"]
    names = [re.match(r"[A-Za-z0-9-]+", need) for need in needs]
    core = {match[0].lower().replace("-", "_") for match in names if match}
    core |= {"pandas", "lcdb", *sys.stdlib_module_names}  # xarray brings pandas
    for module in sources.of("lcdb"):
        if is_within(module.name, *OPTIONAL):
            continue
        for name, node in sources.imports(module, deep=False).items():
            if name.split(".")[0] not in core:
                sentence = f"imports {name}, which is optional: import it where it is used"
                yield module.violation("optional-packages", sentence, node)


# -- writing, reading, starting processes ----------------------------------------------------------

CUBE_WRITERS = {"lcdb_builders.storage.cube", "lcdb_builders.storage.writing"}
#: A summary is no cube: its file is small, and made in memory.
NETCDF_WRITERS = {"lcdb_builders.storage.cube", "lcdb.summaries.write"}


def cube_writers(sources: Sources) -> Iterator[str]:
    """Yield modules that write cubes and are not the one that does."""
    for module in sources.modules.values():
        if "CubeWriter" in module.text and module.name not in CUBE_WRITERS:
            yield module.violation("cube-writers", "uses CubeWriter")
        for name, node in sources.imports(module).items():
            if is_within(name, "h5netcdf", "netCDF4") and module.name not in NETCDF_WRITERS:
                yield module.violation("cube-writers", f"imports {name}", node)


#: Who may change a file system besides disk.py: nothing of it is in a database directory.
MAY_WRITE = {
    "lcdb.publishing.publish": "a folder that goes to a host beside the database",
    "lcdb.site.make": "a folder that goes to a host: the page, and links to cubes",
    "lcdb_builders.storage.disk": "the one place",
    "lcdb.atomic": "whole files that a reader makes and can make again, where a user names them",
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
WRITING_METHODS = {"write_text", "write_bytes", "unlink", "rename", "rmdir", "mkdir", "touch"}
WRITING_FUNCTIONS = {
    *("os.link", "os.rename", "os.replace", "os.unlink", "os.remove", "os.mkdir", "os.makedirs"),
    *("os.rmdir", "os.removedirs", "os.symlink", "os.truncate", "os.utime"),
    *("shutil.copy", "shutil.copyfile", "shutil.copytree", "shutil.move", "shutil.rmtree"),
}


def writes_files(call: ast.Call, name: str) -> bool:
    """Return whether a call changes a file system."""
    if name.startswith("disk."):
        return False
    method = name.rsplit(".", 1)[-1]
    if name in WRITING_FUNCTIONS:
        return True
    if method in WRITING_METHODS and isinstance(call.func, ast.Attribute):
        return method != "rename" or bool(call.args)  # xarray's renames labels by keyword
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    texts = [v.value for v in values if isinstance(v, ast.Constant) and isinstance(v.value, str)]
    modes = [text for text in texts if re.fullmatch(r"[rwax]b?\+?b?", text)]
    return method in {"open", "fdopen", "File"} and any(set(mode) & set("wax+") for mode in modes)


def file_writers(sources: Sources) -> Iterator[str]:
    """Yield calls that change a file system without going through storage/disk.py."""
    for module in sources.modules.values():
        if module.name not in MAY_WRITE:
            for call, name in module.calls:
                if writes_files(call, name):
                    yield module.violation("file-writers", f"calls {name}", call)
    for name in sorted(MAY_WRITE.keys() - sources.modules.keys()):
        yield f"tools/check_house.py:1: file-writers: there is no module {name}"


UNSAFE = {
    "pickle.load",
    "pickle.loads",
    "joblib.load",
    "marshal.loads",
    "yaml.load",
    "eval",
    "exec",
}
PICKLES = ("pickle", "cloudpickle", "dill", "joblib", "marshal")
MAY_UNPICKLE = {
    # Numba knows no other form of machine code, which runs whoever reads it: it is sealed, and read
    # from where nobody but its reader and root may write.
    "lcdb_builders.compiling.store": "compiled kernels",
    "lcdb_builders.predict.spending": "the user's own classifiers, to processes that it starts",
}


def unpickling(sources: Sources) -> Iterator[str]:
    """Yield calls and imports by which data that are read could run code."""
    for module in sources.modules.values():
        if module.name in MAY_UNPICKLE:
            continue
        for call, name in module.calls:
            if name in UNSAFE:
                yield module.violation("unpickling", f"calls {name}", call)
            for keyword in call.keywords:
                allowed = getattr(keyword.value, "value", True)
                if keyword.arg == "allow_pickle" and allowed:
                    yield module.violation("unpickling", "allows pickles", call)
        for name, node in sources.imports(module).items():
            if is_within(name, *PICKLES):
                yield module.violation("unpickling", f"imports {name}", node)


STARTS = {"run", "Popen", "call", "check_call", "check_output", "getoutput"}
START_PREFIXES = ("exec", "spawn", "posix_spawn", "fork")


def starts_process(name: str) -> bool:
    """Return whether a call of this name starts a process."""
    module, _, function = name.rpartition(".")
    if module == "subprocess":
        return function in STARTS
    if module == "os":
        return function.startswith(START_PREFIXES) or function in {"system", "popen"}
    return name == "Popen"


def processes(sources: Sources) -> Iterator[str]:
    """Yield processes that are started with the current folder on their import path.

    The reader starts Python isolated (`-I`); the builder through `processes.python` with the
    environment that `processes.child_environment` returns.
    """
    for module in sources.modules.values():
        text, rule = module.text, "processes"
        starts = [(call, name) for call, name in module.calls if starts_process(name)]
        if is_within(module.name, "lcdb"):
            for call, name in starts:
                isolated = '[sys.executable, "-I", "-c"' in text
                if not isolated or ast.unparse(call.args[0]) != "command":
                    yield module.violation(rule, f"{name} starts Python without -I", call)
            continue
        if module.name != "lcdb_builders.processes" and "sys.executable" in text:
            yield module.violation(rule, "names sys.executable")
        if "multiprocessing" in text.replace("through multiprocessing", ""):
            yield module.violation(rule, "uses multiprocessing")
        joblib_is_safe = "env=safe" in text and '"PYTHONSAFEPATH": "1"' in text
        if "ProcessPool" in text and not joblib_is_safe:
            yield module.violation(rule, "starts joblib's processes without a safe path")
        for call, name in starts:
            yield from _unsafe_start(module, call, name)


def _unsafe_start(module: Module, call: ast.Call, name: str) -> Iterator[str]:
    if name not in {"subprocess.run", "subprocess.Popen"}:
        yield module.violation("processes", f"calls {name}", call)
        return
    command = ast.unparse(call.args[0])
    if re.search(rf"\b{re.escape(command)} = \[[\"'][a-z]+[\"'],", module.text):
        return  # another program, by its name: no Python, and no import path
    if not command.startswith("python(") and "command = python(" not in module.text:
        yield module.violation("processes", f"{command} is not made by processes.python", call)
    environment = "".join(ast.unparse(k.value) for k in call.keywords if k.arg == "env")
    if not (
        environment.startswith("child_environment(")
        or "alone = child_environment(" in module.text
        or "**child_environment()" in module.text
    ):
        sentence = "the environment is not made by processes.child_environment"
        yield module.violation("processes", sentence, call)


# -- names and packaging ---------------------------------------------------------------------------


def public_names(sources: Sources) -> Iterator[str]:
    """Yield public modules that do not say what they are, or what of them is public."""
    for module in sources.modules.values():
        if not module.is_public:
            continue
        if not ast.get_docstring(module.tree):
            yield module.violation("public-names", "has no docstring")
        if len(module.tree.body) <= 1:
            continue  # a package that is no more than its modules
        lists = [
            node
            for node in module.tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign)
            and ast.unparse(node).startswith("__all__")
        ]
        if not lists:
            yield module.violation("public-names", "has no __all__")


#: Names that say nothing.
EMPTY_WORDS = {"at", "found", "here", "mine", "said", "told"}


def argument_names(sources: Sources) -> Iterator[str]:
    """Yield names of the builder that say nothing, and long lists of unexplained arguments."""
    for module in sources.of("lcdb_builders"):
        for node in module.nodes:
            name = node.id if isinstance(node, ast.Name) else getattr(node, "arg", None)
            if isinstance(node, ast.Name | ast.arg) and name in EMPTY_WORDS:
                yield module.violation("argument-names", f"{name} says nothing", node)
            if isinstance(node, ast.FunctionDef):
                taken = [arg.arg for arg in node.args.args + node.args.kwonlyargs]
                count = len([arg for arg in taken if arg not in {"self", "cls"}])
                if count > 5 and "Parameters\n" not in (ast.get_docstring(node) or ""):
                    sentence = f"{node.name} has {count} parameters and does not explain them"
                    yield module.violation("argument-names", sentence, node)


def packages(sources: Sources) -> Iterator[str]:
    """Yield folders and data files that pyproject.toml leaves out of the wheel."""
    settings = sources.settings["tool"]["setuptools"]
    folders = set(RESOURCES)
    for package, folder in PACKAGES.items():
        for path in (sources.root / folder).rglob("*.py"):
            parts = path.parent.relative_to(sources.root / folder).parts
            folders.add(".".join((package, *parts)))
            if not (path.parent / "__init__.py").is_file():
                yield f"{path.relative_to(sources.root)}:1: packages: its folder has no __init__.py"
    for name in sorted(folders.symmetric_difference(settings["packages"])):
        yield f"pyproject.toml:1: packages: {name} is either listed or a folder, not both"
    if len(settings["packages"]) != len(set(settings["packages"])):
        yield "pyproject.toml:1: packages: a package is listed twice"
    for package, folder in RESOURCES.items():
        patterns = settings["package-data"][package]
        for path in (sources.root / folder).rglob("*"):
            if not path.is_file() or path.suffix in {".py", ".pyc"}:
                continue
            name = path.relative_to(sources.root / folder).as_posix()
            if not any(fnmatch(name, pattern) for pattern in patterns):
                yield f"pyproject.toml:1: packages: {folder}/{name} is not in the wheel"


TEXT = {".py", ".md", ".toml", ".json", ".cfg", ".yaml", ".yml", ".cff", ".txt", ".ipynb", ""}
NOT_OURS = {
    *(".git", ".ci", ".venv", "build", "dist", "demo", "__pycache__"),
    *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".benchmarks"),
}
REGISTRIES = ("pypi" + ".org", "python" + "hosted", "anaconda" + ".org", "conda" + "-forge")
MACHINE_FOLDERS = ("work", "home", "root", "Users", "mnt")
#: Package registries, and places on one machine.
FORBIDDEN = re.compile(
    rf"{'|'.join(map(re.escape, REGISTRIES))}"
    rf"|(?<![\w.\])}}])/(?:{'|'.join(MACHINE_FOLDERS)})/\w|\.\./shared"
)


def texts(root: Path) -> Iterator[Path]:
    """Yield every text file of the project, but what starts its tests on a given machine."""
    stack = [root]
    while stack:
        for path in sorted(stack.pop().iterdir()):
            if path.name in NOT_OURS or path.name.endswith(".egg-info"):
                continue
            if path.is_dir():
                stack.append(path)
            elif path.suffix in TEXT:
                yield path


def machine_names(sources: Sources) -> Iterator[str]:
    """Yield lines that name a package registry or a place on one machine."""
    for path in texts(sources.root):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if FORBIDDEN.search(line):
                where = path.relative_to(sources.root)
                yield f"{where}:{number}: machine-names: {line.strip()[:80]}"


Rule = Callable[[Sources], Iterator[str]]
RULES: tuple[Rule, ...] = (
    *(absolute_imports, directions, optional_packages, cube_writers, file_writers, unpickling),
    *(processes, public_names, argument_names, packages, machine_names),
)


def check(root: Path, rules: Iterable[Rule] = RULES) -> list[str]:
    """Return all violations below a folder."""
    sources = Sources(root)
    return [violation for rule in rules for violation in rule(sources)]


def main(arguments: list[str] | None = None) -> int:
    """Print violations; return 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parents[1])
    violations = check(parser.parse_args(arguments).root)
    print("\n".join(violations) if violations else "the house is as docs/architecture.md has it")
    return int(bool(violations))


if __name__ == "__main__":
    sys.exit(main())
