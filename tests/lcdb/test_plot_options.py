"""Figures of the labels that are asked for, in panels, with axes that can be read."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
import xarray as xr

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection

import lcdb
from lcdb import analysis, plot
from lcdb.cli import main
from lcdb.errors import ArgumentError, LabelError, NotBuiltError
from lcdb.plot.sizes import plain_log_axis, size_axis


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def tutorial():
    with lcdb.tutorial() as db:
        yield db


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_labels_that_are_asked_for_are_drawn(tutorial):
    labels = {"sampling": "bootstrap", "split": "varying", "metric": "brier"}
    ax = plot.draw(tutorial, "1a", dataset="iris", learner=["NMC", "QDC"], log=True, **labels)
    expected = tutorial.curve("iris", "QDC", **labels).dropna("n").mean("repetition")
    np.testing.assert_allclose(lines(ax)["QDC"].get_ydata(), expected, rtol=1e-6)
    assert {"NMC", "QDC"} <= set(lines(ax))
    assert ax.get_title(loc="left").startswith("iris · bootstrap · varying · Brier score")
    assert ax.get_xscale() == "log"


def test_what_does_not_go_into_one_axes_has_panels(tutorial):
    first = plot.draw(tutorial, "crossing", dataset="iris", split=["fixed", "varying"],
                      sampling=["additive", "random"], log=False)  # fmt: skip
    panels = first.figure.axes
    titles = [ax.get_title(loc="left") for ax in panels]
    ways = [f"{a} · {b}" for a in ("additive", "random") for b in ("fixed", "varying")]
    assert all(way in title for way, title in zip(ways, titles, strict=True))
    assert {ax.get_xscale() for ax in panels} == {"linear"}


def test_a_panel_for_each_learner(tutorial):
    first = plot.draw(tutorial, "shape", dataset="iris", learner=["QDC", "NMC"])
    assert [next(iter(lines(ax))) for ax in first.figure.axes]
    names = [{"QDC", "NMC"} & set(labels_of(ax)) for ax in first.figure.axes]
    assert names == [{"QDC"}, {"NMC"}]


def labels_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_lines_of_several_labels_in_the_panels_of_shares(tutorial):
    ax = plot.draw(tutorial, "3a", sampling=["additive", "bootstrap"], learner=["NMC", "LDC"])
    assert [line.get_linestyle() for line in ax.lines[:2]] == ["-", "--"]
    title = ax.figure.get_suptitle()
    words = title.replace(" ·", "").split()  # broken where the figure ends
    assert words[:6] == ["balance-scale,", "iris", "fixed", "accuracy", "additive", "solid,"]
    with pytest.raises(LabelError, match="6 lines in a panel"):
        plot.draw(tutorial, "3a", split=["fixed", "varying"],
                  sampling=["additive", "random", "bootstrap"])  # fmt: skip


@pytest.mark.slow
def test_maps_are_of_the_curves_that_are_asked_for(tutorial):
    some = {"sampling": "random", "split": "varying", "learner": ["LDC"]}
    ax = plot.draw(tutorial, "map", **some)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["LDC"]
    assert "random · varying · mean over tunings" in ax.get_title(loc="left")
    rates = [
        100 * float(analysis.normality(tutorial.curve(key, "LDC", sampling="random",
                                                      split="varying"))["non_gaussian"].mean())
        for key in (11, 61)
    ]  # fmt: skip
    assert [text.get_text() for text in ax.texts] == [f"{rate:.0f}" for rate in rates]
    with pytest.raises(NotBuiltError, match="no curves of accuracy, tuned"):
        plot.draw(tutorial, "map", tuning="tuned")


def test_a_figure_says_what_it_cannot_draw(tutorial):
    with pytest.raises(ArgumentError, match="2c has no axis of sizes"):
        plot.draw(tutorial, "2c", dataset="iris", log=True)
    with pytest.raises(LabelError, match="compares two"):
        plot.draw(tutorial, "power", dataset="iris", learner="LDC")
    with pytest.raises(LabelError, match="an aggregate is of several"):
        plot.draw(tutorial, "aggregate", dataset="iris")


def test_aggregates_of_a_database(tutorial):
    ax = plot.draw(tutorial, "aggregate", learner=["NMC", "LDC", "QDC"])
    assert "2 datasets" in ax.get_title(loc="left")
    assert {text.get_text() for text in ax.get_yticklabels()} == {"NMC", "LDC", "QDC"}


@pytest.mark.process
@pytest.mark.parametrize("figure", ["curves", "means", "differences", "power"])
def test_the_command_takes_labels(figure, database_folder, tmp_path, capsys):
    out = tmp_path / "figure.png"
    options = ["--learner", "QDC,LDC", "--sampling", "additive", "--split", "fixed", "--tuning",
               "default", "--metric", "auc", "--dataset", "61"]  # fmt: skip
    assert main(["plot", str(database_folder), "--figure", figure, *options, "--log", "--out",
                 str(out)]) == 0  # fmt: skip
    assert out.stat().st_size > 1000
    experiment = ["plot", str(database_folder), "--figure", "1", "--paper", "jordan2018"]
    assert main([*experiment, "--learner", "LDC"]) == 1
    assert "--learner: the figures of jordan2018" in capsys.readouterr().err


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    data = np.clip(rng.normal(0.9, 0.2, (2, 2, 4, 50)), 0, 1)
    coords = {"learner": ["LDC", "NMC"], "split": ["fixed", "varying"], "n": [1, 3, 10, 200]}
    dims = ("learner", "split", "n", "repetition")
    return xr.DataArray(data, coords, dims, "accuracy", {"dataset_name": "toy"})


def test_small_multiples_have_a_row_for_each_combination(scores):
    panels = plot.small_multiples(scores, quantiles=(0.1, 0.9), width=1.0, columns=2, log=True)
    assert [ax.get_title(loc="left") for ax in panels] == [
        f"{name} · {split}" for split in ("fixed", "varying") for name in ("LDC", "NMC")
    ]
    title = panels[0].figure.get_suptitle()
    assert title.startswith("toy · fixed and varying · accuracy\nline: mean; band: ± 1 sd, cut off")
    expected = scores.sel(learner="NMC", split="varying").mean("repetition")
    np.testing.assert_allclose(lines(panels[3])["NMC"].get_ydata(), expected)
    assert {ax.get_xscale() for ax in panels} == {"log"}
    assert len(plot.small_multiples({"a": scores[:, 0], "b": scores[:, 1]}, columns=1)) == 4
    with pytest.raises(LabelError, match="nothing to draw"):
        plot.small_multiples({})
    with pytest.raises(LabelError, match="several labels of split"):
        plot.quantile_curves(scores)


def test_bands_end_where_scores_do(scores):
    ax = plot.quantile_curves(scores[:, 0], log=True)
    bands = [patch for patch in ax.collections if isinstance(patch, PolyCollection)]
    reach = np.concatenate([path.vertices[:, 1] for b in bands for path in b.get_paths()])
    assert reach.max() == 1.0
    assert "cut off" in ax.get_title(loc="left")
    narrow = 0.5 + 0.01 * scores[:, 0]
    assert "cut off" not in plot.quantile_curves(narrow).get_title(loc="left")


@pytest.mark.process
def test_a_summary_has_the_same_curves(database_folder, tmp_path):
    assert (
        main(["summarize", str(database_folder), "--out", str(tmp_path / "s"), "--sizes", "all"])
        == 0
    )
    with lcdb.open(database_folder) as db, lcdb.open(tmp_path / "s") as of_summaries:
        labels = {"sampling": "additive", "split": "fixed", "tuning": "default"}
        whole = plot.quantile_curves(db.select(61, metric="auc", **labels)[61])
        part = of_summaries[61].sel(metric="auc", **labels)
        brief = plot.quantile_curves(part)
        for one, other in zip(whole.lines, brief.lines, strict=True):
            np.testing.assert_allclose(one.get_ydata(), other.get_ydata(), atol=1e-6)
        assert brief.get_title(loc="left") == whole.get_title(loc="left")
        with pytest.raises(LabelError, match="choose one"):
            plot.quantile_curves(of_summaries[61].sel(**labels))
        for figure, dataset in (("3a", None), ("D5", 61)):
            panels = [plot.draw(of, figure, dataset=dataset) for of in (db, of_summaries)]
            axes = [panel.get_figure().axes for panel in panels]
            lines = [[line for ax in some for line in ax.lines] for some in axes]
            assert len(lines[0]) > len(axes[0]) > 1
            for one, other in zip(*lines, strict=True):
                np.testing.assert_allclose(one.get_ydata(), other.get_ydata(), atol=1e-6)


@pytest.mark.parametrize(
    ("low", "high", "named"),
    [
        (1, 105, ["1", "2", "5", "10", "20", "50", "100"]),
        (2, 4970, ["3", "10", "30", "100", "300", "1,000", "3,000"]),
        (60, 90, ["60", "70", "80", "90"]),
        (1, 1e6, ["1", "10", "100", "1,000", "10,000", "100,000", "1,000,000"]),
    ],
)
def test_ticks_of_log_axes_are_plain_numbers(low, high, named):
    _, ax = plt.subplots()
    ax.plot([low, high], [0, 1])
    ax.margins(x=0)
    plain_log_axis(ax)
    assert [text.get_text() for text in ax.get_xticklabels()] == named
    _, ax = plt.subplots()
    size_axis(ax, np.array([low, high / 2, high]))
    assert ax.get_xscale() == ("log" if high > 10 * low else "linear")


@pytest.mark.process
def test_tuned_curves_are_drawn(db):
    ax = plot.draw(db, "means", dataset="61", tuning="tuned", learner="QDC")
    assert "random · varying · tuned" in ax.get_title(loc="left")
    expected = db.curve(61, "QDC", tuning="tuned").dropna("n").mean("repetition")
    np.testing.assert_allclose(lines(ax)["QDC"].get_ydata(), expected)


@pytest.mark.parametrize("log", [True, False])
def test_comparisons_are_drawn_along_either_axis(tutorial, log):
    curves = [tutorial.curve("iris", name).sel(n=[50, 63, 80, 100, 105]) for name in ("NMC", "LDC")]
    drawn = [
        plot.differences(analysis.compare(*curves, resamples=20), log=log),
        plot.crossings(analysis.crossing(*curves, resamples=20), log=log),
        plot.powers(analysis.power(*curves, repetitions=[5], studies=20), log=log),
        plot.shapes(curves[0], analysis.shape(curves[0]), log=log),
    ]
    assert {ax.get_xscale() for ax in drawn} == {"log" if log else "linear"}
