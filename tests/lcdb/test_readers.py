"""Cubes in the hands of those who have never heard of lcdb: no import of it, no plugin."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest

from lcdb.schema import ATTRIBUTES, METRICS, UNIT_DIMS
from tests.support.counts import first

START = """
import hashlib, json, sys
import numpy as np
path, where = sys.argv[1], json.loads(sys.argv[2])
def digest(values):
    return hashlib.sha256(np.ascontiguousarray(values, "<f4").tobytes()).hexdigest()
def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)
def plain(value):
    item = np.asarray(value).reshape(-1)[0]
    return text(item) if isinstance(item, (str, bytes)) else int(item)
"""
END = """
assert not any(name.startswith("lcdb") for name in sys.modules)
print(json.dumps({"labels": labels, "attrs": attrs, "metrics": metrics}))
"""
XARRAY = """
dims = ("learner", "sampling", "split", "tuning")
labels = {d: [str(v) for v in ds[d].values] for d in dims}
attrs = {k: plain(v) for k, v in ds.attrs.items()}
names = [n for n in ds.data_vars if "direction" in ds[n].attrs]
metrics = {n: [digest(ds[n].sel(where).values), ds[n].attrs["long_name"]] for n in names}
"""
READERS = {
    "xarray_h5netcdf": START
    + 'import xarray as xr\nds = xr.open_dataset(path, engine="h5netcdf")'
    + XARRAY
    + END,
    "xarray_netcdf4": START
    + 'import xarray as xr\nds = xr.open_dataset(path, engine="netcdf4")'
    + XARRAY
    + END,
    "datatree": START
    + "import xarray as xr\nds = xr.open_datatree(path).to_dataset()"
    + XARRAY
    + END,
    "h5py": START
    + """
import h5py
file = h5py.File(path)
dims = ("learner", "sampling", "split", "tuning")
labels = {d: [text(v) for v in file[d][...]] for d in dims}
attrs = {k: plain(v) for k, v in file.attrs.items() if not k.startswith("_")}
index = tuple(labels[d].index(where[d]) for d in dims)
names = [n for n in file if "direction" in file[n].attrs]
whole = ["/" + d for d in (*dims, "n", "repetition")]
assert all([d[0].name for d in file[n].dims] == whole for n in names)
metrics = {n: [digest(file[n][index]), text(file[n].attrs["long_name"])] for n in names}
"""
    + END,
    "netCDF4": START
    + """
import netCDF4
file = netCDF4.Dataset(path)
file.set_auto_mask(False)
dims = ("learner", "sampling", "split", "tuning")
labels = {d: list(file[d][...]) for d in dims}
attrs = {k: plain(file.getncattr(k)) for k in file.ncattrs()}
index = tuple(labels[d].index(where[d]) for d in dims)
names = [n for n in file.variables if "direction" in file[n].ncattrs()]
assert all(file[n].dimensions == (*dims, "n", "repetition") for n in names)
metrics = {n: [digest(file[n][index]), file[n].long_name] for n in names}
"""
    + END,
}


@pytest.mark.process
@pytest.mark.parametrize("reader", first(READERS, 3))
def test_other_programs_read_labels_attributes_and_values(reader, database_folder, db):
    path = database_folder / "cubes" / "1063.nc"
    where = {"learner": "MLP", "sampling": "random", "split": "varying", "tuning": "tuned"}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", READERS[reader], str(path), json.dumps(where)],
        capture_output=True,
        text=True,
        check=False,
        cwd=path.parent,
        env={**os.environ, "HDF5_PLUGIN_PATH": "/nonexistent", "PYTHONPATH": ""},
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["labels"] == {dim: list(db.headers[1063].labels[dim]) for dim in UNIT_DIMS}
    required = {name for name, attribute in ATTRIBUTES.items() if attribute.required}
    assert required <= set(found["attrs"]) <= set(ATTRIBUTES)
    assert found["attrs"]["dataset_name"] == "kc2"
    assert found["attrs"]["n_rows"] == 40
    assert (
        hashlib.sha256(found["attrs"]["plan"].encode()).hexdigest()
        == (found["attrs"]["plan_sha256"])
    )
    assert set(found["metrics"]) == set(METRICS)
    for name, (digest, long_name) in found["metrics"].items():
        curve = db.curve(1063, metric=name, **where).reindex(n=np.arange(1, 29))
        ours = np.ascontiguousarray(curve.values, "<f4")
        assert digest == hashlib.sha256(ours.tobytes()).hexdigest()
        assert long_name == METRICS[name].long_name
