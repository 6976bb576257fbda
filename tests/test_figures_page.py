"""The page of the paper's figures: what it names is there, drawn, and drawn by its commands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lcdb
from findings.figures import PAPERS, draw
from lcdb.plot.turan2026 import FIGURES
from tests.support.pictures import look_alike

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "figures.md"


@pytest.mark.slow
def test_the_papers_figures_are_on_the_page_and_are_drawn(tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    pictures = re.findall(r"!\[.+?\]\((pictures/paper/.+?\.svg)\)", text)
    names = [Path(picture).stem for picture in pictures]
    assert names == re.findall(r"`lcdb plot reference --figure (\w+)`", text)
    assert {name for name in FIGURES if name[0].isdigit() or name == "D5"} == set(names)
    assert all((PAGE.parent / picture).is_file() for picture in pictures)
    with lcdb.reference() as db:
        drawn = draw(db, tmp_path, PAPERS)
    assert [path.stem for path in drawn] == names
    for path in drawn:
        shown = (PAGE.parent / "pictures" / "paper" / path.name).read_text(encoding="utf-8")
        texts = [re.findall(r"<text[^>]*>([^<]+)", one) for one in (shown, path.read_text())]
        assert len(texts[0]) > 8 and texts[0] == texts[1]
        assert look_alike(PAGE.parent / "pictures" / "paper" / path.name, path), path.name
