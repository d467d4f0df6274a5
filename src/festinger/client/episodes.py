"""Episodes and censors on the library's handle.

    async with memory.episode("session-1") as talk:
        await talk.say("user", "…")

What is said goes into the episode of the session. At the end it is closed and summarized at once: a program
that uses the library may run no worker that would do it later. Every method is a thin call into the package
`memory`.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import takewhile
from types import TracebackType
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import MemoryId, Origin, Scope, SessionId, read_id
from festinger.memory.censors.censor import Censor
from festinger.memory.censors.check import CensorCheckResult, run_censors
from festinger.memory.censors.edit import CensorChangeResult, CensorRequest, add_censor
from festinger.memory.censors.edit import undo as undo_censor
from festinger.memory.censors.edit import update as update_censor
from festinger.memory.censors.escalation import FalsePositiveResult, mark_false_positive
from festinger.memory.episodes.episode import (
    Episode,
    EpisodeCloseReason,
    EpisodeState,
    EpisodeTurn,
    TurnRole,
    parse_state,
)
from festinger.memory.episodes.lessons import summarize_episode_within
from festinger.memory.episodes.store import (
    AppendResult,
    append_turn,
    close_episode,
    list_turns,
    open_episode,
    update_episode,
)
from festinger.memory.episodes.store import load_page_of_episodes as list_episodes
from festinger.memory.extract.turns import PersonTurn, learn_turn
from festinger.runtime.memory import MemoryService, track_session


class SessionConversation(AbstractAsyncContextManager["SessionConversation"]):
    """One session's conversation. Made by `memory.episode`."""

    def __init__(self, room: MemoryService, scope: Scope, *, title: str | None, evaluation: bool) -> None:
        self._room = room
        self._place = scope
        self._title = title
        self._evaluation = evaluation
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The episode as of the last turn."""
        if self._episode is None:
            raise BadInput(
                "This conversation has not begun.",
                hint="Write `async with memory.episode(session) as talk:` and use `talk` inside.",
            )
        return self._episode

    async def say(
        self, role: str, text: str, *, origin: Origin | None = None, surfaced: Sequence[MemoryId] = ()
    ) -> AppendResult:
        """Add a turn. An episode that has become too long continues as the next one. Raises `BadInput`."""
        done = await append_turn(self._room.deps, self._place, role, text, origin=origin, surfaced=surfaced)
        self._episode = done.episode
        turn = done.turn
        if turn is not None and turn.role is TurnRole.USER and turn.origin is Origin.PERSON and not self._evaluation:
            await learn_turn(self._room.deps, self._place, PersonTurn(id=turn.turn_id, text=turn.content))
        return done

    async def close(self) -> Episode:
        """End the episode and summarize it; idempotent."""
        deps, space = self._room.deps, self._place.space
        closed = await close_episode(deps, space, self.episode.id)
        self._room.sessions.pop((space, self._place.session), None)
        if closed.state is EpisodeState.CLOSED and closed.facts_at is None:
            wait = deps.terms(space).episodes.model_wait_s
            closed = await summarize_episode_within(deps, space, closed.id, seconds=wait)
        self._episode = closed
        return closed

    async def __aenter__(self) -> "SessionConversation":
        self._episode = await open_episode(self._room.deps, self._place, title=self._title, evaluation=self._evaluation)
        track_session(self._room, self._place.space, self._place.session)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


OWNER = "owner"
"""Whoever acts through the library: the person who runs the program."""


def parse_origin(given: str | Origin) -> Origin:
    try:
        return Origin(given)
    except ValueError as error:
        known = ", ".join(f"`{origin}`" for origin in Origin)
        raise BadInput(f"`{given[:40]}` is no origin.", hint=f"The origins are {known}.") from error


class EpisodeMixin:
    """Methods of a handle for episodes and censors; the handle provides the scope."""

    __slots__ = ()

    @property
    def _place(self) -> Scope:
        raise NotImplementedError

    @property
    def _room(self) -> MemoryService:
        raise NotImplementedError

    def episode(
        self, session: str | None = None, *, title: str | None = None, evaluation: bool = False
    ) -> SessionConversation:
        """Start a conversation of a session: `say` what is said in it; at the end it is closed and
        summarized.

        An `evaluation` is summarized and teaches nothing. Raises `BadInput` without a session, `StoreDown`.
        """
        named = SessionId(session) if session else self._place.session
        place = replace(self._place, session=named)
        return SessionConversation(self._room, place, title=title, evaluation=evaluation)

    async def episodes(
        self, *, agent: str | None = None, state: str | None = None, before: int | None = None, limit: int = 50
    ) -> list[Episode]:
        """List episodes of the space, newest first; `before` is the `seq` of the last one seen.

        Raises `BadInput` for an unknown state.
        """
        wanted = parse_state(state) if state else None
        return await list_episodes(
            self._room.deps, self._place.space, agent=agent, state=wanted, before=before, limit=limit
        )

    async def turns(self, session: str | None = None) -> list[EpisodeTurn]:
        """Return what was said in a session, oldest first, since a caller last closed its episode."""
        deps, place = self._room.deps, self._place
        recent = await list_episodes(deps, place.space, agent=place.agent, session=session or place.session)
        going_on = list(takewhile(lambda each: each.closed_by is not EpisodeCloseReason.CALLER, recent))
        async with deps.store.transaction() as transaction:
            return [turn for each in reversed(going_on) for turn in await list_turns(transaction, place.space, each.id)]

    async def update_episode(
        self, episode: str | UUID, *, title: str | None = None, summary: str | None = None
    ) -> Episode:
        """Set an episode's title or summary, which then stays. Raises `NotFound`, `BadInput`."""
        return await update_episode(
            self._room.deps, self._place.space, read_id(str(episode)), title=title, summary=summary
        )

    async def censor(
        self,
        rule: str = "",
        *,
        meaning: str | None = None,
        reason: str = "",
        domain: str | None = None,
        on: str | Sequence[str] = ("output", "tool"),
        action: str = "warn",
        literal: bool = False,
        threshold: int | None = None,
        origin: str | Origin = Origin.PERSON,
    ) -> Censor:
        """Add a rule about what must not be said, and report which of the last turns it would have matched.

        A rule is a pattern; plain prose is matched by meaning unless `literal`. Raises `BadInput`, `Refused`.
        """
        wanted = CensorRequest(
            rule=rule,
            meaning=meaning,
            reason=reason,
            domain=domain,
            on=(on,) if isinstance(on, str) else tuple(on),
            action=action,
            literal=literal,
            threshold=threshold,
            origin=parse_origin(origin),
        )
        return await add_censor(self._room.watch, self._place, wanted, by=OWNER)

    async def check(
        self, text: str, *, on: str = "output", domain: str | None = None, origin: str | Origin = Origin.MODEL
    ) -> CensorCheckResult:
        """Run the censors on a text; every match is recorded. Raises `BadInput`."""
        watch = self._room.watch
        return await run_censors(watch, self._place, text, on=on, domain=domain, origin=parse_origin(origin))

    async def update_censor(
        self, censor: str | UUID, *, by: str = OWNER, reason: str = "", **values: Any
    ) -> CensorChangeResult:
        """Change a censor: `reason_shown`, `pattern`, `meaning`, `domain`, `on`, `action`, `threshold`,
        `active`.

        Raises `NotFound`, `BadInput`.
        """
        changed = await update_censor(
            self._room.deps, self._place.space, read_id(str(censor)), by=by, reason=reason, **values
        )
        self._room.watch.forget(self._place.space)
        return changed

    async def undo_censor(self, change: str | UUID, *, by: str = OWNER) -> CensorChangeResult:
        """Undo a change of a censor. Raises `NotFound`, `UndoBlocked`."""
        done = await undo_censor(self._room.deps, self._place.space, read_id(str(change)), by=by)
        self._room.watch.forget(self._place.space)
        return done

    async def false_positive(self, trigger: str | UUID, *, by: str = OWNER) -> FalsePositiveResult:
        """Mark a match of a censor as wrong; idempotent. Raises `NotFound`."""
        done = await mark_false_positive(self._room.deps, self._place.space, read_id(str(trigger)), by=by)
        self._room.watch.forget(self._place.space)
        return done
