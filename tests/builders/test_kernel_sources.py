"""The digest of what kernels are made of: blind to where things are, never to what they are."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import lcdb_builders
import pytest
from lcdb_builders.compiling.sources import Sources, digest_of

MAIN = '''
"""A kernel."""
from __future__ import annotations
import numpy as np
from toy.core.helpers import LIMIT, once, twice as double
from toy.core import shapes

__all__ = ["unused_elsewhere", "work"]

@kernel(inline=True)
def work(x: int) -> int:
    """Return something."""
    return double(np.abs(x)) + LIMIT + even(x) + shapes.area(x)

@kernel
def even(x):
    return 0 if x == 0 else odd(x - 1)

@kernel
def odd(x):
    return 1 if x == 0 else even(x - 1)
'''
HELPERS = """
import math
LIMIT = SMALL = 7

@kernel
def once(x):
    return x

@kernel
def twice(x):
    return 2 * once(x)

@kernel
def apart(x):
    return math.sqrt(x)

if DISABLE_JIT:
    def load(x):
        return x
else:
    def load(x):
        return -x
"""
SHAPES = """
@kernel
def area(x):
    return x * x
"""
FILES = {"main.py": MAIN, "core/helpers.py": HELPERS, "core/shapes.py": SHAPES}


def digest(folder: Path, files: dict[str, str], *names: str) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        (path.parent / "__init__.py").write_text('"""A room."""\n')
    return Sources(folder, "toy").digest_of(*names or ("toy.main",))


def edited(name: str, old: str, new: str) -> dict[str, str]:
    assert FILES[name].count(old) == 1
    return {**FILES, name: FILES[name].replace(old, new)}


NO_CHANGE = {
    "a comment": edited("main.py", "@kernel\ndef even", "# whether it is even\n@kernel\ndef even"),
    "blank space": edited("main.py", "0 if x == 0", "0  if  (x == 0)"),
    "a docstring": edited("main.py", '"""Return something."""', '"""Return some thing."""'),
    "no docstring": edited("main.py", '    """Return something."""\n', ""),
    "a hint": edited("main.py", "(x: int) -> int", "(x)"),
    "what is exported": edited("main.py", '"unused_elsewhere", ', ""),
    "an unused import": edited("main.py", "once, twice", "apart, twice"),
    "a neighbour that is not called": edited("core/helpers.py", "math.sqrt(x)", "math.cbrt(x)"),
    "a version that is not called": edited("core/helpers.py", "return -x", "return +x"),
    "an order": {**FILES, "core/helpers.py": HELPERS.replace("LIMIT = SMALL = 7\n", "")
                 + "\nLIMIT = SMALL = 7\n"},
}  # fmt: skip
CHANGE = {
    "a number": edited("core/helpers.py", "= 7", "= 8"),
    "a number's type": edited("core/helpers.py", "= 7", "= 7.0"),
    "what a helper's helper does": edited(
        "core/helpers.py", "once(x):\n    return x", "once(x):\n    return +x"
    ),
    "how it is compiled": edited("main.py", "inline=True", "inline=False"),
    "one of a circle": edited("main.py", "return 1 if", "return 2 if"),
    "the circle": edited("main.py", "else even(x - 1)", "else odd(x - 1)"),
    "what a name stands for": edited("main.py", "twice as double", "apart as double"),
    "what a foreign name stands for": edited("main.py", "import numpy as np", "import math as np"),
    "through a module": edited("core/shapes.py", "x * x", "x * 3"),
    "a statement that binds nothing": {**FILES, "main.py": MAIN + "\nregister(3)\n"},
    "a loop that registers": {
        **FILES,
        "core/helpers.py": HELPERS + "\nfor one in (1, 3):\n    register(one)\n",
    },
    "a default": edited("main.py", "def odd(x)", "def odd(x=1)"),
}


@pytest.mark.parametrize("what", NO_CHANGE)
def test_what_changes_no_number_is_no_change(what, tmp_path):
    assert NO_CHANGE[what] != FILES
    assert digest(tmp_path / "toy", NO_CHANGE[what]) == digest(tmp_path / "toy", FILES)


@pytest.mark.parametrize("what", CHANGE)
def test_what_may_change_a_number_is_a_change(what, tmp_path):
    assert digest(tmp_path / "toy", CHANGE[what]) != digest(tmp_path / "toy", FILES)


def test_files_and_functions_may_move(tmp_path):
    before = digest(tmp_path / "toy", FILES)
    folders = {
        "deep/in/main.py": MAIN.replace("toy.core.helpers", "toy.tools").replace(
            "from toy.core import", "from toy.deep import"
        ),
        "tools.py": HELPERS,
        "deep/shapes.py": SHAPES,
    }
    assert digest(tmp_path / "toy", folders, "toy.deep.in.main") == before
    function = "\n@kernel\ndef once(x):\n    return x\n"
    assert HELPERS.count(function) == 1
    split = {
        **FILES,
        "core/helpers.py": HELPERS.replace(function, "from toy.core.more import once\n"),
        "core/more.py": function,
    }
    assert digest(tmp_path / "toy", split) == before


def test_one_function_of_a_module_is_less_than_the_module(tmp_path):
    area = digest(tmp_path / "toy", FILES, "toy.core.shapes.area")
    assert area == digest(tmp_path / "toy", FILES, "toy.core.shapes")
    once = digest(tmp_path / "toy", FILES, "toy.core.helpers.once")
    changed = CHANGE["what a helper's helper does"]
    assert digest(tmp_path / "toy", changed, "toy.core.shapes.area") == area
    assert digest(tmp_path / "toy", changed, "toy.core.helpers.once") != once
    both = digest(tmp_path / "toy", FILES, "toy.core.shapes", "toy.core.helpers.once")
    assert both not in (area, once)
    with pytest.raises(LookupError, match=r"toy.main.nothing is no module of toy and no def"):
        digest(tmp_path / "toy", FILES, "toy.main.nothing")


def test_what_is_edited_later_is_not_what_runs(tmp_path):
    before = digest(tmp_path / "toy", FILES)
    sources = Sources(tmp_path / "toy", "toy")
    (tmp_path / "toy" / "core" / "shapes.py").write_text(
        CHANGE["through a module"]["core/shapes.py"]
    )
    assert sources.digest_of("toy.main") == before
    assert Sources(tmp_path / "toy", "toy").digest_of("toy.main") != before


@pytest.mark.slow
def test_every_kernel_has_a_digest_and_knows_its_family(tmp_path):
    """An edit in one family leaves the others' digests; one in the core changes all that use it."""
    folder = Path(lcdb_builders.__file__).parent / "kernels"
    copy = tmp_path / "kernels"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    package = "lcdb_builders.kernels"
    modules = [
        ".".join((package, *path.relative_to(folder).with_suffix("").parts))
        for path in sorted(folder.rglob("block.py"))
    ]
    assert len(modules) >= 5

    def digests():
        sources = Sources(copy, package)
        return {module: sources.digest_of(module) for module in modules}

    before = digests()
    assert before == {module: digest_of(module) for module in modules}
    assert len(set(before.values())) == len(modules)

    def changed_by(path, kernel):
        text = path.read_text()
        (function,) = [f for f in ast.parse(text).body if getattr(f, "name", "") == kernel]
        function.body.append(ast.Pass())
        path.write_text(f"{text}\n{ast.unparse(function)}\n")
        after = digests()
        path.write_text(text)
        return {module.split(".")[2] for module in modules if after[module] != before[module]}

    assert changed_by(copy / "trees" / "block.py", "tree_block") == {"trees"}
    assert changed_by(copy / "core" / "rng.py", "permute_head") >= {"trees", "gaussian", "svm"}
