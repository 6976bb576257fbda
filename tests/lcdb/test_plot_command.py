"""`lcdb plot`: what cannot be drawn is an error that another run would not heal."""

import pytest

from lcdb.cli import main


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--figure", "3b", "--dataset", "iris", "--out", "x.foo"], "x.foo could not be written"),
        (["--figure", "map", "--dataset", "99"], "99"),
    ],
)
def test_wrong_use_is_exit_code_one(database_folder, tmp_path, monkeypatch, capsys, options, said):
    monkeypatch.chdir(tmp_path)
    assert main(["plot", str(database_folder), *options]) == 1
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
