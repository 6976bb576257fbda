"""Choices by early sizes, a repetition at a time."""

from __future__ import annotations

import math


def halved(scores, sizes, keep):
    """Return (chosen learner, rows) of one repetition: scores[learner][size], large is good."""
    left = list(range(len(scores)))
    rows = 0
    for stage, size in enumerate(sizes):
        rows += size * len(left)
        left.sort(key=lambda i: -scores[i][stage])  # stable: of equals, those better before
        if stage < len(sizes) - 1:
            left = left[: max(1, math.ceil(keep * len(left) - 1e-9))]
    return left[0], rows


def stopped(scores, sizes):
    """Return the same where learners are stopped that cannot catch up."""
    best, chosen, rows = scores[0][-1], 0, sum(sizes)
    for i in range(1, len(scores)):
        for stage, size in enumerate(sizes):
            rows += size
            if stage == len(sizes) - 1:
                if scores[i][stage] > best:
                    best, chosen = scores[i][stage], i
            elif stage:
                rise = scores[i][stage] - scores[i][stage - 1]
                slope = max(rise, 0) / (size - sizes[stage - 1])
                if scores[i][stage] + slope * (sizes[-1] - size) <= best:
                    break
    return chosen, rows
