"""Figures by name, of the part of a database that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lcdb.errors import LabelError, did_you_mean
from lcdb.plot import answers, turan2026
from lcdb.plot.chosen import Figure
from lcdb.selection import Labels, check_metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from lcdb.database import Database, Key

__all__ = ["FIGURES", "draw"]

FIGURES: dict[str, Figure] = {**turan2026.FIGURES, **answers.FIGURES}


def draw(
    db: Database,
    name: str,
    *,
    dataset: Key | None = None,
    metric: str = "accuracy",
    learner: Labels = None,
    sampling: Labels = None,
    split: Labels = None,
    tuning: Labels = None,
    scaling: str = "none",
    log: bool | None = None,
    ax: Axes | None = None,
    **style: Any,
) -> Axes:
    """Draw a figure of the paper, or one of ours.

    Parameters
    ----------
    db
        An open database, or one scaling of it: ``db.scaled("standard")``.
    name
        One of `FIGURES`: ``"1a"``, ``"2a"`` and so on to ``"D5"`` are the paper's, the others ours.
    dataset
        Another dataset than the paper's.
    metric
        One of the four metrics; figure D5 has two of its own.
    learner, sampling, split, tuning
        Other labels than the figure's own: one, or several. Of what does not go into one axes
        there is a panel for each label.
    scaling
        Of the features.
    log
        Whether the axis of sizes is logarithmic; as the figure has it unless given.
    ax
        Where, for figures of one panel; new axes unless given.
    **style
        ``title``, ``figsize``, ``colors`` and, for figures with lines, whatever else
        `learning_curves` takes.

    Returns
    -------
    matplotlib.axes.Axes
        Of the first panel where there are several.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     ax = lcdb.plot.draw(db, "3b", dataset="iris", learner="LDC", log=True)
    >>> ax.get_ylabel(), ax.get_xscale()
    ('accuracy', 'log')
    """
    if name not in FIGURES:
        msg = f"there is no figure {name!r}.{did_you_mean(name, FIGURES)}"
        raise LabelError(msg)
    check_metric(metric)
    figure = FIGURES[name]
    asked = {"learner": learner, "sampling": sampling, "split": split, "tuning": tuning}
    db = db.scaled(scaling)
    chosen = figure.choice(name, db, dataset, metric, log, asked, scaling)
    return figure.drawn(chosen, ax, **style)
