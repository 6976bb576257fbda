"""Figures of a report: drawn on a canvas of their own, always to the same bytes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from lcdb.reporting.calls import Made, call
from lcdb.reporting.document import Figure

__all__ = ["as_svg", "figure"]

# Text stays text, for search and for screen readers; identifiers do not depend on chance.
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "lcdb"}


def figure(caption: str, function: str, *arguments: Any, **options: Any) -> Figure:
    """Return what a function of `lcdb.plot` draws, with its caption and its call."""
    import matplotlib.pyplot as plt

    with plt.style.context("default"):  # whatever style the reader has chosen
        made = call(f"plot.{function}", *arguments, **options)
        return Figure(as_svg(made), caption, made.text)


def as_svg(made: Made) -> str:
    """Return the figure of axes as SVG, and close it."""
    import matplotlib
    import matplotlib.pyplot as plt

    ax = np.ravel(made.value)[0]
    drawn = ax.get_figure(root=True)
    file = io.StringIO()
    with matplotlib.rc_context(_STYLE):
        drawn.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(drawn)
    return file.getvalue()
