"""Kernels compiled before a build: all of what it uses, once, and never stale."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import lcdb_builders
import pytest
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.run.compiling import (
    Kind,
    check,
    compile_kernels,
    compile_seconds,
    kinds_of,
    plan_kinds,
)

from lcdb.errors import LabelError, LCDBError

PLAN = {
    "datasets": [61],
    "learners": ["NNC"],
    "samplings": ["additive", "bootstrap"],
    "splits": ["fixed", "varying", "pool"],
    "sizes": [10, 50],
    "repetitions": 3,
}


def environment(cache, root=None):
    variables = {**os.environ, "LCDB_CACHE": str(cache)}
    return variables if root is None else {**variables, "PYTHONPATH": str(root)}


def run(arguments, variables):
    done = subprocess.run(
        [sys.executable, *arguments], env=variables, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


def compiled_files(cache):
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.kernel")}


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache in which the kernels of nearest neighbours are compiled, and what was said."""
    cache = tmp_path_factory.mktemp("cache")
    done = run(["-m", "lcdb.cli", "compile", "--learner", "NNC"], environment(cache))
    return cache, done.stderr


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.process
def test_compiling_says_what_it_does_and_does_it_once(warm):
    cache, told = warm
    assert "compiling kernels for this machine, once: NNC (about 4 s of one core)" in told
    assert "compiled NNC after" in told and str(cache) in told
    before = compiled_files(cache)
    assert before
    again = run(["-m", "lcdb.cli", "compile", "--learner", "NNC"], environment(cache))
    assert "everything is compiled" in again.stderr
    assert compiled_files(cache) == before


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.process
def test_a_build_after_it_compiles_nothing(warm, tmp_path):
    cache, _ = warm
    before = compiled_files(cache)
    script = (
        "import lcdb_builders, json, sys\n"
        "report = lcdb_builders.build(json.loads(sys.argv[1]), sys.argv[2], workers=1,\n"
        "    offline=True, progress=True)\n"
        "assert report.computed == 12, report"
    )
    variables = environment(cache)
    done = run(["-c", script, json.dumps(PLAN), str(tmp_path / "db")], variables)
    assert "compiling" not in done.stderr
    assert compiled_files(cache) == before


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.process
def test_a_build_that_finds_nothing_compiled_computes_meanwhile(tmp_path):
    """Compiling is one of the tasks of a build, told of and counted as such."""
    plan = {
        **PLAN,
        "learners": {"NNC": {}, "B": {"estimator": "sklearn.naive_bayes.GaussianNB"}},
        "splits": ["fixed"],
    }
    script = """
import json, sys
import lcdb_builders
from lcdb_builders.run.progress import Lines
class Watched(Lines):
    def advance(self, cost, cells):
        super().advance(cost, cells)
        self.tell(f"advanced {cost:.6f} {cells}")
    def begin(self, cost, cells):
        super().begin(cost, cells)
        self.tell(f"began {cost:.6f} {cells}")
report = lcdb_builders.build(json.loads(sys.argv[1]), sys.argv[2], workers=1, offline=True,
    progress=Watched(sys.stdout, interval=1e9))
print(report.computed, not report.failures)
"""
    cache = tmp_path / "cache"
    done = run(["-c", script, json.dumps(plan), str(tmp_path / "db")], environment(cache))
    lines = [line.removeprefix("lcdb: ") for line in done.stdout.splitlines()]
    place = lines.index("compiling kernels for this machine, once: NNC (about 4 s of one core)")
    (compiled,) = (i for i, line in enumerate(lines) if line.startswith("compiled NNC after"))
    assert place < compiled < len(lines) - 1 and lines[-1] == "6 True"
    advances = [line.split() for line in lines if line.startswith("advanced")]
    (began,) = (line.split() for line in lines if line.startswith("began"))
    assert sum(int(cells) for _, _, cells in advances) == int(began[2])
    assert abs(sum(float(cost) for _, cost, _ in advances) - float(began[1])) < 0.5
    assert lines[compiled + 1] == f"advanced {compile_seconds('neighbours'):.6f} 0"
    # One worker: it compiles first, and what is left of its time is told with that in it.
    assert float(began[1]) > compile_seconds("neighbours")
    assert compiled_files(cache)


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.process
def test_an_edit_in_a_helper_is_compiled_and_seen(warm, tmp_path):
    """The number that a block holds is another one after an edit in what its kernel calls."""
    root, cache = tmp_path / "copy", tmp_path / "cache"
    shutil.copytree(warm[0], cache)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(lcdb_builders.__file__).parent, root / "lcdb_builders", ignore=ignored)
    script = f"""
import lcdb_builders
assert lcdb_builders.__file__.startswith({str(root)!r})
from lcdb_builders import sources
from lcdb_builders.learners import registry
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.run.compiling import make_ready, plan_kinds
from lcdb_builders.domain.unit import Block
plan = load_plan({{"datasets": [61], "learners": ["NNC"], "samplings": ["random"],
                   "splits": ["varying"], "sizes": [50]}})
make_ready(plan_kinds(plan))
snapshot = sources.obtain(61, offline=True)
learners = plan_learners(plan)
unit = units(plan, snapshot, learners)[1]
scores = learners["NNC"].block(snapshot, Block(unit, (50,), 0, 5), ("varying",))["varying"]
print(scores["accuracy"].mean(), scores["brier"].mean())
"""

    def scores():
        done = run(["-W", "error", "-c", script], environment(cache, root))
        return [float(word) for word in done.stdout.split()]

    accuracy, brier = scores()
    assert scores() == [accuracy, brier]
    helper = root / "lcdb_builders" / "kernels" / "scores" / "counts.py"
    text = helper.read_text()
    old = "wrong * (1.0 if classes == 2 else 2.0)"
    assert text.count(old) == 1
    helper.write_text(text.replace(old, f"2 * {old}"))
    assert scores() == [accuracy, 2 * brier]


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.process
def test_an_edit_leaves_what_it_does_not_reach(tmp_path):
    root = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(lcdb_builders.__file__).parent, root / "lcdb_builders", ignore=ignored)
    plan = {**PLAN, "learners": ["NNC", "LDC"]}
    script = f"""
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.run import compiling
compiling._exercise = lambda kind: None
kinds = compiling.plan_kinds(load_plan({plan!r}))
print(*sorted({{kind.unit.learner for kind in kinds if compiling._is_marked(kind)}}))
for family in ("neighbours", "gaussian"):
    compiling.make_ready([kind for kind in kinds if kind.family == family])
assert all(compiling._is_marked(kind) for kind in kinds)
"""

    def marked():
        return run(["-c", script], environment(tmp_path / "cache", root)).stdout.split()

    assert marked() == []
    assert marked() == ["LDC", "NNC"]
    block = root / "lcdb_builders" / "kernels" / "neighbours" / "block.py"
    os.utime(block, (1, 1))
    assert marked() == ["LDC", "NNC"]
    block.write_text(block.read_text() + "\nMORE = 1\n")
    assert marked() == ["LDC", "NNC"]
    block.write_text(block.read_text() + "\nassert MORE\n")
    assert marked() == ["LDC"]


def test_only_what_kernels_compute_is_compiled():
    plan = load_plan(
        {
            "datasets": [61, 11],
            "learners": {"LDC": {}, "B": {"estimator": "sklearn.naive_bayes.GaussianNB"}},
            "samplings": ["random", "bootstrap"],
            "splits": ["fixed", "pool"],
            "tunings": ["default", "tuned"],
        }
    )
    kinds = plan_kinds(plan)
    assert {kind.unit.learner for kind in kinds} == {"LDC"}
    assert {kind.splits for kind in kinds} == {("fixed",), ("pool",), ("fixed", "pool")}
    assert len(kinds) == 2 * 2 * 3  # samplings, tunings, splits; datasets do not matter
    assert len({kind.key for kind in kinds}) == len(kinds)
    assert [Kind.from_json(json.loads(json.dumps(kind.as_json()))) for kind in kinds] == kinds
    with pytest.raises(LabelError, match="no learner 'LCD'"):
        plan_kinds(plan, ["LCD"])


@pytest.mark.compiles
@pytest.mark.process
def test_what_cannot_be_compiled_is_told():
    (kind,) = plan_kinds(
        load_plan({"datasets": [61], "learners": ["LDC"], "samplings": ["random"],
                   "splits": ["fixed"]})
    )  # fmt: skip
    broken = Kind(replace(kind.unit, params="{}"), kind.splits)
    lines = []
    compiled = compile_kernels([broken], 1, tell=lines.append)
    assert len(lines) == 2 and lines[1].startswith("not compiled: LDC after")
    with pytest.raises(LCDBError, match=r"kernels of LDC cannot be compiled: KeyError: 'ridge'"):
        check(compiled)
    assert kinds_of([]) == [] == compile_kernels([], 1, tell=lines.append)
