"""Scaled features: constants of the pool, curves that are paired, cubes of their own."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import lcdb_builders
import numpy as np
import pandas as pd
import pytest
from lcdb_builders.domain.sampling import Draws
from lcdb_builders.domain.scaling import rescaled, scaled
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.reference.replay import replay
from lcdb_builders.sources import obtain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import lcdb
from lcdb.cli import main
from lcdb.errors import DatasetError, LabelError, LCDBError, PlanError
from lcdb.tables import curve_frame
from tests.support.hosts import serving

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}
PLAN = {
    "datasets": [61],
    "learners": ["NMC", "NNC"],
    "samplings": ["random"],
    "splits": ["fixed", "varying"],
    "tunings": ["default", "tuned"],
    "scalings": ["none", "standard", "minmax"],
    "sizes": [12, 40, 105],
    "repetitions": 8,
    "seed": 11,
}
VERSION_1 = Path(__file__).parents[1] / "databases" / "version-1"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("scaled")
    lcdb_builders.build(PLAN, root, workers=1, offline=True)
    return root


def pool_of(iris, seed):
    return Draws(iris.rows, iris.sha256, seed, "random", "fixed").pool


@pytest.mark.parametrize("scaling", SCALERS)
def test_constants_are_those_of_the_rows_that_fixed_trains_on(scaling):
    iris = obtain(61, offline=True)
    pool = pool_of(iris, 11)
    wanted = SCALERS[scaling]().fit(iris.X[pool]).transform(iris.X)
    other = scaled(iris, scaling, 11)
    np.testing.assert_allclose(other.X, wanted, rtol=0, atol=1e-13)
    assert (other.y == iris.y).all() and other.feature_names == iris.feature_names
    test = np.setdiff1d(np.arange(iris.rows), pool)
    changed = iris.X.copy()
    changed[test] += 7.0
    np.testing.assert_array_equal(rescaled(changed, pool, scaling)[pool], other.X[pool])


@pytest.mark.parametrize("scaling", SCALERS)
def test_a_column_that_is_constant_in_the_pool_becomes_zero(scaling):
    X = np.array([[2.0, 1.0], [2.0, 3.0], [2.0, 5.0], [9.0, 7.0]])
    assert (rescaled(X, np.array([0, 1, 2]), scaling)[:, 0] == 0).all()


@pytest.mark.parametrize("scaling", SCALERS)
def test_numbers_too_far_apart_are_refused_by_the_name_of_the_dataset(scaling):
    X = np.array([[-1e308], [1e308], [0.0]])
    with pytest.raises(DatasetError, match="far: column 0 has numbers too far apart"):
        rescaled(X, np.arange(3), scaling, "far")


@pytest.mark.process
def test_each_scaling_has_a_cube_of_its_own(built):
    names = {path.name for path in (built / "cubes").glob("*.nc")}
    assert names == {"61.nc", "61-standard.nc", "61-minmax.nc"}
    with lcdb.open(built, check=True) as db:
        assert list(db) == [61, "61-minmax", "61-standard"]
        for key, scaling in zip(db, ("none", "minmax", "standard"), strict=True):
            attributes = db[key].attrs
            assert attributes["scaling"] == scaling and attributes["dataset_id"] == "61"
            assert attributes["format_version"] == lcdb.schema.FORMAT_VERSION
            lcdb.schema.validate(db[key])
        assert len({db[key].attrs["dataset_sha256"] for key in db}) == 1
    assert not list((built / "snapshots").glob("61-*"))  # made in memory, never a dataset


@pytest.mark.process
def test_curves_of_scalings_are_paired(built):
    with lcdb.open(built) as db:
        for name in ("n_test", "n_classes_train"):
            for key in ("61-standard", "61-minmax"):
                np.testing.assert_array_equal(db[key][name], db[61][name])
        plain, other = (
            db.curve("iris", "NNC", scaling=s, split="varying", sampling="random")
            for s in ("none", "standard")
        )
        assert (plain.sel(n=40) != other.sel(n=40)).any()
        assert plain.scaling == "none" and other.scaling == "standard"


@pytest.mark.process
@pytest.mark.parametrize("scaling", ["none", *SCALERS])
@pytest.mark.parametrize("split", ["fixed", "varying"])
def test_a_cell_is_what_scikit_learn_makes_of_the_scaled_rows(built, scaling, split):
    iris = obtain(61, offline=True)
    X = iris.X
    if scaling != "none":
        X = SCALERS[scaling]().fit(X[pool_of(iris, 11)]).transform(X)
    draws = Draws(iris.rows, iris.sha256, 11, "random", split)
    with lcdb.open(built) as db:
        curve = db.curve("iris", "NNC", sampling="random", split=split, scaling=scaling)
    for n in (12, 40, 105):
        for r in range(5):
            train, test = draws.train(n, r), draws.test(n, r)
            model = KNeighborsClassifier(1).fit(X[train], iris.y[train])
            right = (model.predict(X[test]) == iris.y[test]).sum()
            # Equal distances, of which scikit-learn takes any, may move a row.
            assert abs(float(curve.sel(n=n, repetition=r)) * len(test) - right) <= 1


@pytest.mark.process
def test_cubes_are_asked_for_by_name_and_scaling(built):
    with lcdb.open(built) as db:
        assert db.resolve("iris") == 61 and db.resolve("iris", "standard") == "61-standard"
        assert db.resolve("61-minmax") == "61-minmax" == db.resolve("61-minmax", "minmax")
        with pytest.raises(LabelError, match="'61-standard' is not in"):
            db.resolve("61-standard", "minmax")
        with pytest.raises(LabelError, match=r"scaling 'standart' does not exist.*'standard'"):
            db.curve("iris", "NMC", scaling="standart")
        assert list(db.select(learner="NMC")) == [61]
        assert list(db.select(learner="NMC", scaling="minmax")) == ["61-minmax"]
        both = db.select("iris", learner="NMC", scaling=["standard", "none"])
        assert list(both) == ["61-standard", 61]
        assert len(db.select(learner="NMC", scaling=None)) == 3
    with lcdb.open(built / "cubes" / "61-standard.nc") as db:
        with pytest.raises(LabelError, match=r"but 'standard' \(db\['61-standard'\]\)"):
            db["iris"]
        assert db.curve("iris", "NMC", scaling="standard", sampling="random").sizes["n"] == 3


@pytest.mark.process
@pytest.mark.parametrize("learner, tuning", [("NNC", "tuned"), ("NMC", "default")])
def test_scaled_cells_are_replayed_and_predicted_again(built, learner, tuning):
    labels = {"sampling": "random", "split": "varying", "tuning": tuning}
    cell = replay(built, "iris", learner, n=40, repetition=2, scaling="standard", **labels)
    assert cell.agrees and not cell.unchecked, cell
    with lcdb.open(built) as db:
        again = {"n": 40, "scaling": "minmax", "repetitions": 3, "workers": 1, **labels}
        said = db.predictions("iris", learner, **again)
        derived = db.derive("iris", learner, "accuracy", **again)
        stored = db.curve("iris", learner, scaling="minmax", **labels).sel(n=40)
        np.testing.assert_allclose(derived.squeeze("n"), stored[:3], rtol=0, atol=1e-12)
        assert said.attrs["largest_difference"] < 1e-6 and said.scaling == "minmax"
        unscaled = db.predictions("iris", learner, **{**again, "scaling": "none"})
        np.testing.assert_array_equal(unscaled["drawn"], said["drawn"])


@pytest.mark.process
def test_verify_recomputes_scaled_cells(built, capsys):
    assert main(["verify", str(built), "--recompute", "6", "--quiet"]) == 0
    assert "6 of 6 recomputed cells are as stored" in capsys.readouterr().out


@pytest.mark.process
def test_commands_know_scalings(built, tmp_path, capsys):
    where = ["-n", "40", "--scaling", "minmax", "--sampling", "random"]
    assert main(["replay", str(built), "iris", "NMC", *where]) == 0
    assert "61-minmax/NMC" in capsys.readouterr().out
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'datasets = [61]\nlearners = ["NNC"]\nsamplings = ["random"]\nsplits = ["fixed"]\n'
        'scalings = ["none", "minmax"]\ntunings = ["default", "tuned"]\nsizes = [12]\n'
        "repetitions = 2\n"
    )
    part = ["--scaling", "minmax", "--tuning", "default"]
    assert main(["plan", str(plan), "--json", *part]) == 0
    estimate = json.loads(capsys.readouterr().out)
    assert [line["label"] for line in estimate["datasets"]] == ["61-minmax"]
    assert [line["label"] for line in estimate["learners"]] == ["draws", "NNC"]


@pytest.mark.full
@pytest.mark.process
def test_a_cube_of_scaled_features_is_built_by_itself_and_in_pieces(tmp_path, built):
    lists = (f"{key} = {json.dumps(value)}" for key, value in PLAN.items())
    plan = tmp_path / "plan.toml"
    plan.write_text("\n".join(lists))
    root = tmp_path / "db"
    part = ["--scaling", "standard", "--tuning", "default", "--learner", "NNC"]
    how = ["--out", str(root), "--offline", "--quiet", "--workers", "1"]
    assert main(["build", str(plan), *how, *part]) == 0
    assert [path.name for path in (root / "cubes").glob("*.nc")] == ["61-standard.nc"]
    with lcdb.open(root) as db, lcdb.open(built) as whole:
        status = db.status().set_index(["learner", "tuning"])["status"]
        assert set(status["NNC", "default"]) == {"complete"}
        assert set(status.drop(("NNC", "default"))) == {"not_built"}
        labels = {"sampling": "random", "scaling": "standard"}
        np.testing.assert_array_equal(
            db.curve(61, "NNC", **labels), whole.curve(61, "NNC", **labels)
        )
    part = {"scalings": ["standard"], "tunings": ["tuned"]}
    report = lcdb_builders.build(PLAN, root, workers=1, offline=True, **part)
    assert report.computed
    with lcdb.open(root) as db:
        status = db.status().set_index(["learner", "tuning"])["status"]
        assert set(status["NMC", "tuned"]) == {"complete"}
        assert set(status["NMC", "default"]) == {"not_built"}
    report = lcdb_builders.build(PLAN, root, workers=1, offline=True, scalings=["standard"])
    one, other = (path / "cubes" / "61-standard.nc" for path in (root, built))
    assert report.computed and one.read_bytes() == other.read_bytes()
    with pytest.raises(LabelError, match="the plan has no scaling 'std'"):
        lcdb_builders.build(PLAN, root, scalings=["std"])
    with pytest.raises(LabelError, match="the plan has no tuning 'tune'"):
        lcdb_builders.build(PLAN, root, tunings=["tune"])


@pytest.mark.process
def test_a_database_is_seen_under_one_scaling(built, capsys):
    with lcdb.open(built) as db:
        view = db.scaled("standard")
        assert list(view) == ["61-standard"] and list(view.scaled()) == ["61-standard"]
        assert (
            view.resolve("iris") == "61-standard"
            and "standard" in view.curve(61, "NMC", sampling="random").scaling.item()
        )
        assert list(view.select(learner="NMC")) == ["61-standard"]
        assert list(db.scaled()) == [61] and len(db) == 3
        assert repr(db).splitlines()[0].endswith("1 dataset in 3 cubes")
        for name in ("61", "61-standard", "61-minmax"):
            assert any(line.split()[0] == name for line in repr(db).splitlines())
        plain, other = curve_frame(db), curve_frame(view)
        assert set(plain["dataset"]) == set(other["dataset"]) == {"61"}
        assert len(plain) == len(other) and not plain.equals(other)
        with pytest.raises(LabelError, match=r"no cube of scaling .minmax.*standard"):
            view.scaled("minmax")
        view.close()
        with pytest.raises(LCDBError, match="closed"):
            db[61]
    assert main(["info", str(built), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["scaling"] for one in told] == ["none", "minmax", "standard"]


@pytest.mark.process
def test_tables_figures_and_summaries_are_of_a_scaling(built, tmp_path, capsys):
    rates = {}
    for scaling in ("none", "standard"):
        assert (
            main(["tables", str(built), "--table", "2", "--format", "csv", "--scaling", scaling])
            == 0
        )
        rates[scaling] = capsys.readouterr().out
        out = tmp_path / f"{scaling}.svg"
        assert (
            main(
                [
                    "plot",
                    str(built),
                    "--figure",
                    "means",
                    "--dataset",
                    "61",
                    "--scaling",
                    scaling,
                    "--sampling",
                    "random",
                    "--out",
                    str(out),
                ]
            )
            == 0
        )
        capsys.readouterr()
    assert "NNC" in rates["none"] and rates["none"] != rates["standard"]
    assert (tmp_path / "none.svg").read_bytes() != (tmp_path / "standard.svg").read_bytes()
    assert main(["summarize", str(built), "--out", str(tmp_path / "small")]) == 0
    with lcdb.open(tmp_path / "small") as small, lcdb.open(built) as db:
        assert list(small) == list(db)
        assert small["61-standard"].attrs["scaling"] == "standard"
        pairs = (curve_frame(one.scaled("standard")) for one in (small, db))
        pd.testing.assert_frame_equal(*pairs)


def test_ids_of_ones_own_do_not_end_in_a_scaling():
    entry = {"id": "wine-Standard", "file": "wine.csv", "target": "class"}
    with pytest.raises(PlanError, match="cubes of scaled features end in '-standard'"):
        load_plan({"datasets": [entry], "learners": ["LDC"]})
    entry["id"] = "wine_standard"
    assert load_plan({"datasets": [entry], "learners": ["LDC"]}).datasets[0].id == "wine_standard"


@pytest.mark.process
def test_a_database_of_version_1_is_read_and_goes_on_growing(tmp_path):
    root = shutil.copytree(VERSION_1, tmp_path / "db")
    with lcdb.open(root, check=True) as db:
        assert db[61].attrs["format_version"] == 1 and "scaling" not in db[61].attrs
        lcdb.schema.validate(db[61])
        before = db.curve("iris", "NMC", sampling="random", tuning="tuned").load()
        assert np.isfinite(before.sel(n=20)).all()
    plan = tomllib.loads((VERSION_1 / "plan.toml").read_text())
    with pytest.raises(PlanError, match=r"61-LDC.*implementation is 'kernel-3' in the plan"):
        lcdb_builders.build(plan, root, learners=["NMC"], workers=1, offline=True)
    plan["learners"].remove("LDC")  # whose curves stay as they are
    same = lcdb_builders.build(plan, root, learners=["NMC"], workers=1, offline=True)
    assert not same.computed and not same.cubes["61"].written
    grown = {**plan, "scalings": ["none", "standard"], "repetitions": 8}
    report = lcdb_builders.build(grown, root, learners=["NMC"], workers=1, offline=True)
    assert report.cubes["61"].written
    with lcdb.open(root, check=True) as db:
        assert db[61].attrs["format_version"] == 2 and db[61].attrs["scaling"] == "none"
        assert set(db.status().query("learner == 'NMC'")["status"]) == {"complete"}
        after = db.curve("iris", "NMC", sampling="random", tuning="tuned")
        np.testing.assert_array_equal(after[:, :6], before)
        assert np.isfinite(after.sel(n=20)).all() and after.sizes["repetition"] == 8
        np.testing.assert_array_equal(db["61-standard"]["n_test"], db[61]["n_test"])


@pytest.mark.process
def test_figures_and_reports_are_of_the_scaling_that_is_asked_for(built, tmp_path, capsys):
    import matplotlib

    matplotlib.use("agg")
    with lcdb.open(built) as db:
        labels = {"sampling": "random", "learner": ["NNC", "NMC"], "scaling": "standard"}
        ax = lcdb.plot.draw(db, "means", dataset="iris", **labels)
        expected = db.curve("iris", "NNC", sampling="random", scaling="standard")
        drawn = next(line for line in ax.lines if line.get_label() == "NNC")
        means = expected.dropna("n").mean("repetition")
        np.testing.assert_allclose(drawn.get_ydata(), means)
        assert "random · varying · scaling standard" in ax.get_title(loc="left")
        assert list(lcdb.reporting.curves(db, scaling="minmax")) == ["61-minmax"]
        page = lcdb.report(db, scaling="minmax", metric="brier")
        assert page.title == "Learning curves of iris (61-minmax): Brier score"
        assert "scaling minmax" in page.to_markdown().replace("\\", "")
    for command, name in ((["plot", "--figure", "curves", "--dataset", "61"], "a.svg"),
                          (["report", "--metric", "auc"], "a.html")):  # fmt: skip
        out = ["--scaling", "standard", "--out", str(tmp_path / name)]
        assert main([command[0], str(built), *command[1:], *out]) == 0
        assert capsys.readouterr().out.strip() == str(tmp_path / name)


@pytest.mark.server
@pytest.mark.process
def test_what_is_published_and_pulled_has_every_scaling(built, tmp_path):
    root = shutil.copytree(built, tmp_path / "db")
    out = tmp_path / "published"
    assert main(["publish", str(root), "--url", "https://example.org/db", "--out", str(out)]) == 0
    page = (out / "README.md").read_text()
    assert page.startswith("# Learning curves as distributions: iris\n")
    assert "on 1 dataset:" in page and "| 61-standard | iris |" in page
    assert main(["index", str(root)]) == 0
    with serving(root) as served:
        assert main(["pull", served.url, str(tmp_path / "copy")]) == 0
        with lcdb.open(served.url) as there, lcdb.open(tmp_path / "copy") as copy:
            assert list(there) == list(copy) == [61, "61-minmax", "61-standard"]
            labels = {"sampling": "random", "scaling": "minmax"}
            np.testing.assert_array_equal(
                there.curve("iris", "NNC", **labels), copy.curve("iris", "NNC", **labels)
            )
