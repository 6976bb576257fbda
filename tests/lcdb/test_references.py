"""References to a cube, as xarray's own engine for them reads them."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from lcdb_builders.storage.indexes import read_index

import lcdb
from lcdb import errors
from lcdb.cli import main
from lcdb.remote.references import references
from tests.support.hosts import serving
from tests.support.remote_database import make_database

# Of zarr, fsspec and their loop; nothing of ours.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.server
def test_every_variable_is_that_of_the_cube(tmp_path, capsys):
    pytest.importorskip("kerchunk", reason="in the extra dev")
    root = make_database(tmp_path / "db")
    with serving(root) as served:
        assert main(["index", str(root), "--kerchunk", served.url]) == 0
        told = capsys.readouterr().out
        with lcdb.open(root) as db:
            for key, name in ((61, "61"), (11, "11"), ("dse", "dse")):
                file = root / "cubes" / f"{name}.nc.kerchunk.json"
                assert str(file) in told
                with xr.open_dataset(str(file), engine="kerchunk") as dataset:
                    # `draws` says which rows: the database adds it.
                    assert set(dataset.variables) == set(db[key].variables) - {"draws"}
                    for variable in dataset.variables:
                        expected, got = db[key][variable], dataset[variable]
                        if "n" in got.dims:  # files have every size
                            got = got.sel(n=db[key]["n"].values)
                        if expected.dtype.kind in "UO":
                            assert got.values.tolist() == expected.values.tolist()
                            continue
                        if "_FillValue" not in got.encoding:
                            assert got.dtype == expected.dtype
                        assert got.dims == expected.dims
                        same = got.values
                        if expected.dtype.kind == "i" and same.dtype.kind == "f":
                            same = np.where(np.isnan(same), -1, same)
                        same = same.astype(expected.dtype)
                        assert same.tobytes() == expected.values.tobytes(), variable
                    assert dataset.attrs["plan"] == db[key].attrs["plan"]
        asked = [path for path, _ in served.requests]
        assert asked and all(path.endswith(".nc") for path in asked)


def test_what_references_cannot_tell_is_refused(tmp_path):
    root = make_database(tmp_path / "db")
    index = read_index(root / "cubes" / "61.nc.index.json")
    changed = json.loads(json.dumps(index))
    for variable in changed["variables"]:
        if "chunks" in variable:
            del variable["chunks"]["filters"][0]
    with pytest.raises(errors.SchemaError, match="references cannot tell"):
        references(changed, "https://host/61.nc")
