"""Sentences of a page as patterns, and the numbers in them as an oracle has them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from tests.oracles.findings import Summaries

ROOT = Path(__file__).parents[2]
PRINTED = json.loads((ROOT / "data" / "published" / "turan2026.json").read_text("utf-8"))
LABELS = {"accuracy": "accuracy", "auc": "AUC", "brier": "Brier score",
          "cross_entropy": "cross-entropy"}  # fmt: skip
#: What the paper's Tables 6 and 7 leave out.
LEFT_OUT = {"1063", "44037", "46597"}
BALANCED = {"53", "61", "44037", "46597"}
BINARY = {"37", "53", "1063", "44037", "46733", "46847"}
_NUMBER = r"([+-]?[\d,]+(?:\.\d+)?)"


class Claims:
    """What a page says, a sentence at a time."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, list[float]]] = []

    def say(self, sentence: str, *numbers: float, after: str = "") -> None:
        """Add a sentence that comes after some words; # stands for a number, and ~ for words."""
        pattern = re.escape(sentence).replace(r"\#", _NUMBER).replace(r"\~", "[^.;]*?")
        self.all.append((after, pattern, list(numbers)))

    def wrong(self, text: str) -> list[str]:
        """Return what a page does not say, or with other numbers."""
        flat, wrong = " ".join(text.split()), []
        for after, pattern, expected in self.all:
            found = re.search(pattern, flat[flat.index(after) :])
            if found is None:
                wrong.append(f"not said: {pattern}")
                continue
            for said, number in zip(found.groups(), expected, strict=True):
                digits = len(said.partition(".")[2])
                if abs(float(said.replace(",", "")) - number) > 0.5 * 10.0**-digits + 1e-7:
                    wrong.append(f"{found.group()}: {said} is {number}")
        return wrong


def printed_rate(row: str, metric: str) -> float:
    """Return the printed rate of a dataset or a learner."""
    for table in ("table_1", "table_2"):
        if row in PRINTED[table].get(metric, {}):
            return PRINTED[table][metric][row][0]
    both = PRINTED["table_D13"]
    return (both["dataset"] | both["learner"])[row][metric][0]


def claim_shapes(claims: Claims, some: Summaries) -> None:
    """Add what pages say of shapes at the last size: Table B.10."""
    numbers = []
    for metric in ("accuracy", "auc", "cross_entropy", "brier"):
        printed = PRINTED["table_B10"][metric]
        way = 1 if metric in ("accuracy", "auc") else -1
        curves = some.of(metric)
        numbers += [curves["last_skewness"].median(), curves["last_kurtosis"].median()]
        numbers += [way * printed["skewness"], printed["excess_kurtosis"]]
    parts = [f"# and # for {LABELS[m]} (printed # and #)"
             for m in ("accuracy", "auc", "cross_entropy", "brier")]  # fmt: skip
    claims.say(f"excess kurtosis are {', '.join(parts[:-1])} and {parts[-1]}.", *numbers)
    every = some.curves
    whole = (every["split"] == "fixed") & every["sampling"].isin(["additive", "random"])
    flat = every["last_skewness"].isna()
    numbers = []
    for metric in ("accuracy", "auc"):
        of = every["metric"] == metric
        numbers += [(of & whole & flat).sum(), (of & whole).sum()]
    claims.say(
        "of those curves # of # in accuracy and # of # in AUC are constant at that n, of all "
        "others #.", *numbers, (flat & ~whole).sum(),
    )  # fmt: skip
    auc, printed = every[every["metric"] == "auc"], PRINTED["table_B10"]["auc"]
    tuned = whole[auc.index] & (auc["tuning"] == "tuned")
    claims.say(
        "the # tuned ones that end in one training set have # and #, all others # and # "
        "(printed # and #)",
        auc.loc[tuned, "last_skewness"].count(),
        *(auc.loc[kept, name].median() for kept in (tuned, ~tuned)
          for name in ("last_skewness", "last_kurtosis")),
        printed["skewness"], printed["excess_kurtosis"],
    )  # fmt: skip


def claim_farthest_learner(claims: Claims, some: Summaries, metric: str) -> None:
    """Add what pages say of the learner whose rate is farthest from the printed one."""
    rates = some.by("learner", metric)
    name = max(rates, key=lambda learner: abs(rates[learner] - printed_rate(learner, metric)))
    curves = some.of(metric, learner=name)
    by, tunings = (curves.groupby(dim)[some.rate].mean() for dim in ("dataset", "tuning"))
    claims.say(
        f"By learner, the rate of {LABELS[metric]} is farthest from the printed one for {name}: # "
        f"instead of # %, with an SD over curves of # (printed #). By dataset it is between # "
        f"({some.names[by.idxmin()]}) and # % ({some.names[by.idxmax()]}), of default curves # % "
        "and of tuned ones # %. Below # % are the rates of # of # curves; constant cells are # %.",
        rates[name], *PRINTED["table_2"][metric][name][:1], curves[some.rate].std(),
        PRINTED["table_2"][metric][name][1], by.min(), by.max(), tunings["default"],
        tunings["tuned"], 50, (curves[some.rate] < 50).sum(), len(curves),
        curves["every_constant"].mean(),
    )  # fmt: skip


def claim_auc(claims: Claims, some: Summaries, sizes: str) -> None:
    """Add what pages say of AUC beside accuracy."""
    for dim, what in (("dataset", "datasets"), ("learner", "learners")):
        rates = {metric: some.by(dim, metric) for metric in ("accuracy", "auc")}
        least = min(rates["auc"], key=rates["auc"].get)
        claims.say(
            f"f # {what} # have a lower rate for AUC than for accuracy, and the lowest is # % (~; "
            "accuracy # %)",
            len(rates["auc"]), sum(v < rates["accuracy"][k] for k, v in rates["auc"].items()),
            rates["auc"][least], rates["accuracy"][least],
        )  # fmt: skip
    both = {m: some.of(m)[["rate", "w", "absolute_tail", "far"]].mean() for m in LABELS}
    claims.say(f"often than accuracy: # against # % of the cells{sizes}",
               both["auc"]["rate"], both["accuracy"]["rate"])  # fmt: skip
    claims.say("W # (#), mean |tail| # (#), |tail| above # in # % (# %)", *(
        both[m][name] for name in ("w", "absolute_tail") for m in ("auc", "accuracy")
    ), 0.5, *(both[m]["far"] for m in ("auc", "accuracy")))  # fmt: skip


def claim_samplings(claims: Claims, some: Summaries, tunings: list[str]) -> None:
    """Add what pages say of samplings: Table C.11."""
    samplings = ("additive", "random", "bootstrap")
    curves = some.of("accuracy", learner={"DT", "LDC", "LREG", "RFOR"}, split="varying",
                     tuning=tunings).groupby(["learner", "sampling"])  # fmt: skip
    rates, other = (curves[name].mean().unstack() for name in (some.rate, "every_dagostino"))
    spread = rates.max(axis=1) - rates.min(axis=1)
    most = spread.idxmax()
    claims.say(
        f"moves the rate of accuracy of {' and '.join(tunings)} learners by # to # points, the "
        f"most for {most}: #, # and # % (additive, random and bootstrap; Table C.11",
        spread.min(), spread.max(), *(rates.loc[most, name] for name in samplings),
    )  # fmt: skip
    claims.say("for # of # learners. By", (rates.idxmin(axis=1) == "bootstrap").sum(), len(rates))
    claims.say(f"the rates of {most} at every n are #, # and # %",
               *(other.loc[most, name] for name in samplings))  # fmt: skip


def claim_groups(claims: Claims, some: Summaries) -> None:
    """Add what pages say of balance and the number of classes: Tables 3 and 4."""
    for metric in ("accuracy", "auc"):
        rates, numbers = some.by("dataset", metric), []
        for inside in (False, True):
            ids = [id for id in rates if (id in BALANCED) == inside]
            numbers.append(([rates[id] for id in ids],
                            [printed_rate(id, metric) for id in ids]))  # fmt: skip
        printed = [PRINTED["table_3"][metric][kind] for kind in ("imbalanced", "balanced")]
        claims.say(
            f"The mean rate of {LABELS[metric]} is # % on imbalanced datasets and # % on balanced "
            "ones, printed # and #, over the same datasets # and #",
            *(np.mean(ours) for ours, _ in numbers), *printed,
            *(np.mean(theirs) for _, theirs in numbers),
        )  # fmt: skip
        curves = some.of(metric, learner="LREG")
        two = curves["dataset"].isin(BINARY)
        claims.say(
            f"Of LREG, the mean rate of {LABELS[metric]} is # % on binary datasets and # % on "
            "multiclass ones, printed # and #",
            *(curves.loc[kept, some.rate].mean() for kept in (two, ~two)),
            *(PRINTED["table_4"][metric][kind] for kind in ("binary", "multiclass")),
        )  # fmt: skip


def claim_estimates(claims: Claims, every: Summaries, few: Summaries) -> None:
    """Add what pages say of how far rates at every n are off that are estimated."""
    names = ["dataset", "metric", "learner", "sampling", "split", "tuning"]
    ours, theirs = (some.curves.set_index(names)["every_rate"] for some in (every, few))
    off = (theirs - ours).dropna().abs().groupby("dataset").mean()
    sizes = {id: int(file["n"][-1]) for id, file in few.files.items()}
    known = sorted(off.index, key=sizes.__getitem__)
    parts = [f"# points on {few.names[id]} (m = #)" for id in known]
    claims.say(f"the mean error of a curve is {', '.join(parts[:-1])} and {parts[-1]}.",
               *(number for id in known for number in (off[id], sizes[id])))  # fmt: skip
    means = few.curves[few.curves["metric"].isin(["accuracy", "auc"])]
    means = means.groupby(["dataset", "metric"])[["rate", "every_rate"]].mean()
    change = (means["every_rate"] - means["rate"]).abs()
    claims.say("are within # points of those at the sizes", change[known].max())
    far = change[change > 5]
    blind = far[~far.index.get_level_values("dataset").isin(known)]
    claims.say("Of # means that estimates move by more than # points, # are of datasets without "
               "every n", len(far), 5, len(blind))  # fmt: skip
    for id, metric in blind.index:
        claims.say(f"{LABELS[metric]} of {few.names[id]} from # to # % (m = #)",
                   means.loc[(id, metric), "rate"], means.loc[(id, metric), "every_rate"],
                   sizes[id], after="that estimates move by")  # fmt: skip
    moved = pd.concat({metric: few.moved(metric) for metric in ("accuracy", "auc")})["moved"]
    ids = pd.concat([few.moved(metric)["dataset"] for metric in ("accuracy", "auc")])
    by = moved.reset_index(level=0).assign(dataset=ids.to_numpy())
    by.columns = ["metric", "moved", "dataset"]
    curve = by["moved"].abs().groupby(by["dataset"]).mean()
    mean = by.groupby(["dataset", "metric"])["moved"].mean().abs()
    counts = [len(file["n"]) for file in few.files.values()]
    claims.say(
        f"alone, # to # of a dataset, estimates of default curves move by # points on average on "
        f"{few.names[curve.idxmax()]}, the most, but the mean of no dataset by more than # "
        f"({few.names[mean.idxmax()[0]]})",
        min(counts), max(counts), curve.max(), mean.max(),
    )  # fmt: skip


def claim_top_three(claims: Claims, some: Summaries) -> None:
    """Add what pages say of the best three tuned learners: Table 7."""
    for metric, null in (("accuracy", "normal on lattice"), ("auc", "normal")):
        for words, comparison, printed in (
            ("mean + 2 sd instead of q.975", "q0.975 mean+2sd", "mean+2sd_vs_q0.975"),
            ("mean instead of median", "q0.5 mean+0sd", "mean_vs_median"),
            ("mean - 2 sd instead of q.025", "q0.025 mean-2sd", "mean-2sd_vs_q0.025"),
        ):
            ours = [some.changes(metric, "tuned", comparison, way, LEFT_OUT)
                    for way in ("ordered", "tie_aware", null)]  # fmt: skip
            claims.say(
                f"by {words} at # of the sizes (printed #), at # however ties are broken, and at # "
                "if scores were normal",
                ours[0], PRINTED["table_7"][metric][printed], *ours[1:],
                after=f"best three in {LABELS[metric]}",
            )  # fmt: skip
    comparisons = ("q0.975 mean+2sd", "q0.5 mean+0sd", "q0.025 mean-2sd")
    claims.say(
        "change by these, in this order, at #, # and # of the sizes in accuracy and at #, # and # "
        "of the sizes in AUC.",
        *(some.changes(metric, "default", comparison, "ordered", LEFT_OUT)
          for metric in ("accuracy", "auc") for comparison in comparisons),
    )  # fmt: skip
    shares = {
        (tuning, *sorted(out)): 100 * some.changes("accuracy", tuning, "q0.95 mean+0sd",
                                                   "ordered", out)
        for tuning in ("tuned", "default") for out in (LEFT_OUT, set())
    }  # fmt: skip
    out = sorted(LEFT_OUT)
    claims.say(
        "change at # % of the sizes of tuned learners (printed #) and at # % of those of default "
        "ones", shares["tuned", *out], PRINTED["text"]["quantile_95_against_mean"],
        shares["default", *out],
    )  # fmt: skip
    if set(some.files) & LEFT_OUT:
        claims.say("ones; of all datasets, at # and # %.", shares["tuned",], shares["default",])
