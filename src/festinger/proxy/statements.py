"""Learns statements from the new turns of a request while its response is on the way.

Only an explicit `remember that …` delays the response, because its headers report the result: as long as a
request may wait for memory, and not at all while the store is away. All else is learned by the worker process
where there is one. After that, or after a crash, a job in `runtime.memory` reads captured turns again; keys
derived from the turn prevent learning anything twice.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Protocol
from uuid import UUID

import structlog
from cachetools import LRUCache

from festinger.errors import FestingerError, StoreDown, Unavailable
from festinger.ids import AgentId, Origin, Scope, SessionId, SpaceId
from festinger.memory.extract.statements import asks_to_remember
from festinger.memory.extract.turns import PersonTurn, learn_turn, may_teach
from festinger.memory.learn.result import Learned
from festinger.proxy.capture.exchange import derive_part_id
from festinger.proxy.errors import fail_open
from festinger.proxy.parser import new_texts
from festinger.proxy.request import RequestContext
from festinger.proxy.routes import ApiProtocol
from festinger.proxy.sessions.session import shorten_session_id
from festinger.proxy.transport.upstream import find_upstream_base
from festinger.runtime.app import App
from festinger.runtime.lifecycle import BackgroundTasks
from festinger.services.recollect import source_turn_id
from festinger.world.recall import SourceText

KEPT = frozenset({"stored", "confirmed", "refined", "superseded", "pending"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnStatus:
    """Result of learning what a person asked to remember; sent as a header."""

    actions: tuple[str, ...] = ()
    is_late: bool = False
    """Whether it is learned later, from what was captured at the latest."""
    failed: str = ""

    def __str__(self) -> str:
        if self.is_late or self.failed:
            word = "pending" if self.is_late else "failed"
            return f"{word}; reason={self.failed}" if self.failed else word
        kept = [action for action in self.actions if action in KEPT]
        return f"{len(kept)}; actions={','.join(self.actions)}" if self.actions else "0"


log = structlog.get_logger(room="proxy")

PART = "learning"
MOST_TURNS = 8
"""Maximum turns read per request; in a longer new history the job reads the rest."""
MOST_HISTORIES = 1000
"""Sessions whose histories may be learned while they go on."""
PROVIDERS = {ApiProtocol.NATIVE: "ollama", ApiProtocol.OPENAI: "openai"}


class TurnLearnerProcess(Protocol):
    """Another process that learns from turns."""

    def learn(
        self, scope: Scope, turns: Sequence[PersonTurn], *, is_history: bool = False
    ) -> asyncio.Future[int] | None:
        """Have turns learned, a history after what is said now; the future is done with how many things were learned
        by then. `None` if nobody is there."""

    def skip(self, space: SpaceId, turns: Sequence[PersonTurn]) -> None:
        """Say that turns were learned here."""

    def use_model(self, setting: str) -> None:
        """Say which model clients use."""


class RequestLearner:
    def __init__(
        self, app: Callable[[], App | None], *, background: BackgroundTasks, reader: TurnLearnerProcess | None = None
    ) -> None:
        self._app = app
        self._background = background
        self._reader = reader
        self._open: dict[tuple[SpaceId, AgentId], dict[asyncio.Future[Any], Callable[[], bool]]] = {}
        """What is being learned, and whether it may state something."""
        self._histories: LRUCache[SessionId, asyncio.Future[int]] = LRUCache(MOST_HISTORIES)

    def start(self, ctx: RequestContext) -> None:
        """Start learning from the new turns of a request, if there is anything to learn from."""
        app = self._app()
        if app is None or not ctx.may_be_learned or ctx.settings.proxy.capture != "on":
            return
        _record_client_model(app, ctx)
        texts = [each for each in new_texts(ctx) if each.origin is Origin.PERSON][-MOST_TURNS:]
        if not texts:
            return
        scope = _build_scope(ctx)
        turns = [PersonTurn(id=message_id(each), text=each.text) for each in texts]
        newest = [each.text for each in texts if source_turn_id(each) == source_turn_id(texts[-1])]
        asks = any(map(asks_to_remember, newest))
        # Of a history that is new here, most was said long ago: nobody waits until all of it is read. What is said
        # meanwhile comes after it, or what was true before would replace what is true now.
        earlier = self._histories.get(scope.session)
        is_history = not asks and (len(newest) < len(texts) or (earlier is not None and not earlier.done()))
        awaited = [] if is_history else turns
        if self._reader is not None:
            self._reader.use_model(app.own_model.setting)
            if not asks and (learned := self._reader.learn(scope, turns, is_history=is_history)) is not None:
                self._follow(app, scope, learned, awaited)
                learned.add_done_callback(partial(_mark_space_used, app, scope.space))
                if is_history:
                    self._histories[scope.session] = learned
                return
        task = self._background.start(learn_turns(app, scope, turns))
        self._follow(app, scope, task, awaited)
        task.add_done_callback(partial(self._skip, scope.space, turns))
        if asks:
            ctx.learning = partial(_wait_for_status, app, task, ctx.settings.proxy.memory_deadline_ms / 1000)

    def is_learning(self, space: SpaceId) -> bool:
        return any(self._pending_tasks(key) for key in list(self._open) if key[0] == space)

    async def settled(self, space: SpaceId, agent: AgentId) -> None:
        """Wait until what this agent heard before is learned and can be recalled; not for what states nothing."""
        if awaited := self._pending_tasks((space, agent)):
            await asyncio.wait(awaited)

    def _pending_tasks(self, key: tuple[SpaceId, AgentId]) -> set[asyncio.Future[Any]]:
        """What is being learned from turns that may state something."""
        return {task for task, may_state in self._open.get(key, {}).items() if may_state()}

    def _follow(self, app: App, scope: Scope, task: asyncio.Future[Any], turns: Sequence[PersonTurn]) -> None:
        """Let requests wait for a task that reads these turns among others."""
        key = (scope.space, scope.agent)
        # Looked at once, and only if a request comes before they are learned, which is rare.
        may_state = cache(lambda: any(may_teach(app.memory.deps, turn.text) for turn in turns))
        self._open.setdefault(key, {})[task] = may_state
        task.add_done_callback(partial(self._done, key))

    def _skip(self, space: SpaceId, turns: Sequence[PersonTurn], task: asyncio.Task[LearnStatus]) -> None:
        if self._reader is not None and not task.cancelled() and not task.result().failed:
            self._reader.skip(space, turns)

    def _done(self, key: tuple[SpaceId, AgentId], task: asyncio.Future[Any]) -> None:
        del self._open[key][task]
        if not self._open[key]:
            del self._open[key]


def _mark_space_used(app: App, space: SpaceId, learned: asyncio.Future[int]) -> None:
    if not learned.cancelled() and learned.result():
        app.recall.holdings.stored(space)


async def learn_turns(app: App, scope: Scope, turns: Sequence[PersonTurn]) -> LearnStatus:
    """Learn from turns that were not read before."""
    learned: list[Learned] = []
    with fail_open(PART) as attempt:
        try:
            for turn in turns:
                if app.memory.claim_turn(scope.space, turn.id):
                    learned += await learn_turn(app.memory.deps, scope, turn)
        except FestingerError as error:
            app.memory.release_turn(scope.space, turn.id)
            log.warning("turn not learned at once", error=error.message)
            return LearnStatus(is_late=isinstance(error, Unavailable), failed=type(error).__name__)
    return LearnStatus(actions=tuple(each.action.value for each in learned), failed=attempt.failed)


async def _wait_for_status(app: App, task: asyncio.Task[LearnStatus], seconds: float) -> LearnStatus:
    """What was learned, as far as that is known by then."""
    if not app.store.is_database_down:
        await asyncio.wait({task}, timeout=seconds)
    if task.done():
        return task.result()
    return LearnStatus(is_late=True, failed=StoreDown.__name__ if app.store.is_database_down else "")


def message_id(said: SourceText) -> UUID:
    session, link, number = (said.message or "::").rsplit(":", 2)
    return derive_part_id(shorten_session_id(SessionId(session)), link, number)


def _build_scope(ctx: RequestContext) -> Scope:
    return Scope(space=ctx.space, agent=ctx.agent, session=shorten_session_id(ctx.session.id))


def _record_client_model(app: App, ctx: RequestContext) -> None:
    """Note which model this client uses: where settings say `auto`, it also reads and judges for us."""
    protocol = ctx.chat.kind.protocol
    if protocol in PROVIDERS:
        base = find_upstream_base(protocol, ctx.settings.proxy)
        address = base if protocol is ApiProtocol.NATIVE else f"{base}/v1"
        app.own_model.note(provider=PROVIDERS[protocol], model=ctx.chat.model, address=address)
