"""Names of strangers are shown, and never obeyed: markup, escape sequences, HTML."""

from __future__ import annotations

import pytest

import lcdb
from lcdb.cli import main
from lcdb.errors import LabelError
from lcdb.text import one_line, visible
from tests.support.plausible import rename

NAMES = ["x[/nope]", "[red]x[/red]", "a\x1b[31mred\x1b]0;title\x07", "<b>x</b>", "a\nb\rc\u202ed"]


@pytest.fixture(params=NAMES)
def named(request, copy):
    rename(copy / "cubes" / "61.nc", request.param)
    return copy, request.param


@pytest.mark.process
def test_info_shows_any_name_as_text(named, capsys):
    folder, name = named
    assert main(["info", str(folder)]) == 0
    out = capsys.readouterr().out
    assert visible(name) in out
    assert "\x1b" not in out and "\r" not in out and "\u202e" not in out


@pytest.mark.process
def test_a_database_looks_the_same_whatever_names_hold(named):
    folder, name = named
    with lcdb.open(folder) as db:
        text, html = repr(db), db._repr_html_()
        lines = text.splitlines()
        with pytest.raises(LabelError) as caught:
            db.curve("irsi", "LDC")
    assert visible(name) in lines[2] and len(lines) == 5
    assert all(sign.isprintable() for line in lines for sign in line)
    assert "<b>" not in html and "\x1b" not in html
    assert one_line(caught.value).isprintable()


def test_errors_are_one_line_of_plain_signs(tmp_path, capsys):
    assert main(["info", str(tmp_path / "no\x1b[2Jthing")]) == 1
    assert capsys.readouterr().err.rstrip("\n").isprintable()


@pytest.mark.process
def test_the_name_of_a_folder_is_no_markup(database_folder, tmp_path, capsys):
    link = tmp_path / "[bold]db["
    link.symlink_to(database_folder)
    assert main(["info", str(link)]) == 0
    assert "[bold]db[" in capsys.readouterr().out
