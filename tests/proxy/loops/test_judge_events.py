"""What is told of loops fits the catalogue of events and holds no words of agents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.loops.histories import did, items, said, task

from festinger.events.catalogue import check_payload, find_schema
from festinger.proxy.loops.history import LoopRepetition, RepetitionRule
from festinger.proxy.loops.judge import (
    LoopJudgment,
    LoopState,
    build_reply_events,
    build_request_events,
    build_reset_events,
    repetition_hash,
)
from festinger.proxy.loops.mitigation import LoopBreaker, LoopBreakerDecision
from festinger.proxy.loops.stream import ChannelFinding, ReplyChannel, StreamFinding, StreamRule, StreamSeverity

SECRET = "tell nobody about this"
BLOCK = tuple(items(task(did("look", {"at": SECRET}, SECRET))))


def repeat(level: int = 2) -> LoopRepetition:
    return LoopRepetition(rule=RepetitionRule.SAME_CALL, count=level + 2, level=level, block=BLOCK, evidence=level + 2)


LEVELS = st.none() | st.integers(1, 4).map(repeat)
BREAKERS = st.just(LoopBreaker()) | st.integers(1, 4).map(lambda level: LoopBreaker(opened=1.0, cause=repeat(level)))
LOOPS = st.builds(LoopState, standing=LEVELS, breaker=BREAKERS, task=st.integers(0, 2))
FINDINGS = st.lists(
    st.builds(
        ChannelFinding,
        channel=st.sampled_from(ReplyChannel),
        finding=st.builds(
            StreamFinding,
            rule=st.sampled_from(StreamRule),
            severity=st.sampled_from(StreamSeverity),
            count=st.integers(0, 99),
            at=st.integers(0, 9999),
        ),
    ),
    max_size=4,
)


@pytest.mark.requirement("P-76")
@given(before=LOOPS, after=LOOPS, found=FINDINGS)
def test_every_payload_is_what_its_event_promises(before: LoopState, after: LoopState, found: list[ChannelFinding]):
    seen = LoopJudgment(loop=after, repeat=after.standing, decision=LoopBreakerDecision.FREE)
    told = [
        *build_request_events("s-1", before, seen, did=("nudge", "temperature")),
        *build_reset_events("s-1", before, by="key:ops"),
        *build_reply_events("s-1", found, found[0] if found else None),
    ]

    for each in told:
        check_payload(each.name, find_schema(each.name), each.payload)
        assert SECRET not in str(each.payload)
        assert each.payload["session"] == "s-1"


@pytest.mark.requirement("P-76")
@given(before=LOOPS, after=LOOPS)
def test_steps_up_and_recoveries_are_told_and_nothing_else(before: LoopState, after: LoopState):
    seen = LoopJudgment(loop=after, repeat=after.standing, decision=LoopBreakerDecision.FREE)
    names = [each.name for each in build_request_events("s", before, seen, did=())]
    low, high = (loop.standing.level if loop.standing else 0 for loop in (before, after))

    assert ("loop_detected" in names) is (high > low)
    assert ("loop_recovered" in names) is (low > 0 and high == 0)
    was, now = before.breaker.opened is not None, after.breaker.opened is not None
    assert ("breaker_opened" in names) is (now and not was)
    assert ("breaker_closed" in names) is (was and not now)


def test_the_same_thing_has_the_same_key_wherever_it_repeats():
    here = items(task(did("look", {"at": 1}, "nothing"), did("ask", {}, "no")))
    there = items(task(did("ask", {}, "no"), did("look", {"at": 1}, "nothing")))
    answers = items(task([said("I am done.")]))

    assert repetition_hash(here[:1]) == repetition_hash(there[1:])
    assert (
        len({repetition_hash(here), repetition_hash(there), repetition_hash(here[:1]), repetition_hash(answers)}) == 4
    )
