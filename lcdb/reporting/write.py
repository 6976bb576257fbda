"""A report of a database: each section asks one question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lcdb.plot.style import metric_label, need_matplotlib, page
from lcdb.reporting.best import best
from lcdb.reporting.document import Report, Section, Text
from lcdb.reporting.effort import effort
from lcdb.reporting.gather import Scope, scope_of
from lcdb.reporting.holdings import holdings
from lcdb.reporting.methods import methods
from lcdb.reporting.normal import normal
from lcdb.reporting.overall import overall, quantiles_and_means
from lcdb.reporting.pairs import crossings
from lcdb.reporting.shapes import shapes
from lcdb.reporting.texts import counted, listed

if TYPE_CHECKING:
    from lcdb.database import Database, Key

__all__ = ["report"]


def report(
    db: Database,
    *,
    metric: str = "accuracy",
    sampling: str | None = None,
    split: str | None = None,
    tuning: str | None = None,
    scaling: str = "none",
    datasets: Sequence[Key] | None = None,
) -> Report:
    """Return a page about a database: its best learners, and how sure that is.

    What it holds; the best learners by dataset and size; winners by quantile and by mean; normality
    with the size of what is rejected; shapes of curves; crossings; how many repetitions a
    comparison needs; and, of several datasets, aggregates. Every figure comes with the call that
    made it, of the arrays that `lcdb.reporting.curves` returns. Sentences claim what tests and
    intervals carry, and say what those are.

    Parameters
    ----------
    db
        An open database: of a folder or a URL, with full cubes or summaries. What summaries cannot
        tell, the page says.
    metric, sampling, split, tuning, scaling, datasets
        What the page is about, as `lcdb.reporting.curves` takes it.

    Returns
    -------
    Report
        Shown in a notebook as it is; ``save("report.html")`` or ``save("report.md")`` writes it.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     page = lcdb.report(db, metric="brier", datasets=["iris"])
    >>> page.title
    'Learning curves of iris: Brier score'
    """
    need_matplotlib()
    asked = {"sampling": sampling, "split": split, "tuning": tuning}
    scope = scope_of(db, metric, asked, datasets, scaling)
    names = (name for part in scope.parts for name in part.header.labels["learner"])
    with page(names):
        together = overall(scope)
        sections = (
            best(scope),
            quantiles_and_means(scope),
            together,
            crossings(scope),
            shapes(scope),
            effort(scope),
            normal(scope),
            methods(scope, several=together is not None),
        )
    kept = [section for section in sections if section is not None]
    text = " ".join(section.headline for section in kept if section.headline)
    title = f"Learning curves of {_names(scope)}: {metric_label(metric)}"
    first = (Section("In short", (Text(f"{text} {_CAVEAT}"),)), holdings(scope))
    return Report(title, (*first, *kept))


_CAVEAT = "What these numbers rest on, and what they leave open, is said below."


def _names(scope: Scope) -> str:
    names = [part.name for part in scope.parts]
    return listed(names) if len(names) < 4 else counted(len(names), "dataset")
