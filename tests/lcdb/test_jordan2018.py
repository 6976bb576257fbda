"""Tables and figures of the experiments, from cubes whose numbers are known."""

from __future__ import annotations

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from lcdb_builders.domain.part import Part

import lcdb
from lcdb.cli import main
from lcdb.errors import LabelError, NotBuiltError
from lcdb.tables import jordan2018
from tests.oracles.risk import cvar_upper
from tests.support.trials import build, toy_parts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A database with two parts of dse, and lifetimes of 130 episodes and of 5."""
    root = tmp_path_factory.mktemp("experiments")
    build(root, toy_parts("dse", (20, 12)))
    lifetimes = [
        Part("pendulum", (name,), 7, "toy-1", params, length=length, trials=trials)
        for name, length, trials, params in (
            ("actor_critic", 130, 10, "{}"), ("ppo", 5, 7, "{}"),
            ("ppo_p01", 130, 4, '{"algorithm":"ppo","trial":2}'),
            ("ppo_p99", 130, 4, '{"algorithm":"ppo","trial":5}'),
        )
    ]  # fmt: skip
    build(root, lifetimes)
    return root


def rows_of(found, name):
    table = next(table for table in found if table.name == name)
    return {(row.row, row.metric): row for row in table.rows}


def test_numbers_of_table_1_stand_where_the_paper_has_them(folder):
    printed = jordan2018.published()["table_1"]
    assert printed["tuned"]["LR"][3] == 0.802 and printed["random"]["RF"][1] == 0.887
    with lcdb.open(folder) as db:
        found = jordan2018.tables(db, ["1"])
        cube = db["dse"]["accuracy"].load()
    assert [table.name for table in found] == ["table_1_tuned", "table_1_random"]
    assert [len(table.rows) for table in found] == [20, 20]
    row = rows_of(found, "table_1_random")["SVM", "circles"]
    values = cube.sel(learner="SVM", task="circles", mode="random").values.tolist()
    assert row.published == 0.814 and row.cells == 20
    assert row.ours == pytest.approx(float(cvar_upper(values, 0.5)), rel=1e-12)
    assert row.difference == row.ours - 0.814
    assert 0.1 < row.beside["standard error"] * np.sqrt(20) < 1
    tuned = rows_of(found, "table_1_tuned")
    assert tuned["kNN", "moons"].cells == 12 and tuned["kNN", "moons"].published == 0.918
    assert tuned["LR", "faces"].ours is None and tuned["LR", "faces"].published == 0.802


def test_table_2_takes_the_first_episodes_of_long_enough_lifetimes(folder):
    with lcdb.open(folder) as db:
        found = rows_of(jordan2018.tables(db, ["2"]), "table_2")
        returns = db["pendulum"]["episode_return"].sel(algorithm="actor_critic").values[:10]
    assert len(found) == 2 * 2 * 5
    for episodes in (100, 130):
        row = found[f"Actor-Critic, {episodes} episodes", "mean"]
        assert row.ours == pytest.approx(returns[:, :episodes].astype(float).mean(), rel=1e-9)
        assert row.published == 388.3 and row.cells == 10
        row = found[f"Actor-Critic, {episodes} episodes", "cvar_0.5"]
        best = np.sort(returns[:, :episodes].astype(float).mean(axis=1))[5:]
        assert row.ours == pytest.approx(best.mean(), rel=1e-9) and row.published == 1476.2
    assert found["Actor-Critic, 200 episodes", "mean"].ours is None
    assert found["PPO, 100 episodes", "mean"].ours is None  # its lifetimes are shorter


def test_the_command_prints_both_tables(folder, tmp_path, capsys):
    assert main(["tables", str(folder), "--paper", "jordan2018"]) == 0
    printed = capsys.readouterr()
    assert "Table 1" in printed.out and "Table 2" in printed.out and "0.814" in printed.out
    assert "dse: 2 learners" in printed.err
    assert main(["tables", str(folder), "--paper", "jordan2018", "--format", "csv"]) == 0
    assert 'table_2,"PPO, 100 episodes",mean,-342.1,,' in capsys.readouterr().out
    assert main(["tables", str(folder), "--paper", "jordan2018", "--table", "3"]) == 1
    assert "no table '3'" in capsys.readouterr().err


def test_figures_show_every_sample(folder, tmp_path, capsys):
    with lcdb.open(folder) as db:
        panels = lcdb.plot.draw_experiment(db, "1")
        drawn = {ax.get_title(loc="left"): ax for ax in panels if ax.lines}
        assert set(drawn) == {"circles, random", "moons, tuned"}
        line = drawn["circles, random"].lines[0]
        values = db["dse"]["accuracy"].sel(learner="SVM", task="circles", mode="random").values
        assert np.isin(line.get_ydata(), values).all() and line.get_label() == "SVM"
        (only,) = lcdb.plot.draw_experiment(db, "2")
        assert {line.get_label() for line in only.lines} == {"actor_critic", "ppo"}
        rows = np.array(panels).reshape(db["dse"].sizes["mode"], -1)
        for column in rows.T:  # both modes of a task
            assert len({ax.get_ylim() for ax in column}) == 1
        for ax in drawn.values():
            low, high = ax.get_ylim()
            values = np.concatenate([line.get_ydata() for line in ax.lines])
            assert low < values.min() and values.max() < high
        left, middle, right = lcdb.plot.draw_experiment(db, "3")
        trials, *selected = left.lines
        assert trials.get_label() == "ppo" and len(middle.lines) == len(right.lines) == 2
        assert left.get_ylim() == right.get_ylim()
        means = db["pendulum"]["mean_return"].sel(algorithm="ppo").values
        for dot, (share, trial) in zip(selected, ((0.01, 2), (0.99, 5)), strict=True):
            assert dot.get_xdata().tolist() == [share]
            assert dot.get_ydata().tolist() == [means[trial]]
        returns = db["pendulum"]["episode_return"].sel(algorithm="ppo_p99")[:4]
        assert np.allclose(middle.lines[1].get_ydata(), returns.mean("trial"))
        with pytest.raises(LabelError, match="no figure '4'"):
            lcdb.plot.draw_experiment(db, "4")
    plt.close("all")
    out = tmp_path / "figure.svg"
    command = ["plot", str(folder), "--paper", "jordan2018", "--figure", "2", "--out", str(out)]
    assert main(command) == 0 and out.stat().st_size > 1000
    plt.close("all")


def test_what_is_not_there_is_told(tmp_path):
    build(tmp_path, [replace(part, trials=2) for part in toy_parts("dse", (2,))])
    with lcdb.open(tmp_path) as db, pytest.raises(NotBuiltError, match="lcdb build pendulum"):
        lcdb.plot.draw_experiment(db, "2")
    with lcdb.tutorial() as db, pytest.raises(NotBuiltError, match="holds no experiment"):
        jordan2018.tables(db)


def test_what_the_numbers_rest_on(folder):
    with lcdb.open(folder) as db:
        dse, pendulum = jordan2018.part(db)
    assert dse.startswith("dse") and "20 trials" in dse
    assert pendulum.startswith("pendulum")
