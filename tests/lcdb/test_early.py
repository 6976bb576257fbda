"""Choosing by early sizes equals plain loops, and says what it costs."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import lcdb
from lcdb import analysis, stats
from lcdb.errors import ArgumentError
from tests.oracles import choosing


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("keep", [0.3, 0.5, 0.75])
def test_choices_are_those_of_plain_loops(seed, keep):
    rng = np.random.default_rng(seed)
    learners, stages = rng.integers(2, 9), rng.integers(1, 5)
    sizes = np.sort(rng.choice(np.arange(1, 200), stages, replace=False))
    scores = rng.integers(0, 6, (learners, stages, 40)) / 5  # with ties
    pairs = ((stats.halve(scores, sizes, keep), lambda x: choosing.halved(x, sizes, keep)),
             (stats.stop_early(scores, sizes), lambda x: choosing.stopped(x, sizes)))  # fmt: skip
    for found, plain in pairs:
        expected = [plain(scores[:, :, r].tolist()) for r in range(40)]
        assert list(zip(found.learner.tolist(), found.rows.tolist(), strict=True)) == expected


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    n = np.array([10, 20, 40])
    ends = np.array([0.9, 0.8, 0.7])[:, None, None]
    data = ends * (1 - 1 / n[:, None]) + rng.normal(0, 0.03, (3, 3, 200))
    coords = {"learner": ["A", "B", "C"], "n": n}
    attrs = {"direction": "maximize", "dataset_name": "toy"}
    return xr.DataArray(data, coords, ("learner", "n", "repetition"), "accuracy", attrs)


@pytest.mark.parametrize("function", [analysis.halving, analysis.lccv])
def test_regret_is_that_of_the_chosen_mean(function, scores):
    found = function(scores, budgets=[10, 40])
    means = scores.sel(n=40).mean("repetition").values
    plain = choosing.halved if function is analysis.halving else choosing.stopped
    more = (0.5,) if function is analysis.halving else ()
    choices = [plain(scores.sel(n=[10, 40]).values[:, :, r].tolist(), [10, 40], *more)
               for r in range(200)]  # fmt: skip
    regret = np.array([means.max() - means[i] for i, _ in choices])
    assert float(found["regret"]) == pytest.approx(regret.mean(), abs=1e-12)
    assert float(found["regret_high"]) == pytest.approx(np.quantile(regret, 0.95), abs=1e-12)
    assert float(found["right"]) == np.mean([i == 0 for i, _ in choices])
    assert float(found["rows_share"]) == pytest.approx(np.mean([r for _, r in choices]) / 120)
    shares = np.bincount([i for i, _ in choices], minlength=3) / 200
    np.testing.assert_allclose(found["chosen"], shares)
    loss = function(1 - scores, budgets=[10, 40], direction="minimize")
    xr.testing.assert_allclose(loss.drop_attrs(), found.drop_attrs())
    words = analysis.in_words(found)
    assert words.startswith("On toy, ") and f"in {100 * float(found['right']):.0f} % of" in words


def test_what_has_no_values_is_never_chosen(scores):
    scores = scores.copy()
    scores[0] = np.nan
    for function in (analysis.halving, analysis.lccv):
        found = function(scores)
        assert found.attrs["budgets"] == [10, 20, 40]
        assert float(found["chosen"][0]) == 0 and float(found["chosen"].sum()) == pytest.approx(1)
    with pytest.raises(ArgumentError, match=r"lack \[11\]"):
        analysis.halving(scores, [11, 40])
    with pytest.raises(ArgumentError, match="no values"):
        analysis.halving(scores * np.nan)
    with pytest.raises(ArgumentError, match=r"keep is 1\.5"):
        analysis.halving(scores, keep=1.5)


def test_keeping_more_takes_more_rows():
    with lcdb.tutorial() as db:
        curves = db.select(11, sampling="random", split="varying", tuning="default")
        few, many = (analysis.halving(curves, keep=keep)[11] for keep in (0.3, 0.9))
    assert float(few["rows"]) < float(many["rows"])
    assert float(many["rows_share"]) == pytest.approx(float(many["rows"]) / (4 * 437))
