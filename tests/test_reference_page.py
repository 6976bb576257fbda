"""The page on the reference database says what the database that ships says."""

import importlib.util
from pathlib import Path

import lcdb

DOCS = Path(__file__).parents[1] / "docs"


def test_every_number_of_the_page_is_computed_from_what_ships():
    spec = importlib.util.spec_from_file_location("reference_page", DOCS / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with lcdb.reference() as db:
        assert module.wrapped(module.page(db)) == (DOCS / "reference.md").read_text("utf-8")
