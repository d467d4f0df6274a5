"""Learns one statement, in twelve steps; the only way into memory.

Steps 1 to 6 need neither vectors nor judges: idempotency key, input checks, hygiene, same words, same gist,
and what people asked to forget. They take many statements at once with one query per step, and write nothing
but lifted bans.
Embedding, candidates and judging follow outside transactions. Everything is then written in one transaction,
so nothing acknowledged is lost. The caller always gets a result.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from festinger.errors import FestingerError, StoreDown
from festinger.ids import MemoryId, Origin
from festinger.memory.changes import find_memories, lock_memories
from festinger.memory.deps import MemoryDeps, refresh_statistics
from festinger.memory.late_judgements import attach_settle, judge_pairs
from festinger.memory.learn.candidates import CandidateSearchResult, find_candidates, resolve_subject_keys
from festinger.memory.learn.compare import REPEATERS, DuplicateMatch, PendingMemory, compare, find_duplicates
from festinger.memory.learn.decision import Action
from festinger.memory.learn.intake import (
    FORGOTTEN,
    RefusalDetail,
    find_idempotent_results,
    parse_learn_request,
    record_refusal,
    run_idempotent,
)
from festinger.memory.learn.result import Learned, build_result
from festinger.memory.learn.statement import LearnRequest, ParsedStatement
from festinger.memory.learn.write import confirm_statement, write_statement
from festinger.memory.model import Scope
from festinger.memory.vectors import MemoryEmbeddingInput, StatementVectors, embed_text
from festinger.observability.metrics import MEMORY_LEARNT
from festinger.store.pool import Transaction
from festinger.text.overlap import build_all_shingles, has_several_sentences


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateStatement:
    """A statement that duplicates a memory."""

    prepared: PendingMemory
    duplicate: DuplicateMatch


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRequest:
    """A statement that is refused."""

    given: LearnRequest
    refusal: RefusalDetail


Known = PendingMemory | DuplicateStatement | RefusedRequest | Learned | FestingerError
"""A statement to process further, a duplicate, a refusal, an earlier result, or an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfacedContext:
    """The memories surfaced in a session, and shingles of their texts."""

    memories: Collection[MemoryId] = ()
    shingles: frozenset[tuple[str, ...]] = frozenset()


async def load_possible_echoes(deps: MemoryDeps, place: Scope, items: Sequence[LearnRequest]) -> SurfacedContext:
    """Load what the speakers may be repeating from us. Call outside transactions."""
    composed = any(isinstance(each.text, str) and has_several_sentences(each.text) for each in items)
    if not place.session or not (composed or any(each.origin in REPEATERS for each in items)):
        return SurfacedContext()
    surfaced = await deps.surfaced(place, deps.terms(place.space).memory.echo_turns)
    if not surfaced or not composed:
        return SurfacedContext(memories=surfaced)
    async with deps.store.transaction() as transaction:
        found = await find_memories(transaction, place.space, surfaced)
    return SurfacedContext(memories=surfaced, shingles=build_all_shingles(memory.content for memory in found.values()))


async def classify_requests(
    deps: MemoryDeps,
    transaction: Transaction,
    place: Scope,
    items: Sequence[LearnRequest],
    *,
    surfaced: SurfacedContext,
) -> list[Known]:
    """Classify each statement, in order."""
    done = await find_idempotent_results(deps, transaction, place, items)
    known: list[Known | ParsedStatement] = [
        done.get(item.key or "") or await _parse_or_refuse(deps, transaction, place, item, shown=surfaced.shingles)
        for item in items
    ]
    places = [at for at, each in enumerate(known) if isinstance(each, ParsedStatement)]
    said = await _canonicalize_subjects(
        transaction, place, [each for each in known if isinstance(each, ParsedStatement)]
    )
    deps.step("taken in")
    duplicates = await find_duplicates(deps, transaction, place.space, said)
    deps.step("twins")
    found = [
        _build_pending(deps, place, each, duplicate=duplicate, surfaced=surfaced.memories)
        for each, duplicate in zip(said, duplicates, strict=True)
    ]
    for at, each in zip(places, await _refuse_forgotten(deps, transaction, place, found), strict=True):
        known[at] = each
    deps.step("not forgotten")
    return [each for each in known if not isinstance(each, ParsedStatement)]


async def _parse_or_refuse(
    deps: MemoryDeps, transaction: Transaction, place: Scope, given: LearnRequest, *, shown: frozenset[tuple[str, ...]]
) -> ParsedStatement | RefusedRequest | FestingerError:
    """Steps 1 to 3: input checks, cleaning, hygiene. An error in one statement does not affect the others."""
    try:
        # A job rewords what others said, and may well repeat what was surfaced.
        repeats = frozenset() if given.origin is Origin.JOB else shown
        taken = await parse_learn_request(deps, transaction, place, given, shown=repeats)
    except StoreDown:
        raise
    except FestingerError as error:
        return error
    return RefusedRequest(given=given, refusal=taken) if isinstance(taken, RefusalDetail) else taken


async def _canonicalize_subjects(
    transaction: Transaction, place: Scope, said: Sequence[ParsedStatement]
) -> list[ParsedStatement]:
    """Replace subjects by the canonical names of the vocabulary."""
    keys = await resolve_subject_keys(transaction, place.space, [each.subject_key for each in said])
    return [replace(each, subject_key=key) for each, key in zip(said, keys, strict=True)]


def _build_pending(
    deps: MemoryDeps,
    place: Scope,
    said: ParsedStatement,
    *,
    duplicate: DuplicateMatch | None,
    surfaced: Collection[MemoryId],
) -> PendingMemory | DuplicateStatement:
    """Steps 4 and 5: same words, same gist. A suspicious statement never counts as a duplicate."""
    heard = surfaced if said.origin in REPEATERS else ()
    prepared = PendingMemory(place=place, said=said, ref=deps.new_memory_id(), surfaced=heard)
    if duplicate is None or said.suspicions:
        return prepared
    return DuplicateStatement(prepared=prepared, duplicate=duplicate)


async def _refuse_forgotten(
    deps: MemoryDeps, transaction: Transaction, place: Scope, found: Sequence[PendingMemory | DuplicateStatement]
) -> list[PendingMemory | DuplicateStatement | RefusedRequest]:
    """Step 6: refuse what people asked to forget. What exists as a memory was stated anew since."""
    new = [each for each in found if isinstance(each, PendingMemory)]
    bans = iter(await deps.is_forgotten(transaction, place.space, [each.said for each in new]) if new else ())
    return [
        RefusedRequest(given=each.said.given, refusal=RefusalDetail(reason=FORGOTTEN))
        if isinstance(each, PendingMemory) and next(bans)
        else each
        for each in found
    ]


TRIES = 3
"""Attempts to write a statement when others change the same rows."""


async def learn(deps: MemoryDeps, place: Scope, given: LearnRequest) -> Learned:
    """Learn one statement. Raises `BadInput`, `TooLarge`, `NotFound`, `Replayed`, `StoreDown`."""
    known = await run_early_steps(deps, place, given)  # (1) to (6)
    if isinstance(known, Learned):
        return count_result(known)
    vectors = await embed_text(deps, to_embedding_input(known.said))  # (7)
    deps.step("embedded")
    await refresh_statistics(deps.store, deps.sizing)
    found = await load_candidates(deps, place, known.said, vectors)  # (8)
    deps.step("candidates")
    compared = await compare(deps, place.space, known.said, found.candidates, ref=known.ref, vectors=vectors)  # (9)
    deps.step("judged")
    prepared = replace(known, seen=found.seen, compared=tuple(compared), vectors=vectors)
    learned = await attach_settle(deps, place, await write_with_retries(deps, prepared))  # (10) to (12)
    return count_result(await wait_for_judgement(deps, place, learned, seconds=given.wait))


async def run_early_steps(deps: MemoryDeps, place: Scope, given: LearnRequest) -> PendingMemory | Learned:
    """Run the steps without vectors and judges; return what is left to learn, or the result."""
    surfaced = await load_possible_echoes(deps, place, [given])
    async with deps.store.transaction() as transaction:
        [known] = await classify_requests(deps, transaction, place, [given], surfaced=surfaced)
        if isinstance(known, FestingerError):
            raise known
        return await apply_early_result(deps, transaction, place, known)


async def apply_early_result(
    deps: MemoryDeps,
    transaction: Transaction,
    place: Scope,
    known: PendingMemory | DuplicateStatement | RefusedRequest | Learned,
) -> PendingMemory | Learned:
    """Carry out a refusal or a confirmation; return anything else unchanged."""
    if isinstance(known, RefusedRequest):
        return await _record_refusal(deps, transaction, place, given=known.given, refusal=known.refusal)
    if isinstance(known, DuplicateStatement):
        return await _confirm_duplicate(deps, transaction, known.prepared, known.duplicate)
    return known


async def load_candidates(
    deps: MemoryDeps, place: Scope, said: ParsedStatement, vectors: StatementVectors | None
) -> CandidateSearchResult:
    async with deps.store.transaction() as transaction:
        return await find_candidates(deps, transaction, place.space, said, vectors)


async def write_with_retries(deps: MemoryDeps, prepared: PendingMemory) -> Learned:
    """Write in one transaction; retry if other writers interfere."""
    for left in range(TRIES - 1, -1, -1):
        try:
            async with deps.store.transaction() as transaction:
                learned = await write_idempotent(deps, transaction, prepared)
            deps.step("committed")
            return learned
        except StoreDown as error:
            if not left or error.details.get("kind") != "busy":
                raise
    raise AssertionError("the last try returns or raises")


async def write_idempotent(
    deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory, *, locked: bool = False
) -> Learned:
    """Write in the caller's transaction unless a call with the same key already did."""

    async def operation() -> Learned:
        learned = await write_statement(deps, transaction, prepared, locked=locked)
        deps.step("written")
        return learned

    given, place = prepared.said.given, prepared.place
    return await run_idempotent(deps, transaction, place, given=given, write=operation)


async def wait_for_judgement(deps: MemoryDeps, place: Scope, learned: Learned, *, seconds: float) -> Learned:
    """Ask the model about pending pairs, if the caller gives it time."""
    if not learned.pending or seconds <= 0 or learned.memory is None:
        return learned
    try:
        async with asyncio.timeout(seconds):
            await judge_pairs(deps, place.space, learned.memory.id)
    except TimeoutError:
        return learned
    return await learned.settled(0.0)


def to_embedding_input(said: ParsedStatement) -> MemoryEmbeddingInput:
    return MemoryEmbeddingInput(text=said.text, kind=said.kind)


def count_result(learned: Learned) -> Learned:
    MEMORY_LEARNT.labels(learned.action.value).inc()
    return learned


async def _record_refusal(
    deps: MemoryDeps, transaction: Transaction, place: Scope, *, given: LearnRequest, refusal: RefusalDetail
) -> Learned:
    async def operation() -> Learned:
        return await record_refusal(deps, transaction, place, given, refusal, at=deps.clock())

    return await run_idempotent(deps, transaction, place, given=given, write=operation)


async def _confirm_duplicate(
    deps: MemoryDeps, transaction: Transaction, prepared: PendingMemory, duplicate: DuplicateMatch
) -> Learned | PendingMemory:
    """Confirm the duplicate. If it has changed since, the statement takes the remaining steps."""
    if duplicate.memory.id in prepared.surfaced:
        return build_result(Action.ECHOED, prepared, duplicate.memory, judgement=duplicate.judgement)
    present = (await lock_memories(transaction, prepared.place.space, [duplicate.memory.id]))[duplicate.memory.id]
    if not present.is_live or present.fold != duplicate.memory.fold:
        return prepared

    async def operation() -> Learned:
        learned = await confirm_statement(deps, transaction, prepared, present, judgement=duplicate.judgement)
        deps.step("written")
        return learned

    given, place = prepared.said.given, prepared.place
    return await run_idempotent(deps, transaction, place, given=given, write=operation)
