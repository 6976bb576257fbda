"""Where snapshots come from, in which order, and what happens to damaged ones on the way."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lcdb_builders import sources
from lcdb_builders.domain import snapshot as store
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.sources import FileSource, OpenML
from lcdb_builders.sources.bundled import bundled
from sklearn.datasets import load_iris

from lcdb.errors import DamagedError, DatasetError, FetchError, LabelError
from tests.oracles import arff as oracle
from tests.support.openml_server import OpenMLServer, Served, copies

ROWS = "".join(f"{i}.5,{'xyz'[i % 3]}\n" for i in range(12))
HEADER = "@relation wine\n@attribute width real\n@attribute kind {x,y,z}\n@data\n"
WINE = Served(9999, "wine", (HEADER + ROWS).encode(), "kind")
# Port 9 of loopback: nobody listens.
NOBODY = OpenML("http://127.0.0.1:9/api/v1/xml", timeout=5, retries=1)


@pytest.fixture
def server():
    with OpenMLServer([WINE]) as running:
        yield running


@pytest.fixture
def openml(server) -> OpenML:
    return OpenML(server.api, timeout=5, retries=1)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("LCDB_CACHE", str(folder))
    return folder


@pytest.fixture(scope="module")
def wine():
    with OpenMLServer([WINE]) as running:
        return OpenML(running.api, timeout=5, retries=1).fetch("9999")


def no_openml(self, id: str):
    raise AssertionError(f"OpenML is asked for {id}")


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def files_below(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


class TestBundled:
    def test_iris_equals_openml_s(self):
        X, y, classes = oracle.read(copies(61)[0].arff.decode(), "class")
        iris = bundled("61")
        np.testing.assert_array_equal(iris.X, X)
        np.testing.assert_array_equal(iris.y, y)
        assert list(iris.class_names) == classes

    def test_iris_differs_from_scikit_learn_s_in_two_rows(self):
        iris, other = bundled("61"), load_iris()
        np.testing.assert_array_equal(iris.y, other.target)
        assert np.flatnonzero((other.data != iris.X).any(axis=1)).tolist() == [34, 37]

    @pytest.mark.data
    def test_balance_scale_equals_openml_s(self):
        text = copies(11)[0].arff.decode().replace("\r\n", "\n")
        X, y, classes = oracle.read(text, "class")
        scale = bundled("11")
        np.testing.assert_array_equal(scale.X, X)
        np.testing.assert_array_equal(scale.y, y)
        assert list(scale.class_names) == classes

    def test_balance_scale_follows_its_rule(self):
        scale = bundled("11")
        rows = itertools.product(range(1, 6), repeat=4)
        for (lw, ld, rw, rd), x, code in zip(rows, scale.X, scale.y, strict=True):
            assert x.tolist() == [lw, ld, rw, rd]
            side = "L" if lw * ld > rw * rd else "R" if lw * ld < rw * rd else "B"
            assert scale.class_names[code] == side

    def test_the_file_of_iris_is_openml_s_to_the_byte(self):
        iris = bundled("61")
        assert iris.origin["openml_md5"] == sources.expected()["61"].md5
        assert (iris.origin["source"], iris.origin["openml_version"]) == ("bundled", 1)
        assert bundled("37") is None


SPEC = {
    11: ("balance-scale", 625, 4, 3),
    23: ("cmc", 1473, 9, 3),
    37: ("diabetes", 768, 8, 2),
    53: ("heart-statlog", 270, 13, 2),
    61: ("iris", 150, 4, 3),
    1063: ("kc2", 522, 21, 2),
    44037: ("rl", 4970, 12, 2),
    46597: ("obesity-levels", 2111, 16, 7),
    46733: ("early-stage-diabetes", 520, 16, 2),
    46847: ("thyroid-recurrence", 383, 16, 2),
}


class TestCatalog:
    def test_the_ten(self):
        found = {
            int(entry.id): (entry.name, entry.rows, entry.features, entry.classes)
            for entry in sources.expected().values()
        }
        assert found == SPEC
        printed = {e.id: e.printed_rows for e in sources.expected().values() if e.printed_rows}
        assert printed == {"11": 628, "1063": 523}

    @pytest.mark.data
    def test_printed_rows_are_lines_behind_data(self):
        """What the paper printed: data lines with the comment and blank lines among them."""
        for served in copies(11, 1063):
            lines = served.arff.decode().replace("\r\n", "\n").split("@data\n")[1].splitlines()
            assert len(lines) == sources.find(served.id).printed_rows

    @pytest.mark.data
    def test_kinds_of_features(self, data_folder):
        for id in (11, 23, 37, 53, 61, 1063, 46597):
            entry = sources.find(id)
            (path,) = (data_folder / "openml").glob(f"{id}-*")
            source = FileSource("x", path, entry.target).snapshot()
            nominal = len(source.origin["categories"])
            assert (source.features - nominal, nominal) == (entry.numeric, entry.nominal)

    def test_names_and_ids(self):
        assert sources.find("kc2").id == sources.find(1063).id == sources.find("1063").id
        assert sources.find(4) is None
        assert sources.openml_id("iris") == "61"
        for wrong, hint in (("irsi", "'iris'"), ("061", "'61'"), (-61, "61"), ("", "iris")):
            with pytest.raises(LabelError, match=f"expected an OpenML id.*{hint}"):
                sources.find(wrong)

    @pytest.mark.process
    def test_it_needs_neither_openml_nor_pandas(self):
        script = """
            import sys
            from lcdb_builders.sources import expected, find
            assert find(44037).rows == 4970
            heavy = {"openml", "pandas", "pyarrow", "sklearn", "distributed", "requests"}
            print(sorted(heavy & set(sys.modules)))
        """
        command = [sys.executable, "-c", textwrap.dedent(script)]
        assert subprocess.run(command, capture_output=True, check=True).stdout == b"[]\n"


class TestOrder:
    @pytest.mark.server
    @pytest.mark.process
    def test_openml_fills_cache_and_database_and_is_asked_once(
        self, tmp_path, cache, openml, server
    ):
        first = sources.obtain(9999, tmp_path / "db", openml=openml)
        assert len(server.log) == 2
        assert first.origin["source"] == "openml"
        for folder in (tmp_path / "db", cache):
            assert files_below(folder) == ["snapshots/9999.json", "snapshots/9999.npz"]
        again = sources.obtain("9999", tmp_path / "db", openml=NOBODY)
        from_cache = sources.obtain(9999, tmp_path / "db2", openml=NOBODY)
        assert first.sha256 == again.sha256 == from_cache.sha256
        assert first.origin == again.origin == from_cache.origin
        assert len(server.log) == 2

    def test_a_database_needs_no_cache(self, tmp_path, cache, monkeypatch):
        """A compute node: no network, another cache, the database directory shared."""
        sources.obtain("balance-scale", tmp_path / "db")
        monkeypatch.setenv("LCDB_CACHE", str(tmp_path / "elsewhere"))
        monkeypatch.setattr(OpenML, "fetch", no_openml)
        found = sources.obtain(11, tmp_path / "db")
        assert found.sha256 == bundled("11").sha256
        assert not cache.exists()
        assert not (tmp_path / "elsewhere").exists()

    def test_the_database_comes_before_the_cache_and_the_cache_before_the_package(
        self, tmp_path, cache
    ):
        iris = bundled("61")
        cached = replace(iris, name="cached", origin={**iris.origin, "source": "openml"})
        store.save(cached, cache / "snapshots")
        assert sources.obtain(61).name == "cached"
        store.save(replace(iris, name="stored"), tmp_path / "db" / "snapshots")
        assert sources.obtain(61, tmp_path / "db").name == "stored"
        assert sources.obtain(61, cache=tmp_path / "empty").name == "iris"

    def test_a_whole_snapshot_of_other_data_is_not_used(self, tmp_path, cache, caplog):
        """Its own digest is right: only what is known of the dataset tells."""
        iris = bundled("61")
        X = iris.X.copy()
        X[7, 2] += 0.1
        wrong = Snapshot("61", X, iris.y, iris.feature_names, iris.class_names, "iris")
        store.save(wrong, cache / "snapshots")
        assert store.load(cache / "snapshots", "61").sha256 == wrong.sha256 != iris.sha256
        assert sources.obtain(61).sha256 == iris.sha256
        assert "in the cache" in caplog.text and "is not used: " in caplog.text
        assert sources.fetch(61).sha256 == iris.sha256
        other = replace(iris, name="renamed", origin={**iris.origin, "source": "openml"})
        store.save(other, cache / "snapshots", replace=True)
        assert sources.fetch(61).name == "renamed"

    def test_offline(self, tmp_path, cache, monkeypatch):
        monkeypatch.setattr(OpenML, "fetch", no_openml)
        assert sources.obtain(61, offline=True).rows == 150
        with pytest.raises(FetchError, match=r"when offline; run 'lcdb fetch 37'.*--from"):
            sources.obtain(37, tmp_path / "db", offline=True)
        assert not (tmp_path / "db").exists()

    @pytest.mark.full
    @pytest.mark.process
    def test_a_failed_fetch_writes_nothing(self, tmp_path, cache):
        with pytest.raises(FetchError, match="no connection"):
            sources.obtain(37, tmp_path / "db", openml=NOBODY)
        assert files_below(tmp_path) == []

    @pytest.mark.full
    @pytest.mark.server
    @pytest.mark.process
    def test_a_cache_that_cannot_be_written_is_done_without(self, tmp_path, openml, caplog):
        (tmp_path / "file").write_text("")
        found = sources.obtain(
            9999, tmp_path / "db", cache=tmp_path / "file" / "cache", openml=openml
        )
        assert found.rows == 12
        assert "dataset 9999 is not kept in the cache" in caplog.text
        assert files_below(tmp_path / "db") == ["snapshots/9999.json", "snapshots/9999.npz"]

    @pytest.mark.full
    @pytest.mark.server
    @pytest.mark.process
    def test_fetch_asks_openml_for_what_is_not_at_hand(self, cache, wine, openml, server):
        assert sources.fetch(61, openml=openml).origin["source"] == "bundled"
        store.save(wine, cache / "snapshots")
        assert sources.fetch(9999, openml=openml).rows == 12
        assert server.log == []
        assert sources.fetch(9999, openml=openml, refresh=True).rows == 12
        assert len(server.log) == 2
        assert files_below(cache) == ["snapshots/9999.json", "snapshots/9999.npz"]


class TestDamage:
    @pytest.mark.server
    @pytest.mark.process
    @pytest.mark.parametrize("suffix", [".npz", ".json"])
    def test_a_damaged_file_of_the_cache_is_fetched_again(
        self, cache, wine, openml, suffix, caplog
    ):
        store.save(wine, cache / "snapshots")
        path = cache / "snapshots" / f"9999{suffix}"
        whole = path.read_bytes()
        flip(path)
        with pytest.raises(FetchError, match=r"offline.*9999\.\w+ is damaged"):
            sources.obtain(9999, offline=True)
        assert sources.obtain(9999, openml=openml).sha256 == wine.sha256
        assert f"9999{suffix} is damaged" in caplog.text
        assert path.read_bytes() == whole

    @pytest.mark.parametrize("suffix", [".npz", ".json"])
    def test_a_damaged_file_of_a_database_is_repaired(self, tmp_path, cache, suffix, caplog):
        sources.obtain(61, tmp_path / "db")
        path = tmp_path / "db" / "snapshots" / f"61{suffix}"
        whole = path.read_bytes()
        for damage in (flip, Path.unlink, lambda path: path.write_bytes(whole[:100])):
            damage(path)
            assert sources.obtain(61, tmp_path / "db").sha256 == bundled("61").sha256
            assert path.read_bytes() == whole
        assert f"61{suffix} is damaged" in caplog.text

    def test_a_database_is_not_repaired_with_other_data(self, tmp_path, cache):
        iris = bundled("61")
        other = replace(iris, X=iris.X + 1)
        store.save(other, tmp_path / "db" / "snapshots")
        flip(tmp_path / "db" / "snapshots" / "61.npz")
        before = files_below(tmp_path / "db")
        with pytest.raises(DamagedError, match="what can be had now are other data"):
            sources.obtain(61, tmp_path / "db")
        assert files_below(tmp_path / "db") == before


class TestTogether:
    @pytest.mark.full
    @pytest.mark.server
    @pytest.mark.process
    def test_processes_that_want_the_same_dataset_ask_once(self, tmp_path, server):
        script = f"""
            import sys
            from lcdb_builders import sources
            from lcdb_builders.sources import OpenML
            openml = OpenML({server.api!r}, timeout=20, retries=1)
            found = sources.obtain(9999, sys.argv[1], openml=openml)
            print(found.sha256)
        """
        environment = {**os.environ, "LCDB_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "db")]
        running = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(4)
        ]
        digests = {process.communicate(timeout=120)[0] for process in running}
        assert [process.returncode for process in running] == [0] * 4
        assert len(digests) == 1
        assert len(server.log) == 2
        for name in ("cache", "db"):
            store.verify(tmp_path / name / "snapshots", "9999")
            assert files_below(tmp_path / name) == ["snapshots/9999.json", "snapshots/9999.npz"]

    @pytest.mark.full
    @pytest.mark.server
    @pytest.mark.process
    def test_two_downloads_at_once_do_not_harm_each_other(self, tmp_path, server):
        """Without a lock, as on a file system that has none."""
        script = f"""
            import contextlib, sys
            from lcdb_builders import sources
            from lcdb_builders.sources import OpenML, obtain
            sources.obtain.__globals__["locked"] = lambda folder, id: contextlib.nullcontext()
            openml = OpenML({server.api!r}, timeout=20, retries=1)
            print(sources.fetch(9999, openml=openml, refresh=True).sha256)
        """
        environment = {**os.environ, "LCDB_CACHE": str(tmp_path / "cache")}
        command = [sys.executable, "-c", textwrap.dedent(script)]
        running = [
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(2)
        ]
        digests = {process.communicate(timeout=120)[0] for process in running}
        assert [process.returncode for process in running] == [0] * 2
        assert len(server.log) == 4
        assert len(digests) == 1
        store.verify(tmp_path / "cache" / "snapshots", "9999")


class TestFiles:
    @pytest.fixture
    def source(self, tmp_path) -> FileSource:
        path = tmp_path / "wine.csv"
        path.write_text("width,kind\n" + ROWS)
        return FileSource("wine", path, "kind", name="Wine")

    def test_a_file_becomes_part_of_the_database(self, tmp_path, source, cache):
        first = sources.obtain(source, tmp_path / "db")
        assert (first.id, first.name, first.rows) == ("wine", "Wine", 12)
        assert files_below(tmp_path / "db") == ["snapshots/wine.json", "snapshots/wine.npz"]
        Path(source.path).unlink()
        assert sources.obtain(source, tmp_path / "db").sha256 == first.sha256
        assert not cache.exists()

    def test_a_file_need_not_become_part_of_one(self, source):
        assert sources.obtain(source).rows == 12

    def test_a_file_that_changed_is_refused(self, tmp_path, source):
        sources.obtain(source, tmp_path / "db")
        Path(source.path).write_text("width,kind\n" + ROWS.replace("1.5", "1.6"))
        with pytest.raises(DatasetError, match=r"the file's content changed since.*another id"):
            sources.obtain(source, tmp_path / "db")

    def test_another_way_to_read_it_is_refused(self, tmp_path, source):
        sources.obtain(source, tmp_path / "db")
        with pytest.raises(DatasetError, match="nominal changed since the database took"):
            sources.obtain(replace(source, nominal=("width",)), tmp_path / "db")

    def test_a_damaged_snapshot_of_a_file_is_repaired_from_the_file(self, tmp_path, source):
        first = sources.obtain(source, tmp_path / "db")
        flip(tmp_path / "db" / "snapshots" / "wine.npz")
        assert sources.obtain(source, tmp_path / "db").sha256 == first.sha256
        store.verify(tmp_path / "db" / "snapshots", "wine")

    @pytest.mark.parametrize("id", ["61", "../wine", "dse"])
    def test_an_id_that_would_lead_elsewhere(self, tmp_path, source, id):
        with pytest.raises(DatasetError, match="cannot name a file's dataset"):
            sources.obtain(replace(source, id=id), tmp_path / "db")
        assert not (tmp_path / "db").exists()
