"""What a database holds beside what the paper has: Tables A.8 and A.9."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lcdb.digests import plan_units
from lcdb.schema import UNIT_DIMS
from lcdb.tables.rows import Row, Table

if TYPE_CHECKING:
    from lcdb.database import Database, Key

__all__ = ["dataset_table", "missing_table"]


def dataset_table(db: Database, printed: Mapping[str, Any]) -> Table:
    """Return Table A.8: datasets and their sizes."""
    rows = []
    for dataset, facts in printed.items():
        header = next((h for h in db.headers.values() if h.id == dataset), None)
        for name, here in (("samples", "rows"), ("features", "features"), ("classes", "classes")):
            ours = None if header is None else float(getattr(header, here))
            rows.append(Row(dataset, name, facts.get(name), ours))
    note = "Printed sizes of 11 and 1063 count trailing lines of their files."
    return Table("table_A8", "Table A.8. Datasets", tuple(rows), digits=0, note=note)


def _asked_for(db: Database) -> set[tuple[Key, str, str, str, str]]:
    """Return the curves that the plans of the cubes ask for: not all have every combination."""
    return {
        (key, *(unit[dim] for dim in UNIT_DIMS))
        for key in db.headers
        for unit in plan_units(json.loads(db[key].attrs["plan"]))
    }


def missing_table(db: Database, printed: Mapping[str, Any]) -> Table:
    """Return Table A.9: curves that a plan asks for and that are not there."""
    status = db.status()
    status = status[status["split"] != "pool"]
    labels = zip(*(status[dim] for dim in ("dataset", *UNIT_DIMS)), strict=True)
    asked = _asked_for(db)
    status = status.loc[[unit in asked for unit in labels]]
    lost = status[status["status"] != "complete"]
    ids = lost["dataset"].map({key: header.id for key, header in db.headers.items()})
    by: dict[str, dict[str, int]] = {
        "learner": {str(k): int(v) for k, v in lost["learner"].value_counts().items()},
        "dataset": {str(k): int(v) for k, v in ids.value_counts().items()},
        "tuning": {str(k): int(v) for k, v in lost["tuning"].value_counts().items()},
    }
    there = len(status) > 0  # an experiment has no curves that could be missing
    expected, missing = (4.0 * len(table) if there else None for table in (status, lost))
    rows = [Row("expected", "", printed["expected_curves"], expected)]
    rows.append(Row("missing", "", printed["missing"], missing))
    for kind, ours in by.items():
        names = dict.fromkeys([*printed[kind], *(k for k in ours if ours[k])])
        known = set(status[kind].astype(str))
        rows += [
            Row(k, kind, printed[kind].get(k, 0), 4.0 * ours.get(k, 0) if k in known else None)
            for k in names
        ]
    title = "Table A.9. Missing curves (four metrics each)"
    note = "Ours are those that this database's plan asks for and that are not complete."
    return Table("table_A9", title, tuple(rows), digits=0, note=note)
