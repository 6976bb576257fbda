"""Tables of a benchmark for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

__all__ = ["show"]


def _number(value: float) -> str:
    """Return a number of microseconds, or of times, in three digits.

    Examples
    --------
    >>> _number(0.0712), _number(3.14159), _number(14461.2), _number(float("nan"))
    ('0.0712', '3.14', '14,461', '-')
    """
    if not math.isfinite(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _hours(value: float) -> str:
    """Return hours, short enough for a table of ten datasets.

    Examples
    --------
    >>> _hours(0.0123), _hours(12.3), _hours(1234.5)
    ('0.01', '12.3', '1,234')
    """
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _table(title: str, first: Iterable[str], numbers: Iterable[str]) -> Table:
    table = Table(
        title=title,
        box=box.SIMPLE_HEAD,
        header_style="bold",
        title_justify="left",
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for name in first:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def show(result: Mapping[str, Any], command: str, console: Console | None = None) -> None:
    """Print a result of `lcdb_builders.bench.run.bench`."""
    console = console or Console()
    here = result["environment"]
    packages = ", ".join(f"{name} {version}" for name, version in here["packages"].items())
    for line in (
        f"{command}    ({result['seconds']:.0f} s)",
        f"{here['cpu']}, {here['cpus']} CPUs, {here['system']}, Python {here['python']}",
        packages,
        f"settings: {result['settings']} {_parameters(result['parameters'])}",
    ):
        console.print(line, highlight=False, markup=False)
    if result["quick"]:
        console.print("quick: rough numbers, and every eighth size of additive curves")
    console.print(_comparison(result))
    console.print(_growth(result))
    for key, what in (("projection", "untuned"), ("tuned", "tuned")):
        if key in result:
            _show_projection(console, result[key], what)


def _parameters(parameters: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(
        f"{name} {key} = {value}"
        for name, found in parameters.items()
        for key, value in found.items()
    )


def _comparison(result: Mapping[str, Any]) -> Table:
    table = _table(
        "µs per cell (fit, scores, four metrics), mean over all n, one thread; beside fit and\n"
        "predict of scikit-learn with metrics in NumPy (lean), and with its own (usual)",
        ("learner", "dataset", "draws"),
        ("lcdb", "lean", "times", "usual", "times"),
    )
    before = None
    for row in result["comparison"]:
        group = (row["learner"], row["dataset"])
        if before is not None and before != group:
            table.add_section()
        shown = group if before != group else ("", "")
        before = group
        if row["baseline"] != row["learner"]:
            shown = ("", row["baseline"])
        micros, lean, usual = (row[key] for key in ("micros", "lean_micros", "usual_micros"))
        table.add_row(
            *shown,
            f"{row['sampling']}, {row['split']}",
            _number(micros),
            _number(lean),
            _number(lean / micros),
            _number(usual),
            _number(usual / micros),
        )
    return table


def _growth(result: Mapping[str, Any]) -> Table:
    datasets = list(dict.fromkeys(row["dataset"] for row in result["growth"]))
    table = _table(
        "cost of a cell grows with n to the power of (from m / 4 to m; random, fixed)",
        ("learner",),
        datasets,
    )
    for name in dict.fromkeys(row["learner"] for row in result["growth"]):
        found = {r["dataset"]: r["exponent"] for r in result["growth"] if r["learner"] == name}
        table.add_row(name, *(f"{found[dataset]:.2f}" for dataset in datasets))
    return table


def _show_projection(console: Console, found: Mapping[str, Any], what: str) -> None:
    ids = [dataset["id"] for dataset in found["datasets"]]
    table = _table(
        f"projected core-hours of {found['plan']}, {what}: every n, 1,000 repetitions, six ways of "
        "drawing",
        ("learner",),
        (*ids, "all"),
    )
    for name, hours in found["hours"].items():
        table.add_row(name, *(_hours(hours[id]) for id in ids), _hours(sum(hours.values())))
    table.add_section()
    by_id = [sum(hours[id] for hours in found["hours"].values()) for id in ids]
    table.add_row("all", *map(_hours, by_id), _hours(found["total"]))
    console.print(table)
    real = [d["id"] for d in found["datasets"] if d["origin"] == "real"]
    others = [d["id"] for d in found["datasets"] if d["origin"] != "real"]
    if others:
        console.print(
            f"measured on the real data of {', '.join(real) or 'none'}; generated ones of the same "
            f"N, d, K and kinds of features stand in for {', '.join(others)}",
            highlight=False,
        )
    if "ratios" in found:
        ratios = ", ".join(f"{name} {ratio:.1f}" for name, ratio in found["ratios"].items())
        console.print(f"tuned cells cost, in untuned ones: {ratios}", highlight=False)
        if found["without_kernel"]:
            names = ", ".join(found["without_kernel"])
            console.print(f"not counted, for want of a kernel: {names}", highlight=False)
