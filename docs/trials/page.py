"""The page: sections in their order."""

from __future__ import annotations

import lcdb
from lcdb.tables import jordan2018
from trials import agents, classifiers, linear
from trials.made import made
from trials.printed import TRIALS, agreement
from words import wrapped


def page(db: lcdb.Database) -> str:
    """Return the page as Markdown."""
    cube = db["dse"].load()
    tuned, random = jordan2018.tables(db, ["1"])
    halves = {"random": random, "tuned": tuned}
    text = f"""# What the experiments say

*This page is written by `make findings` from the experiments that ship
(`lcdb.shipped.experiments()`); a test holds every number in it against what is computed anew, but
for the variants of the task `linear` and the split of the spread, which were measured once by the
commands that stand there, and the last section.*

```
lcdb tables experiments --paper jordan2018
lcdb plot experiments --paper jordan2018 --figure 1
```

What the numbers mean is in [dse.md](dse.md) and [pendulum.md](pendulum.md). What ships is a part
of what the paper has: the number of trials stands beside each result, and a larger build goes on
from these, which stay what they are to the last bit.

## Table 1: CVaR 0.5 of the accuracy

Ours ± standard error by bootstrap, in brackets what is printed, and the number of our trials (the
paper has {TRIALS:,} of each). Random hyper-parameters:

{classifiers.table_1(random)}

{agreement(random)} The generators of the tasks were
found by search against this half of the table: agreement here is calibration, and the tuned half is
the check.

Tuned, the best of 50 configurations in cross-validation:

{classifiers.table_1(tuned)}

{agreement(tuned)}

The task `faces` takes images that are not ours to ship.

## The task `linear`

{linear.low_on_linear(cube, halves)}

{linear.shared_data(cube)}

{linear.variants_of_linear(cube, halves)}

## Which learner is better?

The learners of a task in the order of their CVaR 0.5, each less the next, with 95 % intervals by
paired bootstrap (`lcdb.distribution.cvar_difference`):

{classifiers.learners_in_order(cube)}

## What tuning gains

CVaR 0.5 of tuned less random trials, of the better half and of the worse half, with 95 % intervals
by paired bootstrap over the trials that both have:

{classifiers.tuning(cube)}

## Where the spread comes from

`python docs/spread.py`, about three minutes of one core, draws 40 hyper-parameters and 10 data
sets, trains each pair twice (`lcdb.distribution.nested`) and splits the variance of the outcome
(`spread`): the standard deviation, and the shares of the variance in percent, ± standard error by
jackknife. An agent has no data: each of 40 hyper-parameters has 3 times 2 lifetimes of 100
episodes, and what the split gives to data can only be error.

{classifiers.SPREAD_HEAD}
{classifiers.SPREAD.strip()}

Of a support vector machine nearly all is hyper-parameters on moons; of a forest and of logistic
regression nearly all is data. Of the network on moons about as much is due to its own random
numbers as to hyper-parameters: one training says little of a configuration, and tuning cannot
choose what is chance.
{agents.section(db)}
## How these were made

{made(db)}
"""
    return wrapped(text)
