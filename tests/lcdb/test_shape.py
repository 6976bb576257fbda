"""The shape of curves, against a triple loop; false alarms and what is found of planted dips."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.stats import t as student

import lcdb
from lcdb import analysis, stats
from lcdb.errors import ArgumentError, LabelError
from tests.oracles import comparing as oracle
from tests.support.counts import FULL, counts


def random_curve(rng):
    """Losses of 4 to 9 sizes and 3 to 12 repetitions: smooth, rounded, or with constant sizes."""
    size, repetitions = rng.integers(4, 10), rng.integers(3, 13)
    n = np.sort(rng.choice(np.arange(1, 60), size, replace=False))
    mean = 1.0 / n + 0.1 * rng.standard_normal(size) * rng.integers(0, 2)
    shared = rng.standard_normal(repetitions) * rng.integers(0, 2)
    losses = mean[:, None] + 0.05 * (rng.standard_normal((size, repetitions)) + shared)
    kind = rng.integers(0, 3)
    if kind == 1:
        losses = np.rint(losses * 20) / 20
    if kind == 2:
        losses[rng.integers(0, size, 2)] = rng.integers(0, 3) / 4
    return losses, n


def test_shapes_are_those_of_a_triple_loop():
    rng = np.random.default_rng(6)
    kinds = set()
    for _ in range(counts(30, 200)):
        losses, n = random_curve(rng)
        found = stats.shape_of(losses, n)
        rows = [list(map(float, row)) for row in losses]
        for pair, every in ((found.rise, oracle.rises(rows)), (found.dip, oracle.dips(rows))):
            least = min(p for p, *_ in every)
            np.testing.assert_allclose(pair.p, least, rtol=1e-9)
            if least < 1:
                _, _, _, size = next(e for e in every if e[1:3] == (pair.early, pair.late))
                np.testing.assert_allclose(pair.size, size, atol=1e-12)
        triples = {e[1:4]: e for e in oracle.bumps(rows, list(map(float, n)))}
        least = min(e[0] for e in triples.values())
        np.testing.assert_allclose(found.bump.p, least, rtol=1e-9)
        highest = max(e[4] for e in triples.values())
        np.testing.assert_allclose(found.peak.size, max(highest, 0.0), atol=1e-12)
        for triple in (found.bump, found.peak):
            if triple.left >= 0:
                p, *_, size, rise, fall = triples[triple.left, triple.middle, triple.right]
                ours = (triple.p, triple.rise_p, triple.fall_p)
                np.testing.assert_allclose(ours, (p, rise, fall), rtol=1e-9)
                np.testing.assert_allclose(triple.size, size, atol=1e-12)
        kinds.add((found.rise.p < 0.05, found.bump.p < 0.05))
    assert len(kinds) >= 3


def test_the_largest_t_is_that_of_a_plain_bootstrap():
    """Rises, dips and bumps, and the three of the peak."""
    rng = np.random.default_rng(8)
    apart = 0
    for seed in range(counts(12, 200)):
        losses, n = random_curve(rng)
        resamples = 40
        drawn = stats.bootstrap_counts(losses.shape[1], resamples, seed).T.tolist()
        found = stats.shape_of(losses, n, resamples, seed)
        plain = stats.shape_of(losses, n)
        rows = [list(map(float, row)) for row in losses]
        every = {
            "rise": oracle.every_rise(rows),
            "fall": oracle.every_rise([[-v for v in row] for row in rows]),
            "dip": oracle.every_dip(rows),
            "bump": oracle.every_bump(rows, list(map(float, n))),
        }

        def p_of(kind, values, every=every, drawn=drawn):
            return oracle.max_t_p(every[kind], [float(v) for v in values], drawn)

        def between(i, j, losses=losses):
            return losses[j] - losses[i]

        for kind, pair in (("rise", found.rise), ("dip", found.dip)):
            expected = 1.0 if pair.early < 0 else p_of(kind, between(pair.early, pair.late))
            np.testing.assert_allclose(pair.p, expected, rtol=1e-9)
        for triple in (found.bump, found.peak):
            if triple.left < 0:
                continue
            h, i, j = triple[:3]
            right = (n[i] - n[h]) / (n[j] - n[h])
            above = losses[i] - (1 - right) * losses[h] - right * losses[j]
            expected = (
                p_of("bump", above), p_of("rise", between(h, i)), p_of("fall", between(j, i))
            )  # fmt: skip
            ours = (triple.p, triple.rise_p, triple.fall_p)
            np.testing.assert_allclose(ours, expected, rtol=1e-9)
        assert found.rise[:3] == plain.rise[:3] and found.peak[:4] == plain.peak[:4]
        assert found.rise.p <= plain.rise.p and found.bump.p <= plain.bump.p
        apart += found.bump.p < plain.bump.p
    assert apart >= 4


def test_resampling_stops_when_it_is_enough_and_where_it_says_nothing(monkeypatch):
    rng = np.random.default_rng(9)
    losses, n = rng.standard_normal((6, 30)), np.arange(1, 7)
    x, c = losses, np.cov(losses) / 30
    every = stats.largest_in_resamples(x, c, n.astype(float), "bump", 99.0, 1000, 3)
    some = stats.largest_in_resamples(x, c, n.astype(float), "bump", 1.0, 1000, 3)
    assert len(every) == 1000 and len(some) == 256
    np.testing.assert_array_equal(some, every[:256])
    clear = losses + 50 * (n == 3)[:, None]
    found = stats.shape_of(clear, n, 1000)
    monkeypatch.setattr("lcdb.stats.max_t.bootstrap_counts", None)  # not asked
    rises = stats.shape_of(clear[:3], n[:3], 1000)
    assert rises.rise.p == stats.shape_of(clear[:3], n[:3]).rise.p < 1e-9 and found.rise.p < 1e-9


def test_a_curve_without_spread_misbehaves_nowhere():
    flat = np.repeat([[0.5], [0.4], [0.6]], 20, axis=1)  # rises, and never varies: p is 1
    found = stats.shape_of(flat, np.array([1, 2, 3]))
    assert found.rise.p == found.dip.p == found.bump.p == found.peak.p == 1
    assert stats.shape_of(flat, np.array([1, 2, 3]), 50) == found
    assert stats.shape_of(flat[:1], np.array([1])) is None
    assert stats.shape_of(flat[:, :1], np.array([1, 2, 3])) is None


def test_a_difference_that_rounding_makes_is_no_rise():
    one = np.array([0.1, 0.2, 0.3, 0.2, 0.1] * 4)
    losses = np.stack([one, one * (1 + 2.0**-50) + np.tile([0.125, -0.125], 10)])
    assert losses[1].mean() > losses[0].mean()
    found = stats.shape_of(losses, np.array([1, 2]))
    assert (found.rise.early, found.rise.p, found.dip.p) == (-1, 1.0, 1.0)


def test_gaps_are_left_out():
    rng = np.random.default_rng(7)
    losses = rng.standard_normal((5, 30))
    gaps = np.insert(losses, 2, np.nan, axis=0)
    gaps[0, 4] = np.nan
    found = stats.shape_of(gaps, np.array([1, 2, 3, 4, 5, 6]))
    expected = stats.shape_of(np.delete(losses, 4, axis=1), np.array([1, 2, 4, 5, 6]))
    assert found.repetitions == 29
    assert found.rise.p == expected.rise.p and found.bump.p == expected.bump.p
    skipped = {2: 3, 3: 4, 4: 5}
    assert found.rise.late == skipped.get(expected.rise.late, expected.rise.late)


def test_thinning_keeps_the_ends():
    sizes = np.arange(5, 2005)
    places = stats.thinned(sizes, 400)
    assert 390 < len(places) <= 400 and places[0] == 0 and places[-1] == 1999
    assert (np.diff(places) > 0).all()
    few = stats.thinned(sizes, 7)
    assert len(few) == 7 and few[-1] == 1999
    assert stats.thinned(sizes[:400], 400).tolist() == list(range(400))


# -- error rates -----------------------------------------------------------------------------------


def noisy(mean, rng, repetitions=25):
    shared = rng.standard_normal(repetitions)
    return mean[:, None] + 0.03 * (rng.standard_normal((len(mean), repetitions)) + shared)


@pytest.mark.parametrize("resamples", [0, counts(200, 1000)])
def test_false_alarms_on_well_behaved_curves(resamples):
    """Monotone convex curves; a straight line is the hardest of them for convexity."""
    rng = np.random.default_rng(30)
    n = np.unique(np.geomspace(2, 300, 20).astype(int))
    alarms = np.zeros(4)
    simulations = counts(300, 10_000)
    for i in range(simulations):
        mean = 0.2 + 0.3 * n ** -rng.uniform(0.1, 2.0) if i % 2 else 0.3 - 1e-4 * n
        found = stats.shape_of(noisy(mean, rng), n, resamples)
        three = max(found.peak.p, found.peak.rise_p, found.peak.fall_p)
        alarms += np.array([found.rise.p, found.dip.p, found.bump.p, three]) <= 0.05
    rates = 100 * alarms / simulations
    print(resamples, "false alarms (%)", rates)
    assert (rates <= 5).all()


def test_the_largest_t_has_its_level_where_means_are_equal():
    """No rise, dip or bump is there: the hardest case of each. Bonferroni's alarms are fewer."""
    rng = np.random.default_rng(32)
    n = np.unique(np.geomspace(2, 300, 20).astype(int))
    alarms = np.zeros((2, 3))
    simulations = counts(200, 10_000)
    for _ in range(simulations):
        losses = noisy(np.zeros(len(n)), rng, 100)
        for way, resamples in enumerate((counts(200, 1000), 0)):
            found = stats.shape_of(losses, n, resamples)
            alarms[way] += np.array([found.rise.p, found.dip.p, found.bump.p]) <= 0.05
    rates = 100 * alarms / simulations
    print("max-t (%)", rates[0], "Bonferroni (%)", rates[1])
    assert (abs(rates[0] - 5) <= (1.0 if FULL else 4.5)).all()
    assert (rates[1] <= rates[0]).all() and rates[1, 2] < 2.5


@pytest.mark.parametrize("resamples", [0, counts(200, 1000)])
def test_planted_dips_are_found(resamples):
    """A dip of the corrected critical value and 2 standard errors of the paired difference."""
    rng = np.random.default_rng(31)
    n = np.unique(np.geomspace(2, 300, 20).astype(int))
    error = 0.03 * np.sqrt(2 / 25)
    tests = len(n) * (len(n) - 1) // 2
    size = error * (student.isf(0.05 / tests, 24) + 2)
    mean = 0.2 + 0.3 / n
    mean[-1] = mean[-2] + size
    simulations = counts(150, 10_000)
    hits = [
        stats.shape_of(noisy(mean, rng), n, resamples).rise.p <= 0.05 for _ in range(simulations)
    ]
    print(resamples, "found (%)", 100 * np.mean(hits))
    assert np.mean(hits) >= 0.95


# -- labels ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curves():
    with lcdb.tutorial() as db:
        labels = {"sampling": "additive", "split": "fixed", "tuning": "default"}
        yield db.select("iris", **labels)[61].load()


def test_shapes_of_accuracies_and_their_places(curves):
    found = analysis.shape(curves, at_most=30, alpha=0.01)
    assert found["monotone"].dims == ("learner",) and (found["sizes"] <= 30).all()
    qdc = found.sel(learner="QDC")
    assert qdc["monotone"] == 0 and qdc["rise_p"] <= 0.01
    means = curves.sel(learner="QDC").mean("repetition")
    fall = means.sel(n=qdc["rise_from"]) - means.sel(n=qdc["rise_to"])
    np.testing.assert_allclose(qdc["rise"], fall, atol=1e-12)
    left, middle, right = (means.sel(n=qdc[f"bump_{s}"]) for s in ("left", "n", "right"))
    share = (qdc["bump_n"] - qdc["bump_left"]) / (qdc["bump_right"] - qdc["bump_left"])
    np.testing.assert_allclose(qdc["bump"], (1 - share) * left + share * right - middle, atol=1e-12)
    turned = analysis.shape(1 - curves, at_most=30, direction="minimize")
    np.testing.assert_allclose(turned["rise"], found["rise"], atol=1e-12)
    assert found.attrs["alpha"] == 0.01 and found["rise"].attrs["long_name"]


def test_the_largest_t_is_less_strict_than_holm(curves):
    holm = analysis.shape(curves, at_most=30)
    options = {"correction": "max-t", "resamples": 300}
    found = analysis.shape(curves, at_most=30, seed=2, **options)
    assert (found["rise_p"] <= holm["rise_p"]).all() and (found["bump_p"] <= holm["bump_p"]).all()
    assert (found["bump_p"] < holm["bump_p"]).any() and found.attrs["correction"] == "max-t"
    xr.testing.assert_equal(found["bump"], holm["bump"])
    other = analysis.shape(curves, at_most=30, seed=3, **options)
    assert (other["bump_p"] != found["bump_p"]).any()
    with pytest.raises(ArgumentError, match=r"no correction 'max_t'\. Did you mean 'max-t'"):
        analysis.shape(curves, correction="max_t")
    with pytest.raises(ArgumentError, match="resamples is 0"):
        analysis.shape(curves, correction="max-t", resamples=0)


def test_flat_is_a_share_of_a_reference(curves):
    found = analysis.shape(curves)
    means = curves.mean("repetition")
    expected = np.ptp(means.dropna("n", how="all").fillna(means.mean()).values)
    flat = found["range"] <= 0.05 * expected
    np.testing.assert_array_equal(found["flat"], flat)
    one = curves.sel(learner="QDC")
    assert np.isnan(analysis.shape(one)["flat"])
    assert analysis.shape(one, reference_range=100.0)["flat"] == 1
    assert analysis.shape(one, reference_range=0.5)["flat"] == 0
    levels = xr.DataArray([100.0, 0.1], {"learner": ["QDC", "LDC"]}, ("learner",))
    both = analysis.shape(curves.sel(learner=["QDC", "LDC"]), reference_range=levels)
    assert both["flat"].values.tolist() == [1, 0]


def test_curves_without_enough_have_no_shape(curves):
    empty = curves.sel(learner="QDC").where(curves["n"] == 50)
    found = analysis.shape(empty)
    assert np.isnan(found["monotone"]) and np.isnan(found["flat"])


def test_shape_says_what_it_wants(curves):
    with pytest.raises(LabelError, match="expected n too"):
        analysis.shape(curves.isel(n=5, drop=True))
    with pytest.raises(ArgumentError, match="alpha is 5"):
        analysis.shape(curves, alpha=5)
    with pytest.raises(ArgumentError, match="at_most is 2"):
        analysis.shape(curves, at_most=2)
