"""Forgetting reaches proposals."""

from uuid import UUID

from tests.proposals.proposing import Room

from festinger.ids import MAIN_SPACE
from festinger.proposals.erase import forget, is_target_forgotten
from festinger.proposals.model import ProposalState
from festinger.store.pool import Store

SECRET = UUID("018f3a5e-0000-7000-8000-000000000001")
OTHER = UUID("018f3a5e-0000-7000-8000-000000000002")


async def forgotten(room: Room, *ids: UUID) -> int:
    async with room.store.transaction() as transaction:
        return await forget(room.deps, transaction, MAIN_SPACE, ids)


async def test_words_that_derive_from_what_was_forgotten_go_and_counters_stay(store: Store):
    room = Room(store)
    first = await room.sight("Call ada at home", evidence={"memories": [str(SECRET)]}, why="She said so.")
    await room.sight("At home: call ada", session="s2", evidence={"memories": [str(OTHER)]})

    assert await forgotten(room, SECRET) == 1

    proposal = await room.proposal(first)
    assert (proposal.what, proposal.why, proposal.seen_count) == ("At home: call ada", "", 2)
    assert [each.text for each in await room.sightings()] == ["", "At home: call ada"]
    assert proposal.state is ProposalState.WAITING


async def test_a_proposal_without_words_is_closed_and_tells_nothing(store: Store):
    room = Room(store)
    first = await room.sight("Call ada at home", evidence={"turns": [{"id": str(SECRET)}]})

    await forgotten(room, SECRET)
    again = await room.sight("Call ada at home", session="s2")

    closed = await room.proposal(first)
    assert (closed.state, closed.what, closed.fingerprint, closed.suppressed_until) == (
        ProposalState.REJECTED,
        "",
        "",
        None,
    )
    assert closed.normalised == str(closed.id)
    assert closed.seen_count == 1
    assert again.proposal != first.proposal


async def test_what_it_would_have_done_to_something_forgotten_goes(store: Store):
    room = Room(store)
    seen = await room.sight(payload={"op": "archive", "ids": [str(SECRET)]}, target={str(OTHER): 3, "of": str(SECRET)})
    kept = await room.sight("Cache the answer", payload={"ids": [str(OTHER)]})

    await forgotten(room, SECRET)

    proposal = await room.proposal(seen)
    assert (proposal.payload, proposal.what) == ({}, "Retry the failed query")
    assert is_target_forgotten(proposal)
    assert (await room.proposal(kept)).payload == {"ids": [str(OTHER)]}
