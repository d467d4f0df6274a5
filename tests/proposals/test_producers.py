"""Does asking pay?"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proposals.hearing import ADA, AGENT, Court

from festinger.errors import NotAuthorised
from festinger.ids import MAIN_SPACE
from festinger.proposals.deps import EffectPreview
from festinger.proposals.gate import compute_rank
from festinger.proposals.model import HoldReason, ProposalState, ProposalType, VerdictKind
from festinger.proposals.pairs import list_muted_producers, release_by_reviewer, unmute_producer
from festinger.proposals.producers import ProducerValue, ProposalOutcome, compute_producer_value, load_producer_values
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Store

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
DAY = timedelta(days=1)
TERMS = ProposalsSettings()
KEY = ("reflection", "reliability")
IDEAS = (
    "Retry the query",
    "Cache the answer",
    "Split the batch",
    "Lower the limit",
    "Log the error",
    "Pin the version",
)


def decided(state: ProposalState = ProposalState.REJECTED, *, days_ago: float = 0, **more: object) -> ProposalOutcome:
    return ProposalOutcome(key=KEY, state=state, decided_at=NOW - days_ago * DAY, **more)  # type: ignore[arg-type]


def of(*decisions: ProposalOutcome, now: datetime = NOW, lifted_at: datetime | None = None) -> ProducerValue:
    return compute_producer_value(KEY, decisions, TERMS, now=now, lifted_at=lifted_at)


@pytest.mark.parametrize(
    ("rejected", "applied", "value", "is_muted"),
    [(5, 0, -5 / 7, True), (4, 1, -3 / 7, True), (3, 2, -1 / 7, False), (4, 0, -4 / 6, False)],
    ids=["five no", "four no", "three no", "too few"],
)
def test_whoever_was_mostly_wrong_is_muted(rejected: int, applied: int, value: float, is_muted: bool):
    found = of(*[decided()] * rejected, *[decided(ProposalState.APPLIED)] * applied)

    assert found.value == pytest.approx(value)
    assert (found.muted_until is not None) == is_muted


@pytest.mark.requirement("H-70")
@pytest.mark.parametrize(
    ("decision", "weight"),
    [
        (decided(ProposalState.APPLIED), 1.0),
        (decided(ProposalState.REJECTED), -1.0),
        (decided(ProposalState.REJECTED, is_silenced=False), -0.5),
        (decided(ProposalState.UNDONE), -0.5),
        (decided(ProposalState.DUPLICATE, of_state=ProposalState.REJECTED), -0.5),
        (decided(ProposalState.APPLIED, days_ago=14, seen_after=2), -0.5),
        (decided(ProposalState.APPLIED, days_ago=13, seen_after=2), 1.0),
        (decided(ProposalState.APPLIED, days_ago=14, seen_after=1), 1.0),
    ],
    ids=["applied", "no", "forgotten", "undone", "joined", "still seen", "too early", "seen once"],
)
def test_each_decision_has_its_weight(decision: ProposalOutcome, weight: float):
    found = of(decision)

    assert found.value == pytest.approx(weight / 3)
    assert found.decided == 1


@pytest.mark.requirement("H-70")
@pytest.mark.parametrize(
    "decision",
    [
        decided(ProposalState.DEFERRED),
        decided(ProposalState.PROMOTED),
        decided(ProposalState.DUPLICATE, of_state=ProposalState.APPLIED),
        decided(ProposalState.APPLIED, days_ago=91),
    ],
    ids=["deferred", "open", "joined to a good one", "long ago"],
)
def test_what_says_nothing_is_not_counted(decision: ProposalOutcome):
    assert of(decision, decided(ProposalState.APPLIED)) == of(decided(ProposalState.APPLIED))


@pytest.mark.requirement("H-70")
@given(st.lists(st.sampled_from([ProposalState.APPLIED, ProposalState.REJECTED, ProposalState.UNDONE]), max_size=30))
def test_a_value_lies_between_minus_one_and_one(states: list[ProposalState]):
    assert -1 < of(*map(decided, states)).value < 1


def test_muting_ends_thirty_days_after_the_last_no_and_at_once_when_it_is_lifted():
    five = [decided(days_ago=days) for days in range(5)]

    assert of(*five).muted_until == NOW + 30 * DAY
    assert of(*five, now=NOW + 30 * DAY).muted_until is not None
    assert of(*five, now=NOW + 31 * DAY).muted_until is None
    assert of(*five, lifted_at=NOW).muted_until is None
    assert of(*five, lifted_at=NOW).value == of(*five).value


def test_a_person_is_never_muted():
    assert compute_producer_value(("person", "ux"), [decided()] * 9, TERMS, now=NOW).muted_until is None


@pytest.mark.requirement("H-72")
def test_what_paid_before_is_shown_before_what_was_seen_a_little_more_often():
    assert compute_rank(4, 0.5) == 6.0
    assert compute_rank(4, 0.5) > compute_rank(5, 0.0)
    assert (compute_rank(4, 0.9), compute_rank(4, -0.9)) == (6.0, 2.0)


async def five_rejected(court: Court) -> None:
    for idea in IDEAS[:5]:
        await court.decide(await court.promoted(idea), VerdictKind.REJECT)


async def test_after_five_rejections_new_proposals_of_that_kind_are_held_and_still_kept(store: Store):
    court = Court(store)
    await five_rejected(court)

    sighted = await court.ripen(IDEAS[5])
    await court.promote()
    other = await court.ripen("Show a progress bar", category="ux")

    held = await court.proposal(sighted)
    assert (held.held, held.state, held.seen_count) == (HoldReason.PRODUCER_MUTED, ProposalState.WAITING, 2)
    assert (await court.proposal(other)).held is None
    (told,) = await court.events("producer_muted")
    assert (told["producer"], told["category"], told["value"]) == ("reflection", "reliability", -0.7143)
    assert [(each.key, round(each.value, 3)) for each in await list_muted_producers(court.deps, MAIN_SPACE)] == [
        (KEY, -0.714)
    ]


async def test_a_reviewer_lifts_the_muting_and_what_was_held_goes_its_way(store: Store):
    court = Court(store)
    await five_rejected(court)
    sighted = await court.ripen(IDEAS[5])

    with pytest.raises(NotAuthorised):
        await unmute_producer(court.deps, MAIN_SPACE, KEY, author=AGENT)
    released = await unmute_producer(court.deps, MAIN_SPACE, KEY, author=ADA)
    court.forward()
    await court.promote()

    assert released == 1
    assert (await court.proposal(sighted)).state is ProposalState.PROMOTED
    assert await list_muted_producers(court.deps, MAIN_SPACE) == []
    assert (await court.proposal(await court.sight("Trim the prompt"))).held is None


async def test_one_proposal_that_is_held_is_released_by_a_reviewer(store: Store):
    court = Court(store)
    await five_rejected(court)
    sighted = await court.ripen(IDEAS[5])
    assert sighted.proposal is not None

    with pytest.raises(NotAuthorised):
        await release_by_reviewer(court.deps, MAIN_SPACE, sighted.proposal, author=AGENT)
    await release_by_reviewer(court.deps, MAIN_SPACE, sighted.proposal, author=ADA)

    assert (await court.proposal(sighted)).held is None


@pytest.mark.requirement("H-57")
@pytest.mark.requirement("H-70")
async def test_undo_turns_what_was_shipped_into_noise_and_so_does_a_forgotten_target(store: Store):
    court = Court(store)
    kept, undone, forgotten = [await court.promoted(idea, type=ProposalType.MEMORY_CHANGE) for idea in IDEAS[:3]]

    async def value() -> float:
        async with store.transaction() as transaction:
            return (await load_producer_values(court.deps, transaction, MAIN_SPACE))[KEY].value

    await court.decide(kept)
    await court.decide(undone)
    shipped = await value()
    await court.undo(undone)
    taken_back = await value()
    court.trial.found = EffectPreview(is_forgotten=True)
    await court.decide(forgotten)

    assert (shipped, taken_back, await value()) == (2 / 4, 0.5 / 4, 0.0)


@pytest.mark.requirement("H-45")
async def test_deferring_neither_suppresses_nor_counts_against_the_producer(store: Store):
    court = Court(store)
    await court.decide(await court.promoted(), VerdictKind.DEFER)

    async with store.transaction() as transaction:
        assert await load_producer_values(court.deps, transaction, MAIN_SPACE) == {}
