"""What is told of loops fits the catalogue of events and holds no words of agents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.loops.histories import did, items, said, task

from festinger.events.catalogue import check_payload, shape_of
from festinger.proxy.loops.actions import Breaker, Passage
from festinger.proxy.loops.history import Repeat, TurnRule
from festinger.proxy.loops.judge import Judged, Loop, key_of, told_of_reply, told_of_request, told_of_reset
from festinger.proxy.loops.stream import Channel, Finding, Heard, Severity, StreamRule

SECRET = "tell nobody about this"
BLOCK = tuple(items(task(did("look", {"at": SECRET}, SECRET))))


def repeat(level: int = 2) -> Repeat:
    return Repeat(rule=TurnRule.SAME_CALL, count=level + 2, level=level, block=BLOCK, evidence=level + 2)


LEVELS = st.none() | st.integers(1, 4).map(repeat)
BREAKERS = st.just(Breaker()) | st.integers(1, 4).map(lambda level: Breaker(opened=1.0, cause=repeat(level)))
LOOPS = st.builds(Loop, standing=LEVELS, breaker=BREAKERS, task=st.integers(0, 2))
FINDINGS = st.lists(
    st.builds(
        Heard,
        channel=st.sampled_from(Channel),
        finding=st.builds(
            Finding,
            rule=st.sampled_from(StreamRule),
            severity=st.sampled_from(Severity),
            count=st.integers(0, 99),
            at=st.integers(0, 9999),
        ),
    ),
    max_size=4,
)


@pytest.mark.requirement("P-76")
@given(before=LOOPS, after=LOOPS, found=FINDINGS)
def test_every_payload_is_what_its_event_promises(before: Loop, after: Loop, found: list[Heard]):
    seen = Judged(loop=after, repeat=after.standing, passage=Passage.FREE)
    told = [
        *told_of_request("s-1", before, seen, did=("nudge", "temperature")),
        *told_of_reset("s-1", before, by="key:ops"),
        *told_of_reply("s-1", found, found[0] if found else None),
    ]

    for each in told:
        check_payload(each.name, shape_of(each.name), each.payload)
        assert SECRET not in str(each.payload)
        assert each.payload["session"] == "s-1"


@pytest.mark.requirement("P-76")
@given(before=LOOPS, after=LOOPS)
def test_steps_up_and_recoveries_are_told_and_nothing_else(before: Loop, after: Loop):
    seen = Judged(loop=after, repeat=after.standing, passage=Passage.FREE)
    names = [each.name for each in told_of_request("s", before, seen, did=())]
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

    assert key_of(here[:1]) == key_of(there[1:])
    assert len({key_of(here), key_of(there), key_of(here[:1]), key_of(answers)}) == 4
