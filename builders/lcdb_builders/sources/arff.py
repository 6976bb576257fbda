"""ARFF files, dense and sparse, with every complaint naming its line.

The header's order of categories is kept, since it decides codes; comments and blank lines may stand
anywhere, since OpenML's files have them after the data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

from lcdb.errors import DatasetError
from lcdb_builders.sources.limits import limits
from lcdb_builders.sources.table import (
    Column,
    Table,
    check_names,
    nominal_column,
    numeric_column,
)

__all__ = ["arff_names", "read_arff"]

_NUMERIC = frozenset({"numeric", "real", "integer"})
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|[0-7]{1,3}|.)", re.DOTALL)
_NEWLINE = re.compile(r"\r\n|\n|\r")
_PLAIN = re.compile(r"[^'\"%{}]*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_UNQUOTED = re.compile(r"[^,]*?(?=,|\s%|$)")
_NOTHING = re.compile("")
_SPACE = re.compile(r"\s*")
_BARE_NAME = re.compile(r"[^\s{]+")
_SPARSE_HEAD = re.compile(r"\s*(\d+)\s+")
_KEYWORD = re.compile(r"@(\w+)(.*)", re.DOTALL)


@dataclass(frozen=True)
class _Attribute:
    """A declared column: numeric, string, nominal, or of a kind that cannot be used."""

    name: str
    kind: str
    line: int
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Value:
    """A value of a list; a quoted question mark is text, a bare one a missing cell."""

    text: str
    quoted: bool

    @property
    def cell(self) -> str | None:
        return None if not self.quoted and self.text in {"?", ""} else self.text


def _fail(line: int, what: str) -> DatasetError:
    msg = f"malformed ARFF, line {line}: {what}"
    return DatasetError(msg)


def _unquote(text: str) -> str:
    def escaped(match: re.Match[str]) -> str:
        code = match.group(1)
        if code[0] == "u" and len(code) == 5:
            return chr(int(code[1:], 16))
        return chr(int(code, 8)) if code[0] in "01234567" else _ESCAPES.get(code, code)

    return _ESCAPE.sub(escaped, text[1:-1])


def _values(text: str, line: int) -> list[_Value]:
    """Split a list at its commas, outside quotes; a comment ends it."""
    if _PLAIN.fullmatch(text):
        return [_Value(part.strip(), quoted=False) for part in text.split(",")]
    values: list[_Value] = []
    position = 0
    while True:
        position = _behind_space(text, position)
        match = _quoted(text, position, line)
        if match:
            values.append(_Value(_unquote(match.group()), quoted=True))
        else:
            match = (_NOTHING if text.startswith("%", position) else _UNQUOTED).match(
                text, position
            )
            assert match is not None  # both patterns match the empty text
            values.append(_Value(match.group().strip(), quoted=False))
        position = _behind_space(text, match.end())
        if position == len(text) or text[position] == "%":
            return values
        if text[position] != ",":
            raise _fail(line, f"expected a comma before {text[position : position + 20]!r}")
        position += 1


def _behind_space(text: str, position: int) -> int:
    """Return the index of the next sign that is no space, without copying the rest of a line."""
    match = _SPACE.match(text, position)
    assert match is not None  # it matches the empty text
    return match.end()


def _quoted(text: str, position: int, line: int) -> re.Match[str] | None:
    """Match a quoted text at this place, if one starts there."""
    if text[position : position + 1] not in {"'", '"'}:
        return None
    match = _QUOTED.match(text, position)
    if not match:
        raise _fail(line, f"the quote {text[position]} is not closed")
    return match


def _closing_brace(text: str, line: int) -> int:
    """Return the index behind the brace that closes a text that starts with one."""
    position = 1
    while position < len(text):
        if text[position] == "}":
            return position + 1
        match = _quoted(text, position, line)
        position = match.end() if match else position + 1
    raise _fail(line, "the brace { is not closed")


def _attribute(text: str, line: int) -> _Attribute:
    """Read what follows ``@attribute``."""
    text = text.strip()
    quoted = _quoted(text, 0, line)
    match = quoted or _BARE_NAME.match(text)
    if not match:
        raise _fail(line, "an @attribute without a name")
    name = _unquote(match.group()) if quoted else match.group()
    kind = text[match.end() :].strip()
    if kind.startswith("{"):
        end = _closing_brace(kind, line)
        rest = kind[end:].strip()
        if rest and not rest.startswith("%"):
            raise _fail(line, f"unexpected {rest[:20]!r} behind the categories of {name!r}")
        return _Attribute(name, "nominal", line, _categories(name, kind[1 : end - 1], line))
    word = kind.split("%")[0].strip().lower()
    return _Attribute(name, "numeric" if word in _NUMERIC else word, line)


def _categories(name: str, text: str, line: int) -> tuple[str, ...]:
    texts = [value.text for value in _values(text, line)]
    limits().check("categories", len(texts), f"column {name!r}")
    if "" in texts:
        raise _fail(line, f"column {name!r} declares an empty category")
    if len(set(texts)) < len(texts):
        twice = next(value for value in texts if texts.count(value) > 1)
        raise _fail(line, f"column {name!r} declares the category {twice!r} twice")
    return tuple(texts)


class _Rows:
    """Cells by column, and the line each row stands in."""

    def __init__(self, attributes: list[_Attribute]) -> None:
        self.attributes = attributes
        self.cells: list[list[str | None]] = [[] for _ in attributes]
        self.lines: list[int] = []
        self.limits = limits()

    def add(self, text: str, line: int) -> None:
        count = (len(self.lines) + 1) * len(self.attributes)
        self.limits.check("cells", count, f"the file, as far as line {line},")
        row = self._sparse(text, line) if text.startswith("{") else self._dense(text, line)
        self.lines.append(line)
        for cells, cell in zip(self.cells, row, strict=True):
            cells.append(cell)

    def _dense(self, text: str, line: int) -> list[str | None]:
        row = [value.cell for value in _values(text, line)]
        if len(row) != len(self.attributes):
            raise _fail(
                line,
                f"{len(row)} values for {len(self.attributes)} declared columns "
                "(is the file cut short?)",
            )
        return row

    def _sparse(self, text: str, line: int) -> list[str | None]:
        end = _closing_brace(text, line)
        rest = text[end:].strip()
        if rest and not rest.startswith("%"):
            raise _fail(
                line, f"unexpected {rest[:20]!r} behind a sparse row (weights are not read)"
            )
        row: list[str | None] = [None] * len(self.attributes)
        given: set[int] = set()
        inside = text[1 : end - 1].strip()
        for position, value in _sparse_items(inside, line) if inside else ():
            if position >= len(row) or position in given:
                raise _fail(line, f"column index {position} is repeated or beyond {len(row) - 1}")
            given.add(position)
            row[position] = value
        for position, attribute in enumerate(self.attributes):
            if position not in given:
                row[position] = _zero(attribute, line)
        return row


def _sparse_items(text: str, line: int) -> Iterator[tuple[int, str | None]]:
    position = 0
    while True:
        match = _SPARSE_HEAD.match(text, position)
        if not match:
            raise _fail(
                line,
                f"expected 'index value' in a sparse row, not {text[position : position + 20]!r}",
            )
        quoted = _quoted(text, match.end(), line)
        end = quoted.end() if quoted else (text + ",").index(",", match.end())
        value = _values(text[match.end() : end], line)
        yield int(match.group(1)), value[0].cell
        rest = text[end:].lstrip()
        if not rest:
            return
        if rest[0] != ",":
            raise _fail(line, f"expected a comma before {rest[:20]!r}")
        position = len(text) - len(rest) + 1


def _zero(attribute: _Attribute, line: int) -> str:
    """Return what a sparse row leaves out: zero, or the first category."""
    if attribute.kind == "string":
        raise _fail(line, f"a sparse row leaves out the text column {attribute.name!r}")
    return attribute.categories[0] if attribute.kind == "nominal" else "0"


def _parse(text: str) -> _Rows:
    attributes: list[_Attribute] = []
    rows: _Rows | None = None
    for line, raw in enumerate(_NEWLINE.split(text), 1):
        content = raw.strip()
        if not content or content.startswith("%"):
            continue
        if rows is not None:
            rows.add(content, line)
            continue
        match = _KEYWORD.match(content)
        keyword = match.group(1).lower() if match else ""
        if match and keyword == "attribute":
            attributes.append(_attribute(match.group(2), line))
        elif keyword == "data":
            if not attributes:
                break
            rows = _Rows(attributes)
        elif keyword != "relation":
            raise _fail(line, f"expected @relation, @attribute or @data, not {content[:30]!r}")
    if not attributes:
        msg = "malformed ARFF: no @attribute line; is this an ARFF file?"
        raise DatasetError(msg)
    if rows is None:
        msg = "malformed ARFF: no @data line (is the file cut short?)"
        raise DatasetError(msg)
    return rows


def _column(
    attribute: _Attribute, cells: list[str | None], where: Callable[[int], str], nominal: bool
) -> Column:
    name, kind = attribute.name, attribute.kind
    if kind == "nominal":
        return nominal_column(name, cells, where, attribute.categories)
    if kind == "string" or (kind == "numeric" and nominal):
        return replace(nominal_column(name, cells, where), guessed=not nominal)
    if kind == "numeric":
        return numeric_column(name, cells, where)
    expected = "expected numeric, real, integer, string or {categories}; drop or convert the column"
    raise _fail(attribute.line, f"column {name!r} is of type {kind!r}; {expected}")


def arff_names(text: str) -> list[str]:
    """Return the names of all declared columns, in file order."""
    return [attribute.name for attribute in _parse(text).attributes]


def read_arff(text: str, nominal: Collection[str] = (), drop: Collection[str] = ()) -> Table:
    """Return the columns of an ARFF file.

    Parameters
    ----------
    text
        The file's content.
    nominal
        Columns to read as categories although the header does not declare any.
    drop
        Columns not to read, whatever their type.

    Examples
    --------
    >>> table = read_arff('''@relation tiny
    ... @attribute width real
    ... @attribute colour {red, blue}
    ... @data
    ... 1.5, blue
    ... ?, red
    ... % the end
    ... ''')
    >>> [column.values.tolist() for column in table.columns]
    [[1.5, nan], [1.0, 0.0]]
    """
    rows = _parse(text)
    names = [attribute.name for attribute in rows.attributes]
    check_names(names, (*nominal, *drop))

    def where(row: int) -> str:
        return f"line {rows.lines[row]}"

    columns = tuple(
        _column(attribute, cells, where, attribute.name in nominal)
        for attribute, cells in zip(rows.attributes, rows.cells, strict=True)
        if attribute.name not in drop
    )
    return Table(columns, tuple(sorted(drop)))
