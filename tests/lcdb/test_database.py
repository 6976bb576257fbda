"""A database as its users see it: names, slices, statuses, and what is refused."""

from __future__ import annotations

import argparse
import inspect
import itertools
import json
from dataclasses import replace

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lcdb_builders.commands import curve as curve_command
from lcdb_builders.commands import replay as replay_command
from lcdb_builders.predict.curve import learning_curve
from lcdb_builders.predict.predictions import derive, predictions

import lcdb
from lcdb.cli import main
from lcdb.errors import (
    LabelError,
    NotBuiltError,
    PartialCurveWarning,
)
from lcdb.plot import FIGURES
from lcdb.schema import METRICS, STATUSES, UNIT_DIMS
from lcdb.shipped import crossing
from lcdb.shipped import experiments as shipped_experiments
from tests.support.cubes import toy_units, write_cube
from tests.support.plausible import (
    plausible_scores,
    rename,
    set_status,
    snapshot_of,
    write_plausible,
)

UNIT = {"learner": "LDC", "sampling": "additive", "split": "fixed", "tuning": "default"}


def plain_scores(file: h5py.File, metric: str) -> np.ndarray:
    """Return scores in float64: accuracies as the shares that their counts are."""
    scores = file[metric][...].astype(np.float64)
    if metric != "accuracy":
        return scores
    rows = file["n_test"][...][None, :, :, None]  # the same for all learners and tunings
    return np.round(scores * rows) / rows


def raw_labels(file: h5py.File) -> dict[str, list[str]]:
    return {dim: list(file[dim].asstr()[...]) for dim in UNIT_DIMS}


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.process
def test_datasets_are_found_by_id_and_by_name(db):
    assert list(db) == [61, 1063, "mine"]
    assert len(db) == 3
    for same in (61, "61", "iris", "IRIS", np.int64(61)):
        assert same in db
        assert db[same].attrs["dataset_name"] == "iris"
        assert db.resolve(same) == 61
    assert "my table" in db and 62 not in db and None not in db
    assert db.get(62) is None


@pytest.mark.process
@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda db: db["irs"], "Did you mean 'iris'?"),
        (lambda db: db[62], "Known: iris, kc2, my table, 61, 1063, mine."),
        (lambda db: db.curve(61, "LCD"), "learner 'LCD' is not in cube 61 (iris). Did you mean"),
        (lambda db: db.curve(61, "ldc"), "Did you mean 'LDC'?"),
        (lambda db: db.curve(61, "RFOR"), "It holds: LDC, QDC, NNC."),
        (lambda db: db.curve(61, "LDC", sampling="aditive"), "Did you mean 'additive'?"),
        (lambda db: db.curve(61, "LDC", split="pool"), "It holds: fixed, varying."),
        (lambda db: db.curve(61, "LDC", tuning="tune"), "Did you mean 'tuned'?"),
        (lambda db: db.curve(61, "LDC", metric="recall"), "Known: accuracy, auc, brier"),
        (lambda db: db.curve(61, "LDC", metric="n_test"), "metric 'n_test' does not exist."),
        (lambda db: db.select(metric="cross entropy"), "Did you mean 'cross_entropy'?"),
        (lambda db: db.select(learner=["LDC", "QDD"]), "learner 'QDD' is not in"),
        (lambda db: db.select([61, 1063], learner="MLP"), "is not in cube 61 (iris)"),
        (lambda db: db.select([61, 99]), "dataset '99' is not in"),
        (lambda db: db.curve(61, "LDC", metric="acc"), "Did you mean 'accuracy'?"),
        (lambda db: db.curve(61, ["LDC", "QDC"]), "learner is ['LDC', 'QDC'], a list; expected"),
        (lambda db: db.curve(61, ["LDC", "QDC"]), "db.select takes several"),
        (lambda db: db.curve(61, "LDC", sampling=None), "sampling is None, a NoneType; expected"),
        (lambda db: db.curve(61, "LDC", metric=["auc"]), "metric is ['auc'], a list; expected"),
        (lambda db: db.curve(["iris"], "LDC"), "dataset is ['iris'], a list; expected one id"),
        (lambda db: db[["iris"]], "dataset is ['iris'], a list; expected one id or name"),
        (lambda db: db[True], "dataset is True, a bool; expected one id or name"),
        (lambda db: db.select({"iris": 1}), "dataset is {'iris': 1}, a dict; expected one id"),
        (lambda db: db.select(learner=3), "learner is 3, a int; expected one name as text"),
        (lambda db: db.select(learner=["LDC", 3]), "learner is 3, a int; expected one name"),
        (lambda db: db.select(metric=["auc", "acuracy"]), "Did you mean 'accuracy'?"),
        (lambda db: db.select(metric={"auc"}), "metric is {'auc'}, a set; expected one name"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(db, ask, told):
    with pytest.raises(LabelError) as caught:
        ask(db)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.process
def test_what_is_no_name_is_not_in_it(db):
    assert ["iris"] not in db and {"iris"} not in db and 61.0 not in db


@pytest.mark.process
def test_names_are_completed(db):
    names = db._ipython_key_completions_()
    assert names == ["iris", "kc2", "my table", 61, 1063, "mine"]
    assert all(name in db for name in names)
    with shipped_experiments() as experiments:
        assert experiments._ipython_key_completions_() == ["dse", "pendulum"]


def test_the_package_shows_what_is_for_users():
    assert dir(lcdb) == sorted(lcdb.__all__)
    assert all(getattr(lcdb, name) is not None for name in dir(lcdb))


@pytest.mark.process
def test_several_metrics_are_a_dataset(db):
    asked = {"learner": ["QDC", "LDC"], "split": "varying"}
    found = db.select([61], metric=["brier", "accuracy"], **asked)
    assert list(found) == [61] and list(found[61].data_vars) == ["brier", "accuracy"]
    assert found[61].attrs["dataset_name"] == "iris"
    for metric in ("brier", "accuracy"):
        xr.testing.assert_identical(found[61][metric], db.select(61, metric=metric, **asked)[61])
    assert list(db.select("iris", metric=("auc",))[61].data_vars) == ["auc"]


@pytest.mark.process
def test_two_datasets_of_one_name_must_be_told_apart_by_id(copy):
    options = {"learners": ("LDC",)}
    write_plausible(copy / "cubes" / "5.nc", snapshot_of("5", "iris", 20), 2, **options)
    with lcdb.open(copy) as db:
        assert db[5].attrs["openml_id"] == 5
        with pytest.raises(LabelError, match=r"ambiguous: \[5, 61\]"):
            db["iris"]


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("metric", METRICS)
def test_every_curve_is_what_plain_h5py_reads(database_folder, db, metric):
    for key in db:
        with h5py.File(database_folder / "cubes" / f"{key}.nc", locking=False) as file:
            labels = raw_labels(file)
            for where in itertools.product(*(range(len(v)) for v in labels.values())):
                named = {d: labels[d][i] for d, i in zip(UNIT_DIMS, where, strict=True)}
                found = db.curve(key, metric=metric, **named)
                assert found.dims == ("n", "repetition")
                assert found.dtype == np.float64
                expected, sizes = plain_scores(file, metric)[where], found["n"].values
                np.testing.assert_array_equal(found.values, expected[sizes - 1])
                others = np.setdiff1d(np.arange(len(expected)), sizes - 1)
                assert np.isnan(expected[others]).all()
                assert {d: str(found[d].values) for d in UNIT_DIMS} == named


@pytest.mark.process
def test_a_curve_carries_its_units_and_its_place(db):
    curve = db.curve(61, "QDC", sampling="random", split="varying", metric="brier")
    assert curve.name == "brier"
    assert curve.attrs["direction"] == "minimize"
    assert curve.attrs["units"] == "1"
    assert curve.attrs["dataset_name"] == "iris"
    assert list(curve.attrs["valid_range"]) == [0, 2]
    np.testing.assert_array_equal(curve.fraction, np.arange(1, 43) / 42)
    assert curve.fraction.dims == ("n",)
    assert curve.fraction.attrs["units"] == "1"
    assert str(curve.status.values) == "complete"
    assert str(curve.dataset.values) == "61"


@pytest.mark.process
def test_a_tuned_curve_is_nan_below_ten_and_finite_from_there(db):
    curve = db.curve(61, "LDC", tuning="tuned")
    assert curve.sel(n=slice(1, 9)).isnull().all()
    assert curve.sel(n=slice(10, None)).notnull().all()
    assert db.curve(61, "LDC").notnull().all()


@pytest.mark.process
def test_nothing_is_read_before_it_is_used(db):
    curve = db.curve(61, "LDC")
    assert not curve.variable._in_memory
    whole = db[61]
    assert not any(whole[name].variable._in_memory for name in METRICS)
    one = curve.sel(n=10)
    assert one.values.shape == (5,)
    assert not curve.variable._in_memory


@pytest.mark.process
def test_a_dataset_that_was_handed_out_may_be_changed(db):
    mine = db[61]
    mine["accuracy"] = mine["accuracy"] * 0
    mine.attrs["title"] = "mine"
    mine["accuracy"].attrs["units"] = "?"
    db.curve(61, "LDC").attrs.clear()
    assert db[61].attrs["title"] != "mine"
    assert db.curve(61, "LDC").mean() > 0.1
    assert db.curve(61, "LDC").attrs["units"] == "1"


LABELS = {
    "learner": ["LDC", "QDC", "NNC"],
    "sampling": ["additive", "random"],
    "split": ["fixed", "varying"],
    "tuning": ["default", "tuned"],
}


@st.composite
def choices(draw):
    """One label, several in any order, or None, along each dim."""
    found = {}
    for dim, labels in LABELS.items():
        several = st.lists(st.sampled_from(labels), min_size=1, unique=True)
        found[dim] = draw(st.one_of(st.none(), st.sampled_from(labels), several))
    return found


@pytest.mark.process
@given(where=choices(), metric=st.sampled_from(list(METRICS)))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_selection_is_plain_indexing(database_folder, db, where, metric):
    (key, found), *rest = db.select("iris", metric=metric, **where).items()
    assert key == 61 and not rest
    with h5py.File(database_folder / "cubes" / "61.nc", locking=False) as file:
        expected = plain_scores(file, metric)
    for axis, (dim, labels) in reversed(list(enumerate(where.items()))):
        every = LABELS[dim]
        if isinstance(labels, str):
            expected = expected.take(every.index(labels), axis)
        elif labels is not None:
            expected = expected.take([every.index(label) for label in labels], axis)
    sizes = found["n"].values
    np.testing.assert_array_equal(found.values, expected.take(sizes - 1, -2))
    others = np.setdiff1d(np.arange(expected.shape[-2]), sizes - 1)
    assert np.isnan(expected.take(others, -2)).all()
    kept = [dim for dim, labels in where.items() if not isinstance(labels, str)]
    assert found.dims == (*kept, "n", "repetition")
    assert found.status.dims == tuple(kept)
    assert (found.status == "complete").all()
    for dim in kept:
        assert list(found[dim].values) == (where[dim] or LABELS[dim])


@pytest.mark.process
def test_datasets_that_lack_a_learner_are_left_out_unless_named(db):
    assert list(db.select(learner="QDC")) == [61, "mine"]
    assert list(db.select(learner="LDC")) == [61, 1063, "mine"]
    several = db.select(learner=["MLP", "LDC"])
    assert list(several[1063].learner.values) == ["MLP", "LDC"]
    assert list(several[61].learner.values) == ["LDC"]
    assert list(db.select(["kc2", 61], learner="LDC")) == [1063, 61]


@pytest.mark.process
def test_arrays_of_different_length_stay_apart_until_asked(db):
    found = db.select(learner="LDC", sampling="additive", split="fixed", tuning="default")
    assert {key: array.sizes["n"] for key, array in found.items()} == {61: 42, 1063: 28, "mine": 35}
    last = [array.isel(n=-1).mean("repetition") for array in found.values()]
    joined = xr.concat(last, dim="dataset", coords="minimal", compat="override")
    assert list(joined.dataset.values) == ["61", "1063", "mine"]


@pytest.mark.process
def test_a_tree_holds_every_cube(db):
    tree = db.to_datatree()
    assert list(tree.children) == ["61", "1063", "mine"]
    xr.testing.assert_identical(tree["1063"].to_dataset(), db[1063])
    assert not tree["61"]["accuracy"].variable._in_memory


# -- draws that nobody asked for -------------------------------------------------------------------


def test_draws_are_the_same_wherever_nothing_is_asked_for(db):
    usual = {"sampling": "random", "split": "varying"}
    functions = [lcdb.Database.curve, lcdb.Database.select, derive, predictions, learning_curve]
    for function in functions:
        parameters = inspect.signature(function).parameters
        assert {dim: parameters[dim].default for dim in usual} == usual, function
    for command in (replay_command, curve_command):
        parser = argparse.ArgumentParser()
        command.configure(parser)
        assert {dim: parser.get_default(dim) for dim in usual} == usual, command
    labels = dict(lcdb.reporting.curves(db, datasets=[61])[61].coords)
    assert {dim: labels[dim].item() for dim in usual} == usual
    drawn = []
    for name, figure in FIGURES.items():
        choice = figure.choice(name, db, 61, "accuracy", None, {}, "none")
        if all(isinstance(choice.labels[dim], str) for dim in usual):
            drawn.append({dim: choice.labels[dim] for dim in usual} == usual)
    assert any(drawn) and drawn.count(False) == 7  # the paper's own: 1a, 2b, 2c, 2d, 3a, 3b, D5


def test_a_database_without_these_draws_says_which_it_has():
    """Curves are never of other draws than the reader thinks; a page says what it is of."""
    with crossing() as db:
        told = r"sampling 'random' is not in .* It holds: additive\. Ask for one of these, as "
        for ask in (lambda: db.curve("iris", "LDC"), db.select, lambda: db.select("iris")):
            with pytest.raises(LabelError, match=told + "sampling='additive'"):
                ask()
        assert db.curve("iris", "LDC", sampling="additive").sizes["repetition"] == 1000
        found = lcdb.reporting.curves(db, datasets=["iris"])[61]
        assert (found.sampling.item(), found.split.item()) == ("additive", "varying")
        choice = FIGURES["means"].choice("means", db, 61, "accuracy", None, {}, "none")
        assert choice.labels["sampling"] == "additive"


# -- status ----------------------------------------------------------------------------------------


@pytest.mark.process
@pytest.mark.parametrize("status", [s for s in STATUSES if s != "complete"])
def test_a_curve_with_gaps_warns_and_one_without_values_raises(copy, status):
    path = copy / "cubes" / "61.nc"
    name = r"iris \(61\) LDC/additive/fixed/default"
    set_status(path, status, **UNIT)
    with lcdb.open(copy) as db:
        if status != "not_built":
            told = rf"{name} has status '{status}': what was not computed is NaN"
            with pytest.warns(PartialCurveWarning, match=told) as caught:
                db.curve(61, **UNIT)
            assert caught[0].filename == __file__
        table = db.select(61, learner="LDC", sampling=None, split="fixed")[61].status
        assert table.sel(sampling="additive", tuning="default") == status
        assert (table.sel(sampling="random") == "complete").all()
    set_status(path, status, **UNIT, empty=True)
    with lcdb.open(copy) as db:
        with pytest.raises(NotBuiltError, match=rf"{name} has no values: status '{status}'"):
            db.curve(61, **UNIT)
        assert str(db.select(61, **UNIT)[61].status.values) == status


@pytest.mark.process
def test_the_reason_comes_from_the_manifest_if_there_is_one(copy):
    path = copy / "cubes" / "61.nc"
    set_status(path, "failed", **UNIT, empty=True)
    set_status(path, "partial", **{**UNIT, "learner": "QDC"})
    units = [
        {"unit": UNIT, "status": "complete", "reason": ""},
        {"unit": UNIT, "status": "failed", "reason": "n = 3: singular matrix"},
        {"unit": {**UNIT, "learner": "QDC"}, "status": "partial", "reason": "sizes up to 20"},
        {"unit": {**UNIT, "learner": "NNC"}, "status": "failed", "reason": "of another cube"},
    ]
    manifest = copy / "manifest" / "61.json"
    manifest.parent.mkdir()
    manifest.write_text(json.dumps({"current": {"units": units[:1]}, "next": {"units": units[1:]}}))
    with lcdb.open(copy) as db:
        with pytest.raises(NotBuiltError, match=r"status 'failed' \(n = 3: singular matrix\);"):
            db.curve(61, **UNIT)
        with pytest.warns(PartialCurveWarning, match=r"status 'partial' \(sizes up to 20\):"):
            db.curve(61, **{**UNIT, "learner": "QDC"})
        told = db.status().query("reason != ''")
        assert list(told["reason"]) == ["n = 3: singular matrix", "sizes up to 20"]
    for text in ("", "[]", "{", '{"current": {"units": [{"unit": 3}]}}', '{"current": 1}'):
        manifest.write_text(text)
        with lcdb.open(copy) as db, pytest.raises(NotBuiltError, match="status 'failed';"):
            db.curve(61, **UNIT)


@pytest.mark.process
def test_the_status_table_has_one_row_per_curve(copy):
    set_status(copy / "cubes" / "61.nc", "timed_out", **UNIT)
    with lcdb.open(copy) as db:
        table = db.status()
        assert len(table) == sum(header.status.size for header in db.headers.values())
        assert not table.duplicated(["dataset", *UNIT_DIMS]).any()
        row = table.query("status == 'timed_out'")
        assert len(row) == 1
        assert row.iloc[0][list(UNIT_DIMS)].to_dict() == UNIT
        assert row.iloc[0]["dataset"] == 61 and row.iloc[0]["name"] == "iris"
        counts = table.groupby("status", observed=False).size()
        for status in STATUSES:
            told = sum(header.counts[status] for header in db.headers.values())
            assert counts[status] == told


# -- sizes that were built -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stepped(tmp_path_factory):
    """A cube of few sizes, in which tuned curves begin at 10 and one learner has two sizes."""
    folder = tmp_path_factory.mktemp("stepped")
    (folder / "cubes").mkdir()
    snapshot = snapshot_of("61", "iris", 60)
    draws = {"samplings": ("random",), "splits": ("varying",), "tunings": ("default", "tuned")}
    units = toy_units(snapshot, ("LDC", "QDC"), **draws, sizes=(2, 5, 12, 40))
    few = [
        replace(unit, sizes=(5, 40)) if unit.learner == "QDC" and unit.tuning == "default" else unit
        for unit in units
    ]
    scores = plausible_scores(few, snapshot.rows, 4)
    write_cube(folder / "cubes" / "61.nc", snapshot, few, 4, scores)
    return folder


def test_curves_have_the_sizes_that_were_built(stepped):
    with lcdb.open(stepped) as db:
        assert db.curve("iris", "LDC")["n"].values.tolist() == [2, 5, 12, 40]
        assert db.curve("iris", "QDC")["n"].values.tolist() == [5, 40]
        tuned = db.curve("iris", "QDC", tuning="tuned")
        assert tuned["n"].values.tolist() == [12, 40] and tuned.notnull().all()
        assert tuned["fraction"].values.tolist() == [12 / 42, 1.0 * 40 / 42]
        both = db.select("iris", tuning="default")[61]
        assert both["n"].values.tolist() == [2, 5, 12, 40]
        missing = both.isnull().all("repetition").sel(learner="QDC")
        assert missing.values.tolist() == [True, False, True, False]
        assert db["iris"]["n"].values.tolist() == [2, 5, 12, 40]
        # What xarray draws is a line, where it was points between gaps.
        mean = db.curve("iris", "QDC").mean("repetition")
        assert mean.notnull().all()


def test_the_file_keeps_every_size(stepped):
    path = stepped / "cubes" / "61.nc"
    with xr.open_dataset(path) as plain, lcdb.open(stepped) as db:
        assert plain["n"].values.tolist() == list(range(1, 43))
        cube = db["iris"]
        assert cube.identical(plain.sel(n=cube["n"]))
        assert (plain["n_test"].sel(n=3) < plain["n_test"].attrs["valid_min"]).all()
        assert plain["n_test"].attrs["valid_min"].dtype == plain["n_test"].dtype
        assert (cube["n_test"] >= 0).all()


@pytest.mark.parametrize("options", [{"check": True}, {"chunks": "auto"}, {"check": False}])
def test_sizes_are_the_same_however_a_cube_is_opened(stepped, options):
    with lcdb.open(stepped) as db, lcdb.open(stepped, **options) as other:
        assert other["iris"].identical(db["iris"])
        curve = other.curve("iris", "LDC", metric="brier")
        assert curve.identical(db.curve("iris", "LDC", metric="brier"))


def test_what_counts_sizes_counts_those_that_were_built(stepped, capsys):
    assert main(["info", str(stepped), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["sizes"] == {"first": 2, "last": 40, "count": 4}
    with lcdb.open(stepped) as db:
        assert "2..40 (4)" in repr(db) and "1..42" not in repr(db)
        assert db.headers[61].sizes.tolist() == [2, 5, 12, 40]


def test_names_have_no_control_characters_once_they_are_read(copy):
    name = "\x1b[31mred\x1b[0m\u202e\n"
    rename(copy / "cubes" / "61.nc", name)
    with h5py.File(copy / "cubes" / "61.nc", "r+") as file:
        file["auc"].attrs["note\x07"] = name
    with lcdb.open(copy, check=False) as db:
        assert db.headers[61].name == r"\x1b[31mred\x1b[0m\u202e\n"
        shown = [repr(db), repr(db[61]), repr(db.curve(61, "LDC")), repr(db.select(61)[61])]
        shown += [db.status().to_string(), repr(db[61]["auc"])]
        for text in shown:
            assert all(map(str.isprintable, text.split("\n"))), text
