"""`lcdb build pendulum` as users run it: killed, resumed, grown, with any number of workers."""

from __future__ import annotations

import hashlib
import json

from e2e.commands import all_gone, finish, kill, lcdb, start, wait_until


def arguments(root, workers, trials, *more):
    numbers = ("--trials", trials, "--episodes", 6, "--seed", 3)
    return ("build", "pendulum", "--out", root, "--workers", workers, *numbers, *more)


def built(*command):
    code, out, err = finish(start(*command))
    assert code == 0, (out, err)


def test_killed_resumed_and_grown_cubes_have_the_same_bytes(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    again = ("--appendix-c", "--reruns", 4)
    killed = start(*arguments(two, 2, 40))
    wait_until(lambda: any(two.glob("blocks/*/n*.h5")) or killed.poll() is not None)
    assert all_gone(kill(killed))
    built(*arguments(two, 2, 40, *again))
    built(*arguments(one, 1, 9, "--algorithm", "actor_critic"))
    built(*arguments(one, 1, 40, *again))
    cubes = [(root / "cubes" / "pendulum.nc").read_bytes() for root in (one, two)]
    assert len({hashlib.sha256(cube).hexdigest() for cube in cubes}) == 1
    code, out, err = lcdb("status", one, "--json")
    assert code == 0, err
    assert json.loads(out)["totals"]["complete"] == 6
