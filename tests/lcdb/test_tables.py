"""The paper's tables: arithmetic of their definitions, on cubes with known answers."""

from __future__ import annotations

import csv
import io
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import lcdb
from lcdb import analysis, stats
from lcdb.cli import main
from lcdb.errors import LabelError
from lcdb.shipped import experiments as shipped_experiments
from lcdb.tables import (
    FORMATS,
    NAMES,
    Row,
    Table,
    curve_frame,
    paired,
    published,
    render,
    tables,
    turan2026,
)
from lcdb.tables.frame import at_every_n
from lcdb.tables.paired import LEFT_OUT
from lcdb.tables.rates import rate_row
from lcdb.tables.turan2026 import BALANCED, SAME_DATASETS
from lcdb.tables.views import duplicate_seeds
from tests.support.plausible import write_database


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("db")
    splits = ("fixed", "varying", "pool")
    samplings = ("additive", "bootstrap")
    return write_database(folder, repetitions=60, splits=splits, samplings=samplings)


@pytest.fixture
def db(folder):
    with lcdb.open(folder) as found:
        yield found


@pytest.mark.parametrize("metric", ["accuracy", "auc"])
def test_table_3_follows_from_the_printed_table_1(metric):
    """Means over groups of datasets, to the printed digits."""
    printed = published()
    means = {dataset: pair[0] for dataset, pair in printed["table_1"][metric].items()}
    balanced = [mean for dataset, mean in means.items() if dataset in BALANCED]
    rest = [mean for dataset, mean in means.items() if dataset not in BALANCED]
    assert np.mean(balanced) == pytest.approx(printed["table_3"][metric]["balanced"], abs=0.0051)
    assert np.mean(rest) == pytest.approx(printed["table_3"][metric]["imbalanced"], abs=0.0051)


@pytest.mark.process
def test_a_rate_is_the_mean_over_sizes_of_one_curve(db):
    frame = curve_frame(db)
    chosen = frame.query("dataset == '61' and learner == 'LDC' and metric == 'auc'")
    assert len(chosen) == 8  # two samplings, two splits, two tunings: pool is left out
    curve = db.curve(61, "LDC", sampling="bootstrap", split="varying", metric="auc")
    g = analysis.normality(curve)["non_gaussian"]
    row = chosen.query("sampling == 'bootstrap' and split == 'varying' and tuning == 'default'")
    assert row["rate"].item() == pytest.approx(100 * float(g.mean()))
    assert row["from_10_rate"].item() == pytest.approx(100 * float(g.sel(n=slice(10, None)).mean()))
    assert row["cells"].item() == int(g.notnull().sum())


@pytest.mark.process
def test_of_a_plan_with_steps_each_size_stands_for_those_around_it(db):
    """Cells at every n say the same with weights and without; of fewer, ends count as they are."""
    frame = curve_frame(db)
    for name in ("rate", "dagostino", "skewness_test", "kurtosis_test"):
        assert frame[f"every_{name}"].to_numpy() == pytest.approx(
            frame[name].to_numpy(), nan_ok=True
        )
    some = frame[frame["cells"] > 0]
    share = 100 * some["constant"] / some["cells"]
    assert some["every_constant"].to_numpy() == pytest.approx(share.to_numpy())
    g, sizes = np.array([1.0, np.nan, 0.0, 1.0]), np.array([1, 2, 3, 13])
    inner = [0.5, 0.0, *(k / 10 for k in range(1, 10))]
    assert at_every_n(g, sizes) == pytest.approx(100 * (1 + sum(inner) + 1) / 13)
    assert np.isnan(at_every_n(np.full(4, np.nan), sizes))


def test_a_last_cell_that_alone_is_constant_says_nothing_of_the_sizes_before_it():
    """At the largest n a fixed pool is one training set: constant there, and not one n before."""
    sizes, g = np.array([1, 2, 10]), np.array([1.0, 1.0, 0.0])
    spread = np.zeros(3, bool)
    constant = spread | (sizes == 10)
    assert at_every_n(g, sizes, constant) == pytest.approx(90)
    assert at_every_n(constant.astype(float), sizes, constant) == pytest.approx(10)
    assert at_every_n(g, sizes, spread) == at_every_n(g, sizes)
    # Where the cell before is constant as well, those between are taken to be so.
    assert at_every_n(g, sizes, sizes >= 2) == at_every_n(g, sizes)
    assert at_every_n(g[2:], sizes[2:], constant[2:]) == 0


@pytest.mark.process
def test_tunings_and_samplings_are_compared_like_with_like(db):
    """Default curves of samplings that have no tuned ones do not stand beside tuned ones."""
    frame = curve_frame(db)
    frame = frame[(frame["learner"] == "LDC") & (frame["metric"] == "accuracy")]
    default = frame[frame["tuning"] == "default"]
    tuned = default[default["sampling"] == "additive"].assign(tuning="tuned")
    both = pd.concat([default, tuned], ignore_index=True)
    pick = turan2026._like_with_like("tuning", "default", learner="LDC")
    assert set(both[pick(both)]["sampling"]) == {"additive"} and len(both[pick(both)]) == len(tuned)
    pick = turan2026._like_with_like("sampling", "additive", learner="LDC")
    assert set(both[pick(both)]["tuning"]) == {"default"}
    assert turan2026._like_with_like("tuning", "default", learner="LDC")(default).all()


@pytest.mark.process
def test_signs_of_differences_between_learners_are_not_told(db):
    for row in tables(db, ["6"])[0].rows:
        assert not {"skewness", "tail"} & row.beside.keys() and "mean |tail|" in row.beside


@pytest.mark.process
def test_groups_of_datasets_have_the_printed_mean_of_the_same_datasets(db):
    printed = published()["table_1"]["accuracy"]
    there = {str(header.id) for header in db.headers.values()}
    for row in tables(db, ["3"])[0].rows:
        some = there & (set(BALANCED) if row.row == "balanced" else set(printed) - set(BALANCED))
        if row.metric == "accuracy" and some:
            expected = np.mean([printed[id][0] for id in some])
            assert row.beside[SAME_DATASETS] == pytest.approx(expected)


@pytest.mark.process
def test_shapes_are_of_the_curves_that_have_one(db):
    frame = curve_frame(db)
    for row in tables(db, ["B10"])[0].rows:
        column = "last_skewness" if row.row.startswith("skewness") else "last_kurtosis"
        assert row.cells == frame.loc[frame["metric"] == row.metric, column].notna().sum()


@pytest.mark.process
def test_a_summary_without_a_column_leaves_it_empty(db):
    frame = curve_frame(db).drop(columns="every_rate")
    found = rate_row("61", "auc", [1.0, 2.0], frame[frame["dataset"] == "61"], {})
    assert found.beside["at every n"] is None and found.ours is not None


@pytest.mark.process
def test_what_stands_beside_a_rate_by_its_definition(db):
    """Effect sizes are medians over cells; a bootstrap with varying test sets is ragged."""
    labels = {"sampling": "bootstrap", "split": "varying", "tuning": "default"}
    curve = db.curve(61, "LDC", metric="accuracy", **labels).values
    n_test = db[61]["n_test"].sel(sampling="bootstrap", split="varying").values
    assert (n_test.min(axis=1) < n_test.max(axis=1)).all()
    fields, quantile = stats.summary(curve, [0.05])
    there = ~fields["constant"]
    p = stats.ragged_lattice_test(curve, n_test, np.random.default_rng(45), 99)
    shift = (quantile[there, 0] - fields["mean"][there]) / fields["sd"][there] + norm.ppf(0.95)
    chosen = curve_frame(db).query("dataset == '61' and learner == 'LDC' and metric == 'accuracy'")
    row = chosen.query(" and ".join(f"{name} == '{label}'" for name, label in labels.items()))
    known = np.isfinite(p) | ~there
    expected = {
        "lattice": 100 * np.mean((p <= 0.05)[known]),
        "tested": 100 * np.mean(known),
        "w": np.nanmedian(fields["shapiro_w"]),
        "skewness": np.nanmedian(fields["skewness"]),
        "kurtosis": np.nanmedian(fields["excess_kurtosis"]),
        "tail": np.median(shift),
        "from_10_dagostino": 100 * np.mean((fields["dagostino_p"] < 0.05)[9:]),
    }
    for name, value in expected.items():
        assert row[name].item() == pytest.approx(value), name


@pytest.mark.process
def test_tuned_curves_start_at_ten(db):
    frame = curve_frame(db)
    tuned = frame.query("tuning == 'tuned' and dataset == '61' and metric == 'brier'")
    assert (tuned["cells"] == 42 - 9).all()
    assert (tuned["missing"] == 0).all()


@pytest.mark.process
def test_tables_1_and_2_are_means_over_curves(db):
    frame = curve_frame(db)
    first, second = tables(db, ["1", "2"])
    mean = frame.query("dataset == '61' and metric == 'accuracy'")["rate"]
    row = next(r for r in first.rows if (r.row, r.metric) == ("61", "accuracy"))
    assert row.ours == pytest.approx(mean.mean())
    assert row.published == 99.38
    assert row.difference == pytest.approx(mean.mean() - 99.38)
    assert row.ours_sd == pytest.approx(mean.std(ddof=1))
    assert row.published_sd == 2.47
    assert next(r for r in first.rows if r.row == "23").ours is None
    by_learner = frame.query("learner == 'LDC' and metric == 'auc'")["rate"].mean()
    row = next(r for r in second.rows if (r.row, r.metric) == ("LDC", "auc"))
    assert row.ours == pytest.approx(by_learner)


@pytest.mark.process
def test_overall_figures_are_unweighted_over_curves(db):
    text = tables(db, ["text"])[0]
    frame = curve_frame(db)
    row = next(r for r in text.rows if r.row == "D'Agostino-Pearson")
    assert row.ours == pytest.approx(frame["dagostino"].mean())


@pytest.mark.process
@pytest.mark.slow
def test_views_stand_beside_and_never_instead(db, folder, capsys):
    plain = tables(db, ["1"])[0]
    viewed = tables(db, ["1"], ["duplicate_seeds", "pool"])[0]
    for one, other in zip(plain.rows, viewed.rows, strict=True):
        assert one.ours == other.ours
    row = next(r for r in viewed.rows if (r.row, r.metric) == ("61", "auc"))
    pool = curve_frame(db, "pool").query("dataset == '61' and metric == 'auc'")
    assert row.beside["pool"] == pytest.approx(pool["rate"].mean())
    honest = curve_frame(db).query("dataset == '61' and metric == 'auc'")
    fixed, varying = (frame.set_index("split").loc for frame in (pool, honest))
    assert fixed["varying", "rate"].tolist() == varying["varying", "rate"].tolist()
    assert fixed["fixed", "rate"].tolist() != varying["fixed", "rate"].tolist()
    assert row.beside["duplicate_seeds"] is not None
    where = ["tables", str(folder), "--table", "1", "--view", "pool", "--format", "csv"]
    assert main(where) == 0
    printed = csv.DictReader(io.StringIO(capsys.readouterr().out))
    (line,) = (line for line in printed if (line["row"], line["metric"]) == ("61", "auc"))
    assert float(line["pool"]) == pytest.approx(row.beside["pool"])
    assert "duplicate_seeds" not in line


@pytest.mark.process
def test_duplicate_seeds_re_index_repetitions(db):
    scores = db.curve(61, "LDC", sampling="additive", metric="brier").load()
    again = duplicate_seeds(scores)
    assert again.sizes == scores.sizes
    assert set(again.values[5].tolist()) < set(scores.values[5].tolist())


@pytest.mark.process
def test_paired_rates_by_their_definition(db):
    table = tables(db, ["6"])[0]
    row = next(r for r in table.rows if (r.row, r.metric) == ("default, varying", "accuracy"))
    rates, shapes = [], []
    for key in (61,):  # 1063 is left out, and "mine" has too few repetitions
        scores = db.select(key, sampling=None, split="varying", tuning="default")[key].load()
        n_test = db[key]["n_test"].sel(split="varying").load()
        for sampling in scores["sampling"].values:
            counts = scores.sel(sampling=sampling).values * n_test.sel(sampling=sampling).values
            for i in range(3):
                for j in range(i + 1, 3):
                    fields, _ = stats.summary(np.rint(counts[i]) - np.rint(counts[j]), ())
                    g = np.where(fields["constant"], 0.0, fields["shapiro_p"] < 0.05)
                    rates.append(100 * g.mean())
                    shapes.append(np.median(fields["excess_kurtosis"][~fields["constant"]]))
    assert row.ours == pytest.approx(np.mean(rates))
    assert row.beside["excess kurtosis"] == pytest.approx(np.mean(shapes))
    assert 0 <= row.beside["lattice-aware"] <= 100
    assert row.published == 84.85
    every = next(r for r in table.rows if r.row == "default, varying, all datasets")
    assert every.published is None
    assert every.cells > row.cells


@pytest.mark.process
def test_top_three_changes_by_their_definition(db):
    table = tables(db, ["7"])[0]
    row = next(r for r in table.rows if (r.row, r.metric) == ("mean vs median", "accuracy"))
    assert row.ours is None  # three learners have no top 3 of more
    assert row.published == 0.42


@pytest.mark.process
def test_top_three_changes_of_four_learners(tmp_path):
    learners = ("NMC", "LDC", "QDC", "NNC", "DT")
    with lcdb.open(write_database(tmp_path, 60, learners=learners)) as db:
        table = tables(db, ["7"])[0]
        row = next(r for r in table.rows if (r.row, r.metric) == ("mean vs median", "accuracy"))
        changes = []
        for key in (61, "mine"):
            scores = db.select(key, sampling="additive", split="fixed", tuning="tuned")[key]
            x = scores.sel(n=slice(10, None)).transpose("n", "learner", "repetition").values
            for cell in x.astype(float):
                by_mean = np.argsort(-np.round(cell.mean(axis=1), 9), kind="stable")[:3]
                median = np.round(np.median(cell, axis=1), 9)
                changes.append(list(by_mean) != list(np.argsort(-median, kind="stable")[:3]))
    assert row.cells == len(changes)
    assert row.ours == pytest.approx(np.mean(changes))
    assert row.beside["tie aware"] <= row.ours
    assert {"normal", "normal on lattice", "mean over datasets"} <= set(row.beside)


@pytest.mark.process
def test_the_best_three_are_those_of_both_tunings_on_some_datasets_and_on_all(tmp_path):
    """Of kc2 (1063) the paper has no tuned curves: it is left out unless a row says all."""
    learners = ("NMC", "LDC", "QDC", "NNC", "DT")
    with lcdb.open(write_database(tmp_path, 60, learners=learners)) as db:
        for name, start in (("7", "mean vs median"), ("text", "q.95 vs mean")):
            _, rows = rows_of(name, db)
            cells = {}
            for tuning in ("tuned", "default"):
                also = ", default" if tuning == "default" else ""
                cells[tuning] = [rows[f"{start}{of}{also}", "accuracy"].cells
                                 for of in ("", ", all datasets")]  # fmt: skip
                counts = {}
                for key, header in db.headers.items():
                    labels = {"sampling": "additive", "split": "fixed", "tuning": tuning}
                    if tuning in header.labels["tuning"]:
                        scores = db.select(key, **labels)[key]
                        there = scores.notnull().all("repetition").sum("learner") > 3
                        counts[header.id] = int(there.sum())
                some = sum(n for id, n in counts.items() if id not in LEFT_OUT)
                assert cells[tuning] == [some, sum(counts.values())] and some
            assert rows[f"{start}, default", "accuracy"].published is None
            assert rows[start, "accuracy"].published is not None
        default = rows_of("7", db)[1]["mean vs median, default", "accuracy"]
        found = paired.top_k_changes(db, "accuracy", 0.5, 0.0, "default", subset=True)
        assert default.ours == found.shares["ordered"]


@pytest.mark.process
def test_missing_curves_count_four_metrics_each(db):
    table = tables(db, ["A9"])[0]
    expected = next(r for r in table.rows if r.row == "expected")
    complete = db.status().query("split != 'pool'")
    assert expected.ours == 4 * len(complete)
    lost = (complete["status"] != "complete").sum()
    assert next(r for r in table.rows if r.row == "missing").ours == 4 * lost


def test_curves_that_no_plan_asks_for_are_not_missing():
    """The reference database has tuned curves of additive training sets alone."""
    with lcdb.reference() as db:
        table = tables(db, ["A9"])[0]
        asked = 4 * len(db.scaled()) * (10 * 3 * 2 + 10 * 2)
    assert [(row.row, row.ours) for row in table.rows[:2]] == [("expected", asked), ("missing", 0)]


@pytest.mark.process
@pytest.mark.slow
def test_every_table_can_be_made_and_rendered(db, folder, capsys):
    found = tables(db)
    assert [table.name.removeprefix("table_") for table in found] == list(NAMES)
    rows = json.loads(render(found, "json"))
    assert {"table", "row", "metric", "published", "ours", "difference", "cells"} <= set(rows[0])
    assert len(list(csv.DictReader(io.StringIO(render(found, "csv"))))) == len(rows)
    assert render(found, "latex").count("\\begin{tabular}") == len(found)
    assert render(found, "markdown").count("### ") == len(found)
    for form in FORMATS:
        assert main(["tables", str(folder), "--table", "A8", "--format", form]) == 0
        assert "61" in capsys.readouterr().out


@pytest.mark.process
def test_wrong_names_are_answered(db, folder, capsys):
    with pytest.raises(LabelError, match="there is no table"):
        tables(db, ["99"])
    with pytest.raises(LabelError, match="Did you mean 'pool'"):
        tables(db, ["1"], ["pol"])
    assert main(["tables", str(folder), "--view", "poool"]) == 1
    assert "Did you mean" in capsys.readouterr().err


# -- what is printed -------------------------------------------------------------------------------


def rows_of(name, db):
    (table,) = tables(db, [name])
    return table, {(row.row, row.metric): row for row in table.rows}


@pytest.mark.process
def test_losses_are_compared_with_their_own_sign(db):
    table, rows = rows_of("B10", db)
    printed = published()["table_B10"]
    frame = curve_frame(db, lattice=False)
    for metric, direction in (("brier", -1), ("cross_entropy", -1)):
        number = printed[metric]["skewness"]
        row = rows[f"skewness (printed: {number})", metric]
        assert row.published == direction * number > 0
        assert row.ours == pytest.approx(frame[frame.metric == metric]["last_skewness"].median())
    assert rows["skewness", "auc"].published == printed["auc"]["skewness"]
    assert rows["excess kurtosis", "brier"].published == printed["brier"]["excess_kurtosis"]
    assert "sign of a score" in table.note


def test_an_experiment_misses_no_curves():
    with shipped_experiments() as experiments:
        _, rows = rows_of("A9", experiments)
        assert all(row.ours is None and row.difference is None for row in rows.values())
        assert rows["expected", ""].published == 4800
        assert "30 of 30 parts asked for are complete, the paper has 40" in repr(experiments)


@pytest.mark.process
def test_all_datasets_are_rows_of_their_own_where_there_are_others_than_the_papers(db, tmp_path):
    left_out = shutil.ignore_patterns(*(f"{id}*" for id in LEFT_OUT))
    shutil.copytree(db.path, tmp_path, ignore=left_out, dirs_exist_ok=True)
    with lcdb.open(tmp_path) as few:
        for name in ("6", "7", "text"):
            every, some = (tables(one, [name])[0].rows for one in (db, few))
            of_all = [row for row in every if "all datasets" in row.row]
            assert of_all and len(some) == len(every) - len(of_all)
            assert not any("all datasets" in row.row for row in some)
            for row, other in zip((r for r in every if r not in of_all), some, strict=True):
                assert (row.row, row.published) == (other.row, other.published)


@pytest.mark.process
def test_the_text_has_the_ranking_by_the_95_quantile(db):
    _, rows = rows_of("text", db)
    row = rows["q.95 vs mean, all datasets, default", "accuracy"]
    changed = cells = 0
    for key in db:
        labels = {"sampling": "additive", "split": "fixed", "tuning": "default"}
        scores = db.select(key, **labels)[key]
        if scores.sizes["learner"] > 3:
            cells += scores.sizes["n"]
            changed += int(analysis.top_k_change(scores, 0.95, 0.0)["ordered"].sum())
    assert rows["q.95 vs mean", "accuracy"].published == 90
    assert (row.ours, row.cells) == ((None, 0) if not cells else (100 * changed / cells, cells))


@pytest.mark.process
def test_tails_are_shown_whatever_their_sign(db):
    frame = curve_frame(db, lattice=False)
    row = frame.query("dataset == '61' and learner == 'LDC' and metric == 'accuracy'").iloc[0]
    labels = {name: row[name] for name in ("sampling", "split", "tuning")}
    x = db.curve(61, "LDC", **labels).dropna("n").values
    mean, sd = x.mean(axis=1), x.std(axis=1, ddof=1)
    kept = sd > 0
    tail = (np.quantile(x, 0.05, axis=1)[kept] - mean[kept]) / sd[kept] - norm.ppf(0.05)
    assert row["tail"] == pytest.approx(np.median(tail))
    assert row["absolute_tail"] == pytest.approx(np.abs(tail).mean())
    assert row["far"] == pytest.approx(100 * (np.abs(tail) > 0.5).mean())
    text = render(tables(db, ["1"]), "markdown")
    header = text.splitlines()[2]
    assert "mean \\|tail\\| | \\|tail\\| > 0.5 (%)" in header


@pytest.mark.process
def test_few_repetitions_are_said(db):
    told = {table.name: "rates of rejection grow" in table.note for table in tables(db)}
    assert told["table_1"] and told["table_6"] and told["text"]
    assert not told["table_7"] and not told["table_A8"]


def test_a_table_as_text():
    """A printed SD stands behind its mean; rows without any number are told by nobody."""
    rows = (
        Row("61", "accuracy", 99.384, 98.5, 105, missing=2, constant=1, published_sd=1.25),
        Row("37", "auc", None, None),
        Row("11", "auc", None, -0.001, 3, beside={"W": 0.5}),
    )
    table = Table("table_1", "By dataset", rows)
    assert table.header() == [
        "row", "metric", "published", "ours", "difference", "W", "cells", "missing", "constant",
    ]  # fmt: skip
    first = ["61", "accuracy", "99.38 (1.25)", "98.50", "-0.88", "", "105", "2", "1"]
    last = ["11", "auc", "", "0.00", "", "0.50", "3", "0", "0"]
    assert table.cells() == [first, ["37", "auc", *7 * [""]], last]
    assert table.told() == [first, last]


# -- for people ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def every():
    """All tables of the tutorial, and table 1 with a view: made once."""
    with lcdb.tutorial() as tutorial:
        views = tables(tutorial, ["1"], ["duplicate_seeds"])
        return {None: tables(tutorial), "1": tables(tutorial, ["1"]), "duplicate_seeds": views}


@pytest.fixture
def printed_by(every, capsys, monkeypatch):
    """What ``lcdb tables`` prints of the tutorial in a terminal of 80 columns."""

    def made(_, names, views):
        return every[views[0] if views else names[0] if names else None]

    monkeypatch.setattr("lcdb.commands.tables.tables", made)
    monkeypatch.setenv("COLUMNS", "80")

    def printed(*options):
        with lcdb.tutorial() as tutorial:
            assert main(["tables", str(tutorial.path), *options]) == 0
        return capsys.readouterr()

    return printed


@pytest.mark.slow
def test_a_terminal_of_80_columns_shows_whole_names_and_numbers(every, printed_by):
    out, err = printed_by()
    assert max(map(len, out.splitlines())) <= 80 and "…" not in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for row in every["1"][0].rows:
        if row.ours is not None:
            name = {"11": "balance-scale (11)", "61": "iris (61)"}[row.row]
            assert f"{name} {row.published:.2f} {row.ours:.2f} {row.difference:.2f}" in lines
    assert "--columns all" in err and "200 repetitions" in err


@pytest.mark.slow
def test_one_line_says_what_the_numbers_are_of(every, printed_by):
    """The draws are those of the paper: every table says which, and no such line is folded."""
    lines = printed_by().out.splitlines()
    for table in every[None]:
        assert table.about and len(table.about) <= 80
        assert table.about in lines or all(row.ours is None for row in table.rows)
        assert not table.legend or table.legend[:40] not in "\n".join(lines)
    assert "additive, fixed, tuned" in every[None][list(NAMES).index("7")].about


@pytest.mark.slow
def test_all_columns_are_there_for_those_who_ask(every, printed_by):
    few, (out, err) = printed_by("--table", "1").out, printed_by("--table", "1", "--columns", "all")
    (table,) = every["1"]
    assert all(word in out for name in table.header()[1:-2] for word in name.split())
    for cells, row in zip(table.cells(), table.rows, strict=True):
        assert row.ours is None or all(cell in out for cell in cells)
    assert "D'Agostino" in out and "D'Agostino" not in few
    assert "Beside a rate" in out and "bootstrap; fixed, varying" in err


@pytest.mark.slow
def test_views_that_are_asked_for_are_among_the_few_columns(every, printed_by):
    out = printed_by("--view", "duplicate_seeds").out
    row = next(row for row in every["duplicate_seeds"][0].rows if row.ours is not None)
    assert "duplicate_seeds" in out and f"{row.beside['duplicate_seeds']:.2f}" in out


@pytest.mark.slow
def test_files_have_ids_and_names(every):
    rows = csv.DictReader(io.StringIO(render(every[None], "csv")))
    names = {row["row"]: row["name"] for row in rows}
    assert names["61"] == "iris (61)" and names["1063"] == "kc2 (1063)"
    assert names["GSVC"] == "Gaussian support vector classifier (GSVC)"
    assert names["LDC random"] == "linear discriminant classifier (LDC), random"
    assert names["imbalanced"] == "imbalanced"
    assert "| iris (61) | accuracy |" in render(every["1"], "markdown")


def test_what_nobody_published_stands_beside_what_explains_it():
    rows = (Row("LDC over QDC", "accuracy", None, 40.0, beside={"from n": 5.0}),)
    few = Table("x", "y", rows, digits=0).few()
    assert few == (["ours", "from n"], {"accuracy": [["LDC over QDC", "40", "5"]]})
    both = (Row("a", "auc", 1.0, 2.0, beside={"W": 1.0}), Row("b", "auc", None, None))
    few = Table("x", "y", both, digits=0).few()
    assert few == (["published", "ours", "difference"], {"auc": [["a", "1", "2", "1"]]})
    titles, by_metric = Table("x", "y", both, digits=0).few(["W"])
    assert titles[-1] == "W" and by_metric["auc"] == [["a", "1", "2", "1", "1"]]


def test_a_database_of_experiments_has_tables_without_numbers(capsys):
    assert main(["tables", "experiments", "--table", "A9"]) == 0
    assert "no learning curves" in capsys.readouterr().err
