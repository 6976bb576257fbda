"""The four metrics by counting pairs and summing fractions: no array library's arithmetic."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

EPSILON = Fraction(1, 2**52)


def accuracy(scores, y):
    right = sum(
        max(range(len(row)), key=lambda c: (row[c], -c)) == label
        for row, label in zip(scores, y, strict=True)
    )
    return Fraction(right, len(y))


def one_class_auc(ranks, positive):
    up = [r for r, p in zip(ranks, positive, strict=True) if p]
    down = [r for r, p in zip(ranks, positive, strict=True) if not p]
    halves = sum(2 if a > b else 1 if a == b else 0 for a in up for b in down)
    return Fraction(halves, 2 * len(up) * len(down))


def auc(ranks, y):
    """None for a test set of one class."""
    present = sorted(set(y))
    if len(present) < 2:
        return None
    each = [one_class_auc([row[c] for row in ranks], [label == c for label in y]) for c in present]
    return sum(each) / len(each)


def brier(p, y):
    total = sum(
        (Fraction(value) - (c == label)) ** 2
        for row, label in zip(p, y, strict=True)
        for c, value in enumerate(row)
    )
    return total / len(y) / (2 if len(p[0]) == 2 else 1)


def cross_entropy(p, y):
    """Mean loss and number of rows clipped."""
    loss, clipped = Decimal(0), 0
    with localcontext() as context:
        context.prec = 40
        for row, label in zip(p, y, strict=True):
            value = Fraction(row[label])
            kept = min(max(value, EPSILON), 1 - EPSILON)
            clipped += value < EPSILON
            loss -= (Decimal(kept.numerator) / Decimal(kept.denominator)).ln()
        return float(loss / len(y)), clipped


def _exp(value):
    return Decimal(value).exp() if value > -math.inf else Decimal(0)


def softmax(scores):
    with localcontext() as context:
        context.prec = 40
        rows = []
        for row in scores:
            powers = [_exp(value) for value in row]
            rows.append([float(power / sum(powers)) for power in powers])
        return rows


def class_log_odds(scores):
    """s_c - ln(sum of exp of the others), in 60 digits; infinities as floats."""
    rows = []
    with localcontext() as context:
        context.prec = 60
        for row in scores:
            odds = []
            for c, own in enumerate(row):
                others = [v for i, v in enumerate(row) if i != c and v > -math.inf]
                if own == -math.inf:
                    odds.append(-math.inf)
                elif not others:
                    odds.append(math.inf)
                elif len(others) == 1:
                    odds.append(Decimal(own) - Decimal(others[0]))
                else:
                    odds.append(Decimal(own) - sum(map(_exp, others)).ln())
            rows.append(odds)
    return rows
