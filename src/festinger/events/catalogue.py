"""Lists every event with the schema of its payload, and checks payloads against it.

An event that is not listed here cannot be emitted. The envelope (id, space, subject, agent, session, trace,
cause, time) is on every event and not repeated. A field that is missing, unknown or of the wrong kind is a
bug in the emitter, and so is any text beyond 200 characters: the outbox holds ids and numbers, not prose.

Values of the outbox: events and their deliveries.

An event holds ids and numbers; a reader that wants the words reads the rows that it names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from festinger.errors import FestingerError
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


MAX_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldKind:
    name: str
    fits: Callable[[Any], bool]

    def or_none(self) -> "FieldKind":
        return FieldKind(name=f"{self.name} or nothing", fits=lambda value: value is None or self.fits(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_json(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(_is_json(item) for item in value)
    return value is None or isinstance(value, str | bool | int | float)


def _is_list(of: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(of(item) for item in value)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_json(value) and all(_is_number(item) for item in value.values())


TEXT = FieldKind(name="text", fits=lambda value: isinstance(value, str))
COUNT = FieldKind(name="whole number", fits=lambda value: isinstance(value, int) and not isinstance(value, bool))
NUMBER = FieldKind(name="number", fits=_is_number)
FLAG = FieldKind(name="yes or no", fits=lambda value: isinstance(value, bool))
TEXTS = FieldKind(name="list of texts", fits=_is_list(TEXT.fits))
OBJECTS = FieldKind(name="list of objects", fits=_is_list(lambda item: isinstance(item, Mapping) and _is_json(item)))
COUNTS = FieldKind(name="numbers by name", fits=_is_numbers)
JSON = FieldKind(name="any value", fits=_is_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSchema:
    """The payload of an event. Audit events record who did what and are kept longer."""

    fields: Mapping[str, FieldKind]
    version: int = 1
    audit: bool = False


def event_schema(**fields: FieldKind) -> EventSchema:
    return EventSchema(fields=fields)


def audit_schema(**fields: FieldKind) -> EventSchema:
    """Build the schema of an audit event: something that a person or an API key did."""
    return EventSchema(fields=fields, audit=True)


def check_payload(name: str, promised: EventSchema, payload: Mapping[str, Any]) -> None:
    """Raise if the payload does not match the event's schema."""
    if missing := promised.fields.keys() - payload.keys():
        raise FestingerError(f"Event `{name}` lacks {_listed(missing)}.")
    if unknown := payload.keys() - promised.fields.keys():
        raise FestingerError(f"Event `{name}` has no field {_listed(unknown)}.")
    for field, kind in promised.fields.items():
        if not kind.fits(payload[field]):
            raise FestingerError(f"Event `{name}`: `{field}` is not a {kind.name}.")
        if _longest(payload[field]) > MAX_TEXT:
            raise FestingerError(f"Event `{name}`: `{field}` holds a text beyond {MAX_TEXT} characters.")


def _longest(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, Mapping):
        return max((_longest(part) for part in (*value.keys(), *value.values())), default=0)
    if isinstance(value, list):
        return max((_longest(item) for item in value), default=0)
    return 0


def _listed(names: set[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


FOUNDATION = {
    "setting_changed": audit_schema(key=TEXT, old=JSON, new=JSON, source=TEXT, by=TEXT.or_none()),
    "config_refused": event_schema(source=TEXT, error=TEXT),
    "schema_migrated": event_schema(**{"from": TEXT.or_none(), "to": TEXT}),
    "embedder_changed": event_schema(**{"from": TEXT.or_none(), "to": TEXT, "vectors_left": COUNT}),
    "reembedding_finished": event_schema(model=TEXT, count=COUNT),
    "provider_down": event_schema(provider=TEXT, purpose=TEXT, reason=TEXT),
    "provider_up": event_schema(provider=TEXT),
    "job_dead": event_schema(job=COUNT, name=TEXT, error=TEXT),
    "event_dead": event_schema(event=TEXT, subscriber=TEXT, error=TEXT),
    "backup_made": event_schema(file=TEXT, bytes=COUNT, sha256=TEXT),
    "restored": audit_schema(file=TEXT, forgotten_again=COUNT),
    "space_created": audit_schema(space=TEXT),
    "space_deleted": audit_schema(space=TEXT, rows=COUNT),
    "process_crashed": event_schema(run=TEXT),
    "master_key_rotated": audit_schema(),
}

PROXY = {
    "session_started": event_schema(session=TEXT, agent=TEXT, how=TEXT, parent_session=TEXT.or_none()),
    "exchange_captured": event_schema(
        session=TEXT,
        messages=OBJECTS,
        reply=TEXT.or_none(),
        tool_calls=OBJECTS,
        ended=TEXT,
        model=TEXT,
        tokens=COUNTS,
        recollection=TEXT.or_none(),
    ),
    "recollection_injected": event_schema(
        recollection=TEXT, session=TEXT, position=TEXT, anchor=TEXT.or_none(), notes=OBJECTS, tokens=COUNT
    ),
    "outcome_inferred": event_schema(recollection=TEXT, note=TEXT, outcome=TEXT, weight=NUMBER, evidence=TEXT),
    "loop_detected": event_schema(session=TEXT, rule=TEXT, level=COUNT, count=COUNT, key=TEXT, did=TEXT),
    "loop_recovered": event_schema(session=TEXT, rule=TEXT, level=COUNT, count=COUNT, key=TEXT, did=TEXT),
    "loop_cut": event_schema(session=TEXT, rule=TEXT, channel=TEXT, chars=COUNT),
    "breaker_opened": event_schema(session=TEXT, rule=TEXT, count=COUNT, by=TEXT),
    "breaker_closed": event_schema(session=TEXT, rule=TEXT, count=COUNT, by=TEXT),
    "memory_degraded": event_schema(result=TEXT, reason=TEXT, ms=NUMBER),
    "capture_dropped": event_schema(count=COUNT, reason=TEXT),
}

DOORS = {
    "login": audit_schema(reviewer=TEXT, address=TEXT),
    "login_refused": audit_schema(address=TEXT, count=COUNT),
    "key_made": audit_schema(key=TEXT, scopes=TEXTS, by=TEXT),
    "key_revoked": audit_schema(key=TEXT, by=TEXT),
    "import_finished": audit_schema(
        job=COUNT, format=TEXT, read=COUNT, stored=COUNT, confirmed=COUNT, conflicts=COUNT, skipped=COUNT
    ),
    "export_finished": audit_schema(file=TEXT, counts=COUNTS),
    "milestone_verified": audit_schema(agent=TEXT, n=COUNT, by=TEXT),
    "false_alarm_marked": audit_schema(kind=TEXT, id=TEXT, by=TEXT),
    "false_alarm_withdrawn": audit_schema(kind=TEXT, id=TEXT, by=TEXT),
}

AGENT = {
    "cycle_finished": event_schema(cycle=TEXT, n=COUNT, source=TEXT, action=TEXT),
    "reminder_due": event_schema(reminder=TEXT, due=TEXT),
}

RELIABILITY = {
    "clock_jumped": event_schema(by_seconds=NUMBER, skipped=TEXTS),
    "disk_low": event_schema(free_mb=COUNT, paused=FLAG),
    "spool_line_refused": event_schema(file=TEXT, line=COUNT, reason=TEXT),
    "access_refused": audit_schema(route=TEXT, key=TEXT.or_none(), space=TEXT.or_none(), reason=TEXT),
    "invariant_broken": event_schema(name=TEXT, rows=COUNT),
    "crash_reported": event_schema(run=TEXT, file=TEXT),
}

_EDGE = event_schema(
    concept_id=COUNT,
    parent_id=COUNT,
    dim_id=COUNT,
    is_isa=FLAG,
    confidence=NUMBER,
    source=TEXT,
    origin=TEXT,
    version=COUNT,
)
_CHANGED_EDGE = event_schema(before=JSON, after=JSON, reason=TEXT, conflict=TEXT.or_none())
_CUE = event_schema(quarantine_id=TEXT, concept=TEXT, parent=TEXT, dim=TEXT, is_isa=FLAG, origin=TEXT, causes=COUNT)

WORLD = {
    "concept_confirmed": event_schema(concept_id=COUNT, token=TEXT, by=TEXT),
    "concept_wanted": event_schema(concept_id=COUNT, token=TEXT, encounters=COUNT),
    "dimension_created": event_schema(dim_id=COUNT, token=TEXT, by=TEXT),
    "edge_added": _EDGE,
    "edge_corroborated": _EDGE,
    "edge_removed": _EDGE,
    "edge_replaced": _CHANGED_EDGE,
    "edge_moved": _CHANGED_EDGE,
    "cue_quarantined": _CUE,
    "cue_admitted": _CUE,
    "cue_rejected": _CUE,
    "conflict_opened": event_schema(
        conflict=TEXT,
        about=TEXT,
        collision_type=TEXT,
        concept=JSON,
        dim=JSON,
        existing=JSON,
        incoming=JSON,
        priority=COUNT,
    ),
    "conflict_decided": event_schema(
        conflict=TEXT, about=TEXT, status=TEXT, decision=TEXT, decided_by=TEXT, before=JSON, after=JSON
    ),
    "conflict_undone": event_schema(conflict=TEXT, about=TEXT, by=TEXT),
    "resolution_finished": event_schema(
        run_id=TEXT, seen=COUNT, resolved=COUNT, dismissed=COUNT, waiting=COUNT, failed=COUNT, cost_usd=NUMBER.or_none()
    ),
    "write_failed": event_schema(concept_id=COUNT, model=TEXT, reason=TEXT, attempts=COUNT),
}

JUDGE = {
    "judgement_made": event_schema(judgement=TEXT, old=TEXT, new=TEXT, relation=TEXT, confidence=NUMBER, judge=TEXT),
    "judgement_waiting": event_schema(judgement=TEXT, old=TEXT, new=TEXT),
}

MEMORY = {
    "fact_learned": event_schema(
        memory=TEXT, kind=TEXT, subject=TEXT.or_none(), action=TEXT, origin=TEXT, agent=TEXT.or_none()
    ),
    "fact_confirmed": event_schema(memory=TEXT, sighting=TEXT, counted=FLAG, cause_count=COUNT),
    "memory_superseded": event_schema(old=TEXT, new=TEXT, judgement=TEXT.or_none(), change=TEXT),
    "memory_merged": event_schema(memory=TEXT, into=TEXT, change=TEXT),
    "memory_restored": event_schema(memory=TEXT, change=TEXT),
    "memory_held": event_schema(memory=TEXT, against=TEXT, conflict=TEXT),
    "memory_quarantined": event_schema(memory=TEXT, reason=TEXT),
    "memory_released": event_schema(memory=TEXT, by=TEXT),
    "memory_archived": event_schema(memory=TEXT, reason=TEXT),
    "memory_edited": event_schema(memory=TEXT, change=TEXT),
    "learn_refused": event_schema(refusal=TEXT, reason=TEXT),
    "memory_forgotten": event_schema(ids=TEXTS),
    "memory_repaired": event_schema(change=TEXT.or_none(), counts=JSON),
    "episode_opened": event_schema(episode=TEXT, agent=TEXT, session=TEXT),
    "episode_closed": event_schema(episode=TEXT, agent=TEXT, session=TEXT, closed_by=TEXT),
    "episode_summarised": event_schema(episode=TEXT, memory=TEXT.or_none(), by=TEXT, facts=COUNT),
    "censor_triggered": event_schema(
        censor=TEXT, activation_count=COUNT, action=TEXT, was_blocked=FLAG, trigger=TEXT, agent=TEXT
    ),
    "censor_changed": event_schema(
        **{"censor": TEXT, "from": TEXT.or_none(), "to": TEXT.or_none(), "by": TEXT, "why": TEXT}
    ),
    "censor_false_positive": event_schema(censor=TEXT, trigger=TEXT),
    "band_reached": event_schema(memory=TEXT, band=TEXT, center=NUMBER),
    "night_finished": event_schema(night=TEXT, agent=TEXT, dry_run=FLAG, counts=COUNTS),
    "night_undone": audit_schema(night=TEXT, items=COUNT, by=TEXT),
}

OUTCOMES = {
    "memory_surfaced": event_schema(recall=TEXT.or_none(), memories=TEXTS, partition=TEXT, reason=TEXT),
    "outcome_recorded": event_schema(
        memory=TEXT, outcome=TEXT, cause=JSON, how=TEXT, q=NUMBER, confidence=NUMBER, weight=NUMBER
    ),
    "outcome_replaced": event_schema(**{"memory": TEXT, "from": TEXT, "to": TEXT}),
    "surfacing_expired": event_schema(memory=TEXT, partition=TEXT),
    "prediction_resolved": event_schema(memory=TEXT, error=NUMBER, mode=TEXT),
    "pressure_discharged": event_schema(memory=TEXT, by=TEXT),
    "ceiling_set": event_schema(memory=TEXT, confidence=NUMBER, center=NUMBER),
    "ceiling_cleared": event_schema(memory=TEXT, by=TEXT),
}

RETRIEVAL = {
    "recall_made": event_schema(recall=TEXT, agent=TEXT, session=TEXT, hits=COUNT, abstained=FLAG, below=COUNT),
    "recall_degraded": event_schema(recall=TEXT, what=TEXTS),
    "turns_indexed": event_schema(session=TEXT, turns=COUNT),
}

PROPOSALS = {
    "proposal_created": event_schema(
        proposal=TEXT, fingerprint=TEXT, category=TEXT, scope=TEXT, type=TEXT, producer=TEXT
    ),
    "proposal_merged": event_schema(proposal=TEXT, fingerprint=TEXT, seen_count=COUNT, counted=FLAG, cause=JSON),
    "proposal_promoted": event_schema(proposal=TEXT, fingerprint=TEXT, seen_count=COUNT, age_days=COUNT, priority=TEXT),
    "proposal_suppressed": event_schema(proposal=TEXT, fingerprint=TEXT, until=TEXT),
    "proposal_held": event_schema(proposal=TEXT, why=TEXT),
    "proposal_pair_suggested": event_schema(a=TEXT, b=TEXT, relation=TEXT, confidence=NUMBER),
    "verdict_received": audit_schema(proposal=TEXT, verdict=TEXT, author=TEXT, verified=FLAG, channel=TEXT),
    "proposal_decided": audit_schema(proposal=TEXT, verdict=TEXT, author=TEXT),
    "proposal_applied": audit_schema(proposal=TEXT, type=TEXT, changes=TEXTS),
    "proposal_apply_failed": event_schema(proposal=TEXT, reason=TEXT),
    "proposal_undone": audit_schema(proposal=TEXT, by=TEXT),
    "proposal_reevaluated": event_schema(proposal=TEXT, n=COUNT, kind=TEXT),
    "promotion_run_finished": event_schema(
        run=TEXT, considered=COUNT, promoted=COUNT, too_few=COUNT, too_new=COUNT, paused_because=TEXT.or_none()
    ),
    "producer_muted": event_schema(producer=TEXT, category=TEXT, value=NUMBER, until=TEXT),
    "reflection_created": event_schema(reflection=TEXT, episode=TEXT, proposals=TEXTS),
}

CATALOGUE: Mapping[str, EventSchema] = MappingProxyType(
    {
        **FOUNDATION,
        **PROXY,
        **DOORS,
        **AGENT,
        **RELIABILITY,
        **WORLD,
        **JUDGE,
        **MEMORY,
        **OUTCOMES,
        **RETRIEVAL,
        **PROPOSALS,
    }
)

AUDIT = sorted(name for name, listed in CATALOGUE.items() if listed.audit)


def find_schema(name: str) -> EventSchema:
    """Return the schema of a listed event; naming an unlisted one is a bug in the caller."""
    if name not in CATALOGUE:
        raise FestingerError(f"Event `{name}` is not in the catalogue.")
    return CATALOGUE[name]
