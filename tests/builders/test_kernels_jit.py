"""Compiled kernels on disk: found again, never stale, safe with several processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import lcdb_builders
import pytest
from lcdb_builders.kernels.core import jit

BOOTSTRAP = """
import numpy as np, sys, time
import lcdb_builders
assert lcdb_builders.__file__.startswith({root!r}), lcdb_builders.__file__
from lcdb_builders.kernels.core import jit, rng
out = np.empty(5, np.int64)
rng.bootstrap_into(np.uint64(1), np.uint64(2), 5, 0, 0, 1000, out)
hits = sum(rng.bootstrap_into.stats.cache_hits.values()) if {stats} else 0
print(*out, hits, jit.cache_folder().name)
"""


@pytest.fixture
def copied(tmp_path):
    """A copy of the package, so that a source can be edited."""
    root = tmp_path / "copy"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(lcdb_builders.__file__).parent, root / "lcdb_builders", ignore=ignored)
    return root


def run(root, cache, **environment):
    variables = {**os.environ, "PYTHONPATH": str(root), "LCDB_CACHE": str(cache), **environment}
    script = BOOTSTRAP.format(root=str(root), stats="NUMBA_DISABLE_JIT" not in environment)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env=variables, text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    *numbers, hits, folder = done.stdout.split()
    return [int(number) for number in numbers], int(hits), folder


def test_an_edit_in_a_helper_is_seen(copied, tmp_path):
    """`bootstrap_into` calls `below`; only the helper is edited, and the cache is warm."""
    cache = tmp_path / "cache"
    before, hits, folder = run(copied, cache)
    assert hits == 0
    assert run(copied, cache) == (before, 1, folder)
    helper = copied / "lcdb_builders" / "kernels" / "core" / "rng.py"
    text = helper.read_text()
    old = "return np.int64(_multiply_wide(word, np.uint64(m))[0])"
    assert text.count(old) == 1
    helper.write_text(text.replace(old, f"{old} + 1000"))
    after, hits, other = run(copied, cache)
    assert after == [number + 1000 for number in before]
    assert hits == 0
    assert other != folder
    # Nothing is left beside the sources, where it would shadow an editable install.
    assert not list(copied.rglob("*.nb[ci]"))
    assert list((cache / folder).rglob("*.nbc"))


def test_an_unwritable_cache_is_done_without(copied, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    root = str(copied)
    script = (
        "from lcdb_builders.kernels.core import jit, rng\n"
        "assert jit.cache_folder() is None\n"
        "print(rng.below.py_func.__name__)"
    )
    variables = {**os.environ, "PYTHONPATH": root, "LCDB_CACHE": str(blocked)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=variables, text=True, capture_output=True
    )
    assert done.stdout == "below\n", done.stderr


def test_plain_python_draws_the_same(copied, tmp_path):
    compiled = run(copied, tmp_path / "cache")[0]
    assert run(copied, tmp_path / "cache", NUMBA_DISABLE_JIT="1")[0] == compiled


def test_two_signatures_saved_at_once_both_survive(copied, tmp_path):
    """Numba alone may lose one, and then run its machine code for the other signature."""
    cache = tmp_path / "cache"
    script = """
import sys, numpy as np
from lcdb_builders.kernels.core import rng
out = np.arange(6, dtype={dtype!r})
rng.permute_head(np.uint64(1), np.uint64(2), 0, 0, 0, out, 6)
print(*out.astype(int), sum(rng.permute_head.stats.cache_hits.values()))
"""
    variables = {**os.environ, "PYTHONPATH": str(copied), "LCDB_CACHE": str(cache)}
    kinds = ["int64", "int32", "float64", "float32"]

    def start(dtype):
        return subprocess.Popen(
            [sys.executable, "-c", script.format(dtype=dtype)],
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
        )

    first = [process.communicate()[0].split() for process in [start(kind) for kind in kinds]]
    again = [process.communicate()[0].split() for process in [start(kind) for kind in kinds]]
    assert {" ".join(words[:6]) for words in first + again} == {" ".join(first[0][:6])}
    assert [words[6] for words in again] == ["1"] * len(kinds)


def test_a_function_from_elsewhere_is_compiled_but_not_kept():
    @jit.kernel
    def triple(x):
        return 3 * x

    assert triple(14) == 42
    assert type(triple._cache).__name__ == "NullCache"
