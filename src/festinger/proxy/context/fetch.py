"""Fetches what world and memory know within the deadline of a request, and keeps what comes late.

World and memory are asked in parallel. If memory has not answered after half of the time, it is asked again
by words alone, which needs no embedder. Late results are not canceled: they are kept and shown in the
session's next turn. Every request asks again, so memory comes back as soon as the service does;
`QueryLimiter` bounds open queries. `WorldReader` is the port to the world, which reads in-process state and
never waits.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar
from uuid import UUID

from festinger.clock import Stopwatch, system_stopwatch
from festinger.ids import Scope, SessionId
from festinger.proxy.context.block import ContextLine
from festinger.proxy.context.memories import (
    NOTHING,
    Lines,
    MemoryFetchResult,
    MemoryReader,
    NullMemoryReader,
    build_cue,
    memory_note_ids,
)
from festinger.proxy.errors import fail_open
from festinger.proxy.headers import MemoryReason
from festinger.proxy.parsed_request import ParsedRequest
from festinger.proxy.sessions.session import ProxyCaller
from festinger.runtime.app import App
from festinger.runtime.lifecycle import BackgroundTasks
from festinger.runtime.world import preload_world
from festinger.world.recall import SourceText
from festinger.world.recollection import Recollection


class WorldReader(Protocol):
    async def recollect(self, place: Scope, texts: Sequence[SourceText]) -> Recollection | None:
        """What is known of these texts, newest first; `None` if the world is not ready."""


class AppWorldReader:
    """Reads the world of the open app."""

    def __init__(self, app: Callable[[], App | None]) -> None:
        self._app = app

    async def recollect(self, place: Scope, texts: Sequence[SourceText]) -> Recollection | None:
        app = self._app()
        if app is None:
            return None
        found = app.world.recollector.recollect(place, texts)
        if found is None:
            preload_world(app, place.space)
        return found


MOST_OPEN = 32
"""Maximum open queries. A hung service must not pile up work without end."""

Answer = TypeVar("Answer")


class QueryLimiter:
    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    def ask(self, question: Coroutine[Any, Any, Answer], *, beside: BackgroundTasks) -> asyncio.Task[Answer] | None:
        """Start a query in the background; `None` if too many are open."""
        if len(self._open) >= MOST_OPEN:
            question.close()
            return None
        task = beside.start(question)
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task


WORDS_AFTER = 0.5
"""Share of the deadline after which memory is asked by words alone."""
KEPT = 1000
"""Maximum sessions whose late results are kept."""
PART = "recall"

Key = tuple[ProxyCaller, SessionId]
Task = asyncio.Task[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LateResults:
    """Results that came too late for their request and were not shown yet."""

    found: tuple[Recollection, ...] = ()
    notes: tuple[ContextLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextFetchResult:
    """Results of one fetch."""

    found: Recollection | None = None
    """World result, if it came in time."""
    reminded: MemoryFetchResult = NOTHING
    """Memory result, if it came in time."""
    standing: Lines | None = None
    """Present state of the memories shown before; `None` if it did not come in time."""
    kept: LateResults = LateResults()
    is_late: bool = False
    is_ready: bool = True
    without: str = MemoryReason.NONE
    """Why memory has not answered, if so."""


@dataclass(slots=True, kw_only=True)
class _PendingQueries:
    """The queries of one request."""

    world: asyncio.Task[Recollection | None] | None = None
    memory: asyncio.Task[MemoryFetchResult] | None = None
    by_words: asyncio.Task[MemoryFetchResult] | None = None
    """The same query by words alone, sent when the first answer is slow."""
    standing: asyncio.Task[Lines | None] | None = None
    busy: bool = False
    """Whether memory had too many open queries."""

    @property
    def is_answered(self) -> bool:
        """Whether all queries are done; the one by words alone counts only at the deadline."""
        return all(task is None or task.done() for task in (self.world, self.memory, self.standing))

    @property
    def tasks(self) -> set[Task]:
        return {task for task in (self.world, self.memory, self.by_words, self.standing) if task is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMemories:
    """Memories that a session shows."""

    visible: Collection[UUID] = ()
    """In this very history; they need not be recalled again."""
    anywhere: Collection[UUID] = ()


class ContextFetcher:
    """Queries world and memory on behalf of requests that do not wait long."""

    def __init__(
        self,
        mind: WorldReader,
        *,
        memories: MemoryReader | None = None,
        recalls: QueryLimiter | None = None,
        beside: BackgroundTasks | None = None,
        stopwatch: Stopwatch = system_stopwatch,
        most: int = KEPT,
    ) -> None:
        self._mind = mind
        self._memories = memories or NullMemoryReader()
        self._beside = beside or BackgroundTasks()
        self._stopwatch = stopwatch
        self._most = most
        self._recalls = recalls or QueryLimiter()
        self._lookups = QueryLimiter()
        self._late: OrderedDict[Key, LateResults] = OrderedDict()

    async def remembered(
        self, parsed: ParsedRequest, *, seconds: float, asks: bool = True, shown: ShownMemories | None = None
    ) -> ContextFetchResult:
        """Fetch within `seconds` of the request's start; include earlier late results.

        With `asks`, query what the request says; without, only the present state of what was shown.
        """
        key = _session_key(parsed)
        kept = self._late.get(key, LateResults())
        left = seconds - (self._stopwatch() - parsed.began)
        asked = self._asked(parsed, asks=asks, shown=shown or ShownMemories(), kept=kept)
        await self._wait(asked, parsed, left=left, shown=shown or ShownMemories())
        return replace(self._answered(key, asked), kept=kept)

    def told(self, parsed: ParsedRequest, kept: LateResults, *, with_notes: bool) -> None:
        """Drop late results that were shown, memories only `with_notes`. Newer ones keep waiting."""
        now = self._late.pop(_session_key(parsed), LateResults())
        left = LateResults(
            found=tuple(each for each in now.found if each not in kept.found),
            notes=tuple(each for each in now.notes if not (with_notes and each in kept.notes)),
        )
        if left != LateResults():
            self._keep(_session_key(parsed), left)

    def _asked(self, parsed: ParsedRequest, *, asks: bool, shown: ShownMemories, kept: LateResults) -> _PendingQueries:
        asked, place = _PendingQueries(), parsed.place
        if asks:
            texts = parsed.unasked
            asked.world = asyncio.create_task(self._mind.recollect(place, texts))
            if self._memories.may_know(place.space) and (cue := build_cue(texts)):
                question = self._remind(parsed, cue, exclude=shown.visible)
                asked.memory = self._recalls.ask(question, beside=self._beside)
                asked.busy = asked.memory is None
        if shown_ids := {*shown.anywhere, *memory_note_ids(kept.notes)}:
            lookup = self._standing(parsed, shown_ids)
            asked.standing = self._lookups.ask(lookup, beside=self._beside)
        return asked

    async def _remind(
        self, parsed: ParsedRequest, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> MemoryFetchResult:
        with fail_open(PART) as attempt:
            return await self._memories.remind(parsed.place, cue, exclude=exclude, by_words=by_words)
        return MemoryFetchResult(failed=attempt.failed)

    async def _standing(self, parsed: ParsedRequest, memories: Collection[UUID]) -> Lines | None:
        with fail_open(PART):
            return await self._memories.standing(parsed.place, memories)
        return None

    async def _wait(self, asked: _PendingQueries, parsed: ParsedRequest, *, left: float, shown: ShownMemories) -> None:
        if not asked.tasks:
            return
        left = max(0.0, left)
        try:
            await asyncio.wait(asked.tasks, timeout=left * WORDS_AFTER)
            if left and asked.memory is not None and not asked.memory.done():
                cue = build_cue(parsed.unasked)
                question = self._remind(parsed, cue, exclude=shown.visible, by_words=True)
                asked.by_words = self._lookups.ask(question, beside=self._beside)
            ends = self._stopwatch() + left * (1 - WORDS_AFTER)
            while not asked.is_answered and (rest := ends - self._stopwatch()) > 0:
                waiting = {task for task in asked.tasks if not task.done()}
                done, _ = await asyncio.wait(waiting, timeout=rest, return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    break
        except asyncio.CancelledError:
            for task in asked.tasks:
                task.cancel()
            raise

    def _answered(self, key: Key, asked: _PendingQueries) -> ContextFetchResult:
        world, memory, standing = asked.world, asked.memory, asked.standing
        found, is_late, is_ready = None, False, True
        if world is not None and world.done():
            found = world.result()
            is_ready = found is not None
        elif world is not None:
            is_late = True
            self._beside.start(self._keep_found(key, world))
        reminded = NOTHING
        if memory is not None and memory.done():
            reminded = memory.result()
        elif memory is not None:
            if asked.by_words is not None and asked.by_words.done():
                reminded = asked.by_words.result()
            self._beside.start(self._keep_notes(key, memory))
        return ContextFetchResult(
            found=found,
            reminded=reminded,
            standing=standing.result() if standing is not None and standing.done() else None,
            is_late=is_late,
            is_ready=is_ready,
            without=_missing_reason(asked, reminded),
        )

    async def _keep_found(self, key: Key, asked: asyncio.Task[Recollection | None]) -> None:
        if found := await asked:
            kept = self._late.get(key, LateResults())
            self._keep(key, replace(kept, found=(found, *kept.found)))

    async def _keep_notes(self, key: Key, asked: asyncio.Task[MemoryFetchResult]) -> None:
        if lines := (await asked).lines:
            kept = self._late.get(key, LateResults())
            self._keep(key, replace(kept, notes=(*lines, *kept.notes)))

    def _keep(self, key: Key, late: LateResults) -> None:
        self._late[key] = late
        self._late.move_to_end(key)
        while len(self._late) > self._most:
            self._late.popitem(last=False)


def _session_key(parsed: ParsedRequest) -> Key:
    return parsed.session.caller, parsed.session.id


def _missing_reason(asked: _PendingQueries, reminded: MemoryFetchResult) -> str:
    """Why memory has not answered a query that was, or should have been, sent."""
    if asked.busy:
        return MemoryReason.BUSY
    if asked.memory is not None and not asked.memory.done():
        in_words = asked.by_words is not None and asked.by_words.done() and not reminded.failed
        return MemoryReason.WORDS if in_words else MemoryReason.RECALL
    return reminded.failed
