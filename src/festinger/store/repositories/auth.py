"""Who is calling, by the key that they show?

A key is `fst_` and 32 random bytes, shown once when it is made; only its hash is kept. It belongs to a space
('*' for all) and has a role. What a role may do is decided at the doors. Making and revoking a key are
counted as changes, so that a door which keeps known keys in memory lets go of a revoked one.

Who is logged in to the console?

A person comes in by a one-time link, which somebody at the machine asked for, or by showing a key. Either becomes a
session, known by a cookie of 32 random bytes. Links and cookies are kept only as hashes. A session ends by itself
when it is not used for long, with the key that it was opened with, or when its person leaves.
"""

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from festinger.errors import NotFound
from festinger.ids import AgentId, SpaceId
from festinger.store.cache_invalidation import bump_version
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of

Q = queries_of("festinger.store")

PREFIX = "fst_"
RANDOM_BYTES = 32
LENGTH = len(PREFIX) + 43
ROOM = "keys"
"""The name under which changes of keys are counted."""

USE_NOTED_EVERY = timedelta(minutes=1)
"""So that a busy key does not write a row a request."""

RandomBytes = Callable[[int], bytes]
"""Gives this many bytes from the operating system's source of secrets."""


class AccessRole(StrEnum):
    PROXY = "proxy"
    AGENT = "agent"
    REVIEWER = "reviewer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """What is known of a key; never the key itself."""

    space: SpaceId
    id: UUID
    name: str
    role: AccessRole
    agent: AgentId | None
    created_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


def new_secret(random_bytes: RandomBytes) -> str:
    return PREFIX + urlsafe_b64encode(random_bytes(RANDOM_BYTES)).decode().rstrip("=")


def is_api_key(text: str) -> bool:
    """Whether this can be one of our keys at all; anything else belongs to somebody else's server."""
    return text.startswith(PREFIX)


def hash_secret(secret: str) -> bytes:
    # A plain hash is enough: the secret has 256 bits of chance, nobody can try them all.
    return hashlib.sha256(secret.encode()).digest()


async def make_key(transaction: Transaction, key: ApiKey, *, secret: str) -> None:
    """Keep a new key. A name that a live key of the space has already is `Refused`."""
    await transaction.run(
        Q["make_key"],
        space=key.space,
        id=key.id,
        name=key.name,
        role=key.role,
        agent=key.agent,
        hash=hash_secret(secret),
        at=key.created_at,
    )
    await bump_version(transaction, space=key.space, room=ROOM)


async def find_key(store: Store, secret: str, *, hot: bool = False) -> ApiKey | None:
    """The live key that has this secret, if there is one."""
    if not is_api_key(secret) or len(secret) != LENGTH:
        return None
    wanted = hash_secret(secret)
    row = await store.maybe(Q["find_key"], hot=hot, hash=wanted)
    # The index has found it; comparing again in constant time keeps that from resting on the index alone.
    if row is None or not hmac.compare_digest(row.pop("hash"), wanted):
        return None
    return _key(row)


async def load_api_keys(store: Store, *, space: SpaceId | None = None) -> list[ApiKey]:
    """Every key, revoked ones too, or those of one space; oldest first."""
    return [_key(row) for row in await store.all(Q["keys"], space=space)]


async def revoke_key(transaction: Transaction, *, space: SpaceId, key: UUID, at: datetime) -> None:
    """End a key. One that was revoked before stays as it was; one that never was is `NotFound`."""
    if await transaction.maybe(Q["revoke_key"], space=space, id=key, at=at) is None:
        raise NotFound(f"There is no key `{key}` in this space.")
    await bump_version(transaction, space=space, room=ROOM)


async def record_key_use(store: Store, key: ApiKey, *, at: datetime) -> bool:
    """Remember that a key was used, at most once a minute; whether it was written."""
    before = at - USE_NOTED_EVERY
    return await store.run(Q["note_key_use"], space=key.space, id=key.id, at=at, before=before) > 0


def _key(row: dict[str, object]) -> ApiKey:
    return ApiKey(**{**row, "role": AccessRole(str(row["role"]))})  # type: ignore[arg-type]


LINK_PREFIX = "fsl_"
"""A one-time link is told from a key by how it begins."""

SEEN_NOTED_EVERY = timedelta(minutes=1)
"""So that a page that is clicked through does not write a row a click."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSession:
    """Somebody who is logged in."""

    space: SpaceId
    """The one space that is open to them, or '*'."""
    id: UUID
    name: str
    role: AccessRole
    seen_at: datetime


def new_cookie(random_bytes: RandomBytes) -> str:
    return urlsafe_b64encode(random_bytes(RANDOM_BYTES)).decode().rstrip("=")


def new_login_link(random_bytes: RandomBytes) -> str:
    return LINK_PREFIX + new_cookie(random_bytes)


def form_token(cookie: str) -> str:
    """What a form of this session must send back: it follows from the cookie, but the cookie not from it."""
    return hashlib.sha256(b"form of " + cookie.encode()).hexdigest()


async def create_login_link(
    store: Store, session: LoginSession, *, link: str, until: datetime, role: AccessRole = AccessRole.REVIEWER
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


async def redeem_login_link(transaction: Transaction, link: str, *, cookie: str, at: datetime) -> LoginSession | None:
    """Make a link a session; nothing if it is unknown, used or too old."""
    row = await transaction.maybe(Q["open_link"], link=_hash(link), hash=_hash(cookie), at=at)
    return _session(row) if row else None


async def open_session(
    transaction: Transaction, session: LoginSession, *, cookie: str, key: UUID | None = None
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


async def find_session(store: Store, cookie: str, *, now: datetime, idle: timedelta) -> LoginSession | None:
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


async def end_session(store: Store, session: LoginSession, *, at: datetime) -> None:
    await store.run(Q["end_session"], space=session.space, id=session.id, at=at)


async def has_sessions(store: Store) -> bool:
    """Whether anybody ever logged in."""
    return bool(await store.value(Q["has_sessions"]))


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _session(row: dict[str, object]) -> LoginSession:
    return LoginSession(**{**row, "role": AccessRole(str(row["role"]))})  # type: ignore[arg-type]
