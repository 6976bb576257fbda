"""From measured costs to the terms that learners declare, `lcdb_builders.learners.costing.Cost`.

    lcdb bench --tuned --json costs.json
    python -m lcdb_builders.bench.terms costs.json

prints what to put there: least squares on relative errors, no term negative, over every
dataset, sampling and split of the projection. A curve whose sizes share work (additive) and one
whose cells are drawn afresh have terms of their own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from lcdb_builders.domain.sampling import largest_size
from lcdb_builders.learners import registry
from lcdb_builders.learners.costing import Terms
from lcdb_builders.planning.cost import term_values

__all__ = ["fit", "main", "mean_terms"]

ROUNDS = 20


def mean_terms(case: Mapping[str, Any], products: Iterable[str]) -> np.ndarray:
    """Return means over n = 1..m of products for one measured case.

    Examples
    --------
    >>> case = {"rows": 10, "features": 2, "classes": 3, "sampling": "random", "split": "fixed"}
    >>> mean_terms(case, ["", "n", "tk"])
    array([1., 4., 9.])
    """
    n = np.arange(1.0, largest_size(case["rows"]) + 1)
    shape = (case["rows"], case["features"], case["classes"])
    values = term_values(n, *shape, case["sampling"], case["split"])
    return np.array([np.mean(values(product)) for product in products])


def fit(cases: Sequence[Mapping[str, Any]], products: Sequence[str]) -> tuple[Terms, float]:
    """Return terms in microseconds, and the largest factor by which they miss a case.

    Parameters
    ----------
    cases
        Measured, as `lcdb_builders.bench.projection.Measured` in JSON.
    products
        Which terms there may be.
    """
    micros = np.array([case["micros"] for case in cases])
    terms = np.array([mean_terms(case, products) for case in cases])
    predicted = micros
    for _ in range(ROUNDS):
        # Errors relative to both, so that a half counts as much as a double.
        weight = 1 / np.sqrt(micros * predicted)
        columns = terms * weight[:, None]
        # Columns of like size, or the solver takes the small ones for zero.
        scale = columns.max(axis=0)
        coefficients = nnls(columns / scale, micros * weight)[0] / scale
        predicted = np.maximum(terms @ coefficients, 1e-3 * micros)
    ratios = predicted / micros
    chosen = {
        product: float(f"{value:.2g}")
        for product, value in zip(products, coefficients, strict=True)
        if value > 0
    }
    return chosen, float(max(ratios.max(), 1 / ratios.min()))


def main(arguments: Sequence[str]) -> None:
    """Print the tables of a benchmark's JSON file."""
    result = json.loads(Path(arguments[0]).read_text())
    cases = result["projection"]["measured"]
    ratios = result.get("tuned", {}).get("ratios", {})
    for name in dict.fromkeys(case["learner"] for case in cases):
        print(f"{name}:")
        of_learner = [case for case in cases if case["learner"] == name]
        for kind in ("additive", "fresh"):
            of_kind = [
                c for c in of_learner if (c["sampling"] == "additive") == (kind == "additive")
            ]
            terms, worst = fit(of_kind, ("", *registry.get(name).cost.candidates))
            print(f"    {kind}={json.dumps(terms)},  # within a factor of {worst:.1f}")
        if name in ratios:
            print(f"    # a tuned cell costs {ratios[name]:.1f} untuned ones")


if __name__ == "__main__":
    main(sys.argv[1:])
