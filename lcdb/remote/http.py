"""Ranges over HTTP, with all that hosts do besides what was asked for told by name.

Python's own client: it knows proxies and certificates. Redirects are followed, as hosts of data
need them, but never from https to http or to anything that is neither.
"""

from __future__ import annotations

import gzip
import http.client
import io
import re
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from lcdb._version import __version__
from lcdb.errors import ArgumentError, HostError, NotFoundError, ReadError, StaleError
from lcdb.remote.address import Address
from lcdb.remote.transport import AgainError, Policy, Transport

__all__ = ["HTTP"]

_BUSY = {408, 425, 429, 500, 502, 503, 504}
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_PIECE = 1 << 16
# What a connection raises that breaks; URLError and timeouts are OSErrors.
_BROKEN = (OSError, http.client.HTTPException)


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new.scheme not in ("http", "https") or (old.scheme, new.scheme) == ("https", "http"):
            where = f"{new.scheme}://{new.hostname}"
            text = f"{_shown(req.full_url)} is redirected to {where}, which is not followed"
            msg = f"{text}: expected https, or http from http; give the URL itself"
            raise HostError(msg)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _shown(url: str) -> str:
    return url.partition("?")[0]


class HTTP(Transport):
    """Reads from hosts that speak HTTP.

    Parameters
    ----------
    policy
        How often and how long.
    options
        ``headers``: a dict of what goes along with every request, such as an authorization.
    """

    def __init__(self, policy: Policy, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(policy)
        options = dict(options or {})
        self._headers = {str(k): str(v) for k, v in dict(options.pop("headers", {})).items()}
        if options:
            msg = f"storage_options of http has {next(iter(options))!r}; expected 'headers' alone"
            raise ArgumentError(msg)
        self._opener = urllib.request.build_opener(_Redirects)

    def __reduce__(self) -> tuple[Any, ...]:
        return HTTP, (self.policy, {"headers": self._headers})

    def whole(self, address: Address, limit: int, *, fresh: bool = False) -> bytes:
        """Return a whole file of at most so many bytes."""

        def attempt() -> bytes:
            with self._ask(address, {}, fresh) as answer:
                data = self._body(answer, limit)
                if len(data) > limit:
                    msg = f"{address} is larger than {limit:,} bytes, which no index is"
                    raise HostError(msg)
                return _unpacked(answer, data, limit)

        return self.again(address, attempt)

    def part(
        self, address: Address, first: int, length: int, size: int, *, fresh: bool = False
    ) -> bytes:
        """Return exactly the bytes of a range of a file that has `size` bytes."""

        def attempt() -> bytes:
            wanted = {"Range": f"bytes={first}-{first + length - 1}"}
            with self._ask(address, wanted, fresh) as answer:
                _check_range(address, answer, first, length, size)
                data = self._body(answer, length)
                if len(data) < length:
                    msg = f"it sent {len(data):,} of {length:,} bytes and ended"
                    raise AgainError(msg)
                if len(data) > length:
                    msg = f"{address}: its host sent more than the {length:,} bytes it spoke of"
                    raise HostError(msg)
                return data

        return self.again(address, attempt)

    def _ask(self, address: Address, headers: dict[str, str], fresh: bool) -> Any:
        """Return the answer, or raise what is wrong with its status."""
        sent = {"User-Agent": f"lcdb/{__version__}", "Accept-Encoding": "identity", **headers}
        if fresh:
            sent["Cache-Control"] = "no-cache"
        request = urllib.request.Request(address.url, headers=sent)
        for name, value in self._headers.items():
            request.add_unredirected_header(name, value)  # not for the hosts that it leads to
        try:
            return self._opener.open(request, timeout=self.policy.timeout)
        except HostError:
            raise
        except urllib.error.HTTPError as error:
            with error:
                _refused(address, error)
        except _BROKEN as error:
            raise AgainError(_reason(error)) from error

    def _body(self, answer: Any, length: int) -> bytes:
        """Return what comes, up to a byte more than expected, unless it comes too slowly."""
        start, data = time.monotonic(), io.BytesIO()
        try:
            while data.tell() <= length:
                piece = answer.read1(min(_PIECE, length + 1 - data.tell()))
                if not piece:
                    break
                data.write(piece)
                allowed = self.policy.timeout + data.tell() / self.policy.slowest
                if time.monotonic() - start > allowed:
                    msg = f"it sent {data.tell():,} bytes in {allowed:.0f} seconds"
                    raise AgainError(msg)
            missing = answer.length
        except _BROKEN as error:
            raise AgainError(_reason(error)) from error
        if missing and data.tell() <= length:
            msg = f"it ended {missing:,} bytes early"
            raise AgainError(msg)
        return data.getvalue()


def _reason(error: BaseException) -> str:
    inner = getattr(error, "reason", None)
    if isinstance(inner, BaseException):
        error = inner
    return " ".join(str(error).split()) or type(error).__name__


def _refused(address: Address, error: urllib.error.HTTPError) -> None:
    """Raise for a status that is an error."""
    code, said = error.code, f"{error.code} {error.reason}".strip()
    if code in _BUSY:
        msg = f"its host says {said}"
        raise AgainError(msg, _after(error.headers.get("Retry-After")))
    if code in (404, 410):
        msg = f"{address} does not exist (its host says {said})"
        raise NotFoundError(msg)
    if code in (401, 403):
        msg = (
            f"{address} may not be read, or does not exist (its host says {said}): it wants "
            "credentials; see storage_options of lcdb.open"
        )
        raise ReadError(msg)
    if code == 416:
        msg = f"{address} is shorter than its index says: it was replaced; open the database again"
        raise StaleError(msg)
    if 300 <= code < 400:
        msg = f"{address} is redirected in a way that cannot be followed ({said}): give the URL \
that it leads to"
        raise HostError(msg)
    msg = f"{address} cannot be read: its host says {said}"
    raise HostError(msg)


def _after(text: str | None) -> float | None:
    """Return the seconds that a host asks to wait: a number, or a date."""
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _check_range(address: Address, answer: Any, first: int, length: int, size: int) -> None:
    """Raise unless an answer is of the very range that was asked for, as it is in the file."""
    what = f"{address}: its host"
    if answer.status != 206:
        msg = (
            f"{what} ignores ranges (it answered {answer.status}, expected 206): a database can "
            "be opened only from hosts that know them; download the whole, and open the folder"
        )
        raise HostError(msg)
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding != "identity":
        msg = (
            f"{what} compresses ranges on the way ({encoding}), though it was asked not to: what "
            "it sends are no bytes of the cube; have it leave .nc files as they are"
        )
        raise HostError(msg)
    told = answer.headers.get("Content-Range", "").strip()
    match = _RANGE.fullmatch(told)
    if not match or (int(match[1]), int(match[2])) != (first, first + length - 1):
        msg = (
            f"{what} sent another range than it was asked for ({told or 'it does not say which'}; "
            f"expected bytes {first}-{first + length - 1})"
        )
        raise HostError(msg)
    if match[3] not in ("*", str(size)):
        msg = (
            f"{address} was replaced: it has {int(match[3]):,} bytes, its index says {size:,}; "
            "open the database again, or run 'lcdb index' where it is kept"
        )
        raise StaleError(msg)
    stated = answer.headers.get("Content-Length")
    if stated is not None and stated.strip() != str(length):
        msg = f"{what} lies about lengths: a range of {length:,} bytes is said to have {stated}"
        raise HostError(msg)


def _unpacked(answer: Any, data: bytes, limit: int) -> bytes:
    """Return a whole file as it is on the host, which may have compressed it on the way."""
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding == "identity":
        return data
    if encoding in ("gzip", "x-gzip"):
        try:
            with gzip.open(io.BytesIO(data)) as file:
                unpacked = file.read(limit + 1)
        except (OSError, EOFError, zlib.error) as error:
            msg = f"what it sent is no {encoding}: {error}"
            raise AgainError(msg) from error
        if len(unpacked) <= limit:
            return unpacked
    msg = f"{_shown(answer.url)} was sent as {encoding!r}, expected it as it is, or gzip"
    raise HostError(msg)
