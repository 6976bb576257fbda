"""How the experiments were made."""

from __future__ import annotations

import json
from pathlib import Path

import lcdb
from words import listed

#: What was seen when the trials that ship were computed again.
DSE_MADE = """`lcdb verify experiments --recompute 2000` computed 2,000 random trials again: all
are as stored."""
#: How the lifetimes that ship were made.
PENDULUM_MADE = """The lifetimes on the pendulum were built on two cores of an AMD EPYC (Linux,
Python 3.11, NumPy 2.4, Numba 0.68), at commit 1bc676e: those of Actor-Critic in some 0.4
core-hours, of PPO in 2.0 and of Appendix C in 0.3. `lcdb verify DIR --recompute 2000` computed
2,000 random lifetimes of the full cube again: all are as stored."""


def made(db: lcdb.Database) -> str:
    """Return how the experiments were made."""
    text = f"""```
lcdb build dse --out DIR --task moons --task circles --task linear --mode random
lcdb build dse --out DIR --task moons --task circles --task linear --mode tuned --trials 300
lcdb build pendulum --out DIR --algorithm actor_critic --trials 20000
lcdb build pendulum --out DIR --algorithm ppo --trials 17415 --appendix-c
lcdb verify DIR --recompute 2000
lcdb summarize DIR --out SMALL --dataset pendulum
```

{machines(db)} {DSE_MADE}"""
    return f"{text}\n\n{PENDULUM_MADE}" if "pendulum" in db.experiments else text


def machines(db: lcdb.Database) -> str:
    """Return what the manifest says of where the trials were computed, and with what."""
    stored = json.loads((Path(db.path) / "manifest" / "dse.json").read_text("utf-8"))["current"]
    parts = [unit["computed_on"] for unit in stored["units"]]
    where = [
        f"{sum(k in some for some in parts)} from {one['cpu'].split(' (')[0]} ({one['machine']})"
        for k, one in enumerate(stored["environments"])
    ]
    versions = {
        name: sorted({one["packages"][name] for one in stored["environments"]})
        for name in ("numpy", "scipy", "scikit-learn")
    }
    used = [f"{name} {' and '.join(some)}" for name, some in versions.items()]
    pythons = " and ".join(sorted({one["python"] for one in stored["environments"]}))
    return (
        "The manifest of the experiment in classification says where its trials were computed: "
        f"of {len(parts)} parts, {listed(where)}; with Python {pythons}, {listed(used)}."
    )
