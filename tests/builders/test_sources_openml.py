"""OpenML's own client against a server on loopback: the good case, and every fault seen so far."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from lcdb_builders.sources import OpenML, expected, openml_child, openml_client
from lcdb_builders.sources.bundled import bundled

from lcdb.errors import DatasetError, FetchError
from tests.oracles import arff as oracle
from tests.support.counts import first
from tests.support.openml_server import Fault, Handler, OpenMLServer, Served, copies

ROWS = "".join(
    f"{i}.5,{'ab'[i % 2]},{'TRUE' if i % 3 else 'FALSE'},{'xyz'[i % 3]}\n" for i in range(12)
)
HEADER = (
    "@relation wine\n@attribute width real\n@attribute colour {b,a}\n"
    "@attribute sweet {TRUE,FALSE}\n@attribute kind {x,y,z}\n@data\n"
)
WINE = Served(9999, "wine", (HEADER + ROWS).encode(), "kind", version=3)


def impatient(server: OpenMLServer, **settings: float) -> OpenML:
    return OpenML(server.api, **{"timeout": 5.0, "retries": 1, **settings})


@pytest.mark.server
@pytest.mark.process
@pytest.mark.parametrize(
    "id", [61, *(pytest.param(id, marks=pytest.mark.data) for id in (11, 23, 37, 53, 1063))]
)
def test_the_ten_arrive_as_they_are(id):
    (served,) = copies(id)
    with OpenMLServer([served]) as server:
        snapshot = impatient(server).fetch(str(id))
    X, y, classes = oracle.read(served.arff.decode().replace("\r\n", "\n"), served.target)
    np.testing.assert_array_equal(snapshot.X, X)
    np.testing.assert_array_equal(snapshot.y, y)
    assert list(snapshot.class_names) == classes
    assert snapshot.X.dtype == np.float64
    origin = snapshot.origin
    assert origin["source"] == "openml"
    assert (origin["openml_id"], origin["openml_version"]) == (id, 1)
    assert origin["openml_md5"] == served.announced_md5
    assert origin["equals_known_copy"]
    assert snapshot.sha256 == expected()[str(id)].sha256
    # The ARFF file and nothing else: no parquet, no features, no qualities.
    assert server.log == [f"/api/v1/xml/data/{id}", f"/data/v1/download/{id}/{served.name}.arff"]


def without_booleans() -> Served:
    """A dataset whose categories the client leaves as texts."""
    return replace(WINE, arff=WINE.arff.replace(b"{TRUE,FALSE}", b"{dry,TRUE,FALSE}"))


@pytest.mark.server
@pytest.mark.process
@pytest.mark.parametrize("id", [9999, pytest.param(23, marks=pytest.mark.data)])
def test_it_is_what_the_client_itself_would_return(id, tmp_path):
    """Against `get_data()` of the client, where its codes are those of the header."""
    served = without_booleans() if id == 9999 else copies(id)[0]
    script = """
        import json, sys, openml
        openml.config.server = sys.argv[1]
        data = openml.datasets.get_dataset(int(sys.argv[2]), download_data=True)
        X, y, nominal, names = data.get_data(target=data.default_target_attribute)
        for name, is_nominal in zip(names, nominal):
            if is_nominal:
                X[name] = X[name].cat.codes
        print(json.dumps([X.to_numpy(float).tolist(), y.cat.codes.tolist(), names]))
    """
    with OpenMLServer([served]) as server:
        settings = impatient(server)
        snapshot = settings.fetch(str(id))
        output = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script), server.api, str(id)],
            env=settings._environment(tmp_path),
            capture_output=True,
            check=True,
        ).stdout
    X, y, names = json.loads(output.splitlines()[-1])
    np.testing.assert_array_equal(snapshot.X, X)
    np.testing.assert_array_equal(snapshot.y, y)
    assert list(snapshot.feature_names) == names


@pytest.mark.server
@pytest.mark.process
def test_an_unlisted_dataset_with_booleans():
    with OpenMLServer([WINE]) as server:
        wine = impatient(server).fetch("9999")
    assert wine.feature_names == ("width", "colour", "sweet")
    # In the header's order: b before a, TRUE before FALSE.
    assert wine.X[:3].tolist() == [[0.5, 1, 1], [1.5, 0, 0], [2.5, 1, 0]]
    assert wine.class_names == ("x", "y", "z")
    assert (wine.name, wine.origin["openml_version"]) == ("wine", 3)
    assert "equals_known_copy" not in wine.origin


@pytest.mark.full
@pytest.mark.server
@pytest.mark.process
def test_the_surroundings_neither_help_nor_hinder(tmp_path, monkeypatch):
    """The child writes nothing but its own folder, and asks loopback servers without a proxy."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    # A module of this name is beside the child, another one is what the client reads ARFF with.
    monkeypatch.chdir(os.path.dirname(openml_child.__file__))
    before = dict(os.environ)
    with OpenMLServer([WINE]) as server:
        assert impatient(server).fetch("9999").rows == 12
    assert os.environ == before
    assert list(home.rglob("*")) == []
    assert list((tmp_path / "temporary").iterdir()) == []


def on_arff(answer: Fault) -> Fault:
    return lambda handler: handler.is_arff and answer(handler)


def html(handler: Handler) -> bool:
    handler.send(503, b"<html><body><h1>Service Unavailable</h1></body></html>", "text/html")
    return True


def portal(handler: Handler) -> bool:
    handler.send(200, b"<html><body>Please <br> log in</body></html>", "text/html")
    return True


def json_error(handler: Handler) -> bool:
    handler.send(404, b'{"error": {"code": "111", "message": "no"}}', "application/json")
    return True


def silence(handler: Handler) -> bool:
    handler.server.outer.released.wait(30)
    return True


def drip(handler: Handler) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    try:
        while not handler.server.outer.released.wait(0.1):
            handler.wfile.write(b"%")
    except OSError:
        pass
    return True


def breaks_off(handler: Handler) -> bool:
    handler.send(200, WINE.arff[:100], "text/plain; charset=utf-8", more=1000)
    handler.close_connection = True
    return True


def cut_short(handler: Handler) -> bool:
    handler.send(200, WINE.arff[:-20], "text/plain; charset=utf-8")
    return True


def other_description(handler: Handler) -> bool:
    if handler.is_arff:
        return False
    described = WINE.description(handler.server.outer.base)
    handler.send(200, described.replace(b"<oml:id>9999", b"<oml:id>1234"))
    return True


def private(handler: Handler) -> bool:
    handler.refuse(412, 112, "No access granted")
    return True


def needs_key(handler: Handler) -> bool:
    handler.refuse(412, 102, "Authentication failed")
    return True


FAULTS = {
    "HTML page with status 503": (html, "is not OpenML's"),
    "login page with status 200": (portal, "is not OpenML's"),
    "JSON error with status 404": (json_error, "is not OpenML's"),
    "never answers": (silence, "did not answer within 0.5 s"),
    "never sends the ARFF file": (on_arff(silence), "did not answer within 0.5 s"),
    "connection breaks off": (on_arff(breaks_off), "broke off|no connection"),
    "ARFF file cut short": (on_arff(cut_short), "another md5 than announced"),
    "describes another dataset": (other_description, "description of dataset 1234"),
    "private dataset": (private, "private"),
    # Variants, at full counts only: each costs a start of the client.
    "HTML page instead of ARFF": (on_arff(html), "is not OpenML's"),
    "login page instead of ARFF": (on_arff(portal), "another md5 than announced"),
    "wants a key": (needs_key, "private"),
}


def assert_one_line_with_advice(error: Exception, id: str) -> None:
    text = str(error)
    assert "\n" not in text
    assert text.startswith(f"dataset {id} ")
    assert f"'lcdb fetch {id} --from FILE'" in text


@pytest.mark.server
@pytest.mark.process
@pytest.mark.parametrize("name", first(FAULTS, 3))
def test_faults_end_in_one_clear_line(name):
    fault, message = FAULTS[name]
    with (
        OpenMLServer([WINE], [fault]) as server,
        pytest.raises(FetchError, match=message) as caught,
    ):
        impatient(server, timeout=0.5 if "never" in name else 5.0).fetch("9999")
    assert_one_line_with_advice(caught.value, "9999")


@pytest.mark.server
@pytest.mark.process
def test_a_server_that_drips_is_left_after_the_deadline():
    with (
        OpenMLServer([WINE], [on_arff(drip)]) as server,
        pytest.raises(FetchError, match="was not done after 3 s") as caught,
    ):
        impatient(server, deadline=3.0).fetch("9999")
    assert_one_line_with_advice(caught.value, "9999")


@pytest.mark.server
@pytest.mark.process
def test_nobody_listens():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: connections are refused
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/api/v1/xml"
        with pytest.raises(FetchError, match=r"no connection to 127\.0\.0\.1") as caught:
            OpenML(address, retries=1).fetch("9999")
    assert_one_line_with_advice(caught.value, "9999")


@pytest.mark.full
@pytest.mark.server
@pytest.mark.process
def test_an_unknown_id():
    with (
        OpenMLServer([WINE]) as server,
        pytest.raises(FetchError, match=r"refuses: Unknown dataset \(code 111\)") as caught,
    ):
        impatient(server).fetch("7")
    assert_one_line_with_advice(caught.value, "7")


@pytest.mark.full
@pytest.mark.server
@pytest.mark.process
def test_a_broken_connection_is_tried_again():
    state = {"left": 1}

    def once(handler: Handler) -> bool:
        state["left"] -= 1
        return state["left"] >= 0 and breaks_off(handler)

    with OpenMLServer([WINE], [on_arff(once)]) as server:
        assert impatient(server, retries=2).fetch("9999").rows == 12
    assert len(server.log) == 3


CONTENTS = {
    "wrong md5": (replace(WINE, md5="0" * 32), FetchError, "another md5 than announced"),
    "no md5": (replace(WINE, md5=""), FetchError, "no md5 is announced"),
    "not ARFF": (replace(WINE, format="CSV"), FetchError, "served as 'CSV', not as ARFF"),
    "no target": (
        replace(WINE, target=None),
        DatasetError,
        "OpenML names 'no column' as its target",
    ),
    "two targets": (replace(WINE, target="kind,sweet"), DatasetError, "expected one column"),
    "a target that is not there": (
        replace(WINE, target="kinds"),
        DatasetError,
        "no column 'kinds' among its 4 columns. Did you mean 'kind'",
    ),
    "other data by a known id": (
        replace(WINE, id=61),
        DatasetError,
        r"dataset 61 \(iris\): not the dataset that is known by this id: 12 rows, expected 150",
    ),
}


@pytest.mark.server
@pytest.mark.process
@pytest.mark.parametrize("name", first(CONTENTS, 2))
def test_contents_that_cannot_be_used(name):
    served, kind, message = CONTENTS[name]
    with OpenMLServer([served]) as server, pytest.raises(kind, match=message) as caught:
        impatient(server).fetch(str(served.id))
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def answer(tmp_path_factory):
    """What the client says of a dataset, file included."""
    folder = tmp_path_factory.mktemp("answer")
    with OpenMLServer([WINE]) as server:
        return impatient(server)._ask("9999", folder)


@pytest.mark.full
@pytest.mark.server
@pytest.mark.process
def test_answers_that_cannot_be_verified(answer):
    assert openml_client._verified("9999", answer) == WINE.arff
    for change, message in (
        ({"md5": None}, "no md5 is announced"),
        ({"md5": "0" * 32}, f"md5 {WINE.announced_md5}, expected 0000"),
        ({"format": "CSV"}, "served as 'CSV', not as ARFF"),
    ):
        with pytest.raises(FetchError, match=message):
            openml_client._verified("9999", {**answer, **change})


@pytest.mark.server
@pytest.mark.process
def test_columns_that_openml_says_to_leave_out(answer):
    for change in (
        {"row_id": "width", "ignore": '"colour",none such'},
        {"row_id": None, "ignore": ["colour", "width"]},
    ):
        part = openml_client._snapshot("9999", {**answer, **change}, WINE.arff, None)
        assert part.feature_names == ("sweet",)
        assert part.origin["dropped_columns"] == ["colour", "width"]
        assert part.X[:3, 0].tolist() == [1, 0, 0]


@pytest.mark.server
@pytest.mark.process
def test_answers_that_cannot_be_converted(answer):
    assert openml_client._snapshot("9999", answer, WINE.arff, None).rows == 12
    for change, arff, message in (
        ({"target": None}, WINE.arff, "OpenML names 'no column' as its target; expected one"),
        ({"target": "kind,sweet"}, WINE.arff, "OpenML names 'kind,sweet' as its target"),
        ({"target": "width"}, WINE.arff, "target 'width' is numeric.*not a regression target"),
        ({}, WINE.arff + b"1,2\n", "malformed ARFF, line 19: 2 values for 4 declared columns"),
        ({}, WINE.arff + b"\xe9,a,TRUE,x\n", "line 19 is not utf-8 text"),
    ):
        with pytest.raises(DatasetError, match=message):
            openml_client._snapshot("9999", {**answer, **change}, arff, None)


@pytest.mark.server
@pytest.mark.process
def test_one_changed_value_of_a_known_dataset_is_refused():
    (served,) = copies(61)
    changed = replace(served, arff=served.arff.replace(b"5.1,3.5,1.4,0.2", b"5.1,3.5,1.4,0.3", 1))
    with (
        OpenMLServer([changed]) as server,
        pytest.raises(DatasetError, match="N, d and K agree but the values differ"),
    ):
        impatient(server).fetch("61")
    assert bundled("61").sha256 == expected()["61"].sha256


def test_settings_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("LCDB_OPENML_SERVER", "http://mirror/api/v1/xml")
    monkeypatch.setenv("LCDB_OPENML_TIMEOUT", "7.5")
    settings = OpenML.from_environment()
    assert (settings.server, settings.timeout, settings.deadline) == (
        "http://mirror/api/v1/xml",
        7.5,
        OpenML().deadline,
    )
    for wrong in ("soon", "-1", "0", "inf", "nan"):
        monkeypatch.setenv("LCDB_OPENML_TIMEOUT", wrong)
        with pytest.raises(FetchError, match=r"LCDB_OPENML_TIMEOUT is .*; expected a number"):
            OpenML.from_environment()
