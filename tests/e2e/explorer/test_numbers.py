"""The page in a real Chromium: its numbers are xarray's, to the digits shown."""

from __future__ import annotations

import json
import zlib
from math import isnan
from urllib.parse import urlencode

import numpy as np
import pytest
from scipy import stats as scipy_stats

import lcdb
from tests.support.counts import counts
from tests.support.explorer import (
    VIEWS,
    compare_screen,
    draw_state,
    expected_rows,
    python_rows,
    rounded,
    run_python,
)

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.server]


def test_the_oracle_of_digits():
    told = {0.90625: "0.9063", 1.0: "1.000", 0.99996: "1.000", 2.5e-7: "2.500e-7", -0.5: "−0.5000"}
    assert {x: rounded(x) for x in told} == told


def test_numbers_on_the_screen_and_of_the_copied_python_are_those_of_xarray(shown, host, capsys):
    site = json.loads((host.root / "some" / "where" / "site.json").read_bytes())
    rng = np.random.default_rng(14)
    with lcdb.tutorial() as db:
        for i in range(counts(5, 20)):
            state = draw_state(rng, VIEWS[i % len(VIEWS)], site["datasets"])
            shown.go(urlencode(state, doseq=True))
            assert shown.text("#notice") == ""
            compare_screen(shown, state, expected_rows(db, state))
            compare_screen(shown, state, python_rows(run_python(shown), state))
    assert capsys.readouterr().out  # what it prints


def test_what_the_page_computes_itself_is_what_scipy_and_zlib_do(shown):
    rng = np.random.default_rng(3)
    p = [1e-12, 1e-3, 0.0749, 0.5, 0.9, 1 - 1e-9]
    values = [0.5, 0.7, float("nan"), 0.5 + 1e-12, 0.1]
    data = rng.integers(0, 256, 1000).tolist()
    ordered = np.sort(rng.normal(size=500)).tolist()
    found = shown.driver.execute_async_script(
        """
        const [p, values, data, ordered, done] = arguments;
        const clean = values.map((x) => x === null ? NaN : x);
        Promise.all([import("./numbers.js"), import("./cube.js")]).then(([n, c]) => done({
          z: p.map(n.normalQuantile), density: n.normalDensity(1.3, 1, 0.5),
          up: n.ranks(clean, "maximize"), down: n.ranks(clean, "minimize"),
          crc: c.crc32(Uint8Array.from(data)), even: n.evenBins(ordered, 60),
          lattice: n.latticeBins([0.1, 0.2, 0.2, 0.7], 10, 60),
          wide: n.latticeBins([0, 0.5, 1], 100, 10),
        }));
        """,
        p, [None if isnan(x) else x for x in values], data, ordered,
    )  # fmt: skip
    assert np.allclose(found["z"], scipy_stats.norm.ppf(p), rtol=1e-13, atol=0)
    assert found["density"] == pytest.approx(scipy_stats.norm.pdf(1.3, 1, 0.5), rel=1e-14)
    assert found["up"] == [2.5, 1, None, 2.5, 4] and found["down"] == [2.5, 4, None, 2.5, 1]
    assert found["crc"] == zlib.crc32(bytes(data))
    edges = found["even"]["start"] + found["even"]["width"] * np.arange(
        len(found["even"]["bars"]) + 1
    )
    assert found["even"]["bars"] == np.histogram(ordered, edges)[0].tolist()
    assert found["lattice"]["bars"] == [1, 2, 0, 0, 0, 0, 1]
    assert found["lattice"]["start"] == pytest.approx(0.05)
    assert found["wide"]["step"] == 11 and sum(found["wide"]["bars"]) == 3


def test_a_p_value_that_no_double_holds_is_not_shown_as_nothing(shown):
    found = shown.driver.execute_async_script(
        "const done = arguments[0];"
        'import("./numbers.js").then(({ pValue }) => done([0, 3e-320, 0.04996].map(pValue)))'
    )
    assert found == ["< 1e-300", "3.00e-320", "0.0500"]


def test_ticks_say_where_they_are(shown):
    rng = np.random.default_rng(5)
    domains = [[float(a), float(a + b)] for a, b in 10.0 ** rng.uniform(-6, 2, (60, 2))]
    domains += [[-0.075, 0.035], [0.0, 1.0], [-0.02, 1.02], [0.3, 1.01]]
    sizes = [[1, 105], [2, 3480], [10, 437], [50, 60], [1, 2]]
    found = shown.driver.execute_async_script(
        """
        const [even, log, done] = arguments;
        import("./chart.js").then(({ scale }) => done([["linear", even], ["log", log]].map(
          ([kind, list]) => list.map((one) =>
            [5, 8, 16].map((count) => scale(kind, one, [0, 100]).ticks(count))))));
        """,
        domains, sizes,
    )  # fmt: skip
    for domain, by_count in zip(domains + sizes, found[0] + found[1], strict=True):
        for ticks, count in zip(by_count, (5, 8, 16), strict=True):
            values = np.array([tick["value"] for tick in ticks])
            told = np.array([float(tick["text"].replace("−", "-")) for tick in ticks])
            span = domain[1] - domain[0]
            assert 1 <= len(ticks) <= 2 * count + 2, (domain, ticks)
            assert np.allclose(told, values, rtol=0, atol=1e-9 * span + 1e-12), (domain, ticks)
            assert (values >= domain[0] - 0.01 * span).all() and (np.diff(values) > 0).all()


def test_bars_and_points_are_the_repetitions(shown):
    state = {"view": "cell", "one": "QDC", "n": 20, "metric": "accuracy", "dataset": "61"}
    shown.go(urlencode({**state, "sampling": "random", "split": "fixed"}))
    with lcdb.tutorial() as db:
        cell = db.curve("iris", "QDC", sampling="random", split="fixed").sel(n=20).values
    counted = np.bincount(np.round(cell * 45).astype(int))
    heights = shown.run(
        "return [...document.querySelectorAll('[data-chart=histogram] .bar')]"
        ".map((bar) => Number(bar.getAttribute('height')))"
    )
    bars = np.array(heights) / max(heights) * counted.max()
    assert np.allclose(bars, counted[np.flatnonzero(counted)[0] :], atol=1e-9)
    points = shown.run("return document.querySelector('[data-chart=qq] .points').getAttribute('d')")
    assert points.count("M") == 200
    assert "multiples of 1/45; a bar is one of them" in shown.text("#charts")


def test_a_pair_the_other_way_round_is_turned(shown):
    unit = {"sampling": "random", "split": "varying", "tuning": "default"}
    state = {"view": "pair", "dataset": "11", "metric": "brier", "n": 70, **unit}
    with lcdb.tutorial() as db:
        for sides in ({"a": "QDC", "b": "NMC"}, {"a": "NMC", "b": "QDC"}):
            shown.go(urlencode(state | sides))
            compare_screen(shown, state | sides, expected_rows(db, state | sides))
