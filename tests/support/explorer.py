"""What the explorer is to show for a state, by way of xarray; and what it does show."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from math import isnan

import numpy as np
from scipy import stats as scipy_stats

import lcdb
from lcdb.schema import METRICS
from tests.support.browser import Page

VIEWS = ("curves", "cell", "pair", "ranks", "normality")
HOSTILE = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'> \"q\" =1+1"
LONG = "long " * 2000


def rounded(x: float, digits: int = 4) -> str:
    """Return a number as the page shows it."""
    if isnan(x):
        return "–"
    if x == 0:
        return "0"
    exact = Decimal(abs(x))
    place = exact.adjusted() - digits + 1
    value = exact.quantize(Decimal(1).scaleb(place), ROUND_HALF_UP)
    if value.adjusted() > exact.adjusted():  # 0.99999 has become 1.0000
        place += 1
        value = exact.quantize(Decimal(1).scaleb(place), ROUND_HALF_UP)
    sign = "−" if x < 0 else ""
    if 1e-3 <= abs(x) < 1e5:
        return f"{sign}{value:f}"
    mantissa = value.scaleb(-value.adjusted())
    return f"{sign}{mantissa:f}e{value.adjusted():+d}"


def draw_state(rng: np.random.Generator, view: str, datasets: list[dict]) -> dict:
    """Return a random state of a view."""
    dataset = datasets[int(rng.integers(len(datasets)))]
    labels = dataset["labels"]
    some = rng.permutation(labels["learner"])[: int(rng.integers(2, len(labels["learner"]) + 1))]
    first, second = (str(name) for name in rng.permutation(labels["learner"])[:2])
    state = {dim: str(rng.choice(labels[dim])) for dim in ("sampling", "split", "tuning")}
    return state | {
        "view": view,
        "dataset": dataset["key"],
        "metric": str(rng.choice(list(METRICS))),
        "n": int(rng.choice(dataset["sizes"])),
        "learner": [str(name) for name in labels["learner"] if name in some],
        "one": first,
        "a": first,
        "b": second,
        "band": str(rng.choice(["none", "0.025", "0.05", "0.25", "0.005"])),
        "axis": str(rng.choice(["log", "linear"])),
        "middle": str(rng.choice(["mean", "median"])),
    }


def expected_rows(db: lcdb.Database, state: dict) -> dict[str, list[float]]:
    """Return the numbers that the page shows for a state, by the learner of a row."""
    key, n = int(state["dataset"]), state["n"]
    unit = {dim: state[dim] for dim in ("sampling", "split", "tuning")}
    metric, view = state["metric"], state["view"]
    rows = db[key].n_test.sel(sampling=unit["sampling"], split=unit["split"], n=n)
    scores = db.select(key, **unit, metric=metric)[key].sel(n=n)
    if view == "curves":
        part = scores.sel(learner=state["learner"])
        ends = [] if state["band"] == "none" else [float(state["band"]), 1 - float(state["band"])]
        columns = [
            part.mean("repetition"),
            part.quantile(0.5, "repetition"),
            *(part.quantile(q, "repetition") for q in ends),
            part.std("repetition", ddof=1),
        ]
        return {name: [float(c.sel(learner=name)) for c in columns] for name in state["learner"]}
    if view == "ranks":
        part = scores.sel(learner=state["learner"])
        is_mean = state["middle"] == "mean"
        by = part.mean("repetition") if is_mean else part.quantile(0.5, "repetition")
        sign = 1 if METRICS[metric].direction == "minimize" else -1
        places = scipy_stats.rankdata(sign * by.values.round(9))
        return {name: [float(places[i]), float(by[i])] for i, name in enumerate(state["learner"])}
    if view == "pair":
        found = lcdb.analysis.compare(
            *(scores.sel(learner=state[side]) for side in "ab"), resamples=2
        )
        names = ("mean_difference", "mean_low", "mean_high", "better", "better_low", "better_high")
        numbers = [float(found[name]) for name in names]
        return {"difference": numbers[:3], "better": numbers[3:]}
    tests = lcdb.analysis.normality(scores, rows if metric == "accuracy" else None)
    if view == "normality":
        return {
            name: [float(tests[v].sel(learner=name)) for v in ("shapiro_w", "shapiro_p")]
            for name in map(str, scores["learner"].values)
        }
    cell, tests = scores.sel(learner=state["one"]), tests.sel(learner=state["one"])
    one = {
        "mean": [float(cell.mean())],
        "standard deviation": [float(cell.std(ddof=1))],
        "skewness": [float(tests["skewness"])],
        "Shapiro–Wilk W": [float(tests["shapiro_w"])],
        "Shapiro–Wilk p": [float(tests["shapiro_p"])],
        "D’Agostino–Pearson p": [float(tests["dagostino_p"])],
    }
    if metric == "accuracy" and (tests["constant"] or not np.isnan(tests["lattice_p"])):
        one["normal on the lattice, p"] = [float(tests["lattice_p"])]
    return one


def digits_of(view: str, row: str, column: int) -> int:
    return 3 if row.endswith((" p", ", p")) or (view == "normality" and column) else 4


def screen(view: str, rows: dict[str, list[str]], columns: int, row: str) -> list[str]:
    return rows[row][1 : 1 + columns]


def compare_screen(page: Page, state: dict, expected: dict[str, list[float]]) -> None:
    rows = page.rows()
    assert set(expected) <= set(rows), (state, rows)
    for row, numbers in expected.items():
        wanted = [rounded(x, digits_of(state["view"], row, i)) for i, x in enumerate(numbers)]
        if digits_of(state["view"], row, len(numbers) - 1) == 3 and numbers[-1] == 0:
            wanted[-1] = "< 1e-300"
        if state["view"] == "ranks":
            wanted[0] = f"{numbers[0]:g}"
        assert screen(state["view"], rows, len(wanted), row) == wanted, (state, row)


def run_python(page: Page) -> object:
    """Run the Python that the page shows, as somebody who copies it would; return its result."""
    space: dict = {}
    code = page.run("return document.querySelector('#code code').textContent")
    exec(compile(code, "copied", "exec"), space)
    space["db"].close()
    return space["result"]


def python_rows(result, state: dict) -> dict[str, list[float]]:
    """Return the numbers of a result of copied Python, as far as `expected_rows` has them."""
    view, n = state["view"], state["n"]
    if view == "curves":
        at = result.sel(n=n)
        low = float("nan") if state["band"] == "none" else float(state["band"])
        q = [0.5] if isnan(low) else [0.5, low, 1 - low]
        return {
            name: [float(at["mean"].sel(learner=name))]
            + [float(at["quantile"].sel(learner=name).sel(q=p, method="nearest")) for p in q]
            + [float(at["sd"].sel(learner=name))]
            for name in state["learner"]
        }
    if view == "ranks":
        return {name: [float(result.loc[n][name])] for name in state["learner"]}
    if view == "pair":
        names = ("mean_difference", "mean_low", "mean_high", "better", "better_low", "better_high")
        numbers = [float(result[name].item()) for name in names]
        return {"difference": numbers[:3], "better": numbers[3:]}
    if view == "normality":
        at = result.sel(n=n)
        return {
            str(name): [float(at[v].sel(learner=name)) for v in ("shapiro_w", "shapiro_p")]
            for name in at["learner"].values
        }
    found = {
        "skewness": [float(result["skewness"])],
        "Shapiro–Wilk W": [float(result["shapiro_w"])],
        "Shapiro–Wilk p": [float(result["shapiro_p"])],
    }
    return found


def saved(page: Page, button: str) -> str:
    """Return the text of the file that a button hands to the reader."""
    return page.driver.execute_async_script(
        """
        const [button, done] = arguments;
        const make = URL.createObjectURL;
        URL.createObjectURL = (blob) => { blob.text().then(done); return make.call(URL, blob); };
        document.querySelector(button).click();
        URL.createObjectURL = make;
        """,
        button,
    )
