"""Experiments' cubes: stored, grown, verified and repaired by what does so for curves."""

from __future__ import annotations

from dataclasses import replace

import netCDF4
import numpy as np
import pytest
import xarray as xr
from lcdb_builders.run.status import overview
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.journal import Journal
from lcdb_builders.storage.manifest import Manifest, manifest_path
from lcdb_builders.storage.pack import pack
from lcdb_builders.storage.parts import Target
from lcdb_builders.storage.repair import verify

import lcdb
from lcdb.errors import DeterminismError, LabelError, PlanError, SchemaError
from lcdb.schema import STATUSES
from tests.support.trials import EPISODES, build, compute, toy_parts, toy_trials

EXPERIMENTS = ["dse", "pendulum"]
WANTED = (11, 6, 9)


@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_plain_xarray_sees_every_trial(tmp_path, name, engine):
    parts = toy_parts(name, WANTED)
    packed, computed = build(tmp_path, parts)
    assert packed.complete and computed == sum(part.trials for part in parts)
    assert not list(tmp_path.rglob("*.block"))
    with xr.open_dataset(tmp_path / "cubes" / f"{name}.nc", engine=engine) as ds:
        assert ds.attrs["cube_kind"] == name and ds.sizes["trial"] == max(WANTED)
        for part in parts:
            where = dict(zip(part.experiment.dims, part.labels, strict=True))
            expected = toy_trials(part, range(part.trials))
            for variable in part.experiment.part_variables(part.labels):
                array = ds[variable.name]
                assert array.dims == variable.dims and array.dtype == variable.dtype
                found = array.sel({d: l for d, l in where.items() if d in array.dims}).values
                assert found[: part.trials].tobytes() == expected[variable.name].tobytes()
                rest = found[part.trials :]
                assert (np.isnan(rest) | (rest == variable.empty)).all()
            assert ds.status.sel(where) == STATUSES.index("complete")
            assert ds.trials.sel(where) == part.trials
            with netCDF4.Dataset(tmp_path / "cubes" / f"{name}.nc") as file:
                assert file.variables[variable.name].filters()["complevel"] == 4
    if name == "pendulum":
        assert ds.episode_return.dims == ("algorithm", "trial", "episode")
        assert list(ds.episode.values) == list(range(1, EPISODES + 1))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_database_gives_trials_and_tells_of_them(tmp_path, name, capsys):
    from lcdb.cli import main

    build(tmp_path, toy_parts(name, WANTED))
    with lcdb.open(tmp_path) as db:
        assert list(db) == [] and name in db and list(db.experiments) == [name]
        first = db[name]
        lcdb.schema.validate(first)
        assert db.experiments[name].trials == max(WANTED)
        assert db.status().empty and "reason" in db.status() and not db.to_datatree().children
        assert f"{name}: " in repr(db) and "are complete, the paper has" in db._repr_html_()
        with pytest.raises(LabelError, match=rf"has no learning curves: db\['{name}'\] has"):
            db.curve(name, "kNN")
    with lcdb.open(tmp_path / "cubes" / f"{name}.nc") as db:
        assert db[name].identical(first)
    assert main(["info", str(tmp_path)]) == 0 and name in capsys.readouterr().out
    assert main(["verify", str(tmp_path)]) == 0
    assert main(["status", str(tmp_path)]) == 0 and "11" in capsys.readouterr().out


def broken(name, tmp_path):
    build(tmp_path, toy_parts(name, WANTED))
    with xr.open_dataset(tmp_path / "cubes" / f"{name}.nc") as ds:
        return ds.load()


def test_deviations_from_the_contract_are_named(tmp_path):
    cube = broken("dse", tmp_path)
    cube["svm_kernel"][{"task": 0, "mode": 0, "trial": 2}] = 9
    cube["accuracy"][0, 1, 1, 4] = np.nan  # not built: fine
    cube = cube.rename(svm_C="svm_c").assign_attrs(master_seed=8)
    with pytest.raises(SchemaError) as error:
        lcdb.schema.validate(cube)
    told = "; ".join(error.value.problems)
    assert "'svm_c' is unknown. Did you mean 'svm_C'?" in told
    assert "plan has the experiment, seed" in told
    cube = broken("pendulum", tmp_path / "p")
    cube["mean_return"][1, 3] = np.nan
    with pytest.raises(SchemaError, match="part ppo missing: 1 trials are missing"):
        lcdb.schema.validate(cube)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_grown_cube_equals_one_built_at_once(tmp_path, name):
    small, large = toy_parts(name, (3, 6)), toy_parts(name, WANTED)
    first = build(tmp_path / "grown", small)[1]
    second = build(tmp_path / "grown", large, order=1)[1]
    assert first + second == sum(part.trials for part in large)  # only what is new was computed
    once = build(tmp_path / "once", large, length=3, order=2)[0]
    assert (tmp_path / "grown" / "cubes" / f"{name}.nc").read_bytes() == once.path.read_bytes()
    # Asking for fewer changes nothing.
    assert build(tmp_path / "grown", small)[0].sha256 == once.sha256


def test_parts_come_one_after_the_other(tmp_path):
    parts = toy_parts("dse", WANTED)
    for part in parts:
        packed, _ = build(tmp_path / "grown", [part])
    assert packed.sha256 == build(tmp_path / "once", parts)[0].sha256


def test_an_unfinished_part_says_how_many_trials_there_are(tmp_path):
    parts = toy_parts("dse", WANTED)
    compute(tmp_path, [replace(parts[0], trials=5)])
    packed = pack(tmp_path, Target("dse"), parts, 11)
    assert (
        packed.statuses[parts[0].label] == "partial"
        and packed.statuses[parts[1].label] == "not_built"
    )
    found = {part.part.labels: part for part in overview(tmp_path).parts}
    assert (found[parts[0].labels].status, found[parts[0].labels].trials) == ("partial", 5)
    with lcdb.open(tmp_path) as db:
        lcdb.schema.validate(db["dse"])
    journal = Journal(tmp_path)
    block = journal.missing(parts[0], 11)[0]
    journal.fail(block, "failed", "no luck", environment())
    assert "no luck (first at trials 5 to" in next(
        s.reason for s in pack(tmp_path, Target("dse"), parts, 11).slices if s.unit == parts[0]
    )
    journal.retry(parts[0])
    assert build(tmp_path, parts)[0].sha256 == build(tmp_path / "once", parts)[0].sha256


@pytest.mark.parametrize(
    ("change", "key"),
    [({"seed": 8}, "master_seed"), ({"depth": 3}, "params.depth")],
)
def test_what_is_built_cannot_be_changed(tmp_path, change, key):
    build(tmp_path, toy_parts("dse", WANTED))
    with pytest.raises(PlanError, match=key):
        Journal(tmp_path).prepare(toy_parts("dse", WANTED, **change))
    longer = [replace(part, length=7) for part in toy_parts("pendulum", WANTED)]
    build(tmp_path, toy_parts("pendulum", WANTED))
    with pytest.raises(PlanError, match="length is 7"):
        Journal(tmp_path).prepare(longer)


def test_other_numbers_for_the_same_trials_are_told(tmp_path):
    part, *_ = toy_parts("pendulum", WANTED)
    compute(tmp_path, [part])
    journal = Journal(tmp_path)
    block = journal.find(part)[0]
    values = toy_trials(part, block.repetitions)
    values["episode_return"] = values["episode_return"] + np.float32(1)
    with pytest.raises(DeterminismError, match="trials 0 to 3: episode_return"):
        journal.publish(block, values, environment())
    values["mean_return"][0, 1] = np.nan
    with pytest.raises(SchemaError, match="expected no gap"):
        journal.publish(block, values, environment())


@pytest.mark.process
@pytest.mark.parametrize(
    ("name", "loss"), [("dse", "cube"), ("dse", "manifest"), ("pendulum", "both")]
)
def test_damage_is_found_and_repaired(tmp_path, name, loss):
    parts = toy_parts(name, WANTED)
    packed, _ = build(tmp_path, parts)
    sound = packed.path.read_bytes()
    if loss != "manifest":
        middle = len(sound) // 2
        packed.path.write_bytes(sound[:middle] + bytes([sound[middle] ^ 1]) + sound[middle + 1 :])
    if loss != "cube":
        manifest_path(tmp_path, name).unlink()
    assert not verify(tmp_path).intact
    again, computed = build(tmp_path, parts)
    assert again.path.read_bytes() == sound
    assert computed < sum(part.trials for part in parts)  # at most one part is lost
    assert verify(tmp_path).intact
    assert Manifest.read(tmp_path, name).current.sha256 == again.sha256
