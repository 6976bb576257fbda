"""Optima of linear models at the edge of doubles: exact fractions, and decimals of many digits."""

from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction

import numpy as np

DIGITS = 60


def solve(matrix, right):
    """Gaussian elimination with pivoting; entries may be of any exact kind."""
    size = len(right)
    table = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(size):
        best = max(range(k, size), key=lambda i: abs(table[i][k]))
        table[k], table[best] = table[best], table[k]
        for i in range(k + 1, size):
            factor = table[i][k] / table[k][k]
            if factor:
                table[i] = [a - factor * b for a, b in zip(table[i], table[k], strict=True)]
    found = [None] * size
    for k in range(size - 1, -1, -1):
        rest = sum((table[k][j] * found[j] for j in range(k + 1, size)), start=right[0] * 0)
        found[k] = (table[k][size] - rest) / table[k][k]
    return found


def exact(value):
    return Fraction(float(value))


def squared_hinge(X, sign, C, test):
    """Decision values of the minimum of |(w, b)|² / 2 + C sum of squared hinges, as fractions.

    Principal pivoting: from one set of rows within the margin to the next, all rows on the wrong
    side of it at once while their number falls, else the last of them alone, which ends.
    """
    rows = [[*map(exact, row), Fraction(1)] for row in X]
    signs = [Fraction(int(s)) for s in sign]
    price, size = 2 * Fraction(C), len(rows[0])
    outer = [[[a * b for b in row] for a in row] for row in rows]
    active, fewest, patience = [True] * len(rows), len(rows) + 1, 3
    for _ in range(5000):
        of = [r for r in range(len(rows)) if active[r]]
        gram = [
            [price * sum((outer[r][i][j] for r in of), Fraction(0)) + (i == j) for j in range(size)]
            for i in range(size)
        ]
        right = [price * sum((signs[r] * rows[r][i] for r in of), Fraction(0)) for i in range(size)]
        goal = solve(gram, right)
        there = [sum(a * b for a, b in zip(row, goal, strict=True)) for row in rows]
        wrong = [r for r in range(len(rows)) if active[r] != (signs[r] * there[r] < 1)]
        if not wrong:
            return [
                float(sum(a * b for a, b in zip([*map(exact, row), 1], goal, strict=True)))
                for row in test
            ]
        if len(wrong) < fewest:
            fewest, patience = len(wrong), 3
        elif patience:
            patience -= 1
        else:
            wrong = wrong[-1:]
        for r in wrong:
            active[r] = not active[r]
    raise AssertionError("no optimum")


def logistic(X, sign, ridge, test):
    """Decision values of the minimum of the log loss + ridge |w|² / 2, in decimals."""
    try:
        return _logistic(X, sign, ridge, test, DIGITS)
    except (InvalidOperation, AssertionError):  # too few are left of the penalty
        largest = int(np.frexp(np.abs(X).max())[1])
        return _logistic(X, sign, ridge, test, DIGITS + abs(largest))


def _logistic(X, sign, ridge, test, digits):
    with localcontext() as context:
        context.prec = digits
        context.Emax, context.Emin = 10**8, -(10**8)
        shift = [Decimal(float(v)) for v in X[0]]
        rows = [
            [Decimal(float(v)) - s for v, s in zip(row, shift, strict=True)] + [Decimal(1)]
            for row in X
        ]
        signs = [Decimal(int(s)) for s in sign]
        size = len(rows[0])
        scale = [max(abs(row[j]) for row in rows) or Decimal(1) for j in range(size)]
        rows = [[v / s for v, s in zip(row, scale, strict=True)] for row in rows]
        weight = [Decimal(float(ridge)) / (s * s) for s in scale[:-1]] + [Decimal(0)]
        at = [Decimal(0)] * size

        def look(at):
            loss = sum((p * a * a for p, a in zip(weight, at, strict=True)), Decimal(0)) / 2
            gradient = [p * a for p, a in zip(weight, at, strict=True)]
            hessian = [[weight[i] * (i == j) for j in range(size)] for i in range(size)]
            for row, s in zip(rows, signs, strict=True):
                z = s * sum(a * v for a, v in zip(at, row, strict=True))
                power = (-abs(z)).exp()
                loss += (1 + power).ln() - min(z, Decimal(0))
                wrong = (power if z > 0 else Decimal(1)) / (1 + power)
                bend = power / (1 + power) ** 2
                for i in range(size):
                    gradient[i] -= s * wrong * row[i]
                    for j in range(size):
                        hessian[i][j] += bend * row[i] * row[j]
            return loss, gradient, hessian

        loss, gradient, hessian = look(at)
        for _ in range(3000):
            step = solve(hessian, gradient)
            gain = sum(g * s for g, s in zip(gradient, step, strict=True))
            if gain <= loss * Decimal(10) ** -40:
                break
            length = Decimal(1)
            while True:
                new = [a - length * s for a, s in zip(at, step, strict=True)]
                there = look(new)
                if there[0] <= loss - length * gain / 10000:
                    break
                length /= 2
                if length < Decimal(10) ** -20:
                    raise AssertionError("no digits left")
            at, (loss, gradient, hessian) = new, there
        else:
            raise AssertionError("no optimum")
        return [
            float(
                sum(
                    (Decimal(float(v)) - o) / s * a
                    for v, o, s, a in zip(row, shift, scale, at, strict=False)
                )
                + at[-1]
            )
            for row in test
        ]
