"""Show which learner is first on each dataset, by how much, and whether that is settled.

By the mean over repetitions and by their bad end (--by 0.05: what 19 of 20 training sets reach).
A summary says who is first; whether that is settled takes the repetitions of its full cube.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lcdb.commands import SHIPPED
from lcdb.schema import METRICS, SCALINGS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["configure", "run"]


def _by(text: str) -> str | float:
    if text == "mean":
        return text
    try:
        return float(text)
    except ValueError:
        msg = f"{text!r} is neither 'mean' nor a quantile such as 0.05"
        raise argparse.ArgumentTypeError(msg) from None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``lcdb best``."""
    what = f"a database directory, a cube file, or a URL of one; {SHIPPED}"
    parser.add_argument("database", metavar="DIR|URL", help=what)
    parser.add_argument(
        "-n", type=int, metavar="N",
        help="training rows: the nearest size, at most a fifth away (default: the last size)",
    )  # fmt: skip
    parser.add_argument(
        "--by", type=_by, nargs="+", default=["mean", 0.05], metavar="WHAT",
        help="mean, or quantiles of the bad end (default: mean 0.05)",
    )  # fmt: skip
    parser.add_argument(
        "--dataset", action="append", metavar="ID", help="one dataset, may be repeated"
    )
    parser.add_argument(
        "--learner", action="append", metavar="NAME", help="one learner, may be repeated"
    )
    parser.add_argument("--metric", default="accuracy", metavar="NAME", help=", ".join(METRICS))
    for name, default in (("sampling", "random"), ("split", "varying"), ("tuning", "default")):
        parser.add_argument(
            f"--{name}", default=default, metavar="NAME", help=f"{default} unless given"
        )
    parser.add_argument("--scaling", choices=SCALINGS, default="none", help="of the features")


def run(arguments: argparse.Namespace) -> None:
    """Print the table, and how often each learner is first."""
    from lcdb.database import open as open_database
    from lcdb.shipped import named
    from lcdb.text import visible

    names = ("sampling", "split", "tuning", "scaling", "metric", "learner")
    labels = {name: getattr(arguments, name) for name in names}
    with open_database(named(arguments.database)) as db:
        table = db.best(arguments.n, arguments.by, datasets=arguments.dataset, **labels)
    if len(table):
        shown = table.drop(columns="open").assign(
            settled=[_settled(row) for _, row in table.iterrows()]
        )
        text = shown.to_string(index=False, float_format="{:.4g}".format)
        for line in [*text.splitlines(), *_counts(table)]:
            print(visible(line))
    for dataset, why in table.attrs["left_out"].items():
        print(visible(f"left out: {dataset}, {why}"))


def _settled(row: pd.Series) -> str:
    if row["settled"] is None:
        return "?"
    return "yes" if row["settled"] else "not against " + ", ".join(row["open"])


def _counts(table: pd.DataFrame) -> list[str]:
    """Return how often each learner is first, a line for each way to rank."""
    lines = []
    for by, rows in table.groupby("by", sort=False):
        what = "mean" if by == "mean" else f"the bad end ({by:g})"
        firsts = rows["first"].value_counts().items()
        text = ", ".join(f"{name} {count}" for name, count in firsts)
        known = rows[rows["settled"].notna()]
        if len(known):
            text += f"; settled at 5 % on {int(known['settled'].sum())} of {len(known)}"
        datasets = f"{len(rows)} dataset{'' if len(rows) == 1 else 's'}"
        lines.append(f"first by {what} on {datasets}: {text}")
    if table["settled"].isna().any():
        lines.append("?: of a summary; whether a first place is settled takes its full cube")
    return lines
