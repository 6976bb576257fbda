"""Draw the pictures of the pages from the database that ships: `make pictures`."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl

import lcdb


def draw(folder: Path) -> list[Path]:
    """Write every picture into a folder."""
    mpl.use("agg")
    import matplotlib.pyplot as plt

    made = []
    with lcdb.tutorial() as db:
        labels = {"sampling": "random", "split": "varying", "metric": "accuracy"}
        curve = db.curve("iris", "LDC", **labels).dropna("n")
        pictures = {
            "quantile_curves": lambda: lcdb.plot.quantile_curves(curve),
            "samplings": lcdb.plot.samplings,
            "inverse_cdf": lambda: lcdb.plot.draw(db, "icdf", dataset="iris"),
        }
        for name, picture in pictures.items():
            plt.close("all")
            picture()
            made.append(folder / f"{name}.png")
            # No version of matplotlib in it: the same picture is the same file.
            plt.savefig(made[-1], dpi=120, metadata={"Software": None})
    return made


if __name__ == "__main__":
    print(*draw(Path(sys.argv[1])), sep="\n")
