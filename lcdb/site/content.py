"""What the page reads: a description of the database, and a small file for each thing it shows.

Files are made when they are asked for. `lcdb.site.make` asks for all of them, a server for those
that somebody looks at.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from lcdb._version import __version__
from lcdb.cubefile import Header
from lcdb.database import Database, Key
from lcdb.errors import NotFoundError
from lcdb.naming import cube_key
from lcdb.schema import LEARNER_ROWS, METRICS, STATUSES
from lcdb.selection import USUAL
from lcdb.site.cells import (
    COLUMNS,
    PROBABILITIES,
    Labels,
    Panel,
    cells,
    cells_of_summary,
    pairs,
)
from lcdb.site.table import as_table
from lcdb.summaries.make import computed_sizes
from lcdb.summaries.sizes import chosen_sizes

__all__ = ["DESCRIPTION", "PAGE", "Content", "page_files"]

#: Where the page finds what there is.
DESCRIPTION = "site.json"
#: Version of that and of the tables.
_VERSION = 1
#: The page's own files.
PAGE = files("lcdb.site") / "page"


def page_files() -> dict[str, bytes]:
    """Return the page's own files by name.

    Examples
    --------
    >>> "index.html" in page_files()
    True
    """
    return {
        file.name: file.read_bytes()
        for file in sorted(PAGE.iterdir(), key=lambda file: file.name)
        if file.name.endswith((".html", ".css", ".js", ".svg"))
    }


class Content:
    """What a page reads of one database.

    Parameters
    ----------
    db
        An open database.
    sizes
        Training sizes to show, as `lcdb.summaries.sizes.chosen_sizes` takes them; of a summary
        those that it has.
    opens
        What `lcdb.open` takes to open the database, for the page to show; ``"."`` for the address
        of the page itself.
    cubes
        Where full cubes are, by the key of their dataset: ``url``, ``index`` and ``sha256``.

    Raises
    ------
    NotFoundError
        The database has experiments alone, or nothing.

    Examples
    --------
    >>> import lcdb
    >>> with lcdb.tutorial() as db:
    ...     content = Content(db, "log:5", "db", {})
    ...     "data/61/0-1-0-auc.curves.bin" in list(content.paths())
    True
    """

    def __init__(
        self, db: Database, sizes: str, opens: str, cubes: Mapping[Key, Mapping[str, str]]
    ) -> None:
        if not db.headers:
            msg = f"{db.path} holds no learning curves, which are what the page shows; " + (
                "of experiments there are figures and tables: 'lcdb plot DIR --paper "
                "jordan2018 --figure 1', 'lcdb tables DIR --paper jordan2018'"
                if db.experiments
                else "expected a database that 'lcdb build' made from a plan of curves"
            )
            raise NotFoundError(msg)
        self.db, self.opens, self.cubes = db, opens, cubes
        self._sizes = {key: self._sizes_of(key, sizes) for key in db}
        self._made: dict[str, tuple[Key, Labels, str, str]] = {}
        self._last: tuple[Any, tuple[Any, dict[str, np.ndarray]]] = (None, (None, {}))
        self._summary: tuple[Key | None, Any] = (None, None)
        for key, header in db.headers.items():
            for (place, labels), metric, kind in _parts(header):
                name = f"data/{_folder(header)}/{place}-{metric}.{kind}.bin"
                self._made[name] = key, labels, metric, kind

    def _sizes_of(self, key: Key, text: str) -> np.ndarray:
        header = self.db.headers[key]
        if header.is_summary:
            return header.sizes
        return chosen_sizes(text, computed_sizes(self.db[key]))

    def paths(self) -> Iterator[str]:
        """Yield the names of all files, relative to the page."""
        yield DESCRIPTION
        yield from self._made

    def by_dataset(self) -> Iterator[tuple[Key | None, list[str]]]:
        """Yield the names of all files, those of a dataset together; the description comes first.

        Examples
        --------
        >>> import lcdb
        >>> with lcdb.tutorial() as db:
        ...     [(key, len(names)) for key, names in Content(db, "log:5", "db", {}).by_dataset()]
        [(None, 1), (11, 72), (61, 72)]
        """
        yield None, [DESCRIPTION]
        for key, some in itertools.groupby(self._made, lambda name: self._made[name][0]):
            yield key, list(some)

    def read(self, path: str) -> bytes:
        """Return one of the files.

        Raises
        ------
        NotFoundError
            There is none of that name.
        """
        if path == DESCRIPTION:
            return json.dumps(self.describe(), separators=(",", ":")).encode()
        if path not in self._made:
            msg = f"the page has no file {path!r}"
            raise NotFoundError(msg)
        return as_table(self._columns(*self._made[path]))

    def _columns(self, key: Key, labels: Labels, metric: str, kind: str) -> dict[str, np.ndarray]:
        asked = (key, labels, metric)
        if self._last[0] != asked:  # the files of a panel are asked for one after the other
            self._last = asked, self._panel(*asked)
        panel, known = self._last[1]
        return pairs(panel) if kind == "pairs" else {name: known[name] for name in COLUMNS[kind]}

    def _panel(self, key: Key, labels: Labels, metric: str) -> tuple[Any, dict[str, np.ndarray]]:
        """Return a panel, None of a summary, and the statistics of its cells."""
        if self.db.headers[key].is_summary:
            if self._summary[0] != key:
                # Some 3 MB: a panel alone takes as long to read, and there are a hundred of them.
                self._summary = key, self.db[key].load()
            return None, cells_of_summary(self._summary[1], labels, metric)
        panel = Panel.of(self.db[key], labels, metric, self._sizes[key])
        return panel, cells(panel)

    def describe(self) -> dict[str, Any]:
        """Return what there is: metrics, datasets, labels, sizes, where cubes are."""
        return {
            "version": _VERSION,
            "lcdb": __version__,
            "opens": self.opens,
            "probabilities": list(PROBABILITIES),
            "statuses": list(STATUSES),
            "usual": dict(USUAL),
            "long_names": {name: row.long_name for name, row in LEARNER_ROWS.items()},
            "metrics": [
                {name: getattr(metric, name) for name in ("name", "long_name", "direction")}
                for metric in METRICS.values()
            ],
            "datasets": [self._dataset(key, header) for key, header in self.db.headers.items()],
        }

    def _dataset(self, key: Key, header: Header) -> dict[str, Any]:
        names = ("id", "name", "scaling", "rows", "features", "classes", "repetitions")
        return {
            "key": str(key),
            **{name: getattr(header, name) for name in names},
            "labels": {dim: list(labels) for dim, labels in header.labels.items()},
            "status": header.status.ravel().tolist(),
            "sizes": self._sizes[key].tolist(),
            "folder": f"data/{_folder(header)}",
            "summary": header.is_summary,
            "cube": dict(self.cubes[key]) if key in self.cubes else None,
        }


def _folder(header: Header) -> str:
    return cube_key(header.id, header.scaling)


def _parts(header: Header) -> Iterator[tuple[tuple[str, Labels], str, str]]:
    """Yield what there is of a cube: places and labels, metric, and what a file is of.

    Files are named by places and not by labels, which may be any text.
    """
    kinds = list(COLUMNS)
    if not header.is_summary and len(header.labels["learner"]) > 1:
        kinds.append("pairs")
    labels = [list(enumerate(header.labels[dim])) for dim in ("sampling", "split", "tuning")]
    for unit in itertools.product(*labels):
        place = "-".join(str(i) for i, _ in unit)
        names = tuple(name for _, name in unit)
        for metric, kind in itertools.product(METRICS, kinds):
            yield (place, names), metric, kind  # type: ignore[misc]
