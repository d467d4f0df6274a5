"""What a person sees of proposals: pages, cards, why two are not one, and the rate."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import run_sql
from tests.proposals.proposing import DAY, Room

from festinger.errors import BadInput, NotFound
from festinger.ids import MAIN_SPACE, Origin
from festinger.observability.metrics import PROPOSALS_HELD, PROPOSALS_OPEN, PROPOSALS_PAUSED, PROPOSALS_RATE
from festinger.proposals.gate import InboxCapacity, InboxStatus, inbox_status
from festinger.proposals.health import proposal_stats, update_gauges
from festinger.proposals.inbox import ProposalQuery, list_proposals, load_card, resolve_proposal_id
from festinger.proposals.model import ProposalState
from festinger.proposals.producers import HEALTHY, LOOSE, TIGHT, TOO_LITTLE, interpret_rate, load_promotion_rate
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Store

RETRY = "Retry the failed query"


async def test_a_page_lists_what_fits_the_latest_seen_first(store: Store):
    room = Room(store)
    for n in range(5):
        await room.sight(f"Change number{n}", days_ago=n, scope="tools" if n % 2 else "world")

    first = await list_proposals(room.deps, MAIN_SPACE, ProposalQuery(limit=3))
    last = first[-1]
    assert last.last_seen is not None
    rest = await list_proposals(room.deps, MAIN_SPACE, ProposalQuery(limit=3, after=(last.last_seen, last.id)))
    world = await list_proposals(
        room.deps, MAIN_SPACE, ProposalQuery(scope="world", states=[ProposalState.WAITING], held=False)
    )

    assert [each.what[-1] for each in [*first, *rest]] == ["0", "1", "2", "3", "4"]
    assert [each.what[-1] for each in world] == ["0", "2", "4"]
    assert await list_proposals(room.deps, MAIN_SPACE, ProposalQuery(states=[ProposalState.REJECTED])) == []


@pytest.mark.requirement("H-17")
@pytest.mark.requirement("H-31")
async def test_a_card_shows_every_wording_the_causes_and_what_is_missing(store: Store):
    room = Room(store)
    await room.sight(RETRY, session="a", days_ago=3)
    await room.sight("The failed query: retry", session="b", days_ago=2)
    seen = await room.sight("The failed query: retry", session="b", days_ago=2)

    assert seen.proposal is not None
    shown = (await load_card(room.deps, MAIN_SPACE, seen.proposal)).as_json()

    assert [(each["text"], each["times"]) for each in shown["wordings"]] == [
        (RETRY, 1), ("The failed query: retry", 2),
    ]  # fmt: skip
    assert shown["gate"] == {"ripeness": "too new", "age_days": 3, "missing": "4 more days"}
    assert (shown["seen_count"], shown["sightings"], shown["standing"]) == (2, 3, "elsewhere")
    assert {each["session_id"] for each in shown["seen"]} == {"a", "b"}
    assert shown["notes"] == []


@pytest.mark.requirement("H-13")
async def test_a_card_says_when_nobody_but_untrusted_text_said_it(store: Store):
    room = Room(store)
    for n in range(3):
        seen = await room.sight(session=f"s{n}", days_ago=n, origin=Origin.DOCUMENT)

    assert seen.proposal is not None
    shown = (await load_card(room.deps, MAIN_SPACE, seen.proposal)).as_json()

    assert shown["notes"] == ["all sightings come from untrusted text"]


@pytest.mark.requirement("H-07")
async def test_hidden_characters_are_visible_in_every_view(store: Store):
    room = Room(store)
    seen = await room.sight("Retry \u202ethe query")

    assert seen.proposal is not None
    shown = (await load_card(room.deps, MAIN_SPACE, seen.proposal)).as_json()

    assert shown["what"] == "Retry ⟦U+202E⟧the query"
    assert shown["seen"][0]["text"] == shown["wordings"][0]["text"] == shown["what"]


async def test_a_proposal_is_found_by_the_beginning_of_its_id(store: Store):
    room = Room(store)
    seen = await room.sight()

    assert await resolve_proposal_id(room.deps, MAIN_SPACE, str(seen.proposal)[:13]) == seen.proposal
    with pytest.raises(BadInput):
        await resolve_proposal_id(room.deps, MAIN_SPACE, "zzz")
    with pytest.raises(NotFound):
        await resolve_proposal_id(room.deps, MAIN_SPACE, "00000000")


@pytest.mark.requirement("H-88")
@pytest.mark.parametrize(
    ("promoted", "considered", "said"),
    [
        (0, 0, TOO_LITTLE),
        (19, 19, TOO_LITTLE),
        (6, 20, HEALTHY),
        (7, 20, LOOSE),
        (1, 100, HEALTHY),
        (0, 100, TIGHT),
        (9, 1000, TIGHT),
    ],
)
def test_the_rate_is_read_against_its_bounds(promoted: int, considered: int, said: str):
    assert interpret_rate(promoted, considered, ProposalsSettings()) == said


@pytest.mark.requirement("H-88")
async def test_the_rate_counts_what_was_seen_and_promoted_in_the_window(store: Store):
    room = Room(store, rate_min_considered=1)
    await room.ripen()
    await room.sight("Cache the answer")
    await room.sight("Seen long ago", days_ago=40)
    await room.sight("Seen in a trial", uncounted="evaluation")
    await room.promote()

    found = await load_promotion_rate(room.deps, MAIN_SPACE)

    assert (found.promoted, found.considered, found.reading) == (1, 2, LOOSE)
    assert found.as_json()["rate"] == 0.5
    assert "min_seen_count" in found.as_json()["knob"]


@given(limit=st.integers(1, 200), waiting=st.integers(0, 250))
def test_an_inbox_is_full_warns_or_has_room(limit: int, waiting: int):
    found = InboxCapacity(open=waiting, limit=limit)

    assert (found.paused_because is not None) == (waiting >= limit)
    assert (found.warning is not None) == (0.9 * limit <= waiting < limit)


async def test_where_a_proposal_lies_is_read_from_the_time(store: Store):
    room = Room(store)
    seen = await room.ripen()
    await room.promote()
    await room.change(seen, "state = 'deferred', deferred_until = %(until)s", until=room.hands.now + 14 * DAY)
    deferred = await room.proposal(seen)

    def lies(days: int) -> InboxStatus:
        return inbox_status(deferred, now=room.hands.now + days * DAY, quiet_days=90)

    assert [lies(days) for days in (0, 13, 14, 103, 104)] == [
        InboxStatus.PUT_OFF, InboxStatus.PUT_OFF, InboxStatus.OPEN, InboxStatus.OPEN, InboxStatus.QUIET,
    ]  # fmt: skip


async def test_the_gauges_and_the_funnel_say_how_full_the_inbox_is(store: Store):
    room = Room(store, inbox_limit=1)
    await room.ripen()
    await room.promote()
    room.muted = {("reflection", "reliability"): room.hands.now + DAY}
    await room.sight("Cache the answer")

    await update_gauges(room.deps, [MAIN_SPACE])
    found = await proposal_stats(room.deps, MAIN_SPACE)

    assert PROPOSALS_OPEN._value.get() == 1
    assert PROPOSALS_PAUSED._value.get() == 1
    assert PROPOSALS_RATE._value.get() == 0.5
    assert PROPOSALS_HELD.labels("producer_muted")._value.get() == 1
    assert (found["open"], found["paused"], found["held"]) == (1, "inbox full (1 of 1)", 1)
    assert found["second pass"] == "off (no embedder)"


async def test_spaces_do_not_see_each_other(store: Store):
    room = Room(store)
    await run_sql(store, "insert into space (id, name) values ('work', 'work')")
    seen = await room.sight()

    assert await list_proposals(room.deps, "work", ProposalQuery()) == []  # type: ignore[arg-type]
    assert seen.proposal is not None
    with pytest.raises(NotFound):
        await load_card(room.deps, "work", seen.proposal)  # type: ignore[arg-type]


async def test_what_is_asked_for_by_its_place_is_what_the_reading_of_the_place_says(store: Store):
    room = Room(store, quiet_days=90)
    for number, (state, seen, deferred) in enumerate(
        product(("waiting", "promoted", "deferred", "rejected"), (1, 90, 200), (None, -100, -1, 0, 1))
    ):
        sighted = await room.sight(f"Change number {number}", days_ago=seen)
        until = None if deferred is None else room.hands.now + deferred * DAY
        sets = "state = %(state)s, promoted_at = last_seen, deferred_until = %(until)s"
        await room.change(sighted, sets, state=state, until=until)
    every = await list_proposals(room.deps, MAIN_SPACE, ProposalQuery(limit=200))

    for place in InboxStatus:
        found = await list_proposals(room.deps, MAIN_SPACE, ProposalQuery(standing=place, limit=200))
        expected = [each for each in every if inbox_status(each, now=room.hands.now, quiet_days=90) is place]
        assert expected
        assert [each.id for each in found] == [each.id for each in expected]
