"""A loop is seen although the agent shortens its history, and nothing is counted twice."""

from typing import Any

import pytest
from tests.proxy.loops.histories import SETTINGS, SYSTEM, did, framework, person, task

from festinger.proxy.loops.history import Item, StepCache, find_repetition, parse_steps
from festinger.proxy.loops.judge import KEPT, NOTHING, StepHistory, current_task_digest, extend_steps, is_new_state
from festinger.proxy.loops.keys import ChatMessage

LOOK = did("look", {"at": 1}, "nothing")
OTHER = did("ask", {"who": "me"}, "no")


class Session:
    """Requests of one session, one after the other."""

    def __init__(self) -> None:
        self.keys = StepCache()
        self.kept: StepHistory = NOTHING

    def asks(self, history: list[ChatMessage], **arrival: Any) -> int:
        here = parse_steps(history, self.keys)
        who = current_task_digest(history)
        done: list[Item]
        done, _ = extend_steps(self.kept, here, person=who, length=len(history))
        if is_new_state(self.kept, here, length=len(history), **arrival):
            self.kept = StepHistory(person=who, count=len(here), steps=tuple(done[-KEPT:]), length=len(history))
        else:
            done = list(self.kept.steps)
        repeat = find_repetition(done, SETTINGS)
        return repeat.level if repeat else 0


@pytest.mark.requirement("P-60")
def test_a_history_that_was_compacted_goes_on_where_it_was():
    session = Session()
    for count in (1, 2, 3, 4):
        session.asks(task(*[LOOK] * count))
    compacted = [SYSTEM, framework("Summary: it looked around."), *LOOK, *LOOK]

    assert session.asks(compacted) == 3
    assert session.asks([*compacted, *LOOK]) == 4


@pytest.mark.requirement("P-60")
def test_a_summary_in_the_role_of_a_person_does_not_hide_the_loop():
    session = Session()
    for count in (1, 2, 3, 4):
        session.asks(task(*[LOOK] * count))

    assert session.asks([SYSTEM, person("Summary of the work so far."), *LOOK, *LOOK]) == 3


@pytest.mark.requirement("P-60")
def test_after_compaction_another_step_still_recovers():
    session = Session()
    for count in (1, 2, 3, 4):
        session.asks(task(*[LOOK] * count))

    assert session.asks([SYSTEM, framework("Summary."), *LOOK, *OTHER]) == 0


@pytest.mark.requirement("P-63")
def test_a_new_word_of_a_person_is_a_new_task():
    session = Session()
    for count in range(1, 7):
        session.asks(task(*[LOOK] * count))

    assert session.asks([*task(*[LOOK] * 6), person("Stop that.")]) == 0
    assert session.asks([SYSTEM, person("Something new."), *OTHER]) == 0


@pytest.mark.requirement("P-63")
def test_interleaved_sessions_count_apart():
    one, other = Session(), Session()
    levels = [(one.asks(task(*[LOOK] * n)), other.asks(task(*[OTHER] * n))) for n in range(1, 5)]

    assert levels == [(0, 0), (0, 0), (1, 1), (2, 2)]


@pytest.mark.requirement("P-62")
def test_retries_and_resent_requests_change_nothing():
    session = Session()
    for count in (1, 2, 3):
        session.asks(task(*[LOOK] * count))
    kept = session.kept
    longer = task(*[LOOK] * 4)

    assert [session.asks(longer, retry=n) for n in (1, 2, 3)] == [1, 1, 1]
    assert session.asks(longer, failed_before=9.5) == 1
    assert session.asks(task(*[LOOK] * 3)) == 1
    assert session.kept == kept
    assert session.asks(longer, failed_before=10.5) == 2


@pytest.mark.requirement("P-60")
def test_only_the_last_sixty_steps_are_kept():
    session = Session()
    session.asks(task(*(did("look", {"at": n}, "x") for n in range(90))))

    assert len(session.kept.steps) == 60
    assert session.kept.count == 90
