"""What imports cost, and which names are public: seen by importing."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module

import pytest

from tests.support.environments import ROOT
from tools.check_house import Sources

# -- what an import costs --------------------------------------------------------------------------

LOADED = "import sys, json; {}; print(json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
HEAVY = {"sklearn", "openml", "distributed", "dask", "matplotlib", "statsmodels", "lcdb_builders"}


def loaded(statement: str) -> set[str]:
    command = [sys.executable, "-W", "error", "-c", LOADED.format(statement)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return set(json.loads(run.stdout))


@pytest.mark.process
def test_importing_lcdb_loads_nothing_heavy():
    more = {"numpy", "xarray", "pandas", "numba", "scipy", "h5py", "h5netcdf", "jsonschema", "rich"}
    assert not loaded("import lcdb") & (HEAVY | more)


@pytest.mark.process
def test_opening_a_database_loads_neither_xarray_nor_pandas_before_it_is_asked_for_arrays():
    found = loaded("import lcdb; db = lcdb.reference(); list(db); db.headers[61].counts; repr(db)")
    assert "h5py" in found
    assert not found & (HEAVY | {"xarray", "pandas", "numba", "scipy", "jsonschema"})


@pytest.mark.process
def test_opening_a_database_loads_what_it_needs():
    found = loaded("import lcdb; db = lcdb.tutorial(); db.curve('iris', 'LDC').load(); db.close()")
    assert {"h5py", "xarray"} <= found
    # xarray itself looks for dask as soon as it reads, and imports it where it is installed.
    assert not found & (HEAVY - {"dask"} | {"numba", "jsonschema", "rich"})


@pytest.mark.process
def test_kernels_compute_without_what_references_need():
    """Workers start in a fraction of a second: scikit-learn alone takes one to import."""
    found = loaded(
        "from lcdb_builders.learners import registry; import lcdb_builders.run.tasks; "
        "[registry.get(name) for name in registry.LEARNERS]"
    )
    assert "lcdb_builders" in found and "numba" in found
    assert not found & {"sklearn", "pandas", "xarray", "distributed", "openml"}


@pytest.mark.slow
def test_every_public_name_is_there():
    for module in Sources(ROOT).modules.values():
        if module.is_public and len(module.tree.body) > 1:
            names = import_module(module.name).__all__
            assert list(names) == list(dict.fromkeys(names)), module.name
            missing = [name for name in names if not hasattr(import_module(module.name), name)]
            assert not missing, module.name


def test_names_of_lcdb_are_lazy():
    import lcdb

    functions = {name for name, module in lcdb._LAZY.items() if module}
    # Importing a submodule would put it in the place of a function of the same name.
    assert not {f"lcdb.{name}" for name in functions} & set(Sources(ROOT).modules)
    assert set(lcdb.__all__) <= set(dir(lcdb))
    for name in lcdb.__all__:
        assert getattr(lcdb, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'opn'"):
        lcdb.opn  # noqa: B018
