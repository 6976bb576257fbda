"""Reduced counts for `make test`, the bars' own counts for `make test-full`."""

import os

FULL = os.environ.get("LCDB_FULL") == "1"


def counts(reduced: int, full: int) -> int:
    """Return the count that this run of the tests is to use."""
    return full if FULL else reduced
