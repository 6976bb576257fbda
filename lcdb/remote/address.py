"""Addresses of databases: what is a URL, what stands beside it, and what of it may be shown."""

from __future__ import annotations

import os
import re
from urllib.parse import quote, urlsplit

from lcdb.errors import ArgumentError

__all__ = ["Address", "is_url"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]+://")


def is_url(path: str | os.PathLike[str]) -> bool:
    """Return whether a database is given by a URL, not by a path.

    Examples
    --------
    >>> is_url("https://host/db"), is_url("s3://bucket/db"), is_url("demo"), is_url("c:/demo")
    (True, True, False, False)
    """
    return isinstance(path, str) and _SCHEME.match(path) is not None


class Address:
    """The URL of a folder or a file, without what may be secret when it is shown.

    Parameters
    ----------
    url
        A query (a signature, as some hosts want it) goes along with every request and is not shown.

    Examples
    --------
    >>> folder = Address("https://host/db/?signature=1")
    >>> print(folder / "cubes/61.nc", (folder / "cubes/61.nc").url)
    https://host/db/cubes/61.nc https://host/db/cubes/61.nc?signature=1
    >>> folder.name, (folder / "cubes/61.nc").parent == folder / "cubes"
    ('db', True)
    """

    def __init__(self, url: str) -> None:
        self.scheme = url.partition("://")[0].lower()
        self._shown, self._query = url.rstrip("/"), ""
        if self.is_http:
            parts = urlsplit(url)
            if parts.username is not None or not parts.hostname:
                why = "a name and password in it would be shown" if parts.username else "no host"
                msg = f"a URL of {self.scheme}://…@{parts.hostname} cannot be used: {why}"
                raise ArgumentError(msg)
            path = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
            self._shown = f"{self.scheme}://{parts.netloc}{path}"
            self._query = f"?{parts.query}" if parts.query else ""

    @property
    def is_http(self) -> bool:
        """Whether Python's own client reads it."""
        return self.scheme in ("http", "https")

    @property
    def url(self) -> str:
        """The whole URL, as it is asked for."""
        return self._shown + self._query

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self._shown.rpartition("/")[2]

    @property
    def parent(self) -> Address:
        """The folder in which it lies."""
        return Address(self._shown.rpartition("/")[0] + self._query)

    def __truediv__(self, name: str) -> Address:
        return Address(f"{self._shown}/{name}{self._query}")

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and other.url == self.url

    def __hash__(self) -> int:
        return hash(self.url)
