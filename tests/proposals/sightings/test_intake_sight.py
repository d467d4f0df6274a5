"""What happens when somebody says that something should change."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.jobs.deps import rows, run_sql
from tests.proposals.proposing import DAY, Room

from festinger.errors import BadInput, FestingerError, ProposalRefused
from festinger.ids import MAIN_SPACE, Origin, SpaceId
from festinger.observability.metrics import (
    LISTED,
    PROPOSALS_MERGED,
    PROPOSALS_PROMOTED,
    PROPOSALS_SIGHTINGS,
    PROPOSALS_SUPPRESSED,
)
from festinger.proposals.model import HoldReason, ProposalState
from festinger.proposals.sightings.intake import record_sighting, record_sighting_in_transaction
from festinger.proposals.sightings.recount import SightingExclusionReason, SightingStatus
from festinger.store.pool import Store

RETRY = "Retry the failed query"

ASKED: dict[str, tuple[str, ...]] = {
    "sightings_total": ("counted",),
    "merged_total": (),
    "promoted_total": (),
    "suppressed_total": (),
    "verdicts_total": ("verdict",),
    "applied_total": ("type",),
    "undone_total": (),
    "open": (),
    "held": ("why",),
    "paused": (),
    "promotion_rate": (),
    "producer_value": ("producer", "category"),
}
"""Metrics that the room must have, with their labels."""


@pytest.mark.requirement("H-17")
async def test_five_sightings_of_five_causes_are_one_proposal_seen_five_times(store: Store):
    room = Room(store)
    wordings = [RETRY, "The failed query: retry", "retry failed query", "RETRY the query that failed", RETRY]

    seen = [
        await room.sight(text, session=f"s{n}", days_ago=n, producer="api" if n else "reflection")
        for n, text in enumerate(wordings)
    ]

    (proposal,) = await room.proposals()
    assert [each.result for each in seen] == [SightingStatus.CREATED] + [SightingStatus.MERGED] * 4
    assert (proposal.seen_count, proposal.days_seen, proposal.sightings) == (5, 5, 5)
    assert (proposal.what, proposal.producer) == (RETRY, "reflection")
    assert (proposal.first_seen, proposal.last_seen) == (room.hands.now - 4 * DAY, room.hands.now)
    assert [each["seen_count"] for each in await room.events("proposal_merged")] == [2, 3, 4, 5]


@pytest.mark.requirement("H-16")
async def test_a_first_sighting_makes_a_proposal_and_tells_of_it(store: Store):
    room = Room(store)

    seen = await room.sight(RETRY, why="It times out.", how="Once.", evidence={"turns": ["t1"]})

    proposal = await room.proposal(seen)
    assert (proposal.state, proposal.seen_count, proposal.version) == (ProposalState.WAITING, 1, 1)
    assert (seen.counted, seen.seen_count, seen.fingerprint) == (True, 1, "2deb88e485a55dce")
    assert await room.events("proposal_created") == [
        {
            "proposal": str(proposal.id),
            "fingerprint": "2deb88e485a55dce",
            "category": "reliability",
            "scope": "tools",
            "type": "advice",
            "producer": "reflection",
        }
    ]
    assert ("compare_proposals", {"space": MAIN_SPACE}) in room.asked


@pytest.mark.requirement("H-10")
async def test_a_sighting_keeps_its_words_its_evidence_and_its_cause(store: Store):
    room = Room(store)

    await room.sight(RETRY, session="s9", agent="ada", origin=Origin.TOOL, days_ago=2, evidence={"turns": ["t1"]})

    (kept,) = await room.sightings()
    assert (kept.text, kept.evidence) == (RETRY, {"turns": ["t1"]})
    assert (kept.agent_id, kept.session_id, kept.origin) == ("ada", "s9", Origin.TOOL)
    assert (kept.at, kept.day) == (room.hands.now - 2 * DAY, (room.hands.now - 2 * DAY).date())


@pytest.mark.requirement("H-10")
@pytest.mark.parametrize(
    ("origin", "cited", "kept"),
    [
        (Origin.MODEL, (), Origin.MODEL),
        (Origin.MODEL, (Origin.PERSON, Origin.TOOL), Origin.TOOL),
        (Origin.JOB, (), Origin.JOB),
        (Origin.JOB, (Origin.DOCUMENT,), Origin.DOCUMENT),
    ],
)
async def test_a_sighting_is_trusted_no_more_than_its_evidence(
    store: Store, origin: Origin, cited: tuple[Origin, ...], kept: Origin
):
    room = Room(store)

    await room.sight(origin=origin, cited=cited)

    assert [each.origin for each in await room.sightings()] == [kept]


@pytest.mark.requirement("H-89")
async def test_the_counters_follow_what_happens(store: Store):
    room = Room(store)
    counters = [
        PROPOSALS_SIGHTINGS.labels("true"),
        PROPOSALS_SIGHTINGS.labels("false"),
        PROPOSALS_MERGED,
        PROPOSALS_PROMOTED,
        PROPOSALS_SUPPRESSED,
    ]
    before = [each._value.get() for each in counters]

    seen = await room.ripen()
    await room.sight(session="r2", days_ago=8)
    await room.promote()
    await room.reject(seen)
    await room.sight(session="r3")

    assert [each._value.get() - was for each, was in zip(counters, before, strict=True)] == [2, 2, 2, 1, 1]


@pytest.mark.requirement("H-89")
def test_every_metric_that_is_asked_for_is_there():
    names = {metric.name.removeprefix("festinger_proposals_"): metric.labels for metric in LISTED}

    assert {name: names[name] for name in ASKED} == ASKED


@pytest.mark.requirement("H-11")
async def test_one_cause_has_one_vote_and_one_row_however_often_it_speaks(store: Store):
    room = Room(store)

    for _ in range(40):
        seen = await room.sight(RETRY)

    (proposal,) = await room.proposals()
    (row,) = await room.sightings()
    assert (proposal.seen_count, proposal.sightings, row.times) == (1, 40, 40)
    assert not seen.counted
    assert [each["counted"] for each in await room.events("proposal_merged")] == [False] * 39


@pytest.mark.requirement("H-11")
async def test_other_words_of_the_same_cause_are_a_row_and_no_vote(store: Store):
    room = Room(store)
    await room.sight(RETRY)

    seen = await room.sight("The failed query: retry")

    assert (seen.seen_count, seen.counted, len(await room.sightings())) == (1, False, 2)


@pytest.mark.requirement("H-11")
@pytest.mark.requirement("H-12")
@pytest.mark.requirement("H-13")
async def test_the_count_is_what_a_recount_of_the_rows_gives(store: Store):
    room = Room(store)
    origins = [Origin.MODEL, Origin.TOOL, Origin.PERSON]
    for n in range(36):
        await room.sight(
            RETRY if n % 2 else "query failed: retry",
            session=f"s{n % 12}",
            agent=f"agent{n % 2}",
            origin=origins[n % 3],
            days_ago=n % 5,
        )

    (proposal,) = await room.proposals()
    causes = {each.cause for each in await room.sightings() if each.counted}
    trusted = {each for each in causes if each.origin is not Origin.TOOL}
    per_group: dict[Any, set[str]] = {}
    for each in trusted:
        per_group.setdefault((each.agent, each.day, each.origin), set()).add(each.session)
    assert max(map(len, per_group.values())) <= 3
    assert proposal.seen_count == len(trusted) + 1
    assert proposal.days_seen == len({each.day for each in causes})
    assert proposal.sightings == sum(each.times for each in await room.sightings()) == 36


@pytest.mark.requirement("H-12")
async def test_a_flood_of_sessions_of_one_day_counts_three_times(store: Store):
    room = Room(store)

    seen = [await room.sight(RETRY, session=f"s{n}") for n in range(8)]

    (proposal,) = await room.proposals()
    assert (proposal.seen_count, proposal.days_seen, proposal.sightings) == (3, 1, 8)
    assert [each.counted for each in seen] == [True] * 3 + [False] * 5
    assert [each.uncounted_because for each in await room.sightings()].count(SightingExclusionReason.FLOOD) == 5


@pytest.mark.requirement("H-14")
@pytest.mark.parametrize(
    "why",
    [
        SightingExclusionReason.EVALUATION,
        SightingExclusionReason.IMPORT,
        SightingExclusionReason.DRY_RUN,
        SightingExclusionReason.OWN_WORDS,
    ],
)
async def test_what_never_counts_is_kept_with_the_reason(store: Store, why: SightingExclusionReason):
    room = Room(store)

    first = await room.sight(RETRY, uncounted=why, days_ago=20)
    await room.sight(RETRY, session="s2", uncounted=why, days_ago=10)

    proposal = await room.proposal(first)
    assert (proposal.seen_count, proposal.first_seen, proposal.sightings) == (0, None, 2)
    assert {each.uncounted_because for each in await room.sightings()} == {why}


@pytest.mark.requirement("H-14")
async def test_what_is_said_in_a_trial_does_not_count(store: Store):
    room = Room(store)
    await run_sql(
        store,
        "insert into episode (space_id, id, agent_id, session_id, opened_at, last_at, evaluation)"
        " values ('main', '00000000-0000-7000-8000-000000000001', 'default', 'trial', now(), now(), true)",
    )

    await room.sight(RETRY, session="trial")

    (kept,) = await room.sightings()
    assert (kept.counted, kept.uncounted_because) == (False, SightingExclusionReason.EVALUATION)


@pytest.mark.requirement("H-14")
async def test_our_own_notes_do_not_count(store: Store):
    room = Room(store)

    await room.sight("<recollection>Retry the failed query</recollection>")

    (kept,) = await room.sightings()
    assert kept.uncounted_because is SightingExclusionReason.OWN_WORDS


@pytest.mark.requirement("H-15")
async def test_a_late_report_does_not_turn_time_back(store: Store):
    room = Room(store)
    await room.sight(RETRY, session="new", days_ago=1)

    seen = await room.sight(RETRY, session="old", days_ago=5, evidence={"client_time": "2031-01-01"})

    proposal = await room.proposal(seen)
    assert (proposal.first_seen, proposal.last_seen) == (room.hands.now - 5 * DAY, room.hands.now - DAY)


@pytest.mark.requirement("H-16")
async def test_the_same_source_again_gives_the_stored_result_and_changes_nothing(store: Store):
    room = Room(store)
    first = await room.sight(RETRY, source="e1")
    repeat = await room.sight(RETRY, source="e2")
    before = await room.proposals()

    again = [await room.sight(RETRY, source=source) for source in ("e1", "e2")]

    assert [each.result for each in again] == [SightingStatus.AGAIN] * 2
    assert {each.sighting for each in (first, repeat, *again)} == {first.sighting}
    assert await room.proposals() == before
    assert len(await room.events("proposal_merged")) == 1


@pytest.mark.requirement("H-16")
async def test_one_source_may_sight_several_proposals(store: Store):
    room = Room(store)

    for what in (RETRY, "Cache the answer"):
        await room.sight(what, source="reflection-1")

    assert [each.seen_count for each in await room.proposals()] == [1, 1]


@pytest.mark.requirement("H-16")
async def test_what_was_rejected_stays_silent_and_is_kept(store: Store):
    room = Room(store)
    seen = await room.sight(RETRY)
    await room.reject(seen)
    room.forward(30 * DAY)

    silent = await room.sight(RETRY, session="s2")

    proposal = await room.proposal(seen)
    assert silent.result is SightingStatus.SUPPRESSED
    assert (proposal.state, proposal.seen_count, proposal.sightings) == (ProposalState.REJECTED, 1, 2)
    assert [each.uncounted_because for each in await room.sightings()] == [None, SightingExclusionReason.SUPPRESSED]
    (told,) = await room.events("proposal_suppressed")
    assert told["proposal"] == str(proposal.id)


async def test_after_the_silence_it_is_counted_anew(store: Store):
    room = Room(store)
    seen = await room.ripen()
    await room.reject(seen)
    await room.sight(RETRY, session="meanwhile")
    room.forward(30 * DAY + timedelta(seconds=1))

    fresh = await room.sight(RETRY, session="s9")

    proposal = await room.proposal(seen)
    assert fresh.result is SightingStatus.REOPENED
    assert (proposal.state, proposal.seen_count, proposal.rejections) == (ProposalState.WAITING, 1, 1)
    assert proposal.first_seen == proposal.counted_since == room.hands.now
    assert (await room.promote()).promoted == 0
    room.forward(8 * DAY)
    await room.sight(RETRY, session="s10")
    assert (await room.promote()).promoted == 1


async def test_what_only_a_trial_sees_does_not_wake_what_was_rejected(store: Store):
    room = Room(store)
    seen = await room.sight(RETRY)
    await room.reject(seen)
    room.forward(31 * DAY)

    await room.sight(RETRY, uncounted=SightingExclusionReason.EVALUATION)

    assert (await room.proposal(seen)).state is ProposalState.REJECTED


@pytest.mark.parametrize("state", ["approved", "applied"])
async def test_after_a_yes_sightings_are_counted_apart_and_never_promoted(store: Store, state: str):
    room = Room(store)
    seen = await room.ripen()
    await room.change(seen, "state = %(state)s, decided_at = %(at)s", state=state, at=room.hands.now)
    room.forward(15 * DAY)

    after = [await room.sight(RETRY, session=f"s{n}", days_ago=n) for n in range(2)]

    (proposal,) = await room.proposals()
    assert [each.result for each in after] == [SightingStatus.SEEN_AFTER] * 2
    assert (proposal.seen_after, proposal.state) == (2, state)
    assert (await room.promote()).considered == 0


@pytest.mark.requirement("H-16")
async def test_a_duplicate_leads_on_to_what_it_duplicates(store: Store):
    room = Room(store)
    first = await room.sight(RETRY, session="s1")
    second = await room.sight("Try failed queries again", session="s2")
    third = await room.sight("Repeat failing queries", session="s3")
    await room.change(second, "state = 'duplicate', duplicate_of = %(of)s", of=first.proposal)
    await room.change(third, "state = 'duplicate', duplicate_of = %(of)s", of=second.proposal)

    seen = await room.sight("Repeat failing queries", session="s4", days_ago=1)

    assert (seen.proposal, seen.result, seen.seen_count) == (first.proposal, SightingStatus.MERGED, 4)


@pytest.mark.requirement("H-16")
async def test_duplicates_in_a_ring_are_a_fault(store: Store):
    room = Room(store)
    first = await room.sight(RETRY)
    second = await room.sight("Cache the answer")
    await room.change(first, "state = 'duplicate', duplicate_of = %(of)s", of=second.proposal)
    await room.change(second, "state = 'duplicate', duplicate_of = %(of)s", of=first.proposal)

    with pytest.raises(FestingerError, match="lead nowhere"):
        await room.sight(RETRY, session="s2")


@pytest.mark.requirement("H-01")
async def test_equal_fingerprints_of_other_words_are_not_merged(store: Store):
    room = Room(store)
    seen = await room.sight(RETRY)
    await room.change(seen, "normalised = 'other words'")

    apart = await room.sight(RETRY, session="s2")

    assert apart.result is SightingStatus.CREATED
    assert len({each.fingerprint for each in await room.proposals()}) == 1


@pytest.mark.requirement("H-07")
@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"what": "to the and of"}, "nothing is left"),
        ({"what": "retry " * 84}, "more than 500"),
        ({"why": "x" * 4001}, "more than 4,000"),
        ({"how": "x" * 4001}, "more than 4,000"),
    ],
)
async def test_text_that_cannot_be_a_proposal_is_kept_and_refused(store: Store, more: dict[str, Any], reason: str):
    room = Room(store)
    given: dict[str, Any] = {"what": RETRY, "source": "e1", **more}

    for _ in range(2):
        with pytest.raises(ProposalRefused, match=reason):
            await room.sight(**given)

    (kept,) = await room.sightings()
    assert (kept.proposal_id, kept.counted, kept.text) == (None, False, given["what"])
    assert await room.proposals() == []


@pytest.mark.requirement("H-07")
@pytest.mark.requirement("H-08")
@pytest.mark.parametrize(
    "more",
    [
        {"what": 7},
        {"why": None},
        {"category": "gossip"},
        {"category": "ux:tools"},
        {"scope": "tools:more"},
        {"scope": "Tools"},
        {"scope": "t" * 41},
        {"scope": ""},
        {"producer": "somebody"},
        {"source": "x" * 201},
    ],
)
async def test_what_cannot_be_understood_is_bad_input_and_leaves_nothing(store: Store, more: dict[str, Any]):
    room = Room(store)

    with pytest.raises(BadInput) as refused:
        await room.sight(**{"what": RETRY, **more})

    assert not isinstance(refused.value, ProposalRefused)
    assert await room.sightings() == []


@pytest.mark.requirement("H-08")
async def test_settings_may_add_a_category(store: Store):
    room = Room(store, categories=("reliability", "gossip"))

    assert (await room.sight(RETRY, category="gossip")).result is SightingStatus.CREATED


async def test_secrets_and_unstorable_characters_are_not_kept(store: Store):
    room = Room(store)

    await room.sight("Rotate the key sk-ant-api03-" + "a1B2" * 24 + " \x00now")

    (kept,) = await room.sightings()
    assert "a1B2a1B2" not in kept.text
    assert "\x00" not in kept.text


@pytest.mark.requirement("H-92")
async def test_two_spaces_with_the_same_words_have_two_proposals(store: Store):
    room, other = Room(store), SpaceId("work")
    await run_sql(store, "insert into space (id, name) values ('work', 'work')")
    here = await room.sight(RETRY)
    await room.reject(here)

    there = await room.sight(RETRY, space=other, session="s2")

    assert there.result is SightingStatus.CREATED
    assert here.fingerprint == there.fingerprint
    assert [each.seen_count for each in await room.proposals(other)] == [1]
    assert (await room.promote(space=other)).considered == 1
    assert (await room.promote()).considered == 0


async def test_what_a_muted_producer_says_is_held(store: Store):
    room = Room(store)
    room.muted = {("reflection", "reliability"): room.hands.now + 30 * DAY}

    held = await room.ripen()
    await room.ripen("Cache the answer", producer="api")

    assert (await room.proposal(held)).held is HoldReason.PRODUCER_MUTED
    assert (await room.promote()).counts["held"] == 1
    assert await room.events("proposal_held") == [{"proposal": str(held.proposal), "why": "producer_muted"}]
    room.forward(31 * DAY)
    assert (await room.promote()).promoted == 1


@pytest.mark.requirement("H-19")
async def test_fifty_sightings_at_once_of_ten_wordings_are_ten_proposals(store: Store):
    room = Room(store)
    said = [room.suggestion(f"Retry query number{n % 10}", session=f"s{n}", days_ago=n % 4) for n in range(50)]

    await asyncio.gather(*(record_sighting(room.deps, MAIN_SPACE, each) for each in said))

    found = await room.proposals()
    assert (len(found), sum(each.sightings for each in found)) == (10, 50)
    assert {each.seen_count for each in found} == {5}


async def test_a_sighting_within_a_transaction_that_fails_leaves_nothing(store: Store):
    room = Room(store)

    async def told_and_failed() -> None:
        async with store.transaction() as transaction:
            await record_sighting_in_transaction(room.deps, transaction, MAIN_SPACE, room.suggestion())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await told_and_failed()

    assert await rows(store, "select id from proposal_sighting") == []
    assert await room.events() == []
