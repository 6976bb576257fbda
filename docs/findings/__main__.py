"""Write docs/findings.md with its figures and docs/every_n.md, from what ships or from others."""

from __future__ import annotations

import sys
from pathlib import Path

import lcdb
from findings import every_n
from findings.figures import draw
from findings.page import page

DOCS = Path(__file__).parents[1]

if __name__ == "__main__":
    out = Path(sys.argv[3]) if sys.argv[3:] else DOCS
    pictures = out / "pictures" / "findings"
    pictures.mkdir(parents=True, exist_ok=True)
    places = sys.argv[1:3]
    with (
        lcdb.open(places[0]) if places else lcdb.reference() as db,
        lcdb.open(places[1]) if places[1:] else lcdb.shipped.turan2026() as every,
    ):
        (out / "findings.md").write_text(page(db), encoding="utf-8")
        (out / "every_n.md").write_text(every_n.page(every, db), encoding="utf-8")
        print(out / "findings.md", out / "every_n.md", *draw(db, pictures), sep="\n")
