"""Figures take what people give matplotlib, and their lines can be told apart."""

from __future__ import annotations

import itertools

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_hex
from matplotlib.text import Text

import lcdb
from lcdb import analysis, plot
from lcdb.errors import ArgumentError, LabelError
from lcdb.plot.labels import broken, long_name
from lcdb.plot.style import Style, page
from lcdb.schema import LEARNERS

LABELS = {"sampling": "random", "split": "varying", "tuning": "default"}


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def made(*names, low=0.2):
    """Return scores of learners whose means are apart."""
    levels = np.linspace(low, 0.9, len(names))[:, None, None]
    data = levels + np.random.default_rng(0).uniform(-0.02, 0.02, (len(names), 7, 30))
    coords = {"learner": list(names), "n": [2, 5, 10, 50, 100, 200, 400]}
    return xr.DataArray(data, coords, ("learner", "n", "repetition"), "accuracy")


def looks(ax):
    """Return colour and dash of the lines that have a name."""
    return [
        (to_hex(line.get_color()), str(line._unscaled_dash_pattern))
        for line in ax.lines
        if not line.get_label().startswith("_")
    ]


def drawn(ax):
    return {line.get_label(): line for line in ax.lines}


# -- colours ---------------------------------------------------------------------------------------

WORDS = [
    "ours",
    "baseline",
    "CatBoost",
    "XGBoost",
    "MLP",
    "RF",
    "RFOR",
    "SVM",
    "LDC",
    "kNN",
    "a",
    "b",
]


@pytest.mark.parametrize("seed", range(8))
def test_no_two_lines_share_colour_and_dash(seed):
    rng = np.random.default_rng(seed)
    names = [
        str(name) for name in rng.choice([*WORDS, *map(str, range(40))], rng.integers(2, 40), False)
    ]
    curves = made(*names)
    shares = curves.mean("repetition").rename(n="repetitions")
    for ax in (plot.learning_curves(curves), plot.by_repetitions(shares)):
        found = looks(ax)
        assert len(found) == len(set(found)) == len(names)


def test_names_that_had_one_colour_have_three():
    """All three of issue 28 were the fourth of six colours."""
    curves = made("ours", "baseline", "CatBoost")
    for ax in (plot.quantile_curves(curves), plot.inverse_cdf(curves.sel(n=10))):
        assert len({to_hex(line.get_color()) for line in ax.lines}) == 3


def test_a_name_keeps_its_colour_in_other_figures():
    for few in itertools.combinations(["LDC", "RFOR", "ours", "QDC"], 2):
        lines = drawn(plot.learning_curves(made(*few)))
        assert all(to_hex(lines[name].get_color()) == plot.colour_of(name).lower() for name in few)
    alike = [
        "ours",
        *(name for name in map(str, range(99)) if plot.colour_of(name) == plot.colour_of("ours")),
    ]
    both = plot.colours(alike[:2])
    assert len(set(both.values())) == 2 and plot.colour_of("ours") in both.values()
    with page(alike[:2]):  # who gave way there does so when alone, too
        assert {name: plot.colour_of(name) for name in alike[:2]} == both
    assert plot.colour_of(alike[0]) == plot.colour_of(alike[1])


def test_a_second_call_on_the_same_axes_has_other_lines():
    alike = next(n for n in map(str, range(99)) if plot.colour_of(n) == plot.colour_of("ours"))
    ax = plot.learning_curves(made("ours"))
    plot.learning_curves(made(alike), ax=ax)
    assert len({to_hex(line.get_color()) for line in ax.lines}) == 2
    _, ax = plt.subplots()
    for _ in range(3):  # one learner again and again: its colour, another dash
        plot.quantile_curves(made("LDC"), ax=ax)
    assert {to_hex(line.get_color()) for line in ax.lines} == {"#332288"}
    dashes = [str(line._unscaled_dash_pattern) for line in ax.lines]
    lines = {
        (line.get_linewidth() == 1.0, dash) for line, dash in zip(ax.lines, dashes, strict=True)
    }
    assert len(lines) == 6  # mean and quantiles of three curves


def test_labels_of_two_calls_make_way_for_each_other():
    first, second = made("LDC", "QDC", low=0.88), made("NMC", "NNC", low=0.89)
    ax = plot.learning_curves(first)
    plot.learning_curves(second, ax=ax)
    ax.figure.canvas.draw()
    heights = sorted(Text.get_window_extent(text).y0 for text in ax.texts)
    assert [text.get_text() for text in ax.texts] == ["LDC", "QDC", "NMC", "NNC"]
    assert np.diff(heights).min() > 5
    long = plot.learning_curves(made("StandardScaler+LogisticRegression"), ax=ax)
    assert len(long.get_legend().get_texts()) == 5 and not ax.texts


def test_five_quantiles_of_a_difference_can_be_told_apart():
    with lcdb.tutorial() as db:
        pair = [db.curve("iris", name) for name in ("QDC", "LDC")]
        result = analysis.compare(*pair, quantiles=[0.05, 0.25, 0.5, 0.75, 0.95], resamples=9)
    found = looks(plot.differences(result))
    assert len(found) == len(set(found)) >= 5


def test_marks_of_a_shape_are_not_of_the_colour_of_a_curve():
    named = next(n for n in map(str, range(99)) if plot.colour_of(n) == "#D55E00")
    curve = made(named).isel(learner=0)
    curve[1] -= 0.1
    ax = plot.shapes(curve, analysis.shape(curve))
    assert to_hex(drawn(ax)[named].get_color()) != to_hex(drawn(ax)["gets worse"].get_color())


# -- what matplotlib takes -------------------------------------------------------------------------


def test_colours_labels_title_and_keywords_of_lines():
    ax = plot.learning_curves(
        made("LDC", "QDC"), colors={"LDC": "red"}, label={"QDC": "quadratic"}, title="Mine",
        lw=3, marker="x", figsize=(4, 3),
    )  # fmt: skip
    lines = drawn(ax)
    assert set(lines) == {"LDC", "quadratic"} and lines["LDC"].get_color() == "#FF0000"
    assert to_hex(lines["quadratic"].get_color()) == plot.colour_of("QDC").lower()
    assert {line.get_linewidth() for line in ax.lines} == {3}
    assert {line.get_marker() for line in ax.lines} == {"x"}
    assert ax.get_title() == "Mine" and not ax.get_title(loc="left")
    assert ax.figure.get_size_inches().tolist() == [4, 3]
    assert {text.get_text() for text in ax.texts} == {"LDC", "quadratic"}


def test_one_colour_for_all_has_other_dashes_and_labels_may_be_a_list():
    ax = plot.quantile_curves(made("a", "b"), (), None, color="0.3", label=["first", "second"])
    assert list(drawn(ax)) == ["first", "second"]
    assert len(set(looks(ax))) == 2 and len({colour for colour, _ in looks(ax)}) == 1
    assert drawn(plot.quantile_curves(made("a"), c="C1", label="x"))["x"].get_color() == "#FF7F0E"


FIGURES = {
    "by_repetitions": lambda c, p, **s: plot.by_repetitions(
        c.mean("repetition").rename(n="repetitions"), **s
    ),
    "inverse_cdf": lambda c, p, **s: plot.inverse_cdf(c.sel(n=10), **s),
    "learning_curves": lambda c, p, **s: plot.learning_curves(c, **s),
    "lifetime_curves": lambda c, p, **s: plot.lifetime_curves(
        c.rename(repetition="trial", n="episode", learner="algorithm"), **s
    ),
    "lifetime_returns": lambda c, p, **s: plot.lifetime_returns(
        {name: c.sel(n=10, learner=name).values for name in ("LDC", "ours")}, **s
    ),
    "non_gaussian_panels": lambda c, p, **s: plot.non_gaussian_panels(
        c.assign_coords(fraction=("n", c["n"].values / 400)), **s
    ),
    "non_gaussian_share": lambda c, p, **s: plot.non_gaussian_share(
        c.assign_coords(fraction=("n", c["n"].values / 400)), **s
    ),
    "profile": lambda c, p, **s: plot.profile(analysis.profile(c, kind="gap"), **s),
    "quantile_curves": lambda c, p, **s: plot.quantile_curves(c, **s),
    "small_multiples": lambda c, p, **s: plot.small_multiples(c, **s),
    "shapes": lambda c, p, **s: plot.shapes(c[1], analysis.shape(c[1]), **s),
    "forecast": lambda c, p, **s: plot.forecast(c[1], **s),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_with_lines_take_style(name):
    given = {"colors": {"ours": "#123456"}, "linewidth": 2.5, "title": "", "figsize": (4, 3)}
    axes = np.ravel(FIGURES[name](made("LDC", "ours"), None, **given))
    lines = [line for ax in axes for line in ax.lines if to_hex(line.get_color()) == "#123456"]
    assert 2.5 in {line.get_linewidth() for line in lines}
    figure = axes[0].figure
    assert figure.get_size_inches().tolist() == [4, 3] and not figure.get_suptitle()
    assert not any(ax.get_title(loc="left") for ax in axes) or len(axes) > 1


def test_figures_without_lines_of_learners_take_title_and_colours():
    with lcdb.tutorial() as db:
        pair = [db.curve("iris", name) for name in ("QDC", "LDC")]
        curves = db.select(**LABELS)
        last = {key: scores.dropna("n").isel(n=-1) for key, scores in curves.items()}
        cells = curves[61].load()
    style = {"title": "T", "colors": {"LDC": "red"}}
    found = {
        "aggregates": plot.aggregates(analysis.aggregate(last, resamples=9), **style),
        "crossings": plot.crossings(analysis.crossing(*pair, resamples=9), **style),
        "distributions": plot.distributions(cells.sel(n=20), **style),
        "rank_map": plot.rank_map(analysis.rank_change(cells, 0.05), **style),
    }
    for name, ax in found.items():
        artists = [*ax.lines, *ax.get_yticklabels()]
        assert "#ff0000" in {to_hex(artist.get_color()) for artist in artists}, name
    plain = [
        plot.differences(analysis.compare(*pair, resamples=9), title="T"),
        plot.powers(analysis.power(*pair, [5], studies=9), title="T"),
        plot.early_choices(analysis.halving(cells), title="T"),
        plot.rejection_map(xr.DataArray([[5.0]], {"a": ["x"], "b": [1]}, ("a", "b")), title="T"),
    ]
    assert {ax.get_title() for ax in (*found.values(), *plain)} == {"T"}
    assert not any(ax.get_title(loc="left") for ax in (*found.values(), *plain))


def test_choices_and_decompositions_take_style():
    chosen = xr.Dataset(
        {"choice": (("n", "repetition"), np.zeros((4, 50), np.int8))},
        {"n": [10, 20, 40, 80], "grid": [1, 6, 11]},
        {"parameter": "neighbors", "metric": "auc", "learner": "NNC"},
    )
    ax = plot.choices(chosen, title="T", color="blue")
    assert ax.get_title() == "T" and to_hex(ax.lines[0].get_color()) == "#0000ff"
    parts = xr.Dataset({"brier": ("n", [0.5, 0.3]), "brier_bias": ("n", [0.1, 0.2])}, {"n": [5, 9]})
    assert plot.bias_variance(parts, title="T").get_title() == "T"
    rates = pd.DataFrame({"honest": [60.0], "published": [97.9]}, index=["NMC"])
    ax = plot.decomposition(rates, title="T", figsize=(3, 2))
    assert ax.get_title() == "T" and ax.figure.get_size_inches().tolist() == [3, 2]


def test_draw_takes_axes_and_style():
    with lcdb.tutorial() as db:
        _, ax = plt.subplots()
        assert plot.draw(db, "means", dataset="iris", ax=ax, title="Mine", lw=4) is ax
        assert ax.get_title() == "Mine" and {line.get_linewidth() for line in ax.lines} == {4}
        with pytest.raises(ArgumentError, match="several panels; without ax"):
            plot.draw(db, "curves", dataset="iris", ax=ax)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"colour": "red"}, r"no 'colour'\. Did you mean 'color'"),
        ({"color": "redish"}, "'redish' is no colour"),
        ({"colors": ["red"]}, "expected colours by name"),
        ({"colors": {"QDC": "red"}}, "colors names QDC; the figure has LDC, ours"),
        ({"label": "one"}, "the figure has 2 lines: LDC, ours"),
        ({"lw": 1, "linewidth": 2}, "linewidth"),
        ({"ax": "axes", "figsize": (3, 3)}, "figsize is the size of a new figure"),
        ({"band": 1.5}, r"band is 1\.5"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, said):
    given = {key: plt.subplots()[1] if key == "ax" else value for key, value in given.items()}
    with pytest.raises((ArgumentError, LabelError), match=said):
        plot.learning_curves(made("LDC", "ours"), **given)


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["learning_curves", "quantile_curves"])
def test_a_later_log_axis_shows_the_whole_curve(name):
    """The first figure of the first notebook was a vertical line."""
    with lcdb.tutorial() as db:
        ax = getattr(plot, name)(db.curve("iris", "LDC"), log=False)
        ax.set_xscale("log")
    ax.figure.canvas.draw()
    x = ax.lines[0].get_xdata()
    low, high = ax.get_xlim()
    assert low <= x.min() and high >= x.max() and low > x.min() / 2 and high < 2 * x.max()


@pytest.mark.parametrize("name", ["by_repetitions", "inverse_cdf", "non_gaussian_share", "profile",
                                  "learning_curves", "lifetime_curves"])  # fmt: skip
def test_limits_follow_what_is_drawn_later(name):
    ax = FIGURES[name](made("LDC", "ours"), None)
    assert ax.get_autoscalex_on() and ax.get_autoscaley_on()
    ax.plot([3.0, 1e4], [-500.0, 900.0])
    assert ax.get_xlim()[1] >= 1e4 and ax.get_ylim()[0] <= -500 and ax.get_ylim()[1] >= 900


def test_percentages_have_the_whole_scale():
    for name in ("by_repetitions", "non_gaussian_share"):
        ax = FIGURES[name](made("LDC", "ours"), None)
        low, high = ax.get_ylim()
        assert -5 < low < 0 and 100 < high < 105


# -- room ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["constrained", None])
@pytest.mark.parametrize("inches", [3.3, 7.0])
def test_legends_and_labels_stand_beside_data_and_in_the_figure(inches, layout):
    with lcdb.tutorial() as db:
        curve = db.curve("iris", "QDC", sampling="random", split="varying")
        other = db.curve("iris", "LDC", sampling="random", split="varying")
        crossed = analysis.crossing(curve, other, resamples=9)
        shape = analysis.shape(curve)
        figures = {
            "crossings": lambda ax: plot.crossings(crossed, ax),
            "shapes": lambda ax: plot.shapes(curve, shape, ax),
            "long names": lambda ax: plot.learning_curves(
                made("ours", "StandardScaler+LogisticRegression"), ax=ax
            ),
            "short names": lambda ax: plot.learning_curves(made("LDC", "QDC"), ax=ax),
        }
        for name, draw in figures.items():
            figure, ax = plt.subplots(figsize=(inches, 0.8 * inches), layout=layout)
            draw(ax)
            figure.canvas.draw()
            frame, whole = ax.get_window_extent(), figure.bbox
            legend = ax.get_legend()
            texts = [legend] if legend else list(ax.texts)
            assert texts, name
            for text in texts:
                box = text.get_window_extent()
                end = ax.transData.transform((max(ax.dataLim.x1, 0), 0))[0]
                assert box.x0 >= end or box.y1 <= frame.y0, (name, box, frame)
                assert whole.x0 <= box.x0 and box.x1 <= whole.x1 + 1, (name, box)
                assert whole.y0 - 1 <= box.y0 and box.y1 <= whole.y1, (name, box)
            assert frame.width > 0.4 * whole.width, name


def test_learners_have_their_long_names_where_there_is_room():
    def texts(inches):
        ax = plot.learning_curves(made("LDC", "ours"), figsize=(inches, 3))
        return {text.get_text() for text in ax.texts}

    assert texts(5.6) == {"LDC", "ours"}
    assert texts(7) == {"linear discriminant classifier", "ours"}
    assert {long_name(name) for name in LEARNERS}.isdisjoint(LEARNERS)


def test_captions_are_broken_between_what_they_list():
    assert broken(80.0, "line: mean; band: ± 2 sd") == "line: mean;\nband: ± 2 sd"
    assert broken(900.0, "iris · random (all)") == "iris · random (all)"
    assert broken(60.0, "distance (gap of means)") == "distance\n(gap of means)"


# -- learning curves -------------------------------------------------------------------------------


def test_learning_curves_are_means_with_a_band_around_one():
    with lcdb.tutorial() as db:
        curve = db.curve("iris", "LDC", sampling="random", split="varying").load()
        every = db.select("iris", **LABELS)
    ax = plot.learning_curves(curve)
    there = curve.dropna("n")
    np.testing.assert_allclose(drawn(ax)["LDC"].get_ydata(), there.mean("repetition"))
    band = ax.collections[0].get_paths()[0].vertices
    at = band[np.isclose(band[:, 0], 20.0), 1]
    expected = np.quantile(there.sel(n=20), [0.05, 0.95])
    assert (at.min(), at.max()) == pytest.approx(tuple(expected))
    assert "band: middle 90 % of repetitions" in ax.get_title(loc="left")
    assert (
        ax.get_xscale() == "log" and plot.learning_curves(curve, log=False).get_xscale() == "linear"
    )
    several = plot.learning_curves(every)
    assert list(drawn(several)) == ["NMC", "LDC", "QDC", "NNC"] and not several.collections
    assert len(plot.learning_curves(every, band=0.5).collections) == 4
    assert not plot.learning_curves(curve.mean("repetition")).collections


def test_learning_curves_take_mappings_lists_datasets_and_summaries():
    with lcdb.tutorial() as db:
        labels = {"sampling": "random", "tuning": "default"}
        ways = {
            s: db.curve("iris", "LDC", sampling="random", split=s) for s in ("fixed", "varying")
        }
        ax = plot.learning_curves(ways)
        assert list(drawn(ax)) == ["fixed", "varying"]
        assert ax.get_title(loc="left") == "iris · random · fixed and varying · accuracy"
        pair = [db.curve("iris", name) for name in ("LDC", "QDC")]
        assert list(drawn(plot.learning_curves(pair))) == ["LDC", "QDC"]
        lone = db.select(
            "iris", learner="LDC", sampling="random", split="varying", tuning=["default"]
        )
        assert list(drawn(plot.learning_curves(lone))) == ["LDC"]
        assert len(plot.quantile_curves(lone[61]).lines) == 3
        whole = db["iris"].sel(split="varying", **labels)
        assert plot.learning_curves(whole, "brier").get_ylabel() == "Brier score"
        both = db.select(learner="LDC", split="varying", **labels)
        assert list(drawn(plot.learning_curves(both))) == ["balance-scale", "iris"]
        with pytest.raises(LabelError, match="two curves are named 'LDC'"):
            plot.learning_curves([pair[0], pair[0]])
        with pytest.raises(LabelError, match=r"no metric 'acuracy'\. Did you mean 'accuracy'"):
            plot.learning_curves(whole, metric="acuracy")
        with pytest.raises(LabelError, match="several labels of split"):
            plot.learning_curves(db.select("iris", split=["fixed", "varying"], **labels))
        with pytest.raises(LabelError, match="nothing to draw"):
            plot.learning_curves({})
    with lcdb.reference() as db:
        cells = db["iris"].sel(learner=["LDC", "QDC"], split="varying", **labels)
        ax = plot.learning_curves(cells, "auc", band=0.9)
        expected = cells["mean"].sel(metric="auc", learner="QDC").dropna("n")
        np.testing.assert_allclose(drawn(ax)["QDC"].get_ydata(), expected)
        assert len(ax.collections) == 2 and ax.get_ylabel() == "AUC"


def test_returns_of_lifetimes_are_answered_with_the_other_function():
    returns = xr.DataArray(np.zeros((2, 9, 30)), dims=("algorithm", "trial", "episode"))
    for call in (
        lambda: plot.learning_curves(returns, window=3),
        lambda: plot.learning_curves(returns, 3),
        lambda: plot.learning_curves(returns),
        lambda: plot.learning_curves(xr.Dataset({"window_mean": ("window", [1.0])})),
    ):
        with pytest.raises(LabelError, match=r"lcdb\.plot\.lifetime_curves draws them"):
            call()
    with pytest.raises(LabelError, match=r"lcdb\.plot\.learning_curves draws learning curves"):
        plot.lifetime_curves(made("LDC"))


def test_style_says_what_it_takes():
    assert Style.of({"lw": 2, "color": "red"}).line == {"linewidth": 2}
    with pytest.raises(ArgumentError, match="takes no 'marker'"):
        Style.of({"marker": "x"}, "title", "figsize")
