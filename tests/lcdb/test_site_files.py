"""The folder of a site: what is in it, how large it is, and what the commands do with it."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pytest

import lcdb
from lcdb.cli import main
from lcdb.errors import ArgumentError, NotFoundError, ReadError, StaleError, StorageError
from lcdb.remote import making
from lcdb.remote.format import encode
from lcdb.remote.making import cube_index
from lcdb.schema import LEARNER_ROWS, METRICS
from lcdb.site import write_site
from lcdb.site.cells import PROBABILITIES
from lcdb.site.content import PAGE, Content, page_files
from lcdb.site.serve import exploring, index_of
from lcdb.site.table import as_table, from_table
from lcdb.summaries.make import summarize
from tests.support.plausible import snapshot_of, write_plausible

TUTORIAL = lcdb.tutorial().path
IRIS = TUTORIAL / "cubes" / "61.nc"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    assert len(list(write_site(TUTORIAL, folder))) > 100
    return folder


def described(site: Path) -> dict:
    return json.loads((site / "site.json").read_bytes())


def test_the_page_is_told_names_and_what_is_usual(site):
    told = described(site)
    assert told["usual"] == {"sampling": "random", "split": "varying", "tuning": "default"}
    assert told["long_names"] == {row.name: row.long_name for row in LEARNER_ROWS.values()}


def test_a_site_says_how_far_it_is(tmp_path, capsys):
    steps: list[tuple[int, int, str]] = []
    list(write_site(IRIS, tmp_path / "site", sizes="10", progress=lambda *step: steps.append(step)))
    assert steps == [(1, 2, "index of iris (61)"), (2, 2, "72 files of iris (61)")]
    command = ["site", str(IRIS), "--out", str(tmp_path / "site"), "--sizes", "10"]
    assert main([*command, "--cubes", "none"]) == 0
    assert capsys.readouterr().err == "1 of 1: 72 files of iris (61)\n"


def test_files_come_dataset_by_dataset():
    with lcdb.tutorial() as db:
        content = Content(db, "10", ".", {})
        found = [(key, name) for key, names in content.by_dataset() for name in names]
    assert [name for _, name in found] == list(content.paths())
    assert {key for key, name in found if name.startswith("data/61/")} == {61}


# -- tables ----------------------------------------------------------------------------------------


def test_tables_hold_what_was_put_in():
    rng = np.random.default_rng(1)
    columns = {
        "a": rng.normal(size=(2, 3, 4)),
        "b": rng.integers(0, 9, 5).astype(np.int32),
        "c": np.array([], np.float64),
        "d": np.array([[-1, 2]], np.int8),
    }
    found = from_table(as_table(columns))
    assert list(found) == list(columns)
    for name, column in columns.items():
        assert found[name].dtype == column.dtype and np.array_equal(found[name], column)


# -- what a folder holds ---------------------------------------------------------------------------


@pytest.mark.server
def test_numbers_of_a_folder_are_those_of_the_database(site):
    (iris,) = (one for one in described(site)["datasets"] if one["name"] == "iris")
    rng = np.random.default_rng(2)
    with lcdb.tutorial() as db:
        for _ in range(4):
            place = [int(rng.integers(len(iris["labels"][d]))) for d in ("sampling", "split")]
            metric = str(rng.choice(list(METRICS)))
            both = zip(("sampling", "split"), place, strict=True)
            labels = {dim: iris["labels"][dim][i] for dim, i in both}
            name = f"{iris['folder']}/{place[0]}-{place[1]}-0-{metric}"
            curves = from_table((site / f"{name}.curves.bin").read_bytes())
            tests = from_table((site / f"{name}.tests.bin").read_bytes())
            pairs = from_table((site / f"{name}.pairs.bin").read_bytes())
            scores = db.select(61, **labels, tuning="default", metric=metric)[61]
            scores = scores.sel(n=iris["sizes"])
            assert np.allclose(curves["mean"], scores.mean("repetition"), rtol=1e-13, atol=0)
            quantile = scores.quantile(PROBABILITIES, "repetition").transpose("learner", "n", ...)
            assert np.allclose(curves["quantile"], quantile, rtol=1e-13, atol=1e-15)
            rows = db[61].n_test.sel(labels) if metric == "accuracy" else None
            expected = lcdb.analysis.normality(scores, rows)
            for column in ("shapiro_w", "shapiro_p", "dagostino_p", "lattice_p"):
                if column in expected:
                    wanted = expected[column].transpose("learner", "n").values
                    assert np.array_equal(tests[column], wanted, equal_nan=True), column
            n = len(iris["sizes"]) // 2
            compared = lcdb.analysis.compare(scores.isel(n=n), resamples=2)
            for column in ("mean_difference", "mean_low", "mean_high", "better", "better_low"):
                wanted = compared[column].transpose("pair").values
                assert np.allclose(pairs[column][:, n], wanted, rtol=1e-12, atol=1e-15), column


@pytest.mark.server
@pytest.mark.process
def test_a_folder_is_a_database_at_its_address(site):
    with lcdb.open(site) as copy, lcdb.tutorial() as db:
        assert list(copy) == list(db)
        for key in db:
            assert copy[key].identical(db[key])
    index = json.loads((site / "index.json").read_bytes())
    assert [cube["file"] for cube in index["cubes"]] == ["cubes/11.nc", "cubes/61.nc"]
    assert described(site)["opens"] == "."


@pytest.mark.server
def test_code_and_first_data_are_small(site):
    code = sum(len(gzip.compress(data)) for data in page_files().values())
    assert code < 60_000
    first = max(path.stat().st_size for path in site.rglob("*.curves.bin"))
    assert first + (site / "site.json").stat().st_size < 250_000


def test_every_file_of_the_page_is_declared_and_loaded():
    files = page_files()
    index = files.pop("index.html").decode()
    assert set(files) == set(re.findall(r'href="([\w.]+\.(?:js|css|svg))"', index)) | {"app.js"}
    assert "</script>" in index and "://" not in re.sub(r"<meta[^>]*>", "", index)
    for name, data in files.items():
        text = data.decode()
        if name.endswith(".js"):
            unsafe = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\("
            assert not re.search(unsafe, text)
            imported = set(re.findall(r'from "\./([\w]+\.js)"', text))
            assert imported <= set(files), name
            assert len(text.splitlines()) <= 400, name


def test_the_same_cube_gives_the_same_site(tmp_path):
    first, second = ([*write_site(IRIS, tmp_path / name, sizes="10")] for name in "ab")
    assert len(first) == len(second) > 90
    for one, other in zip(first, second, strict=True):
        assert one.relative_to(tmp_path / "a") == other.relative_to(tmp_path / "b")
        assert one.read_bytes() == other.read_bytes()


def test_sizes_can_be_chosen(tmp_path):
    list(write_site(IRIS, tmp_path / "site", sizes="10,100", cubes="none"))
    assert [one["sizes"] for one in described(tmp_path / "site")["datasets"]] == [[10, 100]]
    assert not (tmp_path / "site" / "cubes").exists()
    assert not (tmp_path / "site" / "index.json").exists()
    assert [one["cube"] for one in described(tmp_path / "site")["datasets"]] == [None]
    assert described(tmp_path / "site")["opens"] == "61.nc"  # the folder's name, no path of ours


def test_cubes_may_be_elsewhere(tmp_path):
    url = "https://example.org/db/"
    list(write_site(IRIS, tmp_path / "site", sizes="10", cubes=url))
    (first,) = described(tmp_path / "site")["datasets"]
    assert first["cube"]["url"] == "https://example.org/db/cubes/61.nc"
    assert first["cube"]["index"] == "https://example.org/db/cubes/61.nc.index.json"
    assert described(tmp_path / "site")["opens"] == "https://example.org/db"
    assert not (tmp_path / "site" / "cubes").exists()


@pytest.mark.process
def test_a_summary_is_shown_as_well(tmp_path):
    (tmp_path / "full" / "cubes").mkdir(parents=True)
    path = tmp_path / "full" / "cubes" / "61.nc"
    write_plausible(path, snapshot_of("61", "iris", 40), 60, splits=("fixed", "varying"))
    site = tmp_path / "whole"
    list(write_site(tmp_path / "full", site, sizes="10,20"))
    with lcdb.open(tmp_path / "full") as db:
        list(summarize(db, tmp_path / "small", sizes="10,20"))
    list(write_site(tmp_path / "small", tmp_path / "site"))
    (iris,) = described(tmp_path / "site")["datasets"]
    (whole,) = described(site)["datasets"]
    assert iris["summary"] and iris["cube"] is None and iris["sizes"] == whole["sizes"]
    assert not list((tmp_path / "site").rglob("*.pairs.bin"))
    assert (tmp_path / "site" / "summaries" / "61.nc").is_file()
    name = f"{iris['folder']}/0-0-0-accuracy"
    for kind in ("curves", "tests"):
        few = from_table((tmp_path / "site" / f"{name}.{kind}.bin").read_bytes())
        all_of_it = from_table((site / f"{name}.{kind}.bin").read_bytes())
        assert list(few) == list(all_of_it)
        for column, values in all_of_it.items():
            assert few[column].dtype == values.dtype
            tolerance = 1e-3 if column in ("quantile", "dagostino_p") else 2e-5
            options = {"rtol": tolerance, "atol": 1e-7, "equal_nan": True}
            assert np.allclose(few[column], values, **options), column


def test_a_link_that_the_disk_refuses_is_a_copy(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refuse)
    list(write_site(IRIS, tmp_path / "site", sizes="10"))
    copied = tmp_path / "site" / "cubes" / "61.nc"
    assert copied.read_bytes() == IRIS.read_bytes()
    assert copied.stat().st_nlink == 1


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.process
def test_what_cannot_be_written_is_told(tmp_path):
    with pytest.raises(ArgumentError, match="is inside"):
        list(write_site(TUTORIAL, TUTORIAL / "site"))
    with pytest.raises(ArgumentError, match="expected 'copy', 'none', or the address"):
        list(write_site(TUTORIAL, tmp_path, cubes="move"))
    with pytest.raises(ArgumentError, match="password"):
        list(write_site(TUTORIAL, tmp_path, cubes="https://me:secret@example.org/db"))
    with pytest.raises(NotFoundError):
        list(write_site(tmp_path / "nothing", tmp_path / "site"))
    with pytest.raises(NotFoundError, match=r"holds no learning curves.*'lcdb plot DIR --paper"):
        list(write_site(TUTORIAL.parent / "experiments", tmp_path / "site"))
    assert not (tmp_path / "site").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="could not be written"):
        list(write_site(TUTORIAL, tmp_path / "file"))
    with lcdb.tutorial() as db, pytest.raises(NotFoundError, match="no file"):
        Content(db, "10", ".", {}).read("data/61/9-9-9-auc.curves.bin")


# -- commands --------------------------------------------------------------------------------------


def test_the_command_writes_a_site(tmp_path, capsys):
    target = tmp_path / "site"
    command = ["site", str(IRIS), "--out", str(target), "--cubes", "none", "--sizes", "5,50"]
    assert main(command) == 0
    told = capsys.readouterr().out
    assert f"{target}/index.html: " in told and f"lcdb explore {IRIS}" in told
    assert (target / "index.html").is_file()


@pytest.mark.server
@pytest.mark.process
def test_explore_serves_until_it_is_stopped(site):
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port = some.getsockname()[1]
    command = [sys.executable, "-m", "lcdb.cli", "explore", str(TUTORIAL), "--no-browser"]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--sizes", "10"], stdout=subprocess.PIPE, text=True
    )
    try:
        address = process.stdout.readline().split()[0]
        url, token = address.split("?token=")
        assert url == f"http://127.0.0.1:{port}/"
        assert urlopen(address).read() == page_files()["index.html"]
        told = json.load(urlopen(f"{url}site.json?token={token}"))
        assert [one["sizes"] for one in told["datasets"]] == [[10], [10]]
    finally:
        process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stdout.close()


@pytest.mark.server
@pytest.mark.parametrize("database", [str(TUTORIAL), "tutorial"])
def test_explore_opens_a_browser_unless_told_otherwise(database, monkeypatch, capsys):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("threading.Event.wait", interrupt)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert main(["explore", database]) == 0
    finally:
        signal.signal(signal.SIGTERM, before)
    assert opened == [capsys.readouterr().out.split()[0]]


def interrupt(self: object, timeout: float | None = None) -> bool:
    """Stand for a wait of the command that Ctrl-C ends; threads wait a little."""
    if timeout is None and sys._getframe(1).f_globals["__name__"] == "lcdb.commands.explore":
        raise KeyboardInterrupt
    with self._cond:
        return self._flag or self._cond.wait(timeout)


@pytest.mark.process
def test_the_index_beside_a_cube_is_taken_if_it_can_be_its_own(tmp_path):
    (tmp_path / "cubes").mkdir()
    for name in ("11.nc", "61.nc"):
        shutil.copyfile(TUTORIAL / "cubes" / name, tmp_path / "cubes" / name)
    beside = tmp_path / "cubes" / "61.nc.index.json"
    right = cube_index(tmp_path / "cubes" / "61.nc")
    record = json.loads(right)
    del record["record_sha256"]
    known = encode({**record, "reasons": [["this", "very", "file"]]})
    other = cube_index(tmp_path / "cubes" / "11.nc")
    for stored, expected in ((known, known), (other, right), (b"{}", right), (known[:-9], right)):
        beside.write_bytes(stored)
        assert index_of(tmp_path / "cubes" / "61.nc") == expected


def test_the_files_of_the_page_are_distributed():
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["package-data"]["lcdb.site"]
    for path in PAGE.iterdir():
        assert any(fnmatch(f"page/{path.name}", pattern) for pattern in patterns)
        assert path.name in page_files()


@pytest.mark.server
def test_the_server_sends_ranges_and_serves_who_has_its_token_alone():
    cube = IRIS.read_bytes()
    with contextlib.ExitStack() as stack, exploring(TUTORIAL, sizes="10") as address:

        def opened(request):
            return stack.enter_context(contextlib.closing(urlopen(request)))

        url, token = address.split("?token=")
        first = opened(address)
        assert b"<title>" in first.read()
        name, _, rest = first.headers["Set-Cookie"].partition("=")
        assert rest == f"{token}; Path=/; HttpOnly; SameSite=Strict"
        cookie = {"Cookie": f"other=1; {name}={token}"}

        def ask(path, **headers):
            return opened(Request(f"{url}{path}", headers={**cookie, **headers}))

        def refused(path, headers):
            with pytest.raises(HTTPError) as error:
                opened(Request(f"{url}{path}", headers=headers))
            error.value.close()
            return error.value.code

        # Another user of the machine has the port, and neither the address nor the cookie.
        for path in ("", "site.json", "cubes/61.nc", "cubes/61.nc.index.json", "nothing"):
            wrong = ({}, {"Cookie": f"{name}=x"}, {"Cookie": f"lcdb={token}"}, {"Cookie": "a b;,="})
            assert [refused(path, headers) for headers in wrong] == [403] * 4
            assert [refused(f"{path}?token={t}", {}) for t in ("", "x", token[:-1])] == [403] * 3
        answer = ask("cubes/61.nc", Range="bytes=10-19")
        assert answer.status == 206 and answer.read() == cube[10:20]
        assert answer.headers["Content-Range"] == f"bytes 10-19/{len(cube)}"
        index = json.load(opened(f"{url}cubes/61.nc.index.json?token={token}"))
        assert index["kind"] == "lcdb cube index"
        assert opened(Request(address, method="HEAD")).read() == b""
        assert ask("style.css").headers["Content-Type"] == "text/css"
        for path, code in (("nothing", 404), ("../pyproject.toml", 404), ("%2e%2e/x", 404)):
            assert refused(path, cookie) == code
        assert refused("cubes/61.nc", {**cookie, "Range": f"bytes={len(cube)}-"}) == 416
        host, port = url.split("/")[2].split(":")
        connection = http.client.HTTPConnection(host, int(port))
        elsewhere = {"Host": "elsewhere.example:80", **cookie}
        connection.request("GET", "/site.json", headers=elsewhere)
        assert connection.getresponse().status == 421
        connection.close()
        with pytest.raises(ReadError, match=f"port {port}"), exploring(TUTORIAL, port=int(port)):
            pass
    with pytest.raises(ArgumentError, match="port is 70000"), exploring(TUTORIAL, port=70000):
        pass


@pytest.mark.parametrize(("times", "fails"), [(1, False), (2, False), (99, True)])
def test_a_cube_that_others_link_to_meanwhile_is_read_again(tmp_path, monkeypatch, times, fails):
    """A hard link, as another site makes it, changes the stamp of a file that is what it was."""
    shutil.copytree(lcdb.tutorial().path, tmp_path / "db")
    cube = tmp_path / "db" / "cubes" / "61.nc"
    expected, made, describe = cube_index(cube), [], making._reasons

    def meanwhile(header):
        if len(made) < times:
            made.append(tmp_path / f"link{len(made)}")
            os.link(cube, made[-1])
        return describe(header)

    monkeypatch.setattr(making, "_reasons", meanwhile)
    if fails:
        with pytest.raises(StaleError, match="was replaced while its index was made"):
            cube_index(cube)
    else:
        assert cube_index(cube) == expected
    assert len(made) == (5 if fails else times)
