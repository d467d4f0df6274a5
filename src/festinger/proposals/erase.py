"""Erases forgotten content from proposals and withdraws the votes of bad sources.

Forgetting keeps the counters and a marker: sightings that cite the forgotten item lose their text, payloads
that name it are emptied, and a proposal without text is closed. Withdrawing keeps sightings as they were but
no longer counts them: sessions that lost their vote to the source's flood get it back, and promoted proposals
that are no longer ripe wait again. Decisions stand, and a withdrawal can be reversed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from festinger.ids import MemoryId, SpaceId
from festinger.memory.erasure.selector import ErasureSelector
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.gate import check_ripeness, thresholds_for
from festinger.proposals.inbox import build_gate_input
from festinger.proposals.model import (
    Proposal,
    ProposalState,
    load_ids_with_duplicates,
    lock_duplicate_root,
    lock_proposal,
    save_state,
)
from festinger.proposals.pairs import PROMOTE
from festinger.proposals.sightings.recount import (
    PERSON,
    SightingExclusionReason,
    recount,
    select_sightings_for_votes,
    vote_limits_for,
)
from festinger.records import JsonRecord, to_json
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")


def is_target_forgotten(proposal: Proposal) -> bool:
    """Whether its target was forgotten; it can then only be closed."""
    return bool(proposal.target.get("forgotten"))


async def forget(deps: ProposalDeps, transaction: Transaction, space: SpaceId, ids: Sequence[UUID]) -> int:
    """Erase what proposals know of memories, episodes or turns; return how many sightings lost their text."""
    named = [str(id_) for id_ in ids]
    emptied = await transaction.all(Q["forget_sightings"], space=space, ids=named)
    touched = {row["proposal_id"] for row in emptied if row["proposal_id"]}
    touched |= {row["id"] for row in await transaction.all(Q["forget_payloads"], space=space, ids=named)}
    for proposal in sorted(touched):
        await transaction.run(Q["forget_words"], space=space, id=proposal)
        await transaction.run(Q["close_wordless"], space=space, id=proposal, at=deps.clock())
        await transaction.run(Q["forget_vectors"], space=space, id=proposal)
        await transaction.run(Q["forget_tasks"], space=space, id=proposal)
    return len(emptied)


PUT_BACK = frozenset({ProposalState.PROMOTED, ProposalState.DEFERRED})
"""States of proposals that are before a person, undecided, and not being worked on."""

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SightingWithdrawalResult(JsonRecord):
    """Sightings that no longer count, and what followed from that."""

    sightings: Mapping[UUID, str | None]
    """Each sighting's former exclusion reason, None if it counted."""
    lifted: tuple[UUID, ...] = ()
    """Sightings of other sessions that count now because votes became free."""
    waiting: Mapping[UUID, Mapping[str, Any]]
    """Proposals that wait again, each with its former state."""


async def withdraw_sightings(
    deps: ProposalDeps,
    transaction: Transaction,
    space: SpaceId,
    selector: ErasureSelector,
    *,
    bad: Collection[MemoryId] = (),
) -> SightingWithdrawalResult:
    """Stop counting sightings from a source, and those that cite bad memories."""
    rows = await transaction.all(
        Q["take_back_sightings"],
        space=space,
        **selector.provenance_parameters,
        bad=[str(each) for each in bad],
        flood=SightingExclusionReason.FLOOD,
        because=SightingExclusionReason.REPAIRED,
    )
    lifted: list[UUID] = []
    waiting: dict[UUID, Mapping[str, Any]] = {}
    for root, mine in (await _group_by_root(transaction, space, rows)).items():
        lifted += await _reassign_freed_votes(deps, transaction, root, mine)
        counted = await recount(deps, transaction, space, root, said=-sum(row["times"] for row in mine))
        if await _should_return_to_waiting(deps, transaction, counted):
            moved = ("state", "promoted_at", "deferred_until")
            waiting[root.id] = {name: to_json(getattr(root, name)) for name in moved}
            await save_state(
                transaction, replace(counted, state=ProposalState.WAITING, promoted_at=None, deferred_until=None)
            )
    if lifted:
        await deps.ask(transaction, PROMOTE)
    return SightingWithdrawalResult(
        sightings={row["id"]: row["was_because"] for row in rows}, lifted=tuple(lifted), waiting=waiting
    )


async def reinstate_sightings(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, kept: Mapping[str, Any]
) -> None:
    """Reverse `withdraw_sightings`, as if it had never happened."""
    because: Mapping[str, str | None] = kept.get("sightings", {})
    lifted: Sequence[str] = kept.get("lifted", ())
    marks = [*because.items(), *((id_, SightingExclusionReason.FLOOD.value) for id_ in lifted)]
    rows = await transaction.all(
        Q["mark_sightings"], space=space, ids=[id_ for id_, _ in marks], because=[why for _, why in marks]
    )
    sightings = [row for row in rows if str(row["id"]) in because]
    for root, mine in (await _group_by_root(transaction, space, rows)).items():
        times = sum(row["times"] for row in mine if row in sightings)
        await recount(deps, transaction, space, root, said=times)
    for id_, was in kept.get("waiting", {}).items():
        await transaction.run(Q["stand_before_person"], space=space, id=UUID(id_), **was)


async def _group_by_root(transaction: Transaction, space: SpaceId, rows: Iterable[Row]) -> dict[Proposal, list[Row]]:
    """Group sightings by the root of their proposal; each root is locked."""
    mine: dict[UUID, list[Row]] = {}
    for row in rows:
        if row["proposal_id"] is not None:
            mine.setdefault(row["proposal_id"], []).append(row)
    roots: dict[UUID, Proposal] = {}
    found: dict[UUID, list[Row]] = {}
    for id_ in sorted(mine):
        root = await lock_duplicate_root(transaction, space, await lock_proposal(transaction, space, id_))
        roots[root.id] = root
        found.setdefault(root.id, []).extend(mine[id_])
    return {roots[id_]: those for id_, those in found.items()}


async def _reassign_freed_votes(
    deps: ProposalDeps, transaction: Transaction, root: Proposal, taken: Iterable[Row]
) -> list[UUID]:
    """Give freed votes of a day to sessions that had none; return the sightings that count now."""
    space, limits = root.space_id, vote_limits_for(deps.terms(root.space_id))
    family = await load_ids_with_duplicates(transaction, space, root.id)
    lifted: list[UUID] = []
    for agent, day, origin in sorted({(row["agent_id"], row["day"], row["origin"]) for row in taken}):
        rows = await transaction.all(
            Q["day_of_agent"],
            space=space,
            family=family,
            agent=agent,
            day=day,
            origin=origin,
            flood=SightingExclusionReason.FLOOD,
        )
        counted = {row["session_id"] for row in rows if row["counted"]}
        waiting = [(row["session_id"], row["id"]) for row in rows if not row["counted"]]
        lifted += select_sightings_for_votes(waiting, counted, limits)
    await transaction.all(Q["mark_sightings"], space=space, ids=lifted, because=[None] * len(lifted))
    return lifted


async def _should_return_to_waiting(deps: ProposalDeps, transaction: Transaction, proposal: Proposal) -> bool:
    """Whether it is before a person who did not ask for it, and is no longer ripe."""
    if proposal.state not in PUT_BACK:
        return False
    bars = thresholds_for(deps.terms(proposal.space_id))
    if check_ripeness(build_gate_input(proposal), bars, now=deps.clock()).is_ripe:
        return False
    family = await load_ids_with_duplicates(transaction, proposal.space_id, proposal.id)
    by_person = await transaction.value(Q["is_sighted_by"], space=proposal.space_id, family=family, producer=PERSON)
    return not by_person
