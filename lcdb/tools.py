"""Functions that need the builder, found through an entry point so that reading never needs it."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from lcdb.errors import MissingExtraError
from lcdb.folder import Folder

if TYPE_CHECKING:
    from lcdb.remote.host import Host

__all__ = ["Recomputes", "learning_curve", "replay"]


def _tool(name: str) -> Any:
    """Return what is registered under a name in the entry point group ``lcdb.tools``."""
    hint = f"lcdb.{name} needs the builder: pip install 'lcdb-plusplus[build]'"
    for point in entry_points(group="lcdb.tools", name=name):
        try:
            return point.load()
        except ModuleNotFoundError as error:
            msg = f"{hint} ({error.name} is not installed)"
            raise MissingExtraError(msg) from error
    raise MissingExtraError(hint)


def learning_curve(learner: Any, X: Any, y: Any, **options: Any) -> Any:
    """Return the learning curve of a classifier on one's own data, in memory.

    The options are those of `lcdb_builders.predict.curve.learning_curve`: sizes, repetitions,
    sampling, split, metrics, rows, predictions, scaling, seed, workers, budget, progress.

    Parameters
    ----------
    learner
        A name such as ``"LDC"``, or a classifier with scikit-learn's interface.
    X, y
        Features and labels.
    **options
        As above.
    """
    return _tool("learning_curve")(learner, X, y, **options)


def replay(*args: Any, **kwargs: Any) -> Any:
    """Compute one cell again, alone: rows, fitted reference estimator, scores beside the stored.

    The arguments are those of `lcdb_builders.reference.replay.replay`: an open database, then
    dataset, learner, sampling, split, n and repetition.
    """
    return _tool("replay")(*args, **kwargs)


class Recomputes:
    """What a database can say of its cells by computing them again."""

    _source: Folder | Host

    @property
    def host(self) -> Host | None:
        """The host that cubes come from; None for a folder of this machine."""
        return None if isinstance(self._source, Folder) else self._source

    def predictions(self, dataset: int | str, learner: str, **options: Any) -> Any:
        """Return what the cells of a curve predicted at one size, computed again.

        The options are those of `lcdb_builders.predict.predictions.predictions`: n, sampling,
        split, tuning, scaling, repetitions, rows, chosen_by, workers, progress, allow_import.

        Parameters
        ----------
        dataset, learner
            Which curve.
        **options
            As above.
        """
        return _tool("predictions")(self, dataset, learner, **options)

    def derive(self, dataset: int | str, learner: str, metric: Any, **options: Any) -> Any:
        """Return a curve of any metric, of cells that are computed again.

        The options are those of `lcdb_builders.predict.predictions.derive`: n, sampling, split,
        tuning, scaling, repetitions, rows, chosen_by, workers, progress, allow_import.

        Parameters
        ----------
        dataset, learner
            Which curve.
        metric
            A name such as ``"mcc"``, or ``f(y, label, probability, weight)``.
        **options
            As above.
        """
        return _tool("derive")(self, dataset, learner, metric, **options)
