"""What stored cells predicted: the stored numbers come out, and every other metric can be had."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from lcdb_builders.domain import snapshot as snapshots
from lcdb_builders.domain.unit import DRAWS, Block
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.predict import spending
from lcdb_builders.reference.block import draws_block
from lcdb_builders.sources.bundled import bundled
from lcdb_builders.storage.blocks import Blocks
from lcdb_builders.storage.environment import environment
from lcdb_builders.storage.indexes import index_database
from lcdb_builders.storage.layout import Lengths
from lcdb_builders.storage.pack import pack
from sklearn import metrics as sk

import lcdb
from lcdb.errors import (
    ArgumentError,
    CellError,
    ImportRefusedError,
    LabelError,
    NotBuiltError,
    NotFoundError,
    PartialCurveWarning,
    RecomputedWarning,
)
from lcdb.schema import LEARNERS, METRICS
from tests.support.counts import counts
from tests.support.hosts import serving

R = counts(3, 8)
PLAN = {
    "datasets": [61],
    "learners": {name: {} for name in LEARNERS}
    | {"RFOR": {"trees": 3}, "ADAB": {"stumps": 5}}
    | {"TREE": {"estimator": "sklearn.tree.DecisionTreeClassifier"}}
    | {
        "LABELS": {"estimator": "estimators.NotANumber"},
        "FAILS": {"estimator": "estimators.Raises"},
    },
    "samplings": ["random", "bootstrap"],
    "splits": ["fixed", "varying"],
    "sizes": [2, 10, 40],
    "repetitions": R,
    "seed": 5,
}
TUNED = PLAN | {
    "learners": {name: {} for name in ("NMC", "LDC", "NNC", "LSVC")},
    "samplings": ["bootstrap"],
    "splits": ["varying"],
    "tunings": ["tuned"],
    "sizes": [10, 40],
}


def build(root, content, spoil="", skip="", change=None, where=None, snapshot=None):
    """Build a database in this process.

    `spoil` names a learner whose accuracies are made up, `skip` one that is not built; `change` is
    called with all scores of learners, `where` is the environment that they are said to be of;
    `snapshot` is another dataset than iris.
    """
    plan, snapshot = load_plan(content), snapshot or bundled("61")
    learners = plan_learners(plan, allow_import=True)
    every, blocks = units(plan, snapshot, learners), Blocks(root)
    for unit in every:
        if unit.learner == skip:
            continue
        block = Block(unit, unit.sizes, 0, plan.repetitions)
        blocks.lengths(unit, Lengths(len(unit.sizes), plan.repetitions))
        if unit.learner == DRAWS:
            scores = draws_block(snapshot, block, (unit.split,))[unit.split]
        else:
            scores = learners[unit.learner].block(snapshot, block, (unit.split,))[unit.split]
        if unit.learner == spoil:
            scores["accuracy"] = 1 - scores["accuracy"]
        if change is not None and unit.learner != DRAWS:
            change(scores)
        blocks.publish(block, scores, where or environment())
    pack(root, snapshot, every, plan.repetitions)
    snapshots.save(snapshot, root / "snapshots")
    return root


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    root = build(tmp_path_factory.mktemp("predictions"), PLAN, spoil="NMC", skip="QDC")
    with lcdb.open(root) as opened:
        yield opened


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    with lcdb.open(build(tmp_path_factory.mktemp("tuned"), TUNED)) as opened:
        yield opened


def by_hand(said, r):
    """Return three of the metrics of a repetition, written for reading."""
    asked = said.label.values[r] >= 0
    y, p = said.y.values[asked], said.probability.values[r][asked]
    own = np.clip(p[np.arange(len(y)), y], 2.0**-52, 1 - 2.0**-52)
    return {
        "accuracy": np.mean(said.label.values[r][asked] == y),
        "brier": ((p - np.eye(3)[y]) ** 2).sum(axis=1).mean(),
        "cross_entropy": -np.log(own).mean(),
    }


@pytest.mark.process
@pytest.mark.parametrize("learner", [*sorted(set(LEARNERS) - {"NMC", "QDC"}), "TREE"])
def test_stored_metrics_follow_from_the_predictions(db, learner):
    rng = np.random.default_rng(sum(learner.encode()))
    for _ in range(counts(2, 8)):
        where = {
            "sampling": str(rng.choice(PLAN["samplings"])),
            "split": str(rng.choice(PLAN["splits"])),
        }
        n = int(rng.choice(PLAN["sizes"]))
        said = db.predictions("iris", learner, n=n, workers=1, **where)
        assert said.probability.dims == ("repetition", "row", "class")
        assert said.attrs["largest_difference"] == 0  # every bit of four metrics
        assert (said.drawn.sum("row") == n).all()
        tested = said.label >= 0
        assert not (tested & (said.drawn > 0)).any() and tested.any("row").all()
        assert np.isnan(said.probability).all("class").equals(~tested)
        for metric in ("accuracy", "brier", "cross_entropy"):
            stored = db.curve("iris", learner, metric=metric, **where).sel(n=n).values
            found = [by_hand(said, r)[metric] for r in range(R)]
            np.testing.assert_allclose(found, stored, rtol=1e-6, atol=1e-12)
        metric = str(rng.choice(list(METRICS)))
        derived = db.derive("iris", learner, metric, n=n, workers=1, **where)
        stored = db["iris"][metric].sel(learner=learner, tuning="default", n=[n], **where)
        assert np.array_equal(derived.astype("f4"), stored, equal_nan=True)


def test_each_metric_of_a_tuned_curve_is_that_of_its_own_choice(tuned):
    labels = {"sampling": "bootstrap", "split": "varying", "tuning": "tuned"}
    for learner in TUNED["learners"]:
        for metric in METRICS:
            stored = tuned.curve("iris", learner, metric=metric, **labels)
            found = tuned.derive("iris", learner, metric, workers=1, **labels)
            assert found.attrs["chosen_by"] == metric and found.dims == stored.dims
            assert found.n.values.tolist() == TUNED["sizes"]
            assert found.attrs["largest_difference"] == 0
            np.testing.assert_allclose(found, stored.sel(n=found.n), rtol=1e-7)
    one = tuned.predictions("iris", "NNC", n=40, chosen_by="brier", **labels)
    brier = tuned.curve("iris", "NNC", metric="brier", **labels).sel(n=40)
    np.testing.assert_allclose(by_hand(one, 1)["brier"], brier[1], rtol=1e-5)
    other = tuned.derive("iris", "NNC", "mcc", n=40, chosen_by="auc", **labels)
    assert other.attrs["chosen_by"] == "auc" and np.isfinite(other).all()


@pytest.mark.process
def test_metrics_that_are_not_stored_are_scikit_learns(db):
    where = {"sampling": "bootstrap", "split": "fixed", "workers": 1}
    said = db.predictions("iris", "LDC", n=10, **where)
    for name, function in (
        ("kappa", sk.cohen_kappa_score),
        ("mcc", sk.matthews_corrcoef),
        ("balanced_accuracy", sk.balanced_accuracy_score),
    ):
        found = db.derive("iris", "LDC", name, n=10, **where)
        assert found.name == name and found.attrs["direction"] == "maximize"
        for r in range(R):
            tested = said.label.values[r] >= 0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = function(said.y.values[tested], said.label.values[r][tested])
            assert found.values[0, r] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    setosa = db.derive("iris", "LDC", "recall_Iris-setosa", n=[10, 40], repetitions=[1], **where)
    assert setosa.shape == (2, 1) and setosa.repetition.item() == 1


@pytest.mark.process
def test_training_rows_count_as_often_as_they_were_drawn(db):
    where = {"sampling": "bootstrap", "split": "varying", "workers": 1}
    said = db.predictions("iris", "LREG", n=40, rows="train", repetitions=2, **where)
    assert (said.label >= 0).equals(said.drawn > 0) and int(said.drawn.max()) > 1
    right = ((said.label == said.y) * said.drawn).sum("row") / 40

    def share(y, label, probability, weight):
        return np.average(y == label, weights=weight)

    for metric in ("accuracy", share):
        found = db.derive("iris", "LREG", metric, n=40, rows="train", repetitions=2, **where)
        np.testing.assert_allclose(found[0], right, rtol=0, atol=1e-12)
    every = db.predictions("iris", "LREG", n=40, rows="all", repetitions=2, **where)
    assert (every.label >= 0).all() and np.isfinite(every.probability).all()
    seen = said.probability.notnull()
    assert np.array_equal(every.probability.where(seen), said.probability, equal_nan=True)


@pytest.mark.process
@pytest.mark.parametrize("split", ["fixed", "varying"])
def test_errors_are_sums_of_bias_and_variance(db, split):
    where = {"sampling": "random", "split": split}
    parts = lcdb.analysis.bias_variance(db, "iris", "DT", [2, 10], workers=1, **where)
    same = {"rtol": 0, "atol": 1e-12}
    np.testing.assert_allclose(parts.brier_bias + parts.brier_variance, parts.brier, **same)
    for error in (
        parts.kohavi_wolpert_bias + parts.kohavi_wolpert_variance,
        parts.domingos_bias + parts.domingos_variance_unbiased + parts.domingos_variance_biased,
    ):
        np.testing.assert_allclose(error, parts.error, **same)
    for name, metric in (("error", "accuracy"), ("brier", "brier")):
        stored = db.curve("iris", "DT", metric=metric, **where).sel(n=parts.n).mean("repetition")
        expected = 1 - stored if name == "error" else stored
        tight = 1e-12 if name == "error" else 1e-6  # a stored Brier score is in single precision
        np.testing.assert_allclose(parts[name], expected, rtol=0, atol=tight)
    assert (parts.domingos_variance_biased <= 0).all() and float(parts.brier_variance.min()) > 0


@pytest.mark.process
def test_each_part_is_what_its_name_says(db):
    where = {"sampling": "random", "split": "fixed", "workers": 1}
    said = db.predictions("iris", "DT", n=2, **where)
    rows = np.flatnonzero((said.label >= 0).all("repetition"))
    main, kohavi, shares = [], [], []
    for row in rows:  # one row after the other, for reading
        labels, y = said.label.values[:, row], said.y.values[row]
        share = np.bincount(labels, minlength=3) / R
        main.append(int(share.argmax()) != y)
        kohavi.append(0.5 * (1 - (share**2).sum()))
        shares.append(1 - share[y])
    parts = lcdb.analysis.bias_variance(db, "iris", "DT", 2, **where).isel(n=0)
    assert float(parts.domingos_bias) == pytest.approx(np.mean(main), abs=1e-12)
    assert float(parts.kohavi_wolpert_variance) == pytest.approx(np.mean(kohavi), abs=1e-12)
    hard = lcdb.analysis.hardness(db, "iris", "DT", [2, 10], **where)
    assert hard.dims == ("n", "row") and hard.n.values.tolist() == [2, 10]
    np.testing.assert_allclose(hard.sel(n=2).values[rows], shares, rtol=0, atol=1e-12)
    assert np.isnan(hard).sum() == 2 * (150 - len(rows))


class Two:
    """Predictions of two classes, made up: four repetitions, of six rows with one never tested."""

    def predictions(self, dataset, learner, n):
        rng = np.random.default_rng(n)
        p = rng.random((4, 6))
        tested = rng.random((4, 6)) < 0.7
        tested[:, 0], tested[:, 5] = True, False
        p = np.where(tested, p, np.nan)
        label = np.where(tested, np.nan_to_num(p) > 0.5, -1)
        rows = ("repetition", "row")
        return xr.Dataset({
            "probability": ((*rows, "class"), np.stack([1 - p, p], axis=2)),
            "label": (rows, label), "y": ("row", [0, 1, 0, 1, 1, 0]),
        })  # fmt: skip


def test_of_two_classes_half_the_brier_score_counts():
    said = Two().predictions("", "", 7)
    parts = lcdb.analysis.bias_variance(Two(), "two", "X", 7).isel(n=0)
    p, y = said.probability.values[:, :, 1], said.y.values
    scores = np.nanmean((p - y) ** 2, axis=1)  # by repetition
    assert float(parts.brier) == pytest.approx(scores.mean(), abs=1e-12)
    assert float(parts.brier_bias + parts.brier_variance) == pytest.approx(scores.mean(), abs=1e-12)
    wrong = [np.mean((label != y)[label >= 0]) for label in said.label.values]
    whole = parts.domingos_bias + parts.domingos_variance_unbiased + parts.domingos_variance_biased
    assert float(whole) == pytest.approx(np.mean(wrong), abs=1e-12)
    hard = lcdb.analysis.hardness(Two(), "two", "X", 7).values[0]
    assert np.flatnonzero(np.isnan(hard)).tolist() == [5]


@pytest.mark.process
@pytest.mark.full
def test_other_processes_find_the_same(db, monkeypatch, capsys):
    monkeypatch.setattr(spending, "_ALONE", 0.0)
    monkeypatch.setattr(spending, "_WORTH", 0.0)
    where = {"sampling": "random", "split": "fixed"}
    shared = db.derive("iris", "TREE", "mcc", workers=2, progress=True, **where)
    assert f"{3 * R} cells to compute again" in capsys.readouterr().err
    assert shared.equals(db.derive("iris", "TREE", "mcc", workers=1, **where))
    predicted = db.predictions("iris", "TREE", n=2, workers=1, progress=True, **where)
    assert predicted.sizes["repetition"] == R and "to compute again" in capsys.readouterr().err


@pytest.mark.process
def test_classifiers_from_elsewhere_are_imported_when_allowed(db):
    where = {"sampling": "random", "split": "fixed"}
    with pytest.raises(ImportRefusedError):
        db.predictions("iris", "LABELS", n=40, **where)
    said = db.predictions("iris", "LABELS", n=40, allow_import=True, **where)
    assert (said.label >= 0).any() and np.isnan(said.probability).all()
    with pytest.warns(PartialCurveWarning, match="too many"):
        lost = db.derive("iris", "FAILS", "mcc", allow_import=True, workers=1, **where)
    assert np.isfinite(lost.sel(n=2)).all() and np.isnan(lost.sel(n=40)).all()


@pytest.mark.process
def test_a_cell_that_is_not_the_stored_one_is_an_error(db):
    where = {"sampling": "random", "split": "fixed", "n": 40}
    with pytest.raises(CellError, match=r"n = 40, repetition 0: fitted again, its accuracy is .*"
                       r"stored is .*lcdb verify --recompute"):  # fmt: skip
        db.predictions("iris", "NMC", **where)
    with pytest.raises(CellError, match="its accuracy is"):
        db.derive("iris", "NMC", "mcc", **where)


ONE = PLAN | {
    "learners": {"LDC": {}, "NNC": {}}, "samplings": ["random"], "splits": ["fixed"],
}  # fmt: skip


def up(scores):
    """Move one stored number by its last bit."""
    scores["brier"][1, 0] = np.nextafter(scores["brier"][1, 0], np.float32(1))


def test_on_the_machine_of_a_build_every_bit_counts(tmp_path):
    with lcdb.open(build(tmp_path, ONE, change=up)) as other:
        where = {"sampling": "random", "split": "fixed"}
        assert other.derive("iris", "LDC", "mcc", n=2, **where).attrs["largest_difference"] == 0
        with pytest.raises(CellError, match=r"n = 10, repetition 0: .* its brier is"):
            other.derive("iris", "LDC", "mcc", n=[40, 10], **where)


def test_numbers_of_other_machines_may_differ_as_implementations_do(tmp_path):
    elsewhere = {**environment(), "cpu": "another"}
    where = {"sampling": "random", "split": "fixed", "workers": 1}
    with lcdb.open(build(tmp_path / "bits", ONE, change=up, where=elsewhere)) as other:
        with pytest.warns(RecomputedWarning, match=r"LDC.* another type of machine"):
            said = other.predictions("iris", "LDC", n=10, repetitions=[1, 0], **where)
        assert 0 < said.attrs["largest_difference"] < 1e-7
        same = other.predictions("iris", "LDC", n=10, repetitions=[1], **where)
        assert same.attrs["largest_difference"] == 0  # this one met every bit
        np.testing.assert_allclose(said.probability[0], same.probability[0], atol=1e-12)
        with pytest.raises(CellError, match="its brier is"):  # it has no tolerance
            other.predictions("iris", "NNC", n=10, **where)

    def wrong(scores):
        scores["brier"][1, 0] += 0.01

    with (
        lcdb.open(build(tmp_path / "wrong", ONE, change=wrong, where=elsewhere)) as other,
        pytest.raises(CellError, match="its brier is"),
    ):
        other.predictions("iris", "LDC", n=10, **where)


@pytest.mark.process
@pytest.mark.server
def test_a_database_on_a_host_predicts_as_it_does_here(db, tmp_path):
    root = tmp_path / "hosted"
    shutil.copytree(db.path, root)
    index_database(root)
    where = {"sampling": "random", "split": "fixed", "workers": 1}
    right = db.predictions("iris", "LREG", n=40, **where)
    cell = {"learner": "LREG", "sampling": "random", "split": "fixed", "n": 40, "repetition": 1}
    with serving(root) as served:
        for url in (served.url, f"{served.url}/cubes/61.nc"):
            with lcdb.open(url) as hosted:
                served.forget()
                assert hosted.predictions("iris", "LREG", n=40, **where).identical(right)
                asked = {path for path, _ in served.requests}
                assert {"/snapshots/61.npz", "/snapshots/61.json", "/manifest/61.json"} <= asked
                again = lcdb.replay(hosted, "iris", **cell)
                assert again.same_bits and again.expects_same_bits
        shutil.rmtree(root / "snapshots")
        shutil.rmtree(root / "manifest")
        with lcdb.open(served.url) as hosted:  # a dataset that ships, and numbers of who knows whom
            bare = hosted.predictions("iris", "LREG", n=40, **where)
            assert bare.equals(right) and bare.attrs["largest_difference"] == 0


@pytest.mark.server
def test_a_dataset_that_is_nowhere_is_told_by_its_file(tmp_path):
    own = replace(bundled("61"), id="flowers")
    root = build(tmp_path / "own", ONE, snapshot=own)
    index_database(root)
    where = {"n": 10, "sampling": "random", "split": "fixed", "workers": 1}
    shutil.move(root / "snapshots", tmp_path / "aside")
    with (
        serving(root) as served,
        lcdb.open(served.url) as hosted,
        pytest.raises(NotFoundError, match=r"/snapshots/flowers\.json does not exist: .*upload"),
    ):
        hosted.predictions("flowers", "LDC", **where)
    shutil.move(tmp_path / "aside", root / "snapshots")
    with serving(root) as served, lcdb.open(served.url) as hosted:
        assert hosted.predictions("flowers", "LDC", **where).sizes["repetition"] == R


@pytest.mark.process
def test_sizes_and_repetitions_come_in_the_order_they_are_asked_for(db):
    where = {"sampling": "random", "split": "varying", "workers": 1}
    mixed = db.derive("iris", "GSVC", "brier", n=[40, 2, 10], repetitions=[2, 0], **where)
    assert mixed.n.values.tolist() == [40, 2, 10] and mixed.repetition.values.tolist() == [2, 0]
    straight = db.derive("iris", "GSVC", "brier", n=[2, 10, 40], repetitions=3, **where)
    for n in (2, 10, 40):
        for r in (0, 2):
            assert mixed.sel(n=n, repetition=r).item() == straight.sel(n=n, repetition=r).item()
    counted = db.derive("iris", "GSVC", "brier", n=[2, 10, 40], repetitions=np.int64(2), **where)
    assert counted.equals(straight.isel(repetition=slice(2)))


@pytest.mark.process
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"learner": "LCD"}, LabelError, "Did you mean 'LDC'"),
        ({"learner": "QDC"}, NotBuiltError, "nothing stored"),
        ({"n": 3}, LabelError, "n 3 is not in"),
        ({"n": [10, 40]}, ArgumentError, "expected one size"),
        ({"repetitions": [99]}, LabelError, "repetition 99 is not in"),
        ({"repetitions": 0}, LabelError, "no repetition is asked for"),
        ({"workers": 0}, ArgumentError, "workers is 0; expected a whole number of at least 1"),
        ({"workers": -2}, ArgumentError, "workers is -2"),
        ({"rows": "tset"}, LabelError, "Did you mean 'test'"),
        ({"chosen_by": "mcc"}, LabelError, "metric 'mcc'"),
    ],
)
def test_wrong_arguments_are_told(db, change, error, words):
    arguments = {"learner": "LDC", "n": 10, "sampling": "random", **change}
    with pytest.raises(error, match=words):
        db.predictions("iris", **arguments)
