"""Work beside the requests waits for a quiet moment, but not for ever."""

import asyncio

import pytest

from festinger.jobs import backpressure
from festinger.jobs.backpressure import LONGEST_SECONDS, QUIET_SECONDS, IdleGate


class Time:
    """A stopwatch that goes on by what is slept; a request may come at each look."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.requests_left = 0
        self.courtesy = IdleGate(lambda: self.now)
        monkeypatch.setattr(backpressure, "asyncio", self)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.requests_left:
            self.requests_left -= 1
            serve(self.courtesy)


def serve(courtesy: IdleGate) -> None:
    with courtesy.serving():
        pass


def test_without_requests_work_begins_at_once(monkeypatch: pytest.MonkeyPatch):
    time = Time(monkeypatch)

    asyncio.run(time.courtesy.turn())

    assert time.now == 100.0


def test_work_waits_until_no_request_came_for_a_moment(monkeypatch: pytest.MonkeyPatch):
    time = Time(monkeypatch)
    time.requests_left = 3
    serve(time.courtesy)

    asyncio.run(time.courtesy.turn())

    assert time.now == pytest.approx(100.0 + 4 * QUIET_SECONDS)


def test_work_waits_while_a_request_is_served(monkeypatch: pytest.MonkeyPatch):
    time = Time(monkeypatch)

    with time.courtesy.serving():
        asyncio.run(time.courtesy.turn(longest=5 * QUIET_SECONDS))

    assert time.now == pytest.approx(100.0 + 5 * QUIET_SECONDS)


def test_work_begins_after_a_while_even_if_requests_never_stop(monkeypatch: pytest.MonkeyPatch):
    time = Time(monkeypatch)
    time.requests_left = 10**6
    serve(time.courtesy)

    asyncio.run(time.courtesy.turn())

    assert time.now == pytest.approx(100.0 + LONGEST_SECONDS)


def test_a_stopwatch_that_stands_still_holds_nothing_up(monkeypatch: pytest.MonkeyPatch):
    time = Time(monkeypatch)
    waiting = IdleGate(lambda: 0.0)
    serve(waiting)

    asyncio.run(waiting.turn())

    assert time.now == pytest.approx(100.0 + LONGEST_SECONDS)
