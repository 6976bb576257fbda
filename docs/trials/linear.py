"""The task `linear`, where learners are low: how far, what of it is chance, and what was tried."""

from __future__ import annotations

import numpy as np
import xarray as xr

from lcdb.distribution import cvar
from lcdb.tables import Table
from trials.printed import TRIALS, deviations
from words import listed, markdown

LEARNERS = ("kNN", "RF", "SVM", "LR", "NN")
#: What was tried, by `python docs/linear.py 100`: by how much a variant moves CVaR 0.5 of random
#: trials, with the standard error of the paired difference.
MOVES = {
    "noise on [0, 1.9] in the place of [0, 2]": (
        "+0.0049 ± 0.0008", "+0.0074 ± 0.0013", "+0.0051 ± 0.0007", "+0.0029 ± 0.0004",
        "+0.0081 ± 0.0018"),
    "noise on [0, 1.8]": (
        "+0.0105 ± 0.0009", "+0.0097 ± 0.0013", "+0.0092 ± 0.0009", "+0.0044 ± 0.0004",
        "+0.0125 ± 0.0017"),
    "no labels flipped (1 % are)": (
        "+0.0056 ± 0.0029", "+0.0102 ± 0.0031", "+0.0027 ± 0.0035", "+0.0033 ± 0.0033",
        "+0.0103 ± 0.0039"),
    "two more features, redundant": (
        "+0.0055 ± 0.0030", "+0.0089 ± 0.0031", "+0.0015 ± 0.0026", "+0.0015 ± 0.0034",
        "+0.0071 ± 0.0037"),
    "one of the ten features redundant": (
        "-0.0037 ± 0.0044", "+0.0093 ± 0.0044", "-0.0079 ± 0.0057", "-0.0105 ± 0.0084",
        "-0.0022 ± 0.0049"),
    "standardised on the training rows alone": (
        "-0.0007 ± 0.0005", "+0.0000 ± 0.0000", "-0.0008 ± 0.0005", "-0.0001 ± 0.0001",
        "-0.0002 ± 0.0018"),
    "not standardised": (
        "-0.0017 ± 0.0007", "+0.0000 ± 0.0000", "+0.0201 ± 0.0047", "+0.0011 ± 0.0008",
        "-0.0001 ± 0.0032"),
    "clusters that are not on a hypercube": (
        "-0.1781 ± 0.0047", "-0.1563 ± 0.0047", "-0.1872 ± 0.0146", "-0.2434 ± 0.0063",
        "-0.1515 ± 0.0061"),
}  # fmt: skip
#: The first of them in the tuned half:
#: `python docs/linear.py 40 --mode tuned --learner kNN LR SVM --variant "noise on [0, 1.9]"`.
TUNED_MOVES = {
    "kNN": "+0.0052 ± 0.0015", "SVM": "+0.0057 ± 0.0012", "LR": "+0.0028 ± 0.0009",
}  # fmt: skip


def low_on_linear(cube: xr.Dataset, tables: dict[str, Table]) -> str:
    """Return by how much learners are off on `linear`, in a table and in words."""
    found = differences(cube, tables)
    rows = [
        [name, *(f"{d:+.4f} ± {e:.4f} ({z:+.1f})" for d, e, z in (half[name] for half in
                                                                found.values()))]
        for name in LEARNERS
    ]  # fmt: skip
    low = {mode: [n for n in LEARNERS if half[n][0] < 0] for mode, half in found.items()}
    far = {mode: [n for n in LEARNERS if half[n][2] < -2] for mode, half in found.items()}
    trials = cube["accuracy"].sel(task="linear", mode="tuned", learner="kNN").notnull().sum().item()
    smaller = [1.0 - found["control"][n][0] / found["tuned"][n][0] for n in LEARNERS]
    head = ["random", "tuned", "tuned, random kNN as control"]
    return f"""Ours less what is printed, ± standard error of ours (in brackets: how many standard
errors of the difference that is):

{markdown("", head, rows)}

In the random half {len(low["random"])} of {len(LEARNERS)} learners are low, by more than two
standard errors {listed(far["random"])}; in the tuned half {len(low["tuned"])} of {len(LEARNERS)}
are, by more than two {listed(far["tuned"])}.

A part of that is chance. The tuned half has the first {trials} trials alone, and their data are
harder than those of all {TRIALS:,}: random trials, which all learners have on the same data, say by
how much. The last column takes that off (the regression estimator with the accuracy of kNN's random
trials as control): the gaps are smaller by {100 * min(smaller):.0f} to {100 * max(smaller):.0f} %,
and more than two standard errors remain of {listed(far["control"])}."""


def differences(cube: xr.Dataset, tables: dict[str, Table]) -> dict[str, dict[str, list[float]]]:
    """Return ours less printed on `linear`, its standard error, and how many errors it is off.

    By half; the tuned one also with random trials of kNN as control, which saw the same data.
    """
    control = cube["accuracy"].sel(task="linear", mode="random", learner="kNN").values.astype(float)
    found: dict[str, dict[str, list[float]]] = {"random": {}, "tuned": {}, "control": {}}
    for mode, table in tables.items():
        off = deviations(table)
        for row in table.rows:
            if row.metric != "linear":
                continue
            own = row.beside["standard error"]
            found[mode][row.row] = [row.difference, own, off[row.row, row.metric]]
            if mode == "tuned":
                part = cube["accuracy"].sel(task="linear", mode=mode, learner=row.row)
                z = part.dropna("trial")
                assert (z["trial"].values == cube["trial"].values[: z.size]).all()
                value, error = with_control(z.values.astype(float), control)
                both = np.hypot(error, own * np.sqrt(row.cells / TRIALS))
                gap = value - row.published
                found["control"][row.row] = [gap, error, gap / both]
    return found


def with_control(tuned: np.ndarray, control: np.ndarray) -> tuple[float, float]:
    """Return CVaR 0.5 as it would be on all data of a control, and its standard error.

    The regression estimator: `tuned` has the first trials of `control` alone, and is moved by what
    these are off the mean of all, as far as both go together.
    """
    y, x = upper_half(tuned), control[: len(tuned)]
    slope, middle = np.polyfit(x - control.mean(), y, 1)
    rest = y - middle - slope * (x - control.mean())
    return float(middle), float(
        np.sqrt(rest.var(ddof=2) / len(y) + slope**2 * control.var() / len(control))
    )


def upper_half(z: np.ndarray) -> np.ndarray:
    """Return numbers whose mean is CVaR 0.5: the median, and twice what a value is above it."""
    median = np.median(z)
    return median + 2.0 * np.maximum(z - median, 0.0)


def shared_data(cube: xr.Dataset) -> str:
    """Return what the learners of the task `linear` have in common: their data."""
    accuracy = cube["accuracy"].sel(task="linear", mode="random")
    names = [str(n) for n in accuracy["learner"].values]
    rows = {n: accuracy.sel(learner=n).values.astype(float) for n in names}
    first = rows["kNN"]
    parts = []
    for name in ("RF", "LR"):
        both = np.isfinite(first) & np.isfinite(rows[name])
        parts.append(f"{np.corrcoef(first[both], rows[name][both])[0, 1]:.2f} ({name})")
    there = first[np.isfinite(first)]
    runs = [cvar(xr.DataArray(there[i : i + 500], dims="trial"), 0.5)
            for i in range(0, len(there) - 499, 500)]  # fmt: skip
    spans = ", ".join(f"{float(run):.4f}" for run in runs)
    return (
        "Learners see the same data in a trial, so the deviations of a column are not "
        "independent: over the trials of `linear` the correlation of kNN's accuracy with that of "
        f"other learners is {listed(parts)}. CVaR 0.5 of kNN over successive runs of 500 trials "
        f"is {spans}."
    )


def variants_of_linear(cube: xr.Dataset, tables: dict[str, Table]) -> str:
    """Return what was tried, and what it would do to the differences."""
    found = differences(cube, tables)
    first = dict(zip(LEARNERS, next(iter(MOVES.values())), strict=True))
    measured = listed([f"{name} by {move}" for name, move in TUNED_MOVES.items()])
    return f"""The paper does not say how its data are made. `python docs/linear.py 100` runs
variants on the first 100 random trials, in pairs with the task as it is, and says by how much they
move CVaR 0.5 (± standard error of the paired difference):

{markdown("variant", LEARNERS, [[name, *cells] for name, cells in MOVES.items()])}

A little less noise, [0, 1.9], would about close the tuned half as it stands: over the first 40
trials (`--mode tuned`) it moves tuned {measured}, after which ours less printed would be
{moved(found["tuned"], TUNED_MOVES)}; from what the control leaves, {
        moved(found["control"], TUNED_MOVES)
    }. It does not close the random half, where it would be {moved(found["random"], first)}:
RF lacks nothing there, and it, SVM and NN would be above what is printed. No variant that was tried
has both halves where the paper has them, and the task was left as it is.

Open remains why kNN, and less surely NN, are low in both halves, and RF in the tuned half alone.
The paper does not name its generator, so that its `linear` may be another task than ours."""


def moved(differences: dict[str, list[float]], moves: dict[str, str]) -> str:
    """Return what differences would be after moves."""
    after = {name: differences[name][0] + float(move.split()[0]) for name, move in moves.items()}
    return listed([f"{name} {gap:+.3f}" for name, gap in after.items()])
