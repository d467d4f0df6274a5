"""How does a person come in to the console, and go again?

By a one-time link that somebody at this machine asked for, or by a key that may do more than talk to models. Whoever
tries wrong ones too often waits. What a session may do is decided at the doors.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from festinger.errors import NotAuthenticated, NotAuthorised, TooMany
from festinger.ids import EVERY_SPACE, MAIN_SPACE, SpaceId
from festinger.store.repositories.auth import (
    ApiKey,
    Role,
    Session,
    end_session,
    find_session,
    has_sessions,
    is_ours,
    make_link,
    new_cookie,
    new_link,
    open_link,
    open_session,
)

if TYPE_CHECKING:
    from festinger.app.wiring import App

WRONG_TRIES = 5
PAUSE = timedelta(minutes=1)
MOST_ADDRESSES = 1_000
"""Callers whose wrong tries are remembered; the one that was quiet for longest is let go of."""


@dataclass(slots=True, kw_only=True)
class Tries:
    """Who guessed wrong lately, and how often in a row."""

    wrong: OrderedDict[str, tuple[int, datetime]] = field(default_factory=OrderedDict)

    def check(self, address: str, now: datetime) -> None:
        count, last = self.wrong.get(address, (0, now))
        if count < WRONG_TRIES:
            return
        if now - last < PAUSE:
            raise TooMany("There were too many wrong tries.", hint="Wait a minute, then try again.")
        del self.wrong[address]

    def note(self, address: str, now: datetime) -> int:
        """Remember a wrong try; how many there are by now."""
        count, _ = self.wrong.pop(address, (0, now))
        self.wrong[address] = (count + 1, now)
        if len(self.wrong) > MOST_ADDRESSES:
            self.wrong.popitem(last=False)
        return count + 1


class Logins:
    """Coming in to the console of one app."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._tries = Tries()

    async def invite(self, name: str, *, space: SpaceId = EVERY_SPACE) -> str:
        """A one-time link for a person, who will be able to decide."""
        link, now = new_link(self._app.tools.entropy), self._app.tools.clock()
        until = now + timedelta(minutes=self._app.settings.now.auth.login_link_minutes)
        guest = Session(
            space=space, id=self._app.tools.new_id(), name=name[:100], role=Role.REVIEWER, seen_at=now
        )
        await make_link(self._app.store, guest, link=link, until=until)
        return link

    async def is_first(self) -> bool:
        """Whether nobody ever logged in."""
        return not await has_sessions(self._app.store)

    async def enter(self, secret: str, *, address: str) -> tuple[Session, str]:
        """The session of whoever shows this link or key, and its cookie."""
        now = self._app.tools.clock()
        self._tries.check(address, now)
        cookie = new_cookie(self._app.tools.entropy)
        session = await self._entered(secret.strip(), cookie=cookie, address=address, now=now)
        if session is None:
            await self._refuse(address, now)
        assert session is not None, "refusing raises"
        self._tries.wrong.pop(address, None)
        return session, cookie

    async def find(self, cookie: str) -> Session | None:
        """The live session of a cookie."""
        idle = timedelta(hours=self._app.settings.now.auth.session_hours)
        return await find_session(self._app.store, cookie, now=self._app.tools.clock(), idle=idle)

    async def leave(self, session: Session) -> None:
        await end_session(self._app.store, session, at=self._app.tools.clock())

    async def _entered(self, secret: str, *, cookie: str, address: str, now: datetime) -> Session | None:
        key = await self._app.keyring.find(secret) if is_ours(secret) else None
        async with self._app.store.transaction() as transaction:
            if key is None:
                session = await open_link(transaction, secret, cookie=cookie, at=now)
            else:
                session = self._person(key, now)
                await open_session(transaction, session, cookie=cookie, key=key.id)
            if session is not None:
                await self._app.outbox.emit(
                    transaction,
                    "login",
                    space=_told_in(session.space),
                    subject=f"login:{session.id}",
                    payload={"reviewer": session.name, "address": address},
                )
        return session

    def _person(self, key: ApiKey, now: datetime) -> Session:
        if key.role is Role.PROXY:
            raise NotAuthorised("A key of role `proxy` only talks to models; it opens no console.")
        return Session(
            space=key.space, id=self._app.tools.new_id(), name=key.name, role=key.role, seen_at=now
        )

    async def _refuse(self, address: str, now: datetime) -> None:
        count = self._tries.note(address, now)
        async with self._app.store.transaction() as transaction:
            await self._app.outbox.emit(
                transaction,
                "login_refused",
                space=MAIN_SPACE,
                subject=f"login:{address}"[:200],
                payload={"address": address, "count": count},
            )
        raise NotAuthenticated(
            "This is no link or key that opens the console; a link works once and not for long.",
            hint="Get a new link with `festinger login`.",
        )


def _told_in(space: SpaceId) -> SpaceId:
    return MAIN_SPACE if space == EVERY_SPACE else space
