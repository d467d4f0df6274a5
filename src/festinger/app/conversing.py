"""How are episodes and censors joined to the rest of the house?

What the proxy captured goes into episodes; those that end are summed up by a job that asks the model, and by a second
one that takes their own words when the model has had its time. Silent ones are closed each minute, and those that
this process kept are closed with it. Censors are held in memory and loaded again when anybody changes one.
"""

import asyncio
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from festinger.app.life import END_SECONDS
from festinger.errors import NotFound, StoreDown
from festinger.events.event import Event
from festinger.ids import DEFAULT_AGENT, AgentId, Origin, SessionId, SpaceId
from festinger.jobs.model import Queue, Run
from festinger.memory.censors.check import ROOM
from festinger.memory.censors.escalation import escalate_censor, is_warning
from festinger.memory.episodes.episode import ClosedBy, State
from festinger.memory.episodes.lessons import ask_for_summary, sum_up, summarise, take_up, tie_decision
from festinger.memory.episodes.repair import SUMMARISE
from festinger.memory.episodes.store import (
    SUM_UP,
    close,
    close_stale,
    cut_old_turns,
    keep_exchange,
    kept_since,
    page,
)
from festinger.memory.extract.model_reader import read_turn
from festinger.memory.extract.turns import PersonTurn, learn_turn
from festinger.memory.model import Place
from festinger.retrieval.maintenance import forget_old_turns
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import cut_messages, messages

if TYPE_CHECKING:
    from festinger.app.remembering import MemoryRoom
    from festinger.app.wiring import App

CLOSE_IDLE = "close_idle_episodes"
KEEP = "keep_episode"
LEARN_TURN = "learn_turn"
READ_TURN = "read_turn"
TIE = "tie_decision"
ESCALATE = "escalate_censor"
CUT = "cut_episode_turns"

EACH_MINUTE = "* * * * *"
NIGHTLY = "57 3 * * *"
MOST_SESSIONS = 1_000
"""Sessions that are closed with a process at most."""
WRITING_LIMIT = timedelta(minutes=10)


def register_conversing(app: "App", room: "MemoryRoom") -> None:
    """Make the jobs and subscribers of episodes and censors known."""
    _register_episodes(app, room)
    _register_turns(app, room)
    _register_censors(app, room)


def _register_episodes(app: "App", room: "MemoryRoom") -> None:
    desk = room.desk

    async def keep(transaction: Transaction, event: Event) -> None:
        await keep_exchange(desk, transaction, event)
        remember_session(room, event.space, event.session or "")

    async def ask(transaction: Transaction, event: Event) -> None:
        await ask_for_summary(desk, transaction, event)

    async def tie(transaction: Transaction, event: Event) -> None:
        conflict = UUID(event.payload["conflict"])
        await tie_decision(desk, transaction, event, target="conflict", id_=conflict)

    async def by_model(_run: Run, *, space: str, episode: str) -> None:
        with suppress(NotFound):  # forgotten meanwhile
            await summarise(desk, SpaceId(space), UUID(episode))

    async def by_words(_run: Run, *, space: str, episode: str) -> None:
        with suppress(NotFound):
            await sum_up(desk, SpaceId(space), UUID(episode))

    async def close_idle(_run: Run) -> None:
        for space in app.directory.ids():
            await close_stale(desk, space)
            await take_up(desk, space)

    async def cut(_run: Run) -> None:
        for space in app.directory.ids():
            if before := kept_since(desk, space):
                await cut_old_turns(desk, space)
                await forget_old_turns(app.recall.desk, space)
                await cut_messages(app.store, space, before=before)

    app.outbox.subscribe("exchange_captured", KEEP, keep, is_first=True)
    app.outbox.subscribe("episode_closed", SUMMARISE, ask)
    app.outbox.subscribe("conflict_decided", TIE, tie, wants=has_session)
    # A model may take minutes; the episode's own words must not wait behind it.
    app.jobs.register(SUMMARISE, by_model, queue=Queue.JUDGE, limit=WRITING_LIMIT)
    app.jobs.register(SUM_UP, by_words, queue=Queue.LEARN)
    app.jobs.register(CLOSE_IDLE, close_idle, queue=Queue.SLEEP, schedule=EACH_MINUTE)
    app.jobs.register(CUT, cut, queue=Queue.SLEEP, schedule=NIGHTLY)


def _register_turns(app: "App", room: "MemoryRoom") -> None:
    """What persons state in captured turns is learned, unless the proxy did that when it was said."""
    desk = room.desk

    async def learn_later(transaction: Transaction, event: Event) -> None:
        turns = [each["id"] for each in event.payload["messages"] if each["origin"] == Origin.PERSON]
        unread = [turn for turn in turns if (event.space, UUID(turn)) not in room.turns]
        where = {
            "space": event.space,
            "agent": event.agent or DEFAULT_AGENT,
            "session": event.payload["session"],
        }
        has_model = await desk.writer(event.space) is not None
        for turn in turns:
            if turn in unread:
                await desk.ask(transaction, LEARN_TURN, **where, turn=turn)
            if has_model:
                await desk.ask(transaction, READ_TURN, **where, turn=turn)

    async def said(space: SpaceId, turn: str) -> PersonTurn | None:
        async with app.store.transaction() as transaction:
            message = (await messages(transaction, space, [UUID(turn)])).get(UUID(turn))
        return None if message is None else PersonTurn(id=message.id, text=message.text)

    async def learn_now(_run: Run, *, space: str, agent: str, session: str, turn: str) -> None:
        place = Place(space=SpaceId(space), agent=AgentId(agent), session=SessionId(session))
        found = await said(place.space, turn)
        if found is not None and room.note_turn(place.space, found.id):
            await learn_turn(desk, place, found)

    async def read_again(_run: Run, *, space: str, agent: str, session: str, turn: str) -> None:
        place = Place(space=SpaceId(space), agent=AgentId(agent), session=SessionId(session))
        if (found := await said(place.space, turn)) is not None:
            await read_turn(desk, place, found)

    app.outbox.subscribe("exchange_captured", LEARN_TURN, learn_later, is_first=True)
    app.jobs.register(LEARN_TURN, learn_now, queue=Queue.LEARN)
    # A model may take minutes: what rules read must not wait behind it.
    app.jobs.register(READ_TURN, read_again, queue=Queue.JUDGE, limit=WRITING_LIMIT)


def _register_censors(app: "App", room: "MemoryRoom") -> None:
    async def escalate(transaction: Transaction, event: Event) -> None:
        await escalate_censor(room.desk, transaction, event)

    app.outbox.subscribe("censor_triggered", ESCALATE, escalate, wants=is_warning)
    app.listener.on_change(ROOM, room.watch.changed)


def remember_session(room: "MemoryRoom", space: SpaceId, session: str) -> None:
    """Note whose episode this process keeps. Of too many the oldest are left to silence."""
    room.sessions.pop((space, session), None)
    room.sessions[space, session] = None
    while len(room.sessions) > MOST_SESSIONS:
        del room.sessions[next(iter(room.sessions))]


def has_session(event: Event) -> bool:
    """Whether something was decided within a conversation."""
    return bool(event.session)


def keep_conversing(stack: AsyncExitStack, app: "App", room: "MemoryRoom") -> None:
    """Close what this process kept of conversations when it ends."""
    stack.push_async_callback(_close_all, app, room)


async def _close_all(app: "App", room: "MemoryRoom") -> None:
    """Close the episodes of this process. With the store away silence closes them later."""
    with suppress(StoreDown, TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            for space, session in sorted(room.sessions):
                await close_session(room, SpaceId(space), session)


async def close_session(room: "MemoryRoom", space: SpaceId, session: str) -> None:
    """Close the open episodes of a session because the process ends."""
    for episode in await page(room.desk, space, session=session, state=State.OPEN):
        await close(room.desk, space, episode.id, by=ClosedBy.SHUTDOWN)
