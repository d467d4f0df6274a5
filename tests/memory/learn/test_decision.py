"""What becomes of a new statement, given what was judged of it and its candidates?"""

from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import Origin
from festinger.judge.model import CurrentSide, Judgement, Relation, unsure_judgement
from festinger.memory.learn.decision import ContradictionPolicy, JudgedCandidate, LearnDecision, LearnLimits, decide
from festinger.memory.model import LIVE, LearnAction, Status

PERSON: dict[str, Any] = {"trust": 1.0, "origin": Origin.PERSON}
PAGE: dict[str, Any] = {"trust": 0.4, "origin": Origin.DOCUMENT}
LIMITS = LearnLimits()


def judged(
    number: int, relation: Relation, confidence: float = 0.85, *, current: CurrentSide = CurrentSide.BOTH, **more: Any
) -> JudgedCandidate:
    said = Judgement(
        relation=relation,
        current=current,
        confidence=confidence,
        judge="rules@1",
        reasoning=f"judged {number}",
        final=relation is not Relation.UNSURE,
    )
    return JudgedCandidate(**{"id": UUID(int=number), "judgement": said, "trust": 1.0, **more})


def update(
    number: int, confidence: float = 0.85, *, current: CurrentSide = CurrentSide.NEW, **more: Any
) -> JudgedCandidate:
    return judged(number, Relation.UPDATE, confidence, current=current, **more)


def ids(*numbers: int) -> tuple[UUID, ...]:
    return tuple(UUID(int=number) for number in numbers)


def test_nothing_like_it_is_stored():
    assert decide([], LIMITS, **PERSON).action is LearnAction.STORED
    assert decide([judged(1, Relation.UNRELATED)], LIMITS, **PERSON).action is LearnAction.STORED


@pytest.mark.parametrize(
    ("status", "action"),
    [
        (Status.ACTIVE, LearnAction.CONFIRMED),
        (Status.HELD, LearnAction.CONFLICTED),
        (Status.QUARANTINED, LearnAction.QUARANTINED),
    ],
)
def test_the_same_makes_no_row(status: Status, action: LearnAction):
    found = decide([judged(1, Relation.SAME, 0.9, status=status)], LIMITS, **PERSON)

    assert (found.action, found.confirms) == (action, UUID(int=1))


def test_of_several_twins_the_surest_and_nearest_that_stands_is_confirmed():
    duplicates = [
        judged(1, Relation.SAME, 1.0, status=Status.HELD),
        judged(2, Relation.SAME, 0.9, similarity=0.96),
        judged(3, Relation.SAME, 0.9, similarity=0.99),
    ]

    assert decide(duplicates, LIMITS, **PERSON).confirms == UUID(int=3)


def test_a_merge_that_is_not_sure_waits():
    found = decide([judged(1, Relation.SAME, 0.79)], LIMITS, **PERSON)

    assert (found.action, found.confirms, found.waits_for) == (LearnAction.PENDING, None, ids(1))


@pytest.mark.requirement("M-41")
def test_all_that_qualify_are_superseded():
    found = decide([update(1), update(2), judged(3, Relation.UNRELATED)], LIMITS, **PERSON)

    assert (found.action, found.supersedes) == (LearnAction.SUPERSEDED, ids(1, 2))


@pytest.mark.requirement("M-40")
def test_an_update_that_is_not_sure_is_a_conflict():
    assert decide([update(1, 0.8)], LIMITS, **PERSON).action is LearnAction.SUPERSEDED
    assert decide([update(1, 0.79)], LIMITS, **PERSON) == LearnDecision(
        action=LearnAction.CONFLICTED, conflicts=ids(1), why="judged 1"
    )


@pytest.mark.requirement("M-44")
def test_news_of_yesterday_does_not_replace_today():
    found = decide([update(1, current=CurrentSide.OLD)], LIMITS, **PERSON)

    assert (found.action, found.superseded_by, found.supersedes) == (LearnAction.STORED, UUID(int=1), ())


@pytest.mark.requirement("M-45")
@pytest.mark.parametrize(
    ("trust", "action"), [(0.85, LearnAction.SUPERSEDED), (0.84, LearnAction.CONFLICTED), (0.4, LearnAction.CONFLICTED)]
)
def test_who_is_trusted_less_by_more_than_the_margin_retires_nothing(trust: float, action: LearnAction):
    found = decide([update(1)], LIMITS, trust=trust, origin=Origin.MODEL)

    assert found.action is action


@pytest.mark.requirement("M-08")
def test_what_is_immutable_is_never_superseded():
    found = decide([update(1, 1.0, immutable=True)], LIMITS, **PERSON)

    assert (found.action, found.conflicts, found.supersedes) == (LearnAction.CONFLICTED, ids(1), ())


def test_a_contradiction_is_put_to_a_person():
    found = decide([judged(1, Relation.CONTRADICTS), update(2)], LIMITS, **PERSON)

    assert (found.action, found.conflicts) == (LearnAction.CONFLICTED, ids(1))
    assert found.supersedes == (), "what is held replaces nothing"


@pytest.mark.parametrize(
    ("origin", "trust", "confidence", "action"),
    [
        (Origin.PERSON, 0.6, 0.8, LearnAction.SUPERSEDED),
        (Origin.PERSON, 0.61, 0.8, LearnAction.CONFLICTED),
        (Origin.PERSON, 0.6, 0.79, LearnAction.CONFLICTED),
        (Origin.MODEL, 0.6, 0.8, LearnAction.CONFLICTED),
    ],
)
def test_a_person_overrules_what_no_person_said(origin: Origin, trust: float, confidence: float, action: LearnAction):

    assert (
        decide([judged(1, Relation.CONTRADICTS, confidence, trust=trust)], LIMITS, trust=1.0, origin=origin).action
        is action
    )


def test_newest_wins_where_a_person_chose_it():
    limits = LearnLimits(on_contradiction=ContradictionPolicy.NEWEST_WINS)

    assert decide([judged(1, Relation.CONTRADICTS)], limits, **PERSON).supersedes == ids(1)
    assert decide([judged(1, Relation.CONTRADICTS)], limits, **PAGE).action is LearnAction.CONFLICTED


def test_what_adds_to_something_is_linked():
    found = decide([judged(1, Relation.REFINES)], LIMITS, **PERSON)

    assert (found.action, found.refines) == (LearnAction.REFINED, ids(1))


@pytest.mark.requirement("J-12")
def test_what_nobody_is_sure_of_waits_beside_the_rest():
    open_pair = JudgedCandidate(id=UUID(int=1), judgement=unsure_judgement("rules@1", "who knows"), trust=1.0)

    found = decide([open_pair, judged(2, Relation.REFINES)], LIMITS, **PERSON)

    assert (found.action, found.waits_for, found.refines) == (LearnAction.PENDING, ids(1), ids(2))


def test_what_is_locked_away_opposes_nothing():
    locked = [update(1, status=Status.QUARANTINED), judged(2, Relation.CONTRADICTS, status=Status.HELD)]

    assert decide(locked, LIMITS, **PERSON).action is LearnAction.STORED


CANDIDATES = st.lists(
    st.builds(
        judged,
        st.integers(1, 50),
        st.sampled_from(Relation),
        st.sampled_from([0.4, 0.5, 0.79, 0.8, 0.9, 1.0]),
        current=st.sampled_from(CurrentSide),
        trust=st.sampled_from([0.4, 0.6, 0.9, 1.0]),
        status=st.sampled_from(LIVE),
        immutable=st.booleans(),
    ),
    max_size=4,
    unique_by=lambda each: each.id,
)


@given(candidates=CANDIDATES, new=st.sampled_from([PERSON, PAGE]))
def test_the_order_of_candidates_does_not_matter_and_nothing_immutable_goes(
    candidates: list[JudgedCandidate], new: dict[str, Any]
):
    decided = {decide(order, LIMITS, **new) for order in permutations(candidates)}

    [found] = decided
    immutable = {each.id for each in candidates if each.immutable}
    sure = {each.id for each in candidates if each.judgement.confidence >= 0.8}
    assert immutable.isdisjoint(found.supersedes)
    assert set(found.supersedes) <= sure
    assert not (found.conflicts and found.supersedes)
    if found.confirms is not None:
        assert found.confirms in sure
