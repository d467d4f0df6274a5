"""What is an event?

Values only: what happened, to what, because of what; and who is to be told. An event holds ids and numbers;
whoever wants the words reads the rows that it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from festinger.ids import AgentId, EventId, SessionId, SpaceId, TraceId


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. `seq` rises in the order of commit for events of one subject."""

    id: EventId
    seq: int
    name: str
    version: int
    space: SpaceId
    subject: str
    agent: AgentId | None
    session: SessionId | None
    trace: TraceId | None
    caused_by: EventId | None
    payload: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """Something that happened and is not written yet."""

    name: str
    subject: str
    payload: Mapping[str, Any]
    agent: AgentId | None = None
    session: SessionId | None = None
    trace: TraceId | None = None


class DeliveryState(StrEnum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event for one subscriber, as durable work."""

    space: SpaceId
    event: EventId
    subscriber: str
    subject: str
    queue: str
    is_first: bool = False
    """Whether it goes before what else waits in its queue."""

    @property
    def lock(self) -> str:
        """Deliveries of one lock are made one at a time, in the order in which they were asked for."""
        return f"{self.subscriber}:{self.space}:{self.subject}"


def event_from_row(row: Mapping[str, Any]) -> Event:
    """The event that a row of the outbox holds."""
    return Event(
        id=row["id"],
        seq=row["seq"],
        name=row["name"],
        version=row["version"],
        space=row["space_id"],
        subject=row["subject"],
        agent=row["agent_id"],
        session=row["session_id"],
        trace=row["trace_id"],
        caused_by=row["caused_by"],
        payload=row["payload"],
        at=row["at"],
    )
