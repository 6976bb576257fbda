"""A described cube held against its JSON Schema, and every deviation said in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import xarray as xr
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from lcdb._version import __version__
from lcdb.errors import FormatVersionError, SchemaError, did_you_mean
from lcdb.schema.describe import describe, plain
from lcdb.schema.experiments import EXPERIMENTS
from lcdb.schema.tables import CUBE_KIND, FORMAT_VERSION, SUMMARY_KIND, UNIT_DIMS
from lcdb.schema.trials import describe_parts
from lcdb.schema.values import describe_values

__all__ = ["cube_schema", "deviations", "validate"]

# Where names of a cube stand: a name too many there may be one that is missing, misspelt.
_NAMED = {"attributes", "coordinates", "dimensions", "variables"}


# Cubes with a schema of their own.
_OTHER_KINDS = {*EXPERIMENTS, SUMMARY_KIND}


@cache
def cube_schema(kind: str = CUBE_KIND) -> dict[str, Any]:
    """Return the JSON Schema of a kind of cube: that of curve cubes for an unknown kind.

    Examples
    --------
    >>> cube_schema()["title"]
    'Curve cube, format version 2'
    """
    name = kind if kind in _OTHER_KINDS else "cube"
    return json.loads(files("lcdb.schemas").joinpath(f"{name}.schema.json").read_text("utf-8"))


def validate(dataset: xr.Dataset, *, values: bool = True) -> None:
    """Raise SchemaError with every deviation of a cube; see `lcdb.schema.validate`."""
    version = plain(dataset.attrs.get("format_version"))
    if isinstance(version, int) and version > FORMAT_VERSION:
        msg = (
            f"the cube has format version {version}; lcdb {__version__} knows those up "
            f"to {FORMAT_VERSION}: update lcdb-plusplus"
        )
        raise FormatVersionError(msg)
    described = describe(dataset)
    problems = deviations(described)
    if values and dataset.attrs.get("cube_kind") != SUMMARY_KIND:
        try:
            of_trials = dataset.attrs.get("cube_kind") in EXPERIMENTS
            counted = describe_parts(dataset) if of_trials else describe_values(dataset)
            problems = deviations({**described, **counted})
        except (KeyError, ValueError, TypeError, IndexError) as error:
            if not problems:
                raise
            # Values can be counted only where names and dims let them be found.
            problems += (f"values could not be checked ({type(error).__name__}: {error})",)
    if problems:
        name = dataset.encoding.get("source", "the dataset")
        count = f"{len(problems)} place{'' if len(problems) == 1 else 's'}"
        msg = f"{name} breaks the cube contract in {count}: {'; '.join(problems)}"
        broken = SchemaError(msg)
        broken.problems = problems
        raise broken


def deviations(described: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what is wrong with a description, one line each, in the order of the description.

    Examples
    --------
    >>> deviations({"attributes": {}, "dimensions": {}, "coordinates": {}, "variables": {}})[0]
    "'agreement' is missing"
    """
    kind = described["attributes"].get("cube_kind")
    validator = Draft202012Validator(cube_schema(kind if kind in _OTHER_KINDS else CUBE_KIND))
    found: dict[str, None] = {}
    for error in sorted(validator.iter_errors(described), key=_place):
        found.update(dict.fromkeys(_told(error, described)))
    return tuple(found)


def _place(error: ValidationError) -> list[str]:
    # Positions of curves are numbers: padded, they sort as numbers do.
    return [f"{part:06d}" if isinstance(part, int) else part for part in error.absolute_path]


def _told(error: ValidationError, described: Mapping[str, Any]) -> Iterator[str]:
    """Yield one line per deviation that a schema error stands for."""
    path = list(error.absolute_path)
    where = _where(path, described)
    start = f"{where}: " if where else ""
    if error.validator == "required":
        name = next(n for n in error.validator_value if f"{n!r} is a" in error.message)
        yield f"{start}{name!r} is missing"
    elif error.validator == "additionalProperties":
        known = error.schema["properties"]
        for name in sorted(set(error.instance) - set(known)):
            absent = [k for k in known if k not in error.instance]
            hint = _suggestion(name, absent) if path and path[-1] in _NAMED else ""
            yield f"{start}{name!r} is unknown.{hint}".rstrip(".")
    elif "description" in error.schema:
        text = error.schema["description"]
        counted = path[0] in ("curves", "parts") and error.validator_value == 0
        yield f"{start}{error.instance} {text}" if counted else f"{start}expected: {text}"
    else:
        yield f"{start}{_mismatch(error)}"


def _mismatch(error: ValidationError) -> str:
    got, rule, wanted = error.instance, error.validator, error.validator_value
    words = {
        "const": f"expected {_short(wanted)}",
        "enum": f"expected one of {_short(wanted)}",
        "minimum": f"expected at least {wanted}",
        "maximum": f"expected at most {wanted}",
        "type": f"expected {wanted}",
        "pattern": f"expected text like {wanted}",
        "minLength": "expected text",
        "minItems": "expected at least one",
        "uniqueItems": "expected no label twice",
    }
    if rule not in words:
        return error.message
    hint = _suggestion(got, wanted) if rule == "enum" else ""
    return f"is {_short(got)}, {words[str(rule)]}{hint}"


def _suggestion(name: object, known: Iterable[object]) -> str:
    """Return what was probably meant; the expected names have been told already."""
    hint = did_you_mean(name, known)
    return hint if hint.startswith(" Did") else ""


def _where(path: list[Any], described: Mapping[str, Any]) -> str:
    """Return a place in words: a curve by its labels, anything else by its keys."""
    if path and path[0] == "curves" and len(path) > 1:
        curve = described["curves"][path[1]]
        rest = ".".join(str(part) for part in path[2:])
        return f"curve {'/'.join(curve[dim] for dim in UNIT_DIMS)} {rest}"
    if path and path[0] == "parts" and len(path) > 1:
        rest = ".".join(str(part) for part in path[2:])
        return f"part {'/'.join(described['parts'][path[1]]['labels'])} {rest}"
    return ".".join(str(part) for part in path)


def _short(value: Any, limit: int = 120) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{text[:limit]}…"
