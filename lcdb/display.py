"""How a database looks: one table, as text, as HTML in a notebook, and as JSON-able rows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from lcdb.naming import cube_key
from lcdb.schema import SUMMARY_KIND, UNIT_DIMS
from lcdb.text import visible

if TYPE_CHECKING:
    from lcdb.cubefile import Header
    from lcdb.database import Database

__all__ = ["as_html", "as_rows", "as_text", "describe", "experiments", "table"]

#: Columns of the table: heading, and whether it holds numbers. Counts by status come after them.
_COLUMNS = (
    ("id", False),
    ("name", False),
    ("N", True),
    ("d", True),
    ("K", True),
    ("sizes", True),
    ("R", True),
)
# What is there comes first, and "not built" last: it is the least of the news.
_STATUSES = ("complete", "partial", "failed", "timed_out", "not_built")
_STYLE = (
    "<style>.lcdb-db td,.lcdb-db th{padding:.2em .7em;text-align:left}"
    ".lcdb-db .num{text-align:right;font-variant-numeric:tabular-nums}"
    ".lcdb-db caption{caption-side:top;text-align:left;font-weight:bold}</style>"
)


def describe(header: Header) -> dict[str, Any]:
    """Return what is known of one cube as a JSON-able dict."""
    return {
        "dataset": header.id,
        "name": header.name,
        "scaling": header.scaling,
        "rows": header.rows,
        "features": header.features,
        "classes": header.classes,
        "sizes": {
            "first": header.runs[0][0],
            "last": header.runs[-1][1],
            "count": header.size_count,
        },
        "repetitions": header.repetitions,
        **{dim: list(header.labels[dim]) for dim in UNIT_DIMS},
        "status": header.counts,
        "kind": header.kind,
        "format_version": header.format_version,
        "file": str(header.path),
        "bytes": header.bytes,
    }


def as_rows(database: Database) -> list[dict[str, Any]]:
    """Return `describe` of every cube."""
    return [describe(header) for header in database.headers.values()]


def _sizes(sizes: dict[str, int]) -> str:
    ends = f"{sizes['first']}..{sizes['last']}"
    gapless = sizes["count"] == sizes["last"] - sizes["first"] + 1
    return ends if gapless else f"{ends} ({sizes['count']})"


def table(database: Database) -> tuple[list[tuple[str, bool]], list[list[str]]]:
    """Return the columns (heading, is it a number) and the rows of the overview, safe to print.

    Curves are counted by status; a status that no curve has gets no column.
    """
    facts = as_rows(database)
    told = [name for name in _STATUSES if any(row["status"][name] for row in facts)]
    columns = [*_COLUMNS, *((name.replace("_", " "), True) for name in told)]
    rows = []
    for row in facts:
        key = cube_key(row["dataset"], row["scaling"])
        cells = [key, row["name"], row["rows"], row["features"], row["classes"]]
        summary = " (summary)" if row["kind"] == SUMMARY_KIND else ""
        cells += [
            _sizes(row["sizes"]) + summary,
            row["repetitions"],
            *(row["status"][n] for n in told),
        ]
        rows.append([visible(cell) for cell in cells])
    return columns, rows


def _title(database: Database) -> str:
    count = len({header.id for header in database.headers.values()})
    name = visible(repr(str(database.path)))
    cubes = f" in {len(database)} cubes" if len(database) > count else ""
    return f"lcdb.Database {name}: {count} dataset{'' if count == 1 else 's'}{cubes}"


def experiments(database: Database) -> list[str]:
    """Return one line per experiment."""
    return [visible(header) for header in database.experiments.values()]


def as_text(database: Database) -> str:
    """Return the overview as aligned text."""
    columns, rows = table(database)
    lines = [[name for name, _ in columns], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, (_, number) in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([_title(database), *(text if database else ()), *experiments(database)])


def as_html(database: Database) -> str:
    """Return the overview as an HTML table."""
    columns, rows = table(database)

    def line(tag: str, cells: list[str]) -> str:
        parts = (
            f"<{tag}{' class=num' if number else ''}>{escape(cell)}</{tag}>"
            for cell, (_, number) in zip(cells, columns, strict=True)
        )
        return f"<tr>{''.join(parts)}</tr>"

    head = line("th", [name for name, _ in columns])
    body = "".join(line("td", row) for row in rows)
    more = "".join(f"<p>{escape(line)}</p>" for line in experiments(database))
    caption = f"<caption>{escape(_title(database))}</caption>"
    return (
        f"{_STYLE}<table class='lcdb-db'>{caption}"
        f"<thead>{head}</thead><tbody>{body}</tbody></table>{more}"
    )
