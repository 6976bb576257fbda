"""Figures of what rates and means leave out draw what the analysis says."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

matplotlib.use("agg")
import matplotlib.pyplot as plt

from lcdb import analysis, plot
from lcdb.errors import ArgumentError, LabelError


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(3)
    level = np.array([0.80, 0.82, 0.81])[:, None, None]
    noise = rng.gamma(2.0, [[[0.01]], [[0.05]], [[0.001]]], (3, 4, 200))
    coords = {"learner": ["LDC", "QDC", "NMC"], "n": [2, 5, 9, 30]}
    dims = ("learner", "n", "repetition")
    return xr.DataArray(level - noise, coords, dims, "accuracy", {"direction": "maximize"})


def test_fewer_repetitions_are_the_first_ones(scores):
    found = analysis.normality_by_repetitions(scores, [25, 200, 1000])
    assert found["repetitions"].values.tolist() == [25, 200]  # there are no 1,000
    alone = analysis.normality(scores.isel(repetition=slice(25)))
    np.testing.assert_array_equal(
        found["shapiro_p"].sel(repetitions=25).transpose(*alone["shapiro_p"].dims),
        alone["shapiro_p"],
    )
    rate = found["non_gaussian"].mean(["learner", "n"])
    assert rate.sel(repetitions=25) < rate.sel(repetitions=200)


def test_rates_are_drawn_against_repetitions(scores):
    rates = analysis.normality_by_repetitions(scores, [25, 200])["non_gaussian"].mean("n")
    ax = plot.by_repetitions(rates)
    drawn = {line.get_label(): line for line in ax.lines}
    np.testing.assert_allclose(drawn["QDC"].get_ydata(), 100 * rates.sel(learner="QDC"))
    assert drawn["QDC"].get_color() == plot.colour_of("QDC")
    assert plot.by_repetitions(rates.mean("learner")).lines[0].get_label() == "all cells"


def test_places_move_as_ranks_say(scores):
    moved = analysis.rank_change(scores, 0.05)
    for n in scores["n"].values:
        cell = scores.sel(n=n)
        means, ends = cell.mean("repetition"), cell.quantile(0.05, "repetition")
        expected = (-means).argsort().argsort() - (-ends).argsort().argsort()
        np.testing.assert_array_equal(moved.sel(n=n), expected)
    loss = analysis.rank_change(-scores, 0.95, direction="minimize")
    np.testing.assert_array_equal(loss, moved)
    same = scores.sel(learner=["LDC", "LDC", "NMC"])
    assert (analysis.rank_change(same, 0.5).isel(learner=[0, 1]) == 0).all()
    wider = analysis.rank_change(scores, 0.05, width=-2.0)
    assert wider.dims == ("learner", "n")


def test_learners_without_values_have_no_rank(scores):
    holes = scores.where((scores.learner != "QDC") | (scores.n != 5))
    moved = analysis.rank_change(holes, 0.05)
    assert np.isnan(moved.sel(learner="QDC", n=5))
    rest = analysis.rank_change(scores.sel(learner=["LDC", "NMC"]), 0.05)
    np.testing.assert_array_equal(moved.sel(n=5, learner=["LDC", "NMC"]), rest.sel(n=5))


def test_a_rank_map_shows_every_learner_and_size(scores):
    moved = analysis.rank_change(scores, 0.05)
    ax = plot.rank_map(moved)
    np.testing.assert_array_equal(ax.images[0].get_array(), moved)
    low, high = ax.images[0].get_clim()
    assert low == -high
    assert [t.get_text() for t in ax.get_xticklabels()] == ["2", "5", "9", "30"]
    assert "5 % quantile" in ax.get_title(loc="left")


def test_a_decomposition_shows_every_rate_and_none_that_is_not_there():
    rates = pd.DataFrame(
        {"honest": [60.0, 70.0], "pool": [65.0, np.nan], "published": [90.0, 91.0]},
        index=["NMC", "LDC"],
    )
    ax = plot.decomposition(rates)
    drawn = {c.get_label(): np.ma.getdata(c.get_offsets())[:, 0] for c in ax.collections[1:]}
    assert list(drawn) == ["honest", "pool", "published"]
    np.testing.assert_array_equal(drawn["honest"], rates["honest"])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["NMC", "LDC"]


def test_all_distributions_of_one_learner_have_its_colour(scores):
    ax = plot.distributions(scores.sel(learner="QDC"), dim="n", learner="QDC")
    assert {line.get_color() for line in ax.lines} == {plot.colour_of("QDC")}


def test_two_values_far_apart_are_two_thin_bars():
    ax = plot.distributions({"a": np.array([0.2] * 30 + [0.8] * 70)})
    heights = [bar.get_height() for bar in ax.containers[0]]
    assert len(heights) == 2
    assert max(heights) < 0.05


@pytest.mark.parametrize(
    ("kind", "total", "bias"),
    [("brier", "brier", "brier_bias"), ("domingos", "error", "domingos_bias"),
     ("kohavi_wolpert", "error", "kohavi_wolpert_bias")],
)  # fmt: skip
def test_bias_and_variance_lie_on_top_of_each_other(kind, total, bias):
    names = {"brier": 0.3, "brier_bias": 0.2, "error": 0.25, "kohavi_wolpert_bias": 0.1,
             "domingos_bias": 0.15}  # fmt: skip
    n = [80, 10, 300]
    parts = xr.Dataset(
        {name: ("n", value / np.sqrt(n), {"long_name": f"mean {name}"})
         for name, value in names.items()},
        {"n": n, "learner": "LDC", "dataset": "iris"},
    )  # fmt: skip
    _, given = plt.subplots()
    ax = plot.bias_variance(parts, kind, ax=given, log=False)
    assert ax is given and ax.get_xscale() == "linear"
    ordered = parts.sortby("n")
    line = ax.get_lines()[0]
    np.testing.assert_allclose(line.get_xydata(), np.stack([ordered.n, ordered[total]], axis=1))
    low, high = (shade.get_paths()[0].vertices for shade in ax.collections[:2])
    np.testing.assert_allclose(low[:, 1].max(), ordered[bias].max())
    np.testing.assert_allclose(high[:, 1].min(), ordered[bias].min())
    np.testing.assert_allclose(high[:, 1].max(), ordered[total].max())
    assert ax.get_ylabel() == f"mean {total}" and ax.get_title(loc="left") == "LDC · iris"
    assert plot.bias_variance(parts).get_xscale() == "log"
    with pytest.raises(ArgumentError, match="no kind 'brie'"):
        plot.bias_variance(parts, "brie")
    with pytest.raises(LabelError, match=r"what lcdb\.analysis\.bias_variance returns"):
        plot.bias_variance(parts.isel(n=0))
