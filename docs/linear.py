"""What the task `linear` of the paper may have been: `python docs/linear.py 150`.

The paper does not say how its data are made. Each variant is run on the first so many trials of the
experiment, with their own data streams and hyper-parameters, so that variants differ by nothing
else, and what is printed is CVaR 0.5 and the difference to the task as it is, with standard errors.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import xarray as xr
from lcdb_builders.domain.streams import stream, stream_key
from lcdb_builders.experiments.dse.build import SEED
from lcdb_builders.experiments.dse.learners import LEARNERS
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from lcdb.distribution import cvar, cvar_difference, cvar_error
from lcdb.tables import jordan2018

#: What differs from the task as it is; `noise` is the width of the uniform noise in every entry.
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "noise on [0, 1.9]": {"noise": 1.9},
    "noise on [0, 1.8]": {"noise": 1.8},
    "no labels flipped": {"flip_y": 0.0},
    "two more features, redundant": {"n_features": 12, "n_redundant": 2},
    "one of ten features redundant": {"n_informative": 9, "n_redundant": 1},
}


def trial_data(trial: int, noise: float = 2.0, **options: Any) -> tuple[np.ndarray, ...]:
    """Return training features, test features, training classes and test classes of a trial."""
    state = np.random.RandomState(stream(stream_key(SEED, "", "dse data", "linear"), 0, trial))
    made = {"n_features": 10, "n_informative": 10, "n_redundant": 0, **options}
    X, y = make_classification(
        2000, n_classes=4, n_clusters_per_class=2, random_state=state, **made
    )
    X = X + noise * state.uniform(size=X.shape)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return tuple(train_test_split(X, y, train_size=0.6, random_state=state))


def accuracy(learner: str, trial: int, data: tuple[np.ndarray, ...]) -> float:
    """Return what the experiment's trial comes to on some data."""
    labels = (learner, "linear", "random")
    keys = {name: stream_key(SEED, "", f"dse {name}", *labels)
            for name in ("hyper-parameters", "training")}  # fmt: skip
    rng = np.random.Generator(stream(keys["hyper-parameters"], 0, trial))
    chosen = LEARNERS[learner].draw(rng)
    state = np.random.RandomState(stream(keys["training"], 0, trial, 0))
    X, X_test, y, y_test = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(LEARNERS[learner].make(chosen, state).fit(X, y).score(X_test, y_test))


def main(trials: int, learners: list[str]) -> None:
    """Print a row for each variant and learner."""
    printed = jordan2018.published()["table_1"]
    place = printed["tasks"].index("linear")
    base: dict[str, xr.DataArray] = {}
    for name, options in VARIANTS.items():
        data = [trial_data(trial, **options) for trial in range(trials)]
        for learner in learners:
            scores = [accuracy(learner, trial, data[trial]) for trial in range(trials)]
            z = xr.DataArray(scores, dims="trial")
            moved = cvar_difference(z, base.setdefault(learner, z), 0.5)
            value, error = float(cvar(z, 0.5)), float(cvar_error(z, 0.5))
            print(
                f"{name:30s} {learner:4s} {value:.4f} ± {error:.4f}"
                f"  [{printed['random'][learner][place]:.3f}]"
                f"  moved by {float(moved['difference']):+.4f} ± {float(moved['error']):.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or ["kNN", "RF", "LR"])
