"""Cubes held against the contract: every deviation is named, and none is seen where none is."""

from __future__ import annotations

import json

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from lcdb import schema
from lcdb.errors import FormatVersionError, SchemaError
from lcdb.schema.describe import describe
from lcdb.schema.values import describe_values
from tests.support.plausible import set_status


@pytest.fixture(scope="module")
def path(database_folder):
    return database_folder / "cubes" / "61.nc"


@pytest.fixture(scope="module")
def cube(path):
    with xr.open_dataset(path) as opened:
        return opened.load()


def problems(dataset, **options):
    with pytest.raises(SchemaError) as caught:
        schema.validate(dataset, **options)
    assert "\n" not in str(caught.value)
    assert all(problem in str(caught.value) for problem in caught.value.problems)
    return caught.value.problems


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_a_cube_as_it_was_written_keeps_the_contract(path, engine):
    with xr.open_dataset(path, engine=engine) as opened:
        schema.validate(opened)


@pytest.mark.process
def test_a_cube_through_lcdb_or_in_memory_keeps_it_too(db, cube):
    for key in db:
        schema.validate(db[key])
    schema.validate(cube)
    schema.validate(cube.drop_encoding())


def test_a_description_is_json(cube):
    described = {**describe(cube), **describe_values(cube)}
    again = json.loads(json.dumps(described, allow_nan=False))
    assert again == described
    bad = cube.assign(accuracy=cube.accuracy + np.float32(np.inf)).assign_attrs(
        title=np.float32(np.nan)
    )
    json.dumps({**describe(bad), **describe_values(bad)}, allow_nan=False)


def without_attribute(name):
    def change(cube):
        changed = cube.copy()
        del changed.attrs[name]
        return changed

    return change


def with_attrs(name, **attrs):
    def change(cube):
        changed = cube.copy()
        changed[name].attrs.update(attrs)
        return changed

    return change


def with_encoding(name, **encoding):
    def change(cube):
        changed = cube.copy()
        changed[name].encoding.update(encoding)
        return changed

    return change


STRUCTURE = {
    "an attribute is missing": (without_attribute("plan_sha256"), "'plan_sha256' is missing"),
    "an attribute is unknown": (
        lambda c: c.assign_attrs(note="x"),
        "attributes: 'note' is unknown",
    ),
    "an attribute is misspelt": (
        lambda c: without_attribute("n_rows")(c).assign_attrs(n_row=60),
        "'n_row' is unknown. Did you mean 'n_rows'?",
    ),
    "an attribute is of another type": (
        lambda c: c.assign_attrs(n_classes="3"),
        'attributes.n_classes: is "3", expected integer',
    ),
    "a digest is none": (
        lambda c: c.assign_attrs(dataset_sha256="abc"),
        'attributes.dataset_sha256: is "abc", expected text like ^[0-9a-f]{64}$',
    ),
    "another kind of cube": (
        lambda c: c.assign_attrs(cube_kind="gas"),
        'attributes.cube_kind: is "gas", expected "curves"',
    ),
    "the plan was edited": (
        lambda c: c.assign_attrs(plan=c.plan.replace('"master_seed":7', '"master_seed":8')),
        "plan_sha256 is the SHA-256 of plan",
    ),
    "the plan is another cube's": (
        lambda c: c.assign_attrs(plan=c.plan.replace('"repetitions":5', '"repetitions":6')),
        "plan has the digest, seed, scaling, format version and repetitions of the cube",
    ),
    "the scaling is missing": (
        lambda c: c.drop_attrs(deep=False).assign_attrs(
            {name: value for name, value in c.attrs.items() if name != "scaling"}
        ),
        "'scaling' is missing",
    ),
    "the scaling is another than the plan's": (
        lambda c: c.assign_attrs(scaling="minmax"),
        "plan has the digest, seed, scaling, format version and repetitions of the cube",
    ),
    "the plan has an unknown key": (
        lambda c: c.assign_attrs(plan=c.plan.replace('"draws":', '"drawn":')),
        "plan.curves.0: 'draws' is missing",
    ),
    "the plan is no JSON": (lambda c: c.assign_attrs(plan="{x"), "plan is JSON with sorted keys"),
    "the plan is not sorted": (
        lambda c: c.assign_attrs(plan=c.plan.replace(":", ": ")),
        "plan is JSON with sorted keys",
    ),
    "a variable is missing": (lambda c: c.drop_vars("n_test"), "variables: 'n_test' is missing"),
    "a choice is missing": (lambda c: c.drop_vars("choice_auc"), "'choice_auc' is missing"),
    "a variable is unknown": (lambda c: c.assign(extra=1.0), "variables: 'extra' is unknown"),
    "a variable is misspelt": (lambda c: c.rename(brier="breir"), "Did you mean 'brier'?"),
    "dims in another order": (
        lambda c: c.assign(accuracy=c.accuracy.transpose("n", ...)),
        'variables.accuracy.dims: is ["n", "learner", ',
    ),
    "a metric in float64": (
        lambda c: c.assign(auc=c.auc.astype("f8")),
        'variables.auc.dtype: is "float64", expected "float32"',
    ),
    "a count in float32": (
        lambda c: c.assign(n_test=c.n_test.astype("f4")),
        'variables.n_test.dtype: is "float32", expected "int32"',
    ),
    "an integer with a fill value": (
        with_encoding("n_clipped", _FillValue=np.int32(-1)),
        "integers have no _FillValue",
    ),
    "a metric without NaN as fill value": (
        with_encoding("auc", _FillValue=np.float32(-1)),
        'variables.auc.fill_value: is -1.0, expected "NaN"',
    ),
    "a filter that needs a plugin": (
        with_encoding("auc", zlib=False, compression="blosc"),
        'variables.auc.filters: is ["shuffle", "blosc", "fletcher32"], expected',
    ),
    "a metric without units": (
        with_attrs("brier", units="percent"),
        'variables.brier.attributes.units: is "percent", expected "1"',
    ),
    "a metric the other way round": (
        with_attrs("brier", direction="maximize"),
        'direction: is "maximize", expected "minimize"',
    ),
    "flags in another order": (
        with_attrs("status", flag_meanings="complete not_built failed timed_out partial"),
        "variables.status.attributes.flag_meanings",
    ),
    "a label that does not exist": (
        lambda c: c.assign_coords(split=["fixed", "varing"]),
        'coordinates.split.labels.1: is "varing", expected one of',
    ),
    "a label twice": (
        lambda c: c.assign_coords(learner=["LDC", "LDC", "NNC"]),
        "expected no label twice",
    ),
    "labels in another order": (
        lambda c: c.isel(learner=[1, 0, 2]),
        "labels of sampling, split and tuning come in the order",
    ),
    "sizes are missing": (lambda c: c.isel(n=slice(5, None)), "n runs from 1 to m"),
    "repetitions are missing": (
        lambda c: c.isel(repetition=slice(1, None)),
        "repetition runs from 0",
    ),
    "parameters that are no JSON": (
        lambda c: c.assign(learner_params=c.learner_params.copy(data=np.full((3, 2), "{x", "O"))),
        "learner_params holds JSON objects",
    ),
}


@pytest.mark.parametrize("case", STRUCTURE)
def test_a_deviation_of_structure_is_named(cube, case):
    change, told = STRUCTURE[case]
    found = problems(change(cube), values=False)
    assert any(told in problem for problem in found), found


def changed(name, value, **where):
    def change(cube):
        copy = cube.copy(deep=True)
        copy[name].loc[where] = value
        return copy

    return change


UNIT = {"learner": "QDC", "sampling": "additive", "split": "fixed"}
PLAIN = {**UNIT, "tuning": "default"}
TUNED = {**UNIT, "tuning": "tuned"}
CELL = {"n": 20, "repetition": 3}
VALUES = {
    "too large": (
        changed("auc", 1.5, **PLAIN, **CELL),
        "curve QDC/additive/fixed/default metrics.auc.maximum: is 1.5, expected at most 1",
    ),
    "too small": (
        changed("brier", -0.25, **TUNED, **CELL),
        "curve QDC/additive/fixed/tuned metrics.brier.minimum: is -0.25, expected at least 0",
    ),
    "infinite": (changed("cross_entropy", np.inf, **PLAIN, **CELL), "metrics.cross_entropy.max"),
    "a value is missing": (
        changed("accuracy", np.nan, **PLAIN, **CELL),
        "metrics.accuracy.missing: 1 cells without a value in a complete curve",
    ),
    "a tuned curve begins too early": (
        changed("auc", 0.5, **TUNED, n=9, repetition=0),
        "metrics.auc.outside: 1 values at sizes that the curve does not have",
    ),
    "accuracy that is no count": (
        changed("accuracy", 0.123456, **PLAIN, **CELL),
        "accuracy_is_no_count: 1 cells in which accuracy times n_test",
    ),
    "clipped rows without a score": (
        changed("n_clipped", 0, **TUNED, n=[1, 2], repetition=0),
        "n_clipped_disagrees: 2 cells",
    ),
    "more clipped rows than rows": (
        changed("n_clipped", 61, **PLAIN, **CELL),
        "n_clipped_disagrees: 1 cells",
    ),
    "scores without a test set": (
        changed("n_test", -1, sampling="additive", split="fixed", n=[1, 2, 3]),
        "scored_without_draw: 15 cells",
    ),
    "a choice was not made": (
        changed("choice_brier", -1, **UNIT, **CELL),
        "choice_disagrees: 1 cells",
    ),
    "a curve that is there is said not to be": (
        changed("status", 0, **PLAIN),
        "metrics.accuracy.present: 210 values of a curve whose status is not_built",
    ),
    "an unknown status": (
        changed("status", 9, **{**PLAIN, "learner": "NNC"}),
        'status: is "code 9", expected one of',
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_deviation_of_values_is_named_with_its_curve(cube, case):
    change, told = VALUES[case]
    bad = change(cube)
    found = problems(bad)
    assert any(told in problem for problem in found), found
    schema.validate(bad, values=False)


def test_an_auc_may_be_undefined(cube):
    schema.validate(changed("auc", np.nan, **PLAIN, **CELL)(cube))


@pytest.mark.parametrize("status", ["failed", "timed_out", "partial"])
def test_what_did_not_end_may_lack_values(cube, status):
    some = {**PLAIN, "n": slice(1, 10)}
    bad = cube.copy(deep=True)
    for name in schema.METRICS:
        bad[name].loc[some] = np.nan
    bad["n_clipped"].loc[some] = -1
    assert len(problems(bad)) == 3
    bad["status"].loc[PLAIN] = schema.STATUSES.index(status)
    schema.validate(bad)


# Deviations that leave the places of others alone.
TOGETHER = (
    *("too large", "too small", "a value is missing", "a tuned curve begins too early"),
    *("clipped rows without a score", "scores without a test set", "a choice was not made"),
    *("an unknown status", "an attribute is missing", "an attribute is unknown"),
    *("an attribute is of another type", "a digest is none", "another kind of cube"),
    *("a variable is unknown", "an integer with a fill value", "a filter that needs a plugin"),
    *("a metric without units", "flags in another order", "parameters that are no JSON"),
)


def test_every_deviation_is_named_at_once(cube):
    assert not set(VALUES) & set(STRUCTURE)
    cases = VALUES | STRUCTURE
    bad = cube
    for case in TOGETHER:
        bad = cases[case][0](bad)
    found = problems(bad)
    unsaid = [case for case in TOGETHER if not any(cases[case][1] in told for told in found)]
    assert unsaid == []


@pytest.mark.slow
@given(drop=st.sets(st.sampled_from([*schema.VARIABLES, *schema.TABLES]), min_size=1))
@settings(max_examples=30, deadline=None)
def test_whatever_is_missing_is_named(database_folder, drop):
    with xr.open_dataset(database_folder / "cubes" / "61.nc") as cube:
        found = problems(cube.drop_vars(drop))
    missing = {p.split("'")[1] for p in found if p.startswith("variables: ")}
    assert missing == drop


def test_values_that_cannot_be_found_are_said_to_be_unchecked(cube):
    *_, last = problems(cube.drop_vars("status"))
    assert last.startswith("values could not be checked (KeyError")


def test_a_status_on_disk_that_disagrees_is_found(path, tmp_path):
    copy = tmp_path / "61.nc"
    copy.write_bytes(path.read_bytes())
    set_status(copy, "not_built", **PLAIN)
    with xr.open_dataset(copy) as opened:
        found = problems(opened)
        assert len(found) == 4
        assert all("status is not_built" in problem for problem in found)


def test_a_newer_version_is_refused_before_anything_else(path, tmp_path):
    copy = tmp_path / "61.nc"
    copy.write_bytes(path.read_bytes())
    with h5py.File(copy, "r+") as file:
        file.attrs["format_version"] = np.int64(schema.FORMAT_VERSION + 1)
        del file["accuracy"]
    with xr.open_dataset(copy) as opened, pytest.raises(FormatVersionError, match="version 3"):
        schema.validate(opened)


def test_a_foreign_dataset_is_told_all_that_it_lacks():
    found = problems(xr.Dataset({"a": ("x", [1.0])}))
    text = "; ".join(found)
    for name in [*schema.DIMS, *schema.TABLES, *schema.METRICS]:
        assert f"'{name}' is missing" in text
    assert "variables: 'a' is unknown" in text


def test_values_are_left_alone_when_asked(cube):
    """Names, dims and types are held against the contract all the same."""
    bad = cube.copy(deep=True)
    bad["brier"].values[0, 0, 0, 0, 3, 0] = 7.0
    assert problems(bad)
    assert schema.validate(bad, values=False) is None
    assert problems(bad.drop_vars("n_test"), values=False) == ("variables: 'n_test' is missing",)
