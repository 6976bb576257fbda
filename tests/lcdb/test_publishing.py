"""What goes to a host beside a database: valid, the same twice, and only text where text is."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import urllib.request
from datetime import date
from pathlib import Path

import pytest
import yaml
from lcdb_builders.storage.indexes import index_database
from markdown_it import MarkdownIt

import lcdb
from lcdb import shipped
from lcdb.cli import main
from lcdb.errors import ArgumentError, DamagedError, NotFoundError, StaleError, StorageError
from lcdb.publishing import publish
from lcdb.publishing.metadata import CREATOR
from lcdb.publishing.responsible import DEFAULTS
from tests.support.hosts import serving
from tests.support.plausible import rename, snapshot_of, write_plausible

URL = "https://example.org/db"
FILES = [
    "CITATION.cff",
    "LICENSE",
    "README.md",
    "SHA256SUMS",
    "croissant.json",
    "datacite.json",
    "ro-crate-metadata.json",
]
HOSTILE = (
    "</script><script>alert('1')</script> \"q\" `c` |p| **b** [l](javascript:x) \x1b[31m\n# h ﷐ é"
)
LONG = "<b>" + "x" * 10_000

GIVEN = """
title = "Curves of <two> tables"
description = "First line.\\n\\nSecond: line."
version = "2.1.0"
date = 2026-05-04
publisher = "An archive"
license = "MIT"
license_url = "https://example.org/licence"
license_file = "licence.txt"
doi = "10.5281/zenodo.1234"
keywords = ["one", "two: three", "one"]
citation = "@misc{us, title={Ours}}"

[[creators]]
given_names = "Ada"
family_names = "O'Neil & Co"
orcid = "0000-0002-1825-0097"
affiliation = "A \\"university\\""

[[creators]]
name = "A group"

[rai]
dataBiases = ["ours"]
dataSocialImpact = "small"
"""


@pytest.fixture(scope="session")
def tutorial() -> Path:
    with lcdb.tutorial() as db:
        return db.path


def read(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text("utf-8"))


def by_type(crate: dict, kind: str) -> list[dict]:
    return [one for one in crate["@graph"] if one["@type"] == kind]


def bodies(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- what readers of the formats say ---------------------------------------------------------------

VALIDATE = """
import json, sys
import mlcroissant
for path in sys.argv[1:]:
    dataset = mlcroissant.Dataset(path)
    issues = dataset.metadata.ctx.issues
    assert not issues.errors and not issues.warnings, issues.report()
    rows = [{k: v.decode() if isinstance(v, bytes) else v for k, v in row.items()}
            for row in dataset.records("datasets")]
    print(json.dumps(rows))
"""


@pytest.mark.server
@pytest.mark.process
def test_mlcroissant_reads_it_without_a_warning(tutorial, database_folder, tmp_path):
    """In a process of its own: what it says at its start is to be seen, and its imports warn."""
    pytest.importorskip("mlcroissant")
    hostile = hostile_database(tmp_path / "hostile")
    given = tmp_path / "given.toml"
    given.write_text(GIVEN)
    (tmp_path / "licence.txt").write_text("free")
    publish(tutorial, URL, tmp_path / "a")
    publish(hostile, "s3://bucket/db", tmp_path / "b")
    publish(database_folder, URL, tmp_path / "c", given)
    paths = [str(tmp_path / name / "croissant.json") for name in "abc"]
    run = subprocess.run(
        [sys.executable, "-c", VALIDATE, *paths], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "WARNING" not in run.stderr and "ERROR" not in run.stderr
    first, second, third = map(json.loads, run.stdout.splitlines())
    assert [row["datasets/name"] for row in first] == ["balance-scale", "iris"]
    assert [row["datasets/rows"] for row in first] == [625, 150]
    assert second[0]["datasets/name"].startswith("</script><script>alert('1')")
    assert [row["datasets/file"] for row in third] == [
        "cubes/61.nc", "cubes/1063.nc", "cubes/mine.nc"
    ]  # fmt: skip


@pytest.mark.server
@pytest.mark.process
def test_every_digest_is_that_of_what_the_host_serves_and_the_readme_opens_it(copy, tmp_path):
    (copy / "cubes" / "61.nc.more.json").write_text("[]")
    index_database(copy)
    with serving(copy.parent) as host:
        made = publish(copy, f"{host.url}/copy/", tmp_path / "out")
        files = read(tmp_path / "out", "croissant.json")["distribution"]
        served = [(one["contentUrl"], one["sha256"], one["contentSize"]) for one in files]
        for address, digest, size in served:
            with urllib.request.urlopen(address, timeout=20) as answer:
                body = answer.read()
            assert hashlib.sha256(body).hexdigest() == digest
            assert size == f"{len(body)} B"
        page = (tmp_path / "out" / "README.md").read_text("utf-8")
        (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        names: dict = {}
        exec(code, names)
        with names["db"] as remote, lcdb.open(copy) as local:
            assert remote.curve("iris", "LDC").identical(local.curve("iris", "LDC"))
    assert made.is_indexed
    assert [one["@id"] for one in files] == [
        "index.json", "cubes/1063.nc", "cubes/61.nc", "cubes/mine.nc", "cubes/1063.nc.index.json",
        "cubes/61.nc.index.json", "cubes/61.nc.more.json", "cubes/mine.nc.index.json",
    ]  # fmt: skip
    parts = by_type(read(tmp_path / "out", "ro-crate-metadata.json"), "File")
    assert served == [
        (one["@id"], one["sha256"], f"{one['contentSize']} B") for one in parts if "sha256" in one
    ]


@pytest.mark.server
def test_a_host_without_folders_has_the_whole_database(tutorial, tmp_path, capsys):
    """As Zenodo: a record is a list of files, and an address below a file is none."""
    source, flat = shutil.copytree(tutorial, tmp_path / "db"), tmp_path / "flat"
    index_database(source)
    assert main(["publish", str(source), "--url", URL, "--out", str(flat), "--flat"]) == 0
    names = sorted(path.name for path in flat.iterdir())
    assert {"cubes-61.nc", "cubes-61.nc.index.json", "index.json", "manifest-61.json"} <= {*names}
    assert all(path.is_file() for path in flat.iterdir())
    listed = [Path(line).name for line in capsys.readouterr().out.splitlines() if str(flat) in line]
    assert sorted(listed) == names
    again = publish(source, URL, tmp_path / "again", flat=True)
    assert sorted(path.name for path in again.files) == names
    assert all(path.is_file() for path in again.files)
    sums = (flat / "SHA256SUMS").read_text().splitlines()
    assert {line.split("  ")[1]: line.split("  ")[0] for line in sums} == {
        name: sha256(flat / name) for name in names if name != "SHA256SUMS"
    }
    urls = {one["contentUrl"] for one in read(flat, "croissant.json")["distribution"]
            if "contentUrl" in one}  # fmt: skip
    assert f"{URL}/cubes-61.nc" in urls and not any("cubes/" in url for url in urls)
    with serving(flat) as host, lcdb.open(host.url) as db, lcdb.open(source) as local:
        assert list(db) == list(local)
        assert db["iris"].identical(local["iris"])
        assert db.curve("iris", "LDC").identical(local.curve("iris", "LDC"))
        assert all(path.count("/") == 1 for path, _ in host.requests)
        with lcdb.open(f"{host.url}/cubes-61.nc") as one:
            assert one["iris"].identical(local["iris"])
        assert main(["pull", host.url, str(tmp_path / "copy"), "--dataset", "iris"]) == 0
    copied = tmp_path / "copy" / "cubes" / "61.nc"
    assert copied.read_bytes() == (source / "cubes" / "61.nc").read_bytes()


@pytest.mark.process
def test_addresses_are_quoted(copy, tmp_path):
    (copy / "cubes" / "é #%.json").write_text("[]")
    publish(copy, URL, tmp_path)
    (file,) = (
        one for one in read(tmp_path, "croissant.json")["distribution"] if one["@id"][6] == "é"
    )
    assert file["contentUrl"] == f"{URL}/cubes/%C3%A9%20%23%25.json"


@pytest.mark.process
def test_an_index_of_other_cubes_is_refused(copy, tmp_path, capsys):
    command = ["publish", str(copy), "--url", URL, "--out", str(tmp_path / "out")]
    assert main(command) == 0
    assert f"has no index of cubes: run 'lcdb index {copy}'" in capsys.readouterr().out
    index_database(copy)
    assert main(command) == 0
    assert "no index" not in capsys.readouterr().out
    rename(copy / "cubes" / "61.nc", "another")
    with pytest.raises(StaleError, match=r"another cubes/61\.nc than there is"):
        publish(copy, URL, tmp_path / "out")
    index_database(copy)
    (copy / "cubes" / "1063.nc").unlink()
    with pytest.raises(StaleError, match=r"another cubes/1063\.nc than"):
        publish(copy, URL, tmp_path / "out")


def test_the_sums_are_of_all_files_laid_together(tutorial, tmp_path):
    publish(tutorial, URL, tmp_path)
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    told = dict(reversed(line.split("  ", 1)) for line in lines)
    shutil.copytree(tutorial, tmp_path, dirs_exist_ok=True)
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert set(told) == files | {"LICENSE"}
    assert told == {name: sha256(tmp_path / name) for name in told}


@pytest.mark.process
def test_only_what_is_published_is_listed(copy, tmp_path):
    for name in ("snapshots/61.npz", "blocks/a.json", "cubes/61.nc.damaged-1", "cubes/.61.nc"):
        (copy / name).parent.mkdir(exist_ok=True)
        (copy / name).write_text("not to be published")
    publish(copy, URL, tmp_path / "out")
    files = read(tmp_path / "out", "croissant.json")["distribution"]
    assert [one["@id"] for one in files] == ["cubes/1063.nc", "cubes/61.nc", "cubes/mine.nc"]


# -- the same twice --------------------------------------------------------------------------------


def test_twice_is_the_same_bytes_wherever_the_database_is(tutorial, tmp_path):
    publish(tutorial, URL, tmp_path / "a")
    first = bodies(tmp_path / "a")
    assert sorted(first) == FILES
    (tmp_path / "a" / "mine.txt").write_text("kept")
    publish(tutorial, f"{URL}/", tmp_path / "a")
    assert bodies(tmp_path / "a") == {**first, "mine.txt": b"kept"}
    shutil.copytree(tutorial, tmp_path / "moved", copy_function=shutil.copyfile)
    made = publish(str(tmp_path / "moved"), URL, str(tmp_path / "new" / "folder"))
    assert bodies(tmp_path / "new" / "folder") == first
    assert sorted(path.name for path in made.files) == FILES


# -- what people give ------------------------------------------------------------------------------


def test_defaults_are_stated(tutorial, tmp_path, capsys):
    assert main(["publish", str(tutorial), "--url", URL, "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "  license = 'CC-BY-4.0'" in said
    assert "  title = 'Learning curves as distributions: balance-scale, iris'" in said
    assert "  date = 2026-" in said and "(the manifests)" in said
    assert f"  creators = '{CREATOR}'" in said
    assert all(name in said for name in DEFAULTS)
    manifest = json.loads((tutorial / "manifest" / "61.json").read_text())
    written = manifest["current"]["written"]["at"][:10]
    croissant = read(tmp_path, "croissant.json")
    assert croissant["datePublished"] == written
    assert croissant["rai:dataImputationProtocol"].startswith("0 missing cells")
    assert "48 complete" in croissant["rai:dataCollectionMissingData"]
    assert "OpenML 61, 150 rows" in croissant["rai:dataCollectionRawData"]


def test_the_default_creator_is_that_of_the_project():
    cited = yaml.safe_load((Path(__file__).parents[2] / "CITATION.cff").read_text("utf-8"))
    assert [author["name"] for author in cited["authors"]] == [CREATOR]
    (ships,) = [one for one in cited["references"] if one["type"] == "database"]
    with lcdb.reference() as db:
        assert ships["version"] == json.loads((db.path / "release.json").read_text())["version"]


def test_what_is_given_is_said_everywhere(tutorial, tmp_path, capsys):
    (tmp_path / "licence.txt").write_text("Do what you like.\n")
    (tmp_path / "given.toml").write_text(GIVEN)
    out = tmp_path / "out"
    command = ["publish", str(tutorial), "--url", URL, "--out", str(out)]
    assert main([*command, "--metadata", str(tmp_path / "given.toml")]) == 0
    said = capsys.readouterr().out
    assert "title" not in said and "dataBiases" not in said and "dataUseCases" in said
    croissant = read(out, "croissant.json")
    assert croissant["name"] == "Curves of <two> tables"
    assert croissant["version"] == "2.1.0" and croissant["datePublished"] == "2026-05-04"
    assert croissant["license"] == "https://example.org/licence"
    assert croissant["citeAs"] == "@misc{us, title={Ours}}"
    assert croissant["keywords"] == ["one", "two: three"]
    assert croissant["rai:dataBiases"] == ["ours"]
    assert croissant["rai:dataSocialImpact"] == "small"
    assert croissant["sameAs"] == "https://doi.org/10.5281/zenodo.1234"
    assert [one["@type"] for one in croissant["creator"]] == ["sc:Person", "sc:Organization"]
    cite = read(out, "datacite.json")
    assert cite["doi"] == "10.5281/zenodo.1234" and cite["publisher"] == {"name": "An archive"}
    assert cite["creators"][0]["name"] == "O'Neil & Co, Ada"
    assert cite["creators"][0]["affiliation"] == [{"name": 'A "university"'}]
    assert cite["publicationYear"] == "2026"
    cff = yaml.safe_load((out / "CITATION.cff").read_text("utf-8"))
    assert cff["authors"][0] == {
        "family-names": "O'Neil & Co", "given-names": "Ada", "affiliation": 'A "university"',
        "orcid": "https://orcid.org/0000-0002-1825-0097",
    }  # fmt: skip
    assert cff["authors"][1] == {"name": "A group"}
    assert cff["license"] == "MIT" and cff["abstract"] == "First line.\n\nSecond: line."
    assert (out / "LICENSE").read_text() == "Do what you like.\n"
    crate = read(out, "ro-crate-metadata.json")
    assert by_type(crate, "Person")[0]["@id"] == "https://orcid.org/0000-0002-1825-0097"
    assert by_type(crate, "Dataset")[0]["identifier"].endswith("zenodo.1234")
    page = MarkdownIt().enable("table").render((out / "README.md").read_text("utf-8"))
    assert "<h1>Curves of &lt;two&gt; tables</h1>" in page
    assert f"lcdb.open(&quot;{URL}&quot;)" in page


def test_the_citation_is_bibtex_with_names_and_year(tutorial, tmp_path):
    (tmp_path / "m.toml").write_text(GIVEN.replace("citation", "# citation"))
    (tmp_path / "licence.txt").write_text("free")
    made = publish(tutorial, URL, tmp_path / "out", tmp_path / "m.toml")
    assert not {"title", "creators"} & set(made.defaults)
    assert read(tmp_path / "out", "croissant.json")["citeAs"] == (
        "@misc{lcdb2026, title = {{Curves of <two> tables}}, "
        "author = {O'Neil \\& Co, Ada and {A group}}, publisher = {An archive}, year = {2026}, "
        "version = {2.1.0}, doi = {10.5281/zenodo.1234}}"
    )


@pytest.mark.process
def test_a_database_without_manifests_is_dated_by_its_files(database_folder, tmp_path):
    made = publish(database_folder, URL, tmp_path)
    assert made.defaults["date"].endswith("(when the cubes' files were changed last)")
    assert date.fromisoformat(read(tmp_path, "croissant.json")["datePublished"])
    raw = read(tmp_path, "croissant.json")["rai:dataCollectionRawData"]
    assert "my table (50 rows" in raw and "kc2 (OpenML 1063, 40 rows" in raw


@pytest.mark.process
def test_summaries_alone_are_published(tutorial, tmp_path):
    assert main(["summarize", str(tutorial), "--dataset", "iris", "--out", str(tmp_path)]) == 0
    made = publish(tmp_path, URL, tmp_path.parent / "published")
    assert not made.is_indexed
    croissant = read(tmp_path.parent / "published", "croissant.json")
    assert [one["@id"] for one in croissant["distribution"]] == ["summaries/61.nc"]
    assert "statistics of the scores" in croissant["description"]
    (row,) = croissant["recordSet"][0]["data"]
    assert row["datasets/name"] == "iris" and row["datasets/complete_curves"] == 24


@pytest.mark.process
def test_experiments_alone_are_published(tmp_path):
    with shipped.experiments() as db:
        made = publish(db.path, "s3://bucket/db", tmp_path)
    assert made.defaults["title"] == (
        "'Learning curves as distributions: dse, pendulum' (from the cubes' datasets)"
    )
    assert "- dse: 5 learners" in (tmp_path / "README.md").read_text("utf-8")
    croissant = read(tmp_path, "croissant.json")
    assert "recordSet" not in croissant
    assert "lifetimes/pendulum.nc" in {one["@id"] for one in croissant["distribution"]}
    assert "url" not in yaml.safe_load((tmp_path / "CITATION.cff").read_text("utf-8"))


# -- names that strangers gave ---------------------------------------------------------------------


def hostile_database(folder: Path) -> Path:
    (folder / "cubes").mkdir(parents=True)
    learners = ("LDC", HOSTILE, LONG)
    for id, name in (("61", HOSTILE), ("62", LONG)):
        path = folder / "cubes" / f"{id}.nc"
        write_plausible(path, snapshot_of(id, "iris", 30), 3, learners=learners)
        rename(path, name)
    return folder


@pytest.mark.process
def test_hostile_names_show_as_text(tmp_path):
    publish(hostile_database(tmp_path / "db"), URL, tmp_path / "out")
    visible = HOSTILE.replace("\x1b", r"\x1b").replace("\n", r"\n").replace("\ufdd0", r"\ufdd0")
    for name in FILES:
        text = (tmp_path / "out" / name).read_text("utf-8")
        assert all(sign.isprintable() or sign == "\n" for sign in text), name
        if name.endswith(".json"):
            assert "<" not in text  # nothing ends a script element that it may stand in
    croissant = read(tmp_path / "out", "croissant.json")
    assert croissant["recordSet"][0]["data"][0]["datasets/name"] == visible
    assert len(croissant["recordSet"][0]["data"][1]["datasets/name"]) == 1000
    assert LONG in croissant["rai:dataCollectionRawData"]
    assert yaml.safe_load((tmp_path / "out" / "CITATION.cff").read_text("utf-8"))["title"]
    readme = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert len(readme) < 5000
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(readme)
    for element in ("<script", "<b>", "<strong>", 'javascript:x"', "<h1>h"):
        assert element not in page
    assert page.count("<tr>") == 3 and page.count("<td") == 16
    assert "&lt;script&gt;alert('1')" in page


# -- what is wrong ---------------------------------------------------------------------------------


def test_a_damaged_cube_is_not_published(tutorial, tmp_path):
    copy = shutil.copytree(tutorial, tmp_path / "db", copy_function=shutil.copyfile)
    body = bytearray((copy / "cubes" / "61.nc").read_bytes())
    body[len(body) // 2] ^= 1
    (copy / "cubes" / "61.nc").write_bytes(body)
    with pytest.raises(DamagedError, match=r"61\.nc"):
        publish(copy, URL, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("example.org/db", "no address"),
        ("https://example.org/db?token=1", "no address"),
        ('https://example.org/"x', "no address"),
        ("https://example.org/a b", "no address"),
        ("https://me:secret@example.org/db", "would be published"),
        ("https:///db", "names no host"),
        ("https://[::1/db", "Invalid IPv6"),
    ],
)
def test_addresses_that_are_none(tutorial, tmp_path, url, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        publish(tutorial, url, tmp_path / "out")
    assert "https://example.org/db" in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("titel = 'x'", "did you mean 'title'"),
        ("title = ''", "title is ''; expected a text"),
        ("title = 3", "title is 3; expected a text"),
        ("title", "is not a TOML file"),
        ("version = '1'", "version is '1'; expected one such as '1.0.0'"),
        ("doi = 'https://doi.org/10.1/x'", "doi is"),
        ("date = 'May'", "date is 'May'; expected a day"),
        ("date = 2026-05-04T10:00:00", "date is"),
        ("license = 'C C'", "license is 'C C'"),
        ("license_url = 'x'", "license_url is 'x'"),
        ("keywords = 'x'", "keywords is 'x'"),
        ("creators = 'x'", "creators is not a list"),
        ("creators = []", "creators is not a list"),
        ("[[creators]]\norcid = '0000-0002-1825-0097'", "lacks a name"),
        ("[[creators]]\ngiven_names = 'A'\nname = 'A'", "lacks a name"),
        ("[[creators]]\nname = 'A'\norcid = '1'", "orcid is '1'"),
        ("[[creators]]\nnam = 'A'", "did you mean 'name'"),
        ("rai = 1", "rai is 1"),
        ("[rai]\ndataBias = 'x'", "did you mean 'dataBiases'"),
        ("[rai]\ndataBiases = [1]", "rai.dataBiases is 1"),
    ],
)
def test_metadata_that_cannot_be_meant(tutorial, tmp_path, text, message):
    (tmp_path / "m.toml").write_text(text)
    with pytest.raises(ArgumentError) as caught:
        publish(tutorial, URL, tmp_path / "out", tmp_path / "m.toml")
    assert message.lower() in str(caught.value).lower()
    assert not (tmp_path / "out").exists()


def test_what_is_not_there(tutorial, tmp_path):
    with pytest.raises(NotFoundError, match="a TOML file"):
        publish(tutorial, URL, tmp_path / "out", tmp_path / "none.toml")
    (tmp_path / "m.toml").write_text("license_file = 'none.txt'")
    with pytest.raises(NotFoundError, match="text of the licence"):
        publish(tutorial, URL, tmp_path / "out", tmp_path / "m.toml")
    (tmp_path / "none.txt").write_bytes(b"\xff")
    with pytest.raises(NotFoundError, match="in UTF-8"):
        publish(tutorial, URL, tmp_path / "out", tmp_path / "m.toml")
    with pytest.raises(NotFoundError, match="is one file; expected a database directory"):
        publish(tutorial / "cubes" / "61.nc", URL, tmp_path / "out")
    with pytest.raises(NotFoundError):
        publish(tmp_path / "nothing", URL, tmp_path / "out")


@pytest.mark.process
def test_where_nothing_can_be_written(tutorial, copy, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="could not be written"):
        publish(tutorial, URL, tmp_path / "file")
    with pytest.raises(ArgumentError, match="holds nothing but the database"):
        publish(copy, URL, copy / "out")
    (copy / "manifest").mkdir(exist_ok=True)
    (copy / "manifest" / "a\nb.json").write_text("{}")
    with pytest.raises(ArgumentError, match="no control characters"):
        publish(copy, URL, tmp_path / "out")


@pytest.mark.process
@pytest.mark.parametrize(
    ("version", "expected"), [("1.0", "1.0.0"), ("2.1.3", "2.1.3"), ("spring", "1.0.0")]
)
def test_a_release_is_published_under_its_title_and_version(tutorial, tmp_path, version, expected):
    root = tmp_path / "release"
    options = ["--sizes", "3", "--dataset", "61", "--release", version, "--title", "Two <b>"]
    assert main(["summarize", str(tutorial), "--out", str(root), *options]) == 0
    made = publish(root, URL, tmp_path / "out")
    described = read(tmp_path / "out", "datacite.json")
    assert described["titles"] == [{"title": "Two <b>"}] and described["version"] == expected
    assert made.defaults["title"] == "'Two <b>' (of the release)"
    sums = (tmp_path / "out" / "SHA256SUMS").read_text().splitlines()
    digest = hashlib.sha256((root / "release.json").read_bytes()).hexdigest()
    assert f"{digest}  release.json" in sums
