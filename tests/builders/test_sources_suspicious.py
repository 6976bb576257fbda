"""Text that is hardly a category: told with the column and what to do."""

from __future__ import annotations

import logging
import warnings

import pytest
from lcdb_builders.planning.plan import load_plan
from lcdb_builders.sources import FileSource

from lcdb.cli import main
from lcdb.errors import DatasetError, DatasetWarning

DATES = (
    "2020-01-{0:02d}",
    "2020-01-{0:02d}T10:00:00Z",
    "{0}/1/2020",
    "{0:02d}.01.20",
    "Jan {0}, 2020",
    "{0} March 2021",
    "10:{0:02d}",
)
AMOUNTS = ("{0}%", "{0}.5 %", "${0},000", "-${0}", "€ {0}.20", "{0} €", "(${0})", "{0},000,000")


def snapshot_of(tmp_path, text, **options):
    """A CSV file of one column of texts, a number and a class."""
    path = tmp_path / "data.csv"
    rows = [f'"{text.format(i % 28 + 1)}",{i},{"ab"[i % 2]}' for i in range(56)]
    path.write_text("odd,width,class\n" + "\n".join(rows) + "\n")
    return FileSource("data", path, "class", **options).snapshot()


@pytest.mark.parametrize("text", DATES)
def test_dates_are_refused_unless_they_are_listed(tmp_path, text):
    with pytest.raises(
        DatasetError, match=r"column 'odd' holds dates .*drop the column or convert"
    ):
        snapshot_of(tmp_path, text)
    assert snapshot_of(tmp_path, text, nominal=("odd",)).X[:3, 0].tolist() == [0, 1, 2]
    assert snapshot_of(tmp_path, text, drop=("odd",)).feature_names == ("width",)


@pytest.mark.parametrize("text", AMOUNTS)
def test_amounts_are_told(tmp_path, text):
    with pytest.warns(DatasetWarning, match="column 'odd' holds numbers with signs .* plain numb"):
        found = snapshot_of(tmp_path, text)
    assert found.X[:3, 0].tolist() == [0, 1, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        snapshot_of(tmp_path, text, nominal=("odd",))


@pytest.mark.filterwarnings("always::lcdb.errors.DatasetWarning")
def test_commands_print_a_warning_as_their_own_line(tmp_path, capsys):
    """A class and a line of our source are nothing to whoever typed the command."""
    rows = [f"{i} %,{i % 7},{'ab'[i % 2]}" for i in range(30)]
    (tmp_path / "data.csv").write_text("odd,width,class\n" + "\n".join(rows) + "\n")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        'datasets = [{ id = "mine", file = "data.csv", target = "class" }]\n'
        'learners = ["NMC"]\nsizes = [5]\nrepetitions = 2\n'
    )
    shown, level = warnings.showwarning, list(logging.getLogger("lcdb").handlers)
    assert main(["plan", str(plan)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("lcdb: column 'odd' holds numbers with signs ('0 %') and is read as 30 ")
    assert (warnings.showwarning, logging.getLogger("lcdb").handlers) == (shown, level)


def test_free_text_is_told(tmp_path):
    path = tmp_path / "data.csv"
    rows = [f"called {i},{i},{'ab'[i % 2]}" for i in range(50)]
    path.write_text("name,width,class\n" + "\n".join(rows) + "\n")
    with pytest.warns(DatasetWarning, match="column 'name' holds 50 different texts in 50 rows"):
        FileSource("data", path, "class").snapshot()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FileSource("data", path, "class", nominal=("name",)).snapshot()


@pytest.mark.parametrize("text", ["blue{0}", "size {0}", "{0}kg", "1-{0}", "v1.{0}", "a%"])
def test_other_text_is_a_category(tmp_path, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert snapshot_of(tmp_path, text).X[0, 0] == 0


def test_row_labels_without_a_name_are_dropped_by_position(tmp_path):
    path = tmp_path / "data.csv"
    rows = [f"{i},{i % 7},{'ab'[i % 2]}" for i in range(30)]
    path.write_text(",width,class\n" + "\n".join(rows) + "\n")
    with pytest.raises(DatasetError, match=r"column 1 has no name .* drop = \[1\]"):
        FileSource("data", path, "class").snapshot()
    plan = load_plan(
        {
            "datasets": [{"id": "data", "file": "data.csv", "target": "class", "drop": [1]}],
            "learners": ["LDC"],
        }
    )
    found = plan.datasets[0].source(tmp_path).snapshot()
    assert found.feature_names == ("width",)
    assert found.origin["dropped_columns"] == ["column 1"]
    assert found.X[:3, 0].tolist() == [0, 1, 2]
    with pytest.raises(DatasetError, match="drop has column 4; expected 1 to 3"):
        FileSource("data", path, "class", drop=(4,)).snapshot()
    named = FileSource("data", path, "class", drop=(1, 2))
    with pytest.raises(DatasetError, match="expected at least one feature"):
        named.snapshot()
