"""Features at the edge of doubles: right, or no number and a reason."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from lcdb_builders.domain.frame import exponent_of, frame_of
from lcdb_builders.domain.snapshot import Snapshot
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners import registry
from lcdb_builders.reference.block import reference_block

from lcdb.errors import CellError
from lcdb.schema import METRICS
from tests.oracles import gaussian as oracle
from tests.oracles import metrics
from tests.support.counts import counts
from tests.support.tied import unit_of

SHA256 = "ab" * 32
#: Learners that take features as they are: units change nothing, and none is refused.
LEARNERS = ("NMC", "LDC", "QDC", "NNC", "DT", "RFOR", "ADAB")
#: Every row is drawn alike at every scale, so that cells can be compared with those of scale 1.
SCALES = (2.0**-500, 2.0**-450, 2.0**-30, 2.0**30, 2.0**450, 2.0**500)
#: Of integers; midpoints of trees are numbers in all of them, which they are not at 2**-1074.
EXTREME = (2.0**-1072, 2.0**-1030, 2.0**-1000, 2.0**-660, 2.0**660, 2.0**1000)


@cache
def data(seed: int = 0, integers: bool = True):
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 3
    X = 40 * (rng.normal(size=(60, 3)) + y[:, None])
    return (np.round(X) if integers else X), y


def snapshot(X, y) -> Snapshot:
    features = tuple(f"x{j}" for j in range(X.shape[1]))
    return Snapshot("scaled", np.ascontiguousarray(X), y, features, ("a", "b", "c"), "scaled")


def cells(name, X, y, tuning, *, compute=None, sizes=(12, 20, 30)):
    """Return a block, drawn as that of any other features."""
    table, learner = snapshot(X, y), registry.get(name)
    unit = unit_of(name, table, "random", "fixed", tuning, sizes)
    unit = type(unit)(**{**vars(unit), "dataset_sha256": SHA256})
    block = Block(unit, sizes, 0, counts(2, 30))
    if compute is None:
        return learner.block(table, block, ("fixed",))["fixed"]
    return compute(learner, table, block, ("fixed",))["fixed"]


def assert_same(found, expected, exact):
    for name in expected:
        if exact or name not in METRICS or name == "accuracy":
            np.testing.assert_array_equal(found[name], expected[name], name)
        else:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("name", [*LEARNERS, "GSVC"])
@pytest.mark.parametrize("tuning", ["default", "tuned"])
def test_powers_of_two_change_nothing(name, tuning):
    """Those of LREG and LSVC do: their penalties are on weights, in units of features."""
    X, y = data()
    expected = cells(name, X, y, tuning)
    # Squares of GSVC's features are numbers.
    for scale in SCALES[1:-1] if name == "GSVC" else SCALES:
        # Sums of logarithms of other diagonals are rounded otherwise.
        assert_same(cells(name, X * scale, y, tuning), expected, exact=name != "QDC")


@pytest.mark.parametrize("name", [*LEARNERS, "LREG", "GSVC"])
@pytest.mark.parametrize("offset", [2.0**27, 2.0**40, 1e8, 1e12, 1e15])
def test_offsets_change_nothing(name, offset):
    """Integers, so that the sum with the offset is exact; LSVC penalises its intercept."""
    X, y = data()
    assert_same(cells(name, X + offset, y, "default"), cells(name, X, y, "default"), exact=False)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("scale", EXTREME)
def test_beyond_there_are_right_numbers_or_none(name, scale):
    """From three rows, of which each class may have one: its variance is 1 in units of X."""
    X, y = data()
    for sizes in ((3,), (20, 30)):
        expected = cells(name, X, y, "default", sizes=sizes)
        try:
            found = cells(name, X * scale, y, "default", sizes=sizes)
        except CellError as error:
            assert "beyond the range of doubles" in str(error)
            assert sizes == (3,) and scale > 1e154
        else:
            reference = cells(name, X * scale, y, "default", sizes=sizes, compute=reference_block)
            assert_same(found, reference, exact=False)
            if sizes != (3,):
                assert_same(found, expected, exact=False)


def test_features_too_far_apart_are_refused_with_the_reason():
    X, y = data()
    apart = X.copy()
    apart[:30, 1] *= 1e-300
    for name in ("NMC", "LDC", "QDC", "NNC"):
        with pytest.raises((CellError, ValueError), match="squares of features do not fit"):
            cells(name, apart, y, "default")
    for name in ("NMC", "NNC"):
        with pytest.raises((CellError, ValueError), match="squares of features do not fit"):
            cells(name, X * [1e300, 1.0, 1e-300], y, "default")


@pytest.mark.parametrize("name", ["LDC", "QDC"])
@pytest.mark.parametrize("tuning", ["default", "tuned"])
def test_each_feature_may_have_a_unit_of_its_own(name, tuning):
    X, y = data()
    found = cells(name, X * [2.0**1000, 1.0, 2.0**-1000], y, tuning)
    assert_same(found, cells(name, X, y, tuning), exact=False)


@pytest.mark.parametrize("name", ["NMC", "LDC", "QDC"])
def test_timestamps_agree_with_exact_arithmetic(name):
    """Seconds since 1970 beside ordinary features: scores in fractions decide labels and areas."""
    rng = np.random.default_rng(7)
    X, y = data(integers=False)
    X = np.column_stack([X[:, 0], 1.7e9 + rng.integers(0, 50, 60), X[:, 1]])
    table, learner = snapshot(X, y), registry.get(name)
    unit = unit_of(name, table, "random", "fixed", "default", (9, 25))
    block = Block(unit, (9, 25), 0, counts(1, 10))
    found = learner.block(table, block, ("fixed",))["fixed"]
    draws = unit.draws(60)
    for i, n in enumerate(block.sizes):
        for r in block.repetitions:
            train, test = draws.train(n, r), draws.test(n, r)
            if len(set(y[train].tolist())) < 3:
                continue
            args = X[train].tolist(), y[train].tolist(), X[test].tolist()
            exact = {"NMC": oracle.nmc}.get(name) or (
                lambda *a: getattr(oracle, name.lower())(*a, 1e-6)
            )
            expected = metrics.from_scores(exact(*args), y[test].tolist())
            ours = [float(found[metric][i, r]) for metric in METRICS]
            np.testing.assert_allclose(ours, expected[:4], rtol=1e-6)


@pytest.mark.parametrize("seed", range(counts(20, 500)))
def test_a_frame_is_exact_and_its_squares_are_numbers(seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(30, 3)) * 1000) * 2.0 ** int(rng.integers(-1000, 900))
    X = X + (X.max(axis=0) * 2.0 ** int(rng.integers(0, 20)) if seed % 2 else 0.0)
    frame = frame_of(X)
    assert frame is not None
    placed = frame.place(X)
    np.testing.assert_array_equal(np.ldexp(placed, frame.exponent) + frame.origin, X)
    with np.errstate(all="raise"):
        apart = placed[:, None] - placed[None]
        squares = np.square(apart)
    assert ((squares == 0) == (apart == 0)).all()
    assert np.isfinite(squares.sum())


def test_ordinary_features_keep_their_bits():
    X, _ = data(integers=False)
    assert exponent_of(X) == 0
    frame = frame_of(X)
    assert frame.origin.tolist() == [0.0] * 3
    assert (frame.exponent, frame.unit) == (0, 1.0)
    assert frame.place(X).tobytes() == X.tobytes()
