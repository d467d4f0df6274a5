"""Does what a producer wants to say stand here already?"""

from typing import Any

import pytest
from tests.memory.remembering import says
from tests.proposals.proposing import DAY, Room
from tests.proposals.sightings.test_similarity import AGAIN, FAR, RETRY, room_with

from festinger.embedding.profiles import EmbeddingPurpose
from festinger.errors import ProviderDown
from festinger.ids import MAIN_SPACE
from festinger.observability.metrics import PROPOSALS_BLIND
from festinger.proposals.sightings.intake import list_active_proposals, submit_suggestion
from festinger.proposals.sightings.recount import SightingResult, SightingStatus
from festinger.store.pool import Store

SAME = says("same", 0.95)


async def says_again(room: Room, what: str = AGAIN, **more: Any) -> SightingResult:
    return await submit_suggestion(room.deps, MAIN_SPACE, room.suggestion(what, session="s2", **more))


@pytest.mark.requirement("H-24")
async def test_what_is_open_with_the_same_meaning_gets_a_sighting_and_no_second_proposal(store: Store):
    room, _ = room_with(store, SAME)
    first = await room.sight(RETRY)

    again = await says_again(room)

    assert (again.result, again.proposal, again.seen_count) == (SightingStatus.MERGED, first.proposal, 2)
    assert len(await room.proposals()) == 1
    assert {each.text for each in await room.sightings()} == {RETRY, AGAIN}


@pytest.mark.requirement("H-24")
async def test_what_somebody_rejected_or_approved_is_not_proposed_in_other_words(store: Store):
    room, _ = room_with(store, SAME)
    first = await room.sight(RETRY)
    await room.reject(first)

    silenced = await says_again(room)
    await room.change(first, "state = 'applied'")
    applied = await says_again(room)

    assert (silenced.result, silenced.proposal) == (SightingStatus.SUPPRESSED, first.proposal)
    assert (applied.result, applied.proposal) == (SightingStatus.SEEN_AFTER, first.proposal)
    assert len(await room.proposals()) == 1


@pytest.mark.requirement("H-24")
async def test_what_is_rejected_and_silent_no_more_is_not_read(store: Store):
    room, _ = room_with(store, SAME)
    await room.reject(await room.sight(RETRY))
    room.forward(31 * DAY)

    assert await list_active_proposals(room.deps, MAIN_SPACE) == []
    assert (await says_again(room)).result is SightingStatus.CREATED


@pytest.mark.requirement("H-24")
@pytest.mark.parametrize(
    ("said", "words", "scope"),
    [(says("same", 0.85), AGAIN, "tools"), (SAME, FAR, "tools"), (SAME, AGAIN, "chat")],
    ids=["not sure", "far", "another scope"],
)
async def test_what_is_not_surely_the_same_or_stands_elsewhere_is_new(store: Store, said: Any, words: str, scope: str):
    room, _ = room_with(store, said)
    await room.sight(RETRY)

    assert (await says_again(room, words, scope=scope)).result is SightingStatus.CREATED


@pytest.mark.requirement("H-24")
async def test_a_producer_may_name_what_it_means(store: Store):
    room, judges = room_with(store, SAME)
    first = await room.sight(RETRY)

    said = await submit_suggestion(room.deps, MAIN_SPACE, room.suggestion(FAR, session="s2"), existing=first.proposal)

    assert (said.result, said.proposal, said.seen_count) == (SightingStatus.MERGED, first.proposal, 2)
    assert judges.asked == []


@pytest.mark.requirement("H-24")
async def test_without_an_embedder_that_answers_it_is_said_anyway_and_counted(store: Store):
    room, _ = room_with(store, SAME)
    await room.sight(RETRY)
    before = PROPOSALS_BLIND._value.get()

    async def silent(_texts: object, _purpose: EmbeddingPurpose) -> list[Any]:
        raise ProviderDown("away")

    assert room.embedder is not None
    room.embedder.embed = silent  # type: ignore[method-assign,assignment]

    assert (await says_again(room)).result is SightingStatus.CREATED
    assert PROPOSALS_BLIND._value.get() == before + 1


async def test_the_same_words_are_found_without_asking_anybody(store: Store):
    room, judges = room_with(store, SAME)
    await room.sight(RETRY)

    assert (await says_again(room, "The failed query: retry")).result is SightingStatus.MERGED
    assert judges.asked == []
