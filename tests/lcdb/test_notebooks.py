"""Notebooks run from top to bottom and print and draw what is stored in them."""

from __future__ import annotations

import nbformat
import pytest

from tests.support.counts import first
from tests.support.notebook_runs import FOLDER, NOTEBOOKS, figures, kernel, outputs, run
from tests.support.pictures import look_alike


@pytest.fixture(scope="module")
def manager():
    with kernel() as started:
        yield started


@pytest.mark.process
@pytest.mark.parametrize("name", first(NOTEBOOKS, 2))
def test_a_notebook_prints_and_draws_what_it_shows(name, manager):
    """If the code is right, `python -m tests.support.notebook_runs` renews the document."""
    stored = nbformat.read(FOLDER / name, as_version=4)
    nbformat.validate(stored)
    fresh = run(name, manager)
    assert outputs(fresh) == outputs(stored)
    for place, (one, other) in enumerate(zip(figures(fresh), figures(stored), strict=True)):
        assert look_alike(one, other), f"figure {place} of {name} is of older code"


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_reads_as_a_document(name):
    stored = nbformat.read(FOLDER / name, as_version=4)
    assert stored.cells[0].cell_type == "markdown"
    assert stored.cells[0].source.startswith("# ")
    for before, cell in zip(stored.cells, stored.cells[1:], strict=False):
        assert "markdown" in (before.cell_type, cell.cell_type), f"unexplained: {cell.source}"
