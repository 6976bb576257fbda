"""Names that strangers gave, as they may be shown: no control characters, no markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["as_rich", "one_line", "visible"]


def visible(text: object) -> str:
    r"""Return text with everything that a terminal would obey, or not show, spelt out.

    Escape sequences, line breaks, and signs that turn the direction of writing come from names in
    files; they must not act on who reads them.

    Examples
    --------
    >>> visible("iris"), visible("straße 鳶尾")
    ('iris', 'straße 鳶尾')
    >>> print(visible("a\x1b[31mred\nnew line"))
    a\x1b[31mred\nnew line
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in str(text)
    )


def one_line(text: object) -> str:
    r"""Return text as one line: white space as single spaces, the rest as `visible` has it.

    Examples
    --------
    >>> one_line("two\n  lines\x07")
    'two lines\\x07'
    """
    return visible(" ".join(str(text).split()))


def as_rich(text: object) -> Text:
    """Return text for rich to print as it is: brackets are no markup.

    Examples
    --------
    >>> as_rich("x[/nope]").plain
    'x[/nope]'
    """
    from rich.text import Text

    return Text("\n".join(map(visible, str(text).split("\n"))))
