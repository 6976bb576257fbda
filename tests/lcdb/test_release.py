"""Releases of summaries, and the database that ships as one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lcdb
from lcdb import shipped
from lcdb.cli import main
from lcdb.commands import SHIPPED
from lcdb.errors import ArgumentError, DamagedError, NotFoundError
from lcdb.release import read_release, write_release
from lcdb.summaries.make import summarize
from lcdb.summaries.sizes import chosen_sizes
from lcdb.tables import curve_frame


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release")
    tutorial = Path(shipped.__file__).parents[1] / "data" / "tutorial"
    options = ["--sizes", "log:4", "--release", "1.2", "--title", "Two small datasets"]
    assert main(["summarize", str(tutorial), "--out", str(folder), *options]) == 0
    return folder


@pytest.mark.process
def test_a_release_has_a_version_and_the_digests_of_its_files(small, capsys):
    release = read_release(small)
    assert release.version == "1.2" and set(release.files) == {"11.nc", "61.nc"}
    for name, digest in release.files.items():
        assert hashlib.sha256((small / "summaries" / name).read_bytes()).hexdigest() == digest
    assert main(["info", str(small)]) == 0
    told = "Two small datasets, version 1.2 (made with lcdb"
    assert told in release.citation and told in capsys.readouterr().out
    assert read_release(small / "summaries") is None


@pytest.mark.process
@pytest.mark.slow
def test_one_file_is_a_release_as_well(small, tmp_path, capsys):
    tutorial = Path(shipped.__file__).parents[1] / "data" / "tutorial"
    options = ["--dataset", "iris", "--sizes", "5", "--release", "2"]
    assert main(["summarize", str(tutorial), "--out", str(tmp_path / "iris.nc"), *options]) == 0
    assert list(read_release(tmp_path).files) == ["iris.nc"]
    assert "Learning curves as distributions, version 2" in capsys.readouterr().out


def test_a_release_in_more_than_a_line_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match="version is '1\\\\n'; expected text in one line"):
        write_release(tmp_path, "1\n", "title", [])


def test_a_damaged_release_is_told(tmp_path):
    write_release(tmp_path, "1", "title", [])
    path = tmp_path / "release.json"
    path.write_text(json.dumps({"title": "title"}))
    with pytest.raises(DamagedError, match="make it again"):
        read_release(tmp_path)


@pytest.mark.process
def test_a_shipped_summary_is_opened_by_name(small, tmp_path, monkeypatch, capsys):
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.setattr(shipped, "_DATA", data)
    with pytest.raises(NotFoundError, match="'lcdb build reference --out DIR', then 'lcdb summar"):
        lcdb.reference()
    assert main(["info", "reference"]) == 1
    assert "holds no summaries of the plan 'reference'" in capsys.readouterr().err
    (data / "reference").symlink_to(small)
    with lcdb.reference() as db:
        assert list(db) == [11, 61] and db.headers[61].is_summary
        assert np.isfinite(db["iris"]["mean"].sel(learner="LDC", n=105)).any()
    assert main(["info", "reference"]) == 0
    assert "version 1.2" in capsys.readouterr().out
    assert main(["tables", "reference", "--table", "A8", "--format", "csv"]) == 0
    assert "table_A8,61,samples,150,150" in capsys.readouterr().out


@pytest.mark.process
def test_what_is_there_at_every_n_has_a_name(capsys):
    assert main(["info", "turan2026"]) == 0
    assert "The plan turan2026 of lcdb, version" in capsys.readouterr().out
    assert main(["tables", "turan2026", "--table", "A8", "--format", "csv"]) == 0
    assert "table_A8,61,samples,150,150" in capsys.readouterr().out
    path = shipped.named("turan2026")
    assert shipped.opening(path) == "lcdb.shipped.turan2026()"


def test_the_tutorial_has_a_name_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["info", "tutorial"]) == 0
    assert "balance-scale (11)" in capsys.readouterr().out
    (tmp_path / "tutorial").mkdir()  # a folder of that name is what it says
    assert main(["info", "tutorial"]) == 1


@pytest.mark.parametrize("count", [8, 30, 48])
def test_sizes_of_tuned_curves_are_kept_first(count):
    sizes = np.array([*range(1, 33), *np.unique(np.geomspace(33, 1477, 70).round().astype(int))])
    few = sizes[np.linspace(9, len(sizes) - 1, 24).astype(int)]
    kept = chosen_sizes(f"log:{count}", sizes, few)
    if count > len(few):
        assert set(few) <= set(kept) and len(few) < len(kept) <= count
        assert {sizes[0], sizes[-1]} <= set(kept)
    else:
        np.testing.assert_array_equal(kept, chosen_sizes(f"log:{count}", sizes))
    assert set(kept) <= set(sizes) and (np.diff(kept) > 0).all()


@pytest.mark.process
def test_a_summary_of_few_digits_has_the_tables_of_the_whole(tmp_path):
    tutorial = Path(shipped.__file__).parents[1] / "data" / "tutorial"
    paths = {}
    for name, more in (("whole", []), ("short", ["--bits", "14"])):
        paths[name] = tmp_path / f"{name}.nc"
        options = ["--dataset", "iris", "--sizes", "log:6", *more]
        assert main(["summarize", str(tutorial), "--out", str(paths[name]), *options]) == 0
    assert paths["short"].stat().st_size < paths["whole"].stat().st_size
    with lcdb.open(paths["whole"]) as one, lcdb.open(paths["short"]) as other:
        whole, short = one["iris"].load(), other["iris"].load()
        assert short.attrs["significant_bits"] == 14 and "significant_bits" not in whole.attrs
        lcdb.schema.validate(short)
        pd.testing.assert_frame_equal(curve_frame(one), curve_frame(other))
    for name in ("mean", "sd", "minimum", "maximum", "quantile", "shapiro_w", "shapiro_p"):
        np.testing.assert_allclose(short[name], whole[name], rtol=7e-5, atol=1e-37)
    for name in ("shapiro_p", "lattice_p"):
        np.testing.assert_array_equal(short[name] < 0.05, whole[name] < 0.05)
    with pytest.raises(ArgumentError, match="bits are 3; expected 8 to 24"):
        list(summarize(lcdb.tutorial(), tmp_path, bits=3))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["plot", "report"])
def test_figures_and_reports_know_databases_that_ship_by_name(
    command, tmp_path, monkeypatch, capsys
):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    asked = ["--figure", "map"] if command == "plot" else ["--dataset", "iris"]
    out = tmp_path / ("map.svg" if command == "plot" else "page.md")
    assert main([command, "tutorial", *asked, "--out", str(out)]) == 0, capsys.readouterr().err
    assert out.stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("command", ["site", "summarize"])
def test_databases_that_ship_are_shown_and_summed_up_by_name(command, tmp_path, capsys):
    asked = ["--cubes", "none"] if command == "site" else ["--dataset", "iris"]
    out = tmp_path / command
    assert main([command, "tutorial", *asked, "--out", str(out), "--sizes", "10"]) == 0
    capsys.readouterr()
    assert (out / ("index.html" if command == "site" else "summaries/61.nc")).is_file()


@pytest.mark.parametrize("command", ["explore", "info", "plot", "report", "site", "tables"])
def test_help_names_the_databases_that_ship(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    told = " ".join(capsys.readouterr().out.split())
    names = SHIPPED.partition(": ")[2].split(", ")
    shown = SHIPPED.replace(" experiments,", "") if command == "explore" else SHIPPED
    assert shown in told and {Path(shipped.named(name)).name for name in names} == set(names)
    opened = {name for name in shipped.__all__ if name not in ("named", "opening")}
    assert set(names) == opened


@pytest.mark.process
@pytest.mark.parametrize("figure", ["1a", "3b", "ranks"])
def test_figures_of_cells_are_drawn_from_summaries(figure, tmp_path):
    """A summary of all sizes and its cube: lines through the same points."""
    plt = pytest.importorskip("matplotlib.pyplot")
    with lcdb.tutorial() as db:
        list(summarize(db, tmp_path, sizes="all"))
        whole = lcdb.plot.draw(db, figure, dataset="iris", learner=["LDC", "QDC"])
    with lcdb.open(tmp_path) as db:
        small = lcdb.plot.draw(db, figure, dataset="iris", learner=["LDC", "QDC"])
    assert len(whole.lines) == len(small.lines)
    for one, other in zip(whole.lines, small.lines, strict=True):
        np.testing.assert_allclose(one.get_xydata(), other.get_xydata(), rtol=1e-6)
    for one, other in zip(whole.collections, small.collections, strict=True):
        if one.get_array() is not None:
            np.testing.assert_array_equal(one.get_array(), other.get_array())
    assert whole.get_title(loc="left") == small.get_title(loc="left")
    plt.close("all")
