"""A conversation, as a program that holds one keeps it.

    async with memory.episode("session-1") as talk:
        await talk.say("user", "…")

What is said goes into the episode of the session. At the end it is closed and summed up at once: whoever uses the
library may run no worker that would do it later.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from festinger.app.conversing import remember_session
from festinger.app.remembering import MemoryRoom
from festinger.errors import BadInput
from festinger.ids import MemoryId, Origin
from festinger.memory.episodes.episode import Episode, Role, State
from festinger.memory.episodes.lessons import summarise_within
from festinger.memory.episodes.store import Appended, append, close, open_episode
from festinger.memory.extract.turns import PersonTurn, learn_turn
from festinger.memory.model import Place


class Talk(AbstractAsyncContextManager["Talk"]):
    """One session's conversation. Made by `memory.episode`."""

    def __init__(self, room: MemoryRoom, place: Place, *, title: str | None, evaluation: bool) -> None:
        self._room = room
        self._place = place
        self._title = title
        self._evaluation = evaluation
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        """The episode as it was after the last word."""
        if self._episode is None:
            raise BadInput(
                "This conversation has not begun.",
                hint="Write `async with memory.episode(session) as talk:` and use `talk` inside.",
            )
        return self._episode

    async def say(
        self, role: str, text: str, *, origin: Origin | None = None, surfaced: Sequence[MemoryId] = ()
    ) -> Appended:
        """Add what somebody said. One that has become too long goes on as the next. Raises `BadInput`."""
        done = await append(self._room.desk, self._place, role, text, origin=origin, surfaced=surfaced)
        self._episode = done.episode
        turn = done.turn
        if (
            turn is not None
            and turn.role is Role.USER
            and turn.origin is Origin.PERSON
            and not self._evaluation
        ):
            await learn_turn(self._room.desk, self._place, PersonTurn(id=turn.turn_id, text=turn.content))
        return done

    async def close(self) -> Episode:
        """End the episode and sum it up; twice is once."""
        desk, space = self._room.desk, self._place.space
        closed = await close(desk, space, self.episode.id)
        self._room.sessions.pop((space, self._place.session), None)
        if closed.state is State.CLOSED and closed.facts_at is None:
            wait = desk.terms(space).episodes.model_wait_s
            closed = await summarise_within(desk, space, closed.id, seconds=wait)
        self._episode = closed
        return closed

    async def __aenter__(self) -> "Talk":
        self._episode = await open_episode(
            self._room.desk, self._place, title=self._title, evaluation=self._evaluation
        )
        remember_session(self._room, self._place.space, self._place.session)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
