"""Draw docs/pictures/learning_rates/mlp.svg: `make learning-rates` (some minutes of one core).

Figure 1b of Turan, Loog and Tax is of a multilayer perceptron under 20-fold cross-validation, on
OpenML's dataset 1046, which could not be had. This is the same on balance-scale, which is the table
of all combinations of two weights and two distances.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import xarray as xr
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lcdb

SIZES = [20, 40, 80, 160, 320, 593]
RATES = (0.0001, 0.001, 0.01)
FOLDS = 20


def curves() -> dict[str, xr.Dataset]:
    """Return a curve for each learning rate: repetition i is fold i."""
    X = np.array(list(itertools.product(range(1, 6), repeat=4)), float)
    y = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3])
    order = np.random.default_rng(0).permutation(len(X))  # folds as they come are sorted by class
    found = {}
    for rate in RATES:
        net = make_pipeline(StandardScaler(), MLPClassifier(learning_rate_init=rate, max_iter=100))
        found[f"{rate:g}"] = lcdb.learning_curve(
            net,
            X[order],
            y[order],
            sizes=SIZES,
            split=KFold(FOLDS),
            metrics=["accuracy"],
            workers=1,
        )
    return found


def draw(found: dict[str, xr.Dataset], path: Path) -> None:
    """Draw means and bands of two standard deviations and the folds' 5 and 95 % quantiles."""
    mpl.use("agg")
    import matplotlib.pyplot as plt

    scores = [one["accuracy"].drop_vars("learner", errors="ignore") for one in found.values()]
    rates = xr.Variable("learner", [f"rate {name}" for name in found])
    both = xr.concat(scores, rates, coords="minimal", compat="override", join="override")
    both = both.assign_coords(learner=rates).assign_attrs(dataset_name="balance-scale")
    with mpl.rc_context({"svg.hashsalt": "lcdb", "svg.fonttype": "none"}):
        lcdb.plot.quantile_curves(both, log=True)
        plt.savefig(path, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    drawn = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parent / "pictures/learning_rates"
    drawn.mkdir(parents=True, exist_ok=True)
    some = curves()
    for name, one in some.items():
        mean, sd = one.accuracy.mean("repetition"), one.accuracy.std("repetition", ddof=1)
        print(name, mean.values.round(3), sd.values.round(3))
    draw(some, drawn / "mlp.svg")
