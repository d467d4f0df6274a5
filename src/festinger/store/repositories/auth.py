"""Stores API keys, login links and console sessions.

A key is `fst_` and 32 random bytes, shown once when it is created. It belongs to a space ('*' for all) and
has a role; the interfaces decide what a role may do. Creating and revoking a key bump the cache version, so
that an interface that caches keys drops a revoked one. A person logs in by a one-time link, requested on the
machine, or with a key; either opens a session, identified by a cookie of 32 random bytes. Keys, links and
cookies are stored only as hashes. A session ends when it is idle for long, when its key is revoked, or on
logout.
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
from festinger.records import field_values, row_mapper
from festinger.store.cache_invalidation import bump_cache_version
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries

Q = load_queries("festinger.store")

PREFIX = "fst_"
RANDOM_BYTES = 32
LENGTH = len(PREFIX) + 43
ROOM = "keys"
"""Name under which changes of keys are counted."""

USE_NOTED_EVERY = timedelta(minutes=1)
"""Keeps a busy key from writing a row per request."""

RandomBytes = Callable[[int], bytes]
"""Returns this many bytes from the operating system's random source."""


class AccessRole(StrEnum):
    PROXY = "proxy"
    HOOK = "hook"
    AGENT = "agent"
    REVIEWER = "reviewer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """Metadata of a key; never the key itself."""

    space: SpaceId
    id: UUID
    name: str
    role: AccessRole
    agent: AgentId | None
    created_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


def new_api_key(random_bytes: RandomBytes) -> str:
    return PREFIX + new_cookie(random_bytes)


def is_api_key(text: str) -> bool:
    """Return whether this can be one of our keys; anything else is meant for another server."""
    return text.startswith(PREFIX)


def hash_secret(secret: str) -> bytes:
    # A plain hash is enough: the secret has 256 random bits, too many to try.
    return hashlib.sha256(secret.encode()).digest()


async def make_key(transaction: Transaction, key: ApiKey, *, secret: str) -> None:
    """Store a new key. Raises `Refused` if a live key of the space has the same name."""
    await transaction.run(Q["make_key"], **field_values(key), hash=hash_secret(secret))
    await bump_cache_version(transaction, space=key.space, room=ROOM)


async def find_api_key(store: Store, secret: str, *, hot: bool = False) -> ApiKey | None:
    if not is_api_key(secret) or len(secret) != LENGTH:
        return None
    wanted = hash_secret(secret)
    row = await store.maybe(Q["find_key"], hot=hot, hash=wanted)
    # The index has found it; the constant-time comparison keeps this from resting on the index alone.
    if row is None or not hmac.compare_digest(row.pop("hash"), wanted):
        return None
    return _key(row)


async def load_api_keys(store: Store, *, space: SpaceId | None = None) -> list[ApiKey]:
    """Return all keys, including revoked ones, or those of one space; oldest first."""
    return [_key(row) for row in await store.all(Q["keys"], space=space)]


async def revoke_key(transaction: Transaction, *, space: SpaceId, key: UUID, at: datetime) -> None:
    """Revoke a key. One that is already revoked stays as it is; an unknown one raises `NotFound`."""
    if await transaction.maybe(Q["revoke_key"], space=space, id=key, at=at) is None:
        raise NotFound(f"There is no key `{key}` in this space.")
    await bump_cache_version(transaction, space=space, room=ROOM)


async def record_key_use(store: Store, key: ApiKey, *, at: datetime) -> bool:
    """Record that a key was used, at most once a minute; return whether a row was written."""
    before = at - USE_NOTED_EVERY
    return await store.run(Q["note_key_use"], space=key.space, id=key.id, at=at, before=before) > 0


_key = row_mapper(ApiKey)


LINK_PREFIX = "fsl_"
"""Distinguishes a one-time link from a key."""

SEEN_NOTED_EVERY = timedelta(minutes=1)
"""Keeps browsing from writing a row per click."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSession:
    """A logged-in person."""

    space: SpaceId
    """The one space open to them, or '*'."""
    id: UUID
    name: str
    role: AccessRole
    seen_at: datetime


def new_cookie(random_bytes: RandomBytes) -> str:
    return urlsafe_b64encode(random_bytes(RANDOM_BYTES)).decode().rstrip("=")


def new_link_token(random_bytes: RandomBytes) -> str:
    return LINK_PREFIX + new_cookie(random_bytes)


def derive_csrf_token(cookie: str) -> str:
    """Return the token that forms of this session must send, derived from the cookie without revealing it."""
    return hashlib.sha256(b"form of " + cookie.encode()).hexdigest()


async def create_login_link(
    store: Store, session: LoginSession, *, link: str, until: datetime, role: AccessRole = AccessRole.REVIEWER
) -> None:
    """Store a one-time link that will open `session`."""
    columns = field_values(session) | {"role": role, "hash": hash_secret(link), "until": until}
    await store.run(Q["make_link"], **columns)


async def redeem_login_link(transaction: Transaction, link: str, *, cookie: str, at: datetime) -> LoginSession | None:
    """Turn a link into a session; return `None` if it is unknown, used or expired."""
    row = await transaction.maybe(Q["open_link"], link=hash_secret(link), hash=hash_secret(cookie), at=at)
    return _session(row) if row else None


async def open_session(
    transaction: Transaction, session: LoginSession, *, cookie: str, key: UUID | None = None
) -> None:
    """Open a session for a person who is already authenticated."""
    await transaction.run(Q["open_session"], **field_values(session), key=key, hash=hash_secret(cookie))


async def find_login_session(store: Store, cookie: str, *, now: datetime, idle: timedelta) -> LoginSession | None:
    """Return the live session of this cookie and keep it alive."""
    wanted = hash_secret(cookie)
    row = await store.maybe(Q["find_session"], hash=wanted, since=now - idle)
    # The index has found it; the constant-time comparison keeps this from resting on the index alone.
    if row is None or not hmac.compare_digest(row.pop("hash"), wanted):
        return None
    found = _session(row)
    if now - found.seen_at > SEEN_NOTED_EVERY:
        await store.run(Q["see_session"], space=found.space, id=found.id, at=now)
    return found


async def end_login_session(store: Store, session: LoginSession, *, at: datetime) -> None:
    await store.run(Q["end_session"], space=session.space, id=session.id, at=at)


async def has_any_login(store: Store) -> bool:
    """Return whether anybody has ever logged in."""
    return bool(await store.value(Q["has_sessions"]))


_session = row_mapper(LoginSession)
