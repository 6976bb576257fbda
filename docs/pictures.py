"""Draw the pictures of the pages, but for those of the explorer: `make pictures`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl

import findings.figures as of_findings
import lcdb
import learning_rates


def _of_the_tutorial(folder: Path) -> list[Path]:
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
            plt.close("all")
    return made


def _of_learning_rates(folder: Path) -> list[Path]:
    scores = json.loads((learning_rates.FOLDER / "mlp.json").read_text(encoding="utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    learning_rates.draw(scores, folder / "mlp.svg")
    return [folder / "mlp.svg"]


def _of_the_reference(folder: Path, figures: dict) -> list[Path]:
    with lcdb.reference() as db:
        return of_findings.draw(db, folder, figures)


#: Each folder of pictures, and what draws them.
FOLDERS: dict[str, Callable[[Path], list[Path]]] = {
    "": _of_the_tutorial,
    "learning_rates": _of_learning_rates,
    "findings": lambda folder: _of_the_reference(folder, of_findings.FIGURES),
    "paper": lambda folder: _of_the_reference(folder, of_findings.PAPERS),
}


def draw(folder: Path) -> list[Path]:
    """Write every picture into a folder, and return the files."""
    mpl.use("agg")
    return [path for name, make in FOLDERS.items() for path in make(folder / name)]


if __name__ == "__main__":
    print(*draw(Path(sys.argv[1])), sep="\n")
