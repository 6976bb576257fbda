"""The store gives what xarray's own gives, only sooner."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from lcdb.backend import HDF5Store
from lcdb.schema import DIMS
from tests.support.counts import counts


@pytest.fixture(scope="module")
def path(database_folder):
    return database_folder / "cubes" / "61.nc"


@pytest.fixture(scope="module")
def plain(path):
    with xr.open_dataset(path, engine="h5netcdf") as opened:
        yield opened.load()


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_a_cube_is_what_xarray_reads(path, engine):
    with xr.open_dataset(HDF5Store(path)) as ours, xr.open_dataset(path, engine=engine) as theirs:
        assert list(ours.variables) == list(theirs.variables)
        for name, variable in theirs.variables.items():
            mine = ours[name].variable
            assert mine.dims == variable.dims
            assert mine.dtype == variable.dtype, name
            kept = ("chunksizes", "zlib", "shuffle", "fletcher32", "original_shape", "_FillValue")
            for key in (key for key in kept if variable.encoding.get(key)):
                # Scalars are compared as arrays of one: NaN is equal to NaN.
                np.testing.assert_array_equal(mine.encoding[key], variable.encoding[key])
        xr.testing.assert_identical(ours.load(), theirs.load())


@st.composite
def indexers(draw):
    """Any way to index a dim: a number, a slice of any step, numbers in any order and number."""
    sizes = dict(zip(DIMS, (3, 2, 2, 2, 42, 5), strict=True))
    found = {}
    for dim in draw(st.sets(st.sampled_from(DIMS))):
        size = sizes[dim]
        number = st.integers(-size, size - 1)
        # xarray itself fails on an empty slice that runs backwards from a file.
        cut = st.slices(size).filter(
            lambda cut, size=size: (cut.step or 1) > 0 or len(range(*cut.indices(size)))
        )
        found[dim] = draw(st.one_of(number, cut, st.lists(number), st.lists(number, min_size=9)))
    return found


@pytest.mark.slow
@given(index=indexers(), name=st.sampled_from(["accuracy", "n_test", "choice_auc", "digest"]))
@settings(max_examples=counts(60, 1000), deadline=None)
def test_any_index_gives_what_it_gives_in_memory(path, plain, index, name):
    with xr.open_dataset(HDF5Store(path)) as lazy:
        mine = {dim: key for dim, key in index.items() if dim in lazy[name].dims}
        xr.testing.assert_identical(lazy[name].isel(mine).load(), plain[name].isel(mine))


def test_a_part_can_be_written_and_read_again(path, plain, tmp_path):
    with xr.open_dataset(HDF5Store(path)) as lazy:
        part = lazy.sel(learner=["QDC"], n=slice(10, 20))
        part.to_netcdf(tmp_path / "part.nc")
    with xr.open_dataset(tmp_path / "part.nc") as again:
        xr.testing.assert_identical(again.load(), plain.sel(learner=["QDC"], n=slice(10, 20)))


def test_pointwise_indexing_and_masks(path, plain):
    points = {
        "n": xr.DataArray([3, 3, 40], dims="k"),
        "repetition": xr.DataArray([0, 4, 2], dims="k"),
    }
    with xr.open_dataset(HDF5Store(path)) as lazy:
        xr.testing.assert_identical(lazy.accuracy.isel(points).load(), plain.accuracy.isel(points))
        mask = plain.n.values % 7 == 0
        xr.testing.assert_identical(lazy.auc[..., mask, :].load(), plain.auc[..., mask, :])


def test_attributes_of_older_writers_are_text_too(tmp_path):
    path = tmp_path / "fixed.nc"
    with h5py.File(path, "w") as file:
        file.attrs["fixed"] = np.bytes_("short")
        file.attrs["array"] = np.array([1, 2], "i4")
        file.attrs["one"] = np.array([3], "i8")
    with xr.open_dataset(HDF5Store(path)) as opened:
        assert opened.attrs["fixed"] == "short"
        assert list(opened.attrs["array"]) == [1, 2]
        assert opened.attrs["one"] == 3 and np.ndim(opened.attrs["one"]) == 0


def test_a_file_that_was_closed_is_opened_again(path, plain):
    store = HDF5Store(path)
    lazy = xr.open_dataset(store)
    curve = lazy.accuracy.isel(learner=0)
    lazy.close()
    xr.testing.assert_identical(curve.load(), plain.accuracy.isel(learner=0))
    store.close()
