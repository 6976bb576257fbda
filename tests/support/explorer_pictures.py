"""Take the pictures of docs/explorer.md in a real Chromium: `make pictures`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from lcdb.shipped import tutorial
from lcdb.site.serve import exploring
from tests.support.browser import chromium

#: By name: what is shown, on how large a screen, and whether it is dark.
STATES = {
    "curves": ({"view": "curves", "dataset": "61", "n": 20}, (1180, 800), False),
    "distribution": (
        {"view": "cell", "dataset": "61", "one": "QDC", "n": 20, "split": "varying"},
        (1180, 800),
        False,
    ),
    "pair": (
        {"view": "pair", "dataset": "61", "a": "LDC", "b": "NNC", "n": 28},
        (1180, 800),
        False,
    ),
    "normality": (
        {"view": "normality", "dataset": "61", "one": "LDC", "n": 50, "metric": "brier"},
        (1180, 800),
        True,
    ),
    "phone": ({"view": "curves", "dataset": "61", "n": 50, "band": "0.25"}, (390, 780), False),
}


def take(folder: Path) -> list[Path]:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with (
        tempfile.TemporaryDirectory(prefix="lcdb-") as profile,
        tutorial() as db,
        exploring(db.path) as url,
        chromium(Path(profile)) as page,
    ):
        for name, (state, size, is_dark) in STATES.items():
            page.resize(*size)
            page.open(f"{url}#{urlencode(state)}")
            page.run(
                "document.documentElement.dataset.theme = arguments[0] ? 'dark' : 'light'", is_dark
            )
            made.append(folder / f"{name}.png")
            page.picture(made[-1])
    return made


if __name__ == "__main__":
    print(*take(Path(sys.argv[1])), sep="\n")
