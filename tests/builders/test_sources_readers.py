"""Readers of ARFF, CSV and parquet: against liac-arff, against each other, and on round trips."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lcdb_builders.sources.arff import read_arff
from lcdb_builders.sources.convert import to_snapshot
from lcdb_builders.sources.delimited import read_delimited
from lcdb_builders.sources.parquet import read_parquet
from lcdb_builders.sources.table import Table

from lcdb.errors import DatasetError
from tests.oracles import arff as oracle
from tests.support.counts import counts
from tests.support.frames import Frame, as_arff, as_csv, as_parquet, frames, quoted, written
from tests.support.openml_server import copies
from tests.support.snapshots import data_folder

many = settings(derandomize=True, deadline=None, max_examples=counts(40, 1000))


def by_appearance(frame: Frame, position: int) -> list[str]:
    return list(dict.fromkeys(row[position] for row in frame.rows if row[position] is not None))


def assert_cells(table: Table, frame: Frame, *, declared: bool) -> None:
    """Every number exact, every text behind its code, every missing cell missing."""
    assert table.names == frame.names
    for position, column in enumerate(table.columns):
        kind = frame.categories[position]
        if kind is not None:
            wanted = list(kind) if declared else by_appearance(frame, position)
            assert list(column.categories) == wanted
        else:
            assert column.categories is None
        for row, value in zip(frame.rows, column.values.tolist(), strict=True):
            if row[position] is None:
                assert np.isnan(value)
            elif kind is None:
                assert value == row[position]
            else:
                assert column.categories[int(value)] == row[position]


@pytest.mark.parametrize(
    "id", [61, *(pytest.param(id, marks=pytest.mark.data) for id in (11, 23, 37, 53, 1063))]
)
def test_openml_files_read_as_liac_arff_reads_them(id):
    (served,) = copies(id)
    text, target = served.arff.decode(), served.target
    X, y, classes = oracle.read(text.replace("\r\n", "\n"), target)
    snapshot = to_snapshot(read_arff(text), id=str(id), name=served.name, target=target)
    np.testing.assert_array_equal(snapshot.X, X)
    np.testing.assert_array_equal(snapshot.y, y)
    assert list(snapshot.class_names) == classes


SEXES, SHAPES = ("female", "male"), ("thin", "normal", "stout")
MADE_CSV = "age,sex,height,NObeyesdad\n" + "".join(
    f"{20 + i % 7},{SEXES[i % 2]},{1.5 + i / 100},{SHAPES[i % 3]}\n" for i in range(40)
)


@pytest.mark.parametrize("file", [None, pytest.param("46597-obesity", marks=pytest.mark.data)])
def test_a_csv_file_reads_as_pandas_reads_it(file):
    text = MADE_CSV
    if file:
        text = (data_folder() / "openml" / f"{file}.csv").read_bytes().decode()
    frame = pd.read_csv(io.StringIO(text))
    target = frame.pop("NObeyesdad")
    snapshot = to_snapshot(read_delimited(text), id="x", name="x", target="NObeyesdad")
    codes, classes = pd.factorize(target)
    np.testing.assert_array_equal(snapshot.y, codes)
    assert snapshot.class_names == tuple(classes)
    for position, name in enumerate(frame.columns):
        column = frame[name]
        numeric = pd.api.types.is_numeric_dtype(column)
        wanted = column.to_numpy(float) if numeric else pd.factorize(column)[0]
        np.testing.assert_array_equal(snapshot.X[:, position], wanted)
        assert (name in snapshot.origin["categories"]) == (not numeric)
    expected = 2 * 5 + 4 + 4 + 5 if file else 2
    assert sum(map(len, snapshot.origin["categories"].values())) == expected


@many
@given(frames(), st.sampled_from(["\n", "\r\n"]))
def test_arff_round_trip(frame, ends):
    assert_cells(read_arff(as_arff(frame, ends)), frame, declared=True)


@many
@given(frames(), st.sampled_from([",", ";", "\t", "|"]))
def test_csv_round_trip(frame, delimiter):
    table = read_delimited(as_csv(frame, delimiter), delimiter=delimiter)
    assert_cells(table, frame, declared=False)


@many
@given(frames(), st.booleans())
def test_parquet_round_trip(frame, dictionaries):
    content = as_parquet(frame, dictionaries=dictionaries)
    assert_cells(read_parquet(content), frame, declared=dictionaries)


@many
@given(frames())
def test_the_three_formats_become_the_same_snapshot(frame):
    """Where no category is declared, that is: all of them go by first appearance."""
    tables = [
        read_arff(as_arff(frame, declared=False)),
        read_delimited(as_csv(frame)),
        read_parquet(as_parquet(frame, dictionaries=False)),
    ]
    for table in tables:
        assert_cells(table, frame, declared=False)
    try:
        first, *others = (to_snapshot(t, id="x", name="x", target="class") for t in tables)
    except DatasetError as error:
        assert "overflows" in str(error)
        return
    for other in others:
        assert other.sha256 == first.sha256
        assert other.origin == first.origin


@many
@given(frames())
def test_snapshots_agree_with_plain_loops_over_liac_arff(frame):
    # liac-arff stops at names and texts with quotes or braces in them: plain words instead.
    plain = {
        text: f"w{code}"
        for code, text in enumerate({text for kind in frame.categories if kind for text in kind})
    }
    simple = Frame(
        (*(f"c{i}" for i in range(frame.features)), "class"),
        tuple(kind and tuple(plain[text] for text in kind) for kind in frame.categories),
        tuple(tuple(plain.get(c, c) for c in row) for row in frame.rows),
    )
    text = as_arff(simple)
    X, y, classes = oracle.read(text, "class")
    try:
        snapshot = to_snapshot(read_arff(text), id="x", name="x", target="class")
    except DatasetError as error:
        assert "overflows" in str(error)
        return
    np.testing.assert_array_equal(snapshot.X, X)
    np.testing.assert_array_equal(snapshot.y, y)
    assert list(snapshot.class_names) == classes


@many
@given(st.text(max_size=12))
@example("\\")
@example("it's")
@example("a\u2028b\x85c\x0bd")
def test_any_text_survives_arff_quotes(text):
    text = "".join(c for c in text if c not in "\r\n\0")
    body = f"@relation x\n@attribute a string\n@data\n{quoted(text)}\n{quoted(text)}"
    (column,) = read_arff(body).columns
    assert column.categories == (text,)
    assert column.values.tolist() == [0.0, 0.0]


class TestARFF:
    def columns(self, header: str, *rows: str) -> list[list[float]]:
        table = read_arff("\n".join(["@relation r", header, "@data", *rows]))
        return [column.values.tolist() for column in table.columns]

    def test_comments_blank_lines_and_case(self):
        text = "%c\n\n@RELATION 'x y'\n@ATTRIBUTE a Real % width\n@attribute b{u,v}%c\n@DaTa\n\n"
        table = read_arff(text + "1, v % first\n\n % note\n2,u\n%\n%\n\n")
        assert [c.values.tolist() for c in table.columns] == [[1.0, 2.0], [1.0, 0.0]]

    def test_a_quoted_question_mark_is_text(self):
        (values,) = self.columns("@attribute a {'?', x}", "'?'", "?", "x")
        np.testing.assert_array_equal(values, [0.0, np.nan, 1.0])

    def test_escapes(self):
        table = read_arff("@attribute 'a\\'b' string\n@data\n'x\\ty\\u00e9\\101\\\\'\n")
        assert table.names == ("a'b",)
        assert table.columns[0].categories == ("x\tyéA\\",)

    def test_sparse_rows_leave_out_zeros_and_first_categories(self):
        got = self.columns(
            "@attribute a real\n@attribute b {x, 'y z', w}\n@attribute c integer",
            "{0 1.5, 1 'y z'}",
            "{}",
            "{2 ?, 1 w} % note",
        )
        np.testing.assert_array_equal(got, [[1.5, 0, 0], [1, 0, 2], [0, 0, np.nan]])

    def test_nan_is_missing_and_negative_zero_is_zero_in_a_snapshot(self):
        rows = [f"{'-0.0' if i else 'NaN'},{'uv'[i % 2]}" for i in range(12)]
        text = "@attribute a real\n@attribute c {u,v}\n@data\n" + "\n".join(rows)
        snapshot = to_snapshot(read_arff(text), id="x", name="x", target="c")
        assert not np.signbit(snapshot.X).any()
        assert snapshot.origin["imputed"]["a"]["cells"] == 1

    def test_listed_columns_are_nominal_by_appearance(self):
        table = read_arff("@attribute a real\n@data\n3\n1\n3\n", nominal=["a"])
        assert table.columns[0].categories == ("3", "1")

    def test_a_dropped_column_may_be_of_any_type(self):
        text = "@attribute a date 'yyyy'\n@attribute b real\n@data\n'2001',3\n"
        assert read_arff(text, drop=["a"]).names == ("b",)
        with pytest.raises(DatasetError, match=r"line 1.*'a' is of type.*drop or convert"):
            read_arff(text)


class TestCSV:
    def test_signs_of_missing_cells(self):
        table = read_delimited("a,b\n1,x\nNA,None\n?,null\n,y\nnan,x\n")
        np.testing.assert_array_equal(table.columns[0].values, [1] + [np.nan] * 4)
        assert table.columns[1].categories == ("x", "None", "y")

    def test_byte_order_mark_delimiters_and_blank_lines(self):
        for sign in ";\t|":
            table = read_delimited(f"a{sign}b\n\n1{sign}x\n2{sign}y\n\n")
            assert table.names == ("a", "b")
            assert table.columns[0].values.tolist() == [1.0, 2.0]

    def test_booleans_are_categories_by_appearance(self):
        table = read_delimited("a,b\nTrue,1\nFalse,2\n")
        assert table.columns[0].categories == ("True", "False")

    def test_quotes_hide_delimiters_and_newlines(self):
        table = read_delimited('a,b\n"x, y",1\n"p\nq",2\n')
        assert table.columns[0].categories == ("x, y", "p\nq")


class TestParquet:
    def test_types(self):
        table = pa.table(
            {
                "small": pa.array([250, 251, None], pa.uint8()),
                "large": pa.array([2**53, -(2**53), 1], pa.int64()),
                "half": pa.array(np.array([0.1, 0.2, 0.3], np.float16)),
                "flag": pa.array([True, False, None]),
                "text": pa.array(["b", "a", "b"], pa.large_string()),
                "year": pa.array([1999, 2000, 1999]),
            }
        )
        read = {c.name: c for c in read_parquet(written(table), nominal=["year"]).columns}
        np.testing.assert_array_equal(read["small"].values, [250, 251, np.nan])
        np.testing.assert_array_equal(read["large"].values, [2.0**53, -(2.0**53), 1])
        np.testing.assert_array_equal(
            read["half"].values, np.float16([0.1, 0.2, 0.3]).astype(float)
        )
        assert read["flag"].categories == ("False", "True")
        np.testing.assert_array_equal(read["flag"].values, [1, 0, np.nan])
        assert read["text"].categories == ("b", "a")
        assert read["year"].categories == ("1999", "2000")

    def test_row_labels_of_pandas_are_no_feature(self):
        frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}, index=["r1", "r2"])
        table = read_parquet(written(frame))
        assert table.names == ("a", "b")
        assert len(table.set_aside) == 1

    def test_categories_of_pandas_keep_their_order(self):
        frame = pd.DataFrame({"a": pd.Categorical(["lo", "hi"], ["hi", "mid", "lo"], ordered=True)})
        (column,) = read_parquet(written(frame)).columns
        assert column.categories == ("hi", "mid", "lo")
        assert column.values.tolist() == [2.0, 0.0]

    def test_other_types_must_be_dropped(self):
        table = pa.table({"when": pa.array([0, 1], pa.timestamp("s")), "a": [1, 2]})
        with pytest.raises(DatasetError, match="'when' is of type timestamp"):
            read_parquet(written(table))
        assert read_parquet(written(table), drop=["when"]).names == ("a",)
