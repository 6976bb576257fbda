"""Tables of a benchmark for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

__all__ = ["show", "show_statistics"]


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


def _table(first: Iterable[str], numbers: Iterable[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False)
    for name in first:
        table.add_column(name, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def show(result: Mapping[str, Any], command: str, console: Console | None = None) -> None:
    """Print a result of `lcdb_builders.bench.run.bench`."""
    console = console or _console()
    machine = result["environment"]
    _show_lines(
        console,
        f"{command}    ({result['seconds']:.0f} s)",
        f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['system']}, "
        f"Python {machine['python']}",
        _packages(machine),
        f"settings: {result['settings']} {_parameters(result['parameters'])}",
    )
    if result["quick"]:
        console.print("quick: rough numbers, and every eighth size of additive curves")
    _show_comparison(console, result)
    _show_growth(console, result)
    for key, what in (("projection", "untuned"), ("tuned", "tuned")):
        if key in result:
            _show_projection(console, result[key], what)


def show_statistics(
    result: Mapping[str, Any], command: str, console: Console | None = None
) -> None:
    """Print a result of `lcdb_builders.bench.statistics.look`."""
    console = console or _console()
    machine, made = result["environment"], result["database"]
    _show_lines(
        console, command, f"{machine['cpu']}, Python {machine['python']}", _packages(machine)
    )
    title = "µs per distribution of 1,000 values: all tests, moments, seven quantiles"
    _show_lines(console, "", title)
    table = _table(("",), ("µs", "times"))
    for name, micros in result["micros"].items():
        table.add_row(name, _number(micros), _number(micros / result["micros"]["lcdb"]))
    console.print(table)
    _show_lines(
        console,
        f"a generated database of {made['cells']:,} distributions, {made['raw_mb']:,.0f} MB, "
        f"{made['disk_mb']:,.0f} MB on disk:",
        f"reading {made['read_seconds']:.2f} s, statistics {made['pass_seconds']:.2f} s, "
        f"greatest memory {made['peak_mb']:,.0f} MB",
    )


def _console() -> Console:
    """Return where to print: a file is as wide as its widest line."""
    console = Console()
    return console if console.is_terminal else Console(width=120)


def _packages(machine: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in machine["packages"].items())


def _show_lines(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(line, highlight=False, markup=False)


def _parameters(parameters: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(
        f"{name} {key} = {value}"
        for name, values in parameters.items()
        for key, value in values.items()
    )


def _show_comparison(console: Console, result: Mapping[str, Any]) -> None:
    _show_lines(
        console,
        "",
        "µs per cell (fit, scores, four metrics), mean over all n, one thread; beside fit and "
        "predict of",
        "scikit-learn with metrics in NumPy (lean), and with its own (usual)",
    )
    table = _table(("learner", "dataset", "draws"), ("lcdb", "lean", "times", "usual", "times"))
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
    console.print(table)


def _show_growth(console: Console, result: Mapping[str, Any]) -> None:
    datasets = list(dict.fromkeys(row["dataset"] for row in result["growth"]))
    title = "the cost of a cell grows with n to this power (from m / 4 to m; random, fixed)"
    _show_lines(console, title)
    table = _table(("learner",), datasets)
    for name in dict.fromkeys(row["learner"] for row in result["growth"]):
        exponents = {r["dataset"]: r["exponent"] for r in result["growth"] if r["learner"] == name}
        table.add_row(name, *(f"{exponents[dataset]:.2f}" for dataset in datasets))
    console.print(table)


def _show_projection(console: Console, projection: Mapping[str, Any], what: str) -> None:
    ids = [dataset["id"] for dataset in projection["datasets"]]
    title = f"projected core-hours of {projection['plan']}, {what}: every n, 1,000 repetitions"
    _show_lines(console, title)
    table = _table(("learner",), (*ids, "all"))
    for name, hours in projection["hours"].items():
        table.add_row(name, *(_hours(hours[id]) for id in ids), _hours(sum(hours.values())))
    table.add_section()
    by_id = [sum(hours[id] for hours in projection["hours"].values()) for id in ids]
    table.add_row("all", *map(_hours, by_id), _hours(projection["total"]))
    console.print(table)
    real = [d["id"] for d in projection["datasets"] if d["origin"] == "real"]
    others = [d["id"] for d in projection["datasets"] if d["origin"] != "real"]
    if others:
        console.print(
            f"measured on the real data of {', '.join(real) or 'none'}; generated ones of the same "
            f"N, d, K and kinds of features stand in for {', '.join(others)}",
            highlight=False,
        )
    if "ratios" in projection:
        ratios = ", ".join(f"{name} {ratio:.1f}" for name, ratio in projection["ratios"].items())
        console.print(f"tuned cells cost, in untuned ones: {ratios}", highlight=False)
        count = projection["repetitions"]
        console.print(f"tuned: the first {count} repetitions of each size", highlight=False)
        if projection["without_kernel"]:
            names = ", ".join(projection["without_kernel"])
            console.print(f"not counted, for want of a kernel: {names}", highlight=False)
