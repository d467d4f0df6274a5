"""Records what people decide about suggested pairs and releases held proposals.

Accepting merges two: the older stands for both, causes are united rather than summed, and each keeps its own
wording and sightings, so that splitting restores what was. Declining is remembered: the pair is not suggested
again. A reviewer can also release one held proposal or unmute a producer.
"""

import json
from typing import Any
from uuid import UUID

from festinger.errors import AlreadyDecided, BadInput, NotFound
from festinger.ids import SpaceId
from festinger.proposals.deps import Key, ProposalDeps
from festinger.proposals.model import Author, Proposal, ProposalState, lock_duplicate_root, lock_proposal, proposal_of
from festinger.proposals.producers import ProducerValue, load_producer_values
from festinger.proposals.sightings.recount import recount
from festinger.proposals.verdicts.reviewers import require_reviewer
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")

PROMOTE = "promote_proposals"
"""The job that runs the gate."""

MOST = 200


async def list_suggested_pairs(deps: ProposalDeps, space: SpaceId, *, limit: int = 50) -> list[dict[str, Any]]:
    """List open pairs, newest first."""
    return list(await deps.store.all(Q["suggested_pairs"], space=space, limit=min(limit, MOST)))


async def load_opposites(transaction: Transaction, space: SpaceId, proposal: UUID) -> dict[UUID, str]:
    """Return the text of each proposal that asks for the opposite, unless a person said it does not."""
    rows = await transaction.all(Q["opposites_of"], space=space, proposal=proposal)
    return {row["id"]: row["what"] for row in rows}


async def accept_pair(deps: ProposalDeps, space: SpaceId, pair: UUID, *, by: str) -> Proposal:
    """Merge two proposals of the same meaning; return the one that stands for both."""
    async with deps.store.transaction() as transaction:
        row = await _lock_open_pair(transaction, space, pair)
        if row["relation"] != "same":
            raise BadInput("These two ask for opposite things.", hint="Decide each of them by itself.")
        one, other = [
            await lock_duplicate_root(transaction, space, await lock_proposal(transaction, space, row[id_]))
            for id_ in ("a_id", "b_id")
        ]
        if one.id == other.id:
            raise AlreadyDecided("These two are one already.")
        older, younger = sorted((one, other), key=lambda each: (each.first_seen or each.created_at, each.id))
        await transaction.run(Q["join_proposal"], space=space, id=younger.id, of=older.id)
        if younger.state is ProposalState.PROMOTED and older.state is ProposalState.WAITING:
            lifted = await transaction.one(Q["promote_proposal"], space=space, id=older.id, at=deps.clock())
            older = proposal_of(lifted)
        joined = await recount(deps, transaction, space, older, said=younger.sightings)
        before = {"joined": str(younger.id), "into": str(older.id), "was": younger.state, "stood": one.state}
        await _save_pair_decision(
            deps, transaction, space, pair, state="accepted", by=by, note={**row["judgement"], **before}
        )
        await deps.ask(transaction, PROMOTE)
    return joined


async def split_pair(deps: ProposalDeps, space: SpaceId, pair: UUID, *, by: str) -> tuple[Proposal, Proposal]:
    """Undo a merge; each proposal keeps its own sightings."""
    async with deps.store.transaction() as transaction:
        row = await transaction.maybe(Q["hold_pair"], space=space, id=pair)
        if row is None or row["state"] != "accepted":
            raise NotFound(f"There is no joined pair `{pair}`.")
        parted = await lock_proposal(transaction, space, UUID(row["judgement"]["joined"]))
        root = await lock_proposal(transaction, space, UUID(row["judgement"]["into"]))
        again = await transaction.one(Q["part_proposal"], space=space, id=parted.id, state=row["judgement"]["was"])
        alone = await recount(deps, transaction, space, proposal_of(again))
        left = await recount(deps, transaction, space, root, said=-alone.sightings)
        await _save_pair_decision(deps, transaction, space, pair, state="declined", by=by, note=row["judgement"])
    return left, alone


async def decline_pair(deps: ProposalDeps, space: SpaceId, pair: UUID, *, by: str) -> None:
    """Record that two proposals differ; a hold because of their similarity is released."""
    async with deps.store.transaction() as transaction:
        row = await _lock_open_pair(transaction, space, pair)
        await _save_pair_decision(deps, transaction, space, pair, state="declined", by=by, note=row["judgement"])
        if held_one := row["judgement"].get("holds"):
            await release_held(deps, transaction, space, UUID(held_one))


async def release_held(deps: ProposalDeps, transaction: Transaction, space: SpaceId, id_: UUID) -> Proposal:
    """Release a held proposal; its sightings count."""
    row = await transaction.one(Q["release_proposal"], NotFound(f"No proposal `{id_}` is held."), space=space, id=id_)
    return await recount(deps, transaction, space, proposal_of(row))


async def _lock_open_pair(transaction: Transaction, space: SpaceId, pair: UUID) -> dict[str, Any]:
    row = await transaction.maybe(Q["hold_pair"], space=space, id=pair)
    if row is None or row["relation"] is None:
        raise NotFound(f"There is no suggested pair `{pair}`.")
    if row["state"] != "open":
        raise AlreadyDecided(f"This pair was {row['state']} by `{row['decided_by']}`.")
    return dict(row)


async def _save_pair_decision(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, pair: UUID, *, state: str, by: str, note: Any
) -> None:
    await transaction.run(
        Q["decide_pair"], space=space, id=pair, state=state, by=by, at=deps.clock(), judgement=json.dumps(note)
    )


LONGEST_PRODUCER, LONGEST_CATEGORY = 80, 40


async def release_by_reviewer(deps: ProposalDeps, space: SpaceId, proposal: UUID, *, author: Author) -> Proposal:
    """Release a held proposal for a reviewer. Raises `NotFound`, `NotAuthorised`."""
    await require_reviewer(deps, space, author)
    async with deps.store.transaction() as transaction:
        return await release_held(deps, transaction, space, proposal)


async def unmute_producer(deps: ProposalDeps, space: SpaceId, key: Key, *, author: Author) -> int:
    """Unmute a producer; return how many of its proposals that releases.

    Earlier decisions no longer mute it; its value does not change.
    """
    reviewer = await require_reviewer(deps, space, author)
    producer, category = key
    if not (1 <= len(producer) <= LONGEST_PRODUCER and 1 <= len(category) <= LONGEST_CATEGORY):
        raise BadInput("Which producer and which category are meant is missing, or too long.")
    names = {"space": space, "producer": producer, "category": category}
    async with deps.store.transaction() as transaction:
        await transaction.run(Q["lift_producer"], **names, at=deps.clock(), by=reviewer.name)
        return await transaction.run(Q["release_producer"], **names)


async def list_muted_producers(deps: ProposalDeps, space: SpaceId) -> list[ProducerValue]:
    """List the muted producers, lowest value first."""
    async with deps.store.transaction() as transaction:
        found = await load_producer_values(deps, transaction, space)
    return sorted(
        (each for each in found.values() if each.muted_until is not None), key=lambda each: (each.value, each.key)
    )
