"""Votes are distinct causes: repeats, floods of sessions and untrusted text do not carry a proposal."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import Origin, SessionId
from festinger.proposals.sightings.recount import (
    UNTRUSTED,
    VoteGroup,
    VoteLimits,
    VoteTally,
    count_votes,
    is_over_vote_limit,
)

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
LIMITS = VoteLimits()


def votes(
    *, sessions: int = 1, day: int = 0, agent: str = "a", origin: Origin = Origin.MODEL, hours: int = 0
) -> VoteGroup:
    at = MONDAY + timedelta(days=day)
    return VoteGroup(
        agent=agent, day=at.date(), origin=origin, sessions=sessions, first_at=at, last_at=at + timedelta(hours=hours)
    )


@pytest.mark.requirement("H-12")
def test_of_one_agent_and_day_three_sessions_count():
    flood = count_votes([votes(sessions=10_000)], LIMITS)

    assert (flood.seen_count, flood.days_seen) == (3, 1)


@pytest.mark.requirement("H-12")
def test_agents_days_and_origins_are_counted_apart():
    cast = [
        votes(sessions=9),
        votes(sessions=9, agent="b"),
        votes(sessions=9, day=1),
        votes(sessions=9, origin=Origin.PERSON),
    ]

    assert count_votes(cast, LIMITS).seen_count == 12
    assert count_votes(cast, LIMITS).days_seen == 2


@pytest.mark.requirement("H-13")
@pytest.mark.parametrize("origin", sorted(UNTRUSTED))
def test_untrusted_text_stays_below_the_bar_however_often_it_comes(origin: Origin):
    month = [votes(day=day, origin=origin, sessions=3) for day in range(30)]

    assert count_votes(month, LIMITS).seen_count == 1
    assert count_votes(month, VoteLimits(min_seen=5)).seen_count == 4
    assert count_votes(month, LIMITS).is_untrusted


@pytest.mark.requirement("H-13")
def test_untrusted_text_adds_to_what_somebody_said():
    cast = [votes(), *(votes(day=day, origin=Origin.TOOL) for day in range(5))]

    assert count_votes(cast, LIMITS).seen_count == 2
    assert not count_votes(cast, LIMITS).is_untrusted


@pytest.mark.requirement("H-15")
def test_first_and_last_do_not_depend_on_the_order_of_reports():
    cast = [votes(day=3), votes(day=-2, hours=5), votes(day=1)]

    for order in (cast, cast[::-1]):
        found = count_votes(order, LIMITS)
        assert found.first_seen == MONDAY - timedelta(days=2)
        assert found.last_seen == MONDAY + timedelta(days=3)


def test_nothing_cast_is_nothing_seen():
    assert count_votes([], LIMITS) == VoteTally()


@pytest.mark.requirement("H-12")
def test_a_session_that_has_a_vote_is_no_flood():
    counted = [SessionId(f"s{n}") for n in range(3)]

    assert is_over_vote_limit(SessionId("s3"), counted, LIMITS)
    assert not is_over_vote_limit(SessionId("s2"), counted, LIMITS)
    assert not is_over_vote_limit(SessionId("s3"), counted[:2], LIMITS)


@given(
    st.lists(
        st.builds(
            votes,
            sessions=st.integers(1, 20),
            day=st.integers(0, 9),
            agent=st.sampled_from("abc"),
            origin=st.sampled_from(Origin),
        ),
        max_size=20,
    ),
    st.integers(1, 5),
)
def test_a_further_vote_never_lowers_the_count(cast: list[VoteGroup], bar: int):
    limits = VoteLimits(min_seen=bar)
    counts = [count_votes(cast[:end], limits).seen_count for end in range(len(cast) + 1)]

    assert counts == sorted(counts)
    assert counts[-1] <= 3 * len(cast)


def test_days_are_those_of_the_server():
    assert votes().day == date(2026, 1, 5)
