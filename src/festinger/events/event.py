"""Values of the outbox: events and their deliveries.

An event holds ids and numbers; a reader that wants the words reads the rows that it names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from festinger.ids import AgentId, EventId, SessionId, SpaceId, TraceId
from festinger.records import row_mapper


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. `seq` rises in commit order for events of one subject."""

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
class DeliveredEvent(Event):
    """An event as programs receive it, with the ids that it names and the words of what was learned."""

    content: str = ""
    """The words of a learned fact as they are now; empty for other events and for what was forgotten."""

    @property
    def fact_id(self) -> str | None:
        return self.payload.get("memory")

    @property
    def episode_id(self) -> str | None:
        return self.payload.get("episode")

    @property
    def censor_id(self) -> str | None:
        return self.payload.get("censor")

    @property
    def agent_id(self) -> str | None:
        return self.agent


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event that is not written yet."""

    name: str
    subject: str
    payload: Mapping[str, Any]
    agent: AgentId | None = None
    session: SessionId | None = None
    trace: TraceId | None = None
    caused_by: EventId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One event for one subscriber, carried by a job."""

    space: SpaceId
    event: EventId
    subscriber: str
    subject: str
    queue: str
    is_first: bool = False
    """Whether it goes ahead of the other jobs in its queue."""

    @property
    def lock(self) -> str:
        """Deliveries with the same lock run one at a time, in the order in which they were deferred."""
        return f"{self.subscriber}:{self.space}:{self.subject}"


event_from_row = row_mapper(Event, space="space_id", agent="agent_id", session="session_id", trace="trace_id")
