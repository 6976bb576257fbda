"""Text that others gave, as each format wants it, so that it stays text."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

__all__ = ["address", "as_json", "bibtex", "markdown", "yaml"]

# All that Markdown, its tables or HTML could take for markup: `&` begins an entity, `://` is in an
# address that becomes a link by itself, and lists and headings begin a line.
_MARKUP = re.compile(r"[\\`*_\[\]<>|&~$@]|:(?=//)|(?<=www)\.|^[#+=-]|(?<=^\d)[.)]")
_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def address(url: str, path: str) -> str:
    """Return the address of a file of a database.

    Examples
    --------
    >>> address("https://example.org/db", "cubes/my table.nc")
    'https://example.org/db/cubes/my%20table.nc'
    """
    return f"{url}/{quote(path)}"


def as_json(value: Any) -> str:
    r"""Return JSON that may also stand in a script element of a page: nothing in it ends one.

    Examples
    --------
    >>> print(as_json({"name": "</script>"}).strip())
    {
      "name": "\u003c/script\u003e"
    }
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text + "\n"


def yaml(text: str) -> str:
    r"""Return a printable text as a YAML scalar.

    Examples
    --------
    >>> print(yaml('a "quoted": name'))
    "a \"quoted\": name"
    """
    return json.dumps(text, ensure_ascii=False)


def markdown(text: str) -> str:
    r"""Return a text that Markdown shows as it is, on one line.

    Examples
    --------
    >>> print(markdown("a|b <script>"))
    a\|b \<script\>
    """
    return _MARKUP.sub(lambda sign: f"\\{sign[0]}", " ".join(text.split()))


def bibtex(text: str) -> str:
    r"""Return a text for a field of a BibTeX entry.

    Examples
    --------
    >>> print(bibtex("50 % {a} & b"))
    50 \% \{a\} \& b
    """
    text = " ".join(text.split())
    return re.sub(r"[\\~^{}%&$#_]", lambda sign: _TEX.get(sign[0], f"\\{sign[0]}"), text)
