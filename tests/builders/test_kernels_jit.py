"""Compiled kernels on disk: found again, never stale, safe with several processes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import lcdb_builders
import numba
import numpy as np
import pytest
from lcdb_builders.compiling import folders, store
from lcdb_builders.kernels.core import jit
from lcdb_builders.run.compiling import compile_kernels
from lcdb_builders.sources.cache import snapshot_cache

from lcdb.errors import StorageError
from tests.support.counts import counts

BOOTSTRAP = """
import numpy as np, sys, time
import lcdb_builders
assert lcdb_builders.__file__.startswith({root!r}), lcdb_builders.__file__
from lcdb_builders.compiling import folders, store
from lcdb_builders.kernels.core import rng
out = np.empty(5, np.int64)
rng.bootstrap_into(np.uint64(1), np.uint64(2), 5, 0, 0, 1000, out)
hits = sum(rng.bootstrap_into.stats.cache_hits.values()) if {stats} else 0
print(*out, hits, store.cache_folder().name)
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


@pytest.mark.compiles
@pytest.mark.process
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
    assert other == folder
    helper.write_text(text)
    assert run(copied, cache) == (before, 1, folder)  # and what it was before is still there
    # Nothing is left beside the sources, where it would shadow an editable install.
    assert not list(copied.rglob("*.kernel"))
    assert list((cache / folder).rglob("*.kernel"))


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.process
def test_clones_and_reinstallations_share_what_is_compiled(copied, tmp_path):
    """Neither paths nor times nor comments decide, and neither do edits elsewhere."""
    cache = tmp_path / "cache"
    before = run(copied, cache)
    other = tmp_path / "elsewhere"
    shutil.copytree(copied, other)
    rng = other / "lcdb_builders" / "kernels" / "core" / "rng.py"
    rng.write_text(rng.read_text().replace("\n@kernel", "\n# a comment\n@kernel") + "\nMORE = 1\n")
    assert run(other, cache) == (before[0], 1, before[2])


@pytest.mark.compiles
@pytest.mark.process
def test_an_unwritable_cache_is_done_without(copied, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    root = str(copied)
    script = (
        "from lcdb_builders.compiling import store\n"
        "from lcdb_builders.kernels.core import rng\n"
        "assert store.cache_folder() is None\n"
        "print(rng.below.py_func.__name__)"
    )
    variables = {**os.environ, "PYTHONPATH": root, "LCDB_CACHE": str(blocked)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=variables, text=True, capture_output=True
    )
    assert done.stdout == "below\n", done.stderr


@pytest.mark.compiles
@pytest.mark.process
def test_plain_python_draws_the_same(copied, tmp_path):
    compiled = run(copied, tmp_path / "cache")[0]
    assert run(copied, tmp_path / "cache", NUMBA_DISABLE_JIT="1")[0] == compiled


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.process
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


# -- what may be run -------------------------------------------------------------------------------


def flipped(content, bit):
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.compiles
@pytest.mark.process
def test_flipped_bits_are_compiled_again_and_never_run(copied, tmp_path):
    """Of such flips in code that Numba loads by itself a fifth ended in signals."""
    cache = tmp_path / "cache"
    before, _, name = run(copied, cache)
    folder = cache / name
    files = sorted(folder.glob("bootstrap_into-*.kernel"))
    assert len(files) == 1
    whole = files[0].read_bytes()
    # All kinds of places, read without running; then a few as a whole program would meet them.
    seal = store.read(folder, files[0].name, "another key")
    assert seal is None
    draw = np.random.default_rng(5)
    key = read_key(copied, cache)
    assert store.read(folder, files[0].name, key) is not None
    for bit in draw.integers(0, 8 * len(whole), 300):
        files[0].write_bytes(flipped(whole, int(bit)))
        assert store.read(folder, files[0].name, key) is None
    for bit in draw.integers(0, 8 * len(whole), counts(2, 90)):
        files[0].write_bytes(flipped(whole, int(bit)))
        assert run(copied, cache) == (before, 0, name)
        assert store.read(folder, files[0].name, key) is not None
    files[0].write_bytes(whole[: len(whole) // 2])
    assert run(copied, cache) == (before, 0, name)
    assert run(copied, cache) == (before, 1, name)


def read_key(root, cache):
    """Return the key under which the copy keeps its first function."""
    script = BOOTSTRAP.format(root=str(root), stats=True) + (
        "from numba.core.registry import cpu_target\n"
        "(sig,) = rng.bootstrap_into.overloads\n"
        "print(rng.bootstrap_into._cache._key(sig, cpu_target.target_context.codegen()))"
    )
    variables = {**os.environ, "PYTHONPATH": str(root), "LCDB_CACHE": str(cache)}
    done = subprocess.run([sys.executable, "-c", script], env=variables, text=True,
                          capture_output=True, check=True)  # fmt: skip
    return done.stdout.split()[-1]


def test_a_new_cache_is_for_its_owner_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("LCDB_CACHE", str(tmp_path / "new" / "cache"))
    before = os.umask(0o002)
    try:
        folder = store.cache_folder()
    finally:
        os.umask(before)
    assert folder.parent == tmp_path / "new" / "cache"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)] == [0o700] * 2


@pytest.mark.parametrize("mode", [0o770, 0o777, 0o1777])
@pytest.mark.parametrize("below", [False, True])
def test_a_cache_that_others_may_write_to_is_refused(tmp_path, monkeypatch, mode, below):
    monkeypatch.setenv("LCDB_CACHE", str(tmp_path / "cache"))
    folder = store.cache_folder()
    (folder if below else folder.parent).chmod(mode)
    with pytest.raises(folders.CacheRefusedError, match=r"written to by others.*chmod go-w"):
        store.cache_folder()
    with pytest.raises(StorageError, match="LCDB_CACHE name a folder of your own"):
        compile_kernels([], 1, tell=print)
    (folder if below else folder.parent).chmod(0o755)
    assert store.cache_folder() == folder


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give folders away")
def test_what_belongs_to_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LCDB_CACHE", str(tmp_path / "cache"))
    folder = store.cache_folder()
    store.write(folder, "a.kernel", "key", b"code")
    assert store.read(folder, "a.kernel", "key") == b"code"
    os.chown(folder / "a.kernel", 65534, -1)
    with pytest.raises(
        folders.CacheRefusedError, match=r"a.kernel belongs to another user \(65534\)"
    ):
        store.read(folder, "a.kernel", "key")
    os.chown(folder.parent, 65534, -1)
    with pytest.raises(folders.CacheRefusedError, match="belongs to another user"):
        store.cache_folder()
    with pytest.raises(StorageError, match="belongs to another user"):
        snapshot_cache()


def test_a_file_that_others_may_write_to_is_refused(tmp_path):
    store.write(tmp_path, "a.kernel", "key", b"code")
    (tmp_path / "a.kernel").chmod(0o666)
    with pytest.raises(folders.CacheRefusedError, match=r"\(mode 666\); delete it"):
        store.read(tmp_path, "a.kernel", "key")


def test_a_shared_cache_is_read_and_the_rest_goes_to_ones_own(tmp_path, monkeypatch):
    """On a cluster root, or oneself, compiles once; nobody can write there any more."""
    shared, own = tmp_path / "shared", tmp_path / "home"
    monkeypatch.setenv("LCDB_CACHE", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
    folder = store.cache_folder()
    store.write(folder, "a.kernel", "key", b"code")
    access = os.access
    monkeypatch.setattr(  # root may write everywhere
        os,
        "access",
        lambda path, mode: not Path(path).is_relative_to(shared) and access(path, mode),
    )
    assert store.cache_folders() == (folder, own / "lcdb" / folder.name)
    assert store.cache_folder() == own / "lcdb" / folder.name
    assert store.read(store.cache_folders()[0], "a.kernel", "key") == b"code"


def test_old_code_is_swept_and_used_code_is_not(tmp_path):
    now = time.time()
    for name, days in (("used", 0), ("unused", 70), ("recent", 50)):
        store.write(tmp_path, name, "key", b"code")
        os.utime(tmp_path / name, (now - days * store.DAY,) * 2)
    store.sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recent", "used"]
    assert store.read(tmp_path, "recent", "key") == b"code"  # and so it is used
    store.sweep(tmp_path, now + 30 * store.DAY)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["recent", "used"]


def test_types_have_names_that_mean_the_same_everywhere():
    first = namedtuple("Pair", ["left", "right"])
    second = namedtuple("Pair", ["right", "left"])
    named = [store._describe(numba.typeof(kind(1, 2.0))) for kind in (first, second)]
    assert named[0] != named[1] and all(named)
    nested = [store._describe(numba.typeof((kind(1, 2.0), 3))) for kind in (first, second)]
    assert nested[0] != nested[1] and all(nested)
    arrays = [np.zeros((2, 2)), np.zeros((2, 2), order="F"), np.zeros(2), np.zeros(2, np.float32)]
    arrays[0].setflags(write=False)
    assert len({store._describe(numba.typeof(array)) for array in [*arrays, np.zeros((2, 2))]}) == 5
    assert store._describe(numba.typeof(jit.kernel(lambda x: x))) == ""  # an address
