"""Proposals of the same meaning are suggested to a person, who alone joins them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from tests.memory.remembering import NearEmbedder, says
from tests.proposals.hearing import Court
from tests.proposals.proposing import DAY, Room

from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import AlreadyDecided, BadInput, NotFound, ProviderDown, Stale, Unseen
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.judge.model import Judgement, StatementPair
from festinger.proposals import inbox, pairs
from festinger.proposals.model import HoldReason, ProposalState, VerdictKind
from festinger.proposals.sightings.similarity import OFF, describe_comparison_state, suggest_similar_pairs
from festinger.store.pool import Store

RETRY, AGAIN = "Retry the failed query", "Run a failing search once more"
FAR = "Translate the manual"
NEAR = {RETRY: 1.0, AGAIN: 0.9}


@dataclass
class Told:
    """Judges that say of every pair what a test told them."""

    said: Judgement = field(default_factory=lambda: says("unsure", 0.5))
    asked: list[StatementPair] = field(default_factory=list)

    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        self.asked += pairs
        return [self.said] * len(pairs)


def room_with(
    store: Store, said: Judgement, near: dict[str, float] | None = None, **settings: Any
) -> tuple[Room, Told]:
    judges = Told(said=said)
    embedder = NearEmbedder(near or NEAR)
    return Room(store, judges=judges, embedder=embedder, **settings), judges


async def suggestion_of(room: Room) -> UUID:
    (pair,) = await pairs.list_suggested_pairs(room.deps, MAIN_SPACE)
    found: UUID = pair["id"]
    return found


@pytest.mark.requirement("H-20")
async def test_the_same_idea_in_other_words_is_suggested_and_not_joined(store: Store):
    room, judges = room_with(store, says("same", 0.85))
    for what in (RETRY, AGAIN, FAR):
        await room.sight(what)

    passed = await suggest_similar_pairs(room.deps, MAIN_SPACE)

    assert (passed.state, passed.judged, passed.suggested) == ("on", 1, 1)
    assert [(pair.old.text, pair.new.text) for pair in judges.asked] == [(RETRY, AGAIN)]
    assert {each.state for each in await room.proposals()} == {ProposalState.WAITING}
    (told,) = await room.events("proposal_pair_suggested")
    assert (told["relation"], told["confidence"]) == ("same", 0.85)
    assert isinstance(room.embedder, NearEmbedder)
    assert {purpose for purpose, _ in room.embedder.asked} == {EmbeddingPurpose.COMPARE}


@pytest.mark.requirement("H-20")
async def test_a_pair_is_judged_once_for_its_words_and_embedder(store: Store):
    room, judges = room_with(store, says("unrelated", 0.9))
    first = await room.sight(RETRY)
    await room.sight(AGAIN)
    await suggest_similar_pairs(room.deps, MAIN_SPACE)

    again = await suggest_similar_pairs(room.deps, MAIN_SPACE)
    await room.change(first, "what = 'Retry failed queries'")
    assert isinstance(room.embedder, NearEmbedder)
    room.embedder.near["Retry failed queries"] = 1.0
    reworded = await suggest_similar_pairs(room.deps, MAIN_SPACE)

    assert (again.judged, reworded.judged, len(judges.asked)) == (0, 1, 2)


@pytest.mark.requirement("H-20")
async def test_a_pass_judges_the_nearest_pairs_and_no_more_than_its_budget(store: Store):
    near = {f"Change number{n}": 1 - n / 100 for n in range(6)}
    room, judges = room_with(store, says("unrelated", 0.9), near, suggest_pairs_per_run=3)
    for what in near:
        await room.sight(what)

    assert (await suggest_similar_pairs(room.deps, MAIN_SPACE)).judged == 3
    found = [pair.features.similarity or 0.0 for pair in judges.asked]
    assert found == sorted(found, reverse=True)
    assert (await suggest_similar_pairs(room.deps, MAIN_SPACE)).judged == 3


@pytest.mark.requirement("H-21")
@pytest.mark.parametrize(
    ("other", "said", "relation"),
    [
        (AGAIN, says("contradicts", 0.9), "opposite"),
        ("Do not retry the failed query", says("same", 0.99), "opposite"),
        (AGAIN, says("same", 0.79), None),
        (AGAIN, says("unrelated", 0.9), None),
        (AGAIN, says("refines", 0.9), None),
    ],
)
async def test_what_the_judge_says_decides_what_is_suggested(
    store: Store, other: str, said: Judgement, relation: str | None
):
    room, _ = room_with(store, said, {RETRY: 1.0, other: 0.95})
    await room.sight(RETRY)
    await room.sight(other)

    passed = await suggest_similar_pairs(room.deps, MAIN_SPACE)

    found = await pairs.list_suggested_pairs(room.deps, MAIN_SPACE)
    assert (passed.judged, [each["relation"] for each in found]) == (1, [relation] if relation else [])


@pytest.mark.requirement("H-21")
async def test_without_an_embedder_the_pass_is_off_and_says_so(store: Store):
    room = Room(store)
    await room.sight(RETRY)
    await room.sight(AGAIN)

    assert (await suggest_similar_pairs(room.deps, MAIN_SPACE)).state == OFF == "off (no embedder)"
    assert describe_comparison_state(room.deps, MAIN_SPACE) == OFF


async def test_an_embedder_that_does_not_answer_breaks_nothing(store: Store):
    room, _ = room_with(store, says("same", 0.9))
    await room.sight(RETRY)
    await room.sight(AGAIN)
    assert isinstance(room.embedder, NearEmbedder)
    room.embedder.fault = ProviderDown("away")

    assert (await suggest_similar_pairs(room.deps, MAIN_SPACE)).judged == 0


@pytest.mark.requirement("H-22")
async def test_accepting_unites_the_causes_and_parting_gives_back_what_was(store: Store):
    room, _ = room_with(store, says("same", 0.9))
    for session, days in (("a", 9), ("b", 3)):
        await room.sight(RETRY, session=session, days_ago=days)
    for session, days in (("b", 3), ("c", 8)):
        await room.sight(AGAIN, session=session, days_ago=days)
    await suggest_similar_pairs(room.deps, MAIN_SPACE)
    before = await room.proposals()
    pair = await suggestion_of(room)

    joined = await pairs.accept_pair(room.deps, MAIN_SPACE, pair, by="ada")

    assert (joined.what, joined.seen_count, joined.sightings) == (RETRY, 3, 4)
    assert joined.first_seen == room.hands.now - 9 * DAY
    assert [each.state for each in await room.proposals()] == [ProposalState.WAITING, ProposalState.DUPLICATE]
    assert ("promote_proposals", {}) in room.asked
    with pytest.raises(AlreadyDecided):
        await pairs.accept_pair(room.deps, MAIN_SPACE, pair, by="ada")
    left, alone = await pairs.split_pair(room.deps, MAIN_SPACE, pair, by="ada")
    assert [(each.state, each.seen_count, each.sightings) for each in (left, alone)] == [
        (each.state, each.seen_count, each.sightings) for each in before
    ]


@pytest.mark.requirement("H-22")
async def test_what_was_declined_is_not_suggested_again(store: Store):
    room, judges = room_with(store, says("same", 0.9))
    first = await room.sight(RETRY)
    await room.sight(AGAIN)
    await suggest_similar_pairs(room.deps, MAIN_SPACE)

    await pairs.decline_pair(room.deps, MAIN_SPACE, await suggestion_of(room), by="ada")
    await room.change(first, "what = 'Retry failed queries'")
    assert isinstance(room.embedder, NearEmbedder)
    room.embedder.near["Retry failed queries"] = 1.0
    await suggest_similar_pairs(room.deps, MAIN_SPACE)

    assert len(judges.asked) == 1
    assert await pairs.list_suggested_pairs(room.deps, MAIN_SPACE) == []


@pytest.mark.requirement("H-22")
async def test_opposites_cannot_be_joined(store: Store):
    room, _ = room_with(store, says("contradicts", 0.9))
    await room.sight(RETRY)
    await room.sight(AGAIN)
    await suggest_similar_pairs(room.deps, MAIN_SPACE)

    with pytest.raises(BadInput, match="opposite"):
        await pairs.accept_pair(room.deps, MAIN_SPACE, await suggestion_of(room), by="ada")


@pytest.mark.requirement("H-23")
async def test_a_rejected_idea_in_new_words_is_held_until_its_silence_ends(store: Store):
    room, _ = room_with(store, says("same", 0.95))
    rejected = await room.ripen()
    await room.reject(rejected)
    room.forward(DAY)
    reworded = await room.ripen(AGAIN)

    passed = await suggest_similar_pairs(room.deps, MAIN_SPACE)

    assert passed.held == 1
    held = await room.proposal(reworded)
    assert (held.held, held.seen_count) == (HoldReason.LIKE_REJECTED, 0)
    assert (await room.promote()).counts["held"] == 1
    assert {"proposal": str(held.id), "why": "like_rejected"} in await room.events("proposal_held")
    room.forward(30 * DAY)
    for n in range(2):
        await room.sight(AGAIN, session=f"fresh{n}", days_ago=0)
        room.forward(4 * DAY)
    assert (await room.promote()).promoted == 1


@pytest.mark.requirement("H-23")
@pytest.mark.parametrize("by_pair", [True, False])
async def test_what_is_held_is_let_go_by_one_word_of_a_person(store: Store, by_pair: bool):
    room, _ = room_with(store, says("same", 0.95))
    await room.reject(await room.ripen())
    reworded = await room.ripen(AGAIN)
    await suggest_similar_pairs(room.deps, MAIN_SPACE)

    if by_pair:
        await pairs.decline_pair(room.deps, MAIN_SPACE, await suggestion_of(room), by="ada")
    else:
        held = await room.proposal(reworded)
        async with store.transaction() as transaction:
            await pairs.release_held(room.deps, transaction, MAIN_SPACE, held.id)

    released = await room.proposal(reworded)
    assert (released.held, released.seen_count) == (None, 2)
    with pytest.raises(NotFound):
        async with store.transaction() as transaction:
            await pairs.release_held(room.deps, transaction, MAIN_SPACE, released.id)


@pytest.mark.requirement("H-23")
async def test_only_a_sure_likeness_holds(store: Store):
    room, _ = room_with(store, says("same", 0.85))
    await room.reject(await room.ripen())
    await room.ripen(AGAIN)

    assert (await suggest_similar_pairs(room.deps, MAIN_SPACE)).held == 0


@pytest.mark.requirement("H-21")
async def test_neither_of_two_opposites_is_approved_by_whoever_has_not_seen_the_other(store: Store):
    court = Court(store, judges=Told(said=says("contradicts", 0.9)), embedder=NearEmbedder(NEAR))
    one, other = await court.promoted(RETRY), await court.promoted(AGAIN, agent="b")
    await suggest_similar_pairs(court.deps, MAIN_SPACE)
    shown = await inbox.load_card(court.deps, MAIN_SPACE, one.id)
    with pytest.raises(Stale):
        await court.decide(one, version=one.version, seen=(other.id,))
    for blind in (one, other):
        with pytest.raises(Unseen, match="opposite"):
            await court.decide(blind)

    seen = await court.decide(one, version=shown.proposal.version, seen=(other.id,))
    await court.decide(other, VerdictKind.REJECT)

    assert list(shown.opposites.items()) == [(other.id, AGAIN)]
    assert (await inbox.load_card(court.deps, MAIN_SPACE, other.id)).opposites == {one.id: RETRY}
    assert seen.result == "applied"
    assert [task["title"] for task in await court.table("task")] == [RETRY]


@pytest.mark.requirement("H-21")
async def test_two_that_a_person_declared_no_opposites_are_approved_each_by_itself(store: Store):
    court = Court(store, judges=Told(said=says("contradicts", 0.9)), embedder=NearEmbedder(NEAR))
    one, _ = await court.promoted(RETRY), await court.promoted(AGAIN, agent="b")
    await suggest_similar_pairs(court.deps, MAIN_SPACE)
    await pairs.decline_pair(court.deps, MAIN_SPACE, await suggestion_of(court), by="ada")

    assert (await court.decide(one)).result == "applied"
