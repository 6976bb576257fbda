"""Figures draw what the analysis says: read back from the artists."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.text import Text

import lcdb
from lcdb import analysis, plot
from lcdb.cli import main
from lcdb.errors import LabelError
from lcdb.plot.distributions import lattice_step
from lcdb.schema import LEARNERS
from tests.support.plausible import write_database


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


def boxes(ax):
    ax.figure.canvas.draw()
    # Of the text alone: a label's leader line is part of it too.
    return {text.get_text(): Text.get_window_extent(text) for text in ax.texts}


@pytest.mark.slow
def test_end_labels_stay_beside_the_axes_when_limits_change(scores):
    apart = scores * xr.DataArray([1.0, 0.99, 0.2], dims="learner")
    ax = plot.quantile_curves(apart)
    for limits in (None, (0.0, 0.95), (0.3, 0.6), (-3, 9)):
        for right in (20, 8, 60):
            if limits:
                ax.set_ylim(*limits)
            ax.set_xlim(1, right)
            found, frame, figure = boxes(ax), ax.get_window_extent(), ax.figure.bbox
            assert set(found) == {"LDC", "NMC", "MLP"}
            for name, box in found.items():
                assert frame.y0 - 9 <= (box.y0 + box.y1) / 2 <= frame.y1 + 9, (name, limits)
                assert box.x1 <= figure.x1 + 1
                if right <= 20:
                    assert box.x0 >= frame.x1
            heights = sorted((box.y0 + box.y1) / 2 for box in found.values())
            assert np.diff(heights).min() >= 0.9 * 10 * ax.figure.dpi / 72  # descenders differ
    # Within the limits, and with room, a label is level with its line.
    ax.set(xlim=(1, 20), ylim=(0, 1.2))
    end = float(analysis.summary(apart)["mean"].sel(learner="MLP", n=20))
    box = boxes(ax)["MLP"]
    level = ax.transData.transform((20, end))[1]
    assert (box.y0 + box.y1) / 2 == pytest.approx(level, abs=1.5)


def test_a_fan_takes_any_number_of_quantiles(scores):
    one = scores.sel(learner="LDC")
    quantiles = [0.95, 0.05, 0.5, 0.25, 0.75]
    ax = plot.quantile_curves(one, quantiles)
    found = analysis.summary(one, quantiles)
    shades = [shade.get_paths()[0].vertices for shade in ax.collections]
    assert len(shades) == 2  # 5-95 and 25-75 %
    outer = found["quantile"].sel(q=[0.05, 0.95])
    assert shades[0][:, 1].min() == pytest.approx(float(outer.min()))
    assert shades[0][:, 1].max() == pytest.approx(float(outer.max()))
    styles = [line.get_linestyle() for line in ax.lines]
    assert styles == ["-", ":", "--", "--"]
    np.testing.assert_allclose(ax.lines[1].get_ydata(), found["quantile"].sel(q=0.5))
    sd_band = found["mean"] - 2 * found["sd"]
    np.testing.assert_allclose(ax.lines[2].get_ydata(), sd_band)
    title = ax.get_title(loc="left")
    assert "shades: 5–95 %, 25–75 %" in title and "dotted: 50 % quantile" in title
    bare = plot.quantile_curves(one, [0.1], width=None)
    assert len(bare.lines) == 2 and not bare.collections
    assert "dotted: 10 % quantile" in bare.get_title(loc="left")


def test_figures_say_what_they_are_of():
    with lcdb.tutorial() as db:
        labels = {"sampling": "random", "split": "varying", "tuning": "default"}
        some = db.select(**labels, metric="brier")
        curve = db.curve("iris", "LDC", sampling="bootstrap")
        cell = some[61].sel(n=20)
        titles = [
            plot.quantile_curves(curve).get_title(loc="left"),
            plot.distributions(cell).get_title(loc="left"),
            plot.inverse_cdf(cell).get_title(loc="left"),
            plot.non_gaussian_share(some).get_title(loc="left"),
            plot.non_gaussian_panels(some)[0].figure.get_suptitle(),
        ]
    assert titles[0].startswith("iris · bootstrap · varying · accuracy")
    assert titles[1] == titles[2] == "iris · random · varying · Brier score"
    assert titles[3] == "balance-scale, iris · random · varying · Brier score"
    assert titles[4].startswith(titles[3])


def modes(heights):
    rising = np.diff(np.concatenate([[0], heights, [0]]))
    signs = np.sign(rising[rising != 0])
    return int((np.diff(signs) < 0).sum())


def test_bars_follow_the_lattice():
    rng = np.random.default_rng(0)
    rows = 422
    values = rng.binomial(rows, 0.8, 1000) / rows
    ax = plot.distributions({"LDC": values})
    bars = ax.containers[0]
    assert len(bars) <= 40
    wide = bars[0].get_height() * rows
    assert wide == pytest.approx(round(wide)) and round(wide) >= 1
    for bar in bars:  # edges lie half-way between multiples of 1/422
        assert (bar.get_y() * rows) % 1 == pytest.approx(0.5)
    counts = np.array([bar.get_width() for bar in bars])
    expected = np.histogram(values, [*(b.get_y() for b in bars), bars[-1].get_y() + 1])[0]
    np.testing.assert_allclose(counts / counts.max(), expected / expected.max())
    assert modes(counts) < modes(np.histogram(values, bins=40)[0])


def test_a_lattice_is_recognised_and_nothing_else():
    assert lattice_step(np.array([0.0, 0.2, 0.5])) == pytest.approx(0.1)
    stored = np.unique((np.arange(100, 300, 7) / 422).astype(np.float32))
    assert lattice_step(stored) == pytest.approx(7 / 422, rel=1e-4)
    assert lattice_step(np.random.default_rng(0).normal(size=99)) is None
    ragged = np.unique([c / t for c in range(40, 50) for t in (53, 57, 61)])
    assert lattice_step(ragged) is None
    assert lattice_step(np.array([0.5])) is None


def by_bin(g, sizes, bins):
    """Percentages by bin of n/m, with a line between sizes: one n after the other."""
    hits = [[] for _ in range(bins)]
    for n in range(sizes[0], sizes[-1] + 1):
        after = next(i for i, size in enumerate(sizes) if size >= n)
        before = after if sizes[after] == n else after - 1
        gap = sizes[after] - sizes[before] or 1
        share = (n - sizes[before]) / gap
        upper = next(b for b in range(bins) if n * bins <= (b + 1) * sizes[-1])
        hits[upper].append((1 - share) * g[before] + share * g[after])
    return [100 * float(np.mean(of_bin)) for of_bin in hits]


def test_panels_are_sorted_and_mark_constant_cells(scores):
    flat = scores.copy()
    flat[{"learner": 1, "n": slice(3, None)}] = 1.0  # constant from there on
    axes = plot.non_gaussian_panels({1: flat}, bins=4, columns=2)
    tests = analysis.normality(flat)
    expected = {
        str(name): by_bin(tests["non_gaussian"].sel(learner=name).values, [1, 2, 5, 10, 20], 4)
        for name in tests["learner"].values
    }
    drawn = {ax.get_title(loc="left"): ax for ax in axes}
    assert list(drawn) == sorted(drawn, key=lambda learner: np.mean(expected[learner]))
    for learner, ax in drawn.items():
        np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.125, 0.375, 0.625, 0.875])
        np.testing.assert_allclose(ax.lines[0].get_ydata(), expected[learner], atol=1e-9)
    assert len(drawn["NMC"].collections) == 1 and not drawn["LDC"].collections
    assert next(iter(drawn)) == "NMC"
    both = plot.non_gaussian_panels({"brier": {1: scores}, "auc": {1: flat}}, bins=4)
    assert len(both) == 3 and len(both[0].lines) == 3
    assert "Brier score solid, AUC dashed" in both[0].figure.get_suptitle()


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
    g = analysis.normality(scores)["non_gaussian"].sel(learner="LDC").values
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_allclose(drawn["LDC"], by_bin(g, [1, 2, 5, 10, 20], 2))


def test_shares_are_means_over_curves_and_m_stands_for_itself(scores):
    """A long curve counts as a short one; constant scores at m alone say nothing of m - 1."""
    one = scores.sel(learner=["LDC"])
    normal = np.random.default_rng(1).normal(size=one.shape)
    gaussian, flat = one.copy(data=normal), one.copy()
    flat[{"n": -1}] = 1.0
    g = [analysis.normality(part)["non_gaussian"].values[0] for part in (gaussian, flat)]
    longer = gaussian.assign_coords(n=gaussian["n"] * 50)
    (line, *_) = plot.non_gaussian_share({1: longer, 2: flat}, bins=1).lines
    at_m_alone = by_bin(np.append(g[1][:-1], [g[1][-2], g[1][-1]]), [1, 2, 5, 10, 19, 20], 1)
    assert g[1][-1] == 0 and g[1][-2] == 1
    expected = (by_bin(g[0], [50, 100, 250, 500, 1000], 1)[0] + at_m_alone[0]) / 2
    assert line.get_ydata() == pytest.approx([expected])


@pytest.mark.process
def test_summaries_have_boxes_where_scores_have_bars(database_folder, tmp_path):
    """Each box is between two quantiles, and is said in the caption."""
    written = tmp_path / "s"
    assert main(["summarize", str(database_folder), "--out", str(written), "--sizes", "all"]) == 0
    with lcdb.open(database_folder) as db, lcdb.open(written) as of_summaries:
        for figure, learner in (("2a", "QDC"), ("2b", "QDC"), ("2c", None)):
            options = {"dataset": 61, "learner": learner} if learner else {"dataset": 61}
            whole = plot.draw(db, figure, **options)
            brief = plot.draw(of_summaries, figure, **options)
            assert "middle 50, 80, 90" in brief.get_title(loc="left")
            assert "middle" not in whole.get_title(loc="left")
            names = [[text.get_text() for text in ax.get_xticklabels()] for ax in (whole, brief)]
            assert names[0] == names[1] and len(names[0]) > 1
            assert len(brief.collections) == 6 * len(names[0])
            for one, other in zip(whole.lines, brief.lines, strict=True):
                np.testing.assert_allclose(one.get_ydata(), other.get_ydata(), atol=1e-6)
        labels = {"sampling": "additive", "split": "fixed", "tuning": "default"}
        cell = of_summaries[61].sel(metric="auc", learner=["QDC"], n=20, **labels)
        box = plot.distributions(cell).collections[-1].get_paths()[0].vertices[:, 1]
        quantiles = cell["quantile"].sel(learner="QDC", q=[0.25, 0.75]).values
        assert (box.min(), box.max()) == pytest.approx(tuple(quantiles))
        for figure in ("curves", "means"):
            drawn = [plot.draw(of, figure, dataset=61) for of in (db, of_summaries)]
            for one, other in zip(drawn[0].lines, drawn[1].lines, strict=True):
                np.testing.assert_allclose(one.get_ydata(), other.get_ydata(), atol=1e-6)


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
    assert len(ax.collections) == 6  # a band of each learner, and its ends
    assert not plot.inverse_cdf({"a": values}, confidence=None).collections


def test_bands_are_drawn_where_outcomes_bound_them():
    """With 2,000 values the band is half sqrt(ln(40) / 4000) = 0.0304 wide."""
    values = np.random.default_rng(0).uniform(size=2000)
    (band,) = plot.inverse_cdf({"a": values}).collections
    shown = band.get_paths()[0].vertices[:, 0]
    assert shown.min() == pytest.approx(0.031) and shown.max() == pytest.approx(0.969)
    inner, ends = plot.inverse_cdf({"a": values}, support=(-3, 3)).collections
    assert inner.get_alpha() == 0.15 and ends.get_alpha() == 0.03
    heights = np.concatenate([path.vertices[:, 1] for path in ends.get_paths()])
    assert heights.min() == -3 and heights.max() == 3
    few = plot.inverse_cdf({"a": values[:5]})  # outcomes bound nothing
    assert not few.collections or not few.collections[0].get_paths()


def test_profiles_are_drawn_as_steps(scores):
    found = analysis.profile(scores, kind="gap")
    ax = plot.profile(found, order=["NMC", "LDC"])
    assert {line.get_drawstyle() for line in ax.lines} == {"steps-post"}
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), found.sel(learner="NMC"))
    assert "difference of means" in ax.get_xlabel()


@pytest.mark.slow
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


@pytest.mark.process
@pytest.mark.parametrize("name", [name for name in plot.FIGURES if name != "aggregate"])
def test_every_figure_of_the_paper_is_drawn_and_saved(folder, name, tmp_path, capsys):
    out = tmp_path / "figure.svg"
    arguments = ["plot", str(folder), "--figure", name, "--dataset", "61", "--out", str(out)]
    assert main(arguments) == 0
    assert capsys.readouterr().out.strip() == str(out)
    assert out.stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("name", ["map", "views"])
def test_maps_are_of_the_dataset_asked_for(folder, name, capsys, tmp_path):
    with lcdb.open(folder) as db:
        whole, alone = plot.draw(db, name), plot.draw(db, name, dataset="61")
        assert "kc2" in whole.get_xlabel() or name == "map"
        assert "kc2" not in alone.get_xlabel()
        if name == "map":
            assert [t.get_text() for t in alone.get_xticklabels()] == ["61"]
    out = ["--out", str(tmp_path / "x.svg")]
    assert main(["plot", str(folder), "--figure", name, "--dataset", "99", *out]) == 1
    assert "dataset '99' is not in" in capsys.readouterr().err


@pytest.mark.process
def test_wrong_figures_and_files_are_answered(folder, tmp_path, capsys):
    assert main(["plot", str(folder), "--figure", "2z", "--dataset", "61"]) == 1
    assert "Known: 1a" in capsys.readouterr().err
    out = tmp_path / "figure.nonsense"
    base = ["plot", str(folder), "--figure", "3b", "--dataset", "61", "--out"]
    assert main([*base, str(out)]) == 1
    assert "could not be written" in capsys.readouterr().err
    assert not out.exists()


def rates_of(scores, dim):
    return scores.mean("repetition").rename(n=dim)


FIGURES_IN_AXES = {
    "by_repetitions": lambda scores, ax: plot.by_repetitions(rates_of(scores, "repetitions"), ax),
    "decomposition": lambda scores, ax: plot.decomposition(
        pd.DataFrame({"honest": [60.0], "published": [97.9]}, index=["NMC"]), ax
    ),
    "distributions": lambda scores, ax: plot.distributions(scores.sel(n=20), ax=ax),
    "inverse_cdf": lambda scores, ax: plot.inverse_cdf(scores.sel(n=20), ax=ax),
    "learning_curves": lambda scores, ax: plot.learning_curves(scores, ax=ax),
    "lifetime_curves": lambda scores, ax: plot.lifetime_curves(
        scores.rename(repetition="trial", n="episode", learner="algorithm"), ax=ax
    ),
    "lifetime_returns": lambda scores, ax: plot.lifetime_returns(
        {"PPO": scores.sel(n=20, learner="LDC").values}, confidence=None, ax=ax
    ),
    "non_gaussian_share": lambda scores, ax: plot.non_gaussian_share(scores, ax=ax),
    "profile": lambda scores, ax: plot.profile(analysis.profile(scores, kind="gap"), ax),
    "rank_map": lambda scores, ax: plot.rank_map(analysis.rank_change(scores, 0.05), ax),
    "rejection_map": lambda scores, ax: plot.rejection_map(rates_of(scores, "dataset"), ax),
}


@pytest.mark.parametrize("name", FIGURES_IN_AXES)
def test_figures_are_drawn_in_the_axes_they_are_given(scores, name):
    figure, (left, right) = plt.subplots(1, 2)
    elsewhere = plt.get_fignums()
    drawn = FIGURES_IN_AXES[name](scores, right)
    assert drawn is right
    assert right.has_data() and not left.has_data()
    assert plt.get_fignums() == elsewhere and drawn.figure is figure


def test_returns_without_confidence_have_no_band(scores):
    means = {"PPO": scores.sel(n=20, learner="LDC").values}
    bare = plot.lifetime_returns(means, confidence=None)
    assert not bare.collections
    np.testing.assert_array_equal(
        bare.lines[0].get_ydata(), plot.lifetime_returns(means).lines[0].get_ydata()
    )


@pytest.mark.process
@pytest.mark.slow
def test_a_figure_of_the_paper_of_another_dataset_and_metric(folder, tmp_path, capsys):
    with lcdb.open(folder) as db:
        ax = plot.draw(db, "3b", dataset="iris", metric="brier")
        title = ax.get_title(loc="left")
        assert title.startswith("iris") and title.split(" · ")[3].startswith("Brier score"), title
        _, sampling, split, *_ = title.split(" · ")
        curve = db.curve("iris", "QDC", sampling=sampling, split=split, metric="brier")
        expected = analysis.summary(curve.dropna("n", how="all"))["mean"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), expected)
    # The same from the command, in a picture of as many dots as asked for.
    base = ["plot", str(folder), "--figure", "3b", "--dataset", "iris", "--out"]
    files = [tmp_path / f"{name}.png" for name in ("accuracy", "brier", "coarse")]
    for file, options in zip(files, ([], ["--metric", "brier"], ["--dpi", "50"]), strict=True):
        assert main([*base, str(file), *options]) == 0
    assert capsys.readouterr().out.split() == list(map(str, files))
    fine, brier, coarse = map(plt.imread, files)
    assert fine.shape == brier.shape and not np.array_equal(fine, brier)
    assert coarse.shape[:2] == tuple(length // 4 for length in fine.shape[:2])
