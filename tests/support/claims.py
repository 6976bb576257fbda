"""Sentences of a page as patterns, and the numbers in them as an oracle has them."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRINTED = json.loads((ROOT / "data" / "published" / "turan2026.json").read_text("utf-8"))
LABELS = {"accuracy": "accuracy", "auc": "AUC", "brier": "Brier score",
          "cross_entropy": "cross-entropy"}  # fmt: skip
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
