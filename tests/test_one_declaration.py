"""A learner is one file and one row: what lists, builds, measures and draws finds it from there.

A metric is a row, a definition and a column that kernels write.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[1]
CACHES = shutil.ignore_patterns("__pycache__")

ROW = '        LearnerRow("PRIOR", "class shares", "prior", "#123456"),\n'
FILE = '''
"""PRIOR: class shares of the training set, drawn towards equal ones."""

from lcdb_builders.learners.base import Parameter
from lcdb_builders.learners.builtin import BuiltinLearner
from lcdb_builders.learners.costing import Cost


class Estimator:
    def __init__(self, equal):
        self.equal = equal

    def fit(self, X, y):
        import numpy as np

        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares = (counts + self.equal) / (counts + self.equal).sum()
        return self

    def predict_proba(self, X):
        import numpy as np

        return np.tile(self.shares, (len(X), 1))


class PRIOR(BuiltinLearner):
    name = "PRIOR"
    ranking = "probability"
    parameters = {"equal": Parameter(0.0, float, 0.0, 1e6, "rows that are added to each class")}
    tuned_parameter = "equal"
    grid = (0.0, 10.0)
    cost = Cost(reference={"": 12345.0})
    large = {"equal": 3.0}

    def estimator(self, snapshot, params, **cell):
        return Estimator(**params)

    def baselines(self, params, X, classes):
        from sklearn.dummy import DummyClassifier

        return {self.name: DummyClassifier(strategy="prior")}
'''
PLAN = """
datasets = [61]
learners = ["NMC", "PRIOR"]
samplings = ["random"]
splits = ["varying"]
tunings = ["default", "tuned"]
sizes = [10, 40, 100]
repetitions = 20
"""
# Each step prints one line of JSON.
SCRIPT = """
import contextlib, io, json, sys
from pathlib import Path

import lcdb
from lcdb.cli import main

def run(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([str(argument) for argument in arguments])
    assert not code, (arguments, code, out.getvalue())
    return out.getvalue()

if __name__ == "__main__":
    plan, db, found = Path("plan.toml"), Path("db"), {}
    found["plan"] = json.loads(run("plan", plan, "--json"))
    run("build", plan, "--out", db, "--workers", "1", "--quiet")
    found["verify"] = json.loads(run("verify", db, "--recompute", "12", "--json"))
    found["table"] = run("tables", db, "--table", "2", "--format", "csv")
    with lcdb.open(db) as database:
        found["learners"] = database[61].learner.values.tolist()
        ax = lcdb.plot.quantile_curves(database.curve(61, "PRIOR"))
        found["colours"] = [lcdb.plot.colour_of(name) for name in ("NMC", "PRIOR")]
        found["drawn"] = [line.get_color() for line in ax.lines]
    from lcdb_builders.bench import run as bench
    from lcdb_builders.bench.cases import Effort
    bench.QUICK = Effort(seconds=0.002, sizes=2, step=40, baseline_sizes=1)
    bench._plan_subjects = lambda folder: bench.compared(["61"])
    found["bench"] = json.loads(
        run("bench", "--quick", "--learner", "PRIOR", "--dataset", "61", "--settings", "large",
            "--json", "-")
    )
    print(json.dumps(found))
"""


def linked(source: Path, copy: Path, *kept: str) -> None:
    """Make a folder of links to what is in another, but for some names."""
    copy.mkdir(parents=True)
    for path in source.iterdir():
        if path.name not in {"__pycache__", *kept}:
            (copy / path.name).symlink_to(path)


def copied(folder: Path) -> Path:
    """Make a folder in which both packages can be imported, and files of them be changed."""
    linked(ROOT / "lcdb", folder / "lcdb", "schema")
    linked(ROOT / "lcdb" / "schema", folder / "lcdb" / "schema", "tables.py")
    shutil.copy(ROOT / "lcdb" / "schema" / "tables.py", folder / "lcdb" / "schema")
    for name in ("schemas", "data"):
        (folder / "lcdb" / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "builders" / "lcdb_builders", folder / "lcdb_builders", ignore=CACHES)
    return folder


def changed(path: Path, *changes: tuple[str, str]) -> None:
    """Write more where a file says something once."""
    text = path.read_text()
    for old, new in changes:
        assert text.count(old) == 1, (path, old)
        text = text.replace(old, new)
    path.write_text(text)


def said(folder: Path, plan: str, script: str, **environment: str) -> Any:
    """Return what a script prints that runs beside a plan."""
    (folder / "plan.toml").write_text(plan)
    (folder / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "MPLBACKEND": "agg", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What commands say where the sources have one more learner."""
    folder = copied(tmp_path_factory.mktemp("more"))
    row = '        LearnerRow("ADAB", "AdaBoost", "trees", "#000000"),\n'
    changed(folder / "lcdb" / "schema" / "tables.py", (row, row + ROW))
    (folder / "lcdb_builders" / "learners" / "prior.py").write_text(FILE)
    return said(folder, PLAN, SCRIPT)


@pytest.mark.full
def test_plans_know_it_and_what_it_costs(told):
    hours = {line["label"]: line["core_hours"] for line in told["plan"]["learners"]}
    # 60 cells each; a tuned one has two values and up to two refits.
    assert hours["PRIOR"] == pytest.approx(60 * 12345e-6 / 3600, rel=0.01)
    assert hours["PRIOR, tuned"] == pytest.approx(4 * hours["PRIOR"], rel=0.01)


def test_builds_and_verifications_compute_it(told):
    assert told["learners"] == ["NMC", "PRIOR"]
    cells = told["verify"]["recomputed"]
    assert {cell["learner"] for cell in cells} == {"NMC", "PRIOR"}
    assert all(cell["agrees"] and cell["same_bits"] for cell in cells)


def test_tables_and_figures_have_it(told):
    assert "PRIOR" in told["table"]
    assert told["colours"] == ["#999933", "#123456"] and "#123456" in told["drawn"]


def test_benchmarks_time_it_beside_another(told):
    (row, *_) = told["bench"]["comparison"]
    assert row["learner"] == "PRIOR" and row["baseline"] == "PRIOR"
    assert row["micros"] > 0 and row["usual_micros"] > 0
    assert told["bench"]["parameters"]["PRIOR"] == {"equal": 3.0}
    assert told["bench"]["projection"]["hours"]["PRIOR"]["61"] > 0


METRIC_PLAN = """
datasets = [61]
learners = ["NMC", "NNC"]
samplings = ["random"]
splits = ["varying"]
tunings = ["default", "tuned"]
sizes = [10, 30]
repetitions = 2
"""
METRIC_SCRIPT = (
    SCRIPT[: SCRIPT.index("if __name__")]
    + """
if __name__ == "__main__":
    plan, db = Path("plan.toml"), Path("db")
    run("build", plan, "--out", db, "--workers", "1", "--quiet")
    cells = json.loads(run("verify", db, "--recompute", "8", "--json"))["recomputed"]
    with lcdb.open(db) as database:
        cube = database[61]
        both = [cube[name].sel(sampling="random", split="varying").values.ravel().tolist()
                for name in ("accuracy", "mistakes")]
        choices = cube.choice_mistakes.values.max()
    print(json.dumps([cells, both, int(choices)]))
"""
)


@pytest.mark.full
def test_a_metric_is_a_row_a_definition_and_a_column(tmp_path):
    """Kernels run as plain Python here, which compiles nothing again."""
    folder = copied(tmp_path)
    row = 'Metric("mistakes", "share of wrong labels", "minimize", 0.0, 1.0, "mistakes"),'
    changed(
        folder / "lcdb" / "schema" / "tables.py",
        ('"cross-entropy (nats)",\n        ),\n', f'"cross-entropy (nats)",\n        ),\n{row}'),
    )
    changed(
        folder / "lcdb_builders" / "reference" / "metrics.py",
        (
            "    n_clipped: int = 0\n",
            '    mistakes: float = float("nan")\n    n_clipped: int = 0\n',
        ),
        ("        n_clipped=n_clipped,\n", "        n_clipped=n_clipped, mistakes=1 - correct,\n"),
    )
    changed(
        folder / "lcdb_builders" / "kernels" / "core" / "cell.py",
        ('"cross_entropy", "n_clipped")', '"cross_entropy", "mistakes", "n_clipped")'),
        ("CROSS_ENTROPY, CLIPPED = range", "CROSS_ENTROPY, MISTAKES, CLIPPED = range"),
        ("(True, True, False, False)", "(True, True, False, False, False)"),
        ("    out[CLIPPED] =", "    out[MISTAKES] = 1 - sums.right / rows\n    out[CLIPPED] ="),
    )
    cells, both, choices = said(folder, METRIC_PLAN, METRIC_SCRIPT, NUMBA_DISABLE_JIT="1")
    assert {cell["learner"] for cell in cells} == {"NMC", "NNC"}
    assert all(cell["agrees"] for cell in cells)
    scored = [(a, m) for a, m in zip(*both, strict=True) if a == a]
    assert len(scored) == 16
    assert all(m == pytest.approx(1 - a, abs=1e-6) for a, m in scored)
    assert choices >= 0
