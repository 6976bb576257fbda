"""Take the pictures of docs/explorer.md in a real Chromium: `make explorer-pictures`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from lcdb.schema import LEARNERS
from lcdb.shipped import named
from lcdb.site.serve import exploring
from tests.support.browser import chromium

#: By name: of which database, what is shown, on how large a screen, and whether it is dark. What
#: takes repetitions is of the tutorial.
STATES = {
    "curves": (
        "reference",
        {"view": "curves", "dataset": "53", "n": 32, "learner": ["LDC", "QDC", "GSVC", "RFOR"]},
        (1180, 800),
        False,
    ),
    "distribution": (
        "tutorial",
        {"view": "cell", "dataset": "61", "one": "QDC", "n": 20, "split": "varying"},
        (1180, 800),
        False,
    ),
    "pair": (
        "tutorial",
        {"view": "pair", "dataset": "61", "a": "LDC", "b": "NNC", "n": 28},
        (1180, 800),
        False,
    ),
    "ranks": (
        "reference",
        {"view": "ranks", "dataset": "61", "n": 19, "learner": list(LEARNERS)},
        (1180, 800),
        False,
    ),
    "normality": (
        "reference",
        {"view": "normality", "dataset": "61", "one": "LDC", "n": 31, "metric": "brier"},
        (1180, 800),
        True,
    ),
    "phone": (
        "reference",
        {"view": "curves", "dataset": "53", "n": 32, "band": "0.25"},
        (390, 780),
        False,
    ),
}


def take(folder: Path) -> list[Path]:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory(prefix="lcdb-") as profile, chromium(Path(profile)) as page:
        for name, (database, state, size, is_dark) in STATES.items():
            page.resize(*size)
            with exploring(Path(named(database))) as url:
                page.open(f"{url}#{urlencode(state, doseq=True)}")
                page.run(
                    "document.documentElement.dataset.theme = arguments[0] ? 'dark' : 'light'",
                    is_dark,
                )
                made.append(folder / f"{name}.png")
                page.picture(made[-1])
    return made


if __name__ == "__main__":
    print(*take(Path(sys.argv[1])), sep="\n")
