"""Paired comparisons and the shape of curves by their definitions, in plain loops."""

import math

from scipy import integrate
from scipy.special import gammaln
from scipy.stats import norm, studentized_range
from scipy.stats import t as student


def mean_and_variance(values):
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)


def corrected_p(values, training, test):
    """Nadeau and Bengio (2003), with J repetitions and n2/n1."""
    mean, variance = mean_and_variance(values)
    t = mean / math.sqrt((1 / len(values) + test / training) * variance)
    return 2 * student.sf(abs(t), len(values) - 1)


def better(a, b):
    return sum(1.0 if x > y else 0.5 if x == y else 0.0 for x, y in zip(a, b)) / len(a)  # noqa: B905


def wilson(share, size, z):
    """The p for which |share - p| = z sqrt(p (1 - p) / size), by bisection."""

    def end(good, bad):
        for _ in range(200):
            p = 0.5 * (good + bad)
            if abs(share - p) <= z * math.sqrt(p * (1 - p) / size):
                good = p
            else:
                bad = p
        return good

    return end(share, 0.0), end(share, 1.0)


def harrell_davis(values, q):
    """Weights by numerical integration of the beta density."""
    size = len(values)
    a, b = (size + 1) * q, (size + 1) * (1 - q)
    log_beta = gammaln(a) + gammaln(b) - gammaln(a + b)

    def density(u):
        return math.exp((a - 1) * math.log(u) + (b - 1) * math.log1p(-u) - log_beta)

    total = 0.0
    for i, value in enumerate(sorted(values)):
        weight, _ = integrate.quad(density, i / size, (i + 1) / size, epsabs=1e-15, epsrel=1e-13)
        total += weight * value
    return total


def t_of(values):
    """One-sided t of a mean; None where it has the wrong sign or no spread beyond rounding."""
    mean, variance = mean_and_variance(values)
    spread = max(values) - min(values)
    return None if mean < 1e-12 or spread < 1e-12 else mean / math.sqrt(variance / len(values))


def p_of(values, tests):
    t = t_of(values)
    return 1.0 if t is None else min(1.0, tests * float(student.sf(t, len(values) - 1)))


def _mean(values):
    return math.fsum(values) / len(values)


def rises(curve):
    """(p after Bonferroni, i, j, size) of every pair, (size, repetition) of losses."""
    size = len(curve)
    tests = size * (size - 1) // 2
    result = []
    for i in range(size):
        for j in range(i + 1, size):
            d = [y - x for x, y in zip(curve[i], curve[j])]  # noqa: B905
            result.append((p_of(d, tests), i, j, _mean(d)))
    return result


def dips(curve):
    last = len(curve) - 1
    result = []
    for i in range(last):
        d = [y - x for x, y in zip(curve[i], curve[last])]  # noqa: B905
        result.append((p_of(d, last), i, last, _mean(d)))
    return result


def bumps(curve, n):
    """(p, h, i, j, height, p of the rise, p of the fall) of every triple."""
    size = len(curve)
    tests = size * (size - 1) * (size - 2) // 6
    result = []
    for h in range(size):
        for i in range(h + 1, size):
            for j in range(i + 1, size):
                right = (n[i] - n[h]) / (n[j] - n[h])
                triples = list(zip(curve[h], curve[i], curve[j]))  # noqa: B905
                above = [y - (1 - right) * x - right * z for x, y, z in triples]
                rise = p_of([y - x for x, y, _ in triples], tests)
                fall = p_of([y - z for _, y, z in triples], tests)
                result.append((p_of(above, tests), h, i, j, _mean(above), rise, fall))
    return result


def every_rise(curve):
    size = len(curve)
    return [
        [y - x for x, y in zip(curve[i], curve[j])]  # noqa: B905
        for i in range(size)
        for j in range(i + 1, size)
    ]


def every_dip(curve):
    return [[y - x for x, y in zip(row, curve[-1])] for row in curve[:-1]]  # noqa: B905


def every_bump(curve, n):
    size, result = len(curve), []
    for h in range(size):
        for i in range(h + 1, size):
            for j in range(i + 1, size):
                right = (n[i] - n[h]) / (n[j] - n[h])
                rows = zip(curve[h], curve[i], curve[j])  # noqa: B905
                result.append([y - (1 - right) * x - right * z for x, y, z in rows])
    return result


def max_t_p(contrasts, values, counts):
    """The p-value of the mean of `values` against the largest of all contrasts in each resample.

    At most Bonferroni's.
    """
    repetitions = len(values)
    t = t_of(values)
    if t is None:
        return 1.0
    tail = float(student.sf(t, repetitions - 1))
    exceeding = 0
    for drawn in counts:
        largest = 0.0
        for row in contrasts:
            if max(row) - min(row) < 1e-12:
                continue
            mean, variance = mean_and_variance(row)
            error = math.sqrt(variance * (repetitions - 1) / repetitions / repetitions)
            moved = math.fsum(c * (v - mean) for c, v in zip(drawn, row)) / repetitions  # noqa: B905
            largest = max(largest, moved / error)
        exceeding += largest >= norm.isf(tail)
    return min(1.0, len(contrasts) * tail, (1 + exceeding) / (1 + len(counts)))


def band(differences, counts, confidence):
    """Max-t over resamples given by their counts: (centre, half width) at each size."""
    repetitions = len(differences[0])
    centre, error, error_1 = [], [], []
    for row in differences:
        mean, variance = mean_and_variance(row)
        centre.append(mean)
        error.append(math.sqrt(variance * (repetitions - 1) / repetitions / repetitions))
        error_1.append(math.sqrt(variance / repetitions))
    largest = []
    for drawn in counts:
        deviations = []
        for row, mean, se in zip(differences, centre, error):  # noqa: B905
            resampled = math.fsum(c * v for c, v in zip(drawn, row)) / repetitions  # noqa: B905
            deviations.append(abs(resampled - mean) / se)
        largest.append(max(deviations))
    ordered = sorted(largest)
    place = confidence * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    z = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    critical = student.isf(norm.sf(z), repetitions - 1)
    return centre, [critical * se for se in error_1]


def interquartile_mean(values):
    ordered = sorted(values)
    cut = len(ordered) // 4
    middle = ordered[cut : len(ordered) - cut]
    return math.fsum(middle) / len(middle)


def improvement(x, y):
    """The mean over datasets of P(one score of x > one of y) + P(=)/2."""
    shares = []
    for a, b in zip(x, y):  # noqa: B905
        wins = sum(1.0 if v > w else 0.5 if v == w else 0.0 for v in a for w in b)
        shares.append(wins / (len(a) * len(b)))
    return math.fsum(shares) / len(shares)


def nemenyi_p(ranks, i, j):
    """Demsar (2006): z = (R_i - R_j) / sqrt(k (k + 1) / 6 N), against the studentized range."""
    count, learners = len(ranks), len(ranks[0])
    gap = abs(math.fsum(row[i] - row[j] for row in ranks)) / count
    z = gap / math.sqrt(learners * (learners + 1) / (6 * count))
    return studentized_range.sf(z * math.sqrt(2), learners, math.inf)
