"""A session's loop from request to request."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.loops.histories import SETTINGS, did, framework, person, said, task

from festinger.proxy.loops.history import StepCache
from festinger.proxy.loops.judge import (
    CUTS,
    LoopJudgment,
    LoopState,
    build_request_events,
    judge_request,
    reset_loop,
    update_after_reply,
)
from festinger.proxy.loops.keys import ChatMessage
from festinger.proxy.loops.mitigation import CLOSED, LoopBreakerDecision
from festinger.settings.tree import LoopSettings

LOOK = did("look", {"at": 1}, "nothing")
OTHER = did("ask", {"who": "me"}, "no")


class Session:
    """Requests of one session, one after the other, a second apart."""

    def __init__(self, settings: LoopSettings = SETTINGS) -> None:
        self.loop = LoopState()
        self.keys = StepCache()
        self.settings = settings
        self.now = 0.0
        self.names: list[str] = []

    def asks(self, history: list[ChatMessage], **arrival: Any) -> LoopJudgment:
        self.now += 1
        found = judge_request(self.loop, history, keys=self.keys, now=self.now, settings=self.settings, **arrival)
        self.names += [each.name for each in build_request_events("s", self.loop, found, did=())]
        self.loop = found.loop
        return found

    def level(self, history: list[ChatMessage], **arrival: Any) -> int:
        found = self.asks(history, **arrival)
        return found.repeat.level if found.repeat else 0

    def stopped(self, count: int = 6) -> None:
        for n in range(count + 1):
            last = self.asks(task(*[LOOK] * n))
        assert last.decision is LoopBreakerDecision.STOPPED


@pytest.mark.requirement("P-70")
def test_levels_rise_with_the_repeats_and_the_breaker_opens():
    session = Session()
    levels = [session.level(task(*[LOOK] * n)) for n in range(7)]

    assert levels == [0, 0, 0, 1, 2, 3, 4]
    assert session.names == ["loop_detected"] * 4 + ["breaker_opened"]


@pytest.mark.requirement("P-63")
def test_a_person_who_repeats_the_same_words_has_spoken_again():
    session = Session()
    for n in range(1, 5):
        session.asks(task(*[LOOK] * n))
    history = [*task(*[LOOK] * 4), said("Done."), person()]

    assert session.level(history) == 0
    assert [session.level([*history, *LOOK * n]) for n in (1, 2, 3)] == [0, 0, 1]


@pytest.mark.requirement("P-63")
def test_the_same_word_of_a_person_is_no_news_but_nobody_is_stopped_after_it():
    """Frameworks say `Continue.` in a person's place; a person may say it too."""
    session, history, found = Session(), task(), []
    for _ in range(9):
        history = [*history, *LOOK, said("Shall I go on?"), person("continue")]
        found.append(session.asks(history))

    assert [each.repeat.level if each.repeat else 0 for each in found] == [0, 0, 0, 1, 2, 3, 3, 3, 3]
    assert {each.decision for each in found} == {LoopBreakerDecision.FREE}
    assert session.level([*history, person("Try the other branch.")]) == 0


@pytest.mark.requirement("P-63")
def test_a_person_who_takes_time_to_ask_for_the_same_again_is_no_loop():
    run = [*did("run_tests", {}, "41 tests have passed, none has failed."), said("All of the tests pass now.")]
    patient, hasty = Session(), Session()
    history, levels = task(), []
    for _ in range(8):
        history = [*history, person("Run the tests again."), *run[:2]]
        patient.asks(history), hasty.asks(history)
        history = [*history, run[2], person("Run the tests again.")]
        levels.append((patient.level(history, waited=40.0), hasty.level(history)))

    assert max(level for level, _ in levels) == 0
    assert max(level for _, level in levels) == 3


@pytest.mark.requirement("P-63")
def test_words_that_were_said_before_are_no_news_in_any_order():
    prompts = ("Continue.", "Use a tool, please.", "Go on.")
    session, history, levels = Session(), task(), []
    for n in range(9):
        history = [*history, said("I will now read the file and fix it."), person(prompts[n * 2 % 3])]
        levels.append(session.level(history))

    assert levels[-1] == 3


@pytest.mark.requirement("P-63")
def test_a_person_whose_answer_is_not_heard_says_nothing_new_by_repeating_it():
    replies = ("staging", "As I said: staging", "staging!", "I told you, staging.", "Again: staging", "staging, go on")
    session, history, levels = Session(), task(), []
    for reply in replies:
        history = [*history, said("Which environment should I deploy to?"), person(reply)]
        levels.append(session.level(history))

    assert levels == [0, 0, 0, 1, 2, 3]
    assert session.level([*history, said("Which one?"), person("Deploy to production instead.")]) == 0


@pytest.mark.requirement("P-61")
def test_time_that_passes_between_reply_and_request_is_waiting():
    patient, hasty = Session(), Session()
    poll = did("check_build", {"id": 7}, "The build is running.")
    levels = [
        (patient.level(task(*[poll] * n), waited=30.0), hasty.level(task(*[poll] * n), waited=1.0)) for n in range(7)
    ]

    assert levels[-1] == (0, 4)


@pytest.mark.requirement("P-75")
def test_a_session_that_is_met_in_the_middle_of_a_loop_is_not_stopped_at_once():
    session = Session()

    assert session.asks(task(*[LOOK] * 20)).decision is LoopBreakerDecision.FREE
    assert session.level(task(*[LOOK] * 21)) == 3
    assert [session.level(task(*[LOOK] * n)) for n in range(22, 28)] == [3, 3, 3, 3, 4, 4]


@pytest.mark.requirement("P-60")
def test_a_history_that_slides_is_judged_by_what_it_shows():
    """A client that keeps the number of its messages constant shows new things at the same length."""
    session = Session()
    session.asks(task(*[LOOK] * 3))

    assert session.level(task(*[LOOK] * 2, OTHER)) == 0
    assert session.level(task(*[LOOK] * 3)) == 1


@pytest.mark.requirement("P-62")
def test_a_retry_at_any_level_gets_what_the_first_try_got():
    session = Session()
    for n in range(1, 5):
        session.asks(task(*[LOOK] * n))

    assert [session.level(task(*[LOOK] * 4), retry=n) for n in (1, 2)] == [2, 2]
    assert session.level(task(*[LOOK] * 4)) == 2


@pytest.mark.requirement("P-75")
def test_an_open_breaker_stops_retries_too():
    session = Session()
    session.stopped()

    assert session.asks(task(*[LOOK] * 6), retry=1).decision is LoopBreakerDecision.STOPPED
    assert session.asks([*task(*[LOOK] * 6), *OTHER]).decision is LoopBreakerDecision.STOPPED


@pytest.mark.requirement("P-75")
def test_the_request_that_was_let_through_may_be_sent_again():
    session = Session()
    session.stopped()
    session.now += SETTINGS.breaker_seconds
    history = [*task(*[LOOK] * 6), *OTHER]

    assert session.asks(history).decision is LoopBreakerDecision.PROBE
    assert session.asks(history).decision is LoopBreakerDecision.PROBE
    assert session.asks([*history, *LOOK]).decision is LoopBreakerDecision.FREE
    assert session.names[-1] == "breaker_closed"


@pytest.mark.requirement("P-75")
def test_a_person_closes_the_breaker_even_with_the_same_words():
    session = Session()
    session.stopped()
    history = [*task(*[LOOK] * 6), said("Stopped."), person()]

    assert session.asks(history).decision is LoopBreakerDecision.FREE
    assert session.loop.breaker == CLOSED


@pytest.mark.requirement("P-76")
def test_what_was_pardoned_counts_no_more():
    session = Session()
    session.stopped()
    session.loop = reset_loop(session.loop)

    assert session.asks(task(*[LOOK] * 6)).decision is LoopBreakerDecision.FREE
    assert [session.level(task(*[LOOK] * n)) for n in range(7, 11)] == [0, 0, 1, 2]


@pytest.mark.requirement("P-76")
def test_a_pardon_ends_with_the_task():
    session = Session()
    session.stopped()
    session.loop = reset_loop(session.loop)
    history = [*task(*[LOOK] * 6), said("Well."), person("Another thing.")]
    session.asks(history)

    assert [session.level([*history, *LOOK * n]) for n in (1, 2, 3)] == [0, 0, 1]
    assert session.loop.pardoned == 0


def test_a_noticed_reply_is_one_more_equal_answer():
    quiet, noticed = Session(), Session()
    noticed.loop = update_after_reply(noticed.loop, noticed=True, cut=None)
    history = task(*[[said("I am done with all of it."), framework("Go on.")]] * 2)

    assert (quiet.level(history), noticed.level(history)) == (0, 1)


def test_only_the_latest_cut_replies_are_remembered_each_once():
    loop = LoopState()
    for number in (*range(CUTS + 5), CUTS):
        loop = update_after_reply(loop, noticed=True, cut=b"%d" % number)

    assert len(loop.cuts) == CUTS
    assert loop.cuts[-1] == b"%d" % CUTS
    assert loop.limited
    assert not update_after_reply(loop, noticed=False, cut=None).limited


STEPS = st.sampled_from([LOOK, OTHER, did("third", {}, "x")])


@given(steps=st.lists(STEPS, max_size=12), enabled=st.booleans())
def test_levels_never_depend_on_how_often_a_request_is_sent(steps: list[list[ChatMessage]], enabled: bool):
    settings = LoopSettings(enabled=enabled)
    once, often = Session(settings), Session(settings)
    for n in range(1, len(steps) + 1):
        history = task(*steps[:n])
        level = once.level(history)
        assert [often.level(history) for _ in range(3)] == [level] * 3
    assert once.loop.breaker.opened is None or enabled


@given(steps=st.lists(STEPS, min_size=1, max_size=9))
def test_a_person_always_ends_every_loop(steps: list[list[ChatMessage]]):
    session = Session()
    history = task(*steps)
    for n in range(1, len(steps) + 1):
        session.asks(task(*steps[:n]))
    found = session.asks([*history, said("Well."), person("Another thing, please.")])

    assert (found.repeat, found.decision, found.loop.breaker) == (None, LoopBreakerDecision.FREE, CLOSED)
