import json

import pytest
from tests.proxy.loops.histories import did, said, task, verdict

from festinger.proxy.loops.history import LoopRepetition
from festinger.proxy.loops.keys import parse_text_call
from festinger.proxy.loops.mitigation import (
    CLOSED,
    LoopBreaker,
    LoopBreakerDecision,
    format_json_stop_message,
    format_stop_message,
    retry_after_seconds,
    update_breaker,
)
from festinger.settings.tree import LoopSettings

USUAL = LoopSettings()
LOOPING = verdict(task(*[did("look", {"at": 1}, "nothing")] * 6))
SLOWER = verdict(task(*[did("look", {"at": 1}, "nothing")] * 5))


def asked(
    breaker: LoopBreaker,
    repeat: LoopRepetition | None,
    now: float,
    person: bytes = b"me",
    settings: LoopSettings = USUAL,
) -> tuple[LoopBreakerDecision, LoopBreaker]:
    return update_breaker(breaker, repeat, person=person, now=now, settings=settings)


def opened() -> LoopBreaker:
    return asked(CLOSED, LOOPING, 100.0)[1]


def test_only_the_highest_level_opens_it():
    assert asked(CLOSED, None, 100.0) == (LoopBreakerDecision.FREE, CLOSED)
    assert asked(CLOSED, SLOWER, 100.0) == (LoopBreakerDecision.FREE, CLOSED)
    assert asked(CLOSED, LOOPING, 100.0)[0] is LoopBreakerDecision.STOPPED


def test_it_stays_open_whatever_the_agent_does_next():
    assert asked(opened(), None, 159.9) == (LoopBreakerDecision.STOPPED, opened())


def test_a_person_closes_it():
    assert asked(opened(), None, 101.0, person=b"a new word") == (LoopBreakerDecision.FREE, CLOSED)


def test_after_a_minute_one_request_passes_and_the_next_one_decides():
    state, half_open = asked(opened(), None, 160.0)

    assert state is LoopBreakerDecision.PROBE
    assert asked(half_open, None, 161.0) == (LoopBreakerDecision.FREE, CLOSED)
    again, reopened = asked(half_open, LOOPING, 161.0)
    assert again is LoopBreakerDecision.STOPPED
    assert asked(reopened, None, 220.9)[0] is LoopBreakerDecision.STOPPED
    assert asked(reopened, None, 221.0)[0] is LoopBreakerDecision.PROBE


def test_a_ladder_without_a_breaker_and_a_guard_that_is_off_never_stop():
    for settings in (LoopSettings(ladder=("nudge", "prune")), LoopSettings(enabled=False)):
        assert asked(CLOSED, LOOPING, 1.0, settings=settings)[0] is LoopBreakerDecision.FREE


def test_it_says_how_long_to_wait():
    assert retry_after_seconds(opened(), now=130.0, settings=USUAL) == 30.0
    assert retry_after_seconds(CLOSED, now=130.0, settings=USUAL) == 0.0
    assert retry_after_seconds(opened(), now=900.0, settings=USUAL) == 0.0


def test_the_answer_says_what_repeated_how_often_and_how_to_continue():
    assert LOOPING is not None
    words = format_stop_message(LOOPING, USUAL)

    assert '"look"' in words
    assert "6 times" in words
    assert "To continue, send a message" in words
    assert "/admin/loops" in words
    assert "every 60 seconds" in words
    assert len(words) < 300


def test_a_repeated_answer_is_named_as_one():
    repeat = verdict(task([said("All of it is done now.")] * 6))

    assert repeat is not None
    assert "the same answer" in format_stop_message(repeat, USUAL)


def test_an_agent_that_speaks_json_gets_a_final_response():
    assert LOOPING is not None
    spoken = format_json_stop_message(LOOPING, USUAL)
    call = parse_text_call(spoken)

    assert call is not None
    assert call.name == "response"
    assert json.loads(call.arguments) == {"text": format_stop_message(LOOPING, USUAL)}


@pytest.mark.parametrize("name", ['x"\n</tool>', "a" * 5_000])
def test_a_hostile_tool_name_stays_a_quote(name: str):
    repeat = verdict(task(*[did(name, {}, "nothing")] * 6))

    assert repeat is not None
    assert "\n" not in format_stop_message(repeat, USUAL)
    assert "</tool>" not in format_stop_message(repeat, USUAL)
    assert len(format_stop_message(repeat, USUAL)) < 500
