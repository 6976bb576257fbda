"""X and y of an ARFF file, read with liac-arff and coded with plain loops."""

from __future__ import annotations

import statistics

import arff


def read(text: str, target: str) -> tuple[list[list[float]], list[int], list[str]]:
    """Return features, classes and class names: the header's order of categories gives codes."""
    decoded = arff.loads(text)
    names = [name for name, _ in decoded["attributes"]]
    kinds = [kind for _, kind in decoded["attributes"]]
    rows = [row for row in decoded["data"] if row[names.index(target)] is not None]
    columns = []
    for position, kind in enumerate(kinds):
        cells = [row[position] for row in rows]
        if kind == "STRING":
            kind = list(dict.fromkeys(cell for cell in cells if cell is not None))
        if isinstance(kind, list):
            codes = [None if cell is None else kind.index(cell) for cell in cells]
            present = [code for code in codes if code is not None]
            most = max(map(present.count, present))
            filler = min(code for code in present if present.count(code) == most)
            columns.append([filler if code is None else code for code in codes])
        else:
            present = [cell for cell in cells if cell is not None]
            filler = statistics.median(present)
            columns.append([float(filler if cell is None else cell) for cell in cells])
    y = columns.pop(names.index(target))
    classes = kinds[names.index(target)]
    present = sorted(set(y))
    X = [[float(column[row]) for column in columns] for row in range(len(rows))]
    return X, [present.index(code) for code in y], [classes[code] for code in present]
