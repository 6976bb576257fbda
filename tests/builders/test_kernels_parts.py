"""Kernels that kernels call alone have no machine code of their own, until Python calls them."""

from __future__ import annotations

import gc
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from lcdb_builders.kernels.core import dispatcher
from lcdb_builders.kernels.core.dispatcher import PartEntry, is_nested
from lcdb_builders.kernels.core.jit import kernel
from numba.core.errors import TypingError
from numba.extending import overload

from tests.support.counts import counts
from tests.support.damages import flip

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled"
)


@kernel
def weigh(values, place, factor):
    if place >= len(values):
        raise IndexError("beyond the values")
    return factor * values[place]


@kernel
def total(values, factor):
    result = weigh(values, 0, factor)
    for i in range(1, len(values)):
        result += weigh(values, i, factor)
    return result


@kernel
def beyond(values):
    return weigh(values, len(values), 2.0)


def entries(dispatcher):
    return [isinstance(made.entry_point, PartEntry) for made in dispatcher.overloads.values()]


def test_a_part_is_compiled_once_for_all_callers_and_whole_for_python():
    values = np.array([1.0, 2.0, 4.0])
    assert total(values, 3.0) == 21.0
    assert entries(weigh) == [True]  # the literal 0 is an integer like i
    assert entries(total) == [False] and not is_nested()
    assert weigh(values, 2, 3.0) == 12.0
    assert entries(weigh) == [False]
    assert total(values, 3.0) == 21.0
    with pytest.raises(IndexError, match="beyond the values"):
        beyond(values)
    with pytest.raises(IndexError, match="beyond the values"):
        weigh(values, 3, 1.0)
    assert pickle.loads(pickle.dumps(total)) is total


@pytest.mark.parametrize("large", [0, 155_000])
def test_large_parts_are_optimised_with_their_callers_alone(monkeypatch, large):
    monkeypatch.setattr(dispatcher, "LARGE", large)

    @kernel
    def squares(values):
        result = 0
        for value in values:
            result += value * value
        return result

    @kernel
    def more(values):
        return squares(values) + 1

    assert more(np.arange(5)) == 31
    (part,), (whole,) = squares.overloads.values(), more.overloads.values()
    assert ("vector.body" in part.library.get_llvm_str()) == (large > 0)
    assert "vector.body" in whole.library.get_llvm_str()


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_after_compiling_as_before(collects):
    states = []

    def note():
        """Stand for what is called by compiled code alone."""

    @overload(note)
    def _note():
        states.append(gc.isenabled())
        return lambda: 1

    @kernel
    def one():
        return note()

    @kernel
    def wrong():
        return 1 + "one"

    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        assert one() == 1 and states and not any(states)
        assert gc.isenabled() == collects
        with pytest.raises(TypingError):
            wrong()
        assert gc.isenabled() == collects
    finally:
        (gc.enable if was else gc.disable)()


SCRIPT = """
import numpy as np
from lcdb_builders.kernels.core import rng
from lcdb_builders.kernels.core.dispatcher import PartEntry
out = np.empty(5, np.int64)
rng.bootstrap_into(np.uint64(1), np.uint64(2), 5, 0, 0, 1000, out)
(below,) = rng.below.overloads.values()
print(*out, sum(rng.below.stats.cache_hits.values()), type(below.entry_point) is PartEntry)
print(rng.below(np.uint64(2**63), 10))
"""


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.process
def test_parts_are_found_again_where_their_callers_are_compiled(tmp_path):
    def run():
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", SCRIPT],
            env={**os.environ, "LCDB_CACHE": str(tmp_path / "cache")},
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        drawn, below = done.stdout.splitlines()
        *numbers, hits, is_part = drawn.split()
        return numbers, int(hits), is_part, below

    numbers, hits, is_part, below = run()
    assert (hits, is_part, below) == (0, "True", "5")
    wholes = list((tmp_path / "cache").rglob("*.kernel"))
    (part,) = (tmp_path / "cache").rglob("below-*.part")
    assert len(wholes) == 2

    def again():
        for path in wholes:
            path.unlink()
        return run()

    assert again() == (numbers, 1, "True", "5")
    intact = part.read_bytes()
    draw = random.Random(3)
    for _ in range(counts(1, 90)):
        part.write_bytes(intact)
        flip(part, draw)
        damaged = part.read_bytes()
        assert again() == (numbers, 0, "True", "5")
        assert part.read_bytes() != damaged  # compiled, and kept once more
