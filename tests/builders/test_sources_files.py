"""Files as datasets: what becomes of strange columns, and which files are refused."""

from __future__ import annotations

import io
import json
import os
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from lcdb_builders.domain import snapshot as store
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.sources import FileSource
from lcdb_builders.sources.files import check_id

from lcdb.errors import DatasetError, DatasetWarning, ReadError
from tests.support.counts import counts
from tests.support.frames import written

SCHEMA = json.loads((files("lcdb.schemas") / "dataset.schema.json").read_text("utf-8"))


def odd_frame() -> pd.DataFrame:
    """Strings, missing cells, a boolean column, a constant column, 7 classes, a duplicate row."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "width": rng.normal(size=40).round(3),
            "colour": rng.choice(["red", "dark blue", "grün, hell"], 40),
            "sweet": rng.integers(0, 2, 40).astype(bool),
            "one": 1.0,
            "year": rng.choice([1999, 2001], 40),
            "kind": [f"class {i % 7}" for i in range(40)],
        }
    )
    frame = pd.concat([frame, frame.iloc[[3]]], ignore_index=True)
    frame.loc[[4, 9], "width"] = np.nan
    frame.loc[[0, 5, 6], "colour"] = None
    frame.loc[[8], "kind"] = None
    return frame


def odd_arff(frame: pd.DataFrame) -> str:
    lines = ["@relation odd", "@attribute width real"]
    lines += ["@attribute colour {'grün, hell', red, 'dark blue', none}"]
    lines += [
        "@attribute sweet {TRUE, FALSE}",
        "@attribute one real",
        "@attribute year {2001,1999}",
    ]
    lines += ["@attribute kind {" + ",".join(f"'class {i}'" for i in range(8)) + "}", "@data"]
    for row in frame.itertuples(index=False):
        cells = ["?" if pd.isna(cell) else f"'{cell}'" for cell in row]
        cells[0] = "?" if pd.isna(row.width) else repr(row.width)
        cells[2], cells[3] = str(row.sweet).upper(), "1"
        lines.append(",".join(cells))
    return "\n".join(lines)


@pytest.fixture(params=["odd.csv", "odd.tsv", "odd.parquet", "odd.arff"])
def odd_file(request, tmp_path):
    path, frame = tmp_path / request.param, odd_frame()
    if path.suffix == ".parquet":
        path.write_bytes(written(frame))
    elif path.suffix == ".arff":
        path.write_text(odd_arff(frame), "utf-8")
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


def test_an_odd_file_becomes_a_snapshot_that_says_what_was_done(odd_file, tmp_path):
    source = FileSource("odd", odd_file, "kind", nominal=("year",))
    snapshot = source.snapshot()
    frame = odd_frame()
    kept = frame[frame["kind"].notna()].reset_index(drop=True)
    assert (snapshot.rows, snapshot.features, snapshot.classes) == (40, 5, 7)
    labels = [snapshot.class_names[code] for code in snapshot.y]
    assert labels == kept["kind"].tolist()
    width = kept["width"].fillna(kept["width"].median())
    np.testing.assert_array_equal(snapshot.X[:, 0], width)
    categories = snapshot.origin["categories"]
    colours = [categories["colour"][int(code)] for code in snapshot.X[:, 1]]
    mode = snapshot.origin["imputed"]["colour"]["value"]
    assert colours == kept["colour"].where(kept["colour"].notna(), mode).tolist()
    assert kept["colour"].value_counts()[mode] == kept["colour"].value_counts().max()
    assert [categories["year"][int(code)] for code in snapshot.X[:, 4]] == [
        str(year) for year in kept["year"]
    ]
    origin = snapshot.origin
    assert origin["imputed"] == {
        "width": {"cells": 2, "by": "median", "value": float(kept["width"].median())},
        "colour": {"cells": 3, "by": "mode", "value": mode},
    }
    assert origin["imputed_cells"] == 5
    assert origin["dropped_rows"] == 1
    assert origin["duplicate_rows"] == 1
    assert origin["constant_features"] == ["one"]
    assert origin["empty_classes"] == (["class 7"] if odd_file.suffix == ".arff" else [])
    assert origin["file"]["name"] == odd_file.name
    store.save(snapshot, tmp_path / "snapshots")
    content = json.loads((tmp_path / "snapshots" / "odd.json").read_text("utf-8"))
    jsonschema.validate(content, SCHEMA)
    assert content["origin"] == origin


def test_codes_follow_the_header_or_the_first_appearance(tmp_path):
    frame = odd_frame()
    (tmp_path / "odd.arff").write_text(odd_arff(frame), "utf-8")
    frame.to_csv(tmp_path / "odd.csv", index=False)
    declared = FileSource("odd", tmp_path / "odd.arff", "kind").snapshot().origin["categories"]
    assert declared["colour"] == ["grün, hell", "red", "dark blue", "none"]
    assert declared["sweet"] == ["TRUE", "FALSE"]
    assert declared["year"] == ["2001", "1999"]
    seen = FileSource("odd", tmp_path / "odd.csv", "kind").snapshot().origin["categories"]
    assert seen["colour"] == frame["colour"].dropna().drop_duplicates().tolist()
    assert seen["sweet"] == [str(value) for value in frame["sweet"].drop_duplicates()]
    assert "year" not in seen  # a column of numbers that nobody listed


ROWS = "\n".join(f"{i},{i * i % 7},{'ab'[i % 2]}" for i in range(12))
GOOD = "width,height,kind\n" + ROWS + "\n"
ARFF = (
    "@relation r\n@attribute width real\n@attribute height real\n@attribute kind {a,b}\n@data\n"
    + ROWS
    + "\n"
)

# name: (file name, content, arguments of FileSource, message)
MALFORMED: dict[str, tuple[str, str | bytes, dict, str]] = {
    "empty file": ("x.csv", "", {}, r"x\.csv is empty; expected a header"),
    "blank file": ("x.arff", " \n\n", {}, r"x\.arff is empty"),
    "binary file": ("x.csv", b"\x00\x01\x02" * 9, {}, "line 1 holds a NUL character"),
    "not UTF-8": (
        "x.csv",
        GOOD.replace("b", "é").encode("latin-1"),
        {},
        "line 3 is not utf-8 text",
    ),
    "unknown encoding": ("x.csv", GOOD, {"encoding": "utf-7up"}, "no encoding is called"),
    "unknown ending": ("x.xls", GOOD, {}, r"x\.xls ends in none of \.arff, \.csv"),
    "unknown format": (
        "x.csv",
        GOOD,
        {"format": "cvs"},
        "'cvs'. Did you mean 'CSV'",
    ),
    "missing target": (
        "x.csv",
        GOOD,
        {"target": "kinds"},
        "no column 'kinds' among its 3 columns. Did you mean 'kind'",
    ),
    "dropped target": ("x.csv", GOOD, {"drop": ("kind",)}, "target 'kind' is among the columns to"),
    "unknown nominal": ("x.csv", GOOD, {"nominal": ("hight",)}, "'hight'.*Did you mean 'height'"),
    "unknown drop": ("x.arff", ARFF, {"drop": ("hight",)}, "'hight'.*Did you mean 'height'"),
    "no features": (
        "x.csv",
        GOOD,
        {"drop": ("width", "height")},
        "no column with values besides the target",
    ),
    "regression target": (
        "x.csv",
        GOOD,
        {"target": "height"},
        "target 'height' is numeric .4 different values.*list 'height' as nominal",
    ),
    "regression target in ARFF": ("x.arff", ARFF, {"target": "width"}, "not a regression target"),
    "one class": (
        "x.csv",
        GOOD.replace(",b", ",a"),
        {},
        "the target 'kind' has one class; expected at least two",
    ),
    "one class left": (
        "x.csv",
        GOOD.replace("1,1,b", "1,1,").replace(",b", ",a"),
        {},
        "the target 'kind' has one class",
    ),
    "nine rows": (
        "x.csv",
        "\n".join(GOOD.splitlines()[:10]),
        {},
        "9 rows have a value in the target",
    ),
    "nine rows with a target": (
        "x.csv",
        GOOD.replace(",b", ",", 3),
        {},
        "9 rows have a value in the target 'kind'; expected at least 10",
    ),
    "header only": ("x.csv", "width,height,kind\n", {}, "0 rows"),
    "too many classes": (
        "x.csv",
        "width,kind\n" + "".join(f"{i},k{i}\n" for i in range(128)),
        {},
        "has 128 classes; expected at most 127",
    ),
    "half a character": (
        "x.arff",
        ARFF.replace("{a,b}", r"{a,b,'\ud800'}"),
        {},
        "a category of column 'kind' is not Unicode text",
    ),
    "no header": ("x.csv", "1,2\n3,4\n", {}, "first line holds numbers only"),
    "infinite number": (
        "x.csv",
        GOOD.replace("3,2,b", "3,-inf,b"),
        {},
        r"column 'height' holds a non-finite number \(-inf, line 5\)",
    ),
    "huge number": ("x.arff", ARFF.replace("3,2,b", "3,1e999,b"), {}, r"non-finite number \(1e999"),
    "number and text": (
        "x.csv",
        GOOD.replace("3,2,b", "3,two,b"),
        {},
        r"'height' mixes numbers and text \('two', line 5; 1 of 12 cells\)",
    ),
    "decimal comma": (
        "x.csv",
        "a;b\n" + "\n".join(f'"{i},5";{"xy"[i % 2]}' for i in range(12)),
        {"target": "b"},
        "numbers with a decimal comma",
    ),
    "nothing but an empty column": (
        "x.csv",
        "e,kind\n" + ",a\n,b\n" * 6,
        {},
        "no column with values besides the target",
    ),
    "column without a name": ("x.csv", GOOD.replace("height", "", 1), {}, "column 2 has no name"),
    "two columns of one name": (
        "x.csv",
        GOOD.replace("height", "width", 1),
        {},
        "two columns are called 'width'",
    ),
    "ragged row": ("x.csv", GOOD + "1,2\n", {}, "line 14: 2 cells where the header has 3 columns"),
    "long row": ("x.csv", GOOD + "1,2,a,9\n", {}, "line 14: 4 cells where the header has 3"),
    "open quote": ("x.csv", GOOD + '1,2,"a\n', {}, "malformed CSV, line 14"),
    "text behind a quote": ("x.csv", GOOD + '1,2,"a"b\n', {}, "malformed CSV, line 14"),
    "wide delimiter": ("x.csv", GOOD, {"delimiter": "::"}, "delimiter '::' is not one character"),
    "CSV called ARFF": ("x.arff", GOOD, {}, "line 1: expected @relation, @attribute or @data"),
    "no @data": (
        "x.arff",
        ARFF.replace("@data\n" + ROWS, ""),
        {},
        "no @data line",
    ),
    "no @attribute": ("x.arff", "@relation r\n@data\n1\n", {}, "no @attribute line"),
    "header alone": ("x.arff", ARFF.split("@data")[0] + "@data\n", {}, "0 rows"),
    "cut in a row": ("x.arff", ARFF[:-4], {}, "line 17: 2 values for 3 declared columns"),
    "undeclared category": (
        "x.arff",
        ARFF.replace("3,2,b", "3,2,c"),
        {},
        r"column 'kind' holds 'c' \(line 9\), which is not declared. Known: a, b",
    ),
    "category declared twice": ("x.arff", ARFF.replace("{a,b}", "{a,b,a}"), {}, "'a' twice"),
    "empty category": ("x.arff", ARFF.replace("{a,b}", "{a,,b}"), {}, "an empty category"),
    "open brace": (
        "x.arff",
        ARFF.replace("{a,b}", "{a,b"),
        {},
        "the brace { is not closed",
    ),
    "open quote in ARFF": (
        "x.arff",
        ARFF.replace("{a,b}", "{'a,b}"),
        {},
        "the quote ' is not closed",
    ),
    "text behind categories": (
        "x.arff",
        ARFF.replace("{a,b}", "{a,b} x"),
        {},
        "unexpected 'x'",
    ),
    "text in a numeric column": (
        "x.arff",
        ARFF.replace("3,2,b", "3,two,b"),
        {},
        r"column 'height' is numeric but holds 'two' \(line 9\)",
    ),
    "unknown type": ("x.arff", ARFF.replace("width real", "width reel"), {}, "is of type 'reel'"),
    "attribute twice": ("x.arff", ARFF.replace("height", "width"), {}, "two columns are called"),
    "attribute without a name": ("x.arff", ARFF.replace("width real", ""), {}, "without a name"),
    "sparse index beyond": (
        "x.arff",
        ARFF + "{0 1, 3 a}\n",
        {},
        "column index 3 is repeated",
    ),
    "sparse index twice": ("x.arff", ARFF + "{0 1, 0 2}\n", {}, "column index 0 is repeated"),
    "sparse nonsense": ("x.arff", ARFF + "{a b}\n", {}, "expected 'index value' in a sparse row"),
    "instance weight": ("x.arff", ARFF + "{0 1}, {5}\n", {}, "weights are not read"),
    "not parquet": ("x.parquet", GOOD, {}, "malformed parquet: "),
    "parquet cut short": (
        "x.pq",
        written(odd_frame())[:-9],
        {"target": "kind"},
        "malformed parquet",
    ),
    "parquet damaged": (
        "x.pq",
        b"PAR1" + b"\xff" * 200 + written(odd_frame())[204:],
        {},
        "malformed parquet|is of type",
    ),
    "nested parquet": (
        "x.pq",
        written(pa.table({"a": [[1], [2]], "kind": ["a", "b"]})),
        {},
        "column 'a' is of type list",
    ),
    "infinite number in parquet": (
        "x.pq",
        written(pa.table({"a": [1.0, float("-inf")], "kind": ["a", "b"]})),
        {},
        r"column 'a' holds a non-finite number \(-inf, row 2\)",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_end_in_one_clear_line(tmp_path, name):
    file, content, arguments, message = MALFORMED[name]
    path = tmp_path / file
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    source = FileSource("mine", path, **{"target": "kind", **arguments})
    with pytest.raises(DatasetError, match=message) as caught:
        source.snapshot()
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"dataset mine ({path}): ")
    assert list(tmp_path.iterdir()) == [path]


def test_the_good_ones_of_that_list_are_good(tmp_path):
    for name, content in (("x.csv", GOOD), ("x.arff", ARFF)):
        (tmp_path / name).write_text(content)
        snapshot = FileSource("mine", tmp_path / name, "kind").snapshot()
        assert (snapshot.rows, snapshot.features, snapshot.classes) == (12, 2, 2)


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(DatasetError, match=r"there is no file .*x\.csv; check the path"):
        FileSource("mine", tmp_path / "x.csv", "kind").snapshot()
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(DatasetError, match="is a folder; expected an ARFF, CSV or parquet file"):
        FileSource("mine", tmp_path / "x.csv", "kind").snapshot()


def test_other_encodings_can_be_named(tmp_path):
    (tmp_path / "x.csv").write_bytes(GOOD.replace(",b", ",é").encode("latin-1"))
    snapshot = FileSource("mine", tmp_path / "x.csv", "kind", encoding="latin-1").snapshot()
    assert snapshot.class_names == ("a", "é")


def test_numbers_as_classes(tmp_path):
    """Two numbers can only be labels; more have to be called so."""
    path = tmp_path / "x.csv"
    rows = "\n".join(f"{i},{(i + 1) % 2},{i % 3}" for i in range(12))
    path.write_text("width,flag,grade\n" + rows)
    flag = FileSource("mine", path, "flag").snapshot()
    assert flag.class_names == ("1", "0")
    assert flag.y.tolist() == [0, 1] * 6
    grade = FileSource("mine", path, "grade", nominal=("grade",)).snapshot()
    assert grade.class_names == ("0", "1", "2")


def test_a_median_that_overflows_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(
        "w,kind\n" + "\n".join(f"{'' if i == 5 else '1.7e308'},{'ab'[i % 2]}" for i in range(13))
    )
    with pytest.raises(DatasetError, match="an imputed median overflows"):
        FileSource("mine", path, "kind").snapshot()


@pytest.mark.parametrize(
    "id",
    ["", "61", "6.1", "../x", "a/b", ".a", "a b", "ä", "dse", "Pendulum", "a..b", "x" * 65, 61],
)
def test_ids_of_files(id):
    with pytest.raises(DatasetError, match="cannot name a file's dataset"):
        check_id(id)


def test_metadata_over_which_pyarrow_ends_the_process_are_refused(tmp_path):
    """Lengths of histograms: whoever asks pyarrow for the metadata of such a column is gone."""
    whole, path = written(odd_frame()), tmp_path / "odd.parquet"
    source, fatal = FileSource("odd", path, "kind"), []
    for where in range(len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"), len(whole) - 8):
        content = bytearray(whole)
        content[where] ^= 0x30  # the length of a short list is in the upper half of a byte
        try:
            parquet.ParquetFile(io.BytesIO(content)).read()
        except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
            if "histogram" in str(error):
                fatal.append(bytes(content))
    assert fatal
    for content in fatal:
        with pytest.raises(DatasetError, match=r"malformed parquet: .*histogram"):
            source.snapshot(content)


@pytest.mark.parametrize("file", ["odd.csv", "odd.arff", "odd.parquet"])
def test_damaged_files_are_read_or_refused_but_never_crash(tmp_path, file):
    frame, path = odd_frame(), tmp_path / file
    whole = {
        ".csv": frame.to_csv(index=False).encode(),
        ".arff": odd_arff(frame).encode(),
        ".parquet": written(frame),
    }[path.suffix]
    rng = np.random.default_rng(11)
    source = FileSource("odd", path, "kind")
    refused = 0
    for _ in range(counts(300, 5000)):
        content = bytearray(
            whole[: rng.integers(1, len(whole) + 1)] if rng.random() < 0.2 else whole
        )
        for _ in range(rng.integers(1, 4)):
            content[rng.integers(len(content))] = rng.integers(256)
        try:
            snapshot = source.snapshot(bytes(content))
        except DatasetError as error:
            assert "\n" not in str(error)
            refused += 1
        else:
            assert np.isfinite(snapshot.X).all()
            assert set(snapshot.y.tolist()) == set(range(snapshot.classes))
    assert refused > 20


def test_the_plan_and_the_code_of_the_docs(tmp_path, monkeypatch):
    """What docs/datasets.md shows runs: both ways of naming a file give the same snapshot."""
    text = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text("utf-8")
    plan = text.split("```toml\n")[1].split("```")[0]
    code = text.split("```python\n")[1].split("```")[0]
    rows = [f"{i},{i % 4},{i / 8 if i % 5 else 'n/a'},{'xy'[i % 2]}" for i in range(12)]
    (tmp_path / "wine.csv").write_text("row,region,width,kind\n" + "\n".join(rows))
    (tmp_path / "plan.toml").write_text(plan)
    monkeypatch.chdir(tmp_path)
    loaded = load_plan(tmp_path / "plan.toml")
    source = loaded.datasets[0].source(tmp_path)
    assert isinstance(source, FileSource)
    snapshot = source.snapshot()
    assert snapshot.feature_names == ("region", "width")
    assert snapshot.origin["imputed_cells"] == 3
    emptied = "\n".join(rows).replace("n/a", "")
    (tmp_path / "wine.csv").write_text("row,region,width,kind\n" + emptied)
    names: dict = {}
    exec(code, names)
    assert names["snapshot"].sha256 == snapshot.sha256


def test_a_pipe_a_device_and_a_failing_disk_are_refused_as_sources(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(DatasetError, match=r"pipe\.csv is a named pipe; expected an ARFF"):
        FileSource("mine", tmp_path / "pipe.csv", "class").snapshot()
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    with pytest.raises(DatasetError, match=r"zero\.csv is a device; expected an ARFF"):
        FileSource("mine", tmp_path / "zero.csv", "class").snapshot()
    (tmp_path / "bad.csv").symlink_to("/proc/self/mem")
    with pytest.raises(ReadError, match=r"bad\.csv cannot be read now \(Input/output error\)"):
        FileSource("mine", tmp_path / "bad.csv", "class").snapshot()


def test_a_column_without_a_single_value_is_dropped_told_and_counted(tmp_path):
    """As in OpenML's anneal and sick; one that has no value but where the target is missing too."""
    rows = "".join(f",{i},?,{'ab'[i % 2]}\n" for i in range(12))
    (tmp_path / "x.csv").write_text("e,width,f,kind\n" + rows + ",7,only here,\n")
    source = FileSource("x", tmp_path / "x.csv", "kind", missing=("?",))
    with pytest.warns(DatasetWarning, match="^x: no row has a value in 'e', 'f'; dropped, 1 featu"):
        found = source.snapshot()
    assert found.feature_names == ("width",) and found.X[:, 0].tolist() == list(range(12))
    assert found.origin["empty_columns"] == ["e", "f"] and found.origin["imputed_cells"] == 0
    store.save(found, tmp_path / "snapshots")
    jsonschema.validate(json.loads((tmp_path / "snapshots" / "x.json").read_text("utf-8")), SCHEMA)
