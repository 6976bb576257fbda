"""Why a curve is not complete: told by the manifest beside a cube, where there is one."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lcdb.cubefile import Header
from lcdb.errors import NotBuiltError, PartialCurveWarning
from lcdb.manifest import manifest_file
from lcdb.regular import read_regular
from lcdb.schema import STATUSES, UNIT_DIMS
from lcdb.text import visible

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Reasons", "read_reasons", "status_table", "tell_gaps"]

#: (learner, sampling, split, tuning, status) to reason.
Reasons = dict[tuple[str, ...], str]


def read_reasons(cube: Path) -> Reasons:
    """Return the reasons that a manifest gives, by curve and status.

    A cube needs no manifest to be read, so one that is missing or damaged gives no reasons;
    `lcdb verify` is there to complain.
    """
    try:
        content = json.loads(read_regular(manifest_file(cube)))
        entries = [content[name] for name in ("current", "next") if content.get(name)]
        found: Reasons = {}
        for entry in entries:
            for slice_ in entry["units"]:
                if slice_["reason"]:
                    found.setdefault(_curve(slice_), visible(slice_["reason"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return found


def _curve(slice_: Mapping[str, Any]) -> tuple[str, ...]:
    # With the status: a manifest may tell of the next cube as well as of the current one.
    return (*(visible(slice_["unit"][dim]) for dim in UNIT_DIMS), str(slice_["status"]))


def tell_gaps(
    header: Header, labels: tuple[str, ...], status: str, reason: str, *, some: bool
) -> None:
    """Warn that a curve has gaps, or raise if it has no values at all."""
    name = f"the curve {header.name} ({header.key}) {'/'.join(labels)}"
    why = f"status {status!r}{f' ({reason})' if reason else ''}"
    if some:
        msg = f"{name} has {why}: what was not computed is NaN"
        warnings.warn(msg, PartialCurveWarning, stacklevel=3)
        return
    msg = f"{name} has no values: {why}; 'lcdb build' with a plan that has it computes it"
    raise NotBuiltError(msg)


def status_table(
    headers: Mapping[int | str, Header], reasons_of: Callable[[Header], Reasons]
) -> pd.DataFrame:
    """Return one row per curve: labels, status, and the reason if known."""
    import pandas as pd

    tables = []
    for key, header in headers.items():
        levels = [header.labels[dim] for dim in UNIT_DIMS]
        table = pd.MultiIndex.from_product(levels, names=UNIT_DIMS).to_frame(index=False)
        table.insert(0, "dataset", key)
        table.insert(1, "name", header.name)
        table["status"] = pd.Categorical.from_codes(header.status.ravel(), pd.Index(STATUSES))
        reasons = reasons_of(header)
        names = map(tuple, table[[*UNIT_DIMS, "status"]].to_numpy())
        table["reason"] = [reasons.get(name, "") for name in names]
        tables.append(table)
    if not tables:
        return pd.DataFrame(columns=["dataset", "name", *UNIT_DIMS, "status", "reason"])
    return pd.concat(tables, ignore_index=True)
