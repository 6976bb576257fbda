"""Figures draw what the analysis says: read back from the artists."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
import xarray as xr

matplotlib.use("agg")
import matplotlib.pyplot as plt
from plausible import write_database

from lcdb import analysis, plot
from lcdb.cli import main
from lcdb.errors import LabelError
from lcdb.schema import LEARNERS


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    n = np.array([1, 2, 5, 10, 20])
    data = rng.binomial(45, np.linspace(0.5, 0.9, 5)[:, None], (3, 5, 200)) / 45
    coords = {"learner": ["LDC", "NMC", "MLP"], "n": n, "fraction": ("n", n / 20)}
    dims = ("learner", "n", "repetition")
    return xr.DataArray(data.astype(np.float32), coords, dims, "accuracy", {"units": "1"})


def test_learners_have_ten_colours_and_others_keep_theirs():
    assert len({plot.colour_of(name) for name in LEARNERS}) == 10
    assert plot.colour_of("MLP") == plot.colour_of("MLP")


def test_quantile_curves_draw_means_and_quantiles(scores):
    ax = plot.quantile_curves(scores)
    found = analysis.summary(scores, [0.05, 0.95])
    drawn = [line.get_ydata() for line in ax.lines]
    for i in range(3):
        np.testing.assert_allclose(drawn[3 * i], found["mean"][i])
        np.testing.assert_allclose(drawn[3 * i + 1], found["quantile"][i, :, 0])
        np.testing.assert_allclose(drawn[3 * i + 2], found["quantile"][i, :, 1])
    named = [text.get_text() for text in ax.texts]
    legend = ax.get_legend()
    named += [text.get_text() for text in legend.get_texts()] if legend else []
    assert set(named) == {"LDC", "NMC", "MLP"}
    assert ax.get_ylabel() == "accuracy"


def test_ends_far_apart_are_labelled_directly_and_close_ones_in_a_legend(scores):
    apart = scores * xr.DataArray([1.0, 0.6, 0.2], dims="learner")
    assert len(plot.quantile_curves(apart).texts) == 3
    same = xr.concat([scores.isel(learner=0)] * 8, "learner", coords="minimal")
    same = same.assign_coords(learner=list(LEARNERS[:8]))
    ax = plot.quantile_curves(same)
    assert len(ax.get_legend().get_texts()) == 8


def test_sizes_without_values_leave_no_gap_in_a_line(scores):
    holes = scores.isel(learner=0).where(scores["n"] != 2)
    line = plot.quantile_curves(holes).lines[0]
    assert line.get_xdata().tolist() == [1, 5, 10, 20]
    assert np.isfinite(line.get_ydata()).all()


def test_distributions_of_lattice_scores_show_every_value(scores):
    cell = scores.sel(n=20)
    ax = plot.distributions(cell)
    heights = sum(len(bars) for bars in ax.containers)
    assert heights == sum(len(np.unique(cell.sel(learner=name))) for name in cell.learner.values)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["LDC", "NMC", "MLP"]
    by_size = plot.distributions(scores.sel(learner="LDC"), dim="n")
    assert [t.get_text() for t in by_size.get_xticklabels()] == ["1", "2", "5", "10", "20"]
    smooth = plot.distributions({"a": np.random.default_rng(0).normal(size=500)})
    assert len(smooth.containers[0]) == 40


def test_non_gaussian_share_equals_the_cells(scores):
    ax = plot.non_gaussian_share({1: scores, 2: scores}, bins=2)
    expected = analysis.normality(scores)["non_gaussian"]
    low = 100 * expected.sel(learner="LDC", n=[1, 2, 5, 10]).mean()
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(drawn["LDC"], [low, 100 * expected.sel(learner="LDC", n=20)])


def test_rejection_map_prints_its_numbers():
    shares = xr.DataArray(
        [[4.6, np.nan]], {"learner": ["LDC"], "dataset": [11, 61]}, ("learner", "dataset")
    )
    assert [t.get_text() for t in plot.rejection_map(shares).texts] == ["5", "–"]


def test_inverse_cdf_is_a_step_function_within_its_band(scores):
    ax = plot.inverse_cdf(scores.sel(n=20), support=(0, 1))
    values = np.sort(scores.sel(n=20, learner="LDC").values)
    curve = next(line for line in ax.lines if line.get_label() == "LDC").get_ydata()
    assert curve[0] == pytest.approx(values[0])
    assert curve[-1] == pytest.approx(values[-1])
    assert (np.diff(curve) >= 0).all()
    assert len(ax.collections) == 3
    assert not plot.inverse_cdf({"a": values}, confidence=None).collections


def test_profiles_are_drawn_as_steps(scores):
    found = analysis.profile(scores, kind="gap")
    ax = plot.profile(found, order=["NMC", "LDC"])
    assert {line.get_drawstyle() for line in ax.lines} == {"steps-post"}
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), found.sel(learner="NMC"))
    assert "difference of means" in ax.get_xlabel()


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_figures_are_saved(scores, suffix, tmp_path):
    figure, axes = plt.subplots()
    assert plot.quantile_curves(scores, ax=axes) is axes
    figure.savefig(tmp_path / f"figure.{suffix}")
    assert (tmp_path / f"figure.{suffix}").stat().st_size > 1000


def test_reduced_arrays_are_refused(scores):
    with pytest.raises(LabelError, match="expected repetition"):
        plot.quantile_curves(scores.mean("repetition"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    learners = ("LREG", "QDC", "ADAB")
    return write_database(tmp_path_factory.mktemp("db"), 30, learners=learners)


@pytest.mark.parametrize("name", list(plot.FIGURES))
def test_every_figure_of_the_paper_is_drawn_and_saved(folder, name, tmp_path, capsys):
    out = tmp_path / "figure.svg"
    arguments = ["plot", str(folder), "--figure", name, "--dataset", "61", "--out", str(out)]
    assert main(arguments) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert out.stat().st_size > 1000


def test_wrong_figures_and_files_are_answered(folder, tmp_path, capsys):
    assert main(["plot", str(folder), "--figure", "2z", "--dataset", "61"]) == 1
    assert "Known: 1a" in capsys.readouterr().err
    out = tmp_path / "figure.nonsense"
    base = ["plot", str(folder), "--figure", "3b", "--dataset", "61", "--out"]
    assert main([*base, str(out)]) != 0
    assert "could not be written" in capsys.readouterr().err
    assert not out.exists()
