"""The page on the reference database says what the database that ships says."""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lcdb
from tests.oracles.findings import Summaries
from tests.support.claims import LABELS, LEFT_OUT, PRINTED, Claims, claim_top_three, printed_rate

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "findings.md"
BALANCED = {"53", "61", "44037", "46597"}


@pytest.fixture(scope="module")
def text():
    return PAGE.read_text("utf-8")


def test_the_page_is_what_the_command_writes(text, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from findings.page import page

    with lcdb.reference() as db:
        assert page(db) == text
    for name in ("findings", *(n for n in sys.modules if n.startswith("findings."))):
        monkeypatch.delitem(sys.modules, name)


def test_its_figures_are_there_and_are_drawn(text, tmp_path, monkeypatch):
    named = re.findall(r"!\[.+?\]\((pictures/.+?\.svg)\)", text)
    assert len(named) >= 4 and all((PAGE.parent / name).is_file() for name in named)
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from findings.figures import FIGURES, draw

    with lcdb.reference() as db:
        drawn = draw(db, tmp_path, FIGURES)
    assert {path.name for path in drawn} == {Path(name).name for name in named}
    assert all({"NMC", "RFOR"} <= set(re.findall(r"\w+", path.read_text())) for path in drawn)


class Pair(Claims):
    """What is said of the reference database, unscaled and standardised."""

    def __init__(self) -> None:
        super().__init__()
        folder = ROOT / "data" / "reference" / "summaries"
        self.plain, self.scaled = Summaries(folder), Summaries(folder, "standard")


def of_rates(claims: Pair) -> None:
    plain = claims.plain
    curves = plain.curves
    claims.say("Over # curves and metrics, tuned ones among them, and # cells",
               len(curves), curves["cells"].sum())  # fmt: skip
    for title, column, name in (
        ("Shapiro-Wilk", "rate", "shapiro_wilk_overall"),
        ("D'Agostino-Pearson", "dagostino", "dagostino_overall"),
        ("skewness test", "skewness_test", "skewness_test"),
        ("kurtosis test", "kurtosis_test", "kurtosis_test"),
    ):
        some = curves[column if plain.rate == "rate" else f"every_{column}"]
        claims.say(f"{title} # (#)", some.mean(), PRINTED["text"][name])
    for metrics, dims, what in (
        (("accuracy", "auc"), ["dataset"], "dataset"),
        (("accuracy", "auc"), ["learner"], "learner"),
        (("brier", "cross_entropy"), ["dataset", "learner"], "dataset and learner"),
    ):
        for metric in metrics:
            rates = {k: v for dim in dims for k, v in plain.by(dim, metric).items()}
            apart = [v - printed_rate(k, metric) for k, v in rates.items()]
            claims.say(
                f"By {what}, the rates of {LABELS[metric]} are between # % (~) and # % (~); # of # "
                "are within five points of the printed ones, and the largest difference is # ",
                min(rates.values()), max(rates.values()), sum(abs(d) <= 5 for d in apart),
                len(apart), max(apart, key=abs),
            )  # fmt: skip
    for dim, what in (("dataset", "datasets"), ("learner", "learners")):
        rates = {metric: plain.by(dim, metric) for metric in ("accuracy", "auc")}
        least = min(rates["auc"], key=rates["auc"].get)
        claims.say(
            f"f # {what} # have a lower rate for AUC than for accuracy, and the lowest is # % (~; "
            "accuracy # %)",
            len(rates["auc"]), sum(v < rates["accuracy"][k] for k, v in rates["auc"].items()),
            rates["auc"][least], rates["accuracy"][least],
        )  # fmt: skip
    both = {m: plain.of(m)[["rate", "w", "absolute_tail", "far"]].mean() for m in LABELS}
    claims.say("often than accuracy: # against # % of the cells",
               both["auc"]["rate"], both["accuracy"]["rate"])  # fmt: skip
    claims.say("W # (#), mean |tail| # (#), |tail| above # in # % (# %)", *(
        both[m][name] for name in ("w", "absolute_tail") for m in ("auc", "accuracy")
    ), 0.5, *(both[m]["far"] for m in ("auc", "accuracy")))  # fmt: skip
    tunings = curves.groupby("tuning")[plain.rate].agg(["mean", "size"])
    claims.say("here it is # %: of tuned curves Shapiro-Wilk rejects # % at every n, of default "
               "ones # %", 100 * tunings["size"]["tuned"] / len(curves),
               tunings["mean"]["tuned"], tunings["mean"]["default"])  # fmt: skip
    for metric in ("accuracy", "auc"):
        rates, numbers = plain.by("dataset", metric), []
        for balanced in (False, True):
            some = [id for id in rates if (id in BALANCED) == balanced]
            numbers.append(([rates[id] for id in some],
                            [printed_rate(id, metric) for id in some]))  # fmt: skip
        printed = [PRINTED["table_3"][metric][kind] for kind in ("imbalanced", "balanced")]
        claims.say(
            f"The mean rate of {LABELS[metric]} is # % on imbalanced datasets and # % on balanced "
            "ones, printed # and #, over the same datasets # and #",
            *(np.mean(ours) for ours, _ in numbers), *printed,
            *(np.mean(theirs) for _, theirs in numbers),
        )  # fmt: skip


def of_shapes(claims: Pair) -> None:
    plain = claims.plain
    for metric in ("accuracy", "auc"):
        sign, size, far = (plain.by(dim, metric, column) for dim, column in (
            ("learner", "tail"), ("learner", "absolute_tail"), ("dataset", "far")))  # fmt: skip
        claims.say(
            f"5 % quantile of {LABELS[metric]} is off that of the normal with the same mean and sd "
            "by # sd for ~ and by # sd for ~, the ends",
            max(sign.values()), min(sign.values()),
        )  # fmt: skip
        most, least = max(size, key=size.get), min(size, key=size.get)
        claims.say(f"it is # sd for {most}, the farthest, and # sd for {least}, the nearest",
                   size[most], size[least])  # fmt: skip
        worst, best = max(far, key=far.get), min(far, key=far.get)
        claims.say(
            f"are # % of the cells of {plain.names[worst]} and # % of those of {plain.names[best]}",
            far[worst], far[best], after=f"quantile of {LABELS[metric]}",
        )  # fmt: skip
    rate, left = (plain.by("dataset", "accuracy", name) for name in ("rate", "lattice"))
    drop = {k: rate[k] - left[k] for k in rate}
    most, least = max(drop, key=drop.get), min(drop, key=drop.get)
    claims.say(f"the rate of {plain.names[most]} falls from # to # %", rate[most], left[most])
    claims.say(f"and that of {plain.names[least]} from # to # %", rate[least], left[least])
    steps = plain.by("dataset", "accuracy", "dagostino")
    claims.say(
        f"hardly move, rejects # % on {plain.names[most]}. By dataset it rejects # % or more, and "
        "the test for rounded normals # % or more, where # % would",
        steps[most], min(steps.values()), min(left.values()), 5,
    )  # fmt: skip
    alone = [plain.rounded_tails(id) for id in plain.files]
    worst = max(alone)
    claims.say(
        "it would be # sd on average and more than half an sd in # % of the cells of ~, and on no "
        "other dataset more than # sd and # %",
        *worst, *(max(one[i] for one in alone if one != worst) for i in range(2)),
    )  # fmt: skip
    claims.say("the test can tell anything on # % of the cells",
               min(plain.by("dataset", "accuracy", "tested").values()))  # fmt: skip
    numbers = []
    for metric in ("accuracy", "auc", "cross_entropy", "brier"):
        printed = PRINTED["table_B10"][metric]
        way = 1 if metric in ("accuracy", "auc") else -1
        some = plain.of(metric)
        numbers += [some["last_skewness"].median(), some["last_kurtosis"].median()]
        numbers += [way * printed["skewness"], printed["excess_kurtosis"]]
    parts = [f"# and # for {LABELS[m]} (printed # and #)"
             for m in ("accuracy", "auc", "cross_entropy", "brier")]  # fmt: skip
    claims.say(f"excess kurtosis are {', '.join(parts[:-1])} and {parts[-1]}.", *numbers)


def of_rankings(claims: Pair) -> None:
    plain = claims.plain
    for row, tuning, split in (
        ("default_varying", "default", "varying"), ("tuned_fixed", "tuned", "fixed")
    ):  # fmt: skip
        for metric in ("accuracy", "auc"):
            rate = plain.pairs(metric, tuning, split, plain.rate, LEFT_OUT)
            claims.say(
                f"Of the differences in {LABELS[metric]} of two {tuning} learners on {split} test "
                "sets # % are not normal (printed #)",
                rate, PRINTED["table_6"][row][metric],
            )  # fmt: skip
            if metric == "accuracy":
                claims.say(
                    "at the sizes of the plan # %, and as differences of whole numbers of rows # % "
                    "are not rounded normals",
                    *(plain.pairs(metric, tuning, split, column, LEFT_OUT)
                      for column in ("rate", "lattice")),
                    after=f"accuracy of two {tuning} learners on {split}",
                )  # fmt: skip
    claim_top_three(claims, plain)
    ours = [100 * plain.changes("accuracy", tuning, "q0.95 mean+0sd", "ordered", out)
            for tuning, out in (("tuned", LEFT_OUT), ("default", set()))]  # fmt: skip
    claims.say(
        "change at # % of the sizes of tuned learners (printed #; the datasets of Table 7) and at "
        "# % of those of default ones", ours[0],
        PRINTED["text"]["quantile_95_against_mean"], ours[1],
    )  # fmt: skip
    samplings = ("additive", "random", "bootstrap")
    some = plain.of("accuracy", learner={"DT", "LDC", "LREG", "RFOR"}, split="varying",
                    tuning="default").groupby(["learner", "sampling"])  # fmt: skip
    rates, other = (some[name].mean().unstack() for name in (plain.rate, "every_dagostino"))
    spread = rates.max(axis=1) - rates.min(axis=1)
    most = spread.idxmax()
    claims.say(
        f"by # to # points, the most for {most}: #, # and # % (additive, random and bootstrap)",
        spread.min(), spread.max(), *(rates.loc[most, name] for name in samplings),
    )  # fmt: skip
    claims.say("for # of # learners. By", (rates.idxmin(axis=1) == "bootstrap").sum(), len(rates))
    claims.say(f"the rates of {most} are #, # and # %",
               *(other.loc[most, name] for name in samplings))  # fmt: skip


def of_scores(claims: Pair) -> None:
    plain, scaled = claims.plain, claims.scaled
    where = ("default", "random", "varying")
    both = [id for id in plain.files if id in scaled.files]
    for metric in ("accuracy", "auc"):
        gains, real = [], []
        for id in both:
            a, b = (some.last(id, metric, *where) for some in (plain, scaled))
            gain = b["mean"] - a["mean"]
            error = np.sqrt(a["sd"] ** 2 / a["count"] + b["sd"] ** 2 / b["count"])
            real.append(gain.where((gain.abs() > 4 * error) & (gain.abs() > 0.01), 0.0))
            gains.append(gain)
        gain = pd.concat(real, axis=1)
        claims.say(
            "Of # pairs of a learner and a dataset, standardising all features raises the mean "
            f"{LABELS[metric]} at the largest size by more than a point (and by more than # "
            "standard errors) in #, and lowers it so in #.",
            gain.size, 4, (gain > 0).to_numpy().sum(), (gain < 0).to_numpy().sum(),
        )  # fmt: skip
    if "53" in plain.files:
        scores = [some.last("53", "accuracy", *where)["mean"]["GSVC"] for some in (plain, scaled)]
        claims.say("so that its accuracy is # unscaled and # standardised", *scores)
    for metric in ("accuracy", "auc"):
        frames = [some.of(metric, tuning="default") for some in (plain, scaled)]
        first, second = (frame[frame["dataset"].isin(both)].groupby(["learner", "dataset"])["rate"]
                         .mean() for frame in frames)  # fmt: skip
        moved = second - first
        claims.say(
            f"For {LABELS[metric]} the rate at which Shapiro-Wilk rejects moves by # points on "
            "average over pairs of a learner and a dataset, the most for ~ (#)",
            moved.abs().mean(), moved[moved.abs().idxmax()],
        )  # fmt: skip
    tuned = pd.concat([
        plain.last(id, "accuracy", "tuned", "additive", "varying")["mean"]
        - plain.last(id, "accuracy", "default", "additive", "varying")["mean"]
        for id in plain.files
    ], axis=1)  # fmt: skip
    means = tuned.mean(axis=1)
    claims.say(
        "Of # pairs of a learner and a dataset, tuning gains more than a point in # and loses more "
        "than a point in #. On average over datasets ~ gains most (# points) and ~ least (#);",
        tuned.size, (tuned > 0.01).to_numpy().sum(), (tuned < -0.01).to_numpy().sum(),
        100 * means.max(), 100 * means.min(),
    )  # fmt: skip


def of_holdings(claims: Pair) -> None:
    plain = claims.plain
    sizes = [len(file["n"]) for file in plain.files.values()]
    if len(plain.files) == 9:
        claims.say("All nine datasets of the plan")
    else:
        claims.say("# of the nine datasets of the plan", len(plain.files))
    claims.say("Cells ship at # (~) to # (~) of these sizes", min(sizes), max(sizes))
    claims.say(
        "Of # unscaled curves and metrics # are missing; the paper misses # of #.",
        plain.asked_for(), plain.asked_for() - plain.complete(),
        PRINTED["table_A9"]["missing"], PRINTED["table_A9"]["expected_curves"],
    )  # fmt: skip


def test_numbers_of_its_sentences_are_those_of_the_files(text):
    claims = Pair()
    for some in (of_holdings, of_rates, of_shapes, of_rankings, of_scores):
        some(claims)
    assert len(claims.all) >= 40
    wrong = claims.wrong(text)
    assert not wrong, "\n".join(wrong)
