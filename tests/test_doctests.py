"""Every example in a docstring is run, each module imported once and under its own name."""

from __future__ import annotations

import doctest
import sys
from importlib import import_module

import pytest

from tests.test_architecture import MODULES

FINDER = doctest.DocTestFinder(exclude_empty=True)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = import_module(name)
    assert module.__name__ == name
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    said: list[str] = []
    for test in FINDER.find(module, name):
        runner.run(test, out=said.append)
    if "matplotlib.pyplot" in sys.modules:  # it warns when figures pile up
        sys.modules["matplotlib.pyplot"].close("all")
    assert runner.failures == 0, "".join(said)


def test_examples_are_found():
    found = {name for name in MODULES if any(t.examples for t in FINDER.find(import_module(name)))}
    assert {"lcdb.database", "lcdb.errors", "lcdb_builders.domain.unit"} <= found
