"""A database by its URL: the same as its folder, few requests, each fault of a host by name."""

from __future__ import annotations

import gzip
import json
import pickle
import shutil
import time
import zlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from lcdb_builders.storage.indexes import index_database

import lcdb
from lcdb import errors
from lcdb.cli import main
from lcdb.remote.format import CUBE_INDEX, decode, encode
from lcdb.remote.host import Host
from lcdb.remote.transport import Policy
from tests.support.counts import counts
from tests.support.hosts import answer, serving
from tests.support.remote_database import SHIPPED, make_database

QUICK = Policy(attempts=3, wait=0.001, longest=0.01, timeout=0.4)
CURVE = ("iris", "LDC")


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The tutorial's cubes and an experiment, with indexes."""
    return make_database(tmp_path_factory.mktemp("remote") / "db")


@pytest.fixture(scope="module")
def running(database):
    with serving(database) as served:
        yield served


@pytest.fixture
def host(running, monkeypatch):
    """The same host for every test, with nothing wrong and nothing counted yet."""
    monkeypatch.setattr("lcdb.remote.transport.DEFAULT", QUICK)
    running.fault = None
    running.forget()
    yield running
    running.fault = None


def schema():
    text = files("lcdb.schemas").joinpath("index.schema.json").read_text("utf-8")
    return Draft202012Validator(json.loads(text))


# -- the index -------------------------------------------------------------------------------------


def test_indexes_fit_their_schema(database):
    paths = [database / "index.json", *sorted((database / "cubes").glob("*.index.json"))]
    assert len(paths) == 4
    Draft202012Validator.check_schema(schema().schema)
    for path in paths:
        index = json.loads(path.read_text())
        assert [error.message for error in schema().iter_errors(index)] == []
        index["surprise"] = 1
        assert list(schema().iter_errors(index))


def test_the_command_writes_what_is_there_already_and_says_where(database, capsys):
    before = {path: path.read_bytes() for path in database.rglob("*.json")}
    assert main(["index", str(database)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 4 and told[-1].startswith(f"{database / 'index.json'}: ")
    assert {path: path.read_bytes() for path in database.rglob("*.json")} == before


@pytest.mark.server
@pytest.mark.process
def test_one_file_has_an_index_of_its_own(tmp_path, capsys):
    shutil.copyfile(SHIPPED / "tutorial" / "cubes" / "61.nc", tmp_path / "61.nc")
    assert main(["index", str(tmp_path / "61.nc")]) == 0
    assert "61.nc.index.json" in capsys.readouterr().out
    with serving(tmp_path) as served, lcdb.open(f"{served.url}/61.nc") as db:
        assert list(db) == [61]
        assert float(db.curve(*CURVE).isel(n=-1).mean()) > 0.9
        assert [path for path, _ in served.requests[:1]] == ["/61.nc.index.json"]


@pytest.mark.process
def test_a_damaged_cube_gets_no_index(tmp_path, database):
    root = tmp_path / "db"
    shutil.copytree(database, root)
    cube = root / "cubes" / "61.nc"
    data = bytearray(cube.read_bytes())
    data[len(data) // 2] ^= 1
    cube.write_bytes(data)
    with pytest.raises(errors.DamagedError, match=r"61\.nc is .*its manifest"):
        index_database(root)
    (root / "manifest" / "61.json").unlink()  # then every value is read
    with pytest.raises(errors.DamagedError):
        index_database(root)


# -- the same as a folder --------------------------------------------------------------------------


def same(one, other) -> bool:
    """Return whether two arrays have the same bytes and are stored alike."""
    a, b = one.values, other.values
    equal = (a == b).all() if a.dtype == object else a.tobytes() == b.tobytes()
    keep = {k: v for k, v in one.encoding.items() if k not in ("source", "dtype")}
    kept = {k: v for k, v in other.encoding.items() if k not in ("source", "dtype")}
    return equal and a.dtype == b.dtype and str(keep) == str(kept)


@pytest.mark.server
def test_every_value_is_that_of_the_folder(host, database):
    with lcdb.open(host.url) as remote, lcdb.open(database) as local:
        assert list(remote) == list(local)
        for key in [*local, "dse"]:
            assert remote[key].identical(local[key])
            for name in local[key].variables:
                assert same(remote[key][name], local[key][name]), name
            types = [{k: type(v) for k, v in db[key].attrs.items()} for db in (remote, local)]
            assert types[0] == types[1]
        assert remote.status().equals(local.status())


@pytest.mark.server
def test_it_looks_like_the_folder(host, database, capsys):
    with lcdb.open(host.url) as remote, lcdb.open(database) as local:
        assert repr(remote) == repr(local).replace(str(database), host.url)
        assert remote._repr_html_() == local._repr_html_().replace(str(database), host.url)
        assert [h.labels for h in remote.headers.values()] == [
            h.labels for h in local.headers.values()
        ]
        for wrong in ("LDCC", "nobody"):
            with pytest.raises(errors.LabelError) as one:
                remote.curve("iris", wrong)
            with pytest.raises(errors.LabelError) as other:
                local.curve("iris", wrong)
            assert str(one.value) == str(other.value)
        assert "LDC" in str(remote.to_datatree())
    with pytest.raises(errors.LCDBError, match="is closed; open it again"):
        remote.curve(*CURVE)


@pytest.mark.server
def test_any_index_takes_what_it_takes_of_the_folder(host, database):
    draw = np.random.default_rng(1)
    with lcdb.open(host.url) as remote, lcdb.open(database) as local:
        cubes = remote[11], local[11]
        for _ in range(counts(15, 300)):
            where = {}
            for dim, length in cubes[1].sizes.items():
                kind = draw.integers(4)
                if kind == 0:
                    where[dim] = int(draw.integers(-length, length))
                elif kind == 1:
                    where[dim] = draw.integers(-length, length, size=draw.integers(0, 4))
                elif kind == 2:
                    a, b = sorted(draw.integers(0, length + 1, size=2))
                    where[dim] = slice(int(a), int(b), int(draw.integers(1, 4)))
            got, expected = (cube["brier"].isel(where) for cube in cubes)
            assert got.identical(expected), where


@pytest.mark.server
def test_dask_arrays_and_copies_in_other_processes(host, database):
    with lcdb.open(host.url, chunks="auto") as remote, lcdb.open(database) as local:
        array = remote.curve(*CURVE)
        assert array.chunks is not None
        assert float(array.mean()) == float(local.curve(*CURVE).mean())
    with lcdb.open(host.url) as remote:
        copied = pickle.loads(pickle.dumps(remote["iris"]))
        assert copied.identical(remote["iris"])


@pytest.mark.server
@pytest.mark.process
def test_summaries_are_opened_where_there_is_no_cube(tmp_path, database):
    root = tmp_path / "db"
    shutil.copytree(database, root)
    assert main(["summarize", str(root), "--out", str(root)]) == 0
    (root / "cubes" / "61.nc").unlink()
    index_database(root)
    index = json.loads((root / "index.json").read_text())
    assert [error.message for error in schema().iter_errors(index)] == []
    assert [cube["cube_kind"] for cube in index["cubes"]].count("summary") == 2
    with serving(root) as served, lcdb.open(served.url) as remote, lcdb.open(root) as local:
        assert repr(remote) == repr(local).replace(str(root), served.url)
        assert "(summary)" in repr(remote)
        assert remote["iris"].identical(local["iris"])
        assert remote["11"].identical(local["11"])  # of which the cube is there
        with pytest.raises(errors.SummaryError):
            remote.curve(*CURVE)
        assert main(["pull", served.url, str(tmp_path / "copy"), "--dataset", "iris"]) == 0
    assert (tmp_path / "copy" / "summaries" / "61.nc").is_file()
    with lcdb.open(tmp_path / "copy") as copy:
        assert list(copy) == [61]


# -- few requests ----------------------------------------------------------------------------------


@pytest.mark.server
def test_requests_are_few_and_bring_what_is_asked_for(host):
    db = lcdb.open(host.url)
    repr(db)
    assert [path for path, _ in host.requests] == ["/index.json"]
    host.forget()
    curve = db.curve(*CURVE, metric="auc")
    assert [path for path, _ in host.requests] == ["/cubes/61.nc.index.json"]
    host.forget()
    curve.sel(n=50).load()
    table = next(
        v for v in db._source.index(db.headers[61].path)["variables"] if v["name"] == "auc"
    )
    from lcdb.remote.chunks import Table

    lengths = Table.of(table, 10**9).lengths.reshape(4, 3, 2, 1, 2)
    assert host.requests == [("/cubes/61.nc", lengths[1, 1, 1, 0, 0])]
    host.forget()
    db.curve(*CURVE, metric="auc").load()  # its other chunk; the first is known
    assert host.requests == [("/cubes/61.nc", lengths[1, 1, 1, 0, 1])]
    host.forget()
    db.curve("iris", "QDC", metric="auc").load()
    assert host.requests == [("/cubes/61.nc", lengths[2, 1, 1, 0].sum())]
    host.forget()
    db.curve("iris", "QDC").load()
    assert len(host.requests) == 2  # accuracy is exact: n_test as well
    host.forget()
    db.curve("iris", "QDC").load()
    db["iris"].sel(learner="QDC")["auc"].isel(sampling=1, split=1).load()
    assert host.requests == []  # cached


@pytest.mark.server
def test_ten_cubes_are_opened_by_one_small_request(tmp_path, database):
    root = tmp_path / "db"
    (root / "cubes").mkdir(parents=True)
    index = json.loads((database / "index.json").read_text())
    one = next(cube for cube in index["cubes"] if cube["file"] == "cubes/61.nc")
    full = {"learner": [f"L{i}" for i in range(24)], "tuning": ["default", "tuned"]}
    one = {**one, "labels": {**one["labels"], **full}, "status": [1] * 24 * 3 * 2 * 2}
    cubes = [
        {**one, "id": str(i), "file": f"cubes/{i}.nc", "index": f"cubes/{i}.nc.index.json"}
        for i in range(1, 11)
    ]
    content = {k: v for k, v in index.items() if k != "record_sha256"}
    (root / "index.json").write_bytes(encode({**content, "cubes": cubes}))
    with serving(root) as served, lcdb.open(served.url) as db:
        assert len(db) == 10
        assert len(served.requests) <= 2 and served.bytes <= 300_000


@pytest.mark.server
def test_what_was_read_is_kept_in_a_folder(host, tmp_path):
    cache = tmp_path / "cache"
    with lcdb.open(host.url, cache=cache) as db:
        expected = db.curve(*CURVE).load()
    host.forget()
    with lcdb.open(host.url, cache=cache) as db:
        assert db.curve(*CURVE).load().identical(expected)
    assert [path for path, _ in host.requests] == ["/index.json"]
    for file in filter(Path.is_file, cache.rglob("*")):  # a disk that fails is asked around
        file.write_bytes(file.read_bytes()[:-1] + b"?")
    host.forget()
    with lcdb.open(host.url, cache=cache) as db:
        assert db.curve(*CURVE).load().identical(expected)
    assert len(host.requests) == 4
    blocked = tmp_path / "a file"
    blocked.write_text("")
    with pytest.raises(errors.StorageError, match=r"cache .* could not be written"):
        lcdb.open(host.url, cache=blocked)


@pytest.mark.server
def test_the_class_takes_what_the_function_takes(host, tmp_path):
    options = {"headers": {"X-Asked-By": "a test"}}
    with lcdb.Database(host.url, cache=tmp_path, storage_options=options) as db:
        assert db.curve(*CURVE).isel(n=-1).shape == (200,)
        assert all(headers["X-Asked-By"] == "a test" for headers in host.headers)
    assert any(path.is_file() for path in tmp_path.rglob("*"))


# -- commands --------------------------------------------------------------------------------------


@pytest.mark.server
def test_commands_take_a_url(host, database, capsys, tmp_path):
    for command in (["info"], ["info", "--json"], ["tables", "--table", "counts"]):
        told = []
        for place in (host.url, str(database)):
            code = main([*command[:1], place, *command[1:]])
            # The width of a title is that of its place.
            told.append((code, capsys.readouterr().out.replace(place, "PLACE").split()))
        assert told[0] == told[1], command
    assert main(["plot", host.url, "--figure", "1", "--paper", "jordan2018",
                 "--out", str(tmp_path / "a.svg")]) == 0  # fmt: skip
    assert (tmp_path / "a.svg").stat().st_size > 1000


# -- what hosts do ---------------------------------------------------------------------------------


def of_cubes(fault):
    return lambda h, path, data, span: path.endswith(".nc") and fault(h, data, span)


def ranged(h, data, span, part=None, total=None, **headers):
    part = data[span[0] : span[1] + 1] if part is None else part
    told = f"bytes {span[0]}-{span[1]}/{len(data) if total is None else total}"
    return answer(h, 206, part, **{"Content_Range": told, **headers})


def late(h, data, span):
    time.sleep(3 * QUICK.timeout)
    return answer(h, 503)


def drops(h, data, span):
    h.close_connection = True
    return True


FAULTS = {
    "ignores ranges": (lambda h, d, s: answer(h, 200, d), "HostError", "ignores ranges"),
    "compresses": (
        lambda h, d, s: ranged(h, d, s, gzip.compress(d[s[0] : s[1] + 1]), Content_Encoding="gzip"),
        "HostError", "compresses ranges",
    ),
    "truncates": (
        lambda h, d, s: ranged(h, d, s, d[s[0] : s[1]], Content_Length=str(s[1] - s[0] + 1)),
        "ReadError", "early",
    ),
    "says less than it has": (
        lambda h, d, s: ranged(h, d, s, Content_Length=str(s[1] - s[0] - 9)),
        "HostError", "lies about lengths",
    ),
    "sends another range": (
        lambda h, d, s: ranged(h, d, s, Content_Range=f"bytes 0-{s[1] - s[0]}/{len(d)}"),
        "HostError", "another range",
    ),
    "does not say which range": (
        lambda h, d, s: ranged(h, d, s, Content_Range=""), "HostError", "does not say which",
    ),
    "sends another place as the right one": (
        lambda h, d, s: ranged(h, d, s, d[s[0] + 1 : s[1] + 2]), "DamagedError", "checksum",
    ),
    "redirects to a page": (
        lambda h, d, s: answer(h, 302, Location="/index.json"), "HostError|StaleError", "replaced",
    ),
    "redirects to a file": (
        lambda h, d, s: answer(h, 302, Location="file:///etc/passwd"), "HostError", "redirected",
    ),
    "redirects for ever": (
        lambda h, d, s: answer(h, 302, Location=h.path), "HostError", "redirected",
    ),
    "has a larger file": (
        lambda h, d, s: ranged(h, d, s, total=len(d) + 1), "StaleError", "replaced",
    ),
    "has a shorter file": (lambda h, d, s: answer(h, 416), "StaleError", "replaced"),
    "is busy": (lambda h, d, s: answer(h, 429, Retry_After="0"), "ReadError", "429.*3 times"),
    "is broken": (lambda h, d, s: answer(h, 503), "ReadError", "503.*3 times"),
    "has no cube": (lambda h, d, s: answer(h, 404), "NotFoundError", "does not exist"),
    "wants credentials": (lambda h, d, s: answer(h, 403), "ReadError", "credentials"),
    "is of another kind": (lambda h, d, s: answer(h, 418), "HostError", "418"),
    "is late": (late, "ReadError", "timed out"),
    "drops connections": (drops, "ReadError", "3 times"),
    "sends something else": (
        lambda h, d, s: ranged(h, d, s, b"<" * (s[1] - s[0] + 1)), "DamagedError", "checksum",
    ),
}  # fmt: skip


@pytest.mark.server
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_of_a_host_is_one_error(host, fault):
    does, error, told = FAULTS[fault]
    expected = tuple(getattr(errors, name) for name in error.split("|"))
    with lcdb.open(host.url) as db:
        curve = db.curve(*CURVE, metric="auc")
        host.fault = of_cubes(does)
        with pytest.raises(expected, match=told) as caught:
            curve.load()
        assert "127.0.0.1" in str(caught.value)
        host.fault = None
        assert curve.load().shape == (15, 200)  # nothing wrong was kept


@pytest.mark.server
def test_what_passes_is_tried_again(host):
    fails = iter([429, 503, None] * 3)

    def fault(h, path, data, span):
        code = next(fails)
        return code is not None and answer(h, code, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT")

    host.fault = fault
    with lcdb.open(host.url) as db:
        assert float(db.curve(*CURVE, metric="auc").isel(n=-1).mean()) > 0.5
    assert len(host.requests) == 9


@pytest.mark.server
def test_redirects_are_followed_without_what_only_the_first_host_may_know(host, database):
    with serving(database) as other:
        host.fault = lambda h, path, data, span: answer(h, 307, Location=other.url + path)
        options = {"headers": {"Authorization": "Bearer secret"}}
        with lcdb.open(host.url, storage_options=options) as db:
            assert float(db.curve(*CURVE).isel(n=-1).mean()) > 0.9
        assert all(h["Authorization"] == "Bearer secret" for h in host.headers)
        assert other.headers and not any("Authorization" in h for h in other.headers)


@pytest.mark.server
def test_an_index_may_be_compressed_on_the_way(host):
    host.fault = lambda h, path, data, span: (
        span is None and answer(h, 200, gzip.compress(data), Content_Encoding="gzip")
    )
    with lcdb.open(host.url) as db:
        assert len(db) == 2
    host.fault = lambda h, path, data, span: answer(h, 200, data, Content_Encoding="br")
    with pytest.raises(errors.HostError, match="was sent as 'br'"):
        lcdb.open(host.url)


def rewritten(data, **changes):
    record = {k: v for k, v in json.loads(data).items() if k != "record_sha256"}
    return encode({**record, **changes})


INDEXES = {
    "none": (lambda d: None, "NotFoundError", "'lcdb index'"),
    "a page": (lambda d: b"<!DOCTYPE html>", "DamagedError", "begins with '<!DOCTYPE"),
    "of a newer version": (
        lambda d: rewritten(d, index_version=2), "FormatVersionError", "version 2; .* up to 1",
    ),
    "of a cube": (lambda d: rewritten(d, kind=CUBE_INDEX), "SchemaError", "is of kind"),
    "without cubes": (lambda d: rewritten(d, cubes=[{}]), "SchemaError", "is a required property"),
    "truncated": (lambda d: d[:-100], "DamagedError", "is not an index"),
    "changed": (lambda d: d.replace(b"NNC", b"NMC"), "DamagedError", "another digest"),
}  # fmt: skip


@pytest.mark.server
@pytest.mark.parametrize("kind", INDEXES)
def test_an_index_that_is_not_ours_is_one_error(host, kind):
    change, error, told = INDEXES[kind]

    def fault(h, path, data, span):
        changed = change(data)
        return answer(h, 404) if changed is None else answer(h, 200, changed)

    host.fault = fault
    with pytest.raises(getattr(errors, error), match=told):
        lcdb.open(host.url)


@pytest.mark.server
def test_a_cube_of_a_newer_format_is_told(host):
    def fault(h, path, data, span):
        record = json.loads(data)
        cubes = [{**cube, "format_version": 99} for cube in record["cubes"]]
        return answer(h, 200, rewritten(data, cubes=cubes))

    host.fault = fault
    with pytest.raises(errors.FormatVersionError, match="99"):
        lcdb.open(host.url)


@pytest.mark.server
def test_a_cube_that_was_replaced_meanwhile_is_told(tmp_path, database, monkeypatch):
    monkeypatch.setattr("lcdb.remote.transport.DEFAULT", QUICK)
    root = tmp_path / "db"
    shutil.copytree(database, root)
    cube = root / "cubes" / "61.nc"
    with serving(root) as served, lcdb.open(served.url) as db:
        late_index = lcdb.open(served.url)
        curve = db.curve(*CURVE, metric="auc")
        data = bytearray(cube.read_bytes())
        span = next(v for v in db._source.index(db.headers[61].path)["variables"]
                    if v["name"] == "auc")  # fmt: skip
        assert span["chunks"]
        data[3000:] = bytes(len(data) - 3000)  # of the same length
        cube.write_bytes(data)
        index = cube.with_name("61.nc.index.json")
        record = decode(index.read_bytes(), CUBE_INDEX, index)
        index.write_bytes(rewritten(index.read_bytes(), reasons=[["a", "b", "c"]]))
        assert record["reasons"] == []
        with pytest.raises(errors.StaleError, match="replaced"):
            curve.load()
        with pytest.raises(errors.StaleError, match="replaced"):
            late_index.curve(*CURVE)


@pytest.mark.server
def test_options_of_urls_and_of_paths(host, database):
    with pytest.raises(errors.ArgumentError, match="cache is for a URL"):
        lcdb.open(database, cache="somewhere")
    with pytest.raises(errors.ArgumentError, match="storage_options is for a URL"):
        lcdb.open(database, storage_options={})
    with pytest.raises(errors.ArgumentError, match=r"'key'.*expected 'headers'"):
        lcdb.open(host.url, storage_options={"key": "x"})
    with pytest.raises(errors.ArgumentError, match="name and password") as caught:
        lcdb.open(host.url.replace("://", "://me:secret@"))
    assert "secret" not in str(caught.value)
    with lcdb.open(f"{host.url}/?signature=secret") as db:
        assert "secret" not in repr(db)
        assert float(db.curve(*CURVE).isel(n=-1).mean()) > 0.9
    with pytest.raises(errors.ReadError, match="3 times"):
        Host("http://127.0.0.1:9", policy=QUICK)


# -- nothing is silent -----------------------------------------------------------------------------


def corrupted(data: bytes, draw: np.random.Generator) -> bytes:
    """Return bytes with a bit flipped, bytes replaced, a run moved, or the end cut off."""
    changed, place = bytearray(data), int(draw.integers(len(data)))
    kind = draw.integers(4)
    if kind == 0:
        changed[place] ^= 1 << int(draw.integers(8))
    elif kind == 1:
        some = draw.integers(0, 256, size=int(draw.integers(1, 50)), dtype=np.uint8)
        changed[place : place + len(some)] = some.tobytes()[: len(data) - place]
    elif kind == 2:
        other = int(draw.integers(len(data)))
        run = data[other : other + int(draw.integers(1, 200))]
        changed[place : place + len(run)] = run[: len(data) - place]
    else:
        changed = changed[:place]
    return bytes(changed)


@pytest.mark.server
def test_no_corruption_is_silent(host, database):
    """Of index and body: an error of ours, or the very numbers that were written."""
    draw = np.random.default_rng(14)
    with lcdb.open(database) as local:
        expected = local.curve(*CURVE, metric="brier").load()
        status = local.status()
    told = {"error": 0, "right": 0}
    targets = ["/index.json", "/cubes/61.nc.index.json", "/cubes/61.nc"]
    for i in range(counts(40, 1000)):
        target = targets[i % 3]

        changed = {t: corrupted((database / t[1:]).read_bytes(), draw) for t in targets[:2]}

        def fault(h, path, data, span, target=target, changed=changed):
            if path != target:
                return False
            if span is None:
                return answer(h, 200, changed[path])
            part = data[span[0] : span[1] + 1]
            bad = corrupted(part, draw)
            return ranged(h, data, span, bad)

        host.fault = fault
        try:
            with lcdb.open(host.url) as db:
                curve = db.curve(*CURVE, metric="brier").load()
                assert curve.identical(expected)
                assert db.status().equals(status)
            told["right"] += 1
        except errors.LCDBError:
            told["error"] += 1
    assert told["error"] > told["right"]


@pytest.mark.server
def test_chunks_say_what_is_wrong_when_they_cannot_be_decoded(host):
    """Without checksums, as `check=False` reads: what cannot be decoded is told all the same."""

    def fault(h, path, data, span):
        return path.endswith(".nc") and ranged(h, data, span, bytes(span[1] - span[0] + 1))

    host.fault = fault
    with (
        lcdb.open(host.url, check=False) as db,
        pytest.raises(errors.DamagedError, match="auc cannot be decoded"),
    ):
        db.curve(*CURVE, metric="auc").load()
    assert zlib.crc32(b"") == 0
