"""`lcdb fetch` and `lcdb datasets`, as they are typed."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from lcdb_builders import sources
from lcdb_builders.domain import snapshot as store
from lcdb_builders.sources.bundled import bundled

from lcdb.cli import main
from tests.support.openml_server import IRIS, OpenMLServer, Served

ROWS = "".join(f"{i}.5,{'xyz'[i % 3]}\n" for i in range(12))
HEADER = "@relation wine\n@attribute width real\n@attribute kind {x,y,z}\n@data\n"
WINE = Served(9999, "wine", (HEADER + ROWS).encode(), "kind")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """A cache of its own, and no OpenML but where a test brings one."""
    monkeypatch.setenv("LCDB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LCDB_OPENML_SERVER", "http://127.0.0.1:9/api/v1/xml")
    return tmp_path / "cache" / "snapshots"


def run(capsys, *arguments: str, code: int = 0) -> tuple[str, str]:
    """Run a command and return what it prints."""
    assert main(list(arguments)) == code
    output = capsys.readouterr()
    return output.out, output.err


def listed(capsys) -> dict[str, dict]:
    output, _ = run(capsys, "datasets", "--json")
    return {row["id"]: row for row in json.loads(output)}


def test_the_ten_are_listed(capsys, cache):
    output, _ = run(capsys, "datasets")
    for entry in sources.expected().values():
        (line,) = (line for line in output.splitlines() if line.split()[:1] == [entry.id])
        for part in (entry.name, entry.rows, entry.features, entry.classes):
            assert str(part) in line.split()
    assert str(cache) in output
    absent = [e.id for e in sources.expected().values() if not e.bundled]
    assert f"Not at hand: lcdb fetch {' '.join(absent)}" in output
    assert not cache.exists()


def test_the_list_as_json(capsys, cache):
    rows = listed(capsys)
    assert list(rows) == list(sources.expected())
    assert rows["11"]["at_hand"] == rows["61"]["at_hand"] == "package"
    assert rows["44037"]["at_hand"] is None
    assert (rows["1063"]["rows"], rows["1063"]["printed_rows"]) == (522, 523)


def test_what_is_cached_is_listed_and_damage_told(capsys, cache):
    store.save(bundled("61"), cache)
    assert listed(capsys)["61"]["at_hand"] == "cache"
    path = cache / "61.npz"
    path.write_bytes(path.read_bytes()[:-1])
    row = listed(capsys)["61"]
    assert row["at_hand"] == "package"
    assert "61.npz is damaged" in row["problem"]
    output, _ = run(capsys, "datasets")
    assert "61.npz is damaged" in " ".join(output.split())


@pytest.mark.server
@pytest.mark.process
def test_fetch_from_openml_and_what_comes_with_the_package(capsys, cache, monkeypatch):
    with OpenMLServer([WINE]) as server:
        monkeypatch.setenv("LCDB_OPENML_SERVER", server.api)
        output, _ = run(capsys, "fetch", "9999", "iris", "61")
    assert output.splitlines() == [
        "9999 wine: 12 rows, 1 features, 3 classes; from OpenML, md5 verified",
        "61 iris: 150 rows, 4 features, 3 classes; comes with the package",
    ]
    assert listed(capsys)["9999"]["at_hand"] == "cache"
    assert sources.obtain(9999, offline=True).name == "wine"


@pytest.mark.full
@pytest.mark.server
@pytest.mark.process
def test_what_is_logged_is_a_line_of_the_command(capsys, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with OpenMLServer([WINE]) as server:
        monkeypatch.setenv("LCDB_OPENML_SERVER", server.api)
        output, errors = run(capsys, "fetch", "9999", "--cache", str(tmp_path / "file" / "cache"))
    assert output.startswith("9999 wine: 12 rows")
    (line,) = errors.splitlines()
    assert line.startswith("lcdb: dataset 9999 is not kept in the cache")


@pytest.mark.full
@pytest.mark.process
def test_one_that_fails_does_not_stop_the_others(capsys, cache):
    output, errors = run(capsys, "fetch", "iris", "37", "11", code=1)
    assert [line.split()[0] for line in output.splitlines()] == ["61", "11"]
    first, last = errors.splitlines()
    assert first.startswith("lcdb: dataset 37 (diabetes) could not be fetched from OpenML: no conn")
    assert last == "lcdb: 1 of 3 datasets could not be fetched: 37"
    assert not cache.exists() or not any(cache.iterdir())


def test_a_local_copy(capsys, cache, tmp_path):
    (tmp_path / "61-iris.arff").write_bytes(IRIS.read_bytes())
    output, _ = run(capsys, "fetch", "iris", "--from", str(tmp_path))
    assert output.endswith("; from the file 61-iris.arff\n")
    row = listed(capsys)["61"]
    assert row["at_hand"] == "cache" and row["snapshot_sha256"] == row["sha256"]
    assert row["origin"]["source"] == "local copy"


@pytest.mark.data
def test_local_copies(capsys, cache, data_folder):
    folder = str(data_folder / "openml")
    output, _ = run(capsys, "fetch", "23", "kc2", "46597", "--from", folder)
    assert [line.split(";")[-1] for line in output.splitlines()] == [
        " from the file 23-cmc.arff",
        " from the file 1063-kc2.arff",
        " from the file 46597-obesity.csv",
    ]
    for id in ("23", "1063", "46597"):
        row = listed(capsys)[id]
        assert row["at_hand"] == "cache"
        assert row["snapshot_sha256"] == row["sha256"]
        assert row["origin"]["source"] == "local copy"


def test_a_copy_of_unknown_values_is_taken_with_a_word_about_it(capsys, cache, tmp_path):
    path = tmp_path / "rl.csv"
    header = ",".join(f"V{i}" for i in range(12)) + ",kind\n"
    rows = "".join(
        ",".join([str(i + j) for j in range(11)] + [str(7 * (i % 3)), "ab"[i % 2]]) + "\n"
        for i in range(4970)
    )
    path.write_text(header + rows)
    output, _ = run(capsys, "fetch", "rl", "--from", str(path), "--target", "kind")
    assert "only N, d and K could be checked" in output
    numbers = store.load(cache, "44037")
    assert set(numbers.X[:, 11]) == {0.0, 7.0, 14.0}
    # The same, with a column of categories that look like numbers.
    nominal = ["--nominal", "V11"]
    run(capsys, "fetch", "rl", "--from", str(path), "--target", "kind", *nominal)
    codes = store.load(cache, "44037")
    assert set(codes.X[:, 11]) == {0.0, 1.0, 2.0}
    np.testing.assert_array_equal(codes.X[:, :11], numbers.X[:, :11])


@pytest.mark.full
@pytest.mark.server
@pytest.mark.process
def test_another_cache_and_what_openml_has_now(capsys, cache, tmp_path, monkeypatch):
    """What is at hand is left as it is, until OpenML is asked anew."""
    other = tmp_path / "other"
    first = WINE.arff.replace(b"0.5,x", b"9.5,x")
    for served, options in (
        (replace(WINE, arff=first), []),
        (WINE, []),
        (WINE, ["--refresh"]),
    ):
        with OpenMLServer([served]) as server:
            monkeypatch.setenv("LCDB_OPENML_SERVER", server.api)
            run(capsys, "fetch", "9999", "--cache", str(other), *options)
            asked = len(server.log)
        assert (asked > 0) == (served is not WINE or bool(options))
        X = store.load(other / "snapshots", "9999").X
        assert X.max() == 11.5 and (0.5 in X) == bool(options)
    assert not cache.exists()
    assert "9999" not in listed(capsys)
    output, _ = run(capsys, "datasets", "--json", "--cache", str(other))
    assert {row["id"]: row for row in json.loads(output)}["9999"]["at_hand"] == "cache"


WRONG = {
    "unknown name": (["irsi"], "no dataset 'irsi'.*Did you mean 'iris'"),
    "path as id": (["../61"], "no dataset '../61'; expected an OpenML id"),
    "another dataset's file": (["37", "--from", "iris.arff"], "150 rows, expected 768"),
    "no such file": (["37", "--from", "none.arff"], "there is no file"),
    "empty folder": (["37", "--from", "empty"], "no file for dataset 37"),
    "one file for two": (["37", "61", "--from", "iris.arff"], "expected a folder, or one dataset"),
    "unknown id with a copy": (["4", "--from", "iris.arff"], "nothing is known of dataset 4"),
    "wrong target": (["61", "--from", "iris.arff", "--target", "clas"], "Did you mean 'class'"),
    "target without a copy": (["61", "--target", "class"], "use them with --from"),
    "copy and refresh": (["61", "--from", "iris.arff", "--refresh"], "expected one of the two"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_use_ends_in_one_line_and_writes_nothing(capsys, cache, tmp_path, monkeypatch, name):
    arguments, message = WRONG[name]
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("iris.arff").write_bytes((files("lcdb.data") / "iris.arff").read_bytes())
    output, errors = run(capsys, "fetch", *arguments, code=1)
    assert output == ""
    assert len(errors.splitlines()) == 1
    assert errors.startswith("lcdb: ")
    assert re.search(message, errors)
    assert not cache.exists()


@pytest.mark.parametrize("command", ["fetch", "datasets"])
def test_help(capsys, command):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert f"usage: lcdb {command}" in capsys.readouterr().out
