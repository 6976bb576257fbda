"""The cube contract as JSON Schema says what the tables of `lcdb.schema` say."""

from __future__ import annotations

import math

import pytest
from jsonschema import Draft202012Validator

from lcdb import schema
from lcdb.schema.validation import cube_schema


def parts(node, *path):
    """Yield every subschema that applies at a path of property names, through references."""
    if isinstance(node, bool):
        return
    if "$ref" in node:
        yield from parts(cube_schema()["$defs"][node["$ref"].rsplit("/", 1)[1]], *path)
    if not path:
        yield node
    elif path[0] in node.get("properties", {}):
        yield from parts(node["properties"][path[0]], *path[1:])


def const(node, *path):
    """Return the one constant that a value must equal."""
    (found,) = [part["const"] for part in parts(node, *path) if "const" in part]
    return found


def required(node, *path):
    return {name for part in parts(node, *path) for name in part.get("required", ())}


def variable(name):
    return cube_schema()["properties"]["variables"]["properties"][name]


def test_the_schema_is_one():
    Draft202012Validator.check_schema(cube_schema())


def test_names_of_variables_agree():
    choices = {name for name in schema.VARIABLES if name.startswith("choice_")}
    everything = set(schema.VARIABLES) | set(schema.TABLES)
    assert set(cube_schema()["properties"]["variables"]["properties"]) == everything
    assert required(cube_schema(), "variables") == everything - choices
    then = cube_schema()["then"]["properties"]["variables"]
    assert set(then["required"]) == choices


@pytest.mark.parametrize("name", [*schema.VARIABLES, *schema.TABLES])
def test_dims_types_and_fill_values_agree(name):
    declared = schema.VARIABLES.get(name) or schema.TABLES[name]
    assert const(variable(name), "dims") == list(declared.dims)
    assert const(variable(name), "dtype") == declared.dtype
    empty = getattr(declared, "empty", 0)
    assert const(variable(name), "fill_value") == ("NaN" if math.isnan(empty) else None)


@pytest.mark.parametrize("name", schema.METRICS)
def test_metrics_agree(name):
    metric = schema.METRICS[name]
    assert const(variable(name), "attributes", "direction") == metric.direction
    assert const(variable(name), "attributes", "valid_range") == [metric.low, metric.high]
    assert {"long_name", "units", "direction", "valid_range"} <= required(
        variable(name), "attributes"
    )
    values = cube_schema()["$defs"]["curve"]["properties"]["metrics"]["properties"][name]
    assert [p["minimum"] for p in parts(values, "minimum")] == [metric.low]
    assert [p["maximum"] for p in parts(values, "maximum")] == [metric.high]


def test_flags_agree():
    for name in ("status", *(f"choice_flag_{metric}" for metric in schema.METRICS)):
        meanings = schema.STATUSES if name == "status" else schema.CHOICE_FLAGS
        assert const(variable(name), "attributes", "flag_values") == list(range(len(meanings)))
        assert const(variable(name), "attributes", "flag_meanings") == " ".join(meanings)
    statuses = cube_schema()["$defs"]["curve"]["properties"]["status"]["enum"]
    assert tuple(statuses) == schema.STATUSES


def test_dims_and_labels_agree():
    properties = cube_schema()["properties"]
    assert properties["dimensions"]["required"] == list(schema.DIMS)
    assert list(properties["dimensions"]["properties"]) == list(schema.DIMS)
    assert properties["coordinates"]["required"] == list(schema.DIMS)
    enums = {"sampling": schema.SAMPLINGS, "split": schema.SPLITS, "tuning": schema.TUNINGS}
    for dim in schema.DIMS:
        coordinate = properties["coordinates"]["properties"][dim]
        assert const(coordinate, "dims") == [dim]
        found = [p["items"]["enum"] for p in parts(coordinate, "labels") if "enum" in p["items"]]
        assert found == ([list(enums[dim])] if dim in enums else [])
    ordered = properties["agreement"]["properties"]["labels_in_canonical_order"]["description"]
    assert ", ".join(schema.LEARNERS) in ordered


def test_attributes_agree():
    attributes = cube_schema()["properties"]["attributes"]
    assert set(attributes["properties"]) == set(schema.ATTRIBUTES)
    wanted = [name for name, attribute in schema.ATTRIBUTES.items() if attribute.required]
    assert set(attributes["required"]) == set(wanted)
    for name, attribute in schema.ATTRIBUTES.items():
        (kind,) = {
            "string" if "const" in part else part["type"]
            for part in parts(attributes["properties"][name])
            if "const" in part or "type" in part
        }
        assert kind == {"text": "string", "integer": "integer"}[attribute.kind]
    assert const(attributes, "cube_kind") == schema.CUBE_KIND
    assert attributes["properties"]["format_version"]["maximum"] == schema.FORMAT_VERSION


def test_every_learner_has_a_long_name_of_its_own():
    names = [row.long_name for row in schema.LEARNER_ROWS.values()]
    assert all(names) and len(set(names)) == len(names)
    assert not set(names) & set(schema.LEARNERS)
