"""Two learners side by side, against SciPy and plain loops; sizes of tests, coverage of intervals.

Seeds were fixed before any result was looked at.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats as scipy_stats

import lcdb
from lcdb import analysis, stats
from lcdb.cli import main
from lcdb.errors import ArgumentError, LabelError
from tests.oracles import comparing as oracle
from tests.support.counts import FULL, counts

SIMULATIONS = counts(1000, 10_000)
#: Reduced counts see a rate to within 4 of its standard errors; full counts to within 1 %.
SLACK = 1.0 if FULL else 2.8
LABELS = {"sampling": "random", "split": "varying", "tuning": "default"}


def rejected(p):
    return 100.0 * np.mean(np.asarray(p) < 0.05)


@pytest.fixture(scope="module")
def pairs():
    """Normal, rounded, tied and equal scores, (case, repetition) of two learners."""
    rng = np.random.default_rng(1)
    a, b = 0.8 + 0.05 * rng.standard_normal((2, 8, 60))
    b[1:3] -= 0.02
    a[2:5], b[2:5] = np.rint(a[2:5] * 50) / 50, np.rint(b[2:5] * 50) / 50
    b[5] = a[5]
    b[6] = a[6] - 0.5
    return a, b


# -- equal to others -------------------------------------------------------------------------------


def test_t_and_its_interval_are_scipys(pairs):
    a, b = pairs
    d, tolerance = stats.differences(a, b)
    found = stats.paired_mean(d, tolerance, confidence=0.9)
    for i in range(5):
        there = scipy_stats.ttest_rel(a[i], b[i])
        interval = there.confidence_interval(0.9)
        np.testing.assert_allclose(found.p[i], there.pvalue, rtol=1e-12)
        np.testing.assert_allclose([found.low[i], found.high[i]], interval, atol=1e-12)
    assert (found.mean[5], found.low[5], found.high[5], found.p[5]) == (0, 0, 0, 1)
    assert found.low[6] == found.high[6] == found.mean[6] and found.p[6] == 0
    assert found.sd[6] == 0


def test_nadeau_and_bengios_p(pairs):
    a, b = pairs
    found = stats.paired_mean(a - b)
    p = stats.corrected_p(found.mean, found.sd, found.pairs, np.full(8, 0.25))
    for i in range(5):
        expected = oracle.corrected_p(list(a[i] - b[i]), training=40, test=10)
        np.testing.assert_allclose(p[i], expected, rtol=1e-12)
    assert stats.corrected_p(0.0, 0.0, 9, 0.1) == 1 and stats.corrected_p(0.1, 0.0, 9, 0.1) == 0


@pytest.mark.parametrize("size", [9, 40, 60])
def test_wilcoxon_and_sign_are_scipys(pairs, size):
    a, b = (x[:, :size] for x in pairs)
    d, tolerance = stats.differences(a, b)
    ranks, signs = stats.wilcoxon(d, tolerance), stats.sign_test(d)
    for i in range(5):
        steps = np.rint(d[i] / tolerance[i])
        plain = size <= 50 and len(set(np.abs(steps))) == size and (steps != 0).all()
        there = scipy_stats.wilcoxon(steps, method="exact" if plain else "asymptotic")
        np.testing.assert_allclose(ranks[i], there.pvalue, rtol=1e-12)
        ahead, behind = int((steps > 0).sum()), int((steps < 0).sum())
        expected = scipy_stats.binomtest(ahead, ahead + behind).pvalue
        np.testing.assert_allclose(signs[i], expected, rtol=1e-12)
    assert ranks[5] == signs[5] == 1


def test_differences_that_rounding_makes_are_ties():
    a = np.array([0.96, 0.92, 0.88, 0.1 + 0.2])
    b = np.array([0.92, 0.88, 0.92, 0.3])
    d, tolerance = stats.differences(a, b)
    assert d[3] == 0 and len(set(np.abs(d[:3]))) > 1
    # Ranks 2, 2, 2: two for a, one for b.
    expected = scipy_stats.wilcoxon([1, 1, -1], method="asymptotic").pvalue
    np.testing.assert_allclose(stats.wilcoxon(d, tolerance), expected, rtol=1e-12)
    assert stats.signed_ranks_of(d, tolerance) == 2.0  # 2 + 2 - 2


def test_better_is_the_share_of_wins_and_half_the_ties(pairs):
    a, b = pairs
    d, _ = stats.differences(a, b)
    found = stats.superiority(d, confidence=0.9)
    z = scipy_stats.norm.ppf(0.95)
    for i in (0, 1, 6):
        share = oracle.better(a[i], b[i])
        np.testing.assert_allclose(found.share[i], share, rtol=1e-12)
        ends = oracle.wilson(share, 60, z)
        np.testing.assert_allclose([found.low[i], found.high[i]], ends, atol=1e-9)
    assert found.share[5] == found.low[5] == found.high[5] == 0.5
    assert (d[2] == 0).any()
    untied = stats.superiority(d[2][d[2] != 0], 0.9)
    assert found.high[2] - found.low[2] < untied.high - untied.low


def test_harrell_davis_and_its_resamples(pairs):
    sample = pairs[0][:2, :30]
    found = stats.harrell_davis(sample, [0.05, 0.5, 0.9])
    for i, q in np.ndindex(2, 3):
        expected = oracle.harrell_davis(list(sample[i]), [0.05, 0.5, 0.9][q])
        np.testing.assert_allclose(found[i, q], expected, rtol=1e-12)
    expected = scipy_stats.mstats.hdquantiles(sample[0], [0.05, 0.5, 0.9])
    np.testing.assert_allclose(found[0], expected, rtol=1e-10)
    drawn = stats.bootstrap_counts(30, 7, seed=3)
    rows = stats.resampled_quantiles(np.rint(sample * 20), [0.05, 0.5], drawn)
    for i, b in np.ndindex(2, 7):
        resample = np.repeat(np.rint(sample[i] * 20), drawn[:, b])
        np.testing.assert_allclose(rows[i, :, b], stats.harrell_davis(resample, [0.05, 0.5]))


def test_quantile_differences_are_the_percentiles_of_a_plain_bootstrap():
    x = np.random.default_rng(2).gamma(2.0, size=(3, 40))
    first, second = np.array([0, 0]), np.array([1, 2])
    found = stats.quantile_differences(x, first, second, [0.3], 50, seed=4, confidence=0.8)
    drawn = stats.bootstrap_counts(40, 50, seed=4)
    for pair in range(2):
        resampled = [
            oracle.harrell_davis(list(np.repeat(x[0], drawn[:, b])), 0.3)
            - oracle.harrell_davis(list(np.repeat(x[pair + 1], drawn[:, b])), 0.3)
            for b in range(50)
        ]
        ends = np.quantile(resampled, [0.1, 0.9])
        np.testing.assert_allclose([found.low[pair, 0], found.high[pair, 0]], ends, atol=1e-12)


def test_pairs_that_lack_a_score_are_left_out():
    x = np.random.default_rng(5).gamma(2.0, size=(3, 40))
    gaps = x.copy()
    gaps[1, 7] = np.nan
    first, second = np.triu_indices(3, k=1)
    found = stats.quantile_differences(gaps, first, second, [0.5], 60)
    whole = stats.quantile_differences(x, first, second, [0.5], 60)
    short = stats.quantile_differences(np.delete(x, 7, axis=1), first, second, [0.5], 60)
    for part in range(3):
        assert found[part][1, 0] == whole[part][1, 0]  # of 0 and 2
        assert found[part][0, 0] == short[part][0, 0]
    d, tolerance = stats.differences(gaps[1], gaps[0])
    fewer, _ = stats.differences(np.delete(x[1], 7), np.delete(x[0], 7))
    for one, other in zip(stats.paired_mean(d), stats.paired_mean(fewer), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    assert stats.wilcoxon(d, tolerance) == stats.wilcoxon(fewer)
    assert stats.sign_test(d) == stats.sign_test(fewer)
    assert stats.superiority(d) == stats.superiority(fewer)
    nothing = np.full(9, np.nan)
    for test in (stats.sign_test, stats.wilcoxon, lambda d: stats.superiority(d).low):
        assert np.isnan(test(nothing))
    assert np.isnan(stats.paired_mean(nothing).p)


# -- sizes and coverage ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(20).standard_normal((SIMULATIONS, 100))


@pytest.mark.parametrize("repetitions", [10, 100])
def test_tests_have_their_size(noise, repetitions):
    d = noise[:, :repetitions]
    rates = {
        "t": rejected(stats.paired_mean(d).p),
        "wilcoxon": rejected(stats.wilcoxon(d)),
        "sign": rejected(stats.sign_test(d)),
    }
    print(repetitions, rates)
    assert abs(rates["t"] - 5) <= SLACK
    assert abs(rates["wilcoxon"] - 5) <= SLACK
    assert rates["sign"] <= 5 + SLACK


def test_intervals_of_the_mean_and_of_better_cover(noise):
    shift = 0.3
    found = stats.paired_mean(noise + shift)
    mean = 100 * np.mean((found.low <= shift) & (shift <= found.high))
    share = stats.superiority(noise + shift)
    true = scipy_stats.norm.cdf(shift)
    better = 100 * np.mean((share.low <= true) & (true <= share.high))
    print(mean, better)
    assert abs(mean - 95) <= 0.5 + SLACK and abs(better - 95) <= 0.5 + SLACK


@pytest.mark.parametrize("ratio", [0.1, 1.0])
def test_the_corrected_t_has_its_size_on_equicorrelated_repetitions(noise, ratio):
    correlation = ratio / (1.0 + ratio)
    shared = np.random.default_rng(21).standard_normal((SIMULATIONS, 1))
    d = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * noise[:, :25]
    found = stats.paired_mean(d)
    rate = rejected(stats.corrected_p(found.mean, found.sd, found.pairs, ratio))
    print(ratio, rate, rejected(found.p))
    assert abs(rate - 5) <= SLACK
    assert rejected(found.p) > 20  # which the plain t-test has not


def test_quantile_intervals_cover():
    """Two dependent gammas, 100 repetitions: .05, .5 and .95."""
    rng = np.random.default_rng(22)
    quantiles = [0.05, 0.5, 0.95]
    simulations = counts(400, 10_000)
    common = rng.gamma(2.0, size=(simulations, 1, 100))
    x = common + np.array([[1.0], [2.0]]) * rng.gamma(2.0, size=(simulations, 2, 100))
    # Γ(2) + Γ(2) is Γ(4); Γ(2) + 2Γ(2) from four million draws.
    many = rng.gamma(2.0, size=4_000_000) + 2 * rng.gamma(2.0, size=4_000_000)
    true = scipy_stats.gamma.ppf(quantiles, 4) - np.quantile(many, quantiles)
    first, second = np.arange(0, 2 * simulations, 2), np.arange(1, 2 * simulations, 2)
    resamples = counts(500, 2000)
    covered = np.zeros(3)
    for part in np.array_split(np.arange(simulations), simulations // 100):
        pair = np.arange(len(part))
        samples = x[part].reshape(-1, 100)
        found = stats.quantile_differences(samples, 2 * pair, 2 * pair + 1, quantiles, resamples)
        covered += ((found.low <= true) & (true <= found.high)).sum(axis=0)
    rates = 100 * covered / simulations
    print(rates, first.size, second.size)
    assert (abs(rates - 95) <= (1.5 if FULL else 4.5)).all()


# -- labels ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shipped():
    with lcdb.tutorial() as db:
        yield db


@pytest.fixture(scope="module")
def some(shipped):
    return shipped.select("iris", **LABELS)[61].sel(n=[2, 20, 100])


def test_all_pairs_are_the_pairs(some):
    options = {"quantiles": (0.1, 0.9), "resamples": 100, "seed": 2, "confidence": 0.9}
    every = analysis.compare(some.rename(learner="method"), dim="method", **options)
    assert every.sizes["pair"] == 6
    for pair in range(6):
        first, second = (str(every[side].values[pair]) for side in ("first", "second"))
        a, b = some.sel(learner=first), some.sel(learner=second)
        alone = analysis.compare(a, b, **options)
        assert (alone.attrs["first"], alone.attrs["second"]) == (first, second)
        for name in alone.data_vars:
            np.testing.assert_array_equal(alone[name], every[name].isel(pair=pair))
            assert alone[name].attrs["long_name"]


def test_better_follows_the_direction_and_sides_turn_round(shipped):
    curves = [shipped.curve("iris", name, **LABELS).sel(n=100) for name in ("QDC", "NMC")]
    found = analysis.compare(*curves, resamples=50)
    back = analysis.compare(*curves[::-1], resamples=50)
    assert found["better"] > 0.7 and found.attrs["direction"] == "maximize"
    np.testing.assert_allclose(back["better"], 1 - found["better"])
    np.testing.assert_allclose(back["mean_low"], -found["mean_high"])
    loss = analysis.compare(*curves, resamples=50, direction="minimize")
    np.testing.assert_allclose(loss["better"], back["better"])
    assert loss["mean_difference"] == found["mean_difference"]


def test_several_metrics_and_datasets_on_both_sides(shipped):
    metrics = ["accuracy", "brier"]
    a, b = (shipped.select(learner=name, metric=metrics, **LABELS) for name in ("QDC", "LDC"))
    a, b = ({k: v.squeeze(drop=False).isel(n=[1, -1]) for k, v in x.items()} for x in (a, b))
    found = analysis.compare(a, b, resamples=20)
    assert list(found) == list(a)
    for metric in metrics:
        alone = analysis.compare(a[61][metric], b[61][metric], resamples=20)
        xr.testing.assert_equal(found[61]["t_p"].sel(metric=metric, drop=True), alone["t_p"])
        xr.testing.assert_equal(found[61]["better"].sel(metric=metric, drop=True), alone["better"])


def test_the_corrected_t_wants_more_training_than_test_rows(shipped, some):
    rows = shipped["iris"].n_test.sel(sampling="random", split="varying")
    found = analysis.compare(some, test_rows=rows, resamples=10)
    p = found["t_corrected_p"].isel(pair=0)
    assert p.dims == ("n",) and np.isnan(p[0]) and np.isfinite(p[2])
    mean, sd = (found[name].isel(pair=0, n=2) for name in ("mean_difference", "sd"))
    np.testing.assert_allclose(p[2], stats.corrected_p(mean, sd, 200, 50 / 100))
    assert p[2] > found["t_p"].isel(pair=0, n=2)
    with pytest.raises(LabelError, match="keep the coordinate n"):
        analysis.compare(some.isel(n=2, drop=True), test_rows=rows, resamples=10)


def test_what_cannot_be_compared_is_said(some):
    a, b = some.isel(learner=[0]), some.isel(learner=[1])
    with pytest.raises(LabelError, match=r"no learner in common.*scores.sel\(learner"):
        analysis.compare(a, b)
    with pytest.raises(ArgumentError, match="second argument is a list"):
        analysis.compare(a, [1, 2])
    with pytest.raises(ArgumentError, match="95; expected a number between 0 and 1"):
        analysis.compare(some, quantiles=(95,))


# -- who is first ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_first_are_those_of_plain_loops(shipped):
    chosen = shipped.select(**LABELS)
    for metric, sign in (("accuracy", 1), ("brier", -1)):
        scores = shipped.select(metric=metric, **LABELS)
        table = analysis.best(scores, by=["mean", 0.1], resamples=100, seed=1)
        assert table["dataset"].tolist() == ["11", "11", "61", "61"]
        assert table["name"].tolist() == ["balance-scale"] * 2 + ["iris"] * 2
        for row in table.itertuples():
            x = scores[int(row.dataset)].sel(n=row.n)
            end = 0.1 if sign > 0 else 0.9
            value = x.mean("repetition") if row.by == "mean" else x.quantile(end, "repetition")
            order = value.sortby(-sign * value).learner.values
            assert (row.first, row.second) == tuple(order[:2])
            np.testing.assert_allclose(row.value, value.sel(learner=row.first))
            expected = sign * (value.sel(learner=order[0]) - value.sel(learner=order[1]))
            np.testing.assert_allclose(row.margin, expected)
            assert row.n == int(chosen[int(row.dataset)].dropna("n").n[-1])


@pytest.mark.slow
def test_a_first_place_is_settled_against_every_other_learner():
    rng = np.random.default_rng(3)
    common = rng.normal(0.7, 0.1, 200)
    x = np.stack([common + shift + 0.01 * rng.normal(size=200) for shift in (0.0, 0.02, 0.0199)])
    attrs = {"direction": "maximize"}
    scores = xr.DataArray(
        x[:, None], {"learner": ["A", "B", "C"], "n": [9]}, ("learner", "n", "repetition"),
        "accuracy", attrs,
    )  # fmt: skip
    row = analysis.best({"toy": scores}, by="mean").iloc[0]
    rival = "C" if row["first"] == "B" else "B"
    assert (row["settled"], row["open"]) == (False, [rival])
    sure = analysis.best({"toy": scores.sel(learner=["A", "B"])}, by="mean").iloc[0]
    assert (sure["first"], sure["settled"], sure["open"]) == ("B", True, [])
    lost = analysis.best({"toy": scores.sel(learner=["A", "B"])}, direction="minimize").iloc[0]
    assert lost["first"] == "A" and lost["settled"]
    rejected = [
        analysis.best(
            {k: xr.DataArray(rng.normal(size=(4, 1, 50)), {"learner": list("ABCD"), "n": [9]},
                             ("learner", "n", "repetition"), "accuracy", attrs)},
            by="mean", resamples=200, alpha=0.2, seed=k,
        )["settled"].item()
        for k in range(60)
    ]  # fmt: skip
    # That the best of four equals is better than all others is claimed rarely.
    assert np.mean(rejected) <= 0.2


@pytest.mark.slow
def test_sizes_and_datasets_of_first_places(shipped, capsys):
    near = shipped.best(n=13)
    assert near["n"].unique().tolist() == [14] and list(near.attrs["left_out"]) == ["11"]
    assert "none is near 13" in near.attrs["left_out"]["11"]
    two = shipped.best(20, "mean", datasets="iris", learner=["NMC", "QDC"], metric="auc",
                       sampling="bootstrap", split="fixed")  # fmt: skip
    assert set(two.loc[0, ["first", "second"]]) == {"NMC", "QDC"}
    scores = shipped.curve("iris", two["first"][0], sampling="bootstrap", split="fixed",
                           metric="auc").sel(n=20)  # fmt: skip
    np.testing.assert_allclose(two["value"][0], scores.mean())
    with pytest.raises(ArgumentError, match="by is 'median'"):
        shipped.best(by="median")
    with pytest.raises(LabelError, match="metric 'acuracy' does not exist"):
        shipped.best(metric="acuracy")
    with pytest.raises(LabelError, match="learner 'LDA' is not in"):
        shipped.best(learner="LDA")
    with pytest.raises(LabelError, match="expected learner and n"):
        analysis.best({61: shipped.curve("iris", "LDC")})
    options = ["--dataset", "iris", "--learner", "LDC", "--learner", "QDC", "--metric", "brier",
               "--sampling", "additive", "--split", "fixed", "--tuning", "default",
               "--scaling", "none"]  # fmt: skip
    assert main(["best", "tutorial", "-n", "20", "--by", "mean", "0.05", *options]) == 0
    said = capsys.readouterr().out
    there = shipped.best(20, datasets="iris", learner=["LDC", "QDC"], metric="brier",
                         sampling="additive", split="fixed")  # fmt: skip
    assert f"first by mean on 1 dataset: {there['first'][0]} 1" in said
    assert "first by the bad end (0.05) on 1 dataset" in said and f"{there['value'][0]:.4g}" in said
    with pytest.raises(SystemExit, match="2"):
        main(["best", "tutorial", "--by", "much"])
    assert "neither 'mean' nor a quantile" in capsys.readouterr().err


@pytest.mark.slow
def test_summaries_say_who_is_first_and_by_how_much(capsys):
    with lcdb.reference() as small:
        table = small.best(n=100, by=["mean", 0.25], metric="brier")
        part = small["iris"].sel(metric="brier", n=105, **LABELS)
        scaled = small.best(by="mean", scaling="standard", tuning="default", datasets=["iris"])
        other = small["61-standard"].sel(metric="accuracy", **LABELS).isel(n=-1)
    row = table[(table["name"] == "iris") & (table["by"] == "mean")].iloc[0]
    means = part["mean"].sortby(part["mean"])
    assert (row["first"], row["second"]) == tuple(means.learner.values[:2])
    np.testing.assert_allclose(row["margin"], means[1] - means[0])
    tail = table[(table["name"] == "iris") & (table["by"] == 0.25)].iloc[0]
    assert tail["value"] == pytest.approx(float(part["quantile"].sel(q=0.75).min()))
    assert table["settled"].isna().all() and len(table) == 18
    assert scaled["value"].tolist() == [float(other["mean"].max())]
    assert main(["best", "reference", "-n", "100"]) == 0
    assert "whether a first place is settled takes its full cube" in capsys.readouterr().out


@pytest.mark.slow
def test_first_places_of_other_curves_of_a_summary(capsys):
    labels = {"sampling": "additive", "split": "varying", "tuning": "tuned"}
    with lcdb.reference() as db:
        table = db.best(105, "mean", datasets="iris", **labels)
        means = db["iris"]["mean"].sel(**labels, metric="accuracy", n=int(table["n"][0]))
        assert table["first"][0] == str(means["learner"].values[np.nanargmax(means.values)])
        scaled = db.best(32, "mean", datasets="iris", scaling="standard")
    command = ["best", "reference", "--dataset", "iris", "-n", "105", "--by", "mean"]
    named = [f"--{name}={label}" for name, label in labels.items()]
    assert main([*command, *named]) == 0
    assert f"first by mean on 1 dataset: {table['first'][0]} 1" in capsys.readouterr().out
    assert main([*command[:4], "-n", "32", "--by", "mean", "--scaling", "standard"]) == 0
    assert f"first by mean on 1 dataset: {scaled['first'][0]} 1" in capsys.readouterr().out


@pytest.mark.slow
def test_what_is_settled_depends_on_the_level(shipped):
    asked = {"n": 20, "by": "mean", "datasets": "iris"}
    loose, strict = (shipped.best(**asked, alpha=a) for a in (0.2, 1e-12))
    assert loose["first"][0] == strict["first"][0]
    assert set(loose["open"][0]) <= set(strict["open"][0]) and loose["settled"][0]
