"""Aggregates over datasets against plain loops and SciPy, and what their tests reject.

Seeds were fixed before any result was looked at.
"""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
import xarray as xr
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

from tests.oracles import comparing as oracle
from tests.support.counts import FULL, counts

matplotlib.use("agg")
import matplotlib.pyplot as plt

import lcdb
from lcdb import analysis, plot, stats
from lcdb.errors import LabelError


@pytest.fixture(scope="module")
def scores():
    """(learner, dataset, repetition), rounded so that some are tied."""
    rng = np.random.default_rng(60)
    x = 0.7 + 0.1 * rng.standard_normal((3, 6, 10)) + 0.1 * rng.standard_normal((6, 1))
    return np.rint(x * 50) / 50


def test_aggregates_are_those_of_plain_loops(scores):
    found = stats.aggregates(scores, target=0.75)
    for i, x in enumerate(scores):
        values = x.ravel().tolist()
        np.testing.assert_allclose(found[0, i], oracle.interquartile_mean(values), rtol=1e-12)
        np.testing.assert_allclose(found[0, i], scipy_stats.trim_mean(values, 0.25), rtol=1e-12)
        means = [sum(row) / len(row) for row in x.tolist()]
        np.testing.assert_allclose(found[1:3, i], [np.median(means), np.mean(means)], rtol=1e-12)
        gap = 0.75 - np.minimum(x, 0.75).mean()
        np.testing.assert_allclose(found[3, i], gap, rtol=1e-12)
    loss = stats.aggregates(scores, 0.6, "minimize")[3]
    np.testing.assert_allclose(loss, np.maximum(scores - 0.6, 0).mean((1, 2)), rtol=1e-12)


def test_improvement_counts_all_pairs_of_repetitions(scores):
    x, y = scores[:2]
    expected = oracle.improvement(x.tolist(), y.tolist())
    np.testing.assert_allclose(stats.improvement(x, y), expected, rtol=1e-12)
    by_scipy = np.mean(
        [scipy_stats.mannwhitneyu(a, b).statistic / 100 for a, b in zip(x, y, strict=True)]
    )
    np.testing.assert_allclose(expected, by_scipy, rtol=1e-12)


def test_intervals_are_percentiles_of_a_stratified_bootstrap(scores):
    low, high = stats.resampled_aggregates(scores, resamples=30, seed=5, confidence=0.8)
    rng = np.random.default_rng(5)
    drawn = []
    for _ in range(30):
        places = rng.integers(0, 10, (6, 10))
        resampled = [[x[d][places[d]] for d in range(6)] for x in scores]
        drawn.append([oracle.interquartile_mean(np.ravel(x).tolist()) for x in resampled])
    np.testing.assert_allclose([low[0], high[0]], np.quantile(drawn, [0.1, 0.9], 0), rtol=1e-12)
    short = stats.resampled_aggregates(scores, 0.6, "minimize", 30, 5, 0.8)[0][3]
    gaps = stats.aggregates(scores, 0.6, "minimize")[3]
    assert (short < gaps).all() and (short > 0).all()
    ends = stats.resampled_improvement(scores[0], scores[1], 30, seed=5, confidence=0.8)
    counts_of = np.random.default_rng(5).multinomial(10, np.full(10, 0.1), (6, 2, 30))
    shares = [
        oracle.improvement(
            *(
                [np.repeat(x[d], counts_of[d, side, b]).tolist() for d in range(6)]
                for side, x in enumerate(scores[:2])
            )
        )
        for b in range(30)
    ]
    np.testing.assert_allclose(ends, np.quantile(shares, [0.1, 0.9]), rtol=1e-12)


@pytest.mark.slow
def test_ranks_are_friedmans_and_nemenyis(scores):
    means = scores.mean(-1).T
    means[2, 0] = means[2, 1]
    found = stats.mean_ranks(means, alpha=0.1)
    ranks = scipy_stats.rankdata(-means, axis=-1)
    np.testing.assert_allclose(found.mean_rank, ranks.mean(0))
    expected = scipy_stats.friedmanchisquare(*means.T)
    np.testing.assert_allclose((found.friedman_statistic, found.friedman_p), expected, rtol=1e-12)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        np.testing.assert_allclose(
            found.nemenyi_p[i, j], oracle.nemenyi_p(ranks.tolist(), i, j), atol=1e-12
        )
    wilcoxon = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        d = (means[:, i] - means[:, j]).round(12)
        tied = (d == 0).any() or len(set(np.abs(d))) < 6
        method = "asymptotic" if tied else "exact"
        wilcoxon.append(scipy_stats.wilcoxon(d, method=method).pvalue)
    expected = multipletests(wilcoxon, method="holm")[1]
    np.testing.assert_allclose(found.holm_p[np.triu_indices(3, 1)], expected, rtol=1e-12)
    np.testing.assert_allclose(stats.holm(np.array(wilcoxon)), expected, rtol=1e-12)
    # Demsar's table: 2.052 for three learners at 10 %.
    np.testing.assert_allclose(found.critical_difference, 2.052 * np.sqrt(12 / 36), atol=1e-3)
    few = stats.mean_ranks(means[:, :2], "minimize")
    assert np.isnan(few.friedman_p) and few.nemenyi_p.shape == (2, 2)
    assert np.isnan(stats.mean_ranks(means[:1]).nemenyi_p).all()


def test_tests_of_ranks_have_their_size():
    simulations = counts(500, 10_000)
    means = np.random.default_rng(61).standard_normal((simulations, 20, 5))
    ranks = scipy_stats.rankdata(means, axis=-1)
    friedman = [scipy_stats.friedmanchisquare(*row.T).pvalue < 0.05 for row in ranks]
    apart = stats.mean_ranks(means[0]).critical_difference
    nemenyi = np.ptp(ranks.mean(axis=1), axis=-1) > apart
    rates = 100 * np.mean(friedman), 100 * np.mean(nemenyi)
    print(rates)
    assert max(rates) <= (6 if FULL else 8)
    one = stats.mean_ranks(-means[1])
    assert (one.friedman_p < 0.05) == friedman[1]


@pytest.mark.slow
def test_intervals_of_the_interquartile_mean_cover():
    simulations = counts(80, 2000)
    rng = np.random.default_rng(62)
    levels = rng.uniform(size=(6, 1))
    many = levels + 0.2 * rng.standard_normal((6, 400_000))
    true = float(stats.interquartile_mean(many))
    hits = 0
    for _ in range(simulations):
        x = levels + 0.2 * rng.standard_normal((1, 6, 100))
        low, high = stats.resampled_aggregates(x, resamples=counts(200, 1000))
        hits += low[0, 0] <= true <= high[0, 0]
    rate = 100 * hits / simulations
    print(rate)
    assert abs(rate - 95) <= (2.0 if FULL else 8)


# -- labels ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chosen():
    with lcdb.tutorial() as db:
        labels = {"sampling": "random", "split": "varying", "tuning": "default"}
        parts = db.select(learner=["NMC", "LDC", "QDC"], metric=["accuracy", "brier"], **labels)
        yield {key: part.dropna("n").isel(n=-1).load() for key, part in parts.items()}


def test_learners_over_datasets(chosen):
    accuracy = {key: part["accuracy"] for key, part in chosen.items()}
    options = {"resamples": 60, "seed": 4, "confidence": 0.9}
    found = analysis.aggregate(accuracy, target=0.9, **options)
    x = np.stack([a.transpose("learner", "repetition").values for a in accuracy.values()], axis=1)
    expected = stats.aggregates(x, 0.9)
    for name, values in zip(stats.AGGREGATES, expected, strict=True):
        np.testing.assert_allclose(found[name], values, rtol=1e-12)
        assert (found[f"{name}_low"] <= found[f"{name}_high"]).all()
        assert found[f"{name}_low"].attrs["long_name"].startswith("lower end of: ")
    shares = found["improvement"].values
    np.testing.assert_allclose(shares + shares.T, 1.0)
    assert shares[1, 0] == stats.improvement(x[1], x[0])
    assert found["mean_rank"].values.sum() == 6 and found.attrs["datasets"] == 2
    loss = analysis.aggregate(accuracy, target=0.9, direction="minimize", **options)
    np.testing.assert_allclose(loss["mean_rank"], 4 - found["mean_rank"])
    np.testing.assert_allclose(loss["improvement"], shares.T)


def test_a_sentence_and_a_figure_of_all_learners(chosen):
    found = analysis.aggregate({k: v["accuracy"] for k, v in chosen.items()}, resamples=50)
    text = analysis.in_words(found)
    values = found["interquartile_mean"].values
    best = str(found["learner"].values[values.argmax()])
    assert text.startswith(f"Over 2 datasets {best} has the best interquartile mean accuracy")
    too_few = "2 datasets are too few for a test of ranks to tell any two learners apart"
    assert too_few in text and "rejected" not in text and "pairs" not in text
    rejected = analysis.in_words(found.assign(friedman_p=0.03))
    alike = "that learners rank alike is rejected (Friedman, p = 0.03)"
    assert f"; {alike}, but {too_few}" in rejected
    seven = found.assign(friedman_p=0.3).assign_attrs(datasets=7)  # 2 ** -6 * 3 < 0.05
    none = "is not rejected (Friedman, p = 0.3), and 0 of 3 pairs are told apart (Wilcoxon"
    assert none in analysis.in_words(seven)
    assert too_few.replace("2", "6", 1) in analysis.in_words(seven.assign_attrs(datasets=6))
    pair = seven.assign(holm_p=xr.zeros_like(found["holm_p"])).assign_attrs(datasets=5)
    assert "and 3 of 3 pairs are told apart" in analysis.in_words(pair)  # of tied differences
    two = analysis.aggregate(
        {k: v["brier"].isel(learner=[0, 1]) for k, v in chosen.items()}
        | {"part": chosen[61]["brier"].isel(learner=[0])},
        resamples=20,
    )
    losses = analysis.in_words(two)
    best = str(two["learner"].values[two["interquartile_mean"].values.argmin()])
    assert f"{best} has the best" in losses and "too few" in losses
    assert losses.endswith("Left out: part.")
    _, ax = plt.subplots()
    assert plot.aggregates(found, "optimality_gap", ax) is ax
    names = [label.get_text() for label in ax.get_yticklabels()]
    order = np.argsort(found["optimality_gap"].values)[::-1]
    assert names == found["learner"].values[order].tolist()  # the best at the top
    centre = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "|"]
    np.testing.assert_allclose(centre, found["optimality_gap"].values[order])
    ax.figure.canvas.draw()
    plt.close("all")
    with pytest.raises(LabelError, match="no aggregate 'meen'"):
        plot.aggregates(found, "meen")


def test_several_metrics(chosen):
    both = analysis.aggregate(chosen, resamples=20)
    assert both.metric.values.tolist() == ["accuracy", "brier"]
    alone = analysis.aggregate({k: v["brier"] for k, v in chosen.items()}, resamples=20)
    assert alone.attrs["target"] == 0.0
    for name in alone.data_vars:
        xr.testing.assert_equal(both[name].sel(metric="brier", drop=True), alone[name])


def test_incomplete_datasets_are_left_out_by_name(chosen):
    accuracy = {key: part["accuracy"] for key, part in chosen.items()}
    fewer = {**accuracy, "part": accuracy[61].isel(learner=[0, 1]), "gap": accuracy[61].copy()}
    fewer["gap"] = fewer["gap"].where(fewer["gap"]["repetition"] != 3, accuracy[61] * np.nan)
    fewer["gap"] = fewer["gap"].where(fewer["gap"]["learner"] != "QDC")
    found = analysis.aggregate(fewer, resamples=20)
    assert found.attrs["left_out"] == ["part", "gap"]
    np.testing.assert_array_equal(found["mean"], analysis.aggregate(accuracy, resamples=20)["mean"])
    with pytest.raises(LabelError, match="no dataset has values of all of"):
        analysis.aggregate({"gap": fewer["gap"]})
    with pytest.raises(LabelError, match="select one size of each"):
        analysis.aggregate({61: accuracy[61].expand_dims(n=[5])})
    with pytest.raises(LabelError, match="expected the dict by dataset"):
        analysis.aggregate(accuracy[61])


def test_holm_is_that_of_statsmodels(monkeypatch):
    monkeypatch.setattr("gc.collect", lambda *arguments: 0)  # it does at each call
    rng = np.random.default_rng(3)
    for count in (1, 2, 5, 40):
        for _ in range(counts(20, 200)):
            p = rng.choice([0.0, 1e-300, 0.01, 0.04, 1.0, *rng.random(5)], count)  # with ties
            with_gaps = np.insert(p, rng.integers(0, count + 1, 3), np.nan)
            expected = np.full(with_gaps.shape, np.nan)
            expected[~np.isnan(with_gaps)] = multipletests(p, method="holm")[1]
            np.testing.assert_array_equal(stats.holm(with_gaps), expected)
    np.testing.assert_array_equal(stats.holm(np.full(3, np.nan)), np.full(3, np.nan))
    assert stats.holm(np.array([])).size == 0
