"""Profiles of published results: what their tables say, by Welch tests of SciPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind_from_stats

from lcdb.analysis import Results, read_results, results_profile
from lcdb.cli import main
from lcdb.errors import ArgumentError, LabelError, NotFoundError, SchemaError


@pytest.fixture(params=["made", pytest.param("atari", marks=pytest.mark.data)])
def games(request, tmp_path):
    """Mean and sd of two methods on sixty games at four checkpoints.

    Atari is Machado et al. 2017: DQN with 5 trials against Blob-PROST with 24.
    """
    if request.param == "atari":
        return request.getfixturevalue("data_folder") / "atari"
    draw = np.random.default_rng(7)
    scale = draw.lognormal(5, 2, (60, 1))
    for name in ("dqn", "blob"):
        mean = scale * draw.lognormal(0, 0.4, (60, 4))
        sd = mean * draw.uniform(0, 0.5, (60, 4)).round(1)  # some methods do not vary at all
        table = np.stack([mean, sd], axis=2).reshape(60, 8).round(1)
        np.savetxt(tmp_path / f"{name}.csv", table, fmt="%.1f", delimiter=",")
    return tmp_path


def test_sixty_games_by_scipy(games):
    dqn, blob = read_results(games / "dqn.csv", 5), read_results(games / "blob.csv", 24)
    tau = [0.01, 1.0, 3.0, 10.0]
    found = results_profile({"DQN": dqn, "Blob-PROST": blob}, tau)
    assert found.attrs["problems"] == 60
    for name, own, other in (("DQN", dqn, blob), ("Blob-PROST", blob, dqn)):
        p = ttest_ind_from_stats(
            *(own.mean, own.sd, own.trials, other.mean, other.sd, other.trials),
            equal_var=False,
            alternative="less",
        ).pvalue
        with np.errstate(divide="ignore"):  # a game on which neither method's score varies
            distance = np.where(own.mean >= other.mean, 0.0, -np.log(p))
        expected = [(distance < t).mean() for t in tau]
        np.testing.assert_allclose(found.sel(algorithm=name), expected)
    best = found.sel(tau=0.01)
    assert best.sum() >= 1  # every game has a best method


def test_checkpoints_and_the_command(games, tmp_path, capsys):
    numbers = np.loadtxt(games / "dqn.csv", delimiter=",")
    for checkpoint, column in ((1, 0), (3, 4), (4, 6)):
        read = read_results(games / "dqn.csv", 5, checkpoint=checkpoint)
        np.testing.assert_array_equal(read.mean, numbers[:, column])
        np.testing.assert_array_equal(read.sd, numbers[:, column + 1])
    np.testing.assert_array_equal(read_results(games / "dqn.csv", 5).mean, numbers[:, 6])
    out = tmp_path / "profile.svg"
    arguments = ["profile", str(games), "--trials", "dqn=5", "--trials", "blob=24"]
    assert main([*arguments, "--checkpoint", "1", "--out", str(out)]) == 0
    assert capsys.readouterr().out.startswith("60 problems")
    assert out.stat().st_size > 1000
    capsys.readouterr()
    assert main([*arguments, "--checkpoint", "2", "--checkpoint", "dqn=1"]) == 0
    mixed = capsys.readouterr().out
    assert main([*arguments, "--checkpoint", "dqn=1"]) == 0
    assert mixed != capsys.readouterr().out
    assert main([*arguments, "--checkpoint", "dqm=1"]) == 1
    assert "Did you mean 'dqn'?" in capsys.readouterr().err
    assert main([*arguments, "--checkpoint", "5"]) == 1
    assert "checkpoints 1 to 4" in capsys.readouterr().err


def test_names_and_headers_are_left_out(tmp_path):
    path = tmp_path / "method.csv"
    path.write_text("game,mean,sd\nAlien,1.5,0.5\nAmidar,2.5,0.25\n", "utf-8")
    found = read_results(path, 7)
    assert found.mean.tolist() == [1.5, 2.5]
    assert found.sd.tolist() == [0.5, 0.25]
    assert found.trials == 7


def test_what_is_no_table_of_results_is_told_so(tmp_path, capsys):
    path = tmp_path / "odd.csv"
    path.write_text("1,2,3\n", "utf-8")
    with pytest.raises(SchemaError, match="row 1: expected pairs"):
        read_results(path, 5)
    path.write_text("mean,sd\n", "utf-8")
    with pytest.raises(SchemaError, match="no results"):
        read_results(path, 5)
    with pytest.raises(NotFoundError, match="could not be read"):
        read_results(tmp_path / "none.csv", 5)
    assert main(["profile", str(tmp_path), "--trials", "od=5"]) == 1
    assert "Did you mean 'odd'" in capsys.readouterr().err


def test_gaps_and_ratios_of_published_costs():
    a = Results(np.array([1.0, 4.0]), np.array([1.0, 1.0]), 5)
    b = Results(np.array([2.0, 3.0]), np.array([1.0, 1.0]), 5)
    gap = results_profile({"a": a, "b": b}, [0.5, 1.5], "gap", "minimize")
    assert gap.values.tolist() == [[0.5, 1.0], [0.5, 1.0]]
    ratio = results_profile({"a": a, "b": b}, [0.5, 1.5], "ratio", "minimize")
    assert ratio.values.tolist() == [[1.0, 1.0], [0.5, 1.0]]
    with pytest.raises(LabelError, match="expected welch"):
        results_profile({"a": a, "b": b}, [0.5], "ratio")
    short = Results(np.array([1.0]), np.array([1.0]), 5)
    with pytest.raises(SchemaError, match="different numbers of problems"):
        results_profile({"a": a, "b": short})


@pytest.mark.parametrize("problems", [2, 3])
def test_the_command_takes_other_distances_and_losses(tmp_path, capsys, problems):
    """Costs 1 against 2, 4 against 3, 5 against 9: a share is of the threshold that is printed."""
    for name, costs in (("a", [1, 4, 5]), ("b", [2, 3, 9])):
        (tmp_path / f"{name}.csv").write_text("".join(f"{c},1\n" for c in costs[:problems]))
    base = ["profile", str(tmp_path), "--trials", "a=5", "--trials", "b=5"]
    distances = {
        ("--kind", "gap", "--minimize"): {"a": [0, 1, 0], "b": [1, 0, 4]},
        ("--kind", "ratio", "--minimize"): {"a": [0, 1 / 3, 0], "b": [1, 0, 4 / 5]},
        ("--kind", "gap"): {"a": [1, 0, 4], "b": [0, 1, 0]},
    }
    for options, distance in distances.items():
        assert main([*base, *options]) == 0
        head, titles, *rows = capsys.readouterr().out.splitlines()
        assert head.startswith(f"{problems} problems")
        thresholds = [float(title) for title in titles.replace("<", " ").split()]
        assert 1 <= len(thresholds) <= 3
        printed = {row.split()[0]: [float(v) for v in row.split()[1:]] for row in rows}
        for name, own in distance.items():
            right = [np.mean([d < t for d in own[:problems]]) for t in thresholds]
            np.testing.assert_allclose(printed[name], right, atol=5e-4)


def test_profiles_of_a_table_of_methods_and_problems():
    mean = pd.DataFrame({"iris": [0.9, 0.95, 0.8], "kc2": [0.8, 0.7, 0.79]}, index=["A", "B", "C"])
    same = {name: Results(row.to_numpy(), np.ones(2), 5) for name, row in mean.iterrows()}
    tau = [0.001, 0.011, 0.06, 0.2]
    for options in ({"kind": "gap"}, {"kind": "ratio", "direction": "minimize"}):
        found = results_profile(mean, tau, **options)
        assert found.equals(results_profile(same, tau, **options))
        assert found.algorithm.values.tolist() == ["A", "B", "C"]
    sd, trials = mean * 0.1, pd.DataFrame({"kc2": [5, 6, 7], "iris": [9, 9, 8]}, index=mean.index)
    three = pd.concat({"trials": trials, "mean": mean, "sd": sd}, axis=1)
    found = results_profile(three, [0.1, 1.0, 3.0])
    for place, name in enumerate(mean.index):
        shares = []
        for problem in ("iris", "kc2"):
            first = mean[problem].to_numpy().argmax()
            moments = [
                (mean[problem].iloc[k], sd[problem].iloc[k], trials[problem].iloc[k])
                for k in (place, first)
            ]
            p = ttest_ind_from_stats(*moments[0], *moments[1], equal_var=False,
                                     alternative="less").pvalue  # fmt: skip
            shares.append(0.0 if place == first else -np.log(p))
        expected = [np.mean(np.array(shares) < t) for t in (0.1, 1.0, 3.0)]
        np.testing.assert_allclose(found.sel(algorithm=name), expected)
    for wrong, error, said in [
        (mean, ArgumentError, "Welch test takes means, sds and trials"),
        (three[["mean", "sd"]], LabelError, "have mean, sd on top; expected trials too"),
        (pd.concat([three, three]), LabelError, "several rows of one method"),
        (three.mask(three == 0.9), SchemaError, "some results are missing"),
        (three.astype(object).replace(0.9, "good"), SchemaError, "no number"),
        ([1.0, 2.0], ArgumentError, "results are a list; expected a dict of Results"),
    ]:
        with pytest.raises(error, match=said):
            results_profile(wrong)
