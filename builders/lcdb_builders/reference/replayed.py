"""What a replayed cell is: its rows, its estimators, and its scores from three sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lcdb.schema import METRICS, UNIT_DIMS
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Unit

__all__ = ["SCORES", "Replay"]

SCORES = (*METRICS, "n_clipped")


@dataclass(frozen=True, eq=False)
class Replay:
    """One cell, computed again.

    Parameters
    ----------
    unit, n, repetition
        Which cell.
    train_rows
        Rows of the snapshot that were trained on, as the estimator was given them: in the order of
        their first draw, copies together.
    test_rows
        Rows of the snapshot that were tested on.
    snapshot
        The dataset.
    estimators
        Fitted reference estimators by metric: one and the same unless the curve is tuned.
    reference
        Scores of the reference estimator.
    recomputed
        Scores (and choices) of the unit's own path, as they would be stored.
    stored
        What the cube holds.
    tolerance
        By how much reference and stored scores may differ.
    expects_same_bits
        Whether the stored numbers come from this implementation, on this type of machine.
    path_failure, reference_failure
        Why the unit's own path, or the reference estimator, gave no scores; empty where it did.
    """

    unit: Unit
    n: int
    repetition: int
    train_rows: np.ndarray
    test_rows: np.ndarray
    snapshot: Snapshot
    estimators: Mapping[str, Any]
    reference: Mapping[str, float]
    recomputed: Mapping[str, Any]
    stored: Mapping[str, Any]
    tolerance: Mapping[str, float]
    expects_same_bits: bool
    path_failure: str = ""
    reference_failure: str = ""

    @property
    def estimator(self) -> Any:
        """The fitted reference estimator (of a tuned curve: the one chosen for accuracy).

        None where it could not be fitted.
        """
        return self.estimators.get("accuracy")

    @cached_property
    def same_bits(self) -> bool:
        """Whether the unit's own path gives every stored number bit for bit."""
        if self.path_failure:
            return False
        pairs = [(self.stored[name], value) for name, value in self.recomputed.items()]
        return all(np.array_equal(one, other, equal_nan=True) for one, other in pairs)

    @cached_property
    def beyond_tolerance(self) -> tuple[str, ...]:
        """Names of the stored scores that the reference estimator disagrees with."""
        return tuple(
            name
            for name, right in self.reference.items()
            if not _within(float(self.stored[name]), right, self.tolerance[name])
        )

    @property
    def agrees(self) -> bool:
        """Whether nothing that was computed again says that the stored numbers are wrong."""
        different = self.expects_same_bits and not self.same_bits and not self.path_failure
        return not different and not self.beyond_tolerance

    @property
    def unchecked(self) -> bool:
        """Whether numbers are stored that could not be held against both sides."""
        empty = all(np.isnan(float(self.stored[name])) for name in METRICS)
        return bool(self.path_failure or self.reference_failure) and not empty

    @property
    def where(self) -> str:
        """The cell in words."""
        place = "/".join(getattr(self.unit, dim) for dim in UNIT_DIMS)
        return f"{self.unit.dataset}/{place} at n = {self.n}, repetition {self.repetition}"

    @property
    def verdict(self) -> str:
        """What the comparison says, in one line."""
        if self.path_failure:
            bits = f"failed ({self.path_failure})"
        elif self.same_bits:
            bits = "bit-equal"
        elif self.expects_same_bits:
            bits = "NOT bit-equal"
        else:
            bits = "not bit-equal (computed by another version or machine)"
        beyond = self.beyond_tolerance
        outcome = f"NOT within tolerance in {', '.join(beyond)}" if beyond else "within tolerance"
        if self.reference_failure:
            outcome = f"failed ({self.reference_failure})"
        return f"the unit's own path: {bits}; the reference estimator: {outcome}"

    def as_json(self) -> dict[str, Any]:
        """Return everything but the estimator as a JSON-able dict; NaN becomes None."""
        return {
            **{dim: getattr(self.unit, dim) for dim in ("dataset", *UNIT_DIMS)},
            "n": self.n,
            "repetition": self.repetition,
            "train_rows": self.train_rows.tolist(),
            "test_rows": self.test_rows.tolist(),
            "stored": {name: _plain(value) for name, value in self.stored.items()},
            "recomputed": {name: _plain(value) for name, value in self.recomputed.items()},
            "reference": {name: _plain(value) for name, value in self.reference.items()},
            "tolerance": dict(self.tolerance),
            "same_bits": self.same_bits,
            "expects_same_bits": self.expects_same_bits,
            "agrees": self.agrees,
            "unchecked": self.unchecked,
            "path_failure": self.path_failure,
            "reference_failure": self.reference_failure,
        }

    def __repr__(self) -> str:
        lines = [
            f"Replay of {self.where}",
            f"  trained on {_listed(self.train_rows)}",
            f"  tested on  {_listed(self.test_rows)}",
            f"  {'':<14}{'stored':>13}{'recomputed':>13}{'reference':>13}{'allowed':>10}",
        ]
        for name in SCORES:
            columns = (self.stored, self.recomputed, self.reference)
            values = "".join(_column(scores.get(name)) for scores in columns)
            allowed = f"{self.tolerance[name]:10.1e}" if name in self.tolerance else ""
            lines.append(f"  {name:<14}{values}{allowed}".rstrip())
        return "\n".join([*lines, f"  {self.verdict}"])


def _within(stored: float, right: float, tolerance: float) -> bool:
    if np.isnan(stored) or np.isnan(right):
        return bool(np.isnan(stored) and np.isnan(right))
    return abs(stored - right) <= tolerance


def _column(value: Any) -> str:
    return f"{'-':>13}" if value is None else f"{float(value):13.7g}"


def _plain(value: Any) -> float | int | None:
    number = np.asarray(value).item()
    return None if number != number else number


def _listed(rows: np.ndarray) -> str:
    shown = ", ".join(map(str, rows[:8].tolist()))
    return f"{len(rows)} rows ({shown}{', …' if len(rows) > 8 else ''})"
