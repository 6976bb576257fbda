"""Which file holds which dataset: in a database directory, name and id of a cube must agree.

A copy beside a cube (of a backup, or of two computers that were synchronised) has the same id
inside. Which of the two is meant cannot be told from outside, so neither is taken for the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from lcdb.errors import SchemaError

__all__ = ["as_number", "check_names", "cube_key", "dataset_id", "is_id", "misplaced"]

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,62}[A-Za-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"0|[1-9][0-9]*", re.ASCII)


def is_id(text: str) -> bool:
    """Return whether text can name a dataset: ASCII, and safe as the name of a file.

    Examples
    --------
    >>> is_id("61"), is_id("my-wine"), is_id("٦١"), is_id("../61")
    (True, True, False, False)
    """
    return bool(_ID.fullmatch(text))


def cube_key(id: str, scaling: str = "none") -> str:
    """Return the name of a dataset's cube: its id, and its scaling if it has one.

    Examples
    --------
    >>> cube_key("61"), cube_key("61", "standard")
    ('61', '61-standard')
    """
    return id if scaling == "none" else f"{id}-{scaling}"


def dataset_id(key: str, scaling: str = "none") -> str:
    """Return the id of the dataset that a cube of that name and scaling is of.

    Examples
    --------
    >>> dataset_id("61-standard", "standard"), dataset_id("my-standard-file")
    ('61', 'my-standard-file')
    """
    return key if scaling == "none" else key.removesuffix(f"-{scaling}")


def as_number(key: str) -> int | str:
    """Return an OpenML id as a number, and any other key as it is: 61 has one spelling.

    Examples
    --------
    >>> as_number("61"), as_number("061"), as_number("٦١"), as_number("mine")
    (61, '061', '٦١', 'mine')
    """
    return int(key) if _NUMBER.fullmatch(key) else key


def misplaced(path: Path, key: str) -> str:
    """Return what is wrong with a cube's name in a folder of cubes; nothing if it is right.

    Parameters
    ----------
    path
        The file.
    key
        What it holds: `cube_key`, or the name of an experiment.
    """
    if path.name == f"{key}.nc":
        return ""
    if not is_id(key):
        return (
            f"{path} holds a dataset of id {key!r}; expected letters, digits, '-', '_' or '.': "
            "move the file out of the folder"
        )
    right = path.with_name(f"{key}.nc")
    if right.exists():
        return (
            f"{path} and {right} both hold dataset {key}, and {right.name} is the name of its "
            f"cube: move {path.name!r} out of the folder (or, if it is the one that you want, "
            "put it in the other's place)"
        )
    return (
        f"{path} holds dataset {key}, whose cube is called {right.name}: rename the file, or move "
        "it out of the folder"
    )


def check_names(keys: Mapping[Path, str]) -> None:
    """Raise unless every cube of a folder has the name of what it holds.

    Raises
    ------
    SchemaError
        A file has another name, or a second one holds the same.
    """
    for path, key in keys.items():
        if wrong := misplaced(path, key):
            raise SchemaError(wrong)
