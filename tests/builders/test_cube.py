"""The cube as other programs see it, and as a pure function of its contents."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
from lcdb_builders.domain.unit import DRAWS
from lcdb_builders.storage.contents import Contents
from lcdb_builders.storage.cube import (
    read_contents,
    read_digests,
    read_values,
    slice_digest,
    unit_digest,
)

from lcdb.errors import PlanError
from lcdb.schema import (
    ATTRIBUTES,
    CHOICE_FLAGS,
    CREDITS,
    DIMS,
    METRICS,
    STATUSES,
    VARIABLES,
)
from tests.support.cubes import toy_scores, toy_snapshot, toy_units, write_cube

SNAPSHOT = toy_snapshot(rows=100)  # m = 70: two chunks along n, the second one partly filled
R = 6


def grid(**changes):
    options = {
        "learners": ("QDC", "LDC", "MLP"),
        "samplings": ("random", "additive"),
        "splits": ("fixed", "pool"),
        "tunings": ("default", "tuned"),
    }
    return toy_units(SNAPSHOT, **{**options, **changes})


@pytest.fixture(scope="module")
def cube(tmp_path_factory) -> Path:
    """A cube in which MLP was not built."""
    path = tmp_path_factory.mktemp("cubes") / "toy.nc"
    units = grid()
    built = {u: toy_scores(u, u.sizes, range(R)) for u in units if u.learner != "MLP"}
    write_cube(path, SNAPSHOT, units, R, built)
    return path


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_xarray_sees_every_label_value_and_attribute(cube, engine):
    with xr.open_dataset(cube, engine=engine) as ds:
        assert set(ds.dims) == set(DIMS)
        assert list(ds.learner.values) == ["LDC", "QDC", "MLP"]
        assert list(ds.sampling.values) == ["additive", "random"]
        assert list(ds.split.values) == ["fixed", "pool"]
        assert list(ds.tuning.values) == ["default", "tuned"]
        assert ds.n.dtype == np.int32 and list(ds.n.values) == list(range(1, 71))
        assert ds.repetition.dtype == np.int32 and list(ds.repetition.values) == list(range(R))
        for name, variable in VARIABLES.items():
            assert ds[name].dims == variable.dims, name
            assert ds[name].dtype == variable.dtype, name
        for name, metric in METRICS.items():
            attrs = ds[name].attrs
            assert attrs["direction"] == metric.direction
            assert attrs["long_name"] == metric.long_name and attrs["units"] == "1"
            assert attrs["valid_range"].dtype == np.float32
        for name, meanings in (("status", STATUSES), ("choice_flag_auc", CHOICE_FLAGS)):
            assert ds[name].dtype == np.int8
            assert list(ds[name].attrs["flag_values"]) == list(range(len(meanings)))
            assert ds[name].attrs["flag_meanings"].split() == list(meanings)
        for name, declared in ATTRIBUTES.items():
            if declared.required:
                kind = str if declared.kind == "text" else (int, np.integer)
                assert isinstance(ds.attrs[name], kind), name


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_values_are_where_the_labels_say(cube, engine):
    with xr.open_dataset(cube, engine=engine) as ds:
        for unit in grid():
            expected = toy_scores(unit, unit.sizes, range(R))
            for variable in unit.variables:
                labels = {d: getattr(unit, d) for d in variable.dims[:-2]}
                found = ds[variable.name].sel(labels).sel(n=list(unit.sizes)).values
                if unit.learner == "MLP":
                    assert np.array_equal(found, np.full_like(found, variable.empty), True)
                else:
                    np.testing.assert_array_equal(found, expected[variable.name])
                rest = np.setdiff1d(ds.n.values, unit.sizes)
                empty = ds[variable.name].sel(labels).sel(n=rest).values
                if unit.tuning == "tuned" or "learner" not in variable.dims:
                    assert np.array_equal(empty, np.full_like(empty, variable.empty), True)
        status = ds.status.sel(split="fixed", tuning="default")
        assert (status.sel(learner="LDC") == STATUSES.index("complete")).all()
        assert (status.sel(learner="MLP") == STATUSES.index("not_built")).all()


def test_datatree_h5py_and_netcdf4_read_the_same(cube):
    with xr.open_datatree(cube) as tree, xr.open_dataset(cube) as ds:
        assert tree.to_dataset().identical(ds)
        with h5py.File(cube) as raw, netCDF4.Dataset(cube) as other:
            other.set_auto_mask(False)
            for name, variable in VARIABLES.items():
                assert tuple(d[0].name.strip("/") for d in raw[name].dims) == variable.dims
                np.testing.assert_array_equal(raw[name][...], ds[name].values)
                np.testing.assert_array_equal(other[name][...], ds[name].values)
                assert other[name].dimensions == variable.dims
                assert "_FillValue" not in other[name].ncattrs() or variable.dtype == "float32"
            # A reader that masks what is missing masks what was not built, and nothing else.
            other.set_auto_mask(True)
            for name in ("n_clipped", "n_test"):
                masked = np.ma.getmaskarray(other[name][...])
                np.testing.assert_array_equal(masked, ds[name].values < 0)
            assert list(raw["learner"].asstr()[...]) == list(other["learner"][...])
            assert other.plan == ds.plan and len(other.plan) > 100


def test_chunks_and_filters_need_no_plugin(cube):
    with h5py.File(cube) as raw:
        for name, variable in VARIABLES.items():
            stored = raw[name]
            assert stored.chunks == (*(1,) * (len(variable.dims) - 2), 64, R)
            assert (stored.compression, stored.compression_opts) == ("gzip", 4)
            assert stored.shuffle and stored.fletcher32
        # What was not built takes no space.
        learners = list(raw["learner"].asstr()[...])
        first = {raw["auc"].id.get_chunk_info(i).chunk_offset[0] for i in range(32)}
        assert learners.index("MLP") not in first


def test_same_content_gives_the_same_bytes_at_another_time(tmp_path, cube):
    units = grid()
    built = {u: toy_scores(u, u.sizes, range(R)) for u in units if u.learner != "MLP"}
    time.sleep(1.1)  # HDF5's own time stamps have a resolution of a second
    write_cube(tmp_path / "again.nc", SNAPSHOT, units[::-1], R, dict(reversed(built.items())))
    assert (tmp_path / "again.nc").read_bytes() == cube.read_bytes()


def test_contents_come_back_from_the_cube_alone(cube):
    with h5py.File(cube) as raw:
        contents = read_contents(raw)
        assert contents == Contents.of(SNAPSHOT, grid(), R)
        assert {u.key for u in contents.units} == {u.key for u in grid()}
        built = [u for u in contents.units if u.learner != "MLP"]
        digests = read_digests(raw, contents, contents.units)
        for unit in built:
            values = {v: read_values(raw, contents, unit, v) for v in unit.variables}
            expected = toy_scores(unit, unit.sizes, range(R))
            found = {v.name: slice_digest(unit, v, values[v]) for v in values}
            assert digests[unit] == unit_digest(found)
            for v in values:
                np.testing.assert_array_equal(values[v], expected[v.name])
        assert {digests[u] for u in contents.units if u not in built} == {""}


def test_choices_exist_only_where_something_is_tuned(tmp_path):
    path = tmp_path / "plain.nc"
    write_cube(path, SNAPSHOT, grid(tunings=("default",)), R)
    with xr.open_dataset(path) as ds:
        assert list(ds.tuning.values) == ["default"]
        assert not [name for name in ds if name.startswith("choice")]


def test_learner_params_are_readable(cube):
    with xr.open_dataset(cube) as ds:
        text = str(ds.learner_params.sel(learner="LDC", tuning="tuned").values)
        assert json.loads(text)["tuning_rule"]["grid"] == [0.1, 1.0]
        assert "tuning_rule" not in json.loads(
            str(ds.learner_params.sel(learner="LDC", tuning="default").values)
        )


def test_a_digest_belongs_to_its_unit_and_variable():
    a, b = [u for u in grid() if u.learner == "LDC" and u.tuning == "default"][:2]
    values = np.zeros((len(a.sizes), R), np.float32)
    metric, other = VARIABLES["auc"], VARIABLES["brier"]
    found = {slice_digest(u, v, values) for u in (a, b) for v in (metric, other)}
    assert len(found) == 4


def test_units_that_cannot_share_a_cube_are_refused_by_key():
    units = grid()
    with pytest.raises(PlanError, match="twice"):
        Contents.of(SNAPSHOT, [*units, units[0]], R)
    other = toy_units(SNAPSHOT, learners=("NNC",), samplings=("bootstrap",), seed=8)
    with pytest.raises(PlanError, match="seed"):
        Contents.of(SNAPSHOT, [*units, *other], R)
    changed = toy_units(
        SNAPSHOT, learners=("LDC",), samplings=("bootstrap",), params='{"ridge":1.0}'
    )
    with pytest.raises(PlanError, match="params"):
        Contents.of(SNAPSHOT, [*units, *[u for u in changed if u.learner != DRAWS]], R)


def test_a_licence_is_given_for_public_rows_alone(tmp_path):
    """Whose rows they are decides what others may do with what comes of them."""
    own = toy_snapshot()
    public = replace(own, origin={**own.origin, "openml_id": 61})
    for snapshot, names in ((own, {"references"}), (public, set(CREDITS))):
        write_cube(tmp_path / "cube.nc", snapshot, toy_units(snapshot), 2)
        with h5py.File(tmp_path / "cube.nc") as file:
            assert set(CREDITS) & set(file.attrs) == names
