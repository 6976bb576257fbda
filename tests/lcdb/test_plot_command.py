"""`lcdb plot`: what cannot be drawn is an error that another run would not heal."""

import pytest

from lcdb.cli import main


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--figure", "3b", "--dataset", "iris", "--out", "x.foo"], "x.foo could not be written"),
        (["--figure", "map", "--dataset", "99"], "99"),
        (["--figure", "1a", "--dataset", "61", "--learner", "RF"], "learner 'RF' is not in "),
        (["--figure", "1a", "--metric", "acuracy"], "Did you mean 'accuracy'?"),
    ],
)
def test_wrong_use_is_exit_code_one(database_folder, tmp_path, monkeypatch, capsys, options, said):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(database_folder), *options]) == 1
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--figure", "1a", "--learner", "RF"], "learner 'RF' is not in summary "),
        (["--figure", "1a", "--metric", "acuracy"], "metric 'acuracy' does not exist."),
    ],
)
def test_names_that_a_summary_lacks_are_told(options, told, capsys):
    assert main(["plot", "reference", *options]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"lcdb: {told}") and "Did you mean '" in error
    assert error.count("\n") == 1
