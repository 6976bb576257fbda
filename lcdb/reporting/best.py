"""Which learners are best on which dataset at which size, and what of that is certain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from lcdb import stats
from lcdb.plot.style import metric_label
from lcdb.reporting.document import Figure, Section, Table, Text
from lcdb.reporting.drawing import figure
from lcdb.reporting.gather import Part, Scope
from lcdb.reporting.texts import counted, interval, listed, number

__all__ = ["Ranking", "best", "rankings", "some_sizes"]

_LEVEL = 0.05
_AIMS = (10.0, 100.0)


@dataclass(frozen=True)
class Ranking:
    """The learners of one dataset at one size, and the p-values of their paired differences."""

    part: Part
    n: int
    order: tuple[str, ...]
    means: np.ndarray
    sds: np.ndarray
    p: np.ndarray
    first_ends: tuple[float, float]
    by_bad_days: tuple[str, float]

    def equals(self, corrected: np.ndarray) -> list[str]:
        """Return the learners that are not settled to be worse than the first."""
        return [name for name, p in zip(self.order[1:], corrected, strict=True) if not p <= _LEVEL]


def some_sizes(part: Part) -> list[int]:
    """Return few, middling and all rows: sizes near 10 and 100, and the last."""
    sizes = part.sizes.astype(float)
    near = [int(sizes[np.abs(np.log(sizes / aim)).argmin()]) for aim in _AIMS]
    kept = [n for n in near if n < sizes[-1] / 1.5]
    return list(dict.fromkeys([*kept, int(sizes[-1])]))


def rankings(scope: Scope) -> list[Ranking]:
    """Return the ranking of every dataset at some sizes."""
    parts = [part for part in scope.parts if len(part.learners) > 1]
    return [_ranking(part, n) for part in parts for n in some_sizes(part)]


def _ranking(part: Part, n: int) -> Ranking:
    cell = part.cells.sel(n=n)
    means, sds = cell["mean"].values.astype(float), cell["sd"].values.astype(float)
    order = np.argsort(-part.sign * means, kind="stable")
    p, ends = _p_values(part, n, order)
    bad = 0.05 if part.sign > 0 else 0.95
    quantile = cell["quantile"].sel(q=bad, method="nearest").values.astype(float)
    # Of equal quantiles, that of the learner with the better mean.
    worst = order[np.argmax(np.round(part.sign * quantile[order], 9))]
    names = np.array(part.learners)
    return Ranking(
        part, n, tuple(names[order]), means[order], sds[order], p, ends,
        (str(names[worst]), float(quantile[worst])),
    )  # fmt: skip


def _p_values(part: Part, n: int, order: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """Return p-values of all pairs in the order of means, and the ends of first - second."""
    first, second = np.triu_indices(len(order), k=1)
    if part.has_repetitions:
        x = part.curves.value.sel(n=n).transpose("learner", "repetition").values[order]
        result = stats.paired_mean(*stats.differences(x[first], x[second]))
        return result.p, (float(result.low[0]), float(result.high[0]))
    cell = part.cells.sel(n=n).isel(learner=order)
    count = np.minimum(cell["count"].values[first], cell["count"].values[second])
    mean, sd = cell["mean"].values.astype(float), cell["sd"].values.astype(float)
    # The sd of differences is at most the sum of the two, however they go together.
    error = (sd[first] + sd[second]) / np.sqrt(count)
    difference = mean[first] - mean[second]
    reach = student.ppf(0.975, count - 1) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(difference) / error
    p = np.where(error > 0, 2 * student.sf(t, count - 1), np.where(difference == 0, 1.0, 0.0))
    return p, (float((difference - reach)[0]), float((difference + reach)[0]))


def best(scope: Scope) -> Section | None:
    """Return the section on the best learners; None where no dataset has several."""
    ranked = rankings(scope)
    if not ranked:
        return None
    corrected = _holm(ranked)
    rows, alone, by_bad = [], 0, 0
    for ranking, p in zip(ranked, corrected, strict=True):
        others = ranking.equals(p)
        alone += not others
        by_bad += ranking.by_bad_days[0] != ranking.order[0]
        rows.append(
            (
                ranking.part.name + ("" if ranking.part.has_repetitions else " (summary)"),
                f"{ranking.n:,}", ranking.order[0],
                f"{number(ranking.means[0])} ± {number(ranking.sds[0])}",
                ranking.order[1], interval(*ranking.first_ends), listed(others) or "none",
                f"{ranking.by_bad_days[0]} ({number(ranking.by_bad_days[1])})",
            )
        )  # fmt: skip
    bad = "5 %" if scope.parts[0].sign > 0 else "95 %"
    head = (
        "dataset", "n", "best mean", "mean ± sd", "second", "first - second (95 %)",
        "not settled to be worse", f"best {bad} quantile",
    )  # fmt: skip
    pairs = sum(len(ranking.p) for ranking in ranked)
    caption = (
        f"The best learners by {metric_label(scope.metric)} at few, middling and all training "
        "rows. sd: between repetitions. The interval is for its one difference. Not settled to be "
        "worse: paired t-tests, "
        f"5 % after Holm's correction for all {counted(pairs, 'comparison')} behind this table."
    )
    if scope.summaries:
        caption += (
            " Of summaries, which lack the pairing, the tests take the largest spread that the "
            "differences may have, so that they settle less."
        )
    source = "lcdb.analysis.summary(curves)"
    if not scope.summaries:
        source += ", lcdb.analysis.compare(curves)"
    table = Table(head, tuple(rows), caption, source, left=(0, 2, 4, 6, 7))
    return Section(
        "Which learner is best",
        (Text(_said(len(ranked), alone, by_bad, bad)), table, *_figures(scope)),
        _headline(ranked, corrected),
    )


def _holm(ranked: list[Ranking]) -> list[np.ndarray]:
    """Return corrected p-values of the first against each other learner, by ranking."""
    every = stats.holm(np.concatenate([ranking.p for ranking in ranked]))
    ends = np.cumsum([len(ranking.p) for ranking in ranked])[:-1]
    return [p[: len(r.order) - 1] for p, r in zip(np.split(every, ends), ranked, strict=True)]


def _headline(ranked: list[Ranking], corrected: list[np.ndarray]) -> str:
    """Return who is best at the last size of each dataset."""
    parts = []
    for place, (ranking, p) in enumerate(zip(ranked, corrected, strict=True)):
        if place + 1 < len(ranked) and ranked[place + 1].part is ranking.part:
            continue
        others = ranking.equals(p)
        but = f"; not settled against {listed(others, 3)}" if others else ""
        parts.append(f"{ranking.order[0]} on {ranking.part.name} (n = {ranking.n:,}{but})")
    what = metric_label(ranked[0].part.metric)
    return f"At the last size the best mean {what} is that of {listed(parts, 20)}."


def _said(cells: int, alone: int, by_bad: int, bad: str) -> str:
    return (
        f"In {alone} of the {counted(cells, 'row')} of the table the mean of one learner is "
        "significantly better than that of every other; in the others, several may be the best as "
        "far as these repetitions tell. Repetitions are draws from the rows of "
        "one dataset: what is settled is so for other draws from these rows, not for other "
        f"datasets. In {by_bad} of {cells} the learner with the best {bad} quantile, the choice "
        "for bad days, is another than the one with the best mean; quantiles are as observed, "
        "without a test."
    )


def _figures(scope: Scope) -> list[Figure]:
    drawn = []
    for part in scope.parts[:3]:
        caption = (
            f"{metric_label(scope.metric).capitalize()} along n on {part.name}, a panel for each "
            "learner: mean, middle 50 % and 90 % of repetitions; in grey the means of the others."
        )
        drawn.append(figure(caption, "small_multiples", part.curves, log=True))
    return drawn
