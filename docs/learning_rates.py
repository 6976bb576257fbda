"""Draw docs/pictures/learning_rates/mlp.svg: `make learning-rates` (some minutes of one core).

Figure 1b of Turan, Loog and Tax is of a multilayer perceptron under 20-fold cross-validation, on
OpenML's dataset 1046, which could not be had. This is the same on balance-scale, which is the table
of all combinations of two weights and two distances. The scores are kept in mlp.json beside the
picture, from which `make pictures` draws it again.
"""

from __future__ import annotations

import itertools
import json
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


FOLDER = Path(__file__).parent / "pictures" / "learning_rates"


def curves() -> dict[str, list[list[float]]]:
    """Return accuracies for each learning rate, by size and fold."""
    X = np.array(list(itertools.product(range(1, 6), repeat=4)), float)
    y = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3])
    order = np.random.default_rng(0).permutation(len(X))  # folds as they come are sorted by class
    found = {}
    for rate in RATES:
        net = make_pipeline(StandardScaler(), MLPClassifier(learning_rate_init=rate, max_iter=100))
        curve = lcdb.learning_curve(
            net,
            X[order],
            y[order],
            sizes=SIZES,
            split=KFold(FOLDS),
            metrics=["accuracy"],
            workers=1,
        )
        found[f"{rate:g}"] = curve.accuracy.transpose("n", "repetition").values.round(6).tolist()
    return found


def draw(found: dict[str, list[list[float]]], path: Path) -> None:
    """Draw means and bands of two standard deviations and the folds' 5 and 95 % quantiles."""
    mpl.use("agg")
    import matplotlib.pyplot as plt

    both = xr.DataArray(
        list(found.values()),
        {
            "learner": [f"rate {name}" for name in found],
            "n": SIZES,
            "sampling": "given",
            "split": "KFold",
        },
        ("learner", "n", "repetition"),
        "accuracy",
        {"dataset_name": "balance-scale"},
    )
    with mpl.rc_context({"svg.hashsalt": "lcdb", "svg.fonttype": "none"}):
        lcdb.plot.quantile_curves(both, log=True)
        plt.savefig(path, metadata={"Date": None, "Creator": None})
        plt.close()


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    FOLDER.mkdir(parents=True, exist_ok=True)
    scores = curves()
    for name, one in scores.items():
        print(name, np.mean(one, axis=1).round(3), np.std(one, axis=1, ddof=1).round(3))
    (FOLDER / "mlp.json").write_text(json.dumps(scores), encoding="utf-8")
    draw(scores, FOLDER / "mlp.svg")
