"""Every example in a docstring is run, each module imported once and under its own name."""

from __future__ import annotations

import doctest
import sys
from importlib import import_module

import pytest

from tests.support.environments import ROOT
from tools.check_house import Sources

# Examples that do more than compute.
MARKS = {
    "lcdb.site.serve": pytest.mark.server,
    **dict.fromkeys(
        (
            "lcdb.summaries.make",
            "lcdb_builders.run.build",
            "lcdb_builders.run.pool",
            "lcdb_builders.run.supervise",
            "lcdb_builders.experiments.dse.build",
            "lcdb_builders.experiments.pendulum.build",
        ),
        pytest.mark.process,
    ),
}
MARKS |= dict.fromkeys(
    (
        *("lcdb.plot.shares", "lcdb.reporting.write", "lcdb.site.make", "lcdb.tables.frame"),
        *("lcdb.tables.rates", "lcdb.tables.turan2026"),
    ),
    pytest.mark.slow,
)
MODULES = [m.name for m in Sources(ROOT).modules.values() if ">>> " in m.text]
FINDER = doctest.DocTestFinder(exclude_empty=True)


@pytest.mark.parametrize("name", [pytest.param(m, marks=MARKS.get(m, [])) for m in MODULES])
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
    assert {"lcdb.database", "lcdb.errors", "lcdb_builders.domain.unit"} <= set(MODULES)
    assert any(test.examples for test in FINDER.find(import_module("lcdb.errors")))
