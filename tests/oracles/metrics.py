"""The four metrics of a cell, one pair and one row at a time, in Python numbers."""

import math
import struct

EPSILON = 2.0**-52
TIED = 1e-9
MINUS_INFINITY = -math.inf


def log_sum(values):
    top = max(values)
    return top + math.log(math.fsum(math.exp(v - top) for v in values))


def single(value):
    """A number in the 24 bits of single precision, without its limits: as C would print it."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(struct.unpack("<f", struct.pack("<f", mantissa))[0], exponent)


def odds(p):
    """Odds in single precision; certainty has more than anything else."""
    return single(p / (1 - p)) if p < 1 else math.inf


def label(scores):
    largest = max(scores)
    return next(c for c, s in enumerate(scores) if s >= largest - TIED * (1 + abs(largest)))


def log_odds(scores, c):
    """s_c against the other present classes; a single present class has nothing to rank by."""
    others = [s for k, s in enumerate(scores) if k != c and s > MINUS_INFINITY]
    if scores[c] == MINUS_INFINITY or not others:
        return 0.0
    return scores[c] - log_sum(others)


def rank(scores, c):
    """Log-odds in single precision, and 0 where they are even but for rounding."""
    exact = log_odds(scores, c)
    return single(exact) if abs(exact) > TIED * (1 + abs(max(scores))) else 0.0


def probabilities(scores):
    powers = [math.exp(s - max(scores)) for s in scores]
    return [power / math.fsum(powers) for power in powers]


def area(chosen, others):
    won = sum((a > b) + 0.5 * (a == b) for a in chosen for b in others)
    return won / (len(chosen) * len(others))


def mean_area(ranks, y, area=area):
    classes = sorted(set(y))
    if len(classes) < 2:
        return math.nan
    each = [
        area(
            [r[c] for r, label in zip(ranks, y, strict=True) if label == c],
            [r[c] for r, label in zip(ranks, y, strict=True) if label != c],
        )
        for c in classes
    ]
    return sum(each) / len(each)


def interval(scores, c, tolerance):
    """Least and largest rank of log-odds that may be wrong by a relative tolerance."""
    exact = log_odds(scores, c)
    even = TIED * (1 + abs(max(scores)))
    off = tolerance * (1 + abs(max(scores)) + abs(exact))
    ends = [exact - off, exact + off]
    ranks = [single(end) if abs(end) > even else 0.0 for end in ends]
    return min(ranks), max(ranks)


def area_bounds(scores, y, tolerance, rows=None):
    """Least and largest mean area when log-odds may be wrong by a relative tolerance.

    Rows that are the same in `rows` (what scores were computed from; else the scores themselves)
    tie whatever the rounding, and so do those that single precision does not tell apart within the
    tolerance.
    """
    same = [tuple(row) for row in (scores if rows is None else rows)]
    ranks = [
        [(interval(row, c, tolerance), key) for c in range(len(row))]
        for row, key in zip(scores, same, strict=True)
    ]

    def bound(sign):
        def won(a, b):
            if a[1] == b[1]:
                return 0.5
            mine, other = (a[0][1], b[0][0]) if sign > 0 else (a[0][0], b[0][1])
            return (mine > other) + 0.5 * (mine == other)

        def area(chosen, others):
            return sum(won(a, b) for a in chosen for b in others) / (len(chosen) * len(others))

        return mean_area(ranks, y, area)

    return bound(-1), bound(1)


def from_probabilities(p, y, ranks=None, labels=None):
    """Accuracy, AUC, Brier score, cross-entropy and rows clipped, from rows of probabilities."""
    labels = [label(row) for row in p] if labels is None else labels
    ranks = [[odds(value) for value in row] for row in p] if ranks is None else ranks
    classes = len(p[0])
    squares = [
        math.fsum((row[c] - (c == right)) ** 2 for c in range(classes))
        for row, right in zip(p, y, strict=True)
    ]
    mine = [row[right] for row, right in zip(p, y, strict=True)]
    kept = [min(max(value, EPSILON), 1 - EPSILON) for value in mine]
    return (
        sum(a == b for a, b in zip(labels, y, strict=True)) / len(y),
        mean_area(ranks, y),
        math.fsum(squares) / len(y) / (2 if classes == 2 else 1),
        math.fsum(-math.log(value) for value in kept) / len(y),
        sum(value < EPSILON for value in mine),
    )


def from_scores(scores, y):
    """Return the same five numbers from rows of log scores, -inf for absent classes."""
    classes = len(scores[0])
    ranks = [[rank(row, c) for c in range(classes)] for row in scores]
    labels = [label(row) for row in scores]
    p = [probabilities(row) for row in scores]
    return from_probabilities(p, y, ranks, labels)
