"""What tuned curves chose: indices of a cube become values, shares and a figure."""

from __future__ import annotations

import json

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt

from lcdb import analysis, plot
from lcdb.errors import LabelError

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def cube(db):
    """A cube whose choices lie in its grid of two values."""
    found = db["iris"].load()
    index = found["choice_brier"]
    return found.assign(choice_brier=(index.dims, np.where(index < 0, index, index % 2)))


@pytest.fixture
def chosen(cube):
    return analysis.chosen_values(cube, "LDC", "brier")


@pytest.mark.process
def test_values_are_those_of_the_grid(cube, chosen):
    rule = json.loads(str(cube.learner_params.sel(learner="LDC", tuning="tuned").values))
    rule = rule["tuning_rule"]
    assert chosen.attrs["parameter"] == rule["parameter"]
    assert chosen["grid"].values.tolist() == rule["grid"]
    index = cube["choice_brier"].sel(learner="LDC")
    values = chosen["value"].transpose(*index.dims).values
    seen = 0
    for place in np.ndindex(index.shape):
        i = int(index.values[place])
        if 0 <= i < len(rule["grid"]):
            assert values[place] == rule["grid"][i]
            seen += 1
        else:
            assert np.isnan(values[place])
    assert seen > 0
    np.testing.assert_array_equal(chosen["flag"], cube["choice_flag_brier"].sel(learner="LDC"))


@pytest.mark.process
def test_shares_count_repetitions(chosen):
    for ties in (True, False):
        shares = analysis.choice_shares(chosen, ties=ties)
        assert set(shares.dims) == (set(chosen["choice"].dims) - {"repetition"}) | {"grid"}
        cell = {"sampling": 0, "split": 1, "n": -1}
        choice, flag = chosen["choice"][cell].values, chosen["flag"][cell].values
        kept = (choice >= 0) & (ties | (flag == 0))
        for g in range(chosen.sizes["grid"]):
            share = float(shares[{**cell, "grid": g}])
            if kept.any():
                assert share == np.count_nonzero(choice[kept] == g) / np.count_nonzero(kept)
            else:
                assert np.isnan(share)
    # Sizes that are not tuned have nothing to count.
    none = (chosen["choice"] < 0).all("repetition")
    assert bool(none.any())
    empty = analysis.choice_shares(chosen).isnull().all("grid").transpose(*none.dims)
    np.testing.assert_array_equal(empty, none)


@pytest.mark.process
def test_figure_draws_shares_and_medians(chosen):
    part = chosen.isel(sampling=0, split=0)
    ax = plot.choices(part)
    shares = analysis.choice_shares(part).dropna("n", how="all")
    drawn = np.asarray(ax.collections[0].get_array(), float).reshape(shares.T.shape)
    np.testing.assert_allclose(drawn, shares.transpose("grid", "n"))
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, shares["n"])
    for n, median in zip(x, y, strict=True):
        choice = part["choice"].sel(n=n).values
        kept = np.sort(choice[choice >= 0])
        assert median == kept[(len(kept) + 1) // 2 - 1]
    assert ax.get_ylabel() == chosen.attrs["parameter"]


@pytest.mark.process
def test_choices_survive_dask(db):
    lazy = db["iris"].chunk({"n": 7})
    eager = analysis.chosen_values(db["iris"].load(), "LDC")
    found = analysis.chosen_values(lazy, "LDC")
    assert found["value"].chunks is not None
    np.testing.assert_array_equal(found["value"].values, eager["value"].values)


@pytest.mark.process
def test_what_is_not_there_is_named(db):
    with pytest.raises(LabelError, match="Did you mean 'LDC'"):
        analysis.chosen_values(db["iris"], "LCD")
    with pytest.raises(LabelError, match="Did you mean 'brier'"):
        analysis.chosen_values(db["iris"], "LDC", "briers")
    with pytest.raises(LabelError, match=r"by 'auc' in this cube. Known: accuracy, brier, "):
        analysis.chosen_values(db["iris"].drop_vars("choice_auc"), "LDC", "auc")
    with pytest.raises(LabelError, match="no tuned curves"):
        analysis.chosen_values(db["iris"].sel(tuning=["default"]), "LDC")


def test_figure_without_ties_is_drawn_in_the_axes_it_is_given(chosen):
    """Ties are left out of both: the shares and the median."""
    part = chosen.isel(sampling=0, split=0)
    assert bool(((part["flag"] > 0) & (part["choice"] >= 0)).any())
    _, (left, right) = plt.subplots(1, 2)
    assert plot.choices(part, ties=False, ax=right) is right
    assert right.has_data() and not left.has_data()
    shares = analysis.choice_shares(part, ties=False).dropna("n", how="all")
    drawn = np.asarray(right.collections[0].get_array(), float).reshape(shares.T.shape)
    np.testing.assert_allclose(drawn, shares.transpose("grid", "n"))
    for n, median in zip(*right.lines[0].get_data(), strict=True):
        cell = part.sel(n=n)
        kept = np.sort(cell["choice"].values[(cell["choice"] >= 0) & (cell["flag"] == 0)])
        assert median == kept[(len(kept) + 1) // 2 - 1]
