"""Notebooks run from top to bottom and print what is stored in them."""

from __future__ import annotations

import nbformat
import pytest

from tests.support.counts import first
from tests.support.notebook_runs import FOLDER, NOTEBOOKS, kernel, outputs, run


@pytest.fixture(scope="module")
def manager():
    with kernel() as started:
        yield started


@pytest.mark.process
@pytest.mark.parametrize("name", first(NOTEBOOKS, 2))
def test_a_notebook_prints_what_it_says(name, manager):
    """If the code is right, `python -m tests.support.notebook_runs` renews the document."""
    stored = nbformat.read(FOLDER / name, as_version=4)
    nbformat.validate(stored)
    assert outputs(run(name, manager)) == outputs(stored)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_reads_as_a_document(name):
    stored = nbformat.read(FOLDER / name, as_version=4)
    assert stored.cells[0].cell_type == "markdown"
    assert stored.cells[0].source.startswith("# ")
    for before, cell in zip(stored.cells, stored.cells[1:], strict=False):
        assert "markdown" in (before.cell_type, cell.cell_type), f"unexplained: {cell.source}"
