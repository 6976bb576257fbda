"""Actor-Critic and PPO on the pendulum: their table, one against the other, and reruns."""

from __future__ import annotations

import xarray as xr

import lcdb
from lcdb.distribution import cvar_difference
from lcdb.tables import Table, jordan2018
from lcdb.tables.lifetimes import LENGTHS, lifetime_means
from trials.classifiers import interval
from trials.printed import deviations
from words import listed, markdown

NAMES = {"actor_critic": "Actor-Critic", "ppo": "PPO"}
#: Of what 20,000 lifetimes are resampled.
RESAMPLES = 1000


def section(db: lcdb.Database) -> str:
    """Return the half of the page on agents, if there are lifetimes."""
    if "pendulum" not in db.experiments:
        return ""
    return f"""
## Table 2: lifetimes on the pendulum

Mean return of a lifetime, cut at several lengths; PPO leaves partial minibatches out, as Baselines
does:

{table_2(db)}

{lifetimes(db)}

## Actor-Critic against PPO

Actor-Critic less PPO, with 95 % intervals. Their lifetimes share no random numbers, so each is
resampled by itself (`cvar_difference(..., paired=False)`):

{one_less_the_other(db)}

## Appendix C: lifetimes of PPO run again

{appendix_c(db)}
"""


def table_2(db: lcdb.Database) -> str:
    """Return mean and CVaR of lifetimes cut at several lengths, beside the printed numbers."""
    (table,) = jordan2018.tables(db, ["2"])
    cells = {(row.row, row.metric): row for row in table.rows}
    statistics = {"mean": "mean", "cvar_0.5": "CVaR 0.5"}
    columns = [(algorithm, one) for algorithm in NAMES for one in statistics]
    rows = []
    for episodes in LENGTHS:
        line = [f"{episodes:,}"]
        for algorithm, one in columns:
            row = cells[f"{NAMES[algorithm]}, {episodes} episodes", one]
            error = row.beside.get("standard error")
            line.append("" if row.ours is None else f"{row.ours:.0f} ± {error:.0f}")
        rows.append(line)
    printed = jordan2018.published()["table_2"]
    rows.append(["published", *(f"[{printed[a][one]:.1f}]" for a, one in columns)])
    head = [f"{NAMES[a]}: {statistics[one]}" for a, one in columns]
    return markdown("episodes", head, rows)


def lifetimes(db: lcdb.Database) -> str:
    """Return what Table 2 says in words, as far as its numbers carry them."""
    cube = db["pendulum"]
    (table,) = jordan2018.tables(db, ["2"])
    off = deviations(table, printed_error=False)
    text = []
    for algorithm, name in NAMES.items():
        sizes = {n: lifetime_means(cube, algorithm, n).size for n in LENGTHS}
        if not sizes[LENGTHS[-1]]:
            continue
        by_length = {
            one: {n: abs(off[f"{name}, {n} episodes", one]) for n in LENGTHS}
            for one in ("mean", "cvar_0.5")
        }
        alone = [min(some, key=some.__getitem__) for some in by_length.values()]
        near = {n: max(some[n] for some in by_length.values()) for n in LENGTHS}
        best = min(near, key=near.__getitem__)
        froze = cube["freeze_episode"].sel(algorithm=algorithm).values
        printed = jordan2018.published()["table_2"][algorithm]["trials"]
        share = 100 * (froze >= 0).sum() / (froze >= -1).sum()
        text.append(
            f"{name}: {sizes[LENGTHS[-1]]:,} lifetimes (the paper has {printed:,}). "
            f"The printed mean is nearest at {alone[0]:,} episodes ("
            f"{by_length['mean'][alone[0]]:.1f} standard errors off), the printed CVaR at "
            f"{alone[1]:,} ({by_length['cvar_0.5'][alone[1]]:.1f}); taken together they are "
            f"nearest at {best:,}, the best of {len(LENGTHS)} lengths, where the farther one is "
            f"{near[best]:.1f} off. Learning froze in {share:.1f} % of its lifetimes."
        )
    if "ppo" in cube["algorithm"].values:
        ppo = cube.sel(algorithm="ppo")
        there = ppo["batch"].values > 0
        never = (ppo["batch"] > ppo["segment_steps"]).values[there]
        text.append(
            f"In {100 * never.mean():.0f} % of PPO's lifetimes a minibatch is longer than the "
            "segment, so that it never learns."
        )
    return "\n\n".join(text)


def one_less_the_other(db: lcdb.Database) -> str:
    """Return Actor-Critic less PPO at several lengths, with intervals."""
    cube = db["pendulum"]
    rows, ahead, sizes = [], [], (0, 0)
    for episodes in LENGTHS:
        pair = [xr.DataArray(lifetime_means(cube, name, episodes), dims="trial") for name in NAMES]
        if min(one.size for one in pair) < 2:
            continue
        found = [cvar_difference(*pair, alpha, tail, paired=False, resamples=RESAMPLES)
                 for alpha, tail in ((0.0, "upper"), (0.5, "upper"), (0.5, "lower"))]  # fmt: skip
        rows.append([f"{episodes:,}", *(interval(one, 0) for one in found)])
        ahead += [float(one["low"]) > 0.0 for one in found]
        sizes = pair[0].size, pair[1].size
    if not rows:
        return "There are no lifetimes of both."
    text = "all of them" if all(ahead) else f"{sum(ahead)} of {len(ahead)}"
    return f"""{markdown("episodes", ["mean", "better half", "worse half"], rows)}

{sizes[0]:,} lifetimes against {sizes[1]:,}. Actor-Critic is ahead, with an interval above 0, in
{text}."""


def appendix_c(db: lcdb.Database) -> str:
    """Return Appendix C: selected lifetimes of PPO and their hyper-parameters run again."""
    (table,) = jordan2018.tables(db, ["C"])
    rows: dict[str, dict[str, str]] = {}
    for row in table.rows:
        if row.ours is not None:
            text = f"{row.ours:.0f}"
            if row.ours_sd is not None:
                low, high = row.beside["5 % quantile"], row.beside["95 % quantile"]
                text += f" ± {row.ours_sd:.0f} [{low:.0f}, {high:.0f}], {row.cells:,}"
            rows.setdefault(row.row, {})[row.metric] = text
    if not rows:
        return "Not built: `lcdb build pendulum --out DIR --algorithm ppo --appendix-c`."
    kinds = ("selected trial", "reruns")
    lines = [[name, *(line.get(kind, "") for kind in kinds)] for name, line in rows.items()]
    head = ["selected", "run again: mean ± sd [5 %, 95 %], reruns"]
    return f"{markdown('', head, lines)}\n\n{of_selection(table)}"


def of_selection(table: Table) -> str:
    """Return in a sentence what was luck of the trials that were selected by what they got."""
    ours = {(row.row, row.metric): row.ours for row in table.rows if row.ours is not None}
    again = [name for name, metric in ours if metric == "reruns"]
    less = [
        f"{ours[n, 'selected trial'] - ours[n, 'reruns']:+.0f} ({n.split()[-1]})" for n in again
    ]
    return (
        f"The selected trials less the mean of their reruns, by percentile: {listed(less)}. They "
        "were selected by what they got, of which a part may be luck."
    )
