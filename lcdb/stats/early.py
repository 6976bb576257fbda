"""Choosing a learner by early sizes: successive halving, and stopping of what cannot catch up.

Each repetition is one run of the choice. All runs go on at once: arrays have the repetitions last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Chosen", "halve", "stop_early"]


class Chosen(NamedTuple):
    """What was chosen in each repetition, and how many training rows all trials took."""

    learner: np.ndarray
    rows: np.ndarray


def halve(scores: np.ndarray, sizes: np.ndarray, keep: float = 0.5) -> Chosen:
    """Return the choice of successive halving in every repetition.

    At each size all that are left are trained; the best `keep` of them stay, at least one. The best
    at the last size is chosen. Of equals those that were better before stay, and then the first.

    Parameters
    ----------
    scores
        (learner, size, repetition), large ones being good; NaN is worse than any.
    sizes
        Training rows of each size, ascending.
    keep
        Share of the learners that stay, rounded up.

    Examples
    --------
    >>> scores = np.array([[0.5, 0.9], [0.6, 0.8], [0.1, 1.0]])[:, :, None]
    >>> chosen = halve(scores, np.array([10, 100]))
    >>> chosen.learner.tolist(), chosen.rows.tolist()  # the third was lost at the first size
    ([0], [230])
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    count, stages, repetitions = scores.shape
    order = np.repeat(np.arange(count)[:, None], repetitions, axis=1)  # the best so far first
    rows = 0
    for stage in range(stages):
        rows += len(order) * int(sizes[stage])
        values = np.take_along_axis(scores[:, stage], order, axis=0)
        order = np.take_along_axis(order, np.argsort(-values, axis=0, kind="stable"), axis=0)
        if stage < stages - 1:
            order = order[: max(1, int(np.ceil(keep * len(order) - 1e-9)))]
    return Chosen(order[0], np.full(repetitions, rows))


def stop_early(scores: np.ndarray, sizes: np.ndarray) -> Chosen:
    """Return the choice in every repetition if learners are stopped that cannot catch up (LCCV).

    Learners come in their order. The first is trained at all sizes. Each other is stopped after a
    size from which a straight line through its last two scores (a falling one is taken as level)
    does not lead above the best score at the last size so far: the scores of a curve that flattens
    out stay below that line.

    Parameters
    ----------
    scores
        (learner, size, repetition), large ones being good; NaN is worse than any.
    sizes
        Training rows of each size, ascending.

    Examples
    --------
    >>> scores = np.array([[0.5, 0.7, 0.9], [0.4, 0.5, 0.6], [0.6, 0.8, 0.95]])[:, :, None]
    >>> chosen = stop_early(scores, np.array([10, 20, 40]))
    >>> chosen.learner.tolist(), chosen.rows.tolist()  # the second stops after 20 rows
    ([2], [170])
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    count, stages, repetitions = scores.shape
    best = scores[0, -1].copy()
    chosen = np.zeros(repetitions, int)
    rows = np.full(repetitions, int(np.sum(sizes)))
    for learner in range(1, count):
        going = np.ones(repetitions, bool)
        for stage in range(stages):
            rows[going] += int(sizes[stage])
            now = scores[learner, stage]
            if stage == stages - 1:
                better = going & (now > best)
                best[better], chosen[better] = now[better], learner
            elif stage > 0:
                before = scores[learner, stage - 1]
                with np.errstate(invalid="ignore"):
                    rise = np.maximum(now - before, 0.0) / (sizes[stage] - sizes[stage - 1])
                    reach = now + rise * (sizes[-1] - sizes[stage])
                going &= ~(reach <= best)
    return Chosen(chosen, rows)
