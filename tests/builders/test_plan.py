"""Plans: what a file means, and how a wrong one is answered."""

import json
import re
import textwrap
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lcdb_builders.domain.unit import DRAWS
from lcdb_builders.learners import registry
from lcdb_builders.planning import plan as planning
from lcdb_builders.planning.estimate import estimate
from lcdb_builders.planning.memory import check_memory
from lcdb_builders.planning.plan import load_plan, shipped_plans
from lcdb_builders.planning.sizes import grid_values, training_sizes
from lcdb_builders.planning.units import plan_learners, units
from lcdb_builders.sources import FileSource, expected

from lcdb.errors import LCDBError, NotFoundError, PlanError

SMALL = {"datasets": [61], "learners": ["LDC", "NNC"]}
rows = st.integers(10, 5000)
rules = st.one_of(
    st.just("all"),
    st.builds(lambda s: {"step": s}, st.integers(1, 500)),
    st.builds(lambda c: {"log": c}, st.integers(2, 60)),
    st.builds(lambda more: [1, *more], st.lists(st.integers(1, 6000), max_size=20)),
)


def planned(plan, dataset="61"):
    plan = load_plan(plan)
    return units(plan, expected()[dataset], plan_learners(plan))


@given(rules, rows)
def test_sizes_ascend_within_the_pool(rule, rows):
    sizes = training_sizes(rule, rows)
    assert list(sizes) == sorted(set(sizes))
    assert sizes[0] == 1
    assert sizes[-1] <= rows * 7 // 10
    if not isinstance(rule, list):
        assert sizes[-1] == rows * 7 // 10


@pytest.mark.parametrize("rows", [10, 40, 150, 2111])
def test_every_size_up_to_one_and_a_log_scale_from_there(rows):
    top = rows * 7 // 10
    found = training_sizes({"every": 32, "log": 70}, rows)
    assert found[: min(32, top)] == tuple(range(1, min(32, top) + 1)) and found[-1] == top
    later = np.array([n for n in found if n >= 32], float)
    if rows == 2111:
        assert len(later) > 65
        # Evenly spaced: ratios differ by what rounding to whole numbers does.
        ratios = later[1:] / later[:-1]
        assert abs(ratios - (top / 32) ** (1 / 69)).max() < 1 / 32


def test_tuned_curves_may_have_fewer_sizes_and_samplings():
    content = {**SMALL, "tunings": ["default", "tuned"], "samplings": ["additive", "random"]}
    whole = planned(content)
    thin = planned({**content, "tuned": {"sizes": 3, "samplings": ["additive"]}})
    assert [u for u in thin if u.tuning == "default"] == [u for u in whole if u.tuning == "default"]
    tuned = [u for u in thin if u.tuning == "tuned"]
    assert {u.sampling for u in tuned} == {"additive"}
    assert {u.sizes for u in tuned} == {(10, 32, 105)}
    assert {u.sampling for u in planned({**content, "tuned": {"sizes": 3}}) if u.tuning == "tuned"}
    few = planned({**content, "tuned": {"sizes": 1000}})
    assert few == whole


def test_sizes_may_depend_on_rows():
    rule = [{"up_to": 625, "step": 1}, {"step": 8}]
    assert training_sizes(rule, 625) == tuple(range(1, 438))
    assert training_sizes(rule, 626) == (*tuple(range(1, 438, 8)), 438)


@given(
    st.floats(1e-9, 1e3),
    st.floats(1.5, 1e6),
    st.integers(2, 60),
)
def test_log_grids_are_even(low, factor, count):
    values = np.array(grid_values({"log": [low, low * factor], "count": count}, ""))
    assert len(values) == count
    steps = np.diff(np.log(values))
    np.testing.assert_allclose(steps, np.log(factor) / (count - 1), rtol=1e-6, atol=1e-9)


def test_grids_of_the_specification():
    plan = {**SMALL, "learners": ["LDC", "NNC"], "tunings": ["tuned"]}
    rules = {unit.learner: unit.tuning_rule for unit in planned(plan) if unit.learner != DRAWS}
    weights, counts = json.loads(rules["LDC"]), json.loads(rules["NNC"])
    np.testing.assert_allclose(weights["grid"], np.logspace(-8, -1, 20), rtol=1e-11)
    assert counts["grid"] == np.unique(np.round(np.linspace(1, 100, 20))).tolist()
    assert weights["tie"] == counts["tie"] == "nearest_default"


def test_units_are_every_combination_once_draws_first():
    plan = {**SMALL, "tunings": ["tuned", "default"], "splits": ["pool", "fixed"]}
    found = planned(plan)
    assert [unit.learner for unit in found[:6]] == [DRAWS] * 6
    assert {unit.learner for unit in found[6:]} == {"LDC", "NNC"}
    assert len(found) == 3 * 2 + 2 * 3 * 2 * 2
    assert len({unit.key for unit in found}) == len(found)
    assert {unit.sizes for unit in found if unit.tuning == "tuned"} == {tuple(range(10, 106))}
    assert {unit.sizes for unit in found if unit.tuning == "default"} == {tuple(range(1, 106))}


def test_order_of_writing_is_irrelevant():
    one = {**SMALL, "samplings": ["random", "additive"], "splits": ["varying", "fixed"]}
    other = {
        "splits": ["fixed", "varying"],
        "samplings": ["additive", "random"],
        "learners": {"NNC": {}, "LDC": {"ridge": 1e-6}},
        "datasets": [61],
    }
    assert [u.key for u in planned(one)] == [u.key for u in planned(other)]


def test_a_grown_plan_keeps_its_old_units():
    small = {u.key for u in planned(SMALL)}
    more = {
        "learners": ["QDC", "NNC", "LDC"],
        "splits": ["pool", "fixed", "varying"],
        "tunings": ["default", "tuned"],
        "repetitions": 7,
    }
    grown = {u.key for u in planned({**SMALL, **more})}
    assert small < grown


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"sizes": {"step": 2}},
        {"learners": {"LDC": {"ridge": 1e-3}, "NNC": {"neighbors": 3}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_numbers_depend_on_changes_every_key(change):
    before = {u.key for u in planned(SMALL) if u.learner != DRAWS}
    after = {u.key for u in planned({**SMALL, **change}) if u.learner != DRAWS}
    assert not before & after


def test_a_scikit_learn_class_is_a_learner():
    mlp = {
        "estimator": "sklearn.neural_network.MLPClassifier",
        "params": {"max_iter": 50},
        "tuning": {"parameter": "alpha", "log": [1e-6, 1.0], "count": 5},
    }
    plan = {"datasets": [61], "learners": {"MLP": mlp, "LDC": {}}, "tunings": ["tuned"]}
    [unit, *_] = [u for u in planned(plan) if u.learner == "MLP"]
    assert unit.estimator == mlp["estimator"]
    assert unit.parameters["max_iter"] == 50
    assert unit.parameters["alpha"] == 0.0001
    assert json.loads(unit.tuning_rule)["parameter"] == "alpha"


def test_a_learner_without_a_grid_has_no_tuned_curves():
    knn = {"estimator": "sklearn.neighbors.KNeighborsClassifier"}
    plan = {"datasets": [61], "learners": {"KNN": knn}, "tunings": ["default", "tuned"]}
    assert {u.tuning for u in planned(plan)} == {"default"}


def test_the_content_of_a_plan_is_a_plan():
    for name in shipped_plans():
        plan = load_plan(name)
        assert load_plan(plan.content).content == plan.content
        assert json.loads(json.dumps(plan.content)) == plan.content


def test_files_are_looked_for_beside_the_plan(tmp_path):
    text = """
        datasets = [61, { id = "wine", file = "wine.csv", target = "class", nominal = ["colour"] }]
        learners = ["LDC"]
    """
    (tmp_path / "mine.toml").write_text(textwrap.dedent(text))
    plan = load_plan(tmp_path / "mine.toml")
    assert plan.name == "mine"
    source = plan.dataset("wine").source(plan.folder)
    wanted = FileSource("wine", tmp_path / "wine.csv", "class", nominal=("colour",))
    assert source == wanted
    assert plan.dataset(61).source(plan.folder) == 61


def test_shipped_plans_are_what_they_say():
    assert {"demo", "tuned", "turan2026", "wide", "local6"} <= set(shipped_plans())
    whole, wide, local = (load_plan(name) for name in ("turan2026", "wide", "local6"))
    assert [d.id for d in whole.datasets] == [str(i) for i in sorted(map(int, expected()))]
    assert whole.repetitions == 1000
    assert whole.tunings == ("default", "tuned")
    assert whole.splits == ("fixed", "varying")
    assert len(planned(whole)) == 6 + 10 * 3 * 2 * 2
    grids = {u.learner: json.loads(u.tuning_rule)["grid"] for u in planned(wide) if u.tuning_rule}
    for name in ("LDC", "QDC", "LREG", "LSVC", "GSVC"):
        np.testing.assert_allclose(grids[name], np.logspace(-4, 4, 20), rtol=1e-11)
    plain = {u.key for u in planned(whole) if u.tuning == "default"}
    assert plain == {u.key for u in planned(wide) if u.tuning == "default"}
    assert local.splits == ("fixed", "varying", "pool")
    assert [len(planned(local, i)[0].sizes) for i in ("61", "37")] == [105, 68]
    reference = load_plan("reference")
    assert len(reference.datasets) == 9 and reference.scalings == ("none", "standard")
    assert len(planned(reference, "23")) == 6 + 10 * 6 + 10 * 2
    tuned = [u for u in planned(reference, "23") if u.tuning == "tuned"]
    assert {len(u.sizes) for u in tuned} == {24} and reference.repetitions == 1000
    iris = [u for u in planned(load_plan("tuned")) if u.learner == "LDC"]
    assert [(u.tuning, len(u.sizes)) for u in iris] == 2 * [("default", 105), ("tuned", 96)]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"learners": ["LDC"]}, "'datasets' is missing"),
        ({"datasets": [61]}, "'learners' is missing"),
        ({**SMALL, "repetition": 5}, "'repetition' is not a key here. Did you mean 'repetitions'?"),
        ({**SMALL, "repetitions": "many"}, "repetitions is 'many'; expected an integer"),
        ({**SMALL, "repetitions": 5.0}, "repetitions is 5.0; expected an integer"),
        ({**SMALL, "repetitions": 0}, "repetitions is 0; expected 1 or more"),
        ({**SMALL, "seed": -1}, "seed is -1; expected 0 or more"),
        ({**SMALL, "scaling": "none"}, "'scaling' is not a key here. Did you mean 'scalings'?"),
        ({**SMALL, "sizes": {"step": 3, "every": 4}}, "expected 'every' beside 'log' alone"),
        ({**SMALL, "tuned": {"sizes": 5}}, 'tuned is there, but tunings has no "tuned"'),
        (
            {
                **SMALL,
                "tunings": ["tuned"],
                "samplings": ["random"],
                "tuned": {"samplings": ["additive"]},
            },
            "tuned.samplings has 'additive', which samplings has not",
        ),
        ({**SMALL, "scalings": ["z"]}, "scalings[0] is 'z'; expected one of none, standard"),
        ({**SMALL, "tie": "last"}, "tie is 'last'; expected one of nearest_default, first"),
        ({**SMALL, "samplings": ["boostrap"]}, "samplings[0] is 'boostrap'"),
        ({**SMALL, "samplings": []}, "samplings is []; expected 1 or more entries"),
        ({**SMALL, "splits": ["fixed", "fixed"]}, "expected no entry twice"),
        ({**SMALL, "tunings": "tuned"}, "tunings is 'tuned'; expected a list"),
        ({**SMALL, "sizes": "every"}, "sizes is 'every'"),
        ({**SMALL, "sizes": {"stepp": 3}}, "Did you mean 'step'?"),
        ({**SMALL, "sizes": {"step": 2, "log": 5}}, "exactly one of step, log and list"),
        ({**SMALL, "sizes": [1, {"step": 2}]}, "mixes numbers and tables"),
        ({**SMALL, "sizes": [{"up_to": 100, "step": 2}]}, "sizes has no entry for"),
        ({**SMALL, "sizes": [0, 5]}, "sizes[0] is 0; expected 1 or more"),
        ({**SMALL, "datasets": []}, "datasets is []"),
        ({**SMALL, "datasets": [61, 61]}, "datasets has 61 twice"),
        (
            {**SMALL, "datasets": ["61"]},
            "datasets has '61'; expected an OpenML id",
        ),
        ({**SMALL, "datasets": [{"id": "x", "file": "x.csv"}]}, "'datasets[0].target' is missing"),
        (
            {**SMALL, "datasets": [{"id": "../x", "file": "x.csv", "target": "y"}]},
            "datasets[0].id is '../x'",
        ),
        (
            {**SMALL, "datasets": [{"id": "dse", "file": "x.csv", "target": "y"}]},
            "datasets: 'dse' cannot name",
        ),
        ({**SMALL, "learners": ["LCD"]}, "Did you mean 'LDC'?"),
        ({**SMALL, "learners": ["LDC", "LDC"]}, "learners has a name twice"),
        ({**SMALL, "learners": ["draws"]}, "learners has a name twice, or 'draws'"),
        ({**SMALL, "learners": ["../LDC"]}, "learners[0] is '../LDC'"),
        ({**SMALL, "learners": {"LDC": {"rigde": 1}}}, "learners.LDC.rigde is not a parameter"),
        ({**SMALL, "learners": {"LDC": {"ridge": "x"}}}, "learners.LDC.ridge is 'x'"),
        ({**SMALL, "learners": {"LDC": {"ridge": float("nan")}}}, "a number is infinite or not"),
        ({**SMALL, "learners": {"RFOR": {"trees": 1.5}}}, "learners.RFOR.trees is 1.5"),
        ({**SMALL, "learners": {"LDC": {"params": {}}}}, "learners.LDC.params needs an estimator"),
        (
            {**SMALL, "learners": {"LDC": {"estimator": "sklearn.svm.SVC"}}},
            "learners.LDC is a built-in learner",
        ),
        (
            {**SMALL, "learners": {"A": {"estimator": "sklearn.svm.SVC", "C": 1.0}}},
            "learners.A.C is not a key beside estimator; put it into params",
        ),
        ({**SMALL, "learners": {"A": {"estimator": "sklearn.svm.SVK"}}}, "SVK"),
        ({**SMALL, "learners": {"A": {"estimator": "os.system"}}}, "--allow-import"),
        (
            {**SMALL, "tunings": ["tuned"], "learners": {"LDC": {"tuning": {"log": [1, 0.1]}}}},
            "learners.LDC.tuning.log is [1, 0.1]; expected the smaller end first",
        ),
        (
            {**SMALL, "tunings": ["tuned"], "learners": {"LDC": {"tuning": {"parameter": "C"}}}},
            "LDC tunes 'ridge'",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_a_wrong_plan_is_answered_with_its_key(content, told):
    with pytest.raises(LCDBError) as caught:
        planned(content)
    message = str(caught.value)
    assert told in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "told"),
    [("datasets = [61", "is not TOML"), ("\xff", "not a text file in UTF-8")],
)
def test_a_file_that_is_no_toml(tmp_path, text, told):
    path = tmp_path / "plan.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(PlanError, match=told):
        load_plan(path)


@pytest.mark.parametrize("name", ["dmeo", "../demo", "nowhere.toml", ""])
def test_a_plan_that_is_nowhere(name, tmp_path):
    with pytest.raises(NotFoundError):
        load_plan(name)


def page_blocks():
    page = (Path(__file__).parents[2] / "docs" / "plans.md").read_text()
    return re.findall(r"```toml\n(.*?)```", page, re.DOTALL)


def test_the_page_about_plans_shows_plans(tmp_path):
    first, *others = (tomllib.loads(text) for text in page_blocks())
    assert len(others) == 6
    (tmp_path / "mine.py").write_text(
        "class MyClassifier:\n    def fit(self, X, y): return self\n    predict = fit\n"
    )
    for content in (first, *others):
        if "BOOST" in content["learners"]:
            assert content["learners"].pop("BOOST")["estimator"] == "xgboost.XGBClassifier"
            plan = replace(load_plan(content), folder=tmp_path)
            learners = plan_learners(plan, allow_import=True)
            assert learners["SCALED"].complete({})["svc__C"] == 1.0
            curves = {u.learner: u for u in units(plan, expected()["61"], learners)}
            assert curves["KNN5"].sizes[0] == 5 and curves["QDA"].rows_per_class == 2
            assert curves["SCALED"].parameters["svc__C"] == 10.0
            assert load_plan(plan.content).content == plan.content
        else:
            plan_learners(load_plan(content))
    defaults = load_plan({"datasets": [61, 11], "learners": first["learners"]})
    assert load_plan(first).content == defaults.content | {"title": first["title"], "seed": 2026}


def test_memory_of_kernel_matrices_is_told_and_checked():
    plan = load_plan({"datasets": [61, 44037], "learners": ["GSVC", "LDC"]})
    found = estimate(plan, plan_learners(plan))
    assert found.memory == 8 * 4970**2
    small = load_plan({"datasets": [61, 44037], "learners": ["LDC"]})
    assert estimate(small, plan_learners(small)).memory == 0
    nearest = load_plan({"datasets": [61, 44037], "learners": ["NNC"]})
    assert estimate(nearest, plan_learners(nearest)).memory == 2 * 12 * 4970**2
    assert registry.get("NNC").worker_bytes(8000) == 2 * 600_000_000
    assert registry.get("NNC").worker_bytes(16000) == 0
    iris = expected()["61"]
    pairs = [(unit, iris) for unit in units(plan, iris, plan_learners(plan))]
    check_memory(pairs, workers=2, available=2 * 8 * 150**2)
    with pytest.raises(PlanError, match=r"61-GSVC-.* per worker .*: take --workers 1$"):
        check_memory(pairs, workers=2, available=2 * 8 * 150**2 - 1)
    with pytest.raises(PlanError, match="take another machine"):
        check_memory(pairs, workers=1, available=1000)


def nested(levels):
    value = [1]
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({**SMALL, "sizes": list(range(1, 1_000_001))}, "plan has more than 100,000 entries"),
        ({**SMALL, "learners": [f"L{i}" for i in range(200_000)]}, "more than 100,000 entries"),
        ({**SMALL, "sizes": nested(3000)}, "lists inside lists too deep; expected at most 20"),
        ({**SMALL, "sizes": {"log": 10**9}}, "sizes.log is 1000000000; expected 100000 or less"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused_at_once(content, words, monkeypatch):
    if "log" not in words:  # before anything goes through it entry by entry
        monkeypatch.setattr(planning, "check", None)
    with pytest.raises(PlanError, match=words):
        load_plan(content)


def test_a_file_that_cannot_be_meant_as_a_plan_is_refused_at_once(tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text("sizes = " + "[" * 100_000 + "]" * 100_000)
    with pytest.raises(PlanError, match=r"deep.toml has lists inside lists too deep"):
        load_plan(path)
    with path.open("r+b") as file:
        file.truncate(50_000_000)
    with pytest.raises(PlanError, match=r"deep.toml has 50,000,000 bytes; expected at most 1,048,"):
        load_plan(path)
