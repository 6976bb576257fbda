"""Small files that stand for more than a machine has: refused, with what raises the limit."""

from __future__ import annotations

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lcdb_builders.sources import FileSource, OpenML
from lcdb_builders.sources.limits import Limits, limits

from lcdb.errors import DatasetError, FetchError
from tests.support.openml_server import OpenMLServer, Served

ARFF = "@relation x\n@attribute a real\n@attribute b {x,y}\n@data\n" + "1,x\n2,y\n" * 10
CSV = "a,b,c\n" + "".join(f"{i},t{i},{'xy'[i % 2]}\n" for i in range(20))


def source(tmp_path, name, content, target="b"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return FileSource("mine", path, target)


def parquet(tmp_path):
    table = pa.table({"a": [f"t{i}" for i in range(20)], "b": [0, 1] * 10, "c": ["x", "y"] * 10})
    pq.write_table(table, tmp_path / "x.parquet")
    return FileSource("mine", tmp_path / "x.parquet", "c")


def sparse(tmp_path):
    names = "".join(f"@attribute a{i} real\n" for i in range(200))
    return source(tmp_path, "s.arff", f"@relation x\n{names}@attribute b {{x,y}}\n@data\n"
                  + "{0 1}\n{200 y}\n" * 10)  # fmt: skip


CASES = {
    "bytes of ARFF": ("LCDB_MAX_BYTES", 50, lambda p: source(p, "x.arff", ARFF)),
    "bytes of CSV": ("LCDB_MAX_BYTES", 50, lambda p: source(p, "x.csv", CSV, "c")),
    "bytes of parquet, unpacked": ("LCDB_MAX_BYTES", 100, parquet),
    "cells of ARFF": ("LCDB_MAX_CELLS", 39, lambda p: source(p, "x.arff", ARFF)),
    "cells of sparse ARFF": ("LCDB_MAX_CELLS", 4000, sparse),
    "cells of CSV": ("LCDB_MAX_CELLS", 59, lambda p: source(p, "x.csv", CSV, "c")),
    "cells of parquet": ("LCDB_MAX_CELLS", 59, parquet),
    "categories of CSV": ("LCDB_MAX_CATEGORIES", 19, lambda p: source(p, "x.csv", CSV, "c")),
    "categories of parquet": ("LCDB_MAX_CATEGORIES", 19, parquet),
    "categories that ARFF declares": (
        "LCDB_MAX_CATEGORIES", 1, lambda p: source(p, "x.arff", ARFF)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_limit_is_kept_and_its_option_raises_it(tmp_path, monkeypatch, case):
    variable, most, make = CASES[case]
    made = make(tmp_path)
    monkeypatch.setenv(variable, str(most))
    with pytest.raises(DatasetError, match=rf"the limit is {most:,}; {variable} raises it"):
        made.snapshot()
    monkeypatch.setenv(variable, str(most * 1000))
    assert made.snapshot().rows == 20


def test_a_column_that_is_left_out_is_not_unpacked_and_does_not_count(tmp_path, monkeypatch):
    """Twenty rows of 100,000 equal letters are 2 MB; packed they are a hundredth."""
    long = [f"{i:05d}" + "x" * 100_000 for i in range(20)]
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": long, "b": range(20), "c": ["x", "y"] * 10}), path)
    assert path.stat().st_size < 500_000
    monkeypatch.setenv("LCDB_MAX_BYTES", "500000")
    with pytest.raises(DatasetError, match=r"the file, unpacked, has 2,0.* bytes or more"):
        FileSource("mine", path, "c").snapshot()
    assert FileSource("mine", path, "c", drop=("a",)).snapshot().features == 1


def test_limits_come_from_the_environment(monkeypatch):
    assert limits() == Limits()
    monkeypatch.setenv("LCDB_MAX_CELLS", "7")
    assert limits() == Limits(cells=7)
    for text in ("many", "-1", "0", "1e9"):
        monkeypatch.setenv("LCDB_MAX_CELLS", text)
        with pytest.raises(DatasetError, match=r"LCDB_MAX_CELLS is .* expected a whole number"):
            limits()


@pytest.mark.full
@pytest.mark.server
@pytest.mark.process
def test_a_packed_answer_of_a_server_is_not_unpacked_beyond_the_limit(monkeypatch):
    bomb = gzip.compress(bytes(100_000_000))
    served = Served(9999, "wine", ARFF.encode(), "b")

    def pack(handler) -> bool:
        if not handler.is_arff:
            return False
        body = bomb if "bomb" in handler.server.outer.base + name else gzip.compress(ARFF.encode())
        handler.send_response(200)
        handler.send_header("Content-Type", "text/plain; charset=utf-8")
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True

    monkeypatch.setenv("LCDB_MAX_BYTES", "1000000")
    with OpenMLServer([served], [pack]) as server:
        name = "bomb"
        with pytest.raises(FetchError, match="more than 1,000,000 bytes; LCDB_MAX_BYTES raises"):
            OpenML(server.api, timeout=20, retries=1).fetch("9999")
        name = "good"
        assert OpenML(server.api, timeout=20, retries=1).fetch("9999").rows == 20


def test_a_long_header_takes_time_in_proportion(tmp_path):
    """100,000 quoted categories: quadratic reading took minutes."""
    listed = ",".join(f"'c {i}'" for i in range(60_000))
    rows = "1,'c 0'\n2,'c 1'\n" * 10
    text = f"@relation x\n@attribute a real\n@attribute b {{{listed}}}\n@data\n{rows}"
    assert source(tmp_path, "x.arff", text).snapshot().classes == 2
