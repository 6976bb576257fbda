"""Forecasts: what they are made of, how often they hold, and what they do not claim."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest
import xarray as xr

import lcdb
from lcdb.analysis import forecast, forecast_benchmark, forecast_calibration, rows_needed
from lcdb.analysis.forecasts import _error_of_quantile, _seen
from lcdb.curves.benchmarking import METHODS
from lcdb.curves.calibration import HONEST, LEVELS, SIZES, measure, shipped
from lcdb.curves.forecasting import CANDIDATES, spacing
from lcdb.errors import LabelError

N = np.unique(np.round(np.geomspace(2, 400, 28))).astype(int)


def made(rng, count=1, repetitions=50, noise=0.02, metric="accuracy"):
    """Return noisy power laws: accuracies, or losses."""
    limit, height = rng.uniform(0.7, 0.95, count), rng.uniform(0.2, 0.5, count)
    power = rng.uniform(0.3, 1.2, count)
    mean = limit[:, None] - height[:, None] * N ** -power[:, None]
    x = mean[..., None] + noise * rng.normal(size=(count, len(N), repetitions))
    attrs = {"direction": "maximize", "valid_range": [0.0, 1.0]}
    if metric == "brier":
        x, attrs = 1.0 - x, {"direction": "minimize", "valid_range": [0.0, 2.0]}
    coords = {"n": N, "learner": [f"L{k}" for k in range(count)]}
    return xr.DataArray(x, coords, ("learner", "n", "repetition"), metric, attrs)


@pytest.fixture(scope="module")
def curve():
    return made(np.random.default_rng(0)).isel(learner=0)


def test_a_power_law_goes_on(curve):
    ahead = forecast(curve, [800, 1600], last=400)
    limit = curve.mean("repetition").isel(n=-1)
    assert (abs(ahead["mean"] - limit) < 0.02).all()
    assert (ahead.mean_low < ahead["mean"]).all() and (ahead["mean"] < ahead.mean_high).all()
    assert (ahead.single_low < ahead.mean_low).all() and (ahead.mean_high < ahead.single_high).all()
    assert ahead.calibrated.all()


def test_intervals_widen_with_distance_and_level(curve):
    ahead = forecast(curve, np.geomspace(60, 800, 30), last=50)
    width = (ahead.mean_high - ahead.mean_low).values
    assert (np.diff(width) > -1e-3).all() and width[-1] > width[0]
    wide = forecast(curve, [100], level=0.99, last=50)
    narrow = forecast(curve, [100], level=0.5, last=50)
    assert wide.mean_low < narrow.mean_low and narrow.mean_high < wide.mean_high
    assert ahead.calibrated.values.tolist() == (ahead.n <= HONEST * 46).values.tolist()


def test_weights_are_shares_and_follow_what_was_held_out(curve):
    ahead = forecast(curve, [800])
    assert float(ahead.weight.sum("model")) == pytest.approx(1.0)
    # They do not change with the size that is asked for.
    assert ahead.weight.equals(forecast(curve, [500, 1600]).weight)
    assert list(ahead.model.values) == [*CANDIDATES, "last value"]
    exact = made(np.random.default_rng(1), noise=0.0).isel(learner=0, n=slice(0, 20))
    said = forecast(exact, [300])
    assert said.weight.sel(model="last value") < 0.01 < said.weight.sel(model="pow3")
    one = forecast(curve, [800], models="pow3")
    assert list(one.model.values) == ["pow3", "last value"] and not one.calibrated.any()
    two = forecast(curve, [800], models=["log2", "exp3"])
    assert not np.allclose(one["mean"], two["mean"])


def test_forecasts_stay_within_the_metric():
    steep = made(np.random.default_rng(2), noise=0.2).isel(learner=0, n=slice(0, 10))
    ahead = forecast(steep, [20, 40, 400])
    for name in ("mean", "mean_low", "mean_high", "single_low", "single_high"):
        assert ((ahead[name] >= 0) & (ahead[name] <= 1)).all()


def test_what_was_not_seen_is_not_looked_at(curve):
    cut = forecast(curve.sel(n=slice(None, 50)), [100, 200])
    for one in (curve, curve.where(curve.n <= 50, 0.1)):
        assert forecast(one, [100, 200], last=50).identical(cut)


def test_quantiles_and_curves_without_repetitions_are_predicted(curve):
    low = forecast(curve, [800], over=0.05)
    assert low["mean"] < forecast(curve, [800])["mean"]
    assert np.isnan(low.single_low).all()
    alone = forecast(curve.mean("repetition"), [800])
    assert np.isfinite(alone.mean_low).all() and np.isnan(alone.single_low).all()


def test_several_curves_are_predicted_as_each_is():
    several = made(np.random.default_rng(3), count=3)
    together = forecast(several, [600, 900])
    assert together["mean"].dims == ("learner", "n")
    for k in range(3):
        alone = forecast(several.isel(learner=k), [600, 900])
        for name in ("mean", "mean_low", "single_high", "weight"):
            assert np.array_equal(together[name].isel(learner=k), alone[name])


def test_dicts_and_several_metrics_are_answered_in_kind():
    rng = np.random.default_rng(5)
    one, two = made(rng).isel(learner=0), made(rng, metric="brier").isel(learner=0)
    both = forecast({61: one, 11: two}, [800])
    assert list(both) == [61, 11] and both[11].equals(forecast(two, [800]))
    cube = xr.Dataset({"accuracy": one, "brier": two})
    ahead = forecast(cube, [800])
    assert ahead.metric.values.tolist() == ["accuracy", "brier"]
    assert ahead["mean"].sel(metric="brier") == forecast(two, [800])["mean"]
    needed = rows_needed({61: one, 11: one}, 0.5)
    assert needed[61].equals(needed[11])


def test_rows_needed_inverts_the_forecast(curve):
    later = float(forecast(curve, [200], last=100)["mean"][0])
    needed = rows_needed(curve, later, last=100)
    assert needed.answer == "forecast" and needed.rows == pytest.approx(200, rel=0.03)
    assert needed.rows_low <= needed.rows <= needed.rows_high
    wide = rows_needed(curve, later, last=100, level=0.99)
    assert wide.rows_low <= needed.rows_low and wide.rows_high >= needed.rows_high
    seen = rows_needed(curve, 0.5)
    assert seen.answer == "seen"
    assert seen.rows == lcdb.analysis.sample_size_for(curve.mean("repetition").expand_dims(
        repetition=8, axis=-1), 0.5)  # fmt: skip
    never = rows_needed(curve, 1.0)
    assert never.answer == "beyond" and np.isinf(never.rows)
    near = rows_needed(curve, later, last=100, largest=150)
    assert near.answer == "beyond"


def random_curve(rng):
    """Return a noisy curve that rises, falls, dips or peaks, and how it was drawn."""
    n = np.unique(np.round(np.geomspace(2, rng.integers(40, 300), rng.integers(8, 20)))).astype(int)
    limit, height, power = rng.uniform(0.6, 0.98), rng.uniform(-0.1, 0.5), rng.uniform(0.1, 1.5)
    mean = (
        limit
        - height * n**-power
        - rng.choice([0.0, 0.15]) * np.exp(-((np.log(n / rng.choice(n))) ** 2))
    )
    x = mean[:, None] + rng.uniform(0.001, 0.1) * rng.standard_t(5, (len(n), 30))
    way = rng.choice(["maximize", "minimize"])
    x = np.clip(x, 0, 1) if way == "maximize" else np.clip(1 - x, 0, 1)
    attrs = {"direction": str(way), "valid_range": [0.0, 1.0]}
    return xr.DataArray(x, {"n": n}, ("n", "repetition"), "accuracy", attrs)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_rows_needed_and_the_forecast_never_contradict_each_other(seed):
    """Walk along the sizes: whoever looks the target up in the forecast finds the same rows."""
    rng = np.random.default_rng(seed)
    curve = random_curve(rng)
    quantile = [None, 0.1][seed % 4 == 3]
    sign = 1.0 if curve.direction == "maximize" else -1.0
    over = "mean" if quantile is None else quantile if sign > 0 else 1 - quantile
    end = int(curve.n[-1])
    reach = int(HONEST * end)
    ahead = forecast(curve, np.arange(end + 1, reach + 1), over=over, level=0.8)
    middle = curve.mean("repetition") if over == "mean" else curve.quantile(over, "repetition")
    sizes = np.concatenate([curve.n.values, ahead.n.values])
    line = sign * np.concatenate([middle.values, ahead["mean"].values])
    far = sign * (ahead.mean_low if sign > 0 else ahead.mean_high).values
    near = sign * (ahead.mean_high if sign > 0 else ahead.mean_low).values
    chosen = rng.choice(line, 4)
    for target in [*chosen, line.max() + 1e-6, np.quantile(line, 0.3)]:
        needed = rows_needed(curve, float(sign * target), quantile, 0.8)
        low, rows, high = ends(needed)
        assert low <= rows <= high
        if needed.answer == "beyond":
            assert rows == np.inf and line[-1] < target
        else:
            assert (line[sizes >= rows] >= target).all()
            assert not (line[sizes < rows][-1:] >= target).any()
            assert (needed.answer == "seen") == (rows <= end)
        if end < high < np.inf:
            assert (far[ahead.n.values >= high] >= target).all()
        elif rows > end:
            assert far[-1] < target
        if end + 1 < low < np.inf:
            assert near[ahead.n.values == low - 1] < target <= near[ahead.n.values == low]
        assert float(needed.largest) == reach


def test_a_forecast_goes_on_from_what_was_seen(curve):
    seen = curve.sel(n=slice(None, 100))
    last = float(seen.mean("repetition")[-1])
    near, far = forecast(seen, [float(seen.n[-1]) + 1e-3, 400])["mean"].values
    assert near == pytest.approx(last, abs=1e-5) and abs(far - last) > 1e-3


def test_sentences_say_what_is_forecast_and_needed(curve):
    named = curve.assign_attrs(dataset_name="iris")
    ahead = forecast(named, [200, 300, 3000], last=100)
    text = lcdb.analysis.in_words(ahead)
    mean, low, high = (f"{float(ahead[k][0]):.3g}" for k in ("mean", "mean_low", "mean_high"))
    who = "On iris, L0's mean accuracy"
    assert text.startswith(f"{who} is forecast to be {mean} at n = 200 ({low}")
    assert f"{low} to {high}; of a single training set" in text
    assert "90 % intervals; their coverage was measured for the mean up to n = 300, not" in text
    one = lcdb.analysis.in_words(ahead.sel(n=200))
    assert "their coverage was measured for the mean, not for single training sets" in one
    assert one.count(" at n = ") == 1
    tail = lcdb.analysis.in_words(forecast(named.drop_vars("learner"), [800], over=0.05))
    assert "the 0.05 quantile of accuracy" in tail and "their coverage was not measured)" in tail
    target = float(ahead["mean"][0])
    needed = rows_needed(named, target, last=100)
    rows, largest = f"{needed.rows.item():,.0f}", f"{needed.largest.item():,.0f}"
    assert lcdb.analysis.in_words(needed).startswith(
        f"{who} is forecast to reach {target:g} at n = {rows} and to keep it, as far as is seen "
        f"and forecast, to n = {largest} (90 % interval: "
    )
    assert f"{who} reaches 0.5 at n = " in lcdb.analysis.in_words(rows_needed(named, 0.5))
    never = lcdb.analysis.in_words(rows_needed(named, 1.0))
    assert "is not forecast to reach 1 and keep it by n = 1,600, nor is the better end" in never


def line(values, spread, sizes=(4, 8, 16, 32, 64, 128), repetitions=10):
    """Return a curve of these means, whose sd over repetitions is the same at all sizes."""
    scores = np.linspace(-1, 1, repetitions)
    x = np.array(values)[:, None] + spread * scores / scores.std(ddof=1)
    attrs = {"direction": "maximize", "valid_range": [0.0, 1.0]}
    return xr.DataArray(x, {"n": list(sizes)}, ("n", "repetition"), "accuracy", attrs)


def ends(needed):
    return [needed[name].item() for name in ("rows_low", "rows", "rows_high")]


def test_rows_that_were_seen_have_an_interval():
    means = [0.5, 0.6, 0.7, 0.8, 0.82, 0.9]
    # t of 90 % with 9 degrees of freedom is 1.833: so far do the ends of a mean lie apart.
    of_sd = np.sqrt(10) / 1.833
    alone = line(means, 0.0).isel(repetition=0, drop=True)
    for exact in (line(means, 1e-9), alone):
        assert ends(rows_needed(exact, 0.75)) == [17, 32, 32]
        assert ends(rows_needed(exact, 0.4)) == [1, 4, 4]
    near = line(means, 0.06 * of_sd)
    assert ends(rows_needed(near, 0.75)) == [9, 32, 64]
    assert ends(rows_needed(near, 0.77)) == [17, 32, 128]
    assert ends(rows_needed(near, 0.75, level=0.1)) == [17, 32, 32]
    flipped = (1 - near).assign_attrs(direction="minimize", valid_range=[0.0, 1.0])
    assert ends(rows_needed(flipped, 0.23)) == [17, 32, 128]
    dip = line([0.5, 0.8, 0.6, 0.8, 0.82, 0.9], 1e-9)
    assert ends(rows_needed(dip, 0.75)) == [17, 32, 32]


def test_ends_that_no_size_gives_are_those_of_the_forecast(curve):
    mean = curve.mean("repetition")
    target = float(mean.sel(n=46)) - 1e-6  # reached at the last size, but not for sure
    needed = rows_needed(curve.sel(n=slice(None, 46)), target)
    assert needed.answer == "seen" and needed.rows <= 46 < needed.rows_high
    assert needed.rows_low <= needed.rows
    low = rows_needed(curve.sel(n=slice(None, 46)), target + 2e-6)
    assert low.answer != "seen" and low.rows > 46 and low.rows_low == needed.rows_low


def test_quantiles_have_an_error_of_their_own_and_are_not_calibrated(curve):
    means = forecast(curve, [200, 800], last=100)
    low = forecast(curve, [200, 800], last=100, over=0.05)
    assert means.calibrated.values.tolist() == [True, False]
    assert not low.calibrated.any()
    rng = np.random.default_rng(8)
    drawn = rng.normal(size=(4000, 60))
    for q in (0.05, 0.5, 0.9):
        spread = np.quantile(drawn, q, axis=-1).std()
        assert _error_of_quantile(drawn, q).mean() == pytest.approx(spread, rel=0.25)
    assert np.isfinite(_error_of_quantile(drawn[:2], 0.0)).all()
    # Of these, few are far below all others: the lowest twentieth is less sure than the mean.
    x = np.where(np.arange(50) < 3, 0.3, 0.8) + 1e-3 * rng.normal(size=(len(N), 50))
    skewed = xr.DataArray(x, {"n": N}, ("n", "repetition"), "accuracy", {})
    known = _seen(skewed, 0.05, None)
    assert (known["error"] > 2 * _seen(skewed, "mean", None)["error"]).all()


def test_equal_errors_share_a_rank():
    flat = xr.zeros_like(made(np.random.default_rng(9), count=2))
    judged = forecast_benchmark({"a": flat, "b": flat})
    there = judged["rank"].notnull()
    assert there.any() and (judged.error.where(there, 0.0) == 0).all()
    assert (judged["rank"].where(there, (len(METHODS) + 1) / 2) == (len(METHODS) + 1) / 2).all()


def test_rows_needed_knows_losses_and_quantiles():
    loss = made(np.random.default_rng(4), metric="brier").isel(learner=0)
    target = float(forecast(loss, [300], last=150)["mean"][0])
    needed = rows_needed(loss, target, last=150)
    assert needed.answer == "forecast" and needed.rows == pytest.approx(300, rel=0.03)
    flipped = rows_needed(1 - loss, 1 - target, last=150, direction="maximize")
    assert flipped.rows == pytest.approx(float(needed.rows), rel=0.1)
    strict = rows_needed(loss, target, quantile=0.05, last=150)
    assert strict.rows >= needed.rows


def test_mistakes_say_what_to_do(curve):
    with pytest.raises(LabelError, match="ask for larger n"):
        forecast(curve, [100, 800])
    with pytest.raises(LabelError, match="needs 6 or more"):
        forecast(curve.isel(n=slice(0, 4)), [800])
    with pytest.raises(LabelError, match="level is 90"):
        forecast(curve, [800], level=90)
    with pytest.raises(LabelError, match="two datasets or more"):
        forecast_benchmark({61: curve})


@pytest.mark.full
@pytest.mark.slow
def test_intervals_hold_on_curves_like_those_that_calibrated_them():
    rng = np.random.default_rng(6)
    curves = {name: made(rng, count=20) for name in "abcd"}
    judged = forecast_benchmark(curves)
    assert judged.error.dims == ("forecaster", "cut", "ratio")
    assert list(judged.forecaster.values) == list(METHODS)
    covered = judged.coverage_of.sel(forecaster="forecast")
    assert 0.8 < covered.mean() < 0.97
    rank = judged["rank"].mean(["cut", "ratio"]).to_series()
    assert rank["forecast"] < rank["last value"]
    half = forecast_benchmark(curves, level=0.5)
    assert half.coverage_of.sel(forecaster="forecast").mean() == pytest.approx(0.5, abs=0.15)
    rule = forecast_calibration(curves)
    assert np.array(rule["factors"]).shape == (len(SIZES), 2, len(LEVELS))


def test_the_calibration_is_that_of_errors():
    rng = np.random.default_rng(7)
    error = np.abs(rng.normal(size=4000))
    rule = measure(error, np.full(4000, 100), np.repeat([2.0, 4.0], 2000), (2.0, 4.0))
    assert rule.factor(0.9, 100, np.array([2.0, 4.0])) == pytest.approx([1.645, 1.645], abs=0.1)
    assert rule.factor(0.99, 100, np.array([2.0]))[0] == pytest.approx(2.58, abs=0.2)
    assert (np.diff(shipped().factors, axis=-1) > 0).all()
    stored = json.loads((files("lcdb.data") / "forecast.json").read_text("utf-8"))
    assert np.isfinite(stored["factors"]).all()


def test_a_size_weighs_its_share_of_the_axis():
    assert spacing(np.array([1.0, 2.0, 4.0, 8.0])) == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6])
    assert spacing(np.array([5.0])).tolist() == [1.0]


def test_the_figure_shows_what_came_later_and_where_it_stops(curve):
    ax = lcdb.plot.forecast(curve, largest=600, last=50, target=0.9)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    *lines, note = labels
    assert lines == ["forecast of the mean", "90 % of single training sets", "seen", "came later"]
    assert note == "beyond 4 times the last\nsize: not calibrated"
    alone = lcdb.plot.forecast(curve.mean("repetition"), ax=ax)
    assert alone is ax
    with pytest.raises(LabelError, match="one curve"):
        lcdb.plot.forecast(made(np.random.default_rng(1), count=2))
