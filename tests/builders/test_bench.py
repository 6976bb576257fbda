"""`lcdb bench`: what it measures is what it says, whatever the numbers are."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lcdb_builders.bench import kernels as timing
from lcdb_builders.bench import run as runner
from lcdb_builders.bench.baseline import baseline_micros, lean_scores, usual_scores
from lcdb_builders.bench.cases import EVERY_CASE, Effort, case_unit, plan_for, strata
from lcdb_builders.bench.subjects import COMPARED, compared, generated, paper_subject
from lcdb_builders.domain.unit import Block
from lcdb_builders.learners import registry
from lcdb_builders.sources.catalog import expected

from lcdb.cli import main
from lcdb.schema import LEARNERS

EFFORT = Effort(seconds=0.001, sizes=2, step=40, baseline_sizes=2)


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path, monkeypatch):
    """No dataset is in the user's cache, whatever somebody has fetched; compiled kernels are."""
    monkeypatch.setattr("lcdb_builders.sources.cache.user_cache", lambda: tmp_path / "cache")


@given(st.integers(1, 4000), st.integers(1, 12), st.integers(1, 10))
def test_strata_stand_for_all_sizes(m, count, smallest):
    if m < smallest:
        return
    sizes = strata(m, count, smallest)
    assert list(sizes) == sorted(set(sizes))
    assert smallest <= sizes[0] and sizes[-1] <= m
    # A cost that is linear in n has the same mean at these sizes as at all.
    if len(sizes) == count:
        assert np.mean(sizes) == pytest.approx((smallest + m) / 2, abs=1)
    else:
        assert m - smallest + 1 < 2 * count


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_lean_metrics_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    for _ in range(20):
        y = rng.permutation(np.arange(60) % classes)
        p = rng.dirichlet(np.ones(classes), 60).round(1)  # with ties, zeros and ones
        p[:, 0] += 1 - p.sum(axis=1)
        p = np.clip(p, 0, 1)
        p /= p.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(lean_scores(y, p), usual_scores(y, p), rtol=1e-9)


@pytest.mark.parametrize("entry", expected().values(), ids=lambda entry: entry.id)
def test_a_stand_in_has_the_shape_of_its_dataset(entry):
    found, again = generated(entry), generated(entry)
    shape = (found.rows, found.features, found.classes)
    assert shape == (entry.rows, entry.features, entry.classes)
    assert found.sha256 == again.sha256
    assert set(found.y.tolist()) == set(range(entry.classes))
    few = sum(len(np.unique(found.X[:, j])) <= 5 for j in range(found.features))
    if entry.nominal is not None:
        assert few == entry.nominal


def test_real_data_where_they_ship():
    assert paper_subject(expected()["61"]).origin == "real"
    assert paper_subject(expected()["53"]).origin.startswith("generated")


@pytest.mark.data
def test_real_data_where_they_are_at_hand(data_folder):
    assert paper_subject(expected()["37"], data_folder / "openml").origin == "real"
    other = paper_subject(expected()["44037"], data_folder / "openml")
    assert other.origin.startswith("generated") and other.snapshot.rows == 4970
    shapes = [(s.snapshot.rows, s.snapshot.features, s.snapshot.classes) for s in compared()]
    assert shapes == [(150, 4, 3), *(found[:3] for found in COMPARED.values())]


@pytest.mark.parametrize("name", list(LEARNERS))
def test_every_learner_has_a_baseline(name):
    plan, (iris,) = plan_for([name], "large"), compared(["iris"])
    learner, case = registry.get(name), ("random", "varying")
    unit = case_unit(plan, learner, iris.snapshot, case, "default", EFFORT)
    baselines = learner.baselines(unit.parameters, iris.snapshot.X, 3)
    assert next(iter(baselines)) == name
    for variant in baselines:
        found = baseline_micros(learner, variant, unit, iris.snapshot, EFFORT)
        assert 0 < found.lean < np.inf and 0 < found.usual < np.inf


@pytest.fixture
def small(monkeypatch):
    """A benchmark of two small datasets in the place of ten."""
    catalogue = expected()
    monkeypatch.setattr(runner, "QUICK", EFFORT)
    monkeypatch.setattr(
        runner, "_plan_subjects", lambda _: [paper_subject(catalogue[id]) for id in ("61", "53")]
    )


@pytest.mark.process
def test_everything_that_was_measured_is_told(small, capsys, tmp_path):
    file = tmp_path / "found.json"
    arguments = ["bench", "--quick", "--learner", "NNC", "--dataset", "iris", "--json", str(file)]
    assert main(arguments) == 0
    told = capsys.readouterr().out
    found = json.loads(file.read_text())
    assert found["environment"]["packages"]["numba"] in told
    assert [(row["sampling"], row["split"]) for row in found["comparison"]] == list(runner.CASES)
    assert all(row["micros"] > 0 for row in found["comparison"])
    projection = found["projection"]
    assert [d["id"] for d in projection["datasets"]] == ["61", "53"]
    assert "generated ones of the same N, d, K" in told and "stand in for 53" in told
    measured = projection["measured"]
    assert {(case["sampling"], case["split"]) for case in measured} == set(EVERY_CASE)
    # Every size up to 0.7 N, 1,000 repetitions, six ways of drawing.
    hours = {"61": 0.0, "53": 0.0}
    for case in measured:
        hours[case["dataset"]] += case["micros"] * 1e-6 * {"61": 105, "53": 189}[case["dataset"]]
    for id, seconds in hours.items():
        assert projection["hours"]["NNC"][id] == pytest.approx(1000 * seconds / 3600)
    assert projection["total"] == pytest.approx(sum(projection["hours"]["NNC"].values()))


def test_tuned_cells_that_are_timed_are_always_the_same(monkeypatch):
    """However fast the machine: what a tuned cell costs depends on its rows."""
    plan, (iris,) = plan_for(["DT"], "default", ["default", "tuned"]), compared(["iris"])
    learner, effort = registry.get("DT"), replace(EFFORT, tuned_repetitions=3)
    asked: list[Block] = []
    monkeypatch.setattr(type(learner), "block", lambda self, _, block, splits: asked.append(block))
    counts = {}
    for tuning in ("default", "tuned"):
        unit = case_unit(plan, learner, iris.snapshot, ("random", "fixed"), tuning, effort)
        for took in (1e-6, 1.0):
            asked.clear()

            def seconds(call, budget, took=took):
                call()
                return took

            monkeypatch.setattr(timing, "best_seconds", seconds)
            assert timing.cell_micros(unit, iris.snapshot, effort) > 0
            counts[tuning, took] = {len(b.repetitions) for b in asked if b.sizes == unit.sizes}
    assert counts["tuned", 1e-6] == counts["tuned", 1.0] == {3}
    assert max(counts["default", 1e-6]) == 1000 and counts["default", 1.0] == {1}


@pytest.mark.process
def test_json_alone_is_printed(small, capsys):
    assert main(["bench", "--quick", "--learner", "NNC", "--dataset", "61", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "lcdb-bench"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--learner", "NCN"], "no learner 'NCN'. Did you mean 'NNC'?"),
        (["--dataset", "irsi"], "no dataset 'irsi' to time on. Did you mean 'iris'?"),
    ],
)
def test_what_cannot_be_measured_is_told_in_a_line(arguments, told, capsys, monkeypatch):
    monkeypatch.setattr(runner, "compile_kernels", lambda *_, **__: [])
    assert main(["bench", *arguments]) == 1
    assert capsys.readouterr().err == f"lcdb: {told}\n"


@pytest.mark.full
@pytest.mark.process
def test_a_generated_database_is_read_whole(capsys, tmp_path):
    file = tmp_path / "found.json"
    arguments = ["bench", "--stats", "--quick", "--cells", "700", "--json", str(file)]
    assert main(arguments) == 0
    told = capsys.readouterr()
    assert "generating a database of 700 distributions" in told.err
    found = json.loads(file.read_text())
    database = found["database"]
    # Two curves of four metrics and 105 sizes: one is too few.
    assert database["cells"] == 840 and f"{database['cells']:,} distributions" in told.out
    assert database["raw_mb"] == pytest.approx(840 * 4000 / 1e6)
    assert 0 < database["disk_mb"] < database["raw_mb"]
    assert set(found["micros"]) == {"lcdb", "lcdb, from counts", "scipy, axis=", "scipy, loop"}
    assert all(micros > 0 for micros in found["micros"].values())


def test_too_small_a_database_is_refused(capsys):
    assert main(["bench", "--stats", "--cells", "0"]) == 1
    assert capsys.readouterr().err == "lcdb: --cells is 0; expected 1 or more\n"


@pytest.mark.process
def test_the_paper_s_data_and_larger_and_tuned_learners(monkeypatch, capsys, tmp_path):
    """A file in the folder is timed on; with tuned cells come their ratios."""
    catalogue = expected()
    monkeypatch.setattr(runner, "QUICK", EFFORT)
    monkeypatch.setattr(
        runner,
        "_plan_subjects",
        lambda folder: [paper_subject(catalogue[id], folder) for id in ("61", "53")],
    )
    twin = generated(catalogue["53"])
    rows = np.column_stack([twin.X, twin.y])
    names = ",".join([*twin.feature_names, catalogue["53"].target])
    np.savetxt(tmp_path / "53.csv", rows, "%.17g", ",", header=names, comments="")
    arguments = ["bench", "--quick", "--learner", "DT", "--dataset", "53", "--json", "-"]
    more = ["--data", str(tmp_path), "--settings", "large", "--tuned"]
    assert main([*arguments, *more]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == "large" and found["parameters"]["DT"]["min_samples_leaf"] == 1
    assert [d["origin"] for d in found["datasets"]] == ["real"]
    assert [d["origin"] for d in found["projection"]["datasets"]] == ["real", "real"]
    tuned = found["tuned"]
    assert tuned["without_kernel"] == [] and set(tuned["ratios"]) == {"DT"}
    assert tuned["repetitions"] == EFFORT.tuned_repetitions
    assert tuned["ratios"]["DT"] == pytest.approx(tuned["total"] / found["projection"]["total"])
