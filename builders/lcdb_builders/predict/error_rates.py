"""How often tests on few repetitions tell two learners apart that are equal.

And how well mean ± 2 sd covers the next training set; both on many datasets of a known population.

A study draws one dataset, splits it again and again into training and test rows, and tests the
paired differences of two learners. Repetitions of one dataset share its rows, which the tests take
no account of, or (Nadeau and Bengio's) a guess. Here many datasets are drawn from a population, so
that what the tests claim can be counted: of each pair of learners the difference of their means
over all datasets is taken off, which makes them equal, and the two names are swapped for a random
half of the datasets, which makes them alike and keeps the correlation between repetitions.

``python -m lcdb_builders.predict.error_rates FILE`` writes what ships as ``data/implied.json``.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lcdb import stats
from lcdb._version import __version__
from lcdb.atomic import replace_file
from lcdb_builders.predict.curve import learning_curve

__all__ = ["LEARNERS", "POPULATIONS", "coverage", "error_rates", "rejections", "scores", "study"]

#: Rows of a dataset, and how many of them are trained on; the others are tested on.
ROWS, TRAINED = 200, 100
LEARNERS = ("NMC", "LDC", "QDC", "NNC", "LREG")
COUNTS = (5, 10, 25)
ALPHA = 0.05
Rows = tuple[np.ndarray, np.ndarray]


def _balance(rng: np.random.Generator) -> Rows:
    """Return some of the 625 rows of balance-scale, which are all that there are."""
    every = np.array(list(itertools.product(range(1, 6), repeat=4)), float)
    X = every[rng.choice(len(every), ROWS, replace=False)]
    return X, np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)


def _normal(rng: np.random.Generator) -> Rows:
    """Return draws of two normal distributions in five dimensions, two sd apart."""
    y = rng.integers(0, 2, ROWS)
    X = rng.normal(size=(ROWS, 5))
    X[:, 0] += 2.0 * y
    return X, y


#: Ways of drawing a dataset, by name.
POPULATIONS: dict[str, Callable[[np.random.Generator], Rows]] = {
    "balance-scale": _balance,
    "two normals": _normal,
}


def scores(population: str, learner: str, datasets: int, repetitions: int, seed: int) -> np.ndarray:
    """Return accuracies (dataset, repetition); every learner has the same rows.

    Parameters
    ----------
    population
        One of `POPULATIONS`.
    learner
        Its name.
    datasets
        How many are drawn from the population.
    repetitions
        How many training sets of each dataset.
    seed
        Of everything random.

    Examples
    --------
    >>> scores("two normals", "NMC", datasets=2, repetitions=3, seed=0).shape
    (2, 3)
    """
    accuracies = np.empty((datasets, repetitions))
    for i in range(datasets):
        X, y = POPULATIONS[population](np.random.default_rng([seed, i]))
        curve = learning_curve(
            learner, X, y, sizes=[TRAINED], repetitions=repetitions, metrics=["accuracy"],
            seed=seed + i, workers=1, progress=False,
        )  # fmt: skip
        accuracies[i] = curve["accuracy"].values[0]
    return accuracies


def rejections(differences: np.ndarray, count: int) -> dict[str, float]:
    """Return the share of datasets in which each test rejects, from so many repetitions.

    Parameters
    ----------
    differences
        Of two learners, by dataset and repetition; their true mean is 0.
    count
        How many of the repetitions a study has.

    Examples
    --------
    >>> d = np.random.default_rng(0).normal(size=(2000, 10))
    >>> bool(0.03 < rejections(d, 10)["t"] < 0.07)
    True
    """
    d = differences[:, :count]
    mean = stats.paired_mean(d)
    ratio = np.array((ROWS - TRAINED) / TRAINED)
    p = {
        "t": mean.p,
        "wilcoxon": stats.wilcoxon(d, np.zeros((len(d), 1))),
        "nadeau_bengio": stats.corrected_p(mean.mean, mean.sd, mean.pairs, ratio),
    }
    return {name: float((value <= ALPHA).mean()) for name, value in p.items()}


def error_rates(a: np.ndarray, b: np.ndarray, seed: int) -> dict[int, dict[str, float]]:
    """Return the rates of rejection of two learners that are equal, by number of repetitions."""
    d = a - b
    swap = np.random.default_rng(seed).choice([-1.0, 1.0], size=(len(d), 1))
    return {count: rejections(swap * (d - d.mean()), count) for count in COUNTS}


def coverage(accuracies: np.ndarray, count: int) -> float:
    """Return how often mean ± 2 sd of one dataset's repetitions holds another dataset's first.

    Examples
    --------
    >>> draws = np.random.default_rng(0).normal(size=(4000, 25))
    >>> bool(abs(coverage(draws, 25) - 0.94) < 0.015)  # of independent repetitions
    True
    """
    some = accuracies[:, :count]
    mean, sd = some.mean(axis=1), some.std(axis=1, ddof=1)
    new = np.roll(accuracies[:, 0], 1)
    return float((np.abs(new - mean) <= 2.0 * sd).mean())


def study(
    datasets: int, seed: int = 1, populations: Sequence[str] = tuple(POPULATIONS)
) -> dict[str, Any]:
    """Return the whole study as a record.

    Parameters
    ----------
    datasets
        How many are drawn from each population.
    seed
        Of everything random.
    populations
        Some of `POPULATIONS`.
    """
    record: dict[str, Any] = {
        "made_by": f"python -m lcdb_builders.predict.error_rates, lcdb {__version__}",
        "datasets": datasets, "rows": ROWS, "trained": TRAINED, "seed": seed, "alpha": ALPHA,
        "learners": list(LEARNERS), "rates": [], "coverage": [],
    }  # fmt: skip
    most = max(COUNTS)
    for name in populations:
        by_learner = {x: scores(name, x, datasets, most, seed) for x in LEARNERS}
        for a, b in itertools.combinations(LEARNERS, 2):
            rates = error_rates(by_learner[a], by_learner[b], seed)
            for count, by_test in rates.items():
                row = {"population": name, "pair": [a, b], "repetitions": count}
                record["rates"].append({**row, **{k: round(v, 4) for k, v in by_test.items()}})
        for learner, accuracies in by_learner.items():
            for count in COUNTS:
                row = {"population": name, "learner": learner, "repetitions": count}
                record["coverage"].append({**row, "share": round(coverage(accuracies, count), 4)})
    return record


def main(path: Path, datasets: int = 400) -> None:
    """Write the study into a file."""
    replace_file(path, (json.dumps(study(datasets), indent=1) + "\n").encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]))
