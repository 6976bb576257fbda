"""NMC, LDC and QDC in exact rational arithmetic, from the textbook formulas."""

import math
from fractions import Fraction


def _exact(rows):
    return [[Fraction(value) for value in row] for row in rows]


def _mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def _scatter(rows, mean):
    d = len(mean)
    centred = [[x - m for x, m in zip(row, mean, strict=True)] for row in rows]
    return [[sum(row[i] * row[j] for row in centred) for j in range(d)] for i in range(d)]


def _solve(matrix, right):
    """Solution of a linear system and determinant, by elimination."""
    d = len(matrix)
    table = [[*matrix[i], right[i]] for i in range(d)]
    determinant = Fraction(1)
    for k in range(d):
        pivot = next(i for i in range(k, d) if table[i][k] != 0)
        if pivot != k:
            table[k], table[pivot] = table[pivot], table[k]
            determinant = -determinant
        determinant *= table[k][k]
        table[k] = [value / table[k][k] for value in table[k]]
        for i in range(d):
            if i != k and table[i][k] != 0:
                factor = table[i][k]
                table[i] = [a - factor * b for a, b in zip(table[i], table[k], strict=True)]
    return [row[d] for row in table], determinant


def _log(value):
    """Natural logarithm of a positive fraction of any size."""
    return _log_integer(value.numerator) - _log_integer(value.denominator)


def _log_integer(value):
    shift = max(value.bit_length() - 60, 0)
    return math.log(value >> shift) + shift * math.log(2)


class Classes:
    def __init__(self, X, y):
        self.codes = sorted(set(y))
        exact = _exact(X)
        self.rows = [
            [row for row, label in zip(exact, y, strict=True) if label == c] for c in self.codes
        ]
        self.n, self.d = len(y), len(X[0])
        self.means = [_mean(rows) for rows in self.rows]
        self.scatters = [_scatter(r, m) for r, m in zip(self.rows, self.means, strict=True)]
        within = [sum(scatter[j][j] for scatter in self.scatters) for j in range(self.d)]
        self.variance = sum(within) / self.n / self.d or Fraction(1)
        overall = _scatter(exact, _mean(exact))
        self.variances = [(within[j] or overall[j][j]) / self.n for j in range(self.d)]

    @classmethod
    def of_varying_features(cls, X, y, test):
        """Classes, and test rows, of the features that are not constant over the training set."""
        kept = [j for j, column in enumerate(zip(*X, strict=True)) if len(set(column)) > 1]
        return cls([[row[j] for j in kept] for row in X], y), [
            [row[j] for j in kept] for row in test
        ]

    def ridged(self, scatter, count, ridge):
        return [
            [
                scatter[i][j] / count + (Fraction(ridge) * self.variances[j] if i == j else 0)
                for j in range(self.d)
            ]
            for i in range(self.d)
        ]

    def scores(self, test, covariance_of):
        """Log density (without the constant) plus log prior, as floats; variances are the units."""
        result, units = [], sum(_log(variance) for variance in self.variances)
        for row in _exact(test):
            each = []
            for c, rows in enumerate(self.rows):
                offset = [x - m for x, m in zip(row, self.means[c], strict=True)]
                solved, determinant = _solve(covariance_of(c), offset)
                squared = sum(a * b for a, b in zip(offset, solved, strict=True))
                prior = math.log(len(rows)) - math.log(self.n)
                each.append(prior - (_log(determinant) - units) / 2 - float(squared) / 2)
            result.append(each)
        return result


def nmc(X, y, test):
    classes = Classes(X, y)
    return [
        [
            -float(sum((x - m) ** 2 for x, m in zip(row, mean, strict=True)) / classes.variance) / 2
            for mean in classes.means
        ]
        for row in _exact(test)
    ]


def _pooled(classes, ridge):
    scatter = [
        [sum(s[i][j] for s in classes.scatters) for j in range(classes.d)] for i in range(classes.d)
    ]
    return classes.ridged(scatter, classes.n, ridge)


def ldc(X, y, test, ridge):
    classes, test = Classes.of_varying_features(X, y, test)
    covariance = _pooled(classes, ridge)
    return classes.scores(test, lambda c: covariance)


def qdc(X, y, test, ridge):
    classes, test = Classes.of_varying_features(X, y, test)
    diagonal = [
        [classes.variances[j] if i == j else Fraction(0) for j in range(classes.d)]
        for i in range(classes.d)
    ]

    def covariance(c):
        rows = classes.rows[c]
        if len({tuple(row) for row in rows}) < 2:
            return diagonal
        return classes.ridged(classes.scatters[c], len(rows), ridge)

    return classes.scores(test, covariance)


def exact_differences(X, y, test, ridge=None):
    """Score of class 1 less that of class 0 but for a constant, of NMC or, with a ridge, of LDC.

    Fractions: rows that the model cannot tell apart are exactly equal, and with equal priors rows
    between two equally likely classes are exactly 0.
    """
    if ridge is None:
        classes = Classes(X, y)
        covariance = [
            [classes.variance if i == j else Fraction(0) for j in range(classes.d)]
            for i in range(classes.d)
        ]
    else:
        classes, test = Classes.of_varying_features(X, y, test)
        covariance = _pooled(classes, ridge)
    zeros, ones = classes.means
    apart = [b - a for a, b in zip(zeros, ones, strict=True)]
    middle = [(a + b) / 2 for a, b in zip(zeros, ones, strict=True)]
    direction, _ = _solve(covariance, apart)
    return [
        sum(w * (x - m) for w, x, m in zip(direction, row, middle, strict=True))
        for row in _exact(test)
    ]
