"""scikit-learn's network, with the score that stops its training early taken at once.

After each epoch a network predicts the rows held out. Decoding those predictions and checking them
takes scikit-learn a sixth of all of training; both are arrays of this network's own.
"""

from __future__ import annotations

import numpy as np
from sklearn.neural_network import MLPClassifier

__all__ = ["Network"]


class Network(MLPClassifier):
    """A network of scikit-learn, to the last bit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> options = {"early_stopping": True, "max_iter": 20, "random_state": 0}
    >>> network = Network(**options).fit(X, y)
    >>> network.validation_scores_ == MLPClassifier(**options).fit(X, y).validation_scores_
    True
    """

    def _score(
        self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
    ) -> float:
        """Return the accuracy on rows held out.

        Parameters
        ----------
        X, y
            The rows.
        sample_weight
            Of rows: left to scikit-learn, as outputs are that are no numbers.
        """
        outputs = self._forward_pass_fast(X, check_input=False)
        if sample_weight is not None or not np.isfinite(outputs).all():
            return super()._score(X, y, sample_weight)
        of_two = self.n_outputs_ == 1
        code = (outputs[:, 0] > 0.5).astype(np.intp) if of_two else outputs.argmax(axis=1)
        return float(np.mean(self.classes_[code] == y))
