"""Every error that lcdb raises on purpose: one root, and the built-in class users would catch.

A message says what happened, what was expected, and what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "ArgumentError",
    "CellError",
    "DamagedError",
    "DatasetError",
    "DatasetWarning",
    "DeterminismError",
    "FailedBlocksError",
    "FetchError",
    "FormatVersionError",
    "HostError",
    "ImportRefusedError",
    "InterruptedBuildError",
    "LCDBError",
    "LabelError",
    "MissingExtraError",
    "NotBuiltError",
    "NotFoundError",
    "PartialCurveWarning",
    "PlanError",
    "ReadError",
    "RecomputedWarning",
    "RedefinedError",
    "SchemaError",
    "StaleError",
    "StorageError",
    "SummaryError",
    "did_you_mean",
]


class LCDBError(Exception):
    """Root of all errors that lcdb raises on purpose."""

    #: What the command line exits with; `lcdb --help` and docs/cluster.md list all codes.
    exit_code = 1


class NotFoundError(LCDBError, FileNotFoundError):
    """A database, cube, plan or file is not where it was looked for."""


class LabelError(LCDBError, KeyError):
    """A dataset, learner, sampling, split, tuning or metric of that name does not exist."""

    def __str__(self) -> str:
        """Return the message as it is (KeyError would show its repr)."""
        return str(self.args[0]) if self.args else ""


class ArgumentError(LCDBError, ValueError):
    """An argument is of the wrong kind, or out of its range: the message says what is expected."""


class NotBuiltError(LCDBError, LookupError):
    """A curve has a place in its cube, but nothing was computed for it: the message says why."""


class DatasetWarning(UserWarning):
    """A column was read in a way that is hardly meant: the message names it and says what to do."""


class PartialCurveWarning(UserWarning):
    """A curve lacks values that it should have: the message gives its status and the reason."""


class RecomputedWarning(UserWarning):
    """What was computed again differs from what is stored, by no more than machines may differ."""


class PlanError(LCDBError, ValueError):
    """A plan is malformed, or disagrees with what a database was built with."""


class DatasetError(LCDBError, ValueError):
    """The content of a dataset cannot be used (no classes, non-finite numbers, other checksum)."""


class FetchError(LCDBError, OSError):
    """A dataset could not be had from where it was looked for."""


class SchemaError(LCDBError, ValueError):
    """A dataset in memory or on disk breaks the cube contract."""

    #: Every deviation that was found, one line each; the message joins them.
    problems: tuple[str, ...] = ()


class FormatVersionError(SchemaError):
    """A cube was written by a newer version of lcdb than this one."""


class DamagedError(LCDBError, OSError):
    """A file of a database is not what was written."""


class ReadError(LCDBError, OSError):
    """A file could not be read now (failing disk or connection); it may well be whole."""


class HostError(LCDBError, OSError):
    """A host on the network does not do what reading a database there needs."""


class SummaryError(LCDBError, LookupError):
    """Repetitions are asked for where only a summary of them is: the message names the cube."""


class StaleError(LCDBError, RuntimeError):
    """A cube was replaced by another one since it was opened."""


class StorageError(LCDBError, OSError):
    """A file could not be written (full disk, permissions); what was published stays whole."""

    exit_code = 75


class InterruptedBuildError(LCDBError, RuntimeError):
    """A build was asked to stop; everything published stays, and the same command goes on."""

    exit_code = 75


class CellError(LCDBError, RuntimeError):
    """A learner could not be fitted or scored in one cell: the message names the cell."""


class RedefinedError(LCDBError, RuntimeError):
    """A cell cannot be computed again: its learner has another definition since it was stored."""


class FailedBlocksError(LCDBError, RuntimeError):
    """A build came to its end, but blocks failed or timed out: `lcdb status` names them."""

    exit_code = 3


class DeterminismError(LCDBError, RuntimeError):
    """The same block was computed twice on like machines, with different numbers."""

    exit_code = 4


class ImportRefusedError(LCDBError, PermissionError):
    """A class named in a plan or cube would import code, and that was not allowed."""


class MissingExtraError(LCDBError, ImportError):
    """Something needs an optional part of lcdb that is not installed."""


# Words of the field for learners and metrics, and the names that they have here.
_WORDS = {
    "1nn": "NNC",
    "acc": "accuracy",
    "adaboost": "ADAB",
    "brier_score": "brier",
    "decision_tree": "DT",
    "knn": "NNC",
    "lda": "LDC",
    "log_loss": "cross_entropy",
    "logistic_regression": "LREG",
    "logloss": "cross_entropy",
    "lr": "LREG",
    "nearest_centroid": "NMC",
    "neg_brier_score": "brier",
    "neg_log_loss": "cross_entropy",
    "qda": "QDC",
    "random_forest": "RFOR",
    "rf": "RFOR",
    "roc_auc": "auc",
    "roc_auc_ovr": "auc",
    "svc": "GSVC",
    "svm": "GSVC",
}


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return ``" Did you mean 'x'?"`` for the closest known name, else the list of known ones.

    Examples
    --------
    >>> did_you_mean("LCD", ["LDC", "QDC"])
    " Did you mean 'LDC'?"
    >>> did_you_mean("acc", ["accuracy", "auc"]), did_you_mean("SVM", ["LDC", "GSVC"])
    (" Did you mean 'accuracy'?", " Did you mean 'GSVC'?")
    >>> did_you_mean("zzz", ["LDC", "QDC"])
    ' Known: LDC, QDC.'
    """
    # What is absent is no suggestion, though it may be a name elsewhere.
    names = [str(k) for k in known if str(k) != str(name)]
    folded = {k.casefold(): k for k in names}
    asked = str(name).casefold()
    asked = _WORDS.get(asked, asked).casefold()
    # The beginning of one name alone is an abbreviation: closer than any other name of like length.
    close = [k for k in folded if len(asked) > 1 and k.startswith(asked)]
    if len(close) != 1:
        close = difflib.get_close_matches(asked, list(folded), n=1, cutoff=0.6)
    if close:
        return f" Did you mean {folded[close[0]]!r}?"
    return f" Known: {', '.join(names)}." if names else ""
