"""`lcdb build pendulum` as users run it: killed, resumed, grown, with any number of workers."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.support.commands import all_gone, finish, kill, lcdb, start, wait_until

pytestmark = [pytest.mark.full, pytest.mark.process]


def arguments(root, workers, trials, *more):
    numbers = ("--trials", trials, "--episodes", 6, "--seed", 3)
    return ("build", "pendulum", "--out", root, "--workers", workers, *numbers, *more)


def built(*command):
    code, out, err = finish(start(*command))
    assert code == 0, (out, err)


def test_killed_resumed_and_grown_cubes_have_the_same_bytes(tmp_path):
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    use = ("--partial-minibatch", "use")
    appendix = ("--appendix-c", "--reruns", 4, *use)
    killed = start(*arguments(broken, 2, 24, "--algorithm", "ppo", *use))
    wait_until(lambda: any(broken.glob("blocks/*/*.block")) or killed.poll() is not None)
    assert all_gone(kill(killed))
    begun = {path.parent.name for path in broken.glob("blocks/*/*.block")}
    assert begun and all("ppo" in name for name in begun)
    both = ("--algorithm", "actor_critic", "--algorithm", "ppo")
    built(*arguments(broken, 2, 40, *appendix, *both))
    built(*arguments(straight, 1, 40, *appendix))
    cubes = [(root / "cubes" / "pendulum.nc").read_bytes() for root in (straight, broken)]
    assert len({hashlib.sha256(cube).hexdigest() for cube in cubes}) == 1
    code, out, err = lcdb("status", broken, "--json")
    assert code == 0, err
    found = {part["algorithm"]: part for part in json.loads(out)["parts"]}
    assert {part["status"] for part in found.values()} == {"complete"}
    assert {name: part["trials"] for name, part in found.items()} == {
        "actor_critic": 40,
        "ppo": 40,
        **dict.fromkeys(["ppo_p01", "ppo_p50", "ppo_p95", "ppo_p99"], 4),
    }


def test_options_of_other_builds_are_refused(tmp_path):
    code, _, err = lcdb("build", "pendulum", "--out", tmp_path / "x", "--task", "moons")
    assert code == 1 and "--task means nothing for 'pendulum'" in err
    code, _, err = lcdb("build", "pendulum", "--out", tmp_path / "x", "--algorithm", "pppo")
    assert code == 1 and "Did you mean 'ppo'?" in err
    assert not (tmp_path / "x").exists()
