"""A table as rows of published | ours | difference, and how it is written out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

__all__ = ["FORMATS", "Row", "Table", "legends", "render"]

FORMATS = ("rich", "markdown", "latex", "csv", "json")


@dataclass(frozen=True)
class Row:
    """One number of a published table, beside the one recomputed from a database.

    Parameters
    ----------
    row, metric
        What it is about.
    published, ours
        None where there is none.
    cells, missing, constant
        How many cells (curve × n) it rests on, how many have no value, how many are constant.
    beside
        Other numbers of the same cells by name: rates under a view, a lattice-aware rate, an
        effect size.
    published_sd, ours_sd
        Standard deviations over curves, where the paper prints one.
    name
        `row` as people know it: a dataset's name, a learner's long name; `row` unless given.
    """

    row: str
    metric: str
    published: float | None
    ours: float | None
    cells: int = 0
    missing: int = 0
    constant: int = 0
    beside: dict[str, float | None] = field(default_factory=dict)
    published_sd: float | None = None
    ours_sd: float | None = None
    name: str = ""

    @property
    def title(self) -> str:
        """Return what people call it."""
        return self.name or self.row

    @property
    def difference(self) -> float | None:
        """Return ours - published."""
        if self.published is None or self.ours is None:
            return None
        return self.ours - self.published


@dataclass(frozen=True)
class Table:
    """A published table: its name, what it shows, and its rows.

    A `legend` explains columns that several tables share, and is printed once for all of them.
    `about` says in a few words what the numbers are of: which draws, and what means are over.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    digits: int = 2
    note: str = ""
    legend: str = ""
    about: str = ""

    @property
    def beside(self) -> list[str]:
        """Names of the further columns."""
        return list(dict.fromkeys(name for row in self.rows for name in row.beside))

    def header(self) -> list[str]:
        """Return the titles of the columns."""
        fixed = ["row", "metric", "published", "ours", "difference"]
        return [*fixed, *self.beside, "cells", "missing", "constant"]

    def told(self) -> list[list[str]]:
        """Return as text the rows that say something: a printed number, or one of ours."""
        return [
            cells
            for cells, row in zip(self.cells(), self.rows, strict=True)
            if row.published is not None or row.ours is not None
        ]

    def cells(self) -> list[list[str]]:
        """Return the rows as text; an SD stands in brackets behind its mean."""
        return [
            [
                row.title,
                row.metric,
                self._with_sd(row.published, row.published_sd),
                self._with_sd(row.ours, row.ours_sd),
                self._number(row.difference),
                *(self._number(row.beside.get(name)) for name in self.beside),
                *(str(v) if row.cells or row.missing else "" for v in _counts(row)),
            ]
            for row in self.rows
        ]

    def few(self, more: Sequence[str] = ()) -> tuple[list[str], dict[str, list[list[str]]]]:
        """Return the titles of the columns that people read first, and their cells by metric.

        Rows without a number of ours are left out, and so are counts and standard deviations.

        Parameters
        ----------
        more
            Names of further columns. Where nothing is published, all further columns are there.

        Examples
        --------
        >>> rows = (Row("61", "accuracy", 99.38, 98.5, 105, beside={"W": 0.9}, name="iris (61)"),)
        >>> titles, by_metric = Table("table_1", "By dataset", rows).few()
        >>> titles, by_metric["accuracy"]
        (['published', 'ours', 'difference'], [['iris (61)', '99.38', '98.50', '-0.88']])
        """
        rows = [row for row in self.rows if row.ours is not None]
        columns = {"published": [row.published for row in rows], "ours": [r.ours for r in rows]}
        columns["difference"] = [row.difference for row in rows]
        if all(row.published is None for row in self.rows):
            more = self.beside
        columns |= {name: [row.beside.get(name) for row in rows] for name in more}
        numbers = {
            name: all_of for name, all_of in columns.items() if any(x is not None for x in all_of)
        }
        found: dict[str, list[list[str]]] = {}
        for i, row in enumerate(rows):
            cells = [self._number(column[i]) for column in numbers.values()]
            found.setdefault(row.metric, []).append([row.title, *cells])
        return list(numbers), found

    def _number(self, value: float | None) -> str:
        # Rounding comes first: -0.001 is 0.00, not -0.00.
        return "" if value is None else f"{round(value, self.digits) + 0.0:.{self.digits}f}"

    def _with_sd(self, value: float | None, sd: float | None) -> str:
        return self._number(value) + (f" ({self._number(sd)})" if sd is not None else "")


def _counts(row: Row) -> tuple[int, int, int]:
    return row.cells, row.missing, row.constant


def render(tables: Sequence[Table], form: str) -> str:
    """Return tables as text in one of `FORMATS` but ``"rich"``, which needs a terminal.

    Examples
    --------
    >>> table = Table("table_1", "By dataset", (Row("61", "accuracy", 99.38, 98.5, 105),))
    >>> print(render([table], "csv").splitlines()[1])
    table_1,61,accuracy,99.38,98.5,-0.8799999999999955,,,105,0,0,61
    """
    writers = {"markdown": _markdown, "latex": _latex, "csv": _csv, "json": _json}
    return writers[form](tables)


def _markdown(tables: Sequence[Table]) -> str:
    parts = []
    for table in tables:
        header = table.header()
        lines = [f"### {table.title}", ""]
        titles = (name.replace("_", " ").replace("|", "\\|") for name in header)
        lines.append("| " + " | ".join(titles) + " |")
        lines.append("|" + "|".join("---" if i < 2 else "--:" for i in range(len(header))) + "|")
        lines += ["| " + " | ".join(row) + " |" for row in table.told()]
        if table.note:
            lines += ["", table.note]
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, *legends(tables)])


def legends(tables: Iterable[Table]) -> list[str]:
    """Return what explains the columns of tables, each once."""
    return [text for text in dict.fromkeys(table.legend for table in tables) if text]


def _latex(tables: Iterable[Table]) -> str:
    def escape(text: str) -> str:
        return "".join("\\" + c if c in "%&_#" else c for c in text)

    parts = []
    for table in tables:
        header = table.header()
        lines = ["\\begin{table}", f"  \\caption{{{escape(table.title)}}}"]
        lines.append(f"  \\begin{{tabular}}{{ll{'r' * (len(header) - 2)}}}")
        lines.append("    \\hline")
        lines.append("    " + " & ".join(map(escape, header)) + " \\\\")
        lines.append("    \\hline")
        lines += ["    " + " & ".join(map(escape, row)) + " \\\\" for row in table.told()]
        lines += ["    \\hline", "  \\end{tabular}", "\\end{table}"]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _plain(table: Table, row: Row) -> dict[str, object]:
    named = asdict(row)
    beside = named.pop("beside")
    found = {"table": table.name, **named, **{name: beside.get(name) for name in table.beside}}
    last = ("published_sd", "ours_sd", "cells", "missing", "constant", "name")
    after = {name: found.pop(name) for name in last}
    return {**found, "difference": row.difference, **after, "name": row.title}


def _csv(tables: Iterable[Table]) -> str:
    every = [_plain(table, row) for table in tables for row in table.rows]
    first = ["table", "row", "metric", "published", "ours", "difference"]
    columns = list(dict.fromkeys([*first, *(name for row in every for name in row)]))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(every)
    return text.getvalue()


def _json(tables: Iterable[Table]) -> str:
    return json.dumps([_plain(table, row) for table in tables for row in table.rows], indent=1)
