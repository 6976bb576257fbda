"""Pictures of the pages are those that the code draws now: `make pictures` renews them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt

import lcdb
import pictures
from tests.support.explorer_pictures import STATES, take
from tests.support.pictures import look_alike, pixels, unlike

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "pictures"


def files(folder):
    return {path.name for path in folder.glob("*.*") if path.suffix in (".png", ".svg")}


# The figures of the paper are compared in test_figures_page.py.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["", "learning_rates", "findings"])
def test_pictures_are_of_this_code(name, tmp_path):
    fresh = pictures.FOLDERS[name](tmp_path / name)
    assert {path.name for path in fresh} == files(STORED / name)
    for path in fresh:
        stored = STORED / name / path.name
        assert look_alike(stored, path), f"{stored} is of older code: make pictures"
        if path.suffix == ".svg":
            texts = [re.findall(r"<text[^>]*>([^<]+)", one.read_text()) for one in (stored, path)]
            assert texts[0] == texts[1] and len(texts[0]) > 4


@pytest.mark.browser
@pytest.mark.server
@pytest.mark.process
@pytest.mark.slow
def test_pictures_of_the_explorer_are_of_this_page(tmp_path):
    for path in take(tmp_path):
        stored = STORED / "explorer" / path.name
        assert look_alike(stored, path), f"{stored} is of an older page: make explorer-pictures"


def test_all_folders_of_pictures_are_compared():
    folders = {path.relative_to(STORED).parts[0] for path in STORED.rglob("*.*") if path.is_file()}
    assert {name for name in folders if "." not in name} == {
        *filter(None, pictures.FOLDERS),
        "explorer",
    }
    assert {f"{name}.png" for name in STATES} == files(STORED / "explorer")


# -- what looks alike ------------------------------------------------------------------------------


def picture(kind, draw, dpi=100):
    """Return a figure of two lines as the bytes of a file."""
    figure, ax = plt.subplots(figsize=(4, 3), layout="constrained")
    n = np.array([2, 5, 10, 20, 50])
    draw(ax, n)
    ax.set(xlabel="training set size n", ylabel="accuracy")
    file = io.BytesIO()
    figure.savefig(file, format=kind, dpi=dpi)
    plt.close(figure)
    return file.getvalue()


def two_lines(colour="#0072B2", rise=0.0, scale="linear"):
    def draw(ax, n):
        ax.plot(n, 0.5 + np.log(n) / 10, color="#332288")
        ax.plot(n, 0.4 + np.log(n) / 12 + rise, color=colour)
        ax.fill_between(n, 0.3, 0.4, color="0.8", alpha=0.5, linewidth=0)
        ax.scatter(n, 0.3 + 0 * n, color="#117733", s=20)
        ax.set(xscale=scale, xlim=(1.9, 52), ylim=(0.2, 1))

    return draw


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_another_colour_number_or_axis_is_another_picture(kind):
    first = picture(kind, two_lines())
    assert unlike(pixels(first), pixels(first)) == 0.0
    for other in (two_lines("#D55E00"), two_lines(rise=0.05), two_lines(scale="log")):
        assert not look_alike(first, picture(kind, other))
        assert not look_alike(picture(kind, other), first)


def test_a_little_larger_or_elsewhere_is_the_same_picture():
    first = picture("png", two_lines())
    assert look_alike(first, picture("png", two_lines(), dpi=101))
    moved = pixels(first).copy()
    moved[1:] = pixels(first)[:-1]
    assert unlike(pixels(first), moved) < 0.0006
    assert not look_alike(first, picture("png", two_lines(), dpi=200))


def test_a_vertical_line_is_no_learning_curve():
    """What the first notebook showed, and what its code drew."""
    with lcdb.tutorial() as db:
        curve = db.curve("iris", "LDC")
    found = []
    for limits in (None, (104.9, 105.1)):
        ax = lcdb.plot.quantile_curves(curve, log=True)
        ax.set_xlim(*(limits or ax.get_xlim()))
        file = io.BytesIO()
        ax.figure.savefig(file)
        plt.close("all")
        found.append(file.getvalue())
    assert not look_alike(*found)
