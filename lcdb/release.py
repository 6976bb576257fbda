"""A release: summaries of a database under a version that citations can name.

`release.json` beside the summaries says which version it is, and which files it is made of. A
database without that file has no version.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from lcdb._version import __version__
from lcdb.atomic import replace_file
from lcdb.errors import ArgumentError, DamagedError
from lcdb.regular import read_regular

__all__ = ["RELEASE_NAME", "Release", "read_release", "write_release"]

RELEASE_NAME = "release.json"


@dataclass(frozen=True)
class Release:
    """What a release says of itself.

    Parameters
    ----------
    title, version
        What it is called, and which one of several.
    package_version
        Of what made it.
    files
        SHA-256 by name.
    """

    title: str
    version: str
    package_version: str
    files: dict[str, str]

    @property
    def citation(self) -> str:
        """A line that names it.

        Examples
        --------
        >>> Release("Learning curves", "1.0", "0.2.0", {"61.nc": "ab"}).citation
        'Learning curves, version 1.0 (made with lcdb 0.2.0; 1 summaries)'
        """
        made = f"made with lcdb {self.package_version}; {len(self.files)} summaries"
        return f"{self.title}, version {self.version} ({made})"


def write_release(folder: Path, version: str, title: str, files: Iterable[Path]) -> Release:
    """Write what a release is made of into the folder of a database, and return it.

    Raises
    ------
    ArgumentError
        The version or the title is no text in one line.
    """
    for name, text in (("version", version), ("title", title)):
        if not text.strip() or not text.isprintable():
            msg = f"{name} is {text!r}; expected text in one line"
            raise ArgumentError(msg)
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(files)}
    release = Release(title, version, __version__, digests)
    text = json.dumps(asdict(release), indent=1, sort_keys=True, ensure_ascii=False)
    replace_file(folder / RELEASE_NAME, f"{text}\n".encode())
    return release


def read_release(folder: Path | str) -> Release | None:
    """Return the release that a database directory is; None if it is none.

    Raises
    ------
    DamagedError
        The file that says so is not what was written.
    """
    path = Path(folder) / RELEASE_NAME
    if not path.is_file():
        return None
    try:
        return Release(**json.loads(read_regular(path, "a release")))
    except (ValueError, TypeError) as error:
        msg = f"{path} is not what 'lcdb summarize --release' writes ({error}); make it again"
        raise DamagedError(msg) from error
