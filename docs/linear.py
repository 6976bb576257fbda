"""What the task `linear` of the paper may have been: `python docs/linear.py 100`.

The paper does not say how its data are made. Each variant is run on the first so many trials of the
experiment, with their own data streams and hyper-parameters, so that variants differ by nothing
else, and what is printed is CVaR 0.5 and the difference to the task as it is, with standard errors.
`--mode tuned` does the same in the tuned half; `--learner` and `--variant` ask for some alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import xarray as xr
from lcdb_builders.experiments.dse import maker
from lcdb_builders.experiments.dse.build import SEED, parts
from lcdb_builders.experiments.dse.learners import LEARNERS
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from lcdb.distribution import cvar, cvar_difference, cvar_error
from lcdb.tables import jordan2018

#: What differs from the task as it is; `noise` is the width of the uniform noise in every entry,
#: `standardised` the rows that features are standardised on.
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "noise on [0, 1.9]": {"noise": 1.9},
    "noise on [0, 1.8]": {"noise": 1.8},
    "no labels flipped": {"flip_y": 0.0},
    "two more features, redundant": {"n_features": 12, "n_redundant": 2},
    "one of ten features redundant": {"n_informative": 9, "n_redundant": 1},
    "standardised on training rows": {"standardised": "training"},
    "not standardised": {"standardised": "none"},
    "clusters not on a hypercube": {"hypercube": False},
}
Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def draw(
    state: np.random.RandomState, noise: float = 2.0, standardised: str = "all", **options: Any
) -> Data:
    """Return training features, test features, training classes and test classes of a trial."""
    made = {"n_features": 10, "n_informative": 10, "n_redundant": 0, **options}
    X, y = make_classification(
        2000, n_classes=4, n_clusters_per_class=2, random_state=state, **made
    )
    X = X + noise * state.uniform(size=X.shape)
    if standardised == "all":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    X, X_test, y, y_test = train_test_split(X, y, train_size=0.6, random_state=state)
    if standardised == "training":
        mean, sd = X.mean(axis=0), X.std(axis=0)
        X, X_test = (X - mean) / sd, (X_test - mean) / sd
    return X, X_test, y, y_test


def accuracies(learner: str, mode: str, trials: Sequence[int], variant: str) -> np.ndarray:
    """Return what the experiment's trials come to on the data of a variant."""
    (part,) = parts(["linear"], [learner], [mode], seed=SEED)

    def other(task: str, state: np.random.RandomState, stored: None) -> Data:
        return draw(state, **VARIANTS[variant])

    with patch.object(maker, "draw", other):
        return maker.trials(part, trials, None)["accuracy"]


def moves(
    learner: str, mode: str, trials: int, names: Sequence[str]
) -> dict[str, tuple[xr.DataArray, xr.Dataset]]:
    """Return by variant its accuracies, and what it moves CVaR 0.5 by."""
    found = {
        name: xr.DataArray(
            accuracies(learner, mode, range(trials), name),
            {"data": ("trial", range(trials))},  # of one stream, whatever the variant makes of it
            "trial",
        )
        for name in names
    }
    as_it_is = found[names[0]]
    return {name: (z, cvar_difference(z, as_it_is, 0.5)) for name, z in found.items()}


def main() -> None:
    """Print a row for each learner and variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", type=int)
    parser.add_argument("--mode", choices=("random", "tuned"), default="random")
    parser.add_argument("--learner", nargs="+", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--variant", nargs="+", choices=list(VARIANTS), default=list(VARIANTS))
    asked = parser.parse_args()
    printed = jordan2018.published()["table_1"]
    place = printed["tasks"].index("linear")
    names = list(dict.fromkeys(["as it is", *asked.variant]))
    for learner in asked.learner:
        for name, (z, moved) in moves(learner, asked.mode, asked.trials, names).items():
            print(
                f"{learner:4s} {name:30s} {float(cvar(z, 0.5)):.4f} ± "
                f"{float(cvar_error(z, 0.5)):.4f}  [{printed[asked.mode][learner][place]:.3f}]"
                f"  moved by {float(moved['difference']):+.4f} ± {float(moved['error']):.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
