"""The page on this machine's loopback: files are made when they are asked for, in memory.

Every user of a machine reaches its loopback. So the address has a token, which only who started the
server was given; the answer to it sets a cookie, by which the page asks for the rest.
"""

from __future__ import annotations

import hmac
import mimetypes
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qs, unquote, urlsplit

from lcdb.database import open as open_database
from lcdb.errors import ArgumentError, LCDBError, NotFoundError, ReadError
from lcdb.remote.format import CUBE_INDEX, decode, index_name
from lcdb.remote.making import cube_index
from lcdb.site.content import Content, page_files
from lcdb.site.make import place_of

__all__ = ["exploring", "index_of"]

_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})", re.ASCII)
_LOOPBACK = "127.0.0.1"
# Bytes of a token; so many cannot be guessed.
_TOKEN = 24


class _Database:
    """What a page asks of one database: bytes by name."""

    def __init__(self, directory: str | os.PathLike[str], sizes: str) -> None:
        self._db = open_database(directory)
        self._lock, self._indexing = threading.Lock(), threading.Lock()
        self._known: dict[str, bytes] = dict(page_files())
        self._makers: dict[str, Callable[[], bytes]] = {}
        self._files: dict[str, Path] = {}
        cubes = {}
        for key, header in self._db.headers.items():
            if header.is_summary:
                continue
            place = place_of(header)
            self._files[place] = header.path
            self._makers[index_name(place)] = partial(index_of, header.path)
            cubes[key] = {"url": place, "index": index_name(place), "sha256": ""}
        self._content = Content(self._db, sizes, str(Path(directory).resolve()), cubes)

    def read(self, name: str, first: int, last: int | None) -> tuple[bytes, int]:
        """Return bytes of a file from one to another, and how many it has."""
        if name in self._files:
            with self._files[name].open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(min(first, size))
                return file.read(size if last is None else max(0, last + 1 - first)), size
        make = self._makers.get(name)
        # The index of a large cube takes seconds: figures are drawn meanwhile.
        with self._lock if make is None else self._indexing:
            if name not in self._known:
                self._known[name] = self._content.read(name) if make is None else make()
            data = self._known[name]
        return data[first : None if last is None else last + 1], len(data)

    def close(self) -> None:
        self._db.close()


def index_of(cube: Path) -> bytes:
    """Return the index of a cube: the one beside it, or one that is made now.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     index_of(db.headers[61].path)[:14]
    b'{"attributes":'
    """
    beside = cube.with_name(index_name(cube.name))
    try:
        data = beside.read_bytes()
        if decode(data, CUBE_INDEX, beside)["header"]["bytes"] == cube.stat().st_size:
            return data  # the page compares every chunk with it
    except (LCDBError, OSError):
        pass
    return cube_index(cube)


def _handler(database: _Database, token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Stay quiet: the terminal shows where the page is."""

        def do_GET(self) -> None:
            self._answer(is_head=False)

        def do_HEAD(self) -> None:
            self._answer(is_head=True)

        def _answer(self, *, is_head: bool) -> None:
            # A page from elsewhere that made its name point to this machine may not read on.
            host = (self.headers.get("Host") or "").rpartition(":")[0]
            if host not in (_LOOPBACK, "localhost"):
                return self._send(421, b"this server answers to 127.0.0.1 and localhost alone")
            address = urlsplit(self.path)
            given = parse_qs(address.query).get("token", [""])[-1]
            # Cookies of a host go to all of its ports.
            cookie = f"lcdb-{self.connection.getsockname()[1]}"
            if not _same(given, token) and not _same(self._cookie(cookie), token):
                return self._send(403, _NO_TOKEN)
            name = unquote(address.path).lstrip("/") or "index.html"
            asked = _RANGE.fullmatch(self.headers.get("Range") or "")
            first = int(asked[1]) if asked else 0
            last = int(asked[2]) if asked and asked[2] else None
            try:
                data, size = database.read(name, first, last)
            except NotFoundError as error:
                return self._send(404, str(error).encode())
            except (LCDBError, OSError) as error:
                return self._send(500, str(error).encode())
            if asked and not data:
                return self._send(416, b"", {"Content-Range": f"bytes */{size}"})
            headers = {"Content-Type": mimetypes.guess_type(name)[0] or "application/octet-stream"}
            if given:
                headers["Set-Cookie"] = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
            if asked:
                headers["Content-Range"] = f"bytes {first}-{first + len(data) - 1}/{size}"
            return self._send(206 if asked else 200, data, headers, is_head=is_head)

        def _cookie(self, name: str) -> str:
            try:
                known = SimpleCookie(self.headers.get("Cookie") or "")
            except CookieError:
                return ""
            return known[name].value if name in known else ""

        def _send(
            self,
            code: int,
            data: bytes,
            headers: Mapping[str, str] = MappingProxyType({}),
            *,
            is_head: bool = False,
        ) -> None:
            told = {"Content-Type": "text/plain; charset=utf-8", "Accept-Ranges": "bytes"}
            told |= {"Content-Length": str(len(data)), "Cache-Control": "no-cache"}
            told |= {"Referrer-Policy": "no-referrer", **headers}
            self.send_response(code)
            for header, value in told.items():
                self.send_header(header, value)
            self.end_headers()
            if not is_head:
                self.wfile.write(data)

    return Handler


_NO_TOKEN = b"this address needs its token: open all of what 'lcdb explore' printed"


def _same(given: str, token: str) -> bool:
    """Return whether a token is right, in a time that says nothing of how much of it is."""
    return hmac.compare_digest(given.encode(), token.encode())


@contextmanager
def exploring(
    directory: str | os.PathLike[str], *, port: int = 0, sizes: str = "log:100"
) -> Iterator[str]:
    """Show a database on this machine's loopback while the context lasts; give the address.

    The address ends in a token, without which nothing is answered: other users of the machine
    reach the loopback as well. Who has opened it once has it in a cookie.

    Parameters
    ----------
    directory
        A database directory, or one cube or summary.
    port
        Of the address; 0 for any that is free.
    sizes
        Training sizes to show, as for `lcdb.site.make.write_site`.

    Raises
    ------
    ArgumentError, NotFoundError, ReadError
        The port is none; there is no database; somebody else has the port.

    Examples
    --------
    >>> import lcdb
    >>> from urllib.request import urlopen
    >>> with lcdb.tutorial() as db, exploring(db.path) as url:
    ...     page = urlopen(url).read()
    >>> b"<title>" in page
    True
    """
    if not 0 <= port <= 65535:
        msg = f"port is {port}; expected a number from 0 (any that is free) to 65535"
        raise ArgumentError(msg)
    database, token = _Database(directory, sizes), secrets.token_urlsafe(_TOKEN)
    try:
        try:
            server = ThreadingHTTPServer((_LOOPBACK, port), _handler(database, token))
        except OSError as error:
            msg = f"port {port} cannot be had ({error.strerror}); name another, or none"
            raise ReadError(msg) from error
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1})
        thread.start()
        try:
            yield f"http://{_LOOPBACK}:{server.server_port}/?token={token}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
    finally:
        database.close()
