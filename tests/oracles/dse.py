"""One trial of kNN on the task linear as the paper's Algorithm 1 has it, in plain scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler


def plain_trial(
    data: np.random.BitGenerator, hyper: np.random.BitGenerator, mode: str, configurations: int
) -> dict[str, float]:
    """Return accuracy and number of neighbours of a trial whose streams are given."""
    state = np.random.RandomState(data)
    X, y = make_classification(
        2000, 10, n_informative=10, n_redundant=0, n_classes=4, n_clusters_per_class=2,
        random_state=state,
    )  # fmt: skip
    X = X + 2 * state.uniform(0, 1, X.shape)
    X = StandardScaler().fit_transform(X)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=0.6, random_state=state)
    rng = np.random.Generator(hyper)
    known = [3, 4, 5, 10, 25, 50]
    if mode == "random":
        neighbours, score = known[rng.integers(6)], np.nan
    else:
        drawn = [known[rng.integers(6)] for _ in range(configurations)]
        score = -1.0
        for k in drawn:
            scores = cross_val_score(KNeighborsClassifier(k), X_train, y_train,
                                     cv=StratifiedKFold(3))  # fmt: skip
            if scores.mean() > score:
                neighbours, score = k, scores.mean()
    model = KNeighborsClassifier(neighbours).fit(X_train, y_train)
    accuracy = (model.predict(X_test) == y_test).mean()
    return {"accuracy": accuracy, "neighbours": neighbours, "cv_accuracy": score}
