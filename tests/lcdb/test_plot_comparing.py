"""Figures of comparisons draw what the analysis says."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt

import lcdb
from lcdb import analysis, plot
from lcdb.errors import ArgumentError, LabelError

LABELS = {"sampling": "random", "split": "varying"}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def shipped():
    with lcdb.tutorial() as db:
        yield db


@pytest.fixture(scope="module")
def curves(shipped):
    return {name: shipped.curve("iris", name, **LABELS).load() for name in ("QDC", "LDC", "NMC")}


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_differences_of_quantiles_and_mean(curves):
    result = analysis.compare(curves["QDC"], curves["LDC"], resamples=50)
    _, ax = plt.subplots()
    assert plot.differences(result, ax) is ax
    assert ax.get_title(loc="left").startswith("iris · random · varying · default")
    line = lines(ax)["0.05 quantile"]
    expected = result["quantile_difference"].sel(q=0.05).dropna("n")
    np.testing.assert_array_equal(line.get_xdata(), expected["n"])
    np.testing.assert_array_equal(line.get_ydata(), expected)
    assert ax.get_xscale() == "log" and "above 0: QDC better" in ax.get_title(loc="left")
    ax.figure.canvas.draw()
    loss = analysis.compare(curves["QDC"], curves["LDC"], resamples=9, direction="minimize")
    assert "above 0: LDC better" in plot.differences(loss).get_title(loc="left")


def test_crossings_mark_who_is_better(curves):
    result = analysis.crossing(curves["QDC"], curves["NMC"], resamples=200)
    _, ax = plt.subplots()
    assert plot.crossings(result, ax) is ax
    for name, side in (("QDC", 1), ("NMC", -1)):
        won = result["n"].values[result["order"].values == side]
        np.testing.assert_array_equal(lines(ax)[f"{name} better"].get_xdata(), won)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[-1] == "crossing"
    ax.figure.canvas.draw()
    without = plot.crossings(analysis.crossing(curves["QDC"], curves["LDC"], resamples=50))
    assert "crossing" not in [text.get_text() for text in without.get_legend().get_texts()]


def test_shapes_mark_violations(curves):
    result = analysis.shape(curves["QDC"])
    _, ax = plt.subplots()
    assert plot.shapes(curves["QDC"], result, ax) is ax
    rise = lines(ax)["gets worse"].get_xdata()
    np.testing.assert_array_equal(rise, [result["rise_from"], result["rise_to"]])
    ends = lines(ax)["not convex"].get_xdata()
    np.testing.assert_array_equal(ends, [result["bump_left"], result["bump_right"]])
    ax.figure.canvas.draw()
    quiet = plot.shapes(curves["LDC"], analysis.shape(curves["LDC"]))
    assert not {"gets worse", "not convex", "worse at the end"} & set(lines(quiet))


def test_powers_at_a_size_and_along_sizes(curves):
    result = analysis.power(curves["QDC"], curves["LDC"], [5, 25], studies=50)
    _, ax = plt.subplots()
    assert plot.powers(result, ax) is ax
    expected = 100 * result["power"].sel(repetitions=25).dropna("n")
    np.testing.assert_array_equal(lines(ax)["25 repetitions"].get_ydata(), expected)
    ax.figure.canvas.draw()
    one = plot.powers(result.sel(n=20))
    np.testing.assert_array_equal(lines(one)["right sign"].get_xdata(), [5, 25])


def test_choices_by_early_sizes_are_points(shipped):
    scores = shipped.select("iris", tuning="default", **LABELS)[61]
    halving, lccv = analysis.halving, analysis.lccv
    results = [halving(scores), lccv(scores, [20, 105]), halving(scores, [105])]
    _, ax = plt.subplots()
    assert plot.early_choices(*results, ax=ax) is ax
    points = [line for line in ax.lines if line.get_label().startswith(("succ", "LCCV", "every"))]
    for point, result in zip(points, results, strict=True):
        assert point.get_xdata() == 100 * float(result["rows_share"])
        assert point.get_ydata() == float(result["regret"])
        assert f"right in {100 * float(result['right']):.0f} %" in point.get_label()
    assert [", keeping 50 %" in point.get_label() for point in points] == [True, False, False]
    assert ax.get_title(loc="left").startswith("iris · random · varying · default")
    ax.figure.canvas.draw()
    with pytest.raises(ArgumentError, match="the result is of 'shape'; expected one of halving"):
        plot.early_choices(analysis.shape(scores))
    several = shipped.select("iris", sampling=None, split="varying")[61]
    with pytest.raises(LabelError, match="has the dim sampling, tuning; select one"):
        plot.early_choices(halving(several))
    with pytest.raises(ArgumentError, match="there is no result"):
        plot.early_choices()


def test_one_pair_is_asked_for(curves):
    result = analysis.compare(curves["QDC"], curves["LDC"], resamples=9)
    with pytest.raises(LabelError, match="expected n of one pair"):
        plot.differences(result.isel(n=5))
    with pytest.raises(LabelError, match="the shape of that curve alone"):
        plot.shapes(curves["QDC"].isel(n=4), analysis.shape(curves["QDC"]))
