"""Write docs/trials.md, from the experiments that ship or from others."""

from __future__ import annotations

import sys
from pathlib import Path

import lcdb
from trials.page import page

PAGE = Path(__file__).parents[1] / "trials.md"

if __name__ == "__main__":
    with lcdb.open(sys.argv[1]) if sys.argv[1:] else lcdb.shipped.experiments() as db:
        PAGE.write_text(page(db), encoding="utf-8")
    print(PAGE)
