"""Validates and cleans learn requests, records refusals and handles idempotency keys.

Bad input raises; injected blocks, hidden characters and secrets are removed, and what nobody asked to learn
must be worth keeping. Sources are looked up here, because a derived memory is trusted no more than they are.
Every refusal is stored with its reason. The result of a call with a key is stored for a day, in the same
transaction, and returned for a repeated call; the same key with other content raises.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from festinger.errors import NotFound, Replayed
from festinger.ids import DEFAULT_AGENT, AgentId, MemoryId, SpaceId
from festinger.memory.changes import find_ancestors, find_memories
from festinger.memory.confidence import compute_trust
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.compare import find_suspicions
from festinger.memory.learn.decision import Action
from festinger.memory.learn.result import Learned, describe_action, result_from_json
from festinger.memory.learn.statement import (
    CleanedInput,
    LearnRequest,
    ParsedStatement,
    build_statement,
    find_refusal_reason,
    redact_input,
    validate_request,
)
from festinger.memory.model import Memory, Scope
from festinger.observability.metrics import MEMORY_REFUSED
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.text.overlap import remove_copies
from festinger.text.secrets import MARK

Q = queries_of("festinger.memory")

ONLY_SECRETS = "secret"
EMPTY = "empty"
FORGOTTEN = "forgotten"

LONGEST_REFUSED = 2_000

_MARK = MARK.decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalDetail:
    reason: str
    detail: str = ""


async def parse_learn_request(
    deps: MemoryDeps,
    transaction: Transaction,
    place: Scope,
    given: LearnRequest,
    *,
    shown: frozenset[tuple[str, ...]] = frozenset(),
) -> ParsedStatement | RefusalDetail:
    """Parse a learn request, or return why it is refused. Bad input raises.

    `shown` are shingles of what was surfaced in the session: a client may have stripped our tags.
    """
    terms = deps.terms(place.space)
    given = validate_request(given, redact=terms.redact)
    deps.step("checked")
    clean = strip_surfaced_sentences(redact_input(given.text, deps.without_blocks, redact=terms.redact), shown)
    deps.step("cleaned")
    if (reason := find_refusal(given, clean)) is not None:
        return reason
    now = deps.clock()
    trusts = await _source_trusts(transaction, place, given)
    trust = compute_trust(given.origin, terms.trusts, sources=trusts, by_model=given.worded_by_model)
    suspected = find_suspicions(clean.text, origin=given.origin, hid=clean.hid) if terms.memory.quarantine else ()
    return build_statement(given, clean, owner=find_owner(place, given), trust=trust, at=now, suspicions=suspected)


def strip_surfaced_sentences(clean: CleanedInput, shown: frozenset[tuple[str, ...]]) -> CleanedInput:
    """Remove surfaced sentences. If nothing else is left, the text stays: a later step detects echoes."""
    return replace(clean, text=remove_copies(clean.text, shown) or clean.text)


def find_owner(place: Scope, given: LearnRequest) -> AgentId | None:
    """Return the owner of the memory: the agent, or None if it is shared or there is no agent."""
    shared = place.agent == DEFAULT_AGENT if given.shared is None else given.shared
    return None if shared else place.agent


def find_refusal(given: LearnRequest, clean: CleanedInput) -> RefusalDetail | None:
    """Why a statement is refused; None if it is accepted."""
    left = clean.text
    for kind in clean.redactions:
        left = left.replace(f"{_MARK}{kind}]", "")
    if clean.redactions and not any(char.isalnum() for char in left):
        return RefusalDetail(reason=ONLY_SECRETS, detail=", ".join(clean.redactions))
    if not left.strip():
        return RefusalDetail(reason=EMPTY, detail="nothing is left without our own notes")
    if not given.asked and (found := find_refusal_reason(clean.text)) is not None:
        return RefusalDetail(reason=found.value)
    return None


async def _source_trusts(transaction: Transaction, place: Scope, given: LearnRequest) -> list[float]:
    """Return the trust of everything that a statement derives from, at any depth."""
    trusts = [turn.trust for turn in given.turns]
    if not given.derived_from:
        return trusts
    found = await find_memories(transaction, place.space, given.derived_from)
    hidden = [memory.id for memory in found.values() if memory.agent_id not in (None, place.agent)]
    if missing := [memory for memory in given.derived_from if memory not in found or memory in hidden]:
        raise NotFound(f"There is no memory `{missing[0]}` to derive from.")
    line = await find_ancestors(transaction, place.space, given.derived_from)
    trusts += [memory.trust for memory in found.values()]
    return trusts + [each.trust for each in line if each.trust is not None]


async def record_refusal(
    deps: MemoryDeps,
    transaction: Transaction,
    place: Scope,
    given: LearnRequest,
    refusal: RefusalDetail,
    *,
    at: datetime,
) -> Learned:
    """Store a refusal and return the result."""
    id_, cause = deps.new_uuid(), place.cause(given.origin, at)
    redacted = deps.terms(place.space).redact(given.text)
    await transaction.run(
        Q["refuse"],
        space=place.space,
        id=id_,
        reason=refusal.reason,
        detail=refusal.detail[:200],
        text=redacted.text[:LONGEST_REFUSED],
        agent=cause.agent,
        session=cause.session,
        day=cause.day,
        origin=cause.origin.value,
        at=at,
    )
    await deps.outbox.emit(
        transaction,
        "learn_refused",
        space=place.space,
        subject=f"refusal:{id_}",
        payload={"refusal": str(id_), "reason": refusal.reason},
        agent=place.agent,
        session=place.session or None,
    )
    MEMORY_REFUSED.labels(refusal.reason).inc()
    reasons = (refusal.reason,)
    return Learned(
        memory=None,
        action=Action.REFUSED,
        reasons=reasons,
        redactions=redacted.kinds,
        said=describe_action(Action.REFUSED, reasons=reasons),
        refusal=id_,
    )


KEPT_FOR = timedelta(hours=24)

Write = Callable[[], Awaitable[Learned]]


async def find_idempotent_result(
    deps: MemoryDeps, transaction: Transaction, place: Scope, given: LearnRequest
) -> Learned | None:
    """Return the result of an earlier call with this key, if any. Raises `Replayed`."""
    found = await find_idempotent_results(deps, transaction, place, [given])
    if isinstance(done := found.get(given.key or ""), Replayed):
        raise done
    return done


async def find_idempotent_results(
    deps: MemoryDeps, transaction: Transaction, place: Scope, items: Sequence[LearnRequest]
) -> dict[str, Learned | Replayed]:
    """Return earlier results by key; `Replayed` where the content differs."""
    asked = {given.key: given.body_hash for given in items if given.key}
    if not asked:
        return {}
    since = deps.clock() - KEPT_FOR
    rows = await transaction.all(Q["find_keys"], space=place.space, agent=place.agent, keys=list(asked), since=since)
    kept = [UUID(row["result"]["memory"]) for row in rows if row["result"]["memory"]]
    memories = await find_memories(transaction, place.space, kept) if kept else {}
    return {row["key"]: _replay_result(row, asked[row["key"]], memories) for row in rows}


def _replay_result(row: Mapping[str, Any], body_hash: bytes, memories: Mapping[MemoryId, Memory]) -> Learned | Replayed:
    if bytes(row["body_hash"]) != body_hash:
        return Replayed(f"The key `{row['key'][:40]}` was used for other words.")
    kept = row["result"]["memory"]
    return result_from_json(row["result"], memories.get(MemoryId(UUID(kept))) if kept else None)


async def prune_keys(deps: MemoryDeps, space: SpaceId) -> int:
    """Delete expired keys."""
    return await deps.store.run(Q["prune_keys"], space=space, before=deps.clock() - KEPT_FOR)


async def run_idempotent(
    deps: MemoryDeps, transaction: Transaction, place: Scope, *, given: LearnRequest, write: Write
) -> Learned:
    """Run `write` unless a call with the same key already did, and store its result."""
    if given.key is None:
        return await write()
    await transaction.run(Q["lock_key"], space=place.space, agent=place.agent, key=given.key)
    if (done := await find_idempotent_result(deps, transaction, place, given)) is not None:
        return done
    learned = await write()
    result = learned.as_json() | {"memory": str(learned.memory.id) if learned.memory else None}
    await transaction.run(
        Q["keep_key"],
        space=place.space,
        agent=place.agent,
        key=given.key,
        body_hash=given.body_hash,
        result=json.dumps(result),
        at=deps.clock(),
    )
    return learned
