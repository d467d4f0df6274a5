"""Who is logged in to the console?

A person comes in by a one-time link, which somebody at the machine asked for, or by showing a key. Either becomes a
session, known by a cookie of 32 random bytes. Links and cookies are kept only as hashes. A session ends by itself
when it is not used for long, with the key that it was opened with, or when its person leaves.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from festinger.ids import SpaceId
from festinger.store.keys import RandomBytes, Role
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

RANDOM_BYTES = 32
LINK_PREFIX = "fsl_"
"""A one-time link is told from a key by how it begins."""

SEEN_NOTED_EVERY = timedelta(minutes=1)
"""So that a page that is clicked through does not write a row a click."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Somebody who is logged in."""

    space: SpaceId
    """The one space that is open to them, or '*'."""
    id: UUID
    name: str
    role: Role
    seen_at: datetime


def new_cookie(random_bytes: RandomBytes) -> str:
    return urlsafe_b64encode(random_bytes(RANDOM_BYTES)).decode().rstrip("=")


def new_link(random_bytes: RandomBytes) -> str:
    return LINK_PREFIX + new_cookie(random_bytes)


def token_of(cookie: str) -> str:
    """What a form of this session must send back: it follows from the cookie, but the cookie not from it."""
    return hashlib.sha256(b"form of " + cookie.encode()).hexdigest()


async def make_link(
    store: Store, session: Session, *, link: str, until: datetime, role: Role = Role.REVIEWER
) -> None:
    """Keep a one-time link for somebody who will be `session`."""
    await store.run(
        Q["make_link"],
        space=session.space,
        id=session.id,
        name=session.name,
        role=role,
        hash=_hash(link),
        until=until,
        at=session.seen_at,
    )


async def open_link(transaction: Transaction, link: str, *, cookie: str, at: datetime) -> Session | None:
    """Make a link a session; nothing if it is unknown, used or too old."""
    row = await transaction.maybe(Q["open_link"], link=_hash(link), hash=_hash(cookie), at=at)
    return _session(row) if row else None


async def open_session(
    transaction: Transaction, session: Session, *, cookie: str, key: UUID | None = None
) -> None:
    """Begin a session of somebody who is known already."""
    await transaction.run(
        Q["open_session"],
        space=session.space,
        id=session.id,
        name=session.name,
        role=session.role,
        key=key,
        hash=_hash(cookie),
        at=session.seen_at,
    )


async def find_session(store: Store, cookie: str, *, now: datetime, idle: timedelta) -> Session | None:
    """The live session of this cookie, kept alive by being asked for."""
    wanted = _hash(cookie)
    row = await store.maybe(Q["find_session"], hash=wanted, since=now - idle)
    # The index has found it; comparing again in constant time keeps that from resting on the index alone.
    if row is None or not hmac.compare_digest(row.pop("hash"), wanted):
        return None
    found = _session(row)
    if now - found.seen_at > SEEN_NOTED_EVERY:
        await store.run(Q["see_session"], space=found.space, id=found.id, at=now)
    return found


async def end_session(store: Store, session: Session, *, at: datetime) -> None:
    await store.run(Q["end_session"], space=session.space, id=session.id, at=at)


async def has_sessions(store: Store) -> bool:
    """Whether anybody ever logged in."""
    return bool(await store.value(Q["has_sessions"]))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _session(row: dict[str, object]) -> Session:
    return Session(**{**row, "role": Role(str(row["role"]))})  # type: ignore[arg-type]
