"""Summaries: what they say of cells, and that tables of them are those of their cubes."""

from __future__ import annotations

import hashlib
import shutil
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from scipy import stats as scipy_stats
from statsmodels.stats.power import TTestPower

import lcdb
from lcdb import analysis
from lcdb.cli import main
from lcdb.errors import ArgumentError, LabelError, SchemaError, StorageError, SummaryError
from lcdb.schema import METRICS, validate
from lcdb.summaries.describe import on_its_side, rounded
from lcdb.summaries.layout import NAMED, PROBABILITIES
from lcdb.summaries.make import summarize
from lcdb.summaries.sizes import chosen_sizes
from lcdb.tables import NAMES, tables
from tests.support.counts import counts


@pytest.fixture(scope="module")
def shipped():
    with lcdb.tutorial() as db:
        yield db


@pytest.fixture(scope="module")
def folder(shipped, tmp_path_factory):
    folder = tmp_path_factory.mktemp("summaries")
    assert [path.name for path in summarize(shipped, folder, sizes="log:5")] == ["11.nc", "61.nc"]
    return folder


@pytest.fixture(scope="module")
def small(folder):
    with lcdb.open(folder) as db:
        yield db


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize("name", NAMES)
def test_every_table_is_that_of_the_cubes_whatever_sizes_are_kept(name, shipped, small):
    assert repr(tables(small, [name])) == repr(tables(shipped, [name]))


@pytest.mark.process
def test_each_cell_by_scipy(shipped, small):
    summary = small["iris"]
    draw = np.random.default_rng(counts(3, 4))
    for metric in METRICS:
        for _ in range(counts(5, 50)):
            unit = {dim: str(draw.choice(summary[dim])) for dim in ("learner", "sampling", "split")}
            n = int(draw.choice(summary["n"]))
            x = shipped.curve("iris", **unit, metric=metric).sel(n=n).values
            cell = summary.sel(**unit, tuning="default", metric=metric, n=n)
            x = x[~np.isnan(x)]
            assert cell["count"] == len(x)
            if not len(x) or np.ptp(x) < 1e-6:
                assert bool(cell["constant"]) == bool(len(x))
                continue
            assert cell["mean"].item() == pytest.approx(x.mean(), rel=1e-12)
            assert cell["sd"].item() == pytest.approx(x.std(ddof=1), rel=1e-6)
            assert cell["minimum"].item() == pytest.approx(x.min(), rel=1e-6)
            assert cell["maximum"].item() == pytest.approx(x.max(), rel=1e-6)
            assert cell["skewness"].item() == pytest.approx(scipy_stats.skew(x), rel=1e-4, abs=1e-4)
            assert cell["excess_kurtosis"].item() == pytest.approx(
                scipy_stats.kurtosis(x), rel=1e-4, abs=1e-4
            )
            w, p = scipy_stats.shapiro(x)
            assert cell["shapiro_w"].item() == pytest.approx(w, abs=1e-6)
            assert cell["shapiro_p"].item() == pytest.approx(p, rel=1e-3, abs=1e-12)
            assert cell["dagostino_p"].item() == pytest.approx(
                scipy_stats.normaltest(x).pvalue, rel=2e-3, abs=1e-12
            )
            exact = np.quantile(x, PROBABILITIES)
            np.testing.assert_allclose(cell["quantile"].values, exact, rtol=5e-4)
            named = np.isin(PROBABILITIES, NAMED)
            np.testing.assert_allclose(cell["quantile"].values[named], exact[named], rtol=1e-7)


@pytest.mark.process
@pytest.mark.parametrize(
    ("metric", "seen"),
    [("accuracy", {"constant", "non_gaussian"}), ("brier", {"gaussian", "non_gaussian"})],
)
def test_paired_differences(metric, seen, shipped, small):
    """Of accuracies as whole numbers."""
    summary = small["iris"]
    labels = {"sampling": "additive", "split": "varying", "tuning": "default"}
    codes = summary["pair_normality"].sel(**labels, metric=metric)
    scores = shipped.select("iris", **labels, metric=metric)[61].sel(n=summary["n"])
    rows = shipped["iris"]["n_test"].sel(sampling="additive", split="varying", n=summary["n"])
    scores = (scores * rows).round() if metric == "accuracy" else scores
    right = scores.transpose("learner", "n", "repetition").values
    meanings = codes.attrs["flag_meanings"].split()
    told = dict(zip(codes.attrs["flag_values"].tolist(), meanings, strict=True))
    assert [str(name) for name in codes["pair"].values] == [
        f"{a} - {b}" for a, b in combinations(scores["learner"].values, 2)
    ]
    kinds = set()
    for (i, j), pair in zip(combinations(range(len(right)), 2), codes["pair"].values, strict=True):
        for k, n in enumerate(summary["n"].values):
            difference = right[i, k] - right[j, k]
            kind = told[int(codes.sel(pair=pair, n=n))]
            kinds.add(kind)
            if np.isnan(difference).all():
                assert kind == "absent"
            elif np.ptp(difference) == 0:
                assert kind == "constant"
            else:
                rejected = scipy_stats.shapiro(difference).pvalue < 0.05
                assert kind == ("non_gaussian" if rejected else "gaussian")
    assert seen <= kinds


@pytest.mark.process
def test_a_summary_keeps_the_contract_and_says_what_it_sums_up(shipped, small):
    summary = small["iris"]
    validate(summary)
    content = shipped.headers[61].path.read_bytes()
    assert summary.attrs["cube_sha256"] == hashlib.sha256(content).hexdigest()
    assert summary.attrs["repetitions"] == shipped.headers[61].repetitions
    for name in ("dataset_id", "plan_sha256", "n_rows", "dataset_sha256"):
        assert summary.attrs[name] == shipped["iris"].attrs[name]
    for name in ("status", "learner_params"):
        xr.testing.assert_identical(summary[name], shipped["iris"][name])
    assert small.status().equals(shipped.status())
    with pytest.raises(SchemaError, match="'mean' is missing"):
        validate(summary.drop_vars("mean"))
    with pytest.raises(SchemaError, match="sizes_are_some_of_1_to_m"):
        validate(summary.assign_coords(n=summary["n"] + 1000))


@pytest.mark.slow
def test_the_same_cube_gives_the_same_bytes(shipped, folder, tmp_path):
    again = list(summarize(shipped, tmp_path / "one.nc", sizes="log:5", datasets=["iris"]))
    assert again == [tmp_path / "one.nc"]
    assert again[0].read_bytes() == (folder / "summaries" / "61.nc").read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["one.nc"]


@pytest.mark.process
def test_plain_xarray_reads_it(folder, small):
    with xr.open_dataset(folder / "summaries" / "61.nc", engine="h5netcdf") as plain:
        xr.testing.assert_equal(plain.load(), small["iris"].drop_vars("draws").load())


LABELS = {"sampling": "random", "split": "varying", "tuning": "default"}


@pytest.mark.process
@pytest.mark.parametrize("metric", ["accuracy", "brier"])
def test_analyses_of_a_summary_are_those_of_the_scores(metric, shipped, small):
    summary = small["iris"].sel(**LABELS)
    one = summary.sel(metric=metric)
    scores = shipped.select("iris", **LABELS, metric=metric)[61].sel(n=summary["n"])
    n_test = shipped["iris"]["n_test"].sel(sampling="random", split="varying", n=summary["n"])
    draws = n_test if metric == "accuracy" else None
    for name, arguments, tolerance in (
        ("summary", {"quantiles": [0.95, 0.5]}, 1e-3),
        ("normality", {"n_test": draws, "simulations": 99}, 2e-3),
        ("quantile_curve", {"quantiles": [0.05, 0.95], "confidence": 0.9}, 1e-6),
        ("rank_change", {"quantile": 0.05, "width": 1.0, "direction": "minimize"}, 1e-12),
        ("top_k_change", {"quantile": 0.95, "width": 1.5, "k": 2}, 1e-12),
    ):
        function = getattr(analysis, name)
        ours, theirs = function(one, **arguments), function(scores, **arguments)
        if isinstance(ours, xr.DataArray):
            ours, theirs = ours.to_dataset(name="x"), theirs.to_dataset(name="x")
        for variable in ours.data_vars:
            expected = theirs[variable].drop_vars(["status", "fraction"], errors="ignore")
            assert ours[variable].dims == expected.dims
            found, wanted = ours[variable].values.astype(float), expected.values.astype(float)
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
        if name in ("normality", "top_k_change"):
            assert set(ours) >= {"normality": {"non_gaussian"}, "top_k_change": {"set"}}[name]
        every = function(summary, **arguments).sel(metric=metric, drop=True)
        alone = function(one, **arguments).drop_vars("metric")
        if isinstance(alone, xr.Dataset):
            every = every[list(alone)]  # brier has no lattice, which several metrics have
        assert every.equals(alone)


@pytest.mark.process
def test_repetitions_from_a_summary_are_the_most_that_it_takes(shipped, small):
    """Of the largest spread that differences may have: the two standard deviations together."""
    options = {"power": 0.7, "alpha": 0.1, "confidence": 0.9}
    summary = small["iris"].sel(**LABELS, metric="brier")
    found = analysis.repetitions_for(summary, **options)
    scores = shipped.select("iris", **LABELS, metric="brier")[61].sel(n=summary["n"])
    exact = analysis.repetitions_for(scores, **options)
    assert (found["first"].values == exact["first"].values).all()
    there = found["repetitions"].notnull().transpose(*exact["repetitions"].dims)
    assert there.any() and (there == exact["repetitions"].notnull()).all()
    for name in ("repetitions", "repetitions_high"):
        assert (found[name] >= exact[name]).where(there, True).all()
    assert (found["repetitions"] > exact["repetitions"]).any()
    cell = found.isel(pair=0).sel(n=summary["n"][2])
    sides = [
        summary.sel(learner=str(cell[side].values), n=cell["n"]) for side in ("first", "second")
    ]
    mean = float(sides[0]["mean"] - sides[1]["mean"])
    sd = float(sides[0]["sd"]) + float(sides[1]["sd"])
    needed = TTestPower().solve_power(abs(mean) / sd, power=0.7, alpha=0.1)
    assert cell["repetitions"] == np.ceil(needed) and float(cell["effect"]) == pytest.approx(
        mean / sd
    )
    low, high = scipy_stats.t.interval(0.9, 199, mean, sd / np.sqrt(200))
    for end, name in ((high, "low"), (low, "high")) if mean > 0 else ((low, "low"), (high, "high")):
        needed = TTestPower().solve_power(abs(end) / sd, power=0.7, alpha=0.1)
        assert cell[f"repetitions_{name}"] == np.ceil(needed)


@pytest.mark.process
def test_repetitions_of_two_parts_and_of_several_metrics(small):
    summary = small["iris"].sel(**LABELS).sel(n=20, method="nearest")
    every = analysis.repetitions_for({61: summary.rename(learner="method")}, dim="method")[61]
    a, b = (summary.sel(learner=name) for name in ("QDC", "LDC"))
    alone = analysis.repetitions_for(a, b)
    assert (alone.attrs["first"], alone.attrs["second"]) == ("QDC", "LDC")
    assert alone.attrs["dataset_name"] == "iris"
    pairs = [
        {str(x), str(y)} for x, y in zip(every["first"].values, every["second"].values, strict=True)
    ]
    expected = every["repetitions"].isel(pair=pairs.index({"QDC", "LDC"}))
    np.testing.assert_array_equal(alone["repetitions"], expected)
    text = analysis.in_words(alone.sel(metric="accuracy"))
    assert text.startswith("On iris, at most ") and " repetitions (" in text
    unsure = analysis.repetitions_for(a, a).sel(metric="accuracy")
    assert "means and spreads alone do not settle" in analysis.in_words(unsure)
    with pytest.raises(ArgumentError, match="second argument is a DataArray; expected a part of a"):
        analysis.repetitions_for(a, a["mean"])
    with pytest.raises(LabelError, match="expected learner"):
        analysis.repetitions_for(a)
    with pytest.raises(ArgumentError, match="power is 80"):
        analysis.repetitions_for(summary, power=80)


@pytest.mark.process
def test_what_a_summary_does_not_know(small):
    summary = small["iris"].sel(**LABELS, metric="auc")
    with pytest.raises(SummaryError, match=r"dominance takes .* of iris \(61\) .*full cube"):
        analysis.dominance(summary)
    with pytest.raises(LabelError, match=r"no quantile 0\.07; it has 0\.005"):
        analysis.quantile_curve(summary, 0.07)
    with pytest.raises(LabelError, match="no dim learner"):
        analysis.rank_change(summary.isel(learner=0))


@pytest.mark.process
def test_what_takes_repetitions_names_the_cube(small):
    for ask in (lambda: small.curve("iris", "LDC"), lambda: small.select("iris")):
        with pytest.raises(SummaryError, match=r"iris \(61\) is here as a summary .*full cube"):
            ask()
    with pytest.raises(SummaryError, match="full cube"):
        tables(small, ["1"], ["duplicate_seeds"])
    with pytest.raises(SummaryError, match="full cube"):
        list(summarize(small, "nowhere"))


@pytest.mark.process
def test_a_directory_of_both(database_folder, tmp_path):
    """A summary stands for a cube that is not there, and not for one that is."""
    both = shutil.copytree(database_folder, tmp_path / "both")
    with lcdb.open(both) as db:
        list(summarize(db, both))
    (both / "cubes" / "mine.nc").unlink()
    with lcdb.open(both, check=True, chunks="auto") as db:
        assert {key: header.kind for key, header in db.headers.items()} == {
            61: "curves",
            1063: "curves",
            "mine": "summary",
        }
        assert "(summary)" in repr(db) and "(summary)" in db._repr_html_()
        assert db.curve(61, "LDC").sizes["repetition"] == 5
        assert db["mine"]["mean"].chunks is not None
        assert tables(db, ["1", "6", "7", "text"])


@pytest.mark.process
def test_the_command(shipped, tmp_path, capsys):
    source = str(shipped.path)
    arguments = ["--out", str(tmp_path), "--sizes", "log:2"]
    assert main(["summarize", source, *arguments]) == 0
    assert "summaries/11.nc" in capsys.readouterr().out.replace("\\", "/")
    one = str(tmp_path / "one.nc")
    assert main(["summarize", source, "--out", one, "--dataset", "iris", "--sizes", "all"]) == 0
    assert main(["info", one]) == 0
    assert "(summary)" in capsys.readouterr().out
    with lcdb.open(one) as db, lcdb.open(tmp_path) as more:
        assert list(db) == [61] and more[11]["n"].values.tolist() == [10, 437]
    assert main(["summarize", source, "--out", one]) == 1
    assert "there are 2 datasets" in capsys.readouterr().err


@pytest.mark.process
def test_a_cube_is_not_overwritten_by_its_summary(database_folder, tmp_path):
    cube = shutil.copy(database_folder / "cubes" / "61.nc", tmp_path / "61.nc")
    with lcdb.open(cube) as db, pytest.raises(ArgumentError, match="the cube itself"):
        list(summarize(db, cube))


@pytest.mark.slow
def test_a_folder_that_cannot_be_written(shipped, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="could not be written"):
        list(summarize(shipped, tmp_path / "file" / "x.nc", sizes="5", datasets=["iris"]))


@pytest.mark.parametrize(
    ("text", "sizes", "expected"),
    [
        ("all", [1, 5, 9], [1, 5, 9]),
        ("log:3", range(1, 101), [1, 10, 100]),
        ("log:1000", [2, 3, 90], [2, 3, 90]),
        ("log:1", [4], [4]),
        ("9,1", [1, 5, 9], [1, 9]),
    ],
)
def test_sizes(text, sizes, expected):
    assert chosen_sizes(text, np.array(sizes)).tolist() == expected


@pytest.mark.parametrize("text", ["log:0", "log:", "some", "1,,2", "-1", "١", ""])
def test_sizes_that_say_nothing(text):
    with pytest.raises(ArgumentError, match="expected 'all'"):
        chosen_sizes(text, np.arange(1, 9))


def test_a_size_that_was_not_computed():
    with pytest.raises(ArgumentError, match="size 4 was not computed"):
        chosen_sizes("4", np.array([1, 5]))


def test_shortened_p_values_stay_on_their_side():
    draw = np.random.default_rng(1)
    p = np.concatenate([0.05 + draw.normal(0, 1e-6, 500), draw.random(500), [0.05, np.nan]])
    short = on_its_side(rounded(p, 10), p)
    assert np.array_equal(short < 0.05, p < 0.05)
    assert np.array_equal(np.isnan(short), np.isnan(p))
    np.testing.assert_allclose(short, p, rtol=1e-3)
