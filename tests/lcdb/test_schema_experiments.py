"""The JSON Schemas of experiments say what the package's tables say."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from lcdb.schema import EXPERIMENTS, FORMAT_VERSION, STATUSES
from lcdb.schema.experiments import PART_TABLES, TRIAL


def read(name):
    return json.loads((files("lcdb.schemas") / f"{name}.schema.json").read_text())["properties"]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_schema_says_what_the_tables_say(name):
    experiment, schema = EXPERIMENTS[name], read(name)
    variables = schema["variables"]["properties"]
    assert list(variables) == [*experiment.variables, *PART_TABLES]
    for variable in experiment.variables.values():
        told = variables[variable.name]["properties"]
        assert told["dims"]["const"] == list(variable.dims)
        assert told["dtype"]["const"] == variable.dtype
        assert (told["fill_value"]["const"] == "NaN") == variable.dtype.startswith("float")
        told = told["attributes"]["properties"]
        assert told.get("flag_meanings", {}).get("const", "").split() == list(variable.flags)
        assert told.get("direction", {}).get("const", "") == variable.direction
    needed = [v.name for v in experiment.variables.values() if not v.only]
    assert schema["variables"]["required"] == [*needed, *PART_TABLES]
    for table, (dtype, _) in PART_TABLES.items():
        assert variables[table]["properties"]["dtype"]["const"] == dtype
    meanings = variables["status"]["properties"]["attributes"]["properties"]["flag_meanings"]
    assert meanings["const"].split() == list(STATUSES)
    dims = [*experiment.dims, TRIAL, *([experiment.inner] if experiment.inner else [])]
    assert list(schema["dimensions"]["properties"]) == dims
    attributes = schema["attributes"]["properties"]
    assert attributes["cube_kind"]["const"] == name
    assert attributes["format_version"]["maximum"] == FORMAT_VERSION


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_first_variable_tells_which_trials_there_are(name):
    first = next(iter(EXPERIMENTS[name].variables.values()))
    assert not first.only and first.dims[-1] == TRIAL and not first.flags


def test_labels_have_their_place_and_unknown_ones_follow_by_name():
    dse = EXPERIMENTS["dse"]
    names = ["SVM", "XGB", "kNN", "ADA", "RF"]
    ranked = sorted(names, key=lambda name: dse.rank("learner", name))
    assert ranked == ["kNN", "RF", "SVM", "ADA", "XGB"]
    assert dse.rank("mode", "tuned") == (1, "tuned")
    assert dse.rank("task", "Moons") == (5, "Moons")
