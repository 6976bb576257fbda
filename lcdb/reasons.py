"""Why a curve is not complete: told by the manifest beside a cube, where there is one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lcdb.manifest import manifest_file
from lcdb.regular import read_regular
from lcdb.schema import UNIT_DIMS

__all__ = ["Reasons", "read_reasons"]

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
                    found.setdefault(_curve(slice_), str(slice_["reason"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return found


def _curve(slice_: Mapping[str, Any]) -> tuple[str, ...]:
    # With the status: a manifest may tell of the next cube as well as of the current one.
    return (*(slice_["unit"][dim] for dim in UNIT_DIMS), slice_["status"])
