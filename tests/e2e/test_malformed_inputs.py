"""Whatever is wrong with what a user gives: one clear line, an exit code, and nothing written."""

import json

import pytest

from lcdb.cli import main

GOOD = {
    "datasets": "[61]",
    "learners": '["NMC"]',
    "samplings": '["random"]',
    "splits": '["fixed"]',
    "sizes": "[2, 9]",
    "repetitions": "2",
}
CSV = "a,b,class\n" + "".join(f"{i},{i % 5},{'xyz'[i % 3]}\n" for i in range(30))


def plan(**changes):
    return "".join(f"{key} = {value}\n" for key, value in {**GOOD, **changes}.items() if value)


def file(name, target="class", more=""):
    return f'[{{ id = "mine", file = "{name}", target = "{target}"{more} }}]'


WRONG_PLANS = {
    "no TOML": ("datasets = [", "is not TOML"),
    "no datasets": (plan(datasets=""), "'datasets' is missing"),
    "no learners": (plan(learners=""), "'learners' is missing"),
    "unknown key": (plan(repetitons="3"), "Did you mean 'repetitions'?"),
    "unknown learner": (plan(learners='["NMCC"]'), "Did you mean 'NMC'?"),
    "unknown sampling": (plan(samplings='["aditive"]'), "Did you mean 'additive'?"),
    "unknown split": (plan(splits='["train"]'), "expected one of fixed, varying, pool"),
    "unknown tuning": (plan(tunings='["best"]'), "expected one of default, tuned"),
    "unknown scaling": (plan(scalings='["z"]'), "expected one of none, standard, minmax"),
    "no repetitions": (plan(repetitions="0"), "repetitions is 0; expected 1 or more"),
    "half a repetition": (plan(repetitions="2.5"), "expected an integer"),
    "negative seed": (plan(seed="-1"), "seed is -1; expected 0 or more"),
    "size zero": (plan(sizes="[0]"), "sizes[0] is 0"),
    "sizes too large": (plan(sizes="[5000]"), "sizes leaves none for 150 rows"),
    "wrong parameter": (
        plan(learners="{ LDC = { rdige = 1 } }"),
        "learners.LDC.rdige is not a parameter of LDC. Did you mean 'ridge'?",
    ),
    "wrong value": (plan(learners="{ NNC = { neighbors = 0 } }"), "learners.NNC.neighbors is 0"),
    "strange class": (
        plan(learners='{ X = { estimator = "os.path.Walker" } }'),
        "say so with --allow-import",
    ),
    "missing class": (
        plan(learners='{ X = { estimator = "sklearn.svm.SVM" } }'),
        "no 'SVM' in sklearn.svm",
    ),
    "a path out": (plan(datasets=file("ok.csv").replace("mine", "../mine")), "datasets[0].id"),
    "a reserved name": (plan(datasets=file("ok.csv").replace("mine", "dse")), "means something"),
    "a learner as a path": (plan(learners='["../x"]'), "learners[0] is '../x'"),
    "a missing file": (plan(datasets=file("no.csv")), "there is no file"),
    "a folder": (plan(datasets=file("folder.csv")), "is a folder"),
    "an empty file": (plan(datasets=file("empty.csv")), "is empty"),
    "a wrong target": (plan(datasets=file("ok.csv", "klass")), "Did you mean 'class'?"),
    "one class": (plan(datasets=file("one.csv")), "class"),
    "few rows": (plan(datasets=file("few.csv")), "10"),
    "a regression": (plan(datasets=file("real.csv", "a")), "classes"),
    "an infinite number": (plan(datasets=file("inf.csv")), "non-finite"),
    "a ragged file": (plan(datasets=file("ragged.csv")), "line 12"),
    "a broken ARFF": (plan(datasets=file("broken.arff")), "mine"),
    "a broken parquet": (plan(datasets=file("broken.parquet")), "mine"),
    "no data of OpenML's": (plan(datasets="[40]"), "lcdb fetch 40"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "folder.csv").mkdir()
    header, *rows = CSV.splitlines(keepends=True)
    texts = {
        "ok.csv": CSV,
        "empty.csv": "",
        "one.csv": header + "".join(row.replace("x", "y").replace("z", "y") for row in rows),
        "few.csv": header + "".join(rows[:6]),
        "real.csv": "a,class\n" + "".join(f"{i}.25,x\n" for i in range(30)),
        "inf.csv": header + "inf,1,x\n" + "".join(rows),
        "ragged.csv": header + "".join(rows[:10]) + "1,2\n" + "".join(rows[10:]),
        "broken.arff": "@relation r\n@attribute a numeric\n@data\n1\n",
        "broken.parquet": "PAR1 but no more",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "good.toml").write_text(plan())
    return folder


def told(capsys, *arguments):
    """Run a command in this process; return its exit code and the one line it says."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as ended:
        code = ended.code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("lcdb: ")
    return code, err


@pytest.mark.parametrize("name", WRONG_PLANS)
def test_a_wrong_plan_or_dataset(name, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LCDB_CACHE", str(tmp_path / "cache"))
    text, words = WRONG_PLANS[name]
    (folder / "plan.toml").write_text(text)
    out = tmp_path / "database"
    code, line = told(capsys, "build", folder / "plan.toml", "--out", out, "--offline")
    assert code == 1
    assert words in line
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--dataset", "62"], 1, "the plan has no dataset '62'"),
        (["--dataset", "irsi"], 1, "the plan has no dataset 'irsi'"),
        (["--learner", "NM"], 1, "Did you mean 'NMC'?"),
        (["--workers", "0"], 1, "workers is 0; expected 1 or more"),
        (["--workers", "two"], 2, "invalid int value: 'two'"),
        (["--workers", "2", "--scheduler", "tcp://x:1"], 2, "not allowed with argument"),
        (["--timeout", "-1"], 1, "timeout is -1.0"),
        (["--repetitions", "0"], 1, "repetitions is 0; expected 1 or more"),
        (["--slurm", "none.toml"], 1, "there is no file none.toml"),
        (["--wokers", "2"], 2, "unrecognized arguments"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_arguments(arguments, code, words, folder, tmp_path, capsys):
    out = tmp_path / "database"
    found, line = told(capsys, "build", folder / "good.toml", "--out", out, *arguments)
    assert (found, words in line) == (code, True), line
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('memory = "1GB"\n', "'cores' is missing"),
        ('cores = 4\nmemory = "1GB"\nwaltime = "1:00:00"\n', "Did you mean 'walltime'?"),
        ('cores = 0\nmemory = "1GB"\n', "cores is 0; expected 1 or more"),
        ('cores = 4\nmemory = "1GB"\nprocesses = 2\n', "'processes' is not a key here"),
    ],
)
def test_wrong_slurm_files(text, words, folder, tmp_path, capsys):
    (tmp_path / "slurm.toml").write_text(text)
    out = tmp_path / "database"
    arguments = ["--slurm", tmp_path / "slurm.toml"]
    code, line = told(capsys, "build", folder / "good.toml", "--out", out, *arguments)
    assert (code, words in line) == (1, True), line
    assert not out.exists()


def test_a_scheduler_that_is_not_there(folder, tmp_path, monkeypatch, capsys):
    from lcdb_builders.run import cluster

    monkeypatch.setattr(cluster, "PATIENCE", 1)
    arguments = ["--scheduler", "tcp://127.0.0.1:9", "--offline", "--quiet"]
    out = tmp_path / "database"
    code, line = told(capsys, "build", folder / "good.toml", "--out", out, *arguments)
    assert (code, "no dask scheduler answers at 'tcp://127.0.0.1:9'" in line) == (1, True), line


def test_a_directory_of_somebody_else(folder, tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("\\end{document}")
    code, line = told(capsys, "build", folder / "good.toml", "--out", tmp_path)
    assert (code, "holds other things than a database" in line) == (1, True), line
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    code, line = told(capsys, "build", folder / "good.toml", "--out", tmp_path / "thesis.tex")
    assert (code, "is a file; expected a directory" in line) == (1, True), line


@pytest.mark.full
@pytest.mark.server
@pytest.mark.process
def test_a_database_of_a_newer_version(folder, tmp_path, capsys):
    root = tmp_path / "database"
    assert main(["build", str(folder / "good.toml"), "--out", str(root), "--quiet"]) == 0
    capsys.readouterr()
    from lcdb_builders.storage.manifest import manifest_path
    from lcdb_builders.storage.records import encode_record, read_record

    path = manifest_path(root, "61")
    path.write_bytes(encode_record({**read_record(path), "format_version": 99}))
    before = {p: p.read_bytes() for p in root.rglob("*") if p.is_file()}
    code, line = told(capsys, "build", folder / "good.toml", "--out", root, "--quiet")
    assert (code, "format version 99" in line) == (1, True), line
    assert {p: p.read_bytes() for p in root.rglob("*") if p.is_file()} == before


def test_status_of_what_is_no_database(tmp_path, capsys):
    code, line = told(capsys, "status", tmp_path)
    assert (code, "is not a database directory" in line) == (1, True), line


def test_plan_command(folder, capsys):
    assert main(["plan", str(folder / "good.toml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["total"]["cells"] == 2 * 2
    assert found["total"]["units"] == 2
    assert main(["plan", "turan2026", "--dataset", "iris", "--learner", "LDC", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["total"]["cells"] == 3 * 2 * (105 + 96) * 1000
    assert [line["label"] for line in found["learners"]] == ["draws", "LDC", "LDC, tuned"]
    assert main(["plan"]) == 0
    assert "turan2026" in capsys.readouterr().out
