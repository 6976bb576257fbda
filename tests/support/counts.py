"""Reduced counts for `make test`, the bars' own counts for `make test-full`."""

import itertools
import os
from collections.abc import Iterable
from typing import Any

import pytest

FULL = os.environ.get("LCDB_FULL") == "1"


def counts(reduced: int, full: int) -> int:
    """Return the count that this run of the tests is to use."""
    return full if FULL else reduced


def first(values: Iterable[Any], count: int) -> list[Any]:
    """Return values for `parametrize`, of which `make test` tries the first ones only."""
    return [
        v if i < count else pytest.param(v, marks=pytest.mark.full) for i, v in enumerate(values)
    ]


def spread(*values: Iterable[Any], every: int) -> list[Any]:
    """Return combinations for `parametrize`, of which `make test` tries each value with a few.

    Combinations lie on diagonals; one diagonal of `every` is tried.
    """
    numbered = itertools.product(*(enumerate(several) for several in values))
    return [
        pytest.param(
            *(value for _, value in entries),
            marks=[pytest.mark.full] if sum(i for i, _ in entries) % every else [],
        )
        for entries in numbered
    ]
