"""What a report consists of, whatever it is written as: sections of text, tables and figures."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from lcdb.atomic import replace_file
from lcdb.errors import ArgumentError

__all__ = ["Block", "Code", "Figure", "Report", "Section", "Table", "Text", "check_suffix"]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines of Python that a reader may run."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table, its caption, and the call that its numbers come from; `left` columns hold words."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    call: str = ""
    left: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Figure:
    """A drawing in SVG, its caption, and the call that made it."""

    svg: str
    caption: str
    call: str


Block = Text | Code | Table | Figure


@dataclass(frozen=True)
class Section:
    """A heading, what stands below it, and its answer in a sentence for the head of the page."""

    title: str
    blocks: tuple[Block, ...]
    headline: str = ""


@dataclass(frozen=True)
class Report:
    """A page about a database, to be saved as HTML or Markdown.

    Parameters
    ----------
    title
        Its heading.
    sections
        What it says.

    Examples
    --------
    >>> page = Report("Two learners", (Section("Result", (Text("A < B"),)),))
    >>> "<p>A &lt; B</p>" in page.to_html(), page.to_markdown().splitlines()[0]
    (True, '# Two learners')
    """

    title: str
    sections: tuple[Section, ...]

    def __repr__(self) -> str:
        names = "".join(f"\n  {section.title}" for section in self.sections)
        return f"lcdb report {self.title!r}; save it as HTML or Markdown:{names}"

    @property
    def figures(self) -> list[Figure]:
        """All figures, in their order."""
        blocks = [block for section in self.sections for block in section.blocks]
        return [block for block in blocks if isinstance(block, Figure)]

    def to_html(self) -> str:
        """Return the whole page as one HTML file that needs no other."""
        from lcdb.reporting.as_html import page

        return page(self)

    def to_markdown(self, figures: str = "report_files") -> str:
        """Return the page as Markdown, with links to its figures in a folder.

        Parameters
        ----------
        figures
            The folder that the links lead to.
        """
        from lcdb.reporting.as_markdown import page

        return page(self, figures)

    def _repr_html_(self) -> str:
        from lcdb.reporting.as_html import body

        return body(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: ``.html``, or ``.md`` with its figures in a folder beside it.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ArgumentError
            The name has another suffix.
        StorageError
            It could not be written.
        """
        path = Path(path)
        if check_suffix(path) == "html":
            replace_file(path, self.to_html().encode())
            return path
        folder = f"{path.stem}_files"
        for number, figure in enumerate(self.figures, 1):
            drawing = path.parent / folder / f"figure-{number}.svg"
            replace_file(drawing, figure.svg.encode())
        replace_file(path, self.to_markdown(folder).encode())
        return path


def check_suffix(path: Path) -> str:
    """Return ``"html"`` or ``"markdown"`` by the name of a file; raise for another.

    Examples
    --------
    >>> check_suffix(Path("report.md"))
    'markdown'
    """
    forms = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown"}
    if path.suffix.lower() not in forms:
        msg = f"{path} has the suffix {path.suffix!r}; expected .html or .md"
        raise ArgumentError(msg)
    return forms[path.suffix.lower()]
