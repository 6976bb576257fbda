"""A host on this machine's loopback that serves a folder, counts requests, and does what is wrong.

A fault is a function ``(handler, path, data, span) -> bool``: it answers itself and returns True,
or leaves the request to the host. `span` is the range that was asked for, None for a whole file.
"""

from __future__ import annotations

import mimetypes
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["Served", "answer", "serving"]

Span = tuple[int, int] | None
Fault = Callable[[Any, str, bytes, Span], bool]


@dataclass
class Served:
    """A folder while it is served."""

    root: Path
    url: str = ""
    requests: list[tuple[str, int]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    fault: Fault | None = None

    @property
    def bytes(self) -> int:
        """Sent so far, without headers."""
        return sum(count for _, count in self.requests)

    def forget(self) -> None:
        """Count from here."""
        self.requests.clear()
        self.headers.clear()


def answer(handler: BaseHTTPRequestHandler, code: int, data: bytes = b"", **headers: str) -> bool:
    """Answer with these headers (``Content_Range`` for ``Content-Range``) and nothing else."""
    handler.send_response(code)
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    for name, value in {"Content-Length": str(len(data)), **told}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)
    return True


@contextmanager
def serving(root: Path) -> Iterator[Served]:
    """Serve a folder by ranges while the context lasts."""
    served = Served(root)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            file = root / path.lstrip("/")
            data = file.read_bytes() if file.is_file() else b""
            told = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            span = (int(told[1]), int(told[2])) if told else None
            part = data if span is None else data[span[0] : span[1] + 1]
            served.requests.append((path, len(part)))
            served.headers.append(dict(self.headers))
            try:
                if served.fault is not None and served.fault(self, path, data, span):
                    return
                if not file.is_file():
                    answer(self, 404)
                elif span is None:
                    kind = mimetypes.guess_type(path)[0] or "application/octet-stream"
                    answer(self, 200, part, Content_Type=kind)
                elif not part:
                    answer(self, 416)
                else:
                    last = span[0] + len(part) - 1
                    answer(self, 206, part, Content_Range=f"bytes {span[0]}-{last}/{len(data)}")
            except (BrokenPipeError, ConnectionResetError):
                pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
