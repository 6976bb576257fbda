"""What a build says of its workers: that some went away, that none is left, that they are back."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from lcdb_builders.run import engine as module
from lcdb_builders.run.engine import Engine
from lcdb_builders.run.progress import Lines


@pytest.fixture
def tell(monkeypatch):
    """Return what an engine says when it counts so many workers, one second after the other."""

    def said(counts, source="workers to come to the scheduler at tcp://one:1"):
        clock, stream = [100.0], io.StringIO()
        pool = SimpleNamespace(place="there", source=source, threads=lambda: counts[0])
        lines = Lines(stream, interval=1e9)
        lines.begin(cost=1.0, cells=1)
        engine = Engine(pool, *[None] * 4, lines, None, None)
        monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
        while counts:
            engine._room()
            counts.pop(0)
            clock[0] += 1.5
        return stream.getvalue().splitlines()[1:]

    return said


def test_workers_that_go_away_are_counted(tell):
    assert tell([4, 4, 3, 3, 1]) == [
        "lcdb: computing on there",
        "lcdb: 1 of 4 workers went away, 3 left",
        "lcdb: 2 of 3 workers went away, 1 left",
    ]


def test_none_left_says_what_is_waited_for_and_when_they_are_back(tell):
    assert tell([2, 0, 0, 0, 3, 3])[1:] == [
        "lcdb: all 2 workers went away; waiting for workers to come to the scheduler at tcp://one:1",
        "lcdb: 3 workers are there",
    ]


def test_none_to_begin_with_is_told_once_after_a_while(tell):
    lines = tell([0] * 40 + [2])
    assert lines[1:] == [
        "lcdb: no worker is there yet; waiting for workers to come to the scheduler at tcp://one:1",
        "lcdb: 2 workers are there",
    ]
    assert len(tell([0] * 3 + [2])) == 1


def test_local_workers_are_told_of_where_they_are_started_anew(tell):
    assert tell([2, 1, 0, 2], source="") == ["lcdb: computing on there"]
