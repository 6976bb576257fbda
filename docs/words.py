"""Numbers, lists and tables as pages write them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import pandas as pd

LABELS = {"auc": "AUC", "brier": "Brier score", "cross_entropy": "cross-entropy"}


def metric_name(metric: str) -> str:
    """Return what a metric is called in a sentence."""
    return LABELS.get(metric, metric)


def number(value: float | None, digits: int = 1) -> str:
    """Return a number; nothing where there is none, and no sign for what rounds to 0."""
    if value is None or pd.isna(value):
        return ""
    return f"{round(float(value), digits) + 0.0:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """Return a difference with its sign, and none for what rounds to 0."""
    text = number(value, digits)
    return text if not text or text.startswith("-") or not float(text) else f"+{text}"


def with_sd(mean: float | None, sd: float | None, digits: int = 1) -> str:
    """Return a mean, and behind it in brackets an SD."""
    text = number(mean, digits)
    return f"{text} ({number(sd, digits)})" if text and number(sd, digits) else text


def listed(names: Iterable[str]) -> str:
    """Return names as a sentence has them."""
    some = list(names)
    if not some:
        return "none"
    return some[0] if len(some) == 1 else f"{', '.join(some[:-1])} and {some[-1]}"


def markdown(first: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of text; columns without any entry are left out."""
    lines = [list(row) for row in rows]
    kept = [i for i in range(len(columns)) if any(row[i + 1] for row in lines)]
    head = [first, *(columns[i] for i in kept)]
    text = ["| " + " | ".join(head) + " |", "|---" + "|--:" * len(kept) + "|"]
    text += ["| " + " | ".join([row[0], *(row[i + 1] for i in kept)]) + " |" for row in lines]
    return "\n".join(text)


def framed(frame: pd.DataFrame, first: str) -> str:
    """Return a frame of text as a table."""
    rows = ([str(name), *row] for name, row in zip(frame.index, frame.values.tolist(), strict=True))
    return markdown(first, list(map(str, frame.columns)), rows)


def wrapped(text: str) -> str:
    """Return text with its paragraphs in lines of at most 100 characters; all else as it is."""
    parts = []
    for part in text.strip().split("\n\n"):
        plain = part and part[0] not in "|#`!<-" and "\n|" not in part
        parts.append(textwrap.fill(" ".join(part.split()), 100, break_on_hyphens=False,
                                   break_long_words=False) if plain else part)  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"
