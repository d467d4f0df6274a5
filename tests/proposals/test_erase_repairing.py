"""What is left of the votes for proposals when a source of them turns out to be bad?"""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proposals.hearing import Court
from tests.proposals.proposing import Room

from festinger.errors import Stale
from festinger.ids import MAIN_SPACE, AgentId, MemoryId, Origin, SessionId
from festinger.memory.erasure.selector import ErasureSelector
from festinger.proposals.erase import SightingWithdrawalResult, reinstate_sightings, withdraw_sightings
from festinger.proposals.model import Proposal, ProposalState, VerdictKind
from festinger.proposals.sightings.recount import VoteLimits, select_sightings_for_votes
from festinger.store.pool import Store

pytestmark = pytest.mark.requirement("M-84")

BAD = ErasureSelector(session=SessionId("bad"))
MEMORY = MemoryId(UUID(int=5))


async def taken(
    room: Room, selector: ErasureSelector = BAD, *, bad: tuple[MemoryId, ...] = ()
) -> SightingWithdrawalResult:
    async with room.store.transaction() as transaction:
        return await withdraw_sightings(room.deps, transaction, MAIN_SPACE, selector, bad=bad)


async def given_back(room: Room, withdrawn: SightingWithdrawalResult) -> None:
    async with room.store.transaction() as transaction:
        await reinstate_sightings(room.deps, transaction, MAIN_SPACE, withdrawn.as_json())


def counts(proposal: Proposal) -> tuple[Any, ...]:
    return (proposal.seen_count, proposal.days_seen, proposal.sightings, proposal.first_seen, proposal.state)


async def test_without_a_bad_session_the_votes_are_as_if_it_had_never_spoken(store: Store):
    room = Room(store)
    seen = await room.sight(session="bad", days_ago=12)
    await room.sight(session="bad", days_ago=12)
    await room.sight(session="good", days_ago=9)
    duplicate = await room.sight("Cache the answers", session="good", days_ago=9)
    before = await room.proposal(seen)

    withdrawn = await taken(room)
    without = await room.proposal(seen)
    await given_back(room, withdrawn)

    assert counts(without) == counts(await room.proposal(duplicate))
    assert counts(await room.proposal(seen)) == counts(before)
    assert [each.counted for each in await room.sightings()] == [True] * 3


async def test_what_only_a_bad_session_made_ripe_waits_again_and_comes_back_with_it(store: Store):
    court = Court(store)
    for session, days in (("bad", 12), ("good", 9)):
        await court.sight(session=session, days_ago=days)
    await court.promote()
    (before,) = await court.proposals()

    withdrawn = await taken(court)
    (without,) = await court.proposals()
    again = await court.promote()
    with pytest.raises(Stale):
        await court.decide(before, version=before.version)
    await given_back(court, withdrawn)
    (after,) = await court.proposals()

    assert (before.state, without.state, again.promoted) == (ProposalState.PROMOTED, ProposalState.WAITING, 0)
    assert (after.state, after.promoted_at) == (before.state, before.promoted_at)


async def test_what_people_decided_or_asked_for_stays(store: Store):
    court = Court(store)
    applied = await court.promoted()
    await court.decide(applied)
    rejected = await court.promoted("Cache the answers")
    await court.decide(rejected, VerdictKind.REJECT)
    asked = await court.sight("Log less", session="bad", producer="person", origin=Origin.PERSON)
    await court.change(asked, "state = 'promoted', promoted_at = %(at)s", at=court.hands.now)
    await court.sight("Log less", session="other", days_ago=9)

    await taken(court, ErasureSelector(agent=AgentId("default"), origin=Origin.MODEL))

    states = {each.what: (each.state, each.seen_count) for each in await court.proposals()}
    assert states == {
        applied.what: (ProposalState.APPLIED, 0),
        rejected.what: (ProposalState.REJECTED, 0),
        "Log less": (ProposalState.PROMOTED, 1),
    }


async def test_sessions_that_a_flood_had_kept_from_voting_vote_again(store: Store):
    room = Room(store)
    for session in ("bad", "a", "b", "bad", "c", "d"):
        seen = await room.sight(session=session)
    before = {each.session_id: each.uncounted_because for each in await room.sightings()}

    withdrawn = await taken(room)
    without = {each.session_id: each.counted for each in await room.sightings()}
    count = (await room.proposal(seen)).seen_count
    await given_back(room, withdrawn)

    assert without == {"bad": False, "a": True, "b": True, "c": True, "d": False}
    assert count == 3
    assert {each.session_id: each.uncounted_because for each in await room.sightings()} == before


@pytest.mark.parametrize(
    ("selector", "bad", "left"),
    [
        (ErasureSelector(agent=AgentId("b")), (), 2),
        (ErasureSelector(origin=Origin.TOOL), (), 2),
        (ErasureSelector(source="episode:e1"), (), 2),
        (ErasureSelector(source="nowhere"), (MEMORY,), 2),
        (ErasureSelector(source="nowhere"), (), 3),
    ],
    ids=["agent", "origin", "episode", "memory", "nothing"],
)
async def test_what_came_from_anywhere_is_found(
    store: Store, selector: ErasureSelector, bad: tuple[MemoryId, ...], left: int
):
    room = Room(store, min_seen_count=3)
    await room.sight(session="s1", agent="b", origin=Origin.TOOL)
    await room.sight(session="s2", evidence={"episodes": ["e1"]})
    await room.sight(session="s3", evidence={"memories": [str(MEMORY)]})

    withdrawn = await taken(room, selector, bad=bad)

    (proposal,) = await room.proposals()
    assert (len(withdrawn.sightings), proposal.seen_count) == (3 - left, left)


@given(
    sessions=st.lists(st.sampled_from("abcdef"), max_size=12),
    counted=st.frozensets(st.sampled_from("abc"), max_size=3),
    cap=st.integers(1, 4),
)
def test_freed_votes_go_to_the_first_sessions_and_never_exceed_the_cap(
    sessions: list[str], counted: frozenset[str], cap: int
):
    waiting = [(SessionId(name), UUID(int=number)) for number, name in enumerate(sessions)]

    lifted = select_sightings_for_votes(waiting, frozenset(map(SessionId, counted)), VoteLimits(per_agent_day=cap))

    voting = counted | {sessions[id_.int] for id_ in lifted}
    assert len(voting) <= max(cap, len(counted))
    assert len(voting) == min(max(cap, len(counted)), len(counted | set(sessions)))
    assert lifted == [id_ for name, id_ in waiting if name in voting]
