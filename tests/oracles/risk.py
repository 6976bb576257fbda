"""CDF, CVaR and bands by their definitions, with exact fractions and plain loops."""

from fractions import Fraction


def cdf(sample, at):
    return Fraction(sum(1 for v in sample if v <= at), len(sample))


def cvar_upper(sample, alpha):
    """Mean of the largest (1 - alpha) R values, the last one with the weight that is left."""
    left = (1 - Fraction(alpha)) * len(sample)
    whole = left
    total = Fraction(0)
    for value in sorted(sample, reverse=True):
        weight = min(Fraction(1), left)
        total += weight * Fraction(value)
        left -= weight
        if left <= 0:
            break
    return total / whole


def inverse_cdf(sample, p):
    for value in sorted(sample):
        if cdf(sample, value) >= p:
            return value
    return max(sample)


def tied_top_k(scores, k):
    """All ordered top k that some way of breaking ties allows."""
    if k == 0 or not scores:
        return {()}
    best = max(scores.values())
    found = set()
    for name, score in scores.items():
        if score == best:
            rest = {other: s for other, s in scores.items() if other != name}
            found |= {(name, *tail) for tail in tied_top_k(rest, k - 1)}
    return found
