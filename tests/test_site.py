"""The pages of docs/ become a site: each is on it, and nothing on it leads nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import pytest

import lcdb
from tests.support.counts import FULL
from tests.support.explorer_pictures import STATES, take

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PUBLIC = {name for name in lcdb.__all__ if type(getattr(lcdb, name)).__name__ == "module"}
#: Documented, and not an attribute of `lcdb`.
MORE = {"curves", "publishing"}


def entries(page: Path) -> list[str]:
    """Return what the tables of contents of a page list."""
    trees = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    return [line for tree in trees for line in tree.split("\n") if line and line[0] != ":"]


def test_the_pages_that_are_named_are_there():
    *named, rest, reference = entries(DOCS / "index.md")
    assert (rest, reference) == ("*", "api/index")
    assert len(named) == len(set(named)) >= 12
    assert set(named) <= {page.stem for page in DOCS.glob("*.md")}


def test_every_public_module_has_a_page_of_the_reference():
    listed = entries(DOCS / "api" / "index.md")
    assert set(listed) == {"lcdb", *(f"lcdb.{name}" for name in PUBLIC | MORE)}
    assert {page.stem for page in (DOCS / "api").glob("*.md")} == {*listed, "index"}
    for name in listed:
        assert f".. automodule:: {name}\n" in (DOCS / "api" / f"{name}.md").read_text("utf-8")


def test_pictures_are_on_a_page():
    text = "".join(page.read_text("utf-8") for page in DOCS.glob("*.md"))
    for path in (DOCS / "pictures").glob("*.*"):
        assert re.search(rf"pictures/{path.name}[)\n]", text), path.name


def test_pictures_of_the_explorer_are_on_its_page():
    text = (DOCS / "explorer.md").read_text("utf-8")
    shown = re.findall(r"!\[[^\]]{20,}\]\(pictures/explorer/(\w+)\.png\)", text)
    assert shown == list(STATES)
    kept = (DOCS / "pictures" / "explorer").iterdir()
    assert sorted(path.stem for path in kept) == sorted(STATES)


@pytest.mark.browser
@pytest.mark.server
@pytest.mark.process
@pytest.mark.full
@pytest.mark.skipif(not FULL, reason="ten seconds: make explorer-pictures, or LCDB_FULL=1")
def test_pictures_of_the_explorer_are_what_the_command_takes(tmp_path):
    from matplotlib.image import imread

    for path in take(tmp_path):
        drawn, kept = imread(path), imread(DOCS / "pictures" / "explorer" / path.name)
        # Another machine has other fonts.
        assert drawn.shape == kept.shape and abs(drawn - kept).mean() < 0.05 < kept.std(), path


class Page(HTMLParser):
    """The targets and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get("id"):
            self.ids.add(given["id"])
        if tag in ("a", "link", "img", "script"):
            self.targets += [given[key] for key in ("href", "src") if given.get(key)]


@pytest.mark.process
@pytest.mark.full
@pytest.mark.skipif(not FULL, reason="half a minute: make docs, or LCDB_FULL=1")
def test_the_site_is_made_without_a_warning_and_its_links_lead_somewhere(tmp_path):
    pytest.importorskip("sphinx")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "--fail-on-warning", "--keep-going"]
    run = subprocess.run(
        [*command, "--quiet", str(DOCS), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    pages = {path: Page(path) for path in tmp_path.rglob("*.html")}
    menu = pages[tmp_path / "index.html"].targets
    assert {f"{page.stem}.html" for page in DOCS.glob("*.md")} - {"index.html"} <= set(menu)
    for name in ("open", "Database.curve", "analysis.normality", "stats.bootstrap"):
        module, _, _ = name.rpartition(".")
        page = f"lcdb.{module}" if module in PUBLIC else "lcdb"
        assert f"lcdb.{name}" in pages[tmp_path / "api" / f"{page}.html"].ids
    for name in PUBLIC & {"analysis", "plot"}:
        shown = pages[tmp_path / "api" / f"lcdb.{name}.html"].ids
        module = import_module(f"lcdb.{name}")
        functions = [one for one in module.__all__ if callable(getattr(module, one))]
        assert functions and {f"lcdb.{name}.{one}" for one in functions} <= shown
    broken = [
        f"{path.relative_to(tmp_path)}: {target}"
        for path, page in pages.items()
        for target in page.targets
        # A name that two pages document has its anchor on one; viewcode points back at the other.
        if "_modules" not in path.parts
        if not leads_somewhere(path, target, pages)
    ]
    assert broken == []


def leads_somewhere(path: Path, target: str, pages: dict[Path, Page]) -> bool:
    """Return whether a relative link leads to a file of the site, and to an anchor on it."""
    if re.match(r"[a-z]+:", target):
        return True  # elsewhere
    name, _, anchor = target.partition("#")
    file = (path.parent / name.partition("?")[0]).resolve() if name else path
    if not file.is_file():
        return False
    return not anchor or file not in pages or anchor in pages[file].ids
