"""Local copies of the ten: taken for OpenML's if they are, refused if they are not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from lcdb_builders import sources
from lcdb_builders.domain import snapshot as store

from lcdb.errors import DatasetError, NotFoundError
from tests.support.frames import written
from tests.support.openml_server import IRIS
from tests.support.snapshots import data_folder

IDS = ("11", "23", "37", "53", "61", "1063", "46597")


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def file_of(id) -> Path:
    """Return OpenML's file of a dataset: iris ships."""
    if str(id) == "61":
        return IRIS
    (path,) = (data_folder() / "openml").glob(f"{id}-*")
    return path


@pytest.mark.parametrize(
    "id", [id if id == "61" else pytest.param(id, marks=pytest.mark.data) for id in IDS]
)
def test_the_copies_are_taken(cache, id):
    entry = sources.expected()[id]
    taken = sources.take_copy(id, file_of(id), cache=cache)
    assert taken.sha256 == entry.sha256
    assert (taken.id, taken.name) == (id, entry.name)
    assert taken.origin["source"] == "local copy"
    assert taken.origin["equals_known_copy"]
    assert taken.origin["openml_id"] == int(id)
    assert taken.origin.get("openml_md5") == (entry.md5 or None)
    if entry.md5:
        assert taken.origin["file"]["md5"] == entry.md5
    assert sources.obtain(id, cache=cache, offline=True).origin == taken.origin
    store.verify(cache / "snapshots", id)


@pytest.mark.data
def test_a_folder_of_copies(cache):
    for id in IDS:
        assert sources.take_copy(id, data_folder() / "openml", cache=cache).id == id


@pytest.mark.parametrize(
    "name",
    [
        "61.arff",
        "iris.arff",
        "dataset_61.arff",
        "61_anything.arff",
        "org/openml/www/datasets/61/dataset.arff",
    ],
)
def test_names_of_files_in_a_folder(cache, tmp_path, name):
    path = tmp_path / "copies" / name
    path.parent.mkdir(parents=True)
    shutil.copy(file_of(61), path)
    (tmp_path / "copies" / "1061.arff").write_text("another dataset")
    (tmp_path / "copies" / "iris.txt").write_text("no dataset")
    assert sources.take_copy(61, tmp_path / "copies", cache=cache).rows == 150


def test_the_arff_file_is_preferred_and_two_are_too_many(cache, tmp_path):
    folder = tmp_path / "copies"
    folder.mkdir()
    with pytest.raises(NotFoundError, match=r"no file for dataset 61 \(iris\).*such as 61\.arff"):
        sources.take_copy(61, folder, cache=cache)
    (folder / "iris.csv").write_text("nonsense")
    shutil.copy(file_of(61), folder / "61.arff")
    assert sources.take_copy(61, folder, cache=cache).rows == 150
    shutil.copy(file_of(61), folder / "iris.arff")
    with pytest.raises(DatasetError, match=r"several files .*61\.arff, iris\.arff.*name one"):
        sources.take_copy(61, folder, cache=cache)


def iris_frame() -> pd.DataFrame:
    snapshot = sources.obtain(61)
    frame = pd.DataFrame(snapshot.X, columns=list(snapshot.feature_names))
    frame["class"] = [snapshot.class_names[code] for code in snapshot.y]
    return frame


def test_other_formats_with_the_same_values_are_taken(cache, tmp_path):
    frame = iris_frame()
    (tmp_path / "iris.parquet").write_bytes(written(frame))
    frame.rename(columns={"class": "species"}).to_csv(tmp_path / "iris.csv", index=False)
    taken = [
        sources.take_copy(61, tmp_path / "iris.parquet", cache=cache),
        sources.take_copy(61, tmp_path / "iris.csv", target="species", cache=cache),
    ]
    assert {one.sha256 for one in taken} == {sources.expected()["61"].sha256}
    assert {one.origin["openml_md5"] for one in taken} == {sources.expected()["61"].md5}


CHANGES = {
    "a row less": (lambda f: f.iloc[1:], "149 rows, expected 150"),
    "a column less": (lambda f: f.drop(columns="petalwidth"), "3 features, expected 4"),
    "two classes": (lambda f: f.replace("Iris-setosa", "Iris-virginica"), "2 classes, expected 3"),
    "one value": (lambda f: f.replace({"petalwidth": {2.3: 2.31}}), "the values differ"),
    "columns in another order": (
        lambda f: f[["sepalwidth", "sepallength", "petallength", "petalwidth", "class"]],
        "rows and columns must be in OpenML's order",
    ),
    "rows in another order": (lambda f: f.sample(frac=1, random_state=1), "the values differ"),
    "classes in another order": (lambda f: f.iloc[::-1], "the values differ"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_anything_else_is_refused(cache, tmp_path, change):
    function, message = CHANGES[change]
    path = tmp_path / "iris.csv"
    function(iris_frame()).to_csv(path, index=False)
    with pytest.raises(DatasetError, match=message) as caught:
        sources.take_copy(61, path, cache=cache)
    assert str(caught.value).startswith(f"dataset 61 (iris), copy {path}: not the dataset")
    assert not cache.exists()


def test_scikit_learn_s_iris_is_not_openml_s(cache, tmp_path):
    from sklearn.datasets import load_iris

    other = load_iris(as_frame=True)
    frame = other.data.assign(**{"class": other.target_names[other.target]})
    frame.to_csv(tmp_path / "iris.csv", index=False)
    with pytest.raises(DatasetError, match="the values differ"):
        sources.take_copy(61, tmp_path / "iris.csv", cache=cache)


@pytest.mark.data
def test_a_copy_whose_typing_may_differ_is_taken_and_told(cache, tmp_path):
    frame = pd.read_csv(file_of(46597))
    frame.iloc[::-1].to_csv(tmp_path / "obesity.csv", index=False)
    taken = sources.take_copy(46597, tmp_path / "obesity.csv", cache=cache)
    assert not taken.origin["equals_known_copy"]


def test_what_cannot_be_checked_or_read_is_refused(cache, tmp_path):
    path = file_of(61)
    with pytest.raises(DatasetError, match=r"nothing is known of dataset 4 .*name of its own"):
        sources.take_copy(4, path, cache=cache)
    with pytest.raises(DatasetError, match=r"dataset 44037 \(rl\): which column .*--target NAME"):
        sources.take_copy(44037, path, cache=cache)
    with pytest.raises(DatasetError, match="no column 'kind'"):
        sources.take_copy(61, path, target="kind", cache=cache)
    with pytest.raises(DatasetError, match="there is no file"):
        sources.take_copy(61, tmp_path / "iris.arff", cache=cache)
    with pytest.raises(DatasetError, match=r"dataset 37 \(diabetes\).*150 rows, expected 768"):
        sources.take_copy(37, path, cache=cache)
    assert not cache.exists()
