"""What the pages on querying, comparing, summaries and data of one's own show is what happens."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "querying.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "least"),
    [("querying.md", 9), ("own_data.md", 5), ("comparing.md", 5), ("summaries.md", 2)],
)
def test_every_example_of_the_page_runs(page, least):
    text = PAGE.with_name(page).read_text("utf-8")
    blocks = BLOCK.findall(text)
    assert len(blocks) >= least
    assert all(block.startswith(">>> ") for block in blocks)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test, out=said.append)
    assert not said, "".join(said)


def test_the_query_of_the_readme_runs(capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    query, summaries, _ = BLOCK.findall((PAGE.parents[1] / "README.md").read_text("utf-8"))
    exec(compile(query + summaries, "README.md", "exec"), {})
    first, *rest = capsys.readouterr().out.splitlines()
    assert first == "15 sizes, 200 repetitions"
    rows, rates = int(rest[0]), [float(word) for word in rest[1].split()]
    assert 5 <= rows <= 105
    assert all(0 <= rate <= 1 for rate in rates)
    low = ast.literal_eval(rest[2])
    assert list(low) == ["LREG", "RFOR"] and all(0.5 < value < 1 for value in low.values())


def test_the_own_rows_of_the_readme_are_forecast(capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    *_, own = BLOCK.findall((PAGE.parents[1] / "README.md").read_text("utf-8"))
    exec(compile(own, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == ["0.96 with a thousand rows"]
