"""What would be thought of an edge if some had never spoken?"""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import MONDAY

from festinger.ids import AgentId, Cause, Origin, SessionId
from festinger.world.edge_statements import corroborate_edge, is_independent_evidence
from festinger.world.model import ADMITTED, EdgeSource, NoteOutcome, UrdEdge
from festinger.world.replay import (
    EdgeCreation,
    QuarantineVote,
    RecordedEdgeOutcome,
    StatementWithCause,
    find_admitting_vote,
    keep_untraced_movement,
    replay_edge,
    select_effective_causes,
)

EDGE = UrdEdge(id=1, parent_id=2, dim_id=3, is_isa=True, confidence=0.6, last_confirmed=MONDAY, created_at=MONDAY)
STATED = EdgeCreation(edge=EDGE, at=MONDAY, reason="stated")
DECIDED = EdgeCreation(edge=EDGE._replace(source="festinger", confidence=0.7), at=MONDAY, reason="update")


def hour(number: int) -> datetime:
    return MONDAY + timedelta(hours=number)


def heard(number: int, origin: Origin = Origin.PERSON, **more: Any) -> StatementWithCause:
    said: dict[str, Any] = {"is_isa": True, "confidence": 0.65, "source": EdgeSource.INFERRED} | more
    return StatementWithCause(cause=_cause(number, origin), at=hour(number), last_at=hour(number), **said)


def vote(number: int, text: str, **more: Any) -> QuarantineVote:
    return QuarantineVote(cause=_cause(number, Origin.TOOL, **more), text=text, at=hour(number))


def _cause(number: int, origin: Origin, session: str | None = None) -> Cause:
    own = SessionId(session or f"s{number}")
    day = (MONDAY + timedelta(days=number)).date()
    return Cause(agent=AgentId("a"), session=own, day=day, origin=origin)


VOICES = st.lists(
    st.builds(
        heard,
        st.integers(0, 50),
        st.sampled_from((Origin.PERSON, Origin.MODEL)),
        confidence=st.sampled_from((0.5, 0.65, 1.0)),
        source=st.sampled_from((EdgeSource.INFERRED, EdgeSource.GUTASK)),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda voice: voice.at,
)


@given(VOICES)
def test_an_edge_is_what_the_first_said_moved_by_each_of_the_others_in_order_of_time(voices: list[StatementWithCause]):
    first, *others = sorted(voices, key=lambda voice: voice.at)

    told = replay_edge(STATED, voices, (), is_believed=False)

    expected = replay_edge(STATED, [first], (), is_believed=False)
    for each in others:
        expected = corroborate_edge(expected, each, is_new=True)
    assert told == expected._replace(last_confirmed=max(voice.at for voice in voices))
    assert (told.created_at, told.evidence_count) == (first.at, sum(map(is_independent_evidence, others)))


def test_what_was_decided_begins_as_it_was_decided_unless_something_before_it_is_taken_back():
    assert DECIDED.is_believed([hour(1)], is_kept=True)
    assert not DECIDED.is_believed([hour(0)], is_kept=True)
    assert not STATED.is_believed([], is_kept=True)
    assert STATED.is_believed([hour(1)], is_kept=False)
    assert replay_edge(DECIDED, [heard(0)], (), is_believed=True).confidence == 0.7


def test_a_call_of_a_model_that_read_several_sessions_has_one_voice():
    written = [heard(0, writing="p"), heard(2, Origin.MODEL, writing="q")]
    twice = [*written, *(StatementWithCause(**_fields(each) | {"cause": _cause(9, each.origin)}) for each in written)]

    assert replay_edge(STATED, twice, (), is_believed=False) == replay_edge(STATED, written, (), is_believed=False)


def _fields(voice: StatementWithCause) -> dict[str, Any]:
    return {name: getattr(voice, name) for name in StatementWithCause.__slots__}


def test_inferred_outcomes_move_an_edge_by_their_span_at_most_until_somebody_speaks():
    inferred = [
        RecordedEdgeOutcome(at=hour(n), outcome=NoteOutcome.CONTRADICTED, is_explicit=False, moved=-0.1, weight=0.25)
        for n in range(1, 9)
    ]

    told = replay_edge(STATED, [heard(0, confidence=0.9)], inferred, is_believed=False)
    after_words = replay_edge(STATED, [heard(0, confidence=0.9), heard(5)], inferred, is_believed=False)

    assert round(told.confidence, 6) == 0.8
    assert after_words.confidence < told.confidence + 0.1
    assert told.last_confirmed == hour(0)


def test_what_left_no_trace_is_carried_over_and_what_did_is_not():
    told, without = EDGE._replace(confidence=0.8, evidence_count=3), EDGE._replace(evidence_count=1)

    assert keep_untraced_movement(told, told, without) == without
    moved = keep_untraced_movement(told._replace(confidence=0.9, evidence_count=4), told, without)
    assert (round(moved.confidence, 6), moved.evidence_count) == (0.7, 2)


def test_enough_votes_are_of_three_causes_two_sessions_two_texts_and_two_days():
    votes = [vote(1, "p"), vote(2, "p"), vote(3, "p"), vote(4, "q")]

    assert find_admitting_vote(votes, min_causes=3) == votes[3]
    assert find_admitting_vote(votes[:3], min_causes=3) is None
    assert find_admitting_vote([votes[3], votes[0]], min_causes=3) is None
    assert find_admitting_vote([vote(4, "r"), vote(1, "p"), vote(2, "q")], min_causes=3) == vote(4, "r")


def test_texts_make_an_edge_only_where_enough_of_them_say_it_or_somebody_vouches():
    read = [heard(number, Origin.TOOL, is_read=True) for number in (1, 2, 3, 5)]
    votes = [vote(1, "p"), vote(2, "q"), vote(3, "r")]
    stated = heard(4, Origin.TOOL)

    assert select_effective_causes(read, votes[:2], min_causes=3) == []
    admitted, *rest = select_effective_causes(read, votes, min_causes=3)
    assert (admitted.at, admitted.confidence, admitted.from_quarantine) == (hour(3), ADMITTED, True)
    assert rest == read[3:]
    assert select_effective_causes([*read, stated], votes[:2], min_causes=3) == [stated, read[3]]
    assert select_effective_causes([*read, heard(2)], votes, min_causes=3) == [heard(2), *read[1:]]
