"""How far estimates of rates at every n are off, and where nobody can tell."""

from __future__ import annotations

import pandas as pd

from findings.evidence import Evidence
from lcdb import stats
from lcdb.schema import UNIT_DIMS
from lcdb.tables.frame import at_every_n
from words import listed, markdown, metric_name, number, signed

TESTS = {
    "rate": "Shapiro-Wilk",
    "dagostino": "D'Agostino-Pearson",
    "skewness_test": "skewness test",
    "kurtosis_test": "kurtosis test",
    "constant": "constant cells",
}
#: A correction is large that moves the mean rate of a dataset by more points.
LARGE = 5.0
_METRICS = ("accuracy", "auc")


def both(found: Evidence, few: Evidence) -> pd.DataFrame:
    """Return the curves that two databases have: at every n, and as the other estimates that."""
    names = ["dataset", "metric", *UNIT_DIMS]
    columns = [f"every_{test}" for test in TESTS]
    return found.frame[names + columns].merge(
        few.frame[names + columns], on=names, suffixes=("", "_estimate")
    )


def by_test(found: Evidence, few: Evidence) -> tuple[str, str]:
    """Return how far the estimates are off by test, as table and in sentences."""
    curves = both(found, few)
    if curves.empty:
        return "", ""
    lines = []
    for test, title in TESTS.items():
        ours, guess = curves[f"every_{test}"], curves[f"every_{test}_estimate"]
        off = guess - ours
        lines.append([title, number(ours.mean(), 2), number(guess.mean(), 2),
                      number(off.abs().mean(), 2), number(off.abs().max(), 2)])  # fmt: skip
    off = (curves["every_rate_estimate"] - curves["every_rate"]).rename("off")
    far = curves.loc[off.abs().idxmax()]
    said = (
        "The reference database has every n up to 32 and some 70 sizes beyond, and estimates what "
        "a rate would be at every n: each size stands for those around it. Over "
        f"{len(curves):,} curves and metrics that are here as well, its estimates for Shapiro-Wilk "
        f"are off by {number(off.abs().mean(), 2)} points on average, with their sign by "
        f"{signed(off.mean(), 2)}, and most for {metric_name(far['metric'])} of {far['learner']} "
        f"on {found.names[far['dataset']]} ({far['sampling']}, {far['split']}, {far['tuning']}): "
        f"{number(far['every_rate_estimate'])} instead of {number(far['every_rate'])} %."
    )
    columns = ["at every n", "as estimated", "mean difference of a curve", "largest"]
    return markdown("test, % of cells", columns, lines), said


def errors(found: Evidence, few: Evidence) -> dict[str, float]:
    """Return by dataset the mean error of a curve's estimate for Shapiro-Wilk, where known."""
    curves = both(found, few)
    off = (curves["every_rate_estimate"] - curves["every_rate"]).abs()
    return off.groupby(curves["dataset"]).mean().to_dict()


def corrections(few: Evidence) -> pd.DataFrame:
    """Return mean rates at the sizes of the plan and at every n, by dataset and metric."""
    return few.frame.groupby(["dataset", "metric"])[["rate", "every_rate"]].mean()


def largest_sizes(few: Evidence) -> dict[str, int]:
    """Return the largest n by dataset, ascending."""
    sizes = {id: header.largest_size for id, header in few.headers.items()}
    return dict(sorted(sizes.items(), key=lambda pair: pair[1]))


def moves(few: Evidence) -> pd.DataFrame:
    """Return by how much estimates of default curves move with the sizes that ship alone."""
    found = []
    for metric in _METRICS:
        curves = few.frame.query("metric == @metric and tuning == 'default'")
        known = curves.set_index(["dataset", "learner", "sampling", "split"])["every_rate"]
        for key, cube in few.cells(metric).items():
            id = few.db.headers[key].id
            default = cube.sel(tuning="default")
            for unit in known.loc[id].index:
                learner, sampling, split = unit
                cell = default.sel(learner=learner, sampling=sampling, split=split)
                constant = cell["constant"].values
                g = stats.non_gaussian(cell["shapiro_p"].values, cell["count"].values, constant)
                moved = at_every_n(g, cell["n"].values, constant) - known[id, *unit]
                found.append({"dataset": id, "metric": metric, "moved": moved})
    return pd.DataFrame(found)


def by_half(few: Evidence) -> tuple[dict[str, float], dict[str, float]]:
    """Return by dataset the mean move of a curve, and the largest move of a metric's mean."""
    frame = moves(few)
    curve = frame["moved"].abs().groupby(frame["dataset"]).mean()
    means = frame.groupby(["dataset", "metric"])["moved"].mean().abs()
    return curve.to_dict(), means.groupby("dataset").max().to_dict()


def by_dataset(found: Evidence, few: Evidence) -> str:
    """Return by dataset what estimates change of the rates, and their error where it is known."""
    known, rates, lines = errors(found, few), corrections(few), []
    curve, mean = by_half(few)
    for id, largest in largest_sizes(few).items():
        cells = []
        for metric in _METRICS:
            at, every = rates.loc[(id, metric)]
            cells += [number(at), number(every), signed(every - at, 1)]
        error = number(known.get(id), 2) or "not known"
        lines.append([few.names[id], str(largest), *cells, error, number(curve[id], 2),
                      number(mean[id], 2)])  # fmt: skip
    columns = ["largest n"]
    for metric in _METRICS:
        name = metric_name(metric)
        columns += [f"{name} at sizes of the plan", "at every n, estimated", "difference"]
    columns += ["error of a curve", "sizes that ship alone: a curve moves by", "a mean by"]
    return markdown("dataset", columns, lines)


def unknown(found: Evidence, few: Evidence) -> str:
    """Return in sentences that the largest corrections are of datasets without every n."""
    known, rates, sizes = errors(found, few), corrections(few), largest_sizes(few)
    change = rates["every_rate"] - rates["rate"]
    some = [(id, m) for id in sizes for m in _METRICS if abs(change[id, m]) > LARGE]
    blind = [pair for pair in some if pair[0] not in known]
    said = "The estimates were checked nowhere, since no dataset has every n as well."
    if known:
        tested = [abs(change[id, m]) for id in known for m in _METRICS]
        errs = listed(f"{number(known[id], 2)} points on {few.names[id]} (m = {sizes[id]})"
                      for id in sizes if id in known)  # fmt: skip
        said = (
            "The estimates were checked where every n is there: the mean error of a curve is "
            f"{errs}. There, mean rates of accuracy and AUC at every n are within "
            f"{number(max(tested))} points of those at the sizes of the plan."
        )
    if blind:
        parts = listed(
            f"{metric_name(m)} of {few.names[id]} from {number(rates['rate'][id, m])} to "
            f"{number(rates['every_rate'][id, m])} % (m = {sizes[id]})"
            for id, m in blind
        )
        said += (
            f" Of {len(some)} means that estimates move by more than {LARGE:g} points, "
            f"{len(blind)} are of datasets without every n: {parts}. How far these estimates are "
            "off is not known."
        )
    return f"{said} {_of_half(few)}"


def _of_half(few: Evidence) -> str:
    """Return in a sentence how much estimates depend on the number of sizes."""
    curve, mean = by_half(few)
    sizes = [few.db[key]["n"].size for key in few.unscaled]
    far, most = max(curve, key=curve.__getitem__), max(mean, key=mean.__getitem__)
    return (
        "A weaker check can be made everywhere: from the sizes that ship alone, "
        f"{min(sizes)} to {max(sizes)} of a dataset, estimates of default curves move by "
        f"{number(curve[far])} points on average on {few.names[far]}, the most, but the mean of no "
        f"dataset by more than {number(mean[most])} ({few.names[most]})."
    )
