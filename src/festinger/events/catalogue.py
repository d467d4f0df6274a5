"""Which events are there, and what does each one carry?

The one table of every event, by the room that tells it. An event that is not listed here cannot be emitted.
The envelope (id, space, subject, agent, session, trace, cause, time) is on every event and not repeated.

Does a payload have the shape that its event promises?

A shape names every field with its kind. Fields that are missing, unknown, or of another kind are a fault of
whoever emits, and so is any text beyond 200 characters: an outbox is no place for words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from festinger.errors import FestingerError

MAX_TEXT = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What may stand in a field."""

    name: str
    fits: Callable[[Any], bool]

    def or_none(self) -> "Kind":
        return Kind(name=f"{self.name} or nothing", fits=lambda value: value is None or self.fits(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


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


TEXT = Kind(name="text", fits=lambda value: isinstance(value, str))
COUNT = Kind(name="whole number", fits=_is_count)
NUMBER = Kind(name="number", fits=_is_number)
FLAG = Kind(name="yes or no", fits=lambda value: isinstance(value, bool))
TEXTS = Kind(name="list of texts", fits=_is_list(TEXT.fits))
OBJECTS = Kind(
    name="list of objects", fits=_is_list(lambda item: isinstance(item, Mapping) and _is_json(item))
)
COUNTS = Kind(name="numbers by name", fits=_is_numbers)
JSON = Kind(name="any value", fits=_is_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What an event's payload holds. Audit events say who did what and are kept longer."""

    fields: Mapping[str, Kind]
    version: int = 1
    audit: bool = False


def shape(**fields: Kind) -> Shape:
    """The shape of an event that tells what happened."""
    return Shape(fields=fields)


def audited(**fields: Kind) -> Shape:
    """The shape of an event that tells what a person or a key did."""
    return Shape(fields=fields, audit=True)


def check_payload(name: str, promised: Shape, payload: Mapping[str, Any]) -> None:
    """Refuse a payload that is not what the event promises."""
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
    "setting_changed": audited(key=TEXT, old=JSON, new=JSON, source=TEXT, by=TEXT.or_none()),
    "config_refused": shape(source=TEXT, error=TEXT),
    "schema_migrated": shape(**{"from": TEXT.or_none(), "to": TEXT}),
    "embedder_changed": shape(**{"from": TEXT.or_none(), "to": TEXT, "vectors_left": COUNT}),
    "reembedding_finished": shape(model=TEXT, count=COUNT),
    "provider_down": shape(provider=TEXT, purpose=TEXT, reason=TEXT),
    "provider_up": shape(provider=TEXT),
    "job_dead": shape(job=COUNT, name=TEXT, error=TEXT),
    "event_dead": shape(event=TEXT, subscriber=TEXT, error=TEXT),
    "backup_made": shape(file=TEXT, bytes=COUNT, sha256=TEXT),
    "restored": audited(file=TEXT, forgotten_again=COUNT),
    "space_created": audited(space=TEXT),
    "space_deleted": audited(space=TEXT, rows=COUNT),
    "process_crashed": shape(run=TEXT),
    "master_key_rotated": audited(),
}

PROXY = {
    "session_started": shape(session=TEXT, agent=TEXT, how=TEXT, parent_session=TEXT.or_none()),
    "exchange_captured": shape(
        session=TEXT,
        messages=OBJECTS,
        reply=TEXT.or_none(),
        tool_calls=OBJECTS,
        ended=TEXT,
        model=TEXT,
        tokens=COUNTS,
        recollection=TEXT.or_none(),
    ),
    "recollection_injected": shape(
        recollection=TEXT, session=TEXT, position=TEXT, anchor=TEXT.or_none(), notes=OBJECTS, tokens=COUNT
    ),
    "outcome_inferred": shape(recollection=TEXT, note=TEXT, outcome=TEXT, weight=NUMBER, evidence=TEXT),
    "loop_detected": shape(session=TEXT, rule=TEXT, level=COUNT, count=COUNT, key=TEXT, did=TEXT),
    "loop_recovered": shape(session=TEXT, rule=TEXT, level=COUNT, count=COUNT, key=TEXT, did=TEXT),
    "loop_cut": shape(session=TEXT, rule=TEXT, channel=TEXT, chars=COUNT),
    "breaker_opened": shape(session=TEXT, rule=TEXT, count=COUNT, by=TEXT),
    "breaker_closed": shape(session=TEXT, rule=TEXT, count=COUNT, by=TEXT),
    "memory_degraded": shape(result=TEXT, reason=TEXT, ms=NUMBER),
    "capture_dropped": shape(count=COUNT, reason=TEXT),
}

DOORS = {
    "login": audited(reviewer=TEXT, address=TEXT),
    "login_refused": audited(address=TEXT, count=COUNT),
    "key_made": audited(key=TEXT, scopes=TEXTS, by=TEXT),
    "key_revoked": audited(key=TEXT, by=TEXT),
    "import_finished": audited(
        job=COUNT, format=TEXT, read=COUNT, stored=COUNT, confirmed=COUNT, conflicts=COUNT, skipped=COUNT
    ),
    "export_finished": audited(file=TEXT, counts=COUNTS),
    "milestone_verified": audited(agent=TEXT, n=COUNT, by=TEXT),
    "false_alarm_marked": audited(kind=TEXT, id=TEXT, by=TEXT),
}

RELIABILITY = {
    "clock_jumped": shape(by_seconds=NUMBER, skipped=TEXTS),
    "disk_low": shape(free_mb=COUNT, paused=FLAG),
    "spool_line_refused": shape(file=TEXT, line=COUNT, reason=TEXT),
    "access_refused": audited(route=TEXT, key=TEXT.or_none(), space=TEXT.or_none(), reason=TEXT),
    "invariant_broken": shape(name=TEXT, rows=COUNT),
    "crash_reported": shape(run=TEXT, file=TEXT),
}

_EDGE = shape(
    concept_id=COUNT,
    parent_id=COUNT,
    dim_id=COUNT,
    is_isa=FLAG,
    confidence=NUMBER,
    source=TEXT,
    origin=TEXT,
    version=COUNT,
)
_CHANGED_EDGE = shape(before=JSON, after=JSON, reason=TEXT, conflict=TEXT.or_none())
_CUE = shape(quarantine_id=TEXT, concept=TEXT, parent=TEXT, dim=TEXT, is_isa=FLAG, origin=TEXT, causes=COUNT)

WORLD = {
    "concept_confirmed": shape(concept_id=COUNT, token=TEXT, by=TEXT),
    "concept_wanted": shape(concept_id=COUNT, token=TEXT, encounters=COUNT),
    "dimension_created": shape(dim_id=COUNT, token=TEXT, by=TEXT),
    "edge_added": _EDGE,
    "edge_corroborated": _EDGE,
    "edge_removed": _EDGE,
    "edge_replaced": _CHANGED_EDGE,
    "edge_moved": _CHANGED_EDGE,
    "cue_quarantined": _CUE,
    "cue_admitted": _CUE,
    "cue_rejected": _CUE,
    "conflict_opened": shape(
        conflict=TEXT,
        about=TEXT,
        collision_type=TEXT,
        concept=JSON,
        dim=JSON,
        existing=JSON,
        incoming=JSON,
        priority=COUNT,
    ),
    "conflict_decided": shape(
        conflict=TEXT, about=TEXT, status=TEXT, decision=TEXT, decided_by=TEXT, before=JSON, after=JSON
    ),
    "conflict_undone": shape(conflict=TEXT, about=TEXT, by=TEXT),
    "resolution_finished": shape(
        run_id=TEXT,
        seen=COUNT,
        resolved=COUNT,
        dismissed=COUNT,
        waiting=COUNT,
        failed=COUNT,
        cost_usd=NUMBER.or_none(),
    ),
    "write_failed": shape(concept_id=COUNT, model=TEXT, reason=TEXT, attempts=COUNT),
}

JUDGE = {
    "judgement_made": shape(judgement=TEXT, old=TEXT, new=TEXT, relation=TEXT, confidence=NUMBER, judge=TEXT),
    "judgement_waiting": shape(judgement=TEXT, old=TEXT, new=TEXT),
}

MEMORY = {
    "fact_learned": shape(
        memory=TEXT, kind=TEXT, subject=TEXT.or_none(), action=TEXT, origin=TEXT, agent=TEXT.or_none()
    ),
    "fact_confirmed": shape(memory=TEXT, sighting=TEXT, counted=FLAG, cause_count=COUNT),
    "memory_superseded": shape(old=TEXT, new=TEXT, judgement=TEXT.or_none(), change=TEXT),
    "memory_merged": shape(memory=TEXT, into=TEXT, change=TEXT),
    "memory_restored": shape(memory=TEXT, change=TEXT),
    "memory_held": shape(memory=TEXT, against=TEXT, conflict=TEXT),
    "memory_quarantined": shape(memory=TEXT, reason=TEXT),
    "memory_released": shape(memory=TEXT, by=TEXT),
    "memory_archived": shape(memory=TEXT, reason=TEXT),
    "memory_edited": shape(memory=TEXT, change=TEXT),
    "learn_refused": shape(refusal=TEXT, reason=TEXT),
    "memory_forgotten": shape(ids=TEXTS),
    "memory_repaired": shape(change=TEXT.or_none(), counts=JSON),
    "episode_opened": shape(episode=TEXT, agent=TEXT, session=TEXT),
    "episode_closed": shape(episode=TEXT, agent=TEXT, session=TEXT, closed_by=TEXT),
    "episode_summarised": shape(episode=TEXT, memory=TEXT.or_none(), by=TEXT, facts=COUNT),
    "censor_triggered": shape(
        censor=TEXT, activation_count=COUNT, action=TEXT, was_blocked=FLAG, trigger=TEXT, agent=TEXT
    ),
    "censor_changed": shape(
        **{"censor": TEXT, "from": TEXT.or_none(), "to": TEXT.or_none(), "by": TEXT, "why": TEXT}
    ),
    "censor_false_positive": shape(censor=TEXT, trigger=TEXT),
}

OUTCOMES = {
    "memory_surfaced": shape(recall=TEXT.or_none(), memories=TEXTS, partition=TEXT, reason=TEXT),
    "outcome_recorded": shape(
        memory=TEXT, outcome=TEXT, cause=JSON, how=TEXT, q=NUMBER, confidence=NUMBER, weight=NUMBER
    ),
    "outcome_replaced": shape(**{"memory": TEXT, "from": TEXT, "to": TEXT}),
    "surfacing_expired": shape(memory=TEXT, partition=TEXT),
    "prediction_resolved": shape(memory=TEXT, error=NUMBER, mode=TEXT),
    "pressure_discharged": shape(memory=TEXT, by=TEXT),
    "ceiling_set": shape(memory=TEXT, confidence=NUMBER, center=NUMBER),
    "ceiling_cleared": shape(memory=TEXT, by=TEXT),
}

RETRIEVAL = {
    "recall_made": shape(recall=TEXT, agent=TEXT, session=TEXT, hits=COUNT, abstained=FLAG, below=COUNT),
    "recall_degraded": shape(recall=TEXT, what=TEXTS),
    "blend_changed": shape(**{"agent": TEXT, "from": JSON, "to": JSON, "outcomes": COUNT}),
    "weights_nudged": shape(recall=TEXT, up=COUNT, down=COUNT),
    "turns_indexed": shape(session=TEXT, turns=COUNT),
}

PROPOSALS = {
    "proposal_created": shape(
        proposal=TEXT, fingerprint=TEXT, category=TEXT, scope=TEXT, type=TEXT, producer=TEXT
    ),
    "proposal_merged": shape(proposal=TEXT, fingerprint=TEXT, seen_count=COUNT, counted=FLAG, cause=JSON),
    "proposal_promoted": shape(
        proposal=TEXT, fingerprint=TEXT, seen_count=COUNT, age_days=COUNT, priority=TEXT
    ),
    "proposal_suppressed": shape(proposal=TEXT, fingerprint=TEXT, until=TEXT),
    "proposal_held": shape(proposal=TEXT, why=TEXT),
    "proposal_pair_suggested": shape(a=TEXT, b=TEXT, relation=TEXT, confidence=NUMBER),
    "verdict_received": audited(proposal=TEXT, verdict=TEXT, author=TEXT, verified=FLAG, channel=TEXT),
    "proposal_decided": audited(proposal=TEXT, verdict=TEXT, author=TEXT),
    "proposal_applied": audited(proposal=TEXT, type=TEXT, changes=TEXTS),
    "proposal_apply_failed": shape(proposal=TEXT, reason=TEXT),
    "proposal_undone": audited(proposal=TEXT, by=TEXT),
    "proposal_reevaluated": shape(proposal=TEXT, n=COUNT, kind=TEXT),
    "promotion_run_finished": shape(
        run=TEXT,
        considered=COUNT,
        promoted=COUNT,
        too_few=COUNT,
        too_new=COUNT,
        paused_because=TEXT.or_none(),
    ),
    "producer_muted": shape(producer=TEXT, category=TEXT, value=NUMBER, until=TEXT),
    "reflection_created": shape(reflection=TEXT, episode=TEXT, proposals=TEXTS),
    "inbox_digest": shape(open=COUNT, oldest=TEXT.or_none(), top=JSON),
}

CATALOGUE: Mapping[str, Shape] = MappingProxyType(
    {
        **FOUNDATION,
        **PROXY,
        **DOORS,
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


def shape_of(name: str) -> Shape:
    """The shape of a listed event; an unlisted one is a fault of whoever names it."""
    if name not in CATALOGUE:
        raise FestingerError(f"Event `{name}` is not in the catalogue.")
    return CATALOGUE[name]
