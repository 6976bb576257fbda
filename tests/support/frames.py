"""Random tables, as hypothesis strategies, and writers of the three formats."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

Cell = float | str | None

# Texts that are neither numbers nor signs of missing cells, with all that needs quoting.
TEXTS = st.text(st.sampled_from("abcXYZ éß中 ,;'\"%{}\\?_-"), min_size=1, max_size=8).map(
    lambda text: "t" + text.strip()
)
NAMES = st.text(st.sampled_from("abcdXYZ_é (),'%"), min_size=1, max_size=8).map(
    lambda text: "n" + text.strip()
)
NUMBERS = st.one_of(
    st.integers(-(2**60), 2**60).map(float),
    st.floats(allow_nan=False, allow_infinity=False, width=64),
    st.sampled_from([0.0, -0.0, 1e308, 5e-324, 0.1]),
)


@dataclass(frozen=True)
class Frame:
    """Columns of numbers and of texts; the last column, `class`, is the target."""

    names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def features(self) -> int:
        return len(self.names) - 1


@st.composite
def frames(draw, missing: bool = True) -> Frame:
    """Frames that can become snapshots: no empty column, at least two classes and ten rows."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    count = draw(st.integers(10, 25))
    kinds: list[tuple[str, ...] | None] = [
        draw(st.none() | st.lists(TEXTS, min_size=1, max_size=4, unique=True).map(tuple))
        for _ in names
    ]
    classes = draw(st.lists(TEXTS, min_size=2, max_size=4, unique=True).map(tuple))
    columns: list[list[Cell]] = []
    for kind in [*kinds, classes]:
        cells = NUMBERS if kind is None else st.sampled_from(kind)
        column: list[Cell] = draw(st.lists(cells, min_size=count, max_size=count))
        if missing and kind is not classes:
            for row in draw(st.sets(st.integers(1, count - 1), max_size=4)):
                column[row] = None
        columns.append(column)
    columns[-1][0], columns[-1][1] = classes[0], classes[1]
    rows = tuple(zip(*columns, strict=True))
    return Frame((*names, "class"), (*kinds, classes), rows)


def quoted(text: str) -> str:
    """Return an ARFF text in single quotes."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("%", "\\%")
    return f"'{escaped}'"


def as_arff(frame: Frame, ends: str = "\n", *, declared: bool = True) -> str:
    """Return a frame as ARFF, with comments and blank lines where they like to be."""
    lines = ["% a comment", "@RELATION random", ""]
    for name, kind in zip(frame.names, frame.categories, strict=True):
        listed = "{" + ", ".join(map(quoted, kind or ())) + "}" if declared else "string"
        lines.append(f"@Attribute {quoted(name)} {'REAL' if kind is None else listed}")
    lines += ["", "@data", ""]
    for row in frame.rows:
        cells = ["?" if c is None else quoted(c) if isinstance(c, str) else repr(c) for c in row]
        lines.append(",".join(cells))
    return ends.join([*lines, "%", "% the end", "", ""])


def as_csv(frame: Frame, delimiter: str = ",") -> str:
    """Return a frame as CSV."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter)
    writer.writerow(frame.names)
    for row in frame.rows:
        writer.writerow(["" if c is None else c if isinstance(c, str) else repr(c) for c in row])
    return buffer.getvalue()


def as_parquet(frame: Frame, *, dictionaries: bool) -> bytes:
    """Return a frame as parquet: texts as plain text, or with their categories declared."""
    columns = []
    for position, kind in enumerate(frame.categories):
        cells = [row[position] for row in frame.rows]
        if kind is None:
            columns.append(pa.array(cells, pa.float64()))
        elif dictionaries:
            codes = pa.array([None if c is None else kind.index(c) for c in cells], pa.int8())
            columns.append(pa.DictionaryArray.from_arrays(codes, pa.array(kind)))
        else:
            columns.append(pa.array(cells, pa.string()))
    return written(pa.Table.from_arrays(columns, names=list(frame.names)))


def written(table: pa.Table | pd.DataFrame) -> bytes:
    """Return the bytes of a parquet file."""
    buffer = io.BytesIO()
    pq.write_table(
        pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table, buffer
    )
    return buffer.getvalue()
