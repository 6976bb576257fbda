"""What the page asks a host for, and what it says of one that does wrong."""

from __future__ import annotations

import json

import pytest

from tests.support.hosts import answer

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.server]


def test_a_distribution_is_one_range_and_its_index_is_read_once(shown, host):
    host.forget()
    shown.go("view=cell&dataset=61&one=LDC&n=50&metric=auc")
    paths = [path.removeprefix("/some/where/") for path, _ in host.requests]
    assert paths == ["data/61/1-1-0-auc.tests.bin", "cubes/61.nc.index.json", "cubes/61.nc"]
    assert "Range" in host.headers[-1] and "Range" not in host.headers[0]
    host.forget()
    shown.go("view=cell&dataset=61&one=QDC&n=50&metric=auc")
    assert [path.rpartition("/")[2] for path, _ in host.requests] == ["61.nc"]
    host.forget()
    shown.go("view=curves&dataset=61&one=QDC&n=50&metric=auc")
    assert [path.rpartition("/")[2] for path, _ in host.requests] == ["1-1-0-auc.curves.bin"]


def test_the_first_curve_needs_little(page, host):
    host.fault = None
    page.run("location.href = 'about:blank'")
    host.forget()
    page.open(f"{host.url}/some/where/index.html")
    data = [size for path, size in host.requests if path.endswith((".bin", "site.json"))]
    assert len(data) == 2 and sum(data) < 250_000
    assert host.bytes < 400_000 and page.complaints() == []


def refuse_ranges(handler, path, data, span) -> bool:
    return span is not None and answer(handler, 200, data)


def flip(handler, path, data, span) -> bool:
    if span is None:
        return False
    first, last = span
    part = bytearray(data[first : last + 1])
    part[len(part) // 2] ^= 1
    return answer(handler, 206, bytes(part), Content_Range=f"bytes {first}-{last}/{len(data)}")


def shorten(handler, path, data, span) -> bool:
    return span is not None and answer(handler, 206, data[span[0] : span[1]])


def of_another_cube(handler, path, data, span) -> bool:
    if not path.endswith(".nc.index.json"):
        return False
    index = json.loads(data)
    index["header"]["sha256"] = "0" * 64
    return answer(handler, 200, json.dumps(index).encode())


def gone(handler, path, data, span) -> bool:
    return ".nc" in path and answer(handler, 404)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (refuse_ranges, "ignores ranges"),
        (flip, "is not what its index describes"),
        (shorten, "was cut off"),
        (of_another_cube, "was replaced since"),
        (gone, "answers 404"),
    ],
)
def test_what_a_host_does_wrong_is_told_and_draws_nothing(page, host, fault, told):
    host.fault = fault
    page.open(f"{host.url}/some/where/index.html#view=cell&dataset=61&one=LDC&n=50")
    assert told in page.text("#reading .why")
    assert page.run("return document.querySelectorAll('#charts svg').length") == 0
    assert len(page.rows()) >= 9  # what is known without the cube is there
    host.fault = None
    page.go("view=cell&dataset=61&one=LDC&n=40")
    assert page.run("return document.querySelectorAll('#charts svg').length") == 2
    page.complaints()  # the browser's own lines about what the host answered


def test_a_page_without_its_data_says_so(page, host):
    def broken(handler, path, data, span) -> bool:
        return path.endswith(".bin") and answer(handler, 503)

    host.fault = broken
    page.driver.get("about:blank")
    page.driver.get(f"{host.url}/some/where/index.html#metric=brier")
    page.wait_for_text("#charts", "the host answers 503")
    host.fault = None
    page.complaints()
    page.go("metric=auc")
    assert page.text("#title").startswith("AUC of")
