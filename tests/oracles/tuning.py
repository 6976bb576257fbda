"""Which rows a tuned cell holds out, and which grid value wins, in plain Python."""

import math

from tests.oracles.sampling import cell, permuted_head, words


def held_out(rows, seed, sha256, sampling, split, n, repetition):
    """Rows to fit on and rows to validate on, each with its copies, in the order of first draw."""
    train, _ = cell(rows, seed, sha256, sampling, split, n, repetition)
    distinct = list(dict.fromkeys(train))
    count = max(2, len(distinct) // 5)
    trained_on = "fixed" if split == "pool" else split
    draws = words(seed, sha256, "validation", (sampling, trained_on), n, repetition, count)
    chosen = {distinct[i] for i in permuted_head(range(len(distinct)), draws)}
    fit = [row for row in distinct if row not in chosen for _ in range(train.count(row))]
    validate = [row for row in distinct if row in chosen for _ in range(train.count(row))]
    return fit, validate


def winner(scores, maximize, default_place):
    """Index of the best score; the nearest to the default's place among equals, then the lower.

    Scores are sums over rows: what differs by the rounding of sums alone is equal.
    """
    if all(math.isnan(score) for score in scores):
        scores = [0.0] * len(scores)
    best = max(scores) if maximize else min(scores)
    slack = 1e-12 * max(1.0, abs(best))
    equals = [i for i, score in enumerate(scores) if abs(score - best) <= slack]
    return min(equals, key=lambda i: (abs(i - default_place), i)), len(equals) > 1
