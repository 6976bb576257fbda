"""Write docs/findings.md and its figures, from the database that ships or from another."""

from __future__ import annotations

import sys
from pathlib import Path

import lcdb
from findings.figures import draw
from findings.page import page

DOCS = Path(__file__).parents[1]

if __name__ == "__main__":
    out = Path(sys.argv[2]) if sys.argv[2:] else DOCS
    pictures = out / "pictures" / "findings"
    pictures.mkdir(parents=True, exist_ok=True)
    with lcdb.open(sys.argv[1]) if sys.argv[1:] else lcdb.reference() as db:
        (out / "findings.md").write_text(page(db), encoding="utf-8")
        print(out / "findings.md", *draw(db, pictures), sep="\n")
