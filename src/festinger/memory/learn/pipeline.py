"""Learns statements, one or many, in twelve steps; the only way into memory.

A single statement is a batch of one, and many are learned in batches of a hundred.
Steps 1 to 6 need neither vectors nor judges: idempotency key, input checks, hygiene, same words, same gist,
and what people asked to forget. They take one query per step, and write nothing but lifted bans.
Embedding, candidates and judging follow outside transactions. Everything is then written in one transaction,
so nothing acknowledged is lost. Each request gets a result: a bad item of a batch returns its own error and
stops no other, and finished batches stay.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard, TypeVar

from festinger.clock import Stopwatch
from festinger.errors import FestingerError, StoreBusy, StoreDown, TooLarge
from festinger.ids import MemoryId, Origin, Scope
from festinger.memory.changes import load_existing_memories
from festinger.memory.deps import MemoryDeps, analyze_if_underestimated
from festinger.memory.late_judgements import attach_settle_callback, judge_pending_pairs
from festinger.memory.learn.batch import write_batch
from festinger.memory.learn.candidates import PendingMemory, attach_candidates, resolve_subject_keys
from festinger.memory.learn.compare import REPEATERS, compare, find_duplicates
from festinger.memory.learn.intake import (
    FORGOTTEN,
    LearnRefusal,
    Shingles,
    find_idempotent_results,
    parse_learn_request,
)
from festinger.memory.learn.result import Learned, build_error_result
from festinger.memory.learn.statement import LearnRequest, Statement
from festinger.memory.learn.write import try_write_learn_item
from festinger.memory.vectors import MemoryEmbeddingInput, embed_texts
from festinger.observability.metrics import MEMORY_LEARNT
from festinger.store.connection import HELD, cancel_tasks
from festinger.store.pool import PlanMode, Transaction
from festinger.text.overlap import build_all_shingles, has_several_sentences

TRIES = 3
"""Attempts to write a statement when others change the same rows."""
BATCH = 100
SEARCHED = 25
"""Statements of a batch whose candidates are searched at once."""
MOST_ITEMS = 10_000
REPORT_SECONDS = 0.5

Progress = Callable[[int, int, Mapping[str, int]], None]

L = TypeVar("L")

Item = PendingMemory | LearnRefusal | Learned
"""A request in the pipeline: a statement to write, a refusal to record, or the result."""


async def learn(deps: MemoryDeps, scope: Scope, request: LearnRequest) -> Learned:
    """Learn one statement. Raises `BadInput`, `TooLarge`, `NotFound`, `Replayed`, `StoreDown`."""
    [learned] = await _learn_statements(deps, scope, [request])
    if learned.error is not None:
        raise learned.error
    return _count_result(await _judge_pending_within_wait(deps, scope, learned, seconds=request.wait))


async def learn_many(
    deps: MemoryDeps, scope: Scope, requests: Sequence[LearnRequest], *, progress: Progress | None = None
) -> list[Learned]:
    """Learn statements in order, one result each. Called again with the same keys, it resumes."""
    if len(requests) > MOST_ITEMS:
        raise TooLarge(f"A batch has at most {MOST_ITEMS:,} items; this one has {len(requests):,}.")
    done: list[Learned] = []
    report = _ProgressReporter(progress, deps.stopwatch, total=len(requests))
    for start in range(0, len(requests), BATCH):
        batch = requests[start : start + BATCH]
        learned = _learn_statements(deps, scope, batch)
        done += map(_count_result, await (learned if len(batch) > 1 else _catch_error(learned)))
        report.tell(done)
    return done


async def _catch_error(one: Awaitable[Sequence[L]]) -> Sequence[L | Learned]:
    """Return the result of learning one statement; if it fails, its error is the result."""
    try:
        return await one
    except StoreDown:
        raise
    except FestingerError as error:
        return [build_error_result(error)]


class _ProgressReporter:
    """Reports progress at most twice a second and at the end."""

    def __init__(self, progress: Progress | None, stopwatch: Stopwatch, *, total: int) -> None:
        self._progress = progress
        self._stopwatch = stopwatch
        self._total = total
        self._reported: float | None = None

    def tell(self, done: Sequence[Learned]) -> None:
        now = self._stopwatch()
        is_due = self._reported is None or now - self._reported >= REPORT_SECONDS or len(done) == self._total
        if self._progress is not None and is_due:
            self._reported = now
            self._progress(len(done), self._total, Counter(each.action.value for each in done))


async def _learn_statements(deps: MemoryDeps, scope: Scope, requests: Sequence[LearnRequest]) -> list[Learned]:
    items: Sequence[Item] = await _retry_if_busy(lambda: _classify_requests(deps, scope, requests))  # (1) to (6)
    while not all(isinstance(each, Learned) for each in items):
        ready = await _prepare(deps, scope, items)  # (7) to (9)
        # A statement comes back unwritten if what it repeats has changed since.
        items = await _write(deps, scope, ready)  # (10) to (12)
    return [await attach_settle_callback(deps, scope, each) for each in items if isinstance(each, Learned)]


async def _retry_if_busy(work: Callable[[], Awaitable[Sequence[L]]]) -> Sequence[L]:
    for _ in range(TRIES - 1):
        try:
            return await work()
        except StoreBusy as error:
            if error.details["kind"] == HELD:
                raise
    return await work()


async def _classify_requests(deps: MemoryDeps, scope: Scope, requests: Sequence[LearnRequest]) -> list[Item]:
    """Classify each request, in order. A single one that needs no vectors is written at once."""
    surfaced, shown = await _load_possible_echoes(deps, scope, requests)
    async with deps.store.transaction() as transaction:
        done = await find_idempotent_results(deps, transaction, scope, requests)
        parsed = [
            done.get(each.key or "") or await _parse_or_refuse(deps, transaction, scope, each, shown=shown)
            for each in requests
        ]
        statements = [each for each in parsed if isinstance(each, Statement)]
        pending = iter(await _build_pending(deps, transaction, scope, statements, surfaced=surfaced))
        items: list[Item] = [next(pending) if isinstance(each, Statement) else each for each in parsed]
        if len(items) == 1 and not _is_new_memory(items[0]):
            # An error here rolls everything back, as it does when a single statement is written later.
            items = [await try_write_learn_item(deps, transaction, scope, items[0])]
    return items


async def _load_possible_echoes(
    deps: MemoryDeps, scope: Scope, requests: Sequence[LearnRequest]
) -> tuple[Collection[MemoryId], Shingles]:
    """Load the memories that the speakers may be repeating from us, and shingles of their texts."""
    composed = any(isinstance(each.text, str) and has_several_sentences(each.text) for each in requests)
    if not scope.session or not (composed or any(each.origin in REPEATERS for each in requests)):
        return (), frozenset()
    surfaced = await deps.surfaced(scope, deps.terms(scope.space).memory.echo_turns)
    if not surfaced or not composed:
        return surfaced, frozenset()
    async with deps.store.transaction() as transaction:
        found = await load_existing_memories(transaction, scope.space, surfaced)
    return surfaced, build_all_shingles(memory.content for memory in found.values())


async def _parse_or_refuse(
    deps: MemoryDeps, transaction: Transaction, scope: Scope, request: LearnRequest, *, shown: Shingles
) -> Statement | LearnRefusal | Learned:
    """Steps 1 to 3: input checks, cleaning, hygiene. An error in one statement does not affect the others."""
    try:
        # A job rewords what others said, and may well repeat what was surfaced.
        repeats = frozenset() if request.origin is Origin.JOB else shown
        return await parse_learn_request(deps, transaction, scope, request, shown=repeats)
    except StoreDown:
        raise
    except FestingerError as error:
        return build_error_result(error)


async def _build_pending(
    deps: MemoryDeps,
    transaction: Transaction,
    scope: Scope,
    statements: Sequence[Statement],
    *,
    surfaced: Collection[MemoryId],
) -> list[PendingMemory | LearnRefusal]:
    """Steps 4 to 6: same words, same gist, and what people asked to forget.

    A suspicious statement never counts as a duplicate. What exists as a memory was stated anew since it was
    forgotten.
    """
    if not statements:
        return []
    keys = await resolve_subject_keys(transaction, scope.space, [each.subject_key for each in statements])
    statements = [replace(each, subject_key=key) for each, key in zip(statements, keys, strict=True)]
    deps.step("taken in")
    duplicates = await find_duplicates(deps, transaction, scope.space, statements)
    deps.step("twins")
    found = [
        PendingMemory(
            scope=scope,
            statement=each,
            ref=deps.new_memory_id(),
            duplicate=None if each.suspicions else duplicate,
            surfaced=surfaced if each.origin in REPEATERS else (),
        )
        for each, duplicate in zip(statements, duplicates, strict=True)
    ]
    new = [each.statement for each in found if _is_new_memory(each)]
    bans = iter(await deps.is_forgotten(transaction, scope.space, new) if new else ())
    deps.step("not forgotten")
    return [
        LearnRefusal(request=each.request, reason=FORGOTTEN) if _is_new_memory(each) and next(bans) else each
        for each in found
    ]


def _is_new_memory(item: Item) -> TypeGuard[PendingMemory]:
    return isinstance(item, PendingMemory) and item.duplicate is None


async def _prepare(deps: MemoryDeps, scope: Scope, items: Sequence[Item]) -> list[Item]:
    """Steps 7 to 9: add vectors, candidates and judgements to the statements that are not duplicates."""
    new = [each for each in items if _is_new_memory(each)]
    if not new:
        return list(items)
    texts = [MemoryEmbeddingInput(text=each.statement.text, kind=each.statement.kind) for each in new]
    vectors = await embed_texts(deps, texts)
    new = [replace(each, vectors=vector) for each, vector in zip(new, vectors, strict=True)]
    deps.step("embedded")
    await analyze_if_underestimated(deps.store, deps.sizing, more=len(new))
    compared = iter(await _search_and_compare(deps, scope, new))
    deps.step("judged")
    return [next(compared) if _is_new_memory(each) else each for each in items]


async def _search_and_compare(deps: MemoryDeps, scope: Scope, pending: Sequence[PendingMemory]) -> list[PendingMemory]:
    """Find the candidates of some statements while those of the ones before are judged."""

    async def search(part: Sequence[PendingMemory]) -> list[PendingMemory]:
        # Planning for the statements at hand would take as long as the search, with the same plan.
        async with deps.store.transaction(plan=PlanMode.KEPT) as transaction:
            return await attach_candidates(deps, transaction, scope.space, part)

    compared: list[PendingMemory] = []
    coming = asyncio.ensure_future(search(pending[:SEARCHED]))
    try:
        for start in range(SEARCHED, len(pending) + SEARCHED, SEARCHED):
            found = await coming
            deps.step("candidates")
            if start < len(pending):
                coming = asyncio.ensure_future(search(pending[start : start + SEARCHED]))
            compared += await compare(deps, scope.space, found)
    finally:
        await cancel_tasks([coming])
    return compared


async def _write(deps: MemoryDeps, scope: Scope, items: Sequence[Item]) -> list[PendingMemory | Learned]:
    """Write in one transaction; if other writers interfere, write each item on its own, with retries."""
    for left in range(TRIES - 1, -1, -1):
        try:
            async with deps.store.transaction() as transaction:
                if len(items) == 1:
                    written = [await try_write_learn_item(deps, transaction, scope, items[0])]
                else:
                    written = await write_batch(deps, transaction, scope, items)
            deps.step("committed")
            return written
        except StoreDown as error:
            if error.details.get("kind") != "busy" or not left:
                raise
            if len(items) > 1:
                return [(await _catch_error(_write(deps, scope, [each])))[0] for each in items]
    raise AssertionError("the last try returns or raises")


async def _judge_pending_within_wait(deps: MemoryDeps, scope: Scope, learned: Learned, *, seconds: float) -> Learned:
    """Ask the model about pending pairs, if the caller gives it time."""
    if not learned.pending or seconds <= 0 or learned.memory is None:
        return learned
    try:
        async with asyncio.timeout(seconds):
            await judge_pending_pairs(deps, scope.space, learned.memory.id)
    except TimeoutError:
        return learned
    return await learned.settled(0.0)


def _count_result(learned: Learned) -> Learned:
    MEMORY_LEARNT.labels(learned.action.value).inc()
    return learned
