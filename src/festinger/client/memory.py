"""The library's handle on memory.

`open` starts everything below the interfaces and yields a `Memory` bound to a space, an agent and a session.
It is the same memory that every other interface opens; methods are thin calls into the packages. A memory
used before it is entered would fail somewhere deep, so `MemoryOpener` refuses that at once and says what to write
instead.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any
from uuid import UUID

from pydantic import SecretStr

from festinger.client.episodes import OWNER, EpisodeMixin, parse_origin
from festinger.client.proposals import ProposalMixin
from festinger.errors import BadInput
from festinger.events.catalogue import DeliveredEvent, Event
from festinger.events.outbox import FeedGap
from festinger.ids import NO_SESSION, AgentId, EventId, MemoryId, Origin, Scope, SessionId, SpaceId, read_id
from festinger.memory.changes import load_existing_memories, resolve_memory_id
from festinger.memory.deps import MemoryDeps
from festinger.memory.edit import (
    MemoryEditResult,
    SplitResult,
    archive,
    edit,
    merge,
    release,
    restore,
    split,
    supersede,
)
from festinger.memory.erasure.erase import ErasureReport
from festinger.memory.erasure.repair import RepairMode, RepairReport
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.learn.pipeline import Progress, learn, learn_many
from festinger.memory.learn.result import LEARNED, Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Memory as Remembered
from festinger.memory.query import MemoryHistory, Why, explain_belief, find_current_version, get_memory, load_history
from festinger.memory.undo import UndoResult, undo
from festinger.observability.logs import use_host_logging
from festinger.outcomes.capture import ReplyInput, observe_reply
from festinger.outcomes.model import ObserveResult, Reporter, ReportSource
from festinger.outcomes.protocol import ObservationProtocol
from festinger.outcomes.report import observe_recall
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall
from festinger.retrieval.result import RecallResult
from festinger.runtime.app import App, StartOptions, open_app
from festinger.runtime.erasure import build_erasure_service
from festinger.runtime.memory import MemoryService
from festinger.services.brief import DEFAULT_TOKENS, Brief, brief
from festinger.services.recollect import RecollectResult, recollect
from festinger.services.status import build_status, follow_events
from festinger.settings.deployment import capture_deployment
from festinger.settings.live import LiveSettings
from festinger.settings.tree import Settings
from festinger.text.secrets import remove_secrets
from festinger.world.conflicts import Conflict
from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict


class MemoryOpener(AbstractAsyncContextManager["Memory"]):
    """What `open` returns: a memory once it is entered. Using it earlier is refused with a hint."""

    def __init__(self, inner: AbstractAsyncContextManager["Memory"]) -> None:
        self._inner = inner

    async def __aenter__(self) -> "Memory":
        return await self._inner.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise BadInput(
            f"`{name}` was asked of a memory that is not open.",
            hint="Write `async with festinger.open() as memory:` and use `memory` inside.",
        )


Chosen = Settings | Mapping[str, Any] | str | PathLike[str] | None

Named = str | UUID
"""A memory by its id, or by a prefix of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(EpisodeMixin, ProposalMixin):
    """One memory, as one agent in one space sees it. Made by `festinger.open`."""

    space: SpaceId
    agent: AgentId
    session: SessionId | None
    _app: App
    _constants: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Settings of outcomes that the program changed for this handle and those made from it."""

    def for_agent(self, agent: str) -> "Memory":
        """Return the same memory, as another agent sees it."""
        return replace(self, agent=AgentId(agent))

    def for_session(self, session: str) -> "Memory":
        """Return the same memory, within a session."""
        return replace(self, session=SessionId(session))

    @property
    def _place(self) -> Scope:
        return Scope(space=self.space, agent=self.agent, session=self.session or NO_SESSION)

    @property
    def _room(self) -> MemoryService:
        return self._app.memory

    @property
    def _deps(self) -> MemoryDeps:
        return self._app.memory.deps

    async def _id(self, memory: Named) -> MemoryId:
        return await resolve_memory_id(self._deps, self.space, memory)

    @property
    def observation(self) -> ObservationProtocol:
        """Hooks through which a program reports what it did with memories: read, surfaced, used."""
        return self._app.outcomes.protocol(self._reporter(), self._constants)

    def _reporter(self, how: ReportSource = ReportSource.EXPLICIT, origin: Origin = Origin.PERSON) -> Reporter:
        return Reporter(scope=self._place, name=OWNER, door=self._app.door, how=how, origin=origin)

    async def observe(
        self,
        outcomes: Mapping[Any, str],
        *,
        recall: str | UUID | None = None,
        turn: str | UUID | None = None,
        credit: Mapping[str, float] | None = None,
        superseded_by: Mapping[Any, Any] | None = None,
        key: str | None = None,
    ) -> ObserveResult:
        """Report outcomes of memories; what a recall surfaced and is not named is deferred.

        Raises `UnknownOutcome`, `BadInput`, `Replayed`, `NotFound` for an unknown recall.
        """
        await self._app.afterwards.written()
        return await observe_recall(
            self.observation.deps,
            self._reporter(),
            outcomes,
            recall=read_id(str(recall)) if recall is not None else None,
            turn=read_id(str(turn)) if turn is not None else None,
            credit=credit,
            superseded_by=superseded_by or {},
            key=key,
        )

    async def observe_reply(
        self,
        recall: str | UUID,
        reply: str,
        tool_calls: Sequence[Any] = (),
        reasoning: str | None = None,
        next_message: str | None = None,
        *,
        request: str = "",
    ) -> ObserveResult:
        """Infer outcomes of a recall from a reply; weighs less than a report. Raises `NotFound`."""
        heard = ReplyInput(
            text=reply, request=request, tool_calls=tool_calls, reasoning=reasoning, next_message=next_message
        )
        reporter = self._reporter(ReportSource.INFERRED, Origin.MODEL)
        await self._app.afterwards.written()
        return await observe_reply(self.observation.deps, reporter, read_id(str(recall)), heard)

    async def learn(
        self,
        text: str,
        *,
        subject: str | None = None,
        kind: str = "fact",
        origin: str | Origin = Origin.PERSON,
        source: str | None = None,
        source_confidence: float = 1.0,
        event_time: datetime | None = None,
        valid_from: datetime | None = None,
        derived_from: Sequence[Named] = (),
        tags: Sequence[str] = (),
        shared: bool | None = None,
        immutable: bool = False,
        key: str | None = None,
        wait: float = 0.0,
    ) -> Learned:
        """Learn one statement, and return what became of it.

        `origin` is trusted because this code runs as the owner. `wait` is how many seconds a model may take
        to decide what rules cannot. Raises `BadInput`, `TooLarge`, `NotFound` for unknown sources,
        `Replayed`, `StoreDown`.
        """
        spoken = parse_origin(origin)
        given = LearnRequest(
            text=text,
            subject=subject,
            kind=kind,
            origin=spoken,
            imported=spoken is Origin.DOCUMENT,
            source=source,
            source_confidence=source_confidence,
            event_time=event_time,
            valid_from=valid_from,
            derived_from=tuple([await self._id(each) for each in derived_from]),
            tags=tuple(tags),
            shared=shared,
            immutable=immutable,
            key=key,
            wait=wait,
        )
        return await learn(self._deps, self._place, given)

    async def learn_many(
        self, items: Sequence[str | LearnRequest], *, progress: Progress | None = None
    ) -> list[Learned]:
        """Learn many statements in order, a hundred at a time; one result each, errors included.

        Raises `TooLarge` beyond 10,000 items, `StoreDown`.
        """
        given = [
            LearnRequest(text=item) if isinstance(item, str) else replace(item, imported=item.origin is Origin.DOCUMENT)
            for item in items
        ]
        return await learn_many(self._deps, self._place, given, progress=progress)

    async def recall(
        self,
        cue: str,
        *,
        limit: int = 5,
        kinds: Sequence[str] | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        subject: str | None = None,
        tags: Sequence[str] = (),
        origins: Sequence[str] | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[Named] = (),
        tokens: int | None = None,
        strict: bool = False,
        explain: bool = False,
    ) -> RecallResult:
        """Recall memories for a cue, best first, or abstain and say how many were not good enough. `tokens`
        is a hard budget. Raises `BadInput`, `StoreDown`."""
        query = parse_recall_query(
            cue,
            now=self._app.tools.clock(),
            limit=limit,
            kinds=kinds,
            as_of=as_of,
            valid_at=valid_at,
            since=since,
            until=until,
            subject=subject,
            tags=tags,
            origins=origins,
            include=include,
            exclude=[read_id(str(each)) for each in exclude],
            tokens=tokens,
            strict=strict,
            explain=explain,
        )
        return await recall(self._app.recall.deps, self._place, query, door=self._app.door)

    async def recollect(
        self, text: str, *, exclude: Sequence[str | UUID] = (), tokens: int | None = None
    ) -> RecollectResult:
        """Return the block of notes that belongs beside a person's message; empty if nothing applies.

        `exclude` are notes that the model has seen already. Raises `BadInput`, `StoreDown`.
        """
        return await recollect(self._app, self._place, text, exclude=exclude, tokens=tokens, door=self._app.door)

    async def brief(self, topic: str | None = None, *, tokens: int = DEFAULT_TOKENS) -> Brief:
        """Return what is known of a topic, or of everything: boundaries, disputes, decisions, preferences, the
        last episodes and what weighs most. Raises `BadInput`, `StoreDown`."""
        return await brief(self._app, self._place, topic, tokens=tokens)

    async def get(
        self, memory: Named, *, as_of: datetime | None = None, valid_at: datetime | None = None
    ) -> Remembered:
        """Return one memory, optionally as of a moment. Raises `NotFound`, `BadInput`."""
        return await get_memory(self._deps, self._place, await self._id(memory), as_of=as_of, valid_at=valid_at)

    async def why(self, memory: Named) -> Why:
        """Explain what a memory rests on. Raises `NotFound`."""
        return await explain_belief(self._deps, self._place, await self._id(memory))

    async def history(self, memory: Named) -> MemoryHistory:
        """Return a memory, what it replaced, and every change, oldest first. Raises `NotFound`."""
        return await load_history(self._deps, self._place, await self._id(memory))

    async def current(self, memory: Named) -> Remembered:
        """Return the current memory at the end of a chain of replacements. Raises `NotFound`."""
        return await find_current_version(self._deps, self._place, await self._id(memory))

    async def undo(self, change: str | UUID, *, by: str = OWNER) -> UndoResult:
        """Undo a change. Raises `NotFound`, `UndoBlocked` with the changes that depend on it."""
        return await undo(self._deps, self.space, read_id(str(change)), by=by)

    async def supersede(self, old: Named, *, new: Named, by: str = OWNER, reason: str = "") -> MemoryEditResult:
        """Replace one memory with another. Raises `NotFound`, `Refused`."""
        before, after = await self._id(old), await self._id(new)
        return await supersede(self._deps, self.space, before, after, by=by, reason=reason)

    async def edit(
        self, memory: Named, *, content: str, version: int | None = None, by: str = OWNER
    ) -> MemoryEditResult:
        """Reword a memory. Raises `NotFound`, `BadInput`, `Stale`, `Refused`."""
        return await edit(self._deps, self.space, await self._id(memory), content, by=by, version=version)

    async def merge(self, ids: Sequence[Named], *, by: str = OWNER, reason: str = "") -> MemoryEditResult:
        """Merge memories that say the same into one. Raises `NotFound`, `BadInput`, `Refused`."""
        wanted = [await self._id(each) for each in ids]
        return await merge(self._deps, self.space, wanted, by=by, reason=reason)

    async def split(self, memory: Named, *, texts: Sequence[str], by: str = OWNER) -> SplitResult:
        """Learn the parts of a memory separately and archive it. Raises `NotFound`, `BadInput`, `Refused`."""
        return await split(self._deps, self.space, await self._id(memory), texts, by=by)

    async def archive(self, memory: Named, *, by: str = OWNER, reason: str = "") -> MemoryEditResult:
        """Archive a memory. Raises `NotFound`, `Refused`."""
        return await archive(self._deps, self.space, await self._id(memory), by=by, reason=reason)

    async def restore(self, memory: Named, *, by: str = OWNER, reason: str = "") -> MemoryEditResult:
        """Restore a memory that was archived or replaced. Raises `NotFound`, `Refused`."""
        return await restore(self._deps, self.space, await self._id(memory), by=by, reason=reason)

    async def release(self, memory: Named, *, by: str = OWNER) -> MemoryEditResult:
        """Release a memory from quarantine. Raises `NotFound`, `Refused`."""
        return await release(self._deps, self.space, await self._id(memory), by=by)

    async def forget(
        self,
        *ids: Named,
        subject: str | None = None,
        query: str | None = None,
        source: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        origin: str | Origin | None = None,
        reason: str = "",
        by: str = OWNER,
        dry_run: bool = False,
    ) -> ErasureReport:
        """Permanently erase the selected memories, what derives from them and their words; `dry_run` only
        reports.

        A query only ever returns a plan. Raises `BadInput`, `NotFound`.
        """
        named = tuple([await self._id(each) for each in ids])
        place = build_provenance_selector(source=source, session=session, agent=agent, origin=origin)
        selector = replace(place, ids=named, subject=subject, query=query)
        return await build_erasure_service(self._app).forget(
            self.space, selector, reason=reason, by=by, dry_run=dry_run
        )

    async def repair(
        self,
        *,
        source: str | None = None,
        session: str | None = None,
        agent: str | None = None,
        origin: str | Origin | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        mode: str = "quarantine",
        by: str = OWNER,
        dry_run: bool = False,
    ) -> RepairReport:
        """Withdraw everything that came from a source, as if it had never been there. Raises `BadInput`."""
        place = build_provenance_selector(source=source, session=session, agent=agent, origin=origin)
        selector = replace(place, since=since, until=until)
        return await build_erasure_service(self._app).repair(
            self.space, selector, by=by, mode=parse_repair_mode(mode), dry_run=dry_run
        )

    async def settle(
        self, conflict: str | UUID, *, decision: str, by: str, note: str = "", texts: Sequence[str] = ()
    ) -> Conflict:
        """Decide a conflict. Raises `NoSuchConflict`, `BadDecision`, `Stale`."""
        verdict = ConflictVerdict(
            decision=decision, judge=ConflictJudge.PERSON, by=by, reasoning=note, texts=tuple(texts)
        )
        return await decide_conflict(self._app.world.deps, self.space, read_id(str(conflict)), verdict)

    async def subscribe(self, *names: str, after: str | EventId | None = None) -> AsyncIterator[DeliveredEvent]:
        """Yield events from now on, or those after an event; all, or only those of these names.

        Ends when the reader falls more than 1,000 events behind. Raises `NotFound` for an unknown `after`.
        """
        start = EventId(read_id(str(after))) if after is not None else None
        async with aclosing(follow_events(self._app, space=self.space, names=names, after=start)) as news:
            async for happened in news:
                if isinstance(happened, FeedGap):
                    return
                yield await self._delivered(happened)

    async def _delivered(self, event: Event) -> DeliveredEvent:
        """Return an event with the words of the fact that it is about, if this agent may see it."""
        content = ""
        if event.name == LEARNED:
            async with self._app.store.transaction() as transaction:
                found = await load_existing_memories(transaction, event.space, [UUID(event.payload["memory"])])
            content = next((each.content for each in found.values() if each.agent_id in (None, self.agent)), "")
        return DeliveredEvent(**{each.name: getattr(event, each.name) for each in fields(event)}, content=content)

    async def status(self) -> dict[str, Any]:
        """Return the numbers of this space and of the whole installation."""
        return await build_status(self._app, space=self.space)


def build_provenance_selector(
    *, source: str | None, session: str | None, agent: str | None, origin: str | Origin | None
) -> ErasureSelector:
    """Build a selector by where something came from."""
    return ErasureSelector(
        source=source,
        session=SessionId(session) if session else None,
        agent=AgentId(agent) if agent else None,
        origin=parse_origin(origin) if origin else None,
    )


def parse_repair_mode(given: str) -> RepairMode:
    try:
        return RepairMode(given)
    except ValueError as error:
        known = ", ".join(f"`{mode}`" for mode in RepairMode)
        raise BadInput(f"`{given[:40]}` is no way to repair.", hint=f"The ways are {known}.") from error


def open(  # noqa: A001 - the public name is `festinger.open`
    settings: Chosen = None,
    *,
    database: str | None = None,
    space: str = "main",
    agent: str = "default",
    session: str | None = None,
) -> MemoryOpener:
    """Start or join the store, migrate it, and close it cleanly at the end.

    `settings` is a `Settings`, a mapping, the path of a YAML file, or nothing for the usual sources. A wrong
    setting, database or space fails on entering. Raises `BadInput`, `CannotStart`, `StoreDown`, `NotFound`.
    """
    return MemoryOpener(_opened(settings, database=database, space=space, agent=agent, session=session))


@asynccontextmanager
async def _opened(
    settings: Chosen, *, database: str | None, space: str, agent: str, session: str | None
) -> AsyncIterator[Memory]:
    use_host_logging(redact=remove_secrets)
    flags = dict(_flatten_settings(_as_mapping(settings)))
    if database is not None:
        flags["database_url"] = database
    path = Path(settings) if isinstance(settings, str | PathLike) else None
    live = LiveSettings(capture_deployment(config=path, flags=flags))
    async with open_app(live, door="library", progress=_ignore_progress, start=StartOptions(providers=True)) as app:
        yield Memory(
            space=app.directory.need(space),
            agent=AgentId(agent),
            session=SessionId(session) if session else None,
            _app=app,
        )


def _as_mapping(settings: Chosen) -> Mapping[str, Any]:
    if isinstance(settings, Settings):
        return settings.model_dump(exclude_unset=True)
    return settings if isinstance(settings, Mapping) else {}


def _flatten_settings(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Flatten a nested mapping to full key names."""
    for name, value in tree.items():
        full = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _flatten_settings(value, f"{full}.")
        elif isinstance(value, SecretStr):
            yield full, value.get_secret_value()
        elif value is not None:
            yield full, value


def _ignore_progress(_message: str) -> None:
    """Ignore progress: a library prints nothing."""
