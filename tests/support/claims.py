"""Sentences of a page as patterns, and the numbers in them as an oracle has them."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.oracles.findings import Summaries

ROOT = Path(__file__).parents[2]
PRINTED = json.loads((ROOT / "data" / "published" / "turan2026.json").read_text("utf-8"))
LABELS = {"accuracy": "accuracy", "auc": "AUC", "brier": "Brier score",
          "cross_entropy": "cross-entropy"}  # fmt: skip
#: What the paper's Tables 6 and 7 leave out.
LEFT_OUT = {"1063", "44037", "46597"}
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
