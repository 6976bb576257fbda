"""A dataset from OpenML: fetched by a child process, verified, converted by our own reader.

The ARFF file is used, not parquet: it alone has a checksum, and declares the order of categories.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lcdb.errors import DatasetError, FetchError, MissingExtraError
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.processes import child_environment, python
from lcdb_builders.sources import openml_child
from lcdb_builders.sources.arff import arff_names, read_arff
from lcdb_builders.sources.catalog import Expected, find
from lcdb_builders.sources.convert import to_snapshot, with_origin
from lcdb_builders.sources.limits import limits
from lcdb_builders.sources.table import about, decode

__all__ = ["OpenML"]

SERVER = "https://www.openml.org/api/v1/xml"


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name)
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        msg = f"{name} is {text!r}; expected a number of seconds above 0"
        raise FetchError(msg)
    return seconds


@dataclass(frozen=True)
class OpenML:
    """A server that speaks OpenML's API, and the patience to have with it.

    Parameters
    ----------
    server
        Address of the XML API, version 1.
    timeout
        Seconds that the server may stay silent.
    deadline
        Seconds that a whole dataset may take.
    retries
        How often a broken connection is tried.
    """

    server: str = SERVER
    timeout: float = 60.0
    deadline: float = 900.0
    retries: int = 3

    @classmethod
    def from_environment(cls) -> OpenML:
        """Return the settings that ``LCDB_OPENML_*`` variables ask for."""
        return cls(
            server=os.environ.get("LCDB_OPENML_SERVER") or SERVER,
            timeout=_seconds("LCDB_OPENML_TIMEOUT", cls.timeout),
            deadline=_seconds("LCDB_OPENML_DEADLINE", cls.deadline),
        )

    def fetch(self, id: str) -> Snapshot:
        """Return the snapshot of an OpenML id, or raise saying what went wrong and what to do."""
        entry = find(id)
        label = entry.label if entry else id
        with tempfile.TemporaryDirectory(prefix="lcdb-openml-") as folder:
            try:
                answer = self._ask(id, Path(folder))
                content = _verified(id, answer)
            except FetchError as error:
                msg = (
                    f"dataset {label} could not be fetched from OpenML: {error}; try again, or "
                    f"take a local copy with 'lcdb fetch {id} --from FILE'"
                )
                raise FetchError(msg) from error
        with about(label):
            return _snapshot(id, answer, content, entry)

    def _ask(self, id: str, folder: Path) -> dict[str, Any]:
        """Run the client in a child process and return its answer."""
        if importlib.util.find_spec("openml") is None:
            msg = "fetching needs openml; install it with: pip install 'lcdb-plusplus[build]'"
            raise MissingExtraError(msg)
        asked = {
            "folder": str(folder),
            "id": int(id),
            "server": self.server,
            "timeout": self.timeout,
            "retries": self.retries,
            "most_bytes": limits().bytes,
        }
        # As a file, so that the child need not import this package; -P keeps the file's neighbours
        # from passing for modules of that name.
        command = python(openml_child.__file__, json.dumps(asked))
        try:
            child = subprocess.run(
                command,
                env=self._environment(folder),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.deadline,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            msg = f"{urlsplit(self.server).netloc} was not done after {self.deadline:g} s"
            raise FetchError(msg) from error
        written = folder / openml_child.ANSWER
        if not written.is_file():
            lines = child.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            msg = f"OpenML's client stopped (exit code {child.returncode}): {lines[-1]}"
            raise FetchError(msg)
        answer = json.loads(written.read_text("utf-8"))
        if "error" in answer:
            raise FetchError(answer["error"])
        return answer

    def _environment(self, folder: Path) -> dict[str, str]:
        """Return the child's environment: its own folders, ARFF, and no proxy on loopback."""
        variables = {
            **child_environment(),
            "OPENML_CACHE_DIR": str(folder / "cache"),
            "OPENML_SKIP_PARQUET": "true",
            "PYTHONWARNINGS": "ignore",
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        host = urlsplit(self.server).hostname or ""
        if host == "localhost" or host.startswith("127."):
            variables["NO_PROXY"] = variables["no_proxy"] = host
        return variables


def _verified(id: str, answer: dict[str, Any]) -> bytes:
    """Return the bytes of the downloaded file, after checking them against OpenML's md5."""
    if str(answer["id"]) != id:
        msg = f"it was answered with the description of dataset {answer['id']}"
        raise FetchError(msg)
    if str(answer["format"]).lower() not in {"arff", "sparse_arff"}:
        msg = f"it is served as {answer['format']!r}, not as ARFF"
        raise FetchError(msg)
    if not answer["md5"]:
        msg = "no md5 is announced, so the file cannot be verified"
        raise FetchError(msg)
    content = Path(answer["arff"]).read_bytes()
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if md5 != answer["md5"].lower():
        msg = f"the file that came has md5 {md5}, expected {answer['md5']}"
        raise FetchError(msg)
    return content


def _listed(value: str | list[str] | None, names: Iterable[str]) -> list[str]:
    """Return the columns that a description lists, be it as a list or with commas."""
    texts = [value] if isinstance(value, str) else value or []
    known = set(names)
    parts = [text if text in known else text.split(",") for text in texts]
    flat = [part for text in parts for part in ([text] if isinstance(text, str) else text)]
    return [name for name in (part.strip().strip("\"'") for part in flat) if name in known]


def _snapshot(id: str, answer: dict[str, Any], content: bytes, entry: Expected | None) -> Snapshot:
    text = decode(content)
    names = arff_names(text)
    target = answer["target"] or (entry.target if entry else "")
    if not target or (target not in names and "," in target):
        msg = f"OpenML names {target or 'no column'!r} as its target; expected one column"
        raise DatasetError(msg)
    drop = [*_listed(answer["ignore"], names), *_listed(answer["row_id"], names)]
    table = read_arff(text, drop=sorted({name for name in drop if name != target}))
    name = entry.name if entry else str(answer["name"])
    snapshot = to_snapshot(table, id=id, name=name, target=target)
    facts: dict[str, Any] = {"openml_id": int(id)}
    if entry:
        entry.check(snapshot)
        facts = entry.facts(snapshot)
    facts |= {"source": "openml", "openml_name": answer["name"], "openml_md5": answer["md5"]}
    if answer["version"] is not None:
        facts["openml_version"] = int(answer["version"])
    return with_origin(snapshot, facts)
