"""Ids, origins, causes and scopes.

Ids are version 7 UUIDs from the injected clock and randomness: they sort by time, and tests can predict them.
People may write them in any case and as a prefix.
"""

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, NewType
from uuid import UUID

from festinger.clock import Clock, aware
from festinger.errors import BadInput, NotFound

SpaceId = NewType("SpaceId", str)
AgentId = NewType("AgentId", str)
SessionId = NewType("SessionId", str)
TraceId = NewType("TraceId", str)
EventId = NewType("EventId", UUID)
MemoryId = NewType("MemoryId", UUID)

MAIN_SPACE = SpaceId("main")
EVERY_SPACE = SpaceId("*")
DEFAULT_AGENT = AgentId("default")
NO_SESSION = SessionId("")

NewId = Callable[[], UUID]
"""Makes the next id."""

PREFIX_CHARS = 8
ID_CHARS = 32
_WHOLE = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{4}\1[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]+")


class Origin(StrEnum):
    """Who said something. Set by the server, never read from the text."""

    PERSON = "person"
    SYSTEM = "system"
    MODEL = "model"
    TOOL = "tool"
    DOCUMENT = "document"
    JOB = "job"


TRUST_ORDER = (Origin.PERSON, Origin.SYSTEM, Origin.MODEL, Origin.TOOL, Origin.DOCUMENT)
"""Most trusted first. `job` is excluded: what it derives from texts has their lowest trust, and what it
computes from counters alone is nobody's statement."""


def least_trusted(origins: Iterable[Origin]) -> Origin:
    """The origin of something derived from all of these."""
    ranked = [origin for origin in origins if origin is not Origin.JOB]
    return max(ranked, key=TRUST_ORDER.index, default=Origin.JOB)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """What a sighting is attributed to. Recurrence counts distinct causes, not repeats."""

    agent: AgentId
    session: SessionId
    day: date
    origin: Origin


def cause_columns(cause: Cause) -> dict[str, Any]:
    """Return the query parameters that name a cause."""
    return {"agent": cause.agent, "session": cause.session, "day": cause.day, "origin": cause.origin.value}


def cause(*, agent: AgentId, session: SessionId, origin: Origin, at: datetime) -> Cause:
    """Build the cause of something sighted `at`; the day is the UTC date of the server's clock."""
    return Cause(agent=agent, session=session, day=aware(at).date(), origin=origin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The space, agent and session of a speaker. Handles without an agent have the default one."""

    space: SpaceId
    agent: AgentId
    session: SessionId = NO_SESSION

    def cause(self, origin: Origin, at: datetime) -> Cause:
        return cause(agent=self.agent, session=self.session, origin=origin, at=at)


def id_maker(clock: Clock, chance: random.Random) -> NewId:
    """Make version 7 UUIDs that increase within this process, even if the clock stalls or steps back."""
    last = 0

    def new_id() -> UUID:
        nonlocal last
        millis = int(clock().timestamp() * 1000)
        # The 12 bits after the time are a counter within the millisecond (RFC 9562, method 1).
        last = max(last + 1, millis << 12)
        time_and_count = last
        value = (time_and_count >> 12) << 80
        value |= 0x7 << 76
        value |= (time_and_count & 0xFFF) << 64
        value |= 0b10 << 62
        value |= chance.getrandbits(62)
        return UUID(int=value)

    return new_id


def time_of_id(id_: UUID) -> datetime:
    """Return when an id was made, to the millisecond."""
    return datetime.fromtimestamp((id_.int >> 80) / 1000, UTC)


def read_id(text: str) -> UUID:
    """Parse a whole id in any case, with or without dashes."""
    if not _WHOLE.fullmatch(text.strip()):
        raise BadInput(f"`{text[:64]}` is not an id.", hint="An id looks like `018f3a5e-…`.")
    return UUID(text.strip())


def prefix(text: str) -> str:
    """Normalize an id prefix that a person wrote to the stored form."""
    lowered = text.strip().lower()
    digits = lowered.replace("-", "")
    dashed = _dashed(digits)
    is_one = _HEX.fullmatch(digits) and PREFIX_CHARS <= len(digits) <= ID_CHARS
    if not is_one or lowered.rstrip("-") not in (digits, dashed):
        raise BadInput(
            f"`{text[:64]}` is not an id.", hint=f"Give the whole id or at least its first {PREFIX_CHARS} characters."
        )
    return dashed


def _dashed(digits: str) -> str:
    groups = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return "-".join(group for group in groups if group)


def pick(text: str, matches: Iterable[UUID]) -> UUID:
    """Choose the one id that starts with `text`."""
    found = sorted(set(matches))
    if not found:
        raise NotFound(f"Nothing has an id that begins with `{text}`.")
    if len(found) > 1:
        raise BadInput(
            f"`{text}` begins {len(found)} ids: " + ", ".join(f"`{match}`" for match in found[:10]) + ".",
            hint="Give more characters of the one that you mean.",
        )
    return found[0]
