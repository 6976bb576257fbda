"""The drawing of the samplings draws as the samplings do."""

import numpy as np
import pytest

import lcdb
from lcdb.plot.draws import _drawn
from lcdb.schema import SAMPLING_ROWS

SAMPLINGS = [row.name for row in SAMPLING_ROWS.values() if row.is_default]


@pytest.fixture(autouse=True)
def closed():
    plt = pytest.importorskip("matplotlib.pyplot")
    yield
    plt.close("all")


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_training_sets_have_their_sizes(sampling):
    for seed in range(20):
        drawn = _drawn(sampling, 9, np.random.default_rng(seed))
        assert drawn.sum(axis=0).tolist() == list(range(1, 10))
        if sampling != "bootstrap":
            assert drawn.max() == 1
        if sampling == "additive":
            assert (np.diff(drawn, axis=1) >= 0).all()
    repeated = [_drawn(sampling, 9, np.random.default_rng(seed)).max() > 1 for seed in range(20)]
    assert all(repeated) if sampling == "bootstrap" else not any(repeated)


def test_squares_are_rows_that_were_drawn():
    axes = lcdb.plot.samplings(rows=7, seed=3)
    assert [ax.get_title() for ax in axes] == list(SAMPLINGS)
    for ax, sampling in zip(axes, SAMPLINGS, strict=True):
        shown = ax.collections[0].get_array().reshape(7, 7)
        drawn = _drawn(sampling, 7, np.random.default_rng(3))
        assert np.array_equal(shown, np.minimum(drawn, 3))
    other = lcdb.plot.samplings(rows=7, seed=4)[0].collections[0].get_array()
    assert not np.array_equal(other, axes[0].collections[0].get_array())
