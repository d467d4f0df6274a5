"""One conversation of an agent on this memory, as every framework needs it.

Notes before the request, two tools for the model, and what both sides said afterwards. A memory that is away
never stops the agent: notes are then empty, nothing is captured, and a log line says so.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from festinger.client.episodes import SessionConversation
from festinger.client.memory import Memory
from festinger.errors import FestingerError, Unavailable
from festinger.ids import Origin

log = structlog.get_logger(room="integrations")


class AgentConversation:
    """A session of an agent. `memory` is an open handle: `async with festinger.open(agent="scout") as memory`."""

    def __init__(self, memory: Memory, session: str) -> None:
        self._memory = memory.for_session(session)
        self._session = session
        self._talk: SessionConversation | None = None
        self._notes: dict[str, str] = {}
        self._shown: list[str] = []

    async def notes(self, message: str) -> str:
        """Return the notes that belong beside a person's message; the same message gets the same notes again.

        Notes that this conversation showed before are not repeated.
        """
        if message not in self._notes:
            self._notes[message] = ""
            async with _fail_open("notes"):
                found = await self._memory.recollect(message, exclude=self._shown)
                self._shown += found.ids
                self._notes[message] = found.text
        return self._notes[message]

    async def recall(self, cue: str) -> str:
        """Search the memory of earlier conversations. Returns what is known, one statement a line with its id."""
        try:
            found = await self._memory.recall(cue)
        except FestingerError as error:
            return f"{error.message} {error.hint}"
        lines = [f"[{str(item.id)[:18]}] {item.text}{' (disputed)' if item.disputed else ''}" for item in found.items]
        return "\n".join(lines) or "Nothing relevant is remembered."

    async def learn(self, text: str) -> str:
        """Remember one lasting fact for later conversations, as a sentence that stands alone."""
        try:
            return (await self._memory.learn(text, origin=Origin.MODEL)).said
        except FestingerError as error:
            return f"{error.message} {error.hint}"

    async def capture(self, role: str, text: str) -> None:
        """Keep what was said; what a `user` states is learned. Roles: user, assistant, tool."""
        async with _fail_open("capture"):
            if self._talk is None:
                self._talk = await self._memory.episode(self._session).__aenter__()
            await self._talk.say(role, text)

    async def close(self) -> None:
        """End the conversation: it is summed up. Without this it ends when the memory is closed."""
        talk, self._talk = self._talk, None
        if talk is not None:
            async with _fail_open("close"):
                await talk.close()


@asynccontextmanager
async def _fail_open(what: str) -> AsyncIterator[None]:
    try:
        yield
    except Unavailable as error:
        log.warning("the agent goes on without memory", what=what, why=error.message, hint=error.hint)
