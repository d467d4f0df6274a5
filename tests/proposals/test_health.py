"""What may an agent read of what was observed again and again?"""

from datetime import timedelta
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proposals.proposing import DAY, Room
from tests.proposals.verdicts.test_rules import MONDAY, proposal

from festinger.ids import MAIN_SPACE
from festinger.proposals.health import (
    LEAST_SEEN,
    MOST,
    OLDEST,
    can_show_to_agent,
    load_proposals_for_agent,
    reload_proposals_for_agent,
    select_proposals_for_agent,
)
from festinger.proposals.model import HoldReason, Proposal, ProposalId, ProposalState
from festinger.store.pool import Store

FRESH = {"seen_count": 2, "first_seen": MONDAY - DAY, "last_seen": MONDAY}


@pytest.mark.requirement("H-78")
@pytest.mark.parametrize("state", ProposalState)
def test_only_what_nobody_has_decided_or_put_off_is_an_observation(state: ProposalState):
    assert can_show_to_agent(proposal(state, **FRESH), now=MONDAY) is (
        state in (ProposalState.WAITING, ProposalState.PROMOTED)
    )


@pytest.mark.requirement("H-78")
def test_what_is_held_seen_once_or_older_than_two_weeks_is_none():
    def is_told(**more: object) -> bool:
        return can_show_to_agent(proposal(ProposalState.WAITING, **FRESH | more), now=MONDAY)

    assert is_told(first_seen=MONDAY - OLDEST)
    assert not is_told(first_seen=MONDAY - OLDEST - timedelta(seconds=1))
    assert not is_told(seen_count=1)
    assert not is_told(what="")
    for held in HoldReason:
        assert not is_told(held=held)
        assert not is_told(held=held, suppressed_until=MONDAY)
        assert is_told(held=held, suppressed_until=MONDAY - timedelta(seconds=1))


SEEN = st.builds(
    lambda number, count, days, state: proposal(
        state,
        id=ProposalId(UUID(int=number)),
        seen_count=count,
        first_seen=MONDAY - 20 * DAY,
        last_seen=MONDAY - days * DAY,
    ),
    st.integers(1, 10**6),
    st.integers(0, 5),
    st.integers(0, 20),
    st.sampled_from(ProposalState),
)


@pytest.mark.requirement("H-78")
@given(found=st.lists(SEEN, max_size=12, unique_by=lambda each: each.id))
def test_at_most_three_are_told_those_of_most_causes_then_the_latest(found: list[Proposal]):
    now = MONDAY - 6 * DAY
    told = select_proposals_for_agent(found, now=now)

    assert len(told) == min(MOST, sum(can_show_to_agent(each, now=now) for each in found))
    left = [each for each in found if can_show_to_agent(each, now=now) and each not in told]
    for shown, other in product(told, left):
        assert (shown.seen_count, shown.last_seen) >= (other.seen_count, other.last_seen)
    assert all(each.seen_count >= LEAST_SEEN for each in told)


@pytest.mark.requirement("H-78")
async def test_nothing_is_told_unless_it_is_switched_on_and_what_was_shown_is_left_out(store: Store):
    off, on = Room(store), Room(store, surface=True)
    for what, sessions in (("Retry the failed query", "abc"), ("Cache the answers", "ab"), ("Log less", "a")):
        for session in sessions:
            await off.sight(what, session=session)
    one, other = await off.sight(session="a"), await off.sight("Cache the answers", session="a")
    assert one.proposal is not None
    assert other.proposal is not None

    assert await load_proposals_for_agent(off.deps, MAIN_SPACE) == []
    assert await reload_proposals_for_agent(off.deps, MAIN_SPACE, [one.proposal]) == []
    assert [each.id for each in await load_proposals_for_agent(on.deps, MAIN_SPACE)] == [one.proposal, other.proposal]
    left = await load_proposals_for_agent(on.deps, MAIN_SPACE, exclude=[one.proposal])
    assert [each.id for each in left] == [other.proposal]
    await off.change(one, "what = ''")
    stays = await reload_proposals_for_agent(on.deps, MAIN_SPACE, [one.proposal, other.proposal])
    assert [each.id for each in stays] == [other.proposal]
