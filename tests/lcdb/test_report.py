"""A report says what the numbers say, runs the calls that it prints, and fits into one file."""

from __future__ import annotations

import itertools
import re
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest
import xarray as xr

matplotlib.use("agg")
from scipy import stats as scipy_stats
from statsmodels.stats.multitest import multipletests

import lcdb
from lcdb import reporting
from lcdb.cli import main
from lcdb.errors import ArgumentError, LabelError, NotBuiltError
from lcdb.reporting.best import rankings
from lcdb.reporting.calls import Made
from lcdb.reporting.document import Code, Figure, Table, Text
from lcdb.reporting.drawing import as_svg
from lcdb.reporting.gather import scope_of
from tests.support.hosts import serving
from tests.support.plausible import rename, set_status, snapshot_of, write_plausible
from tests.support.remote_database import make_database

NAMES = [
    "In short", "What the database holds", "Which learner is best",
    "Good on average, or good on bad days?", "Over all datasets",
    "Where learners overtake each other", "The shape of the curves",
    "How many repetitions a comparison needs", "Are the scores normally distributed?", "Methods",
]  # fmt: skip


@pytest.fixture(scope="module")
def tutorial():
    with lcdb.tutorial() as db:
        yield db


@pytest.fixture(scope="module")
def page(tutorial):
    return lcdb.report(tutorial)


@pytest.fixture(scope="module")
def curves(tutorial):
    return reporting.curves(tutorial)


def section(page, name):
    return next(part for part in page.sections if part.title == name)


def blocks(page, kind, name=None):
    parts = page.sections if name is None else [section(page, name)]
    return [block for part in parts for block in part.blocks if isinstance(block, kind)]


@pytest.mark.server
@pytest.mark.process
@pytest.mark.slow
def test_a_report_has_its_sections(page):
    assert [part.title for part in page.sections] == NAMES
    assert page.title == "Learning curves of balance-scale and iris: accuracy"
    assert "Methods" in repr(page) and page._repr_html_() in page.to_html()


# -- what it says ----------------------------------------------------------------------------------


@pytest.mark.server
@pytest.mark.process
def test_the_best_learner_is_the_one_that_plain_tests_name(page, curves):
    (table,) = blocks(page, Table, "Which learner is best")
    cells = [(key, int(row[1].replace(",", ""))) for row in table.rows
             for key in curves if row[0] == curves[key].attrs["dataset_name"]]  # fmt: skip
    p, best = {}, {}
    for key, n in cells:
        scores = curves[key].sel(n=n)
        means = scores.mean("repetition")
        best[key, n] = str(scores["learner"].values[int(means.values.argmax())])
        for a, b in itertools.combinations(map(str, scores["learner"].values), 2):
            pair = scores.sel(learner=a).values, scores.sel(learner=b).values
            p[key, n, frozenset((a, b))] = scipy_stats.ttest_rel(*pair).pvalue
    corrected = dict(zip(p, multipletests(list(p.values()), method="holm")[1], strict=True))
    for row, (key, n) in zip(table.rows, cells, strict=True):
        assert row[2] == best[key, n]
        open_ = {name for pair, q in corrected.items() if pair[:2] == (key, n) and q > 0.05
                 and row[2] in pair[2] for name in pair[2] - {row[2]}}  # fmt: skip
        assert set(re.findall(r"[A-Z]+", row[6])) == open_, row
        low = curves[key].sel(n=n).quantile(0.05, "repetition")
        assert float(row[7].split("(")[1][:-1]) == pytest.approx(float(low.max()), abs=5e-4)
    alone = sum(row[6] == "none" for row in table.rows)
    assert blocks(page, Text, "Which learner is best")[0].text.startswith(
        f"In {alone} of the {len(table.rows)} rows"
    )


@pytest.mark.server
@pytest.mark.process
def test_numbers_in_sentences_are_those_of_the_tables(page, curves):
    (text,) = (block.text for block in blocks(page, Text, "The shape of the curves"))
    shapes = lcdb.analysis.shape(curves)
    for name, bad, words in (("monotone", 0, "two sizes in {}"), ("peaking", 1, "a peak in {}")):
        count = sum(int((shapes[key][name] == bad).sum()) for key in curves)
        assert words.format(count) in text
    crossed = lcdb.analysis.crossing(curves)
    turns = sum(int((crossed[key]["changes"] > 0).sum()) for key in curves)
    assert (
        f"{turns} of 12 pairs of learners change places" in blocks(page, Text, "In short")[0].text
    )
    (table,) = blocks(page, Table, "Where learners overtake each other")
    assert len(table.rows) == turns
    for row in table.rows:  # who is better later has the better mean at the last size
        last = next(a for a in curves.values() if a.attrs["dataset_name"] == row[0]).isel(n=-1)
        means = last.mean("repetition")
        assert float(means.sel(learner=row[2])) > float(means.sel(learner=row[1]))


@pytest.mark.server
@pytest.mark.process
def test_rates_of_rejection_are_those_of_scipy(page, curves):
    rejected = [
        scipy_stats.shapiro(cell).pvalue < 0.05
        for array in curves.values()
        for cell in array.transpose("learner", "n", "repetition").values.reshape(-1, 200)
    ]
    text = blocks(page, Text, "Are the scores normally distributed?")[0].text
    assert text.startswith(
        f"Of {len(rejected)} cells (dataset, learner, n), Shapiro-Wilk rejects normality at 5 % in "
        f"{100 * np.mean(rejected):.0f} %, with 200 repetitions each"
    )
    rates = reporting.rejection_rates(curves)
    assert float((rates.sel(dataset=61).mean() * 60 + rates.sel(dataset=11).mean() * 20) / 80) \
        == pytest.approx(100 * np.mean(rejected))  # fmt: skip


@pytest.mark.server
@pytest.mark.process
def test_winners_on_bad_days(page, curves):
    (table,) = blocks(page, Table, "Good on average, or good on bad days?")
    iris = curves[61]
    by_mean = iris.mean("repetition").argmax("learner")
    by_quantile = iris.quantile(0.05, "repetition")
    best = by_quantile.max("learner")
    other = (by_quantile.isel(learner=by_mean) < best - 1e-9).values
    assert table.rows[1][1:3] == ("15", f"{100 * other.mean():.0f} %")


# -- the calls that it prints ----------------------------------------------------------------------


@pytest.mark.server
@pytest.mark.process
@pytest.mark.slow
def test_every_call_runs_and_makes_the_figure(page, tutorial):
    namespace = {"db": tutorial}
    (code,) = blocks(page, Code)
    exec(re.sub(r"db = .*", "", code.text), namespace)
    for table in blocks(page, Table):
        assert table.call and eval(table.call, namespace) is not None
    figures = blocks(page, Figure)
    assert len(figures) == 7
    with matplotlib.style.context("default"):
        for figure in figures:
            again = as_svg(Made(figure.call, eval(figure.call, namespace)))
            assert again == figure.svg, figure.call


@pytest.mark.process
def test_the_code_opens_the_database(tmp_path):
    write_plausible(tmp_path / "cubes.nc", snapshot_of("61", "iris", 40), 12)
    with lcdb.open(tmp_path / "cubes.nc") as db:
        text = blocks(lcdb.report(db, metric="brier"), Code)[0].text
    namespace: dict = {}
    exec(text, namespace)
    assert namespace["curves"][61].name == "brier"
    namespace["db"].close()


# -- what it is written as -------------------------------------------------------------------------


class Reader(HTMLParser):
    """Notes elements, identifiers and references of a page; an end without a start is an error."""

    VOID = ("meta", "br", "hr", "img")

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.references, self.tags, self.text = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        self.ids += [values["id"]] if "id" in values else []
        for name, value in values.items():
            if name in ("src", "href", "xlink:href"):
                self.references.append(value)
            self.references += [f"#{i}" for i in re.findall(r"url\(#([^)]*)\)", value or "")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


@pytest.mark.server
@pytest.mark.process
def test_the_page_is_one_file(page):
    reader = read(page.to_html())
    assert len(reader.ids) == len(set(reader.ids)) > 100
    outer = [ref for ref in reader.references if not ref.startswith("data:image/png;base64,")]
    assert {ref[1:] for ref in outer} <= set(reader.ids)
    assert not {"script", "link", "img", "iframe"} & set(reader.tags)
    assert reader.tags.count("svg") == 7 and reader.tags.count("table") == len(blocks(page, Table))


@pytest.mark.process
def test_names_of_strangers_stay_text(tmp_path):
    name = "<script>alert('x')</script>|`a`$x$\x1b[31m"
    (tmp_path / "cubes").mkdir()
    write_plausible(tmp_path / "cubes" / "a.nc", snapshot_of("a", "b", 40), 12)
    rename(tmp_path / "cubes" / "a.nc", name)
    with lcdb.open(tmp_path) as db:
        page = lcdb.report(db)
    reader = read(page.to_html())
    assert "script" not in reader.tags
    assert any("<script>alert('x')</script>|`a`$x$\\x1b[31m" in text for text in reader.text)
    written = page.to_markdown()
    assert "<script>" not in written and "\x1b" not in written
    rows = [line for line in written.splitlines() if line.startswith("| \\<script")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows[:1]}) == 1
    for figure in page.figures:
        assert "<script>" not in figure.svg


@pytest.mark.server
@pytest.mark.process
def test_markdown_has_its_figures_beside_it(page, tmp_path):
    assert page.save(tmp_path / "two words.md") == tmp_path / "two words.md"
    text = (tmp_path / "two words.md").read_text("utf-8")
    links = re.findall(r"\]\((\S+)\)", text)
    assert links == [f"two%20words_files/figure-{i}.svg" for i in range(1, 8)]
    drawings = sorted((tmp_path / "two words_files").iterdir())
    assert [path.read_text("utf-8") for path in drawings] == [f.svg for f in page.figures]
    assert "other/figure-1.svg" in page.to_markdown(figures="other")
    with pytest.raises(ArgumentError, match=r"expected \.html or \.md"):
        page.save(tmp_path / "report.pdf")


# -- parts of databases ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def summaries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("summaries")
    with lcdb.tutorial() as db:
        path = str(db.path)
    assert main(["summarize", path, "--out", str(folder), "--sizes", "all"]) == 0
    return folder


@pytest.mark.server
@pytest.mark.process
def test_summaries_say_what_they_can(page, summaries, tutorial):
    with lcdb.open(summaries) as db:
        brief = lcdb.report(db)
        scope = scope_of(db, "accuracy", {"sampling": None, "split": None, "tuning": None}, None)
        names = [part.title for part in brief.sections]
        assert names == [name for name in NAMES if name != "Over all datasets"]
        for name in NAMES[5:7]:
            assert "open the full cubes" in blocks(brief, Text, name)[0].text
        (needed,) = blocks(brief, Table, NAMES[7])
        for full, part in zip(blocks(page, Table, NAMES[7])[0].rows, needed.rows, strict=True):
            assert part[0] == f"{full[0]} (summary)" and part[1:4] == full[1:4]
            numbers = [row[5].split()[0].replace(",", "") for row in (full, part)]
            assert "open" in numbers or int(numbers[0]) <= int(numbers[1])
        few = sum(row[5] != "open" and int(row[5].split()[0].replace(",", "")) <= 25
                  for row in needed.rows)  # fmt: skip
        said = f"in at least {few} of {len(needed.rows)} comparisons of summaries"
        assert few and said in blocks(brief, Text, "In short")[0].text
        one, other = (blocks(p, Table, "Which learner is best")[0].rows for p in (page, brief))
        for full, part in zip(one, other, strict=True):
            assert part[0] == f"{full[0]} (summary)" and part[1:5] == full[1:5]
            # The tests of a summary settle at most what the pairs settle.
            assert set(part[6].split()) >= set(full[6].split()) - {"none"}
        whole = scope_of(tutorial, "accuracy", scope.labels, None)
        for a, b in zip(rankings(whole), rankings(scope), strict=True):
            assert (b.p >= a.p * (1 - 1e-5) - 1e-300).all()
        same = ["Are the scores normally distributed?", "Good on average, or good on bad days?"]
        for name in same:
            assert [b.rows for b in blocks(page, Table, name)] == [
                b.rows for b in blocks(brief, Table, name)
            ]
        namespace = {"db": db, "curves": reporting.curves(db)}
        for block in (*blocks(brief, Table), *blocks(brief, Figure)):
            assert eval(block.call, {**namespace, "lcdb": lcdb}) is not None


@pytest.mark.slow
def test_the_reference_database_has_its_page():
    """Two scalings of a dataset are one dataset, and the page opens it whoever reads it."""
    with lcdb.reference() as db:
        page = lcdb.report(db, datasets=["iris"], metric="brier", sampling="random")
        ids = {header.id for header in db.headers.values()}
        text = blocks(page, Text, "What the database holds")[0].text
        assert f" and ADAB) on {len(ids)} datasets" in text and len(db.headers) > len(ids)
        assert "none and standard" in text
        names = blocks(page, Text, "What the database holds")[1].text
        assert "LDC, linear discriminant classifier; QDC, quadratic" in names
        (text,) = blocks(page, Text, NAMES[7])
        assert "alone say in none of 2 comparisons" in text.text
        assert "apart" not in blocks(page, Text, "In short")[0].text
        (code,) = blocks(page, Code)
        assert "db = lcdb.reference()\n" in code.text
        namespace: dict = {}
        exec(code.text, namespace)
        assert namespace["curves"][61].sizes["learner"] == 10
        namespace["db"].close()


@pytest.mark.slow
def test_learners_and_datasets_without_values_are_named(tmp_path):
    cubes = tmp_path / "cubes"
    cubes.mkdir()
    write_plausible(cubes / "61.nc", snapshot_of("61", "iris", 40), 12, learners=("LDC", "QDC"))
    write_plausible(cubes / "a.nc", snapshot_of("a", "lone", 30), 12, learners=("MLP",),
                    samplings=("bootstrap",))  # fmt: skip
    labels = {"sampling": "additive", "split": "fixed", "tuning": "default"}
    set_status(cubes / "61.nc", "failed", empty=True, learner="QDC", **labels)
    with lcdb.open(tmp_path, check=False) as db:
        with pytest.raises(
            LabelError, match=r"It holds: additive, bootstrap\. Ask for one of these"
        ):
            lcdb.report(db)
        page = lcdb.report(db, sampling="additive")
        text = "\n".join(b.text for b in blocks(page, Text, "What the database holds"))
        assert "No such curves are there of lone" in text
        alone = lcdb.report(db, sampling="bootstrap")
        assert alone.title == "Learning curves of lone: accuracy"
        assert "Which learner is best" not in [part.title for part in alone.sections]
        with pytest.raises(LabelError, match="tuning 'tuned' is not in"):
            lcdb.report(db, sampling="additive", tuning="tuned")
        with pytest.raises(NotBuiltError, match="no curves of auc, bootstrap"):
            lcdb.report(db, metric="auc", sampling="bootstrap", datasets=["iris"])


def test_experiments_have_no_curves_to_report():
    from lcdb.shipped import experiments

    with experiments() as db, pytest.raises(NotBuiltError, match="no learning curves"):
        lcdb.report(db)


# -- the command -----------------------------------------------------------------------------------


@pytest.mark.server
def test_the_command_writes_a_page_from_a_folder_and_from_a_url(tmp_path, capsys):
    database = make_database(tmp_path / "db")
    options = ["--dataset", "iris", "--metric", "cross_entropy", "--sampling", "random", "--split",
               "fixed", "--tuning", "default"]  # fmt: skip
    with serving(database) as host:
        written = []
        for number, place in enumerate((str(database), host.url)):
            out = tmp_path / f"{number}.md"
            assert main(["report", place, "--out", str(out), *options]) == 0
            assert capsys.readouterr().out.strip() == str(out)
            text = out.read_text("utf-8").replace(f"{number}_files", "FILES")
            written.append(re.sub(r"lcdb.open\(.*\)", "", text))
    assert written[0] == written[1]
    assert "cross-entropy (nats) (small values are good)" in written[0].replace("\\", "")
    assert "test rows are the same in every repetition" in written[0]
    assert main(["report", str(database), "--out", str(tmp_path / "a.txt")]) == 1
    assert "expected .html or .md" in capsys.readouterr().err


@pytest.mark.slow
def test_a_report_is_of_the_curves_that_are_asked_for(tutorial):
    labels = {"sampling": "random", "split": "fixed", "tuning": "default"}
    page = lcdb.report(tutorial, metric="auc", datasets=["iris"], **labels)
    assert page.title == "Learning curves of iris: AUC"
    code = blocks(page, Code)[0].text
    given = ", ".join(f"{k}={v!r}" for k, v in {"metric": "auc", **labels}.items())
    assert f"reporting.curves(db, {given}, datasets=[61])" in code
    (table,) = blocks(page, Table, "Which learner is best")
    last = tutorial.select([61], metric="auc", **labels)[61].sel(n=105).mean("repetition")
    assert table.rows[-1][3].startswith(f"{float(last.max()):.3f} ±")


def test_arguments_of_curves(tutorial):
    (array,) = reporting.curves(
        tutorial, metric="brier", sampling="bootstrap", split="fixed", tuning="default",
        datasets=[61],
    ).values()  # fmt: skip
    expected = tutorial.curve("iris", "NNC", metric="brier", sampling="bootstrap", split="fixed")
    one = array.sel(learner="NNC", drop=True)
    xr.testing.assert_equal(one, expected.dropna("n").drop_vars(["learner", "status"]))
