"""TOML files that users write: read, checked against a JSON Schema, faults told in one line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from lcdb.errors import NotFoundError, PlanError, did_you_mean

__all__ = ["check", "check_extent", "key_path", "read_toml"]

KINDS = {
    "string": "text",
    "integer": "an integer",
    "number": "a number",
    "array": "a list",
    "object": "a table",
    "boolean": "true or false",
}

# JSON has one kind of number, so JSON Schema takes 61.0 for an integer; TOML and range() do not.
_Validator = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    ),
)


@cache
def _schema(name: str) -> dict[str, Any]:
    return json.loads((files("lcdb.schemas") / f"{name}.schema.json").read_text("utf-8"))


# The most that a plan may be: bytes of its file, lists inside lists, entries of all lists together.
# The largest plan that ships has 2 kB, three levels and 60 entries.
MOST_BYTES, MOST_LEVELS, MOST_ENTRIES = 1 << 20, 20, 100_000


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; errors name the file and the line."""
    try:
        if path.stat().st_size > MOST_BYTES:
            msg = f"{path} has {path.stat().st_size:,} bytes; expected at most {MOST_BYTES:,}"
            raise PlanError(msg)
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        msg = f"there is no file {path}"
        raise NotFoundError(msg) from error
    except RecursionError as error:
        msg = f"{path} has lists inside lists too deep; expected at most {MOST_LEVELS} levels"
        raise PlanError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path} is not a text file in UTF-8; expected TOML"
        raise PlanError(msg) from error
    except tomllib.TOMLDecodeError as error:
        msg = f"{path} is not TOML: {error}"
        raise PlanError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise PlanError(msg) from error


def key_path(parts: Iterable[str | int]) -> str:
    """Return a key as a user would write it.

    Examples
    --------
    >>> key_path(["learners", "RFOR", "grid", 2])
    'learners.RFOR.grid[2]'
    """
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def check_extent(content: Any, where: str) -> None:
    """Raise a PlanError at once for content that nobody could have meant as a plan.

    Examples
    --------
    >>> check_extent({"datasets": [61], "sizes": list(range(1, 10**6))}, "my.toml")
    Traceback (most recent call last):
    ...
    lcdb.errors.PlanError: my.toml has more than 100,000 entries; expected a rule for long lists, \
such as sizes = "all" or { log = 30 }
    """
    level, entries = [content], 0
    for _ in range(MOST_LEVELS):
        inner: list[Any] = []
        for one in level:
            if isinstance(one, Mapping | list | tuple):
                entries += len(one)
                if entries > MOST_ENTRIES:
                    msg = (
                        f"{where} has more than {MOST_ENTRIES:,} entries; expected a rule for long "
                        'lists, such as sizes = "all" or { log = 30 }'
                    )
                    raise PlanError(msg)
                inner += one.values() if isinstance(one, Mapping) else one
        level = inner
        if not level:
            return
    msg = f"{where} has lists inside lists too deep; expected at most {MOST_LEVELS} levels"
    raise PlanError(msg)


def check(content: Mapping[str, Any], schema: str, where: str) -> None:
    """Raise a PlanError that names the first key at fault and what was expected.

    Examples
    --------
    >>> check({"datasets": [61], "learners": ["LDC"], "sede": 1}, "plan", "my.toml")
    Traceback (most recent call last):
    ...
    lcdb.errors.PlanError: my.toml: 'sede' is not a key here. Did you mean 'seed'?
    """
    errors = sorted(
        _Validator(_schema(schema)).iter_errors(content),
        key=lambda e: [str(p) for p in e.absolute_path],
    )
    if not errors:
        return
    more = f" ({len(errors) - 1} more after this one)" if len(errors) > 1 else ""
    msg = f"{where}: {_told(errors[0])}{more}"
    raise PlanError(msg)


def _told(error: ValidationError) -> str:
    """Return one fault in words: the key, what it is, what was expected."""
    key = key_path(error.absolute_path)
    kind, wanted, value = str(error.validator), error.validator_value, error.instance
    if kind == "required":
        missing = next(name for name in wanted if name not in value)
        meant = error.schema.get("properties", {}).get(missing, {}).get("description", "")
        return f"{key_path([*error.absolute_path, missing])!r} is missing ({meant})"
    if kind == "additionalProperties":
        known = error.schema.get("properties", {})
        strange = next(name for name in value if name not in known)
        hint = did_you_mean(strange, known)
        return f"{key_path([*error.absolute_path, strange])!r} is not a key here.{hint}"
    if kind == "enum":
        one = f"expected one of {', '.join(map(str, wanted))}."
        hint = did_you_mean(value, wanted) if isinstance(value, str) else ""
        return f"{key} is {value!r}; {one}{hint if 'mean' in hint else ''}"
    doc = error.schema.get("description", "")
    return f"{key} is {_short(value)}; expected {_expected(kind, wanted)}{doc and f' ({doc})'}"


def _expected(kind: str, wanted: Any) -> str:
    if kind == "type":
        return " or ".join(KINDS[k] for k in ([wanted] if isinstance(wanted, str) else wanted))
    if kind == "uniqueItems":
        return "no entry twice"
    if kind == "pattern":
        return f"text like {wanted}"
    words = {
        "minimum": "{} or more",
        "exclusiveMinimum": "more than {}",
        "maximum": "{} or less",
        "minItems": "{} or more entries",
        "maxItems": "{} or fewer entries",
        "minProperties": "{} or more entries",
        "minLength": "{} or more letters",
    }
    return words[kind].format(wanted)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
