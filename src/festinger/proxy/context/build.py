"""Fetches the context for a request from world and memory within its deadline, and injects it.

World and memory are asked in parallel. If memory has not answered after half of the time, it is asked again
by words alone, which needs no embedder. Late results are not canceled: they are kept and shown in the
session's next turn, if they still hold. Every request asks again, so memory comes back as soon as the service
does; `QueryLimiter` bounds open queries. `WorldReader` is the port to the world, which reads in-process state
and never waits. `place` decides where the result goes.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar
from uuid import UUID

from cachetools import LRUCache

from festinger.clock import system_stopwatch
from festinger.ids import NewId, Scope, SessionId
from festinger.observability.metrics import PROXY_PREFIX_CHANGED
from festinger.proxy.context.edit import (
    BlockPosition,
    FindModelfile,
    PresentLines,
    find_no_modelfile,
    find_placed_blocks,
    lines_by_subject,
)
from festinger.proxy.context.memories import Lines, MemoryReader, Restate, find_memory_line_updates, no_line_updates
from festinger.proxy.context.place import ContextInput, inject_context, may_add_notes_this_turn
from festinger.proxy.errors import fail_open
from festinger.proxy.headers import MemoryReason, MemoryResult, MemoryStatus
from festinger.proxy.parser import build_request_scope, select_unqueried_texts
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.session import ProxyCaller, ProxySession
from festinger.runtime.app import App
from festinger.runtime.lifecycle import BackgroundTasks
from festinger.runtime.world import preload_world
from festinger.services.block import ContextBlock, ContextLine, build_world_line
from festinger.services.recollect import (
    NOTHING,
    MemoryFetchResult,
    build_cue,
    drop_covered_notes,
    memory_note_ids,
    unstated_world_lines,
)
from festinger.world.recall import SourceText
from festinger.world.recollection import Recollection


class WorldReader(Protocol):
    async def recollect(self, scope: Scope, texts: Sequence[SourceText]) -> Recollection | None:
        """What is known of these texts, newest first; `None` if the world is not ready."""


class AppWorldReader:
    def __init__(self, app: Callable[[], App | None]) -> None:
        self._app = app

    async def recollect(self, scope: Scope, texts: Sequence[SourceText]) -> Recollection | None:
        app = self._app()
        if app is None:
            return None
        found = app.world.recollector.recollect(scope, texts)
        if found is None:
            preload_world(app, scope.space)
        return found


MOST_OPEN = 32
"""Maximum open queries. A hung service must not pile up work without end."""
MOST_RECALLS = 8
"""Maximum open recalls: each needs some 50 ms of a core, so behind more of them all would be late."""

Answer = TypeVar("Answer")


class QueryLimiter:
    def __init__(self, most: int = MOST_OPEN) -> None:
        self._most = most
        self._open: set[asyncio.Task[Any]] = set()

    def ask(self, question: Coroutine[Any, Any, Answer], *, background: BackgroundTasks) -> asyncio.Task[Answer] | None:
        """Start a query in the background; `None` if too many are open."""
        if len(self._open) >= self._most:
            question.close()
            return None
        task = background.start(question)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task


WORDS_AFTER = 0.5
"""Share of the deadline after which memory is asked by words alone."""
KEPT = 1000
"""Maximum sessions whose late results are kept."""
PART = "recall"

Key = tuple[ProxyCaller, SessionId]


@dataclass(frozen=True, slots=True, kw_only=True)
class LateResults:
    """Results that came too late for their request and were not shown yet."""

    found: tuple[Recollection, ...] = ()
    notes: tuple[ContextLine, ...] = ()


@dataclass(slots=True, kw_only=True)
class _ContextFetchTasks:
    world: asyncio.Task[Recollection | None] | None = None
    memory: asyncio.Task[MemoryFetchResult] | None = None
    by_words: asyncio.Task[MemoryFetchResult] | None = None
    """The same query by words alone, sent when the first answer is slow."""
    standing: asyncio.Task[Lines | None] | None = None
    """The present state of the memories shown before."""
    cue: str = ""
    visible: Collection[UUID] = ()
    """Memories in this very history; they need not be recalled again."""
    busy: bool = False
    """Whether memory had too many open queries."""

    @property
    def all_done(self) -> bool:
        """Whether all queries are done; the one by words alone counts only at the deadline."""
        return all(task is None or task.done() for task in (self.world, self.memory, self.standing))

    @property
    def tasks(self) -> set[asyncio.Task[Any]]:
        return {task for task in (self.world, self.memory, self.by_words, self.standing) if task is not None}


class ContextBuilder:
    """Fetches and injects the context of requests, which do not wait long for it."""

    def __init__(
        self,
        world: WorldReader,
        *,
        new_id: NewId,
        memories: MemoryReader | None = None,
        background: BackgroundTasks | None = None,
        restate: Restate = no_line_updates,
        modelfile: FindModelfile = find_no_modelfile,
    ) -> None:
        self._world = world
        self._new_id = new_id
        self._memories = memories
        self._background = background or BackgroundTasks()
        self._restate = restate
        self._modelfile = modelfile
        self._recalls = QueryLimiter(MOST_RECALLS)
        self._lookups = QueryLimiter()
        self._late: LRUCache[Key, LateResults] = LRUCache(KEPT)

    async def inject(self, ctx: RequestContext) -> None:
        """Inject notes into the request; leave it unchanged where none may be added."""
        if ctx.skip is not None:
            ctx.memory_status = MemoryStatus(result=MemoryResult.OFF, reason=ctx.skip)
            return
        key = (ctx.session.caller, ctx.session.id)
        late = self._late.get(key, LateResults())
        queries = self._start_queries(ctx, late)
        await self._wait(ctx, queries)
        standing = queries.standing.result() if queries.standing is not None and queries.standing.done() else None
        inject_context(ctx, self._collect(ctx, key, queries, late, standing))
        if ctx.prefix_change is not None:
            PROXY_PREFIX_CHANGED.labels(ctx.prefix_change).inc()
        if ctx.block is not None and ctx.memory_status is not None:
            self._drop_shown(key, late, with_notes=standing is not None)
            ctx.memory_status = replace(ctx.memory_status, recollection=str(self._new_id()))

    def _start_queries(self, ctx: RequestContext, late: LateResults) -> _ContextFetchTasks:
        """Ask what the request says, unless notes must wait, and for the present state of what was shown."""
        shown = memory_note_ids(line for block in _all_blocks(ctx.session) for line in block.lines)
        queries = _ContextFetchTasks(visible=_visible_memories(ctx) if shown else ())
        if may_add_notes_this_turn(ctx):
            texts = select_unqueried_texts(ctx)
            queries.world = asyncio.create_task(self._world.recollect(build_request_scope(ctx), texts))
            if self._memories is not None and self._memories.may_know(ctx.space) and (cue := build_cue(texts)):
                queries.cue = cue
                queries.memory = self._recalls.ask(
                    self._recall(self._memories, ctx, queries), background=self._background
                )
                queries.busy = queries.memory is None
        if self._memories is not None and (asked := {*shown, *memory_note_ids(late.notes)}):
            queries.standing = self._lookups.ask(
                _load_lines_or_none(self._memories, ctx, asked), background=self._background
            )
        return queries

    async def _wait(self, ctx: RequestContext, queries: _ContextFetchTasks) -> None:
        """Wait until everything is answered or the deadline of the request is reached."""
        if not queries.tasks:
            return
        left = max(0.0, _deadline(ctx) - (system_stopwatch() - ctx.parse_began))
        try:
            await asyncio.wait(queries.tasks, timeout=left * WORDS_AFTER)
            if left and self._memories is not None and queries.memory is not None and not queries.memory.done():
                question = self._recall(self._memories, ctx, queries, by_words=True)
                queries.by_words = self._lookups.ask(question, background=self._background)
            ends = system_stopwatch() + left * (1 - WORDS_AFTER)
            while not queries.all_done and (rest := ends - system_stopwatch()) > 0:
                waiting = {task for task in queries.tasks if not task.done()}
                done, _ = await asyncio.wait(waiting, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    break
        except asyncio.CancelledError:
            for task in queries.tasks:
                task.cancel()
            raise

    async def _recall(
        self, memories: MemoryReader, ctx: RequestContext, queries: _ContextFetchTasks, *, by_words: bool = False
    ) -> MemoryFetchResult:
        with fail_open(PART) as attempt:
            return await memories.recall(
                build_request_scope(ctx),
                queries.cue,
                exclude=queries.visible,
                is_first=not ctx.session.links,
                by_words=by_words,
            )
        return MemoryFetchResult(failed=attempt.failed)

    def _collect(
        self, ctx: RequestContext, key: Key, queries: _ContextFetchTasks, late: LateResults, standing: Lines | None
    ) -> ContextInput:
        """What the queries brought in time, and what came late for earlier requests, in its present state."""
        settings, scope, world, memory = ctx.settings.proxy, build_request_scope(ctx), queries.world, queries.memory
        found, recalled, is_late = Recollection(), NOTHING, world is not None and not world.done()
        answer = world.result() if world is not None and world.done() else found
        if world is not None and is_late:
            self._background.start(self._keep_late_world(key, world))
        if memory is not None and memory.done():
            recalled = memory.result()
        elif memory is not None:
            if queries.by_words is not None and queries.by_words.done():
                recalled = queries.by_words.result()
            self._background.start(self._keep_late_notes(key, memory))
        found = found if answer is None else answer
        shown = lines_by_subject(_all_blocks(ctx.session))
        changed = find_memory_line_updates(shown, standing) if standing is not None else {}
        late_lines = {line.about: line for each in late.found for line in unstated_world_lines(each)}
        notes = drop_covered_notes((*recalled.lines, *_refresh_memory_lines(late.notes, standing)), found)
        modelfile = None
        if BlockPosition(settings.injection_position) is not BlockPosition.TURN:
            modelfile = self._modelfile(ctx.chat.model, ctx.chat.kind.protocol, settings)
        return ContextInput(
            lines=(
                *unstated_world_lines(found, memories=notes),
                *_refresh_world_lines(late_lines, self._restate(scope, late_lines) if late_lines else {}),
            ),
            notes=notes,
            unknown=tuple(build_world_line(text) for text in found.zero_hit_lines),
            present={**self._restate(scope, shown), **changed} if shown else {},
            modelfile=modelfile,
            is_late=is_late,
            is_ready=answer is not None,
            without=_missing_reason(queries, recalled),
            recall=recalled.recall,
        )

    async def _keep_late_world(self, key: Key, task: asyncio.Task[Recollection | None]) -> None:
        if found := await task:
            late = self._late.get(key, LateResults())
            self._late[key] = replace(late, found=(found, *late.found))

    async def _keep_late_notes(self, key: Key, task: asyncio.Task[MemoryFetchResult]) -> None:
        if lines := (await task).lines:
            late = self._late.get(key, LateResults())
            self._late[key] = replace(late, notes=(*lines, *late.notes))

    def _drop_shown(self, key: Key, shown: LateResults, *, with_notes: bool) -> None:
        """Drop late results that were shown, memories only `with_notes`. Newer ones keep waiting."""
        late = self._late.pop(key, LateResults())
        left = LateResults(
            found=tuple(each for each in late.found if each not in shown.found),
            notes=tuple(each for each in late.notes if not (with_notes and each in shown.notes)),
        )
        if left != LateResults():
            self._late[key] = left


async def _load_lines_or_none(memories: MemoryReader, ctx: RequestContext, ids: Collection[UUID]) -> Lines | None:
    with fail_open(PART):
        return await memories.standing(build_request_scope(ctx), ids)
    return None


def _missing_reason(queries: _ContextFetchTasks, recalled: MemoryFetchResult) -> str:
    """Why memory has not answered a query that was, or should have been, sent."""
    if queries.busy:
        return MemoryReason.BUSY
    if queries.memory is not None and not queries.memory.done():
        in_words = queries.by_words is not None and queries.by_words.done() and not recalled.failed
        return MemoryReason.WORDS if in_words else MemoryReason.RECALL
    return recalled.failed


def _deadline(ctx: RequestContext) -> float:
    """Seconds that a request waits for memory; longer on a session's first turn, which needs it most."""
    settings = ctx.settings.proxy
    milliseconds = settings.memory_deadline_ms
    if not ctx.session.links:
        milliseconds = max(milliseconds, settings.first_memory_deadline_ms)
    return milliseconds / 1000


def _visible_memories(ctx: RequestContext) -> list[UUID]:
    blocks = [each.block for each in find_placed_blocks(ctx.chat, ctx.chain.links, ctx.session.blocks)]
    if ctx.session.system_block is not None:
        blocks.append(ctx.session.system_block)
    return memory_note_ids(line for block in blocks for line in block.lines)


def _all_blocks(session: ProxySession) -> Iterator[ContextBlock]:
    yield from session.blocks.values()
    if session.system_block is not None:
        yield session.system_block


def _refresh_world_lines(lines: Mapping[str, ContextLine], present: PresentLines) -> Iterator[ContextLine]:
    """Late world lines in their present state."""
    for about, line in lines.items():
        now = present.get(about)
        if now is None:
            yield line
        elif now.line is not None:
            yield now.line


def _refresh_memory_lines(notes: Iterable[ContextLine], standing: Lines | None) -> Iterator[ContextLine]:
    """Late memories in their present state; they keep waiting while that is unknown."""
    for memory in memory_note_ids(notes):
        if (now := (standing or {}).get(str(memory))) is not None:
            yield now
