"""Table 2 and Appendix C of Jordan, Cohen and Thomas 2018, and figures of lifetimes."""

from __future__ import annotations

import json
from importlib.resources import files

import matplotlib
import numpy as np
import pytest
import xarray as xr
from lcdb_builders.domain.part import Part

from tests.support.trials import build

matplotlib.use("agg")
import matplotlib.pyplot as plt

import lcdb
from lcdb import plot, stats
from lcdb.cli import main
from lcdb.errors import LabelError, SummaryError
from lcdb.schema import EXPERIMENTS
from lcdb.summaries.make import summarize
from lcdb.tables import jordan2018, render
from lcdb.tables.lifetimes import LENGTHS, lifetime_means, table_2, table_of_reruns

PRINTED = json.loads((files("lcdb.data") / "published" / "jordan2018.json").read_text())["table_2"]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cube():
    """Made-up lifetimes: 60 trials of Actor-Critic, 40 of PPO, 30 reruns of its trial 7."""
    rng = np.random.default_rng(1)
    returns = rng.normal(-300.0, 400.0, (3, 60, 200)) + rng.normal(0.0, 500.0, (3, 60, 1))
    for place, trials in enumerate((60, 40, 30)):
        returns[place, trials:] = np.nan
    asked = {"algorithm": "ppo", "percentile": 50, "trial": 7}
    return xr.Dataset(
        {
            "episode_return": (("algorithm", "trial", "episode"), returns.astype(np.float32)),
            "mean_return": (("algorithm", "trial"), returns.astype(np.float32).mean(axis=2)),
            "params": ("algorithm", np.array(["{}", "{}", json.dumps(asked)])),
        },
        {"algorithm": ["actor_critic", "ppo", "ppo_p50"], "trial": np.arange(60)},
    )


def test_table_2_shows_each_length_beside_what_is_printed(cube):
    table = table_2(cube, PRINTED)
    assert len(table.rows) == 2 * len(LENGTHS) * 2
    rows = {(row.row, row.metric): row for row in table.rows}
    values = cube["episode_return"].sel(algorithm="ppo").values[:40, :130].astype(float)
    row = rows["PPO, 130 episodes", "cvar_0.5"]
    assert row.ours == pytest.approx(np.sort(values.mean(axis=1))[20:].mean())
    assert row.published == 363.8 and row.cells == 40
    assert rows["Actor-Critic, 200 episodes", "mean"].published == 388.3
    assert rows["Actor-Critic, 500 episodes", "mean"].ours is None  # lifetimes are shorter
    mean = rows["PPO, 200 episodes", "mean"]
    means = lifetime_means(cube, "ppo", 200)
    assert mean.beside["standard error"] == pytest.approx(means.std() / np.sqrt(40), rel=0.15)


def test_a_database_without_lifetimes_has_an_empty_table():
    assert all(row.ours is None for row in table_2(None, PRINTED).rows)
    missing = table_of_reruns(None).rows
    assert [row.row for row in missing] == [f"PPO, percentile {p}" for p in (1, 50, 95, 99)]
    assert all(row.ours is None for row in missing)


def test_reruns_stand_beside_the_trial_that_was_selected(cube):
    rows = [row for row in table_of_reruns(cube).rows if row.row == "PPO, percentile 50"]
    selected, again = rows
    first = cube["episode_return"].sel(algorithm="ppo", trial=7).values.astype(float)
    assert selected.ours == pytest.approx(first.mean())
    means = lifetime_means(cube, "ppo_p50", 200)
    assert again.ours == pytest.approx(means.mean())
    assert again.ours_sd == pytest.approx(means.std(ddof=1))
    assert again.beside["5 % quantile"] == pytest.approx(np.quantile(means, 0.05))
    assert "percentile 50" in render([table_of_reruns(cube)], "markdown")


def test_lifetime_curves_draw_mean_and_spread(cube):
    returns = cube["episode_return"]
    ax = plot.lifetime_curves(returns, window=10)
    lines = {line.get_label(): line for line in ax.lines}
    expected = returns.sel(algorithm="ppo").values[:40].reshape(40, 20, 10).mean(axis=2)
    np.testing.assert_allclose(lines["ppo"].get_ydata(), expected.mean(axis=0), rtol=1e-4)
    assert lines["ppo"].get_xdata().tolist() == list(range(10, 201, 10))
    assert len(ax.collections) == 3
    single = plot.lifetime_curves(returns.sel(algorithm="ppo"), band=False)
    assert not single.collections
    with pytest.raises(LabelError, match="lacks the dims trial"):
        plot.lifetime_curves(returns.mean("trial"))


def test_returns_of_lifetimes_are_drawn_with_bands(cube):
    means = {name: lifetime_means(cube, name, 200) for name in ("actor_critic", "ppo")}
    ax = plot.lifetime_returns(means)
    drawn = {line.get_label(): line.get_ydata() for line in ax.lines}
    p = np.linspace(0, 1, 1001)
    np.testing.assert_array_equal(drawn["ppo"], stats.inverse_cdf(means["ppo"], p))
    assert len(ax.collections) == 2


# -- summaries -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A database with lifetimes of 230 episodes, and reruns of one trial."""
    root = tmp_path_factory.mktemp("lifetimes")
    asked = '{"algorithm":"ppo","percentile":50,"trial":4}'
    lifetimes = [
        Part("pendulum", (name,), 7, "toy-1", params, length=230, trials=trials)
        for name, trials, params in (
            ("actor_critic", 12, "{}"), ("ppo", 9, "{}"), ("ppo_p50", 5, asked),
        )
    ]  # fmt: skip
    build(root, lifetimes)
    return root


@pytest.mark.process
def test_a_summary_gives_the_tables_and_figures_of_the_cube(folder, tmp_path, capsys):
    small = tmp_path / "small"
    assert main(["summarize", str(folder), "--out", str(small), "--dataset", "pendulum"]) == 0
    assert "lifetimes/pendulum.nc" in capsys.readouterr().out
    with lcdb.open(folder) as whole, lcdb.open(small) as db:
        assert list(db.experiments) == ["pendulum"] and len(db) == 0
        assert "(summary, without episodes)" in str(db.experiments["pendulum"])
        summary, cube = db["pendulum"].load(), whole["pendulum"].load()
        for name in ("2", "C"):
            (expected,), (table,) = (jordan2018.tables(d, [name]) for d in (whole, db))
            for row, other in zip(table.rows, expected.rows, strict=True):
                assert (row.row, row.metric, row.cells) == (other.row, other.metric, other.cells)
                assert (row.ours is None) == (other.ours is None)
                if other.ours is not None:
                    assert row.ours == pytest.approx(other.ours, rel=1e-6)
                for key, value in other.beside.items():
                    assert row.beside[key] == pytest.approx(value, rel=1e-5)
        for figure in ("2", "3"):
            pairs = zip(plot.draw_experiment(db, figure), plot.draw_experiment(whole, figure),
                        strict=True)  # fmt: skip
            for ax, other in pairs:
                assert len(ax.lines) == len(other.lines) > 0
                for line, expected_line in zip(ax.lines, other.lines, strict=True):
                    np.testing.assert_allclose(
                        line.get_ydata(), expected_line.get_ydata(), rtol=1e-5
                    )
    assert summary.attrs["episodes"] == 230
    assert summary["length"].values.tolist() == [100, 130, 200, 230]
    names = {v.name for v in EXPERIMENTS["pendulum"].variables.values()} - {"episode_return"}
    for name in names & set(cube):
        np.testing.assert_allclose(summary[name], cube[name], rtol=1e-6)
    smooth = cube["episode_return"].sel(algorithm="ppo")[:9].values.astype(float)
    smooth = smooth.reshape(9, 115, 2).mean(axis=2)
    levels = summary["window_quantile"].sel(algorithm="ppo", q=0.25).values
    np.testing.assert_allclose(levels, np.quantile(smooth, 0.25, axis=0), rtol=1e-6)


@pytest.mark.process
def test_a_summary_says_what_it_has_not(folder, tmp_path):
    with lcdb.open(folder) as db:
        (path,) = summarize(db, tmp_path / "small.nc", datasets=["pendulum"])
        (again,) = summarize(db, tmp_path)  # all that there is
    assert again == tmp_path / "lifetimes" / "pendulum.nc"
    assert again.read_bytes() == path.read_bytes()
    with lcdb.open(path, check=True) as db:
        with pytest.raises(LabelError, match=r"first 120 episodes; expected one of 100, 130"):
            lifetime_means(db["pendulum"], "ppo", 120)
        assert not lifetime_means(db["pendulum"], "ppo", 500).size
        with pytest.raises(SummaryError, match="which has no episodes"):
            list(summarize(db, tmp_path / "other"))
        with pytest.raises(LabelError, match="has no window_mean"):
            plot.lifetime_curves(db["pendulum"][["mean_return"]])
