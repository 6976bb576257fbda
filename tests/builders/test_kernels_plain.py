"""Kernels stepped through as plain Python: the same numbers, and coverage that is real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys

sys.path.insert(0, {root!r})
import numpy as np
from lcdb_builders.kernels.core import jit
from lcdb_builders.learners import registry
from lcdb_builders.domain.unit import Block, Unit, canonical_json
from tests.support.snapshots import generated

found = []
for name, params, kind in {learners!r}:
    learner = registry.get(name)
    snapshot = generated(kind, 24)
    for sampling in ("additive", "random", "bootstrap"):
        for splits in (("fixed", "pool"), ("varying",)):
            text = canonical_json(learner.complete(params))
            unit = Unit("x", snapshot.sha256, 1, name, "", text, learner.implementation,
                        sampling, splits[0], "default", "", (1, 2, 5, 12))
            scores = learner.block(snapshot, Block(unit, unit.sizes, 0, 2), splits)
            found += [scores[s][key] for s in splits for key in sorted(scores[s])]
np.save(sys.argv[1], np.array(found, float))
"""

# Tiny, because plain Python is some thousand times slower. Integers tie, and where scores tie all
# but exactly, what is fused decides: only learners without such scores are tried with them.
LEARNERS = [
    ("NMC", {}, "integers"),
    ("NMC", {"shrinkage": 0.5}, "ten classes"),
    ("LDC", {}, "two classes"),
    ("LDC", {}, "ten classes"),
    ("QDC", {}, "two classes"),
    ("QDC", {}, "ten classes"),
    ("NNC", {}, "integers"),
    ("NNC", {"neighbors": 3}, "integers"),
    ("DT", {"min_samples_leaf": 2}, "ten classes"),
    ("RFOR", {"trees": 2}, "duplicates"),
    ("ADAB", {"stumps": 4}, "integers"),
]


def blocks(path, learners, **environment):
    script = SCRIPT.format(root=str(ROOT), learners=learners)
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr


def test_plain_python_gives_the_same_scores(tmp_path):
    blocks(tmp_path / "plain.npy", LEARNERS, NUMBA_DISABLE_JIT="1")
    blocks(tmp_path / "compiled.npy", LEARNERS)
    plain, compiled = np.load(tmp_path / "plain.npy"), np.load(tmp_path / "compiled.npy")
    assert plain.size > 1000
    np.testing.assert_allclose(plain, compiled, rtol=1e-6)
