"""A Chromium, and the tutorial's site on a host."""

from __future__ import annotations

from pathlib import Path

import pytest

import lcdb
from lcdb.site import write_site
from tests.support.browser import chromium
from tests.support.hosts import serving


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    """The tutorial's site in a subfolder of a static server."""
    root = tmp_path_factory.mktemp("host")
    list(write_site(lcdb.tutorial().path, root / "some" / "where"))
    with serving(root) as served:
        yield served


@pytest.fixture
def shown(page, host):
    """The page on its first figure; at the end nothing may be on the console."""
    host.fault = None
    host.forget()
    page.complaints()
    page.open(f"{host.url}/some/where/index.html")
    yield page
    assert page.complaints() == []


@pytest.fixture
def elsewhere(page, tmp_path):
    """Return what shows a database of the test's own, and gives the address of its site."""
    running = []

    def show(database: Path, state: str = "", **options: str) -> str:
        list(write_site(database, tmp_path / "host" / "site", **options))
        context = serving(tmp_path / "host")
        running.append(context)
        url = f"{context.__enter__().url}/site/index.html"
        page.open(f"{url}{state}")
        return url

    yield show
    for context in running:
        context.__exit__(None, None, None)
