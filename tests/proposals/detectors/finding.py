"""Things for detectors to find: an episode, and events as other rooms tell them."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from festinger.events.catalogue import Event
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, EventId, SessionId
from festinger.memory.episodes.episode import Episode, EpisodeCloseReason, EpisodeState

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)


def episode() -> Episode:
    return Episode(
        space_id=MAIN_SPACE,
        id=UUID(int=7),
        seq=1,
        agent_id=DEFAULT_AGENT,
        session_id=SessionId("s1"),
        title=None,
        summary=None,
        outcome=None,
        topics=(),
        state=EpisodeState.CLOSED,
        opened_at=MONDAY,
        last_at=MONDAY,
        closed_at=MONDAY,
        closed_by=EpisodeCloseReason.IDLE,
        summarised_at=None,
        summarised_by=None,
        skipped=None,
        prompt_hash=None,
        lessons=(),
        facts_at=None,
        memory_id=None,
        continues=None,
        turns=3,
        raw_cut_at=None,
        evaluation=False,
        version=1,
    )


def event(name: str, *, number: int = 1, session: str | None = "s1", **payload: Any) -> Event:
    return Event(
        id=EventId(UUID(int=number)),
        seq=number,
        name=name,
        version=1,
        space=MAIN_SPACE,
        subject="test",
        agent=DEFAULT_AGENT,
        session=SessionId(session) if session else None,
        trace=None,
        caused_by=None,
        payload=payload,
        at=MONDAY,
    )
