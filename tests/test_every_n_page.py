"""The page on the plan turan2026 says what its summaries say; so do both databases that ship."""

import re
from pathlib import Path

import numpy as np
import pytest

import lcdb
from findings.every_n import page
from tests.oracles.findings import DIMS, Summaries
from tests.support.claims import (
    LABELS,
    LEFT_OUT,
    PRINTED,
    Claims,
    claim_auc,
    claim_estimates,
    claim_farthest_learner,
    claim_groups,
    claim_samplings,
    claim_shapes,
    claim_top_three,
    printed_rate,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "every_n.md"


@pytest.fixture(scope="module")
def text():
    return PAGE.read_text("utf-8")


@pytest.fixture(scope="module")
def every():
    return Summaries(ROOT / "data" / "turan2026" / "summaries")


@pytest.mark.full
def test_the_page_is_what_the_command_writes(text):
    with lcdb.shipped.turan2026() as db, lcdb.reference() as reference:
        assert page(db, reference) == text


def test_every_n_of_every_curve_is_there(every):
    """As the paper's: ten learners, three samplings, both splits, default and tuned."""
    assert set(every.files) <= set(PRINTED["table_A8"])
    for id, file in every.files.items():
        assert [len(file[dim]) for dim in ("learner", "sampling", "split", "tuning")] == [
            10, 3, 2, 2
        ]  # fmt: skip
        assert (file["status"][...] == 1).all()
        for tuning, first in (("default", 1), ("tuned", 10)):
            curves = every.of("accuracy", tuning=tuning)
            curves = curves[curves["dataset"] == id]
            counts = curves["cells"] + curves["missing"]
            assert len(curves) == 60 and set(counts) == {file["n"][-1] - first + 1}, (id, tuning)


def test_both_databases_have_the_same_cells(every):
    """They are of one seed: where both have a size, its scores are the same to the last bit."""
    reference = Summaries(ROOT / "data" / "reference" / "summaries")
    for id, file in every.files.items():
        other = reference.files[id]
        sizes = np.intersect1d(file["n"][...], other["n"][...])
        assert len(sizes) >= 6
        values = [
            some["mean"][..., np.isin(some["n"][...], sizes)] for some in (file, other)
        ]  # metric, learner, sampling, split, tuning, n
        there = np.isfinite(values[1])
        assert there.mean() > 0.5 and np.array_equal(values[0][there], values[1][there]), id


def test_tables_of_the_paper_are_there(text):
    """All but Table A.8, which the page on the reference database has."""
    titles = " ".join(line for line in text.splitlines() if line.startswith("### Table"))
    found = re.findall(r"\b(?:[A-D]\.)?\d+\b", titles.replace("n from 10", ""))
    assert set(found) == {"1", "2", "3", "4", "5", "6", "7", "A.9", "B.10", "C.11", "D.12", "D.13"}
    assert ("all datasets" in text.partition("### Table 7.")[2]) == any(
        id in text for id in ("(1063)", "(44037)", "(46597)")
    )


def of_rates(claims: Claims, every: Summaries) -> None:
    curves = every.curves
    of = {name: curves[curves["tuning"] == name]["rate"].mean() for name in ("default", "tuned")}
    assert (curves["tuning"] == "tuned").sum() * 2 == len(curves)
    claims.say(
        "Over # curves and metrics, half of them tuned, and # cells Shapiro-Wilk rejects # % "
        "(printed #, of ten datasets): # % of default curves and # % of tuned ones",
        len(curves), curves["cells"].sum(), curves["rate"].mean(),
        PRINTED["text"]["shapiro_wilk_overall"], of["default"], of["tuned"],
    )  # fmt: skip
    for dim in ("dataset", "learner"):
        for metric in ("accuracy", "auc"):
            rates = every.by(dim, metric, "rate")
            apart = [v - printed_rate(k, metric) for k, v in rates.items()]
            claims.say(
                f"By {dim}, the rates of {LABELS[metric]} are between # % (~) and # % (~); # of # "
                "are within five points of the printed ones, and the largest difference is # ",
                min(rates.values()), max(rates.values()), sum(abs(d) <= 5 for d in apart),
                len(apart), max(apart, key=abs),
            )  # fmt: skip
    some = every.of("accuracy", learner={"DT", "LDC", "LREG", "RFOR"}, split="fixed")
    rates = some.groupby(["learner", "tuning"])["from_10_rate"].mean()
    printed = PRINTED["table_5"]
    for learner in ("DT", "LDC", "LREG", "RFOR"):
        claims.say(
            f"{learner} # and # % (printed # and #)", rates[learner, "default"],
            rates[learner, "tuned"], printed["default"][learner][0], printed["tuned"][learner][0],
            after="From n = 10 on",
        )  # fmt: skip


def of_estimates(claims: Claims, every: Summaries) -> None:
    reference = Summaries(ROOT / "data" / "reference" / "summaries")
    names = ["dataset", *DIMS]
    ours, theirs = (some.curves.set_index(names)["every_rate"] for some in (every, reference))
    assert np.allclose(ours, every.curves.set_index(names)["rate"])
    off = (theirs - ours).dropna()
    far = off.abs().idxmax()
    claims.say(
        "Over # curves and metrics that are here as well, its estimates for Shapiro-Wilk are off "
        "by # points on average, with their sign by #, and most for ~ (~): # instead of # %.",
        len(off), off.abs().mean(), off.mean(), theirs[far], ours[far],
    )  # fmt: skip
    claim_estimates(claims, every, reference)


def of_rankings(claims: Claims, every: Summaries) -> None:
    for row, tuning, split in (
        ("default_varying", "default", "varying"), ("tuned_fixed", "tuned", "fixed")
    ):  # fmt: skip
        for metric in ("accuracy", "auc"):
            claims.say(
                f"Of the differences in {LABELS[metric]} of two {tuning} learners on {split} test "
                "sets # % are not normal (printed #)",
                every.pairs(metric, tuning, split, "rate", LEFT_OUT),
                PRINTED["table_6"][row][metric],
            )  # fmt: skip
    claim_top_three(claims, every)
    claim_samplings(claims, every, ["default", "tuned"])


def of_groups(claims: Claims, every: Summaries) -> None:
    claim_auc(claims, every, "")
    claim_farthest_learner(claims, every, "auc")
    claim_groups(claims, every)
    claim_shapes(claims, every)
    claims.say(
        "Of # unscaled curves and metrics # are missing; the paper misses # of #.",
        every.asked_for(), every.asked_for() - every.complete(),
        PRINTED["table_A9"]["missing"], PRINTED["table_A9"]["expected_curves"],
    )  # fmt: skip


@pytest.mark.slow
def test_numbers_of_its_sentences_are_those_of_the_files(text, every):
    claims = Claims()
    for some in (of_rates, of_estimates, of_groups, of_rankings):
        some(claims, every)
    assert len(claims.all) >= 45
    wrong = claims.wrong(text)
    assert not wrong, "\n".join(wrong)
