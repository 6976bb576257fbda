"""A report as HTML: one file, with its figures in it, and every name as text."""

from __future__ import annotations

import re
from html import escape

from lcdb.reporting.document import Block, Code, Figure, Report, Table, Text
from lcdb.text import visible

__all__ = ["body", "page"]

_STYLE = """
.lcdb-report{font:16px/1.55 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;
 color:#1a1a1a;background:#fff}
.lcdb-report h1{font-size:1.7rem;line-height:1.2}
.lcdb-report h2{font-size:1.25rem;margin-top:2.4rem;border-bottom:1px solid #ddd}
.lcdb-report p{max-width:46rem}
.lcdb-report table{border-collapse:collapse;font-size:.88rem;margin:.3rem 0}
.lcdb-report caption,.lcdb-report figcaption{caption-side:top;text-align:left;font-size:.88rem;
 color:#333;padding:.4rem 0;max-width:46rem}
.lcdb-report th,.lcdb-report td{padding:.15rem .6rem;text-align:right;vertical-align:top;
 font-variant-numeric:tabular-nums}
.lcdb-report th{border-bottom:1px solid #888;font-weight:600}
.lcdb-report tbody tr:nth-child(even){background:#f6f6f6}
.lcdb-report td{white-space:nowrap}
.lcdb-report .words{text-align:left;white-space:normal}
.lcdb-report .wide{overflow-x:auto;margin:1.2rem 0}
.lcdb-report figure{margin:1.2rem 0}
.lcdb-report svg{max-width:100%;height:auto}
.lcdb-report svg text{font-family:system-ui,"DejaVu Sans",sans-serif}
.lcdb-report pre,.lcdb-report code{font:.82rem/1.5 ui-monospace,monospace;background:#f3f3f3}
.lcdb-report pre{padding:.5rem .7rem;overflow-x:auto;white-space:pre-wrap}
.lcdb-report .call{display:block;color:#444;margin-top:.3rem;overflow-wrap:anywhere}
"""


def page(report: Report) -> str:
    """Return the whole file."""
    title = _text(report.title)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n</head>\n<body>\n{body(report)}\n</body>\n</html>\n"
    )


def body(report: Report) -> str:
    """Return what stands between the tags of the body."""
    parts = [f"<style>{_STYLE}</style>", f"<h1>{_text(report.title)}</h1>"]
    number = {id(figure): i for i, figure in enumerate(report.figures, 1)}
    for section in report.sections:
        parts.append(f"<h2>{_text(section.title)}</h2>")
        parts += [_block(block, number.get(id(block), 0)) for block in section.blocks]
    inside = "\n".join(parts)
    return f'<main class="lcdb-report">\n{inside}\n</main>'


def _text(text: str) -> str:
    return escape(visible(text))


def _block(block: Block, number: int) -> str:
    match block:
        case Text():
            return f"<p>{_text(block.text)}</p>"
        case Code():
            lines = "\n".join(map(visible, block.text.split("\n")))
            return f"<pre><code>{escape(lines)}</code></pre>"
        case Table():
            return _table(block)
        case Figure():
            caption = f"<figcaption>Figure {number}. {_text(block.caption)}{_call(block.call)}"
            label = escape(visible(block.caption), quote=True)
            drawing = _drawing(block.svg, f"figure{number}-")
            return (
                f'<figure role="group" aria-label="{label}">\n{drawing}\n{caption}</figcaption>'
                "\n</figure>"
            )


def _call(call: str) -> str:
    return f'<code class="call">{_text(call)}</code>' if call else ""


def _table(table: Table) -> str:
    def cells(tag: str, row: tuple[str, ...]) -> str:
        return "".join(
            f"<{tag}{' class=words' if i in table.left else ''}>{_text(cell)}</{tag}>"
            for i, cell in enumerate(row)
        )

    rows = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in table.rows)
    return (
        f'<div class="wide"><table>\n<caption>{_text(table.caption)}{_call(table.call)}</caption>\n'
        f"<thead><tr>{cells('th', table.header)}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n"
        "</table></div>"
    )


def _drawing(svg: str, prefix: str) -> str:
    """Return an SVG for the inside of a page: no prolog, and identifiers that no other has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    return re.sub(r"url\(#", f"url(#{prefix}", svg).strip()
