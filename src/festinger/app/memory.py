"""The handle that the library gives out.

`open` opens everything below the doors and gives a `Memory` that is bound to a space, an agent and a session.
It is the same memory that every other door opens. What it can do grows with the rooms; today it tells what
happens and how much has passed through.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any

from pydantic import SecretStr

from festinger.app.feed import follow_events
from festinger.app.status import status
from festinger.app.wiring import App, Start, open_app
from festinger.errors import BadInput
from festinger.events.event import Event
from festinger.events.feed import Gap
from festinger.ids import AgentId, EventId, SessionId, SpaceId, read_id
from festinger.seeing.logs import leave_to_the_program
from festinger.settings.deployment import this_process
from festinger.settings.live import LiveSettings
from festinger.settings.tree import Settings
from festinger.text.redaction import without_secrets

Given = Settings | Mapping[str, Any] | str | PathLike[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory, as one agent in one space sees it. Made by `festinger.open`."""

    space: SpaceId
    agent: AgentId
    session: SessionId | None
    _app: App

    def for_agent(self, agent: str) -> "Memory":
        """The same memory, as another agent sees it."""
        return replace(self, agent=AgentId(agent))

    def for_session(self, session: str) -> "Memory":
        """The same memory, within a session."""
        return replace(self, session=SessionId(session))

    async def subscribe(self, *names: str, after: str | EventId | None = None) -> AsyncIterator[Event]:
        """What happens from now, or what came after an event; events of these names, or all.

        Ends when the reader falls more than 1,000 events behind. Raises `NotFound` for an unknown `after`.
        """
        start = EventId(read_id(str(after))) if after is not None else None
        async with aclosing(follow_events(self._app, space=self.space, names=names, after=start)) as news:
            async for happened in news:
                if isinstance(happened, Gap):
                    return
                yield happened

    async def status(self) -> dict[str, Any]:
        """The numbers of this space and of the whole installation."""
        return await status(self._app, space=self.space)


class Opening(AbstractAsyncContextManager[Memory]):
    """What `open` gives: a memory once it is entered. Using it before is refused with what to do."""

    def __init__(self, inner: AbstractAsyncContextManager[Memory]) -> None:
        self._inner = inner

    async def __aenter__(self) -> Memory:
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


def open(  # noqa: A001 - the public name is `festinger.open`
    settings: Given = None,
    *,
    database: str | None = None,
    space: str = "main",
    agent: str = "default",
    session: str | None = None,
) -> Opening:
    """Start or join the store, bring it to its present shape, and close it cleanly at the end.

    `settings` is a `Settings`, a mapping, the path of a YAML file, or nothing for the usual sources. A wrong
    setting, database or space fails on entering. Raises `BadInput`, `CannotStart`, `StoreDown`, `NotFound`.
    """
    return Opening(_opened(settings, database=database, space=space, agent=agent, session=session))


@asynccontextmanager
async def _opened(
    settings: Given, *, database: str | None, space: str, agent: str, session: str | None
) -> AsyncIterator[Memory]:
    leave_to_the_program(redact=without_secrets)
    flags = dict(_flat(_as_mapping(settings)))
    if database is not None:
        flags["database_url"] = database
    path = Path(settings) if isinstance(settings, str | PathLike) else None
    live = LiveSettings(this_process(config=path, flags=flags))
    async with open_app(live, door="library", progress=_quietly, start=Start(providers=True)) as app:
        yield Memory(
            space=app.directory.need(space),
            agent=AgentId(agent),
            session=SessionId(session) if session else None,
            _app=app,
        )


def _as_mapping(settings: Given) -> Mapping[str, Any]:
    if isinstance(settings, Settings):
        return settings.model_dump(exclude_unset=True)
    return settings if isinstance(settings, Mapping) else {}


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """A nested mapping as full names of keys."""
    for name, value in tree.items():
        full = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{full}.")
        elif isinstance(value, SecretStr):
            yield full, value.get_secret_value()
        elif value is not None:
            yield full, value


def _quietly(_message: str) -> None:
    """A library prints nothing."""
