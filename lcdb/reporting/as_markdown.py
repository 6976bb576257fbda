"""A report as Markdown, with links to its figures."""

from __future__ import annotations

from urllib.parse import quote

from lcdb.publishing.text import markdown
from lcdb.reporting.document import Block, Code, Figure, Report, Table, Text
from lcdb.text import visible

__all__ = ["page"]


def page(report: Report, folder: str) -> str:
    """Return the whole file."""
    parts = [f"# {_text(report.title)}"]
    number = {id(figure): i for i, figure in enumerate(report.figures, 1)}
    for section in report.sections:
        parts.append(f"## {_text(section.title)}")
        parts += [_block(block, number.get(id(block), 0), folder) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _text(text: str) -> str:
    return markdown(visible(text))


def _cell(text: str) -> str:
    """Return text for where no line begins: "0.5" is no item of a list there."""
    return _text(f"x {text}").removeprefix("x ").removeprefix("x")


def _block(block: Block, number: int, folder: str) -> str:
    match block:
        case Text():
            return _text(block.text)
        case Code():
            lines = "\n".join(map(visible, block.text.split("\n")))
            return f"```python\n{lines}\n```"
        case Table():
            return _table(block)
        case Figure():
            caption = _text(block.caption)
            source = quote(f"{folder}/figure-{number}.svg")
            return f"![{caption}]({source})\n\nFigure {number}. {caption}{_call(block.call)}"


def _call(call: str) -> str:
    return f"\n\n```python\n{visible(call)}\n```" if call else ""


def _table(table: Table) -> str:
    rule = ["---" if i in table.left else "--:" for i in range(len(table.header))]
    rows = [
        " | ".join(row)
        for row in (map(_cell, table.header), rule, *(map(_cell, row) for row in table.rows))
    ]
    lines = "\n".join(f"| {row} |" for row in rows)
    return f"{_text(table.caption)}{_call(table.call)}\n\n{lines}"
