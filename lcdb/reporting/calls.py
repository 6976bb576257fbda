"""A value and the Python that makes it, so that what a page says and what was done are one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Made", "call"]


@dataclass(frozen=True)
class Made:
    """A value, and the expression that a reader may run to have it."""

    text: str
    value: Any

    def sel(self, **labels: Any) -> Made:
        """Return the part with these labels."""
        given = ", ".join(f"{name}={value!r}" for name, value in labels.items())
        return Made(f"{self.text}.sel({given})", self.value.sel(**labels))


def call(function: str, *arguments: Any, **options: Any) -> Made:
    """Return what a function of this package returns, with its call as text.

    Parameters
    ----------
    function
        Its name behind ``lcdb.``.
    arguments, options
        Plain values, or what was made.

    Examples
    --------
    >>> call("plot.colour_of", "LDC")
    Made(text="lcdb.plot.colour_of('LDC')", value='#332288')
    """
    import lcdb

    target: Any = lcdb
    for name in function.split("."):
        target = getattr(target, name)
    texts = [_text(value) for value in arguments]
    texts += [f"{name}={_text(value)}" for name, value in options.items()]
    values = [_value(value) for value in arguments]
    named = {name: _value(value) for name, value in options.items()}
    return Made(f"lcdb.{function}({', '.join(texts)})", target(*values, **named))


def _text(value: Any) -> str:
    return value.text if isinstance(value, Made) else repr(value)


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Made) else value
