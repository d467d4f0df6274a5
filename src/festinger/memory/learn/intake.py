"""Validates and cleans learn requests, records refusals and handles idempotency keys.

Bad input raises; injected blocks, hidden characters and secrets are removed, and what nobody asked to learn
must be worth keeping. Sources are looked up here, because a derived memory is trusted no more than they are.
Every refusal is stored with its reason. The result of a call with a key is stored for a day, in the same
transaction, and returned for a repeated call; the same key with other content raises.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from festinger.errors import NotFound, Replayed
from festinger.ids import DEFAULT_AGENT, AgentId, MemoryId, Scope, cause_columns
from festinger.memory.changes import find_ancestors, load_existing_memories
from festinger.memory.confidence import compute_trust
from festinger.memory.deps import MemoryDeps
from festinger.memory.learn.compare import find_suspicions
from festinger.memory.learn.result import Learned, build_error_result, describe_action, result_from_json
from festinger.memory.learn.statement import (
    LearnRequest,
    Statement,
    build_statement,
    find_refusal_reason,
    is_storable,
    normalize_learn_request,
    strip_blocks_and_secrets,
)
from festinger.memory.model import LearnAction, Memory
from festinger.observability.metrics import MEMORY_REFUSED
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.text.overlap import remove_copies
from festinger.text.secrets import MARK, RedactionResult

Q = load_queries("festinger.memory")

ONLY_SECRETS = "secret"
EMPTY = "empty"
FORGOTTEN = "forgotten"

LONGEST_REFUSED = 2_000

Shingles = frozenset[tuple[str, ...]]

_MARK = MARK.decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnRefusal:
    """A request that is refused, and why."""

    request: LearnRequest
    reason: str
    detail: str = ""


async def parse_learn_request(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, request: LearnRequest, *, shown: Shingles = frozenset()
) -> Statement | LearnRefusal:
    """Parse a learn request, or return why it is refused. Bad input raises.

    `shown` are shingles of what was surfaced in the session: a client may have stripped our tags.
    """
    terms = deps.terms(scope.space)
    request = normalize_learn_request(request, redact=terms.redact)
    deps.step("checked")
    clean = strip_surfaced_sentences(
        strip_blocks_and_secrets(request.text, deps.without_blocks, redact=terms.redact), shown
    )
    deps.step("cleaned")
    if (refusal := find_refusal(request, clean)) is not None:
        return refusal
    now = deps.clock()
    trusts = await _source_trusts(transaction, scope, request)
    trust = compute_trust(request.origin, terms.trusts, sources=trusts, by_model=request.worded_by_model)
    suspected = find_suspicions(request, clean.text, deps.without_blocks) if terms.memory.quarantine else ()
    return build_statement(request, clean, owner=find_owner(scope, request), trust=trust, at=now, suspicions=suspected)


def strip_surfaced_sentences(clean: RedactionResult, shown: Shingles) -> RedactionResult:
    """Remove surfaced sentences. If nothing else is left, the text stays: a later step detects echoes."""
    return replace(clean, text=remove_copies(clean.text, shown) or clean.text)


def find_owner(scope: Scope, request: LearnRequest) -> AgentId | None:
    """Return the owner of the memory: the agent, or None if it is shared or there is no agent."""
    shared = scope.agent == DEFAULT_AGENT if request.shared is None else request.shared
    return None if shared else scope.agent


def find_refusal(request: LearnRequest, clean: RedactionResult) -> LearnRefusal | None:
    """Why a statement is refused; None if it is accepted."""
    left = clean.text
    for kind in clean.kinds:
        left = left.replace(f"{_MARK}{kind}]", "")
    if clean.kinds and not any(char.isalnum() for char in left):
        return LearnRefusal(request=request, reason=ONLY_SECRETS, detail=", ".join(clean.kinds))
    if not left.strip():
        return LearnRefusal(request=request, reason=EMPTY, detail="nothing is left without our own notes")
    if not request.asked and (found := find_refusal_reason(clean.text)) is not None:
        return LearnRefusal(request=request, reason=found.value)
    return None


async def _source_trusts(transaction: Transaction, scope: Scope, request: LearnRequest) -> list[float]:
    """Return the trust of everything that a statement derives from, at any depth."""
    trusts = [turn.trust for turn in request.turns]
    if not request.derived_from:
        return trusts
    found = await load_existing_memories(transaction, scope.space, request.derived_from)
    hidden = [memory.id for memory in found.values() if memory.agent_id not in (None, scope.agent)]
    if missing := [memory for memory in request.derived_from if memory not in found or memory in hidden]:
        raise NotFound(f"There is no memory `{missing[0]}` to derive from.")
    line = await find_ancestors(transaction, scope.space, request.derived_from)
    trusts += [memory.trust for memory in found.values()]
    return trusts + [each.trust for each in line if each.trust is not None]


async def record_refusal(deps: MemoryDeps, transaction: Transaction, scope: Scope, refusal: LearnRefusal) -> Learned:
    """Store a refusal and return the result."""
    at = deps.clock()
    id_, cause = deps.new_uuid(), scope.cause(refusal.request.origin, at)
    redacted = deps.terms(scope.space).redact(refusal.request.text)
    await transaction.run(
        Q["refuse"],
        space=scope.space,
        id=id_,
        reason=refusal.reason,
        detail=refusal.detail[:200],
        text=redacted.text[:LONGEST_REFUSED],
        **cause_columns(cause),
        at=at,
    )
    await deps.outbox.emit(
        transaction,
        "learn_refused",
        space=scope.space,
        subject=f"refusal:{id_}",
        payload={"refusal": str(id_), "reason": refusal.reason},
        agent=scope.agent,
        session=scope.session or None,
    )
    MEMORY_REFUSED.labels(refusal.reason).inc()
    reasons = (refusal.reason,)
    return Learned(
        memory=None,
        action=LearnAction.REFUSED,
        reasons=reasons,
        redactions=redacted.kinds,
        said=describe_action(LearnAction.REFUSED, reasons=reasons),
        refusal=id_,
    )


KEPT_FOR = timedelta(hours=24)

Write = Callable[[], Awaitable[Learned]]


async def find_idempotent_result(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, request: LearnRequest
) -> Learned | None:
    """Return the result of an earlier call with this key, if any. Raises `Replayed`."""
    done = (await find_idempotent_results(deps, transaction, scope, [request])).get(request.key or "")
    if done is not None and done.error is not None:
        raise done.error
    return done


async def find_idempotent_results(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, items: Sequence[LearnRequest]
) -> dict[str, Learned]:
    """Return earlier results by key; where the content differs, with the error `Replayed`."""
    asked = {request.key: request.body_hash for request in items if request.key and is_storable(request.key)}
    if not asked:
        return {}
    since = deps.clock() - KEPT_FOR
    rows = await transaction.all(Q["find_keys"], space=scope.space, agent=scope.agent, keys=list(asked), since=since)
    kept = [UUID(row["result"]["memory"]) for row in rows if row["result"]["memory"]]
    memories = await load_existing_memories(transaction, scope.space, kept) if kept else {}
    return {row["key"]: _replay_result(row, asked[row["key"]], memories) for row in rows}


def _replay_result(row: Mapping[str, Any], body_hash: bytes, memories: Mapping[MemoryId, Memory]) -> Learned:
    if bytes(row["body_hash"]) != body_hash:
        return build_error_result(Replayed(f"The key `{row['key'][:40]}` was used for other words."))
    kept = row["result"]["memory"]
    return result_from_json(row["result"], memories.get(MemoryId(UUID(kept))) if kept else None)


async def run_idempotent(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, request: LearnRequest, write: Write
) -> Learned:
    """Run `write` unless a call with the same key already did, and store its result."""
    if request.key is None:
        return await write()
    await transaction.run(Q["lock_key"], space=scope.space, agent=scope.agent, key=request.key)
    if (done := await find_idempotent_result(deps, transaction, scope, request)) is not None:
        return done
    learned = await write()
    result = learned.as_json() | {"memory": str(learned.memory.id) if learned.memory else None}
    await transaction.run(
        Q["keep_key"],
        space=scope.space,
        agent=scope.agent,
        key=request.key,
        body_hash=request.body_hash,
        result=json.dumps(result),
        at=deps.clock(),
    )
    return learned
