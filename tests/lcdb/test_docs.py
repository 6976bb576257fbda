"""What the pages on querying, comparing, summaries and data of one's own show is what happens."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

from lcdb import cli, errors

PAGE = Path(__file__).parents[2] / "docs" / "querying.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.server
@pytest.mark.process
@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("querying.md", 9),
        ("own_data.md", 5),
        ("comparing.md", 5),
        ("summaries.md", 2),
        ("forecasting.md", 2),
    ],
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_own_rows_of_the_readme_are_forecast(capsys, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    *_, own = BLOCK.findall((PAGE.parents[1] / "README.md").read_text("utf-8"))
    exec(compile(own, "README.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == ["0.96 with a thousand rows"]


def test_every_exit_code_stands_in_the_help_and_in_the_table(capsys, monkeypatch):
    """Of errors, of a wrong use, and of Ctrl-C."""
    codes = {0} | {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.LCDBError)
    }
    with pytest.raises(SystemExit) as wrong:
        cli.main(["no-such-command"])

    def interrupted(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupted)
    codes |= {wrong.value.code, cli.main(["info"])}
    assert capsys.readouterr().err.splitlines()[-1] == "lcdb: interrupted"
    assert codes == {0, 1, 2, 3, 4, 75, 130}
    listed = cli.EPILOG.partition("Exit codes: ")[2]
    assert {int(code) for code in re.findall(r"(?:^|,\s)(\d+) ", listed)} == codes
    table = PAGE.with_name("cluster.md").read_text("utf-8").partition("| exit code |")[2]
    rows = table.partition("\n\n")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", rows, re.MULTILINE)} == codes
