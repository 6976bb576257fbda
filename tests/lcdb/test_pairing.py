"""Which arrays are paired: those whose repetitions have the same rows, and no others."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

import numpy as np
import pytest
import xarray as xr
from lcdb_builders.domain.sampling import Draws
from scipy import stats as scipy_stats
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import lcdb
from lcdb import analysis, stats
from lcdb.errors import ArgumentError, LabelError
from tests.support.counts import counts

SIZES = [10, 20, 40]


class Item(NamedTuple):
    """An array, and what it is of: metric, sizes, and the rows of a cell as bytes of their data."""

    array: xr.DataArray
    metric: str
    n: tuple[int, ...]
    rows: Callable[[int, int], object]
    rest: str = ""


def iris():
    lines = (files("lcdb.data") / "iris.arff").read_text("utf-8").splitlines()
    cells = [line.split(",") for line in lines if line[:1].isdigit()]
    return np.array([row[:4] for row in cells], float), np.array([row[4] for row in cells])


def of_database(db, dataset, learner, sampling, split, metric):
    attrs = db[dataset].attrs
    curve = db.curve(dataset, learner, sampling=sampling, split=split, metric=metric)
    curve = curve.sel(n=[n for n in SIZES if n in curve.n.values]).load().dropna("n")
    draws = Draws(
        int(attrs["n_rows"]), attrs["dataset_sha256"], int(attrs["master_seed"]), sampling, split
    )

    def rows(n, r):
        return attrs["dataset_sha256"], draws.train(n, r).tolist(), draws.test(n, r).tolist()

    return Item(curve, metric, tuple(curve.n.values.tolist()), rows)


def of_own_data(learner, X, y, metric, seed=0, splits=None, **options):
    key = lcdb.learning_curve(learner, X, y, sizes=[10], repetitions=1, workers=1)
    sha256 = key.attrs["dataset_sha256"]  # which draws are keyed by: replayed below
    split = options.get("split", "varying") if splits is None else splits
    options = {**options, "split": split, "seed": seed, "repetitions": 3, "workers": 1}
    curve = lcdb.learning_curve(learner, X, y, sizes=SIZES, metrics=[metric], **options)
    drawn = split if splits is None else "varying"
    draws = Draws(len(y), sha256, seed, options.get("sampling", "random"), drawn)
    given = None if splits is None else list(splits.split(X, y))

    def rows(n, r):
        train, test = (
            (draws.train(n, r), draws.test(n, r)) if given is None else
            (given[r][0][:n], given[r][1])
        )  # fmt: skip
        return sha256, train.tolist(), test.tolist()

    return Item(curve[metric], metric, tuple(SIZES), rows)


@pytest.fixture(scope="module")
def items():
    found = []
    with lcdb.tutorial() as db:
        for learner, sampling, split, metric in [
            ("LDC", "random", "varying", "auc"), ("QDC", "random", "varying", "auc"),
            ("NMC", "random", "varying", "auc"), ("LDC", "additive", "varying", "auc"),
            ("LDC", "bootstrap", "varying", "auc"), ("QDC", "random", "fixed", "auc"),
            ("NMC", "random", "fixed", "auc"), ("QDC", "random", "varying", "brier"),
            ("LDC", "random", "varying", "accuracy"), ("NMC", "additive", "varying", "auc"),
        ]:  # fmt: skip
            for dataset in ("iris", "balance-scale"):
                found.append(of_database(db, dataset, learner, sampling, split, metric))
    X, y = iris()
    bayes, tree = GaussianNB(), DecisionTreeClassifier(random_state=0)
    noise = X + np.random.default_rng(0).normal(0, 0.1, X.shape)
    found += [
        # The same rows and seed as the tutorial's: paired with its curves.
        of_own_data(bayes, X, y, "auc", seed=2026),
        of_own_data(tree, X, y, "auc", seed=2026),
        of_own_data(bayes, X, y, "auc", seed=2026, sampling="bootstrap"),
        of_own_data(bayes, X, y, "auc", seed=1),
        of_own_data(tree, X, y, "auc", seed=1),
        of_own_data(tree, X, y, "brier", seed=1),
        of_own_data(bayes, X, y, "auc", seed=1, split="fixed"),
        of_own_data(bayes, X, y, "auc", seed=1, scaling="standard"),
        of_own_data(bayes, noise, y, "auc", seed=1),
        of_own_data(bayes, X, y, "auc", splits=ShuffleSplit(3, test_size=0.3, random_state=1)),
        of_own_data(tree, X, y, "auc", splits=ShuffleSplit(3, test_size=0.3, random_state=1)),
        of_own_data(bayes, X, y, "auc", splits=ShuffleSplit(3, test_size=0.3, random_state=2)),
    ]
    for one in list(found):
        if 20 in one.n and one.metric == "auc":
            found.append(one._replace(array=one.array.sel(n=20), n=(20,)))
            found.append(one._replace(array=one.array.sel(n=one.n[0]), n=(one.n[0],)))
    return found


def pairable(one: Item, other: Item) -> bool:
    """Return whether repetition r of both has the same rows of the same data, by their replay."""
    if one.metric != other.metric or one.array.ndim != other.array.ndim:
        return False
    common = sorted(set(one.n) & set(other.n))
    return bool(common) and all(
        one.rows(n, r) == other.rows(n, r) for n in (common[0], common[-1]) for r in (0, 2)
    )


def kind(item: Item) -> tuple[object, ...]:
    labels = (str(item.array[label].values) for label in ("sampling", "split"))
    return item.metric, item.array.ndim, *labels


@pytest.mark.slow
def test_of_200_random_pairs_exactly_those_of_the_same_rows_are_paired(items):
    rng = np.random.default_rng(0)
    verdicts = []
    for _ in range(200):
        i = rng.integers(len(items))
        # Half of the pairs are of two of one kind, so that there is something to accept.
        alike = [k for k, item in enumerate(items) if kind(item) == kind(items[i])]
        j = rng.choice(alike) if rng.random() < 0.5 else rng.integers(len(items))
        one, other = items[i], items[int(j)]
        expected = pairable(one, other)
        verdicts.append(expected)
        function = [analysis.compare, analysis.repetitions_for, analysis.power][rng.integers(3)]
        options = {analysis.compare: {"resamples": 2}, analysis.power: {"studies": 2}}
        if expected:
            function(one.array, other.array, **options.get(function, {}))
            continue
        with pytest.raises(LabelError):
            function(one.array, other.array, **options.get(function, {}))
        common = set(one.n) & set(other.n) or one.array.ndim != other.array.ndim
        if one.metric == other.metric and (common or len(one.n) == 1):
            result = function(one.array, other.array, paired=False, **options.get(function, {}))
            assert result.attrs["design"] == "unpaired"
    assert 30 < sum(verdicts) < 170


@pytest.fixture(scope="module")
def curves():
    with lcdb.tutorial() as db:
        yield {
            (learner, sampling, split): db.curve(
                "iris", learner, sampling=sampling, split=split
            ).dropna("n").load()
            for learner in ("LDC", "QDC")
            for sampling, split in (("random", "varying"), ("bootstrap", "varying"),
                                    ("random", "fixed"))
        }  # fmt: skip


def test_messages_say_which_label_differs_and_what_to_do(curves):
    a, b = curves["LDC", "random", "varying"], curves["QDC", "random", "varying"]
    for other, said in [
        (curves["QDC", "bootstrap", "varying"], "sampling differs: random and bootstrap"),
        (curves["QDC", "random", "fixed"], "split differs: varying and fixed"),
        (b.assign_coords(draws="005270c0da6f/7"), "seed differs: 2026 and 7"),
        (b.assign_coords(draws="0123/2026"), "dataset differs: 005270c0da6f and 0123"),
        (b.sel(n=20), "n differs: several and 20"),
    ]:
        with pytest.raises(LabelError, match=f"{said}, so that repetition r.*paired=False"):
            analysis.crossing(a, other, resamples=5)
    with pytest.raises(LabelError, match="metric differs: accuracy and brier"):
        analysis.compare(a, b.rename("brier"), paired=False)
    bare = [x.drop_vars([*x.coords]) for x in (a, b)]
    assert analysis.compare(*bare, resamples=2).attrs["design"] == "paired"
    with pytest.raises(LabelError, match="200 and 150 repetitions, without labels"):
        analysis.compare(bare[0], bare[1][:, :150])
    # Of one scaling and another the rows are the same.
    assert analysis.compare(a, a.assign_coords(scaling="standard"), resamples=2)["t_p"].min() == 1


def test_what_lies_along_a_dim_is_checked_as_well(curves):
    three = xr.concat(
        [curves["LDC", *draws] for draws in (("random", "varying"), ("bootstrap", "varying"))],
        "learner", coords="different", compat="equals",
    ).assign_coords(learner=["A", "B"])  # fmt: skip
    cell = three.sel(n=20)
    for call in (
        lambda x: analysis.compare(x, resamples=5),
        lambda x: analysis.dominance(x, bootstraps=5),
        lambda x: analysis.aggregate({61: x}, resamples=5),
        lambda x: analysis.paired_normality(x),
    ):
        with pytest.raises(LabelError, match="sampling differs: random and bootstrap"):
            call(cell)
    for function in (analysis.halving, analysis.lccv):
        with pytest.raises(LabelError, match=r"select one sampling for both$"):
            function(three)
    apart = analysis.dominance(cell, bootstraps=50, paired=False)
    assert apart.attrs["design"] == "unpaired" and apart["p"].notnull().sum() == 2
    loose = analysis.aggregate({61: cell}, resamples=5, paired=False)
    np.testing.assert_allclose(loose["mean"], cell.mean("repetition"))
    other = curves["QDC", "random", "fixed"].sel(n=20).expand_dims(learner=["A"])
    one = curves["LDC", "random", "varying"].sel(n=20).expand_dims(learner=["A"])
    with pytest.raises(LabelError, match="split differs: varying of dataset 61 and fixed of 11"):
        analysis.aggregate({61: one, 11: other}, resamples=5)
    with pytest.raises(LabelError, match="metric differs"):
        analysis.profile({61: one, 11: other.rename("auc")})


def test_numbers_of_test_rows_belong_to_the_scores(curves):
    with lcdb.tutorial() as db:
        iris, scale = (db[name].n_test.load() for name in ("iris", "balance-scale"))
    curve = curves["LDC", "random", "fixed"]
    with pytest.raises(LabelError, match="split differs"):
        analysis.normality(curve, iris.sel(sampling="random", split="varying"))
    other = scale.sel(sampling="random", split="fixed")
    with pytest.raises(LabelError, match="dataset or seed differs"):
        analysis.normality(curve, other)
    with pytest.raises(LabelError, match="is no share of"):
        analysis.normality(curve, other.drop_vars("draws").sel(n=curve.n, method="nearest")
                           .assign_coords(n=curve.n))  # fmt: skip


# -- without pairs ---------------------------------------------------------------------------------


def test_unpaired_statistics_are_scipys(curves):
    a, b = curves["LDC", "random", "varying"], curves["QDC", "bootstrap", "varying"]
    found = analysis.compare(a, b[:, :150], (0.25,), paired=False, resamples=60, seed=3,
                             confidence=0.9)  # fmt: skip
    assert (found.attrs["first"], found.attrs["second"]) == ("LDC, random", "QDC, bootstrap")
    for n in (10, 40):
        x, y = a.sel(n=n).values, b.sel(n=n).values[:150]
        cell = found.sel(n=n)
        welch = scipy_stats.ttest_ind(x, y, equal_var=False)
        ends = welch.confidence_interval(0.9)
        np.testing.assert_allclose(cell["t_p"], welch.pvalue, rtol=1e-9)
        np.testing.assert_allclose([cell["mean_low"], cell["mean_high"]], ends, rtol=1e-9)
        ranks = scipy_stats.mannwhitneyu(x, y, method="asymptotic")
        np.testing.assert_allclose(cell["mann_whitney_p"], ranks.pvalue, rtol=1e-9)
        np.testing.assert_allclose(cell["better"], ranks.statistic / (200 * 150), rtol=1e-12)
        assert cell["better_low"] < cell["better"] < cell["better_high"]
        assert (cell["first_count"], cell["second_count"]) == (200, 150)
        hd = stats.harrell_davis(x, [0.25]) - stats.harrell_davis(y, [0.25])
        np.testing.assert_allclose(cell["quantile_difference"], hd)
        assert cell["quantile_low"] < hd < cell["quantile_high"]
    loss = analysis.compare(a, b, paired=False, resamples=5, direction="minimize")
    gain = analysis.compare(a, b, paired=False, resamples=5)
    np.testing.assert_allclose(loss["better"], 1 - gain["better"])
    assert {"wilcoxon_p", "sign_p", "count", "sd"}.isdisjoint(found.data_vars)
    with pytest.raises(ArgumentError, match="test_rows is of the corrected t-test"):
        analysis.compare(a, b, paired=False, test_rows=a)
    text = analysis.in_words(found.sel(n=40))
    assert (
        "200 and 150 repetitions without pairs" in text and "pairs of a repetition of each" in text
    )


def test_all_pairs_along_a_dim_without_pairs(curves):
    with lcdb.tutorial() as db:
        draws = db.select("iris", learner="LDC", sampling=None, split="varying")[61]
        draws = draws.sel(n=[10, 40]).load()
    with pytest.raises(LabelError, match="sampling differs: additive and random"):
        analysis.compare(draws, dim="sampling")
    every = analysis.compare(draws, dim="sampling", paired=False, resamples=20)
    assert every.sizes["pair"] == 3
    alone = analysis.compare(draws[1], draws[2], paired=False, resamples=20)
    for name in alone.data_vars:
        np.testing.assert_array_equal(alone[name], every[name].isel(pair=2))


def test_unpaired_samples_that_never_vary_and_that_lack_scores():
    same = stats.welch_mean(np.full(5, 0.3), np.full(7, 0.1 + 0.2))
    assert (same.mean, same.low, same.high, same.p) == (0, 0, 0, 1)
    apart = stats.welch_mean(np.full(5, 0.5), np.full(7, 0.25))
    assert apart.low == apart.high == 0.25 and apart.p == 0
    assert np.isnan(stats.welch_mean(np.array([1.0]), np.arange(3.0)).p)
    assert stats.mann_whitney(np.ones(4), np.ones(6)) == 1
    x = np.array([1.0, np.nan, 3.0, 5.0])
    np.testing.assert_allclose(
        stats.mann_whitney(x, np.arange(4.0)), stats.mann_whitney(x[[0, 2, 3]], np.arange(4.0))
    )
    one = stats.unpaired_superiority(np.ones(4), np.ones(3))
    assert tuple(one) == (0.5, 0.5, 0.5)
    whole = stats.unpaired_superiority(np.arange(30.0) + 50, np.arange(30.0))
    assert abs(whole.share - 1) < 1e-12 and whole.high == whole.share and 0.8 < whole.low < 1
    few = stats.unpaired_quantile_differences(np.array([1.0, np.nan]), np.arange(3.0), [0.5], 5)
    assert np.isnan(few.low).all()


@pytest.mark.slow
def test_unpaired_intervals_cover():
    rng = np.random.default_rng(5)
    times = counts(300, 3000)
    inside = np.zeros(3)
    x, y = rng.normal(0.5, 1.0, (times, 60)), rng.normal(0.0, 2.0, (times, 35))
    true = scipy_stats.norm.cdf(0.5 / np.sqrt(5))
    mean, better = stats.welch_mean(x, y), stats.unpaired_superiority(x, y)
    inside[0] = ((mean.low <= 0.5) & (mean.high >= 0.5)).mean()
    inside[1] = ((better.low <= true) & (true <= better.high)).mean()
    curves = rng.normal(size=(times, 4, 60)), rng.normal(1.0, 1.0, (times, 4, 35))
    bands = [
        stats.difference_band(a, b, None, 300, paired=False) for a, b in zip(*curves, strict=True)
    ]
    inside[2] = np.mean([((band.low <= -1) & (band.high >= -1)).all() for band in bands])
    slack = 0.015 + 3 * np.sqrt(0.95 * 0.05 / times)
    assert (abs(inside - 0.95) <= slack).all(), inside


def test_bands_without_pairs_are_a_plain_bootstrap_and_wider_than_with():
    rng = np.random.default_rng(6)
    common = rng.normal(size=(3, 80))
    a, b = common + 0.2, common + 0.05 * rng.normal(size=(3, 80))
    paired, apart = (stats.difference_band(a, b, None, 400, paired=p) for p in (True, False))
    assert ((apart.high - apart.low) > 5 * (paired.high - paired.low)).all()
    error = np.sqrt(a.var(axis=1, ddof=1) / 80 + b.var(axis=1, ddof=1) / 80)
    np.testing.assert_allclose((apart.high - apart.low) / 2, apart.critical * error, rtol=1e-12)
    assert 2.0 < apart.critical < 3.0
    tail = stats.difference_band(a, b[:, :50], 0.5, 200, paired=False)
    hd = stats.harrell_davis(a, [0.5]) - stats.harrell_davis(b[:, :50], [0.5])
    np.testing.assert_allclose(tail.difference, hd[:, 0])
    holed = b.copy()
    holed[1] = np.nan
    gap = stats.difference_band(a, holed, None, 50, paired=False)
    assert np.isnan(gap.low[1]) and np.isfinite(gap.low[[0, 2]]).all()


@pytest.mark.slow
def test_studies_without_pairs(curves):
    a, b = (
        curves["LDC", "random", "varying"].sel(n=20),
        curves["QDC", "bootstrap", "varying"].sel(n=20),
    )
    for test in ("t", "wilcoxon"):
        found = analysis.power(a, b, [4, 30], test, paired=False, studies=300)
        assert found["power"][0] < found["power"][1] and found["wrong_sign"].max() < 0.05
    with pytest.raises(ArgumentError, match="test is 'sign', which takes pairs; expected t or"):
        analysis.power(a, b, test="sign", paired=False)
    needed = analysis.repetitions_for(a, b, 0.8, paired=False)
    number = int(needed["repetitions"])
    x, y = a.values, b.values
    effect = (x.mean() - y.mean()) / np.hypot(x.std(ddof=1), y.std(ddof=1))
    freedom = (x.var() + y.var()) ** 2 / (x.var() ** 2 + y.var() ** 2)
    np.testing.assert_allclose(abs(effect), abs(needed["effect"]))
    assert stats.power_of_t(effect, number, 0.05, freedom) >= 0.8
    assert number == 2 or stats.power_of_t(effect, number - 1, 0.05, freedom) < 0.8
    simulated = analysis.power(a, b, [number], paired=False, studies=2000)["power"]
    assert abs(float(simulated[0]) - 0.8) < 0.12
    assert "repetitions of each" in analysis.in_words(needed) and "Welch" in analysis.in_words(
        needed
    )
    with lcdb.reference() as small:
        part = small["iris"].sel(metric="accuracy", tuning="default", split="varying", n=20)
        sides = [part.sel(learner="LDC", sampling=one) for one in ("random", "bootstrap")]
        with pytest.raises(LabelError, match="sampling differs"):
            analysis.repetitions_for(*sides)
        loose = analysis.repetitions_for(*sides, paired=False)
        assert "spread" not in loose.attrs and loose["repetitions"] > 2


def test_a_crossing_without_pairs(curves):
    a, b = curves["LDC", "random", "varying"], curves["QDC", "bootstrap", "varying"]
    found = analysis.crossing(a, b, paired=False, resamples=100)
    np.testing.assert_allclose(found["difference"], (a.mean("repetition") - b.mean("repetition")))
    assert ", without pairs)" in analysis.in_words(found)


# -- statistics without pairs, by other confidences, levels and streams ----------------------------


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(4)
    return rng.normal(0.72, 0.1, 60), rng.normal(0.7, 0.2, 90)


def test_intervals_of_another_confidence(samples):
    x, y = samples
    for confidence in (0.5, 0.8, 0.99):
        right = scipy_stats.ttest_ind(x, y, equal_var=False).confidence_interval(confidence)
        welch = stats.welch_mean(x, y, confidence=confidence)
        np.testing.assert_allclose([welch.low, welch.high], [right.low, right.high])
    narrow, wide = (stats.unpaired_superiority(x, y, confidence=c) for c in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.share == wide.share < narrow.high < wide.high
    asked = {"quantiles": (0.5,), "resamples": 400}
    narrow, wide = (
        stats.unpaired_quantile_differences(x, y, **asked, confidence=c) for c in (0.8, 0.99)
    )
    assert wide.low[0] < narrow.low[0] < narrow.high[0] < wide.high[0]
    other = stats.unpaired_quantile_differences(x, y, **asked, confidence=0.8, seed=9)
    assert other.low[0] != narrow.low[0] and abs(other.low[0] - narrow.low[0]) < 0.02


def test_studies_of_another_level_test_and_stream(samples):
    x, y = samples
    asked = {"repetitions": np.array([30]), "studies": 500}
    power = stats.power_of_unpaired_studies(x, y, **asked)
    strict = stats.power_of_unpaired_studies(x, y, **asked, alpha=1e-4)
    assert strict.found[0] < power.found[0]
    for other in ({"test": "wilcoxon"}, {"seed": 3}):
        found = stats.power_of_unpaired_studies(x, y, **asked, **other).found[0]
        assert found != power.found[0] and abs(found - power.found[0]) < 0.2


def test_repetitions_with_twice_the_freedom_are_the_fewest_that_suffice():
    for effect in (0.3, 0.6, 1.5):
        needed = stats.repetitions_for(np.array(effect), freedom=2.0)
        assert stats.power_of_t(effect, needed, freedom=2.0) >= 0.8
        assert stats.power_of_t(effect, needed - 1, freedom=2.0) < 0.8
        moments = (np.array(effect), np.array(effect / 2), np.array(2 * effect), np.array(1.0))
        assert stats.repetitions_of_moments(*moments, freedom=2.0)[0] == needed


def test_dominance_without_pairs_is_of_two_samples(samples):
    rng = np.random.default_rng(1)
    x, y = samples
    better = x + 0.5
    assert stats.almost_dominates(better[:60], y[:60], rng, bootstraps=200, paired=False).dominates
    assert not stats.almost_dominates(y[:60], better, rng, bootstraps=200, paired=False).dominates
