"""`lcdb pull --learner`: curves of some learners, read by ranges, as a database of their own."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from lcdb_builders.storage.indexes import index_database
from lcdb_builders.storage.manifest import Manifest

import lcdb
from lcdb.cli import main
from lcdb.errors import NotBuiltError, NotFoundError
from lcdb.remote.chunks import Table
from lcdb.remote.format import CUBE_INDEX, decode
from tests.support.chaos.death import DIED, changes, run_until
from tests.support.counts import counts
from tests.support.hosts import answer, serving
from tests.support.pulls import database, files, host  # noqa: F401

pytestmark = pytest.mark.server


def pull(host, copy, *learners, datasets=("61",)):
    options = [word for name in learners for word in ("--learner", name)]
    options += [word for name in datasets for word in ("--dataset", name)]
    return main(["pull", host.url, str(copy), *options])


def ranges(host):
    """Return the bytes of cubes that were sent, and in how many ranges."""
    sent = [count for path, count in host.requests if path.endswith(".nc")]
    return sum(sent), len(sent)


def stored_bytes(database, key, learners):
    """Return how long the chunks of learners are, and those that belong to no learner."""
    path = database / "cubes" / f"{key}.nc.index.json"
    index = decode(path.read_bytes(), CUBE_INDEX, path)
    of = index["header"]["labels"]["learner"]
    total = 0
    for described in index["variables"]:
        if "chunks" not in described:
            continue
        lengths = Table.of(described, index["header"]["bytes"]).lengths
        if "learner" in described["dims"]:
            assert described["dims"][0] == "learner"
            lengths = lengths.reshape(len(of), -1)[[of.index(name) for name in learners]]
        total += int(lengths.sum())
    return total


def check(copy, database, there, key=61):
    """Compare a copy with the database, all values bit for bit."""
    with lcdb.open(copy, check=True) as db, lcdb.open(database) as whole:
        part, full = db[key].load(), whole[key].load()
        assert set(part.variables) == set(full.variables)
        for name in full.coords:
            assert part[name].equals(full[name])
        others = [name for name in full["learner"].values if name not in there]
        for name, variable in full.data_vars.items():
            ours = part[name]
            assert ours.dims == variable.dims and ours.dtype == variable.dtype, name
            if "learner" not in ours.dims:
                np.testing.assert_array_equal(ours.values, variable.values, name)
                continue
            one, other = ours.sel(learner=list(there)), variable.sel(learner=list(there))
            assert one.values.tobytes() == other.values.tobytes() or ours.dtype == object
            np.testing.assert_array_equal(one.values, other.values, name)
            empty = ours.sel(learner=others).values
            if name == "status":
                assert (empty == 0).all()
            elif ours.dtype.kind == "f":
                assert np.isnan(empty).all()
            elif ours.dtype.kind in "iu" and name != "status":
                assert (empty == -1).all()
        assert db.curve(key, there[0], metric="auc").equals(
            whole.curve(key, there[0], metric="auc")
        )
        for name in others:
            told = f"not copied from the host; 'lcdb pull --learner {name}'"
            with pytest.raises(NotBuiltError, match=told):
                db.curve(key, name)


@pytest.mark.parametrize("learners", [("LDC",), ("NNC", "NMC")])
def test_curves_of_some_learners_are_a_database(host, database, tmp_path, capsys, learners):
    copy = tmp_path / "copy"
    assert pull(host, copy, *learners, datasets=()) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 2  # the experiment has no learners
    for line, key in zip(told, (11, 61), strict=True):
        expected = stored_bytes(database, key, learners)
        sent = sum(n for path, n in host.requests if path == f"/cubes/{key}.nc")
        assert sent == expected
        assert f"{expected:,} of them copied now; {len(learners)} of 4 learners" in line
        check(copy, database, learners, key)
    small = {path for path, _ in host.requests if not path.endswith(".nc")}
    assert small == {
        "/index.json", "/manifest/11.json", "/manifest/61.json",
        "/cubes/11.nc.index.json", "/cubes/61.nc.index.json",
    }  # fmt: skip
    assert not (copy / "pull").exists()
    assert main(["verify", str(copy)]) == 0
    assert main(["info", str(copy)]) == 0
    with serving(copy) as second, lcdb.open(second.url) as db, lcdb.open(database) as whole:
        ours, theirs = (each.curve("iris", learners[0]) for each in (db, whole))
        assert ours.equals(theirs)


def test_the_manifest_tells_of_the_curves_that_are_there(host, database, tmp_path):
    assert pull(host, tmp_path / "copy", "QDC", datasets=["iris"]) == 0
    ours, theirs = (Manifest.read(root, "61").current for root in (tmp_path / "copy", database))
    assert ours.contents == theirs.contents and ours.origin == theirs.origin
    for one, other in zip(ours.slices, theirs.slices, strict=True):
        if one.unit.is_draws or one.unit.learner == "QDC":
            assert one == other
        else:
            assert (one.status, one.coverage, one.digests) == ("not_built", (), {})


def test_all_learners_are_the_whole_cube(host, database, tmp_path, capsys):
    copy = tmp_path / "copy"
    assert pull(host, copy, "NMC", "LDC", "QDC", "NNC") == 0
    check(copy, database, ["NMC", "LDC", "QDC", "NNC"])
    assert main(["pull", host.url, str(tmp_path / "whole"), "--dataset", "61"]) == 0
    capsys.readouterr()
    host.forget()
    assert pull(host, tmp_path / "whole", "LDC") == 0
    assert ranges(host) == (0, 0)
    assert "0 of them copied now; 4 of 4 learners" in capsys.readouterr().out


def test_what_is_there_is_not_read_again_and_more_may_join(host, database, tmp_path, capsys):
    copy = tmp_path / "copy"
    assert pull(host, copy, "LDC") == 0
    before = files(copy)
    host.forget()
    assert pull(host, copy, "LDC") == 0
    assert ranges(host) == (0, 0) and files(copy) == before
    assert "0 of them copied now; 1 of 4 learners: LDC" in capsys.readouterr().out
    assert pull(host, copy, "NNC", "LDC") == 0
    both, of_none = (stored_bytes(database, 61, of) for of in (["NNC"], []))
    assert ranges(host)[0] == both - of_none
    check(copy, database, ["LDC", "NNC"])
    assert main(["verify", str(copy)]) == 0
    assert pull(host, tmp_path / "at once", "LDC", "NNC") == 0
    one, other = ((root / "cubes" / "61.nc").read_bytes() for root in (copy, tmp_path / "at once"))
    assert one == other


def test_the_others_join_when_all_is_asked_for(host, database, tmp_path, capsys):
    copy = tmp_path / "copy"
    assert pull(host, copy, "LDC") == 0
    host.forget()
    assert pull(host, copy) == 0
    everything, one = (
        stored_bytes(database, 61, of) for of in (["NMC", "LDC", "QDC", "NNC"], ["LDC"])
    )
    assert ranges(host)[0] == everything - one
    assert "4 of 4 learners" in capsys.readouterr().out
    check(copy, database, ["NMC", "LDC", "QDC", "NNC"])
    assert main(["verify", str(copy)]) == 0


def test_an_interrupted_copy_goes_on(host, database, tmp_path, capsys):
    copy, answered = tmp_path / "copy", []

    def fault(h, path, data, span):
        if not path.endswith(".nc"):
            return False
        answered.append(span)
        return len(answered) > 5 and answer(h, 503)

    host.fault = fault
    assert pull(host, copy, "LDC") == 1
    assert "503" in capsys.readouterr().err
    assert not (copy / "cubes").exists()
    with pytest.raises(NotFoundError):
        lcdb.open(copy)
    host.fault = None
    host.forget()
    assert pull(host, copy, "LDC") == 0
    expected, kept = stored_bytes(database, 61, ["LDC"]), sum(b - a + 1 for a, b in answered[:5])
    assert kept > 0 and ranges(host)[0] == expected - kept
    assert not (copy / "pull").exists()
    check(copy, database, ["LDC"])


def test_a_piece_that_was_damaged_is_read_again(host, database, tmp_path):
    copy = tmp_path / "copy"
    host.fault = lambda h, path, data, span: (
        path.endswith(".nc") and (span[0] > 600_000 and answer(h, 503))
    )
    assert pull(host, copy, "QDC") == 1
    pieces = [path for path in (copy / "pull").rglob("*") if re.fullmatch(r"\d+", path.name)]
    assert pieces
    for path in pieces:
        path.write_bytes(bytes(path.stat().st_size))
    host.fault = None
    assert pull(host, copy, "QDC") == 0
    check(copy, database, ["QDC"])


@pytest.mark.process
def test_a_killed_copy_leaves_nothing_that_is_read(host, database, tmp_path):
    """Before and after changes to the file system, those of publishing above all."""
    start = tmp_path / "start"
    assert pull(host, start, "NMC") == 0
    root = tmp_path / "copy"

    def begin():
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(start, root)

    begin()
    made = len(changes(lambda: pull(host, root, "LDC")))
    check(root, database, ["NMC", "LDC"])
    right = (root / "cubes" / "61.nc").read_bytes()
    rng = random.Random(3)
    late = rng.sample(range(made - 60, made), counts(3, 60))
    for step in [*rng.sample(range(made - 60), counts(2, 40)), *late]:
        begin()
        assert run_until(lambda: pull(host, root, "LDC"), step) == DIED
        whole = (root / "cubes" / "61.nc").read_bytes() == right
        check(root, database, ["NMC", "LDC"] if whole else ["NMC"])
        assert pull(host, root, "LDC") == 0
        assert (root / "cubes" / "61.nc").read_bytes() == right
        assert not (root / "pull").exists()


def test_what_is_not_as_it_was_written_is_not_kept(host, database, tmp_path, capsys):
    copy = tmp_path / "copy"

    def fault(h, path, data, span):
        if not path.endswith(".nc"):
            return False
        told = f"bytes {span[0]}-{span[1]}/{len(data)}"
        return answer(h, 206, bytes(span[1] - span[0] + 1), Content_Range=told)

    host.fault = fault
    assert pull(host, copy, "LDC") == 1
    assert "have another checksum" in capsys.readouterr().err
    assert not [name for name in files(copy) if name.endswith(".nc")]
    host.fault = None
    assert pull(host, copy, "LDC") == 0
    check(copy, database, ["LDC"])


def test_curves_are_compared_with_their_digests(host, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("lcdb_builders.storage.take.slice_digest", lambda *_: "0" * 64)
    assert pull(host, tmp_path / "copy", "LDC") == 1
    assert "has another digest than its manifest says" in capsys.readouterr().err
    assert not [name for name in files(tmp_path / "copy") if name.endswith(".nc")]


@pytest.mark.parametrize(
    ("code", "other", "told"),
    [
        (404, False, "ask for 'manifest/' to be uploaded"),
        (200, True, "the manifest of"),
        (200, False, "is damaged"),
    ],
)
def test_a_manifest_of_this_cube_is_needed(host, database, tmp_path, capsys, code, other, told):
    data = (database / "manifest" / "11.json").read_bytes() if other else b"{}"
    host.fault = lambda h, path, *_: path == "/manifest/61.json" and answer(h, code, data)
    assert pull(host, tmp_path / "copy", "LDC") == 1
    assert told in capsys.readouterr().err
    assert not (tmp_path / "copy" / "cubes").exists()
    host.fault = None
    assert pull(host, tmp_path / "copy", "LDC") == 0


def test_nothing_is_written_over(host, database, tmp_path, capsys):
    cube = tmp_path / "copy" / "cubes" / "61.nc"
    cube.parent.mkdir(parents=True)
    shutil.copyfile(database / "cubes" / "11.nc", cube)
    before = cube.read_bytes()
    assert pull(host, tmp_path / "copy", "LDC") == 1
    assert "is no part of the host's cube" in capsys.readouterr().err
    assert cube.read_bytes() == before


def test_wrong_use_is_told(host, tmp_path, capsys):
    copy = tmp_path / "copy"
    for learners, datasets, told in (
        (["LCD"], ["61"], "learner 'LCD' is in no cube of the datasets that were asked for. "
         "Did you mean 'LDC'?"),
        (["ldc"], [], "Did you mean 'LDC'?"),
        (["LDC"], ["61", "dse"], "dse has no curves of LDC"),
    ):  # fmt: skip
        assert pull(host, copy, *learners, datasets=datasets) == 1
        assert told in capsys.readouterr().err
    assert not copy.exists()


@pytest.mark.parametrize("learner", ["LDC", "DT"])
def test_tuned_curves_and_those_without_values_are_as_they_were(tmp_path, learner):
    """Of a cube of an older version: what was not built there is not built here."""
    database, copy = tmp_path / "db", tmp_path / "copy"
    shutil.copytree(Path(__file__).parents[1] / "databases" / "version-1", database)
    index_database(database)
    with serving(database) as host:
        assert pull(host, copy, learner) == 0
        assert ranges(host)[0] == stored_bytes(database, 61, [learner])
    assert main(["verify", str(copy)]) == 0
    with lcdb.open(copy, check=True) as db, lcdb.open(database) as whole:
        ours, theirs = (each[61].sel(learner=learner).load() for each in (db, whole))
        assert "tuned" in ours["tuning"] and bool((ours["status"] != 0).any()) == (learner == "LDC")
        for name, variable in theirs.variables.items():
            np.testing.assert_array_equal(ours[name].values, variable.values, name)
