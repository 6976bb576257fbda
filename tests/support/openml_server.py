"""A small OpenML on loopback: enough of API v1 (XML) for OpenML's own client, and its faults.

Use it as a context manager; `api` is what the client calls the server. A fault is a function that
gets the handler of a request and returns True if it has dealt with it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.sax.saxutils import escape

from tests.support.snapshots import data_folder

IRIS = Path(__file__).parents[2] / "data" / "iris.arff"
NAMESPACE = 'xmlns:oml="http://openml.org/openml"'


@dataclass(frozen=True)
class Served:
    """A dataset as OpenML describes and serves it; `extra` is more XML for the description."""

    id: int
    name: str
    arff: bytes
    target: str | None = "class"
    version: int = 1
    format: str = "ARFF"
    md5: str | None = None
    extra: str = ""

    @property
    def announced_md5(self) -> str:
        return hashlib.md5(self.arff).hexdigest() if self.md5 is None else self.md5

    def description(self, base: str) -> bytes:
        target = escape(self.target or "")
        parts = {
            "id": self.id,
            "name": escape(self.name),
            "version": self.version,
            "description": "served by a test",
            "format": self.format,
            "upload_date": "2014-04-06T23:23:39",
            "licence": "Public",
            "url": f"{base}/data/v1/download/{self.id}/{escape(self.name)}.arff",
            "parquet_url": f"{base}/datasets/0000/{self.id:04d}/dataset_{self.id}.pq",
            "file_id": self.id,
            "default_target_attribute": target,
            "visibility": "public",
            "status": "active",
            "md5_checksum": self.announced_md5,
        }
        inside = "".join(f"<oml:{k}>{v}</oml:{k}>" for k, v in parts.items() if v != "")
        text = f"<oml:data_set_description {NAMESPACE}>{inside}{self.extra}"
        return f"{text}</oml:data_set_description>".encode()


class Handler(BaseHTTPRequestHandler):
    """Answers with exact lengths, as the client expects."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    @property
    def is_arff(self) -> bool:
        return self.path.startswith("/data/v1/download/")

    def send(self, code: int, body: bytes, kind: str = "text/xml; charset=utf-8", more: int = 0):
        """Send an answer; `more` is by how much its length is a lie."""
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) + more))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, http: int, code: int, message: str) -> None:
        """Send an error as OpenML sends them."""
        inside = f"<oml:code>{code}</oml:code><oml:message>{message}</oml:message>"
        self.send(http, f"<oml:error {NAMESPACE}>{inside}</oml:error>".encode())

    def do_GET(self) -> None:
        outer = self.server.outer
        outer.log.append(self.path)
        if any(fault(self) for fault in outer.faults):
            return
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[:4] == ["api", "v1", "xml", "data"] and len(parts) == 5:
            found = outer.datasets.get(parts[4])
            if found is None:
                self.refuse(412, 111, "Unknown dataset")
            else:
                self.send(200, found.description(outer.base))
        elif self.is_arff and parts[3] in outer.datasets:
            self.send(200, outer.datasets[parts[3]].arff, "text/plain; charset=utf-8")
        else:
            self.refuse(404, 100, "Function not valid")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A child that was killed for its silence leaves a broken pipe behind: no news.
    outer: OpenMLServer

    def handle_error(self, request: object, client_address: object) -> None:
        """Keep quiet about connections that the client gave up."""


Fault = Callable[[Handler], bool]


@dataclass
class OpenMLServer:
    """The server: datasets by id, the paths that were asked for, and the faults to commit."""

    served: list[Served]
    faults: list[Fault] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.datasets = {str(one.id): one for one in self.served}
        self.released = threading.Event()

    def __enter__(self) -> OpenMLServer:
        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.outer = self
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.api = f"{self.base}/api/v1/xml"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def copies(*ids: int) -> list[Served]:
    """Return copies of OpenML's datasets as OpenML serves them; iris ships, byte for byte."""
    targets = {23: "Contraceptive_method_used", 1063: "problems"}
    found = []
    for id in ids:
        if id == 61:
            found.append(Served(id, "iris", IRIS.read_bytes(), "class"))
            continue
        (path,) = (data_folder() / "openml").glob(f"{id}-*.arff")
        name = path.stem.partition("-")[2]
        found.append(Served(id, name, path.read_bytes(), targets.get(id, "class")))
    return found
