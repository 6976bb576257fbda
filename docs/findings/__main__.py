"""Write docs/findings.md with its figures and docs/every_n.md, from what ships or from others."""

from __future__ import annotations

import sys
from pathlib import Path

import lcdb
from findings import every_n
from findings.figures import FIGURES, PAPERS, draw
from findings.page import page

DOCS = Path(__file__).parents[1]

if __name__ == "__main__":
    out = Path(sys.argv[3]) if sys.argv[3:] else DOCS
    pictures = out / "pictures"
    out.mkdir(parents=True, exist_ok=True)
    places = sys.argv[1:3]
    with (
        lcdb.open(places[0]) if places else lcdb.reference() as db,
        lcdb.open(places[1]) if places[1:] else lcdb.shipped.turan2026() as every,
    ):
        (out / "findings.md").write_text(page(db, every), encoding="utf-8")
        (out / "every_n.md").write_text(every_n.page(every, db), encoding="utf-8")
        made = draw(db, pictures / "findings", FIGURES)
        if not places:  # others may not have the datasets of the paper's figures
            made += draw(db, pictures / "paper", PAPERS)
        print(out / "findings.md", out / "every_n.md", *made, sep="\n")
