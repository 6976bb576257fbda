"""Optima of convex problems: Newton steps in extended precision, and optimality conditions."""

import numpy as np

LONG = np.longdouble
# Of the objective: what a Newton step gains where no line search is needed, and in the end.
NEAR, DONE = 1e-12, 1e-24
LAST_STEPS = 6


def solve(matrix, right):
    """Gaussian elimination with pivoting in extended precision."""
    size = len(matrix)
    table = np.column_stack([matrix, right]).astype(LONG)
    for k in range(size):
        pivot = k + int(np.abs(table[k:, k]).argmax())
        table[[k, pivot]] = table[[pivot, k]]
        for i in range(k + 1, size):
            table[i, k:] -= table[i, k] / table[k, k] * table[k, k:]
    solution = np.zeros(size, LONG)
    for k in range(size - 1, -1, -1):
        solution[k] = (table[k, -1] - table[k, k + 1 : -1] @ solution[k + 1 :]) / table[k, k]
    return solution


def logistic(margin):
    power = np.exp(-np.abs(margin))
    wrong = np.where(margin > 0, power, 1) / (1 + power)
    return np.log1p(power) - np.minimum(margin, 0), -wrong, power / (1 + power) ** 2


def squared_hinge(C):
    def loss(margin):
        short = np.maximum(1 - margin, 0)
        return C * short**2, -2 * C * short, np.where(short > 0, 2 * LONG(C), 0)

    return loss


def minimise(X, sign, loss, penalty):
    """Weights and intercept (last) of sum loss(sign * f) + sum penalty * weights ** 2 / 2."""
    X, penalty = np.asarray(X, LONG), np.asarray(penalty, LONG)
    # A free intercept takes up any shift of the features.
    shift = X[0] if penalty[-1] == 0 else np.zeros(X.shape[1], LONG)
    design = np.column_stack([X - shift, np.ones(len(X))]) * np.asarray(sign, LONG)[:, None]
    solution = np.zeros(design.shape[1], LONG)

    def objective(at):
        return loss(design @ at)[0].sum() + (penalty * at * at).sum() / 2

    near = 0
    for _ in range(1000):
        _, slope, curvature = loss(design @ solution)
        gradient = design.T @ slope + penalty * solution
        hessian = (design * curvature[:, None]).T @ design + np.diag(penalty)
        step = -solve(hessian, gradient)
        gain = -gradient @ step
        here, size = objective(solution), LONG(1)
        if gain <= NEAR * here:  # full steps are good, and what they gain is rounding
            near += 1
        else:
            while objective(solution + size * step) > here - size * gain / 10000 and size > 1e-15:
                size /= 2
        solution = solution + size * step
        if gain <= DONE * here or near == LAST_STEPS:
            solution[-1] -= solution[:-1] @ shift
            return solution
    raise AssertionError("no optimum")


def kernel(A, B, gamma):
    A, B = np.asarray(A, LONG), np.asarray(B, LONG)
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def intercepts(gram, sign, beta, bound):
    """The interval in which the conditions of a C-SVC leave its intercept; empty if violated.

    beta is sign * alpha; bound is C times the weight of each row.
    """
    error = sign - gram @ beta
    low_end, high_end = np.where(sign > 0, 0, -bound), np.where(sign > 0, bound, 0)
    rising, falling = beta < high_end, beta > low_end
    return error[rising].max(), error[falling].min()
