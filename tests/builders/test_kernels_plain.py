"""Kernels stepped through as plain Python: the same numbers, and coverage that is real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from lcdb_builders.domain.unit import Block, Unit
from lcdb_builders.learners import registry
from lcdb_builders.learners.batch import KernelLearner

from lcdb.schema import LEARNERS, SAMPLINGS
from tests.support.snapshots import generated
from tests.support.tuned import default_unit, tuned_unit

ROOT = Path(__file__).parents[2]
PROGRAM = f"""
import sys

sys.path.insert(0, {str(ROOT)!r})
from tests.builders.test_kernels_plain import save_blocks

save_blocks(sys.argv[1])
"""

# Tiny, because plain Python is some thousand times slower. Integers tie, and where scores tie all
# but exactly, what is fused decides: only learners without such scores are tried with them.
DEFAULT = [
    ("NMC", {}, "integers"),
    ("NMC", {"shrinkage": 0.5}, "ten classes"),
    ("LDC", {}, "two classes"),
    ("LDC", {}, "ten classes"),
    ("QDC", {}, "two classes"),
    ("QDC", {}, "ten classes"),
    ("NNC", {}, "integers"),
    ("NNC", {"neighbors": 3}, "integers"),
    ("LREG", {}, "two classes"),
    ("LREG", {"ridge": 0.1}, "constant features"),
    ("LSVC", {}, "two classes"),
    ("LSVC", {"C": 0.01}, "constant features"),
    ("LSVC", {"C": 1e12}, "two classes"),
    ("GSVC", {}, "duplicates"),
    ("GSVC", {"C": 100.0}, "two classes"),
    ("DT", {"min_samples_leaf": 2}, "ten classes"),
    ("RFOR", {"trees": 2}, "duplicates"),
    ("ADAB", {"stumps": 4}, "integers"),
]
# Solutions of equations, which sums in another order end elsewhere in the last digits.
SOLVED = {"LREG", "LSVC", "GSVC"}
TUNED = [
    ("NMC", [0.1, 1.0], "two classes"),
    ("LDC", [1e-6, 0.1], "duplicates"),
    ("QDC", [1e-6, 0.1], "two classes"),
    ("NNC", [1, 2, 5], "duplicates"),
    ("LREG", [1e-4, 1e-3, 1e-2, 1e-1, 1.0], "two classes"),
    ("LSVC", [0.01, 1.0], "constant features"),
    ("GSVC", [0.1, 10.0], "two classes"),
    ("DT", [1, 3], "two classes"),
    ("RFOR", [1, 2], "two classes"),
    ("ADAB", [1, 3], "constant features"),
]


def scores_of(unit: Unit, kind: str, stop: int) -> list[float]:
    """Scores of a unit's cells, and what tuned ones have chosen."""
    splits = ("fixed", "pool") if unit.split == "fixed" else ("varying",)
    block = Block(unit, unit.sizes, 0, stop)
    scores = registry.get(unit.learner).block(generated(kind, 24), block, splits)
    return [x for s in splits for key in sorted(scores[s]) for x in scores[s][key].ravel().tolist()]


def save_blocks(path: str) -> None:
    """Compute the blocks of both tables, each in every sampling and split."""
    found: dict[str, list[float]] = {}
    for sampling in SAMPLINGS:
        for split in ("fixed", "varying"):
            for name, params, kind in DEFAULT:
                learner, snapshot = registry.get(name), generated(kind, 24)
                unit = default_unit(
                    learner, snapshot, sampling, split, (1, 2, 5, 12), params=params
                )
                found.setdefault(name, []).extend(scores_of(unit, kind, 2))
            for name, grid, kind in TUNED:
                learner, snapshot = registry.get(name), generated(kind, 24)
                unit = tuned_unit(learner, snapshot, sampling, split, (10, 15), grid=grid)
                found.setdefault(name, []).extend(scores_of(unit, kind, 1))
    np.savez(path, **{name: np.array(values) for name, values in found.items()})


def run(program: str, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, *args],
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
    )


@pytest.mark.process
def test_plain_python_gives_the_same_scores(tmp_path):
    for name, off in (("plain.npz", "1"), ("compiled.npz", "0")):
        done = run(PROGRAM, str(tmp_path / name), NUMBA_DISABLE_JIT=off)
        assert done.returncode == 0, done.stderr
    plain, compiled = np.load(tmp_path / "plain.npz"), np.load(tmp_path / "compiled.npz")
    assert sum(values.size for values in plain.values()) > 5000
    for name, values in plain.items():
        digits = 1e-5 if name in SOLVED else 1e-6
        np.testing.assert_allclose(values, compiled[name], rtol=digits, err_msg=name)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_kernel_is_tried(name):
    """Of tuned blocks too, where there is a kernel for them."""
    learner = registry.get(name)
    is_kernel = isinstance(learner, KernelLearner)
    assert (name in {row[0] for row in DEFAULT}) == is_kernel
    assert (name in {row[0] for row in TUNED}) == (is_kernel and learner.tunes)


WITHOUT_POOL = f"""
import sys
import numpy as np

sys.path.insert(0, {str(ROOT)!r})
from dataclasses import replace
from lcdb_builders.kernels.linear import models
from lcdb_builders.learners import registry
from tests.support.snapshots import generated
from tests.support.tuned import Block, default_unit

def scores():
    found = []
    for name, scale in (("LREG", 1.0), ("LSVC", 1.0), ("LSVC", 1e7)):
        learner, snapshot = registry.get(name), generated("two classes", 24)
        snapshot = replace(snapshot, X=snapshot.X * scale)
        unit = default_unit(learner, snapshot, "random", "fixed", (5, 12))
        block = learner.block(snapshot, Block(unit, unit.sizes, 0, 2), ("fixed",))
        found.append(block["fixed"]["cross_entropy"])
    return np.array(found)

def on_few_rows(fit):
    def fit_unless_many(*args):
        return max(getattr(one, "n", 0) for one in args) <= 12 and fit(*args)
    return fit_unless_many

right = scores()
for name in ("damped_newton", "finite_newton", "orthogonal_newton", "steep_newton"):
    setattr(models, name, on_few_rows(getattr(models, name)))
np.testing.assert_allclose(scores(), right, rtol=1e-6)
"""


@pytest.mark.process
def test_a_start_need_not_be_an_optimum():
    """The pool's model alone is not found; the steep solver, which starts from 0, needs none."""
    done = run(WITHOUT_POOL, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stderr


LIMITED = f"""
import sys

sys.path.insert(0, {str(ROOT)!r})
from lcdb_builders.kernels.svm import working_set
from tests.builders.test_kernels_plain import save_blocks

working_set.MOST_ROUNDS = 1
save_blocks(sys.argv[1])
"""


@pytest.mark.process
def test_an_optimum_that_is_not_found_is_an_error(tmp_path):
    """A machine that is given up before its optimum gives no number."""
    done = run(LIMITED, str(tmp_path / "none.npz"), NUMBA_DISABLE_JIT="1")
    assert "GSVC found no optimum in" in done.stderr
