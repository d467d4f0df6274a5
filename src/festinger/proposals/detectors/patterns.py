"""Detects recurring patterns that call for a change: one detector per pattern.

Covers warnings that strike often enough to block, conflicts that keep returning on one dimension (which
suggests that it holds two things), memories that consolidation would lift over the bound that only a person
lets them pass, loops reported by the proxy guard, memories contradicted by several causes, and unknown names
that people keep mentioning. Each further strike, loop or session is one more sighting.

Defines what a detector finds and turns it into a suggestion.

The suggestion names the detector as its producer, counts for the session in which the problem occurred, at
the time of the evidence, and is identified by its source. Pure.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import NotFound
from festinger.events.catalogue import Event
from festinger.ids import DEFAULT_AGENT, AgentId, Cause, MemoryId, Origin, SessionId, SpaceId, cause
from festinger.memory.censors.censor import Censor, CensorAction
from festinger.memory.censors.edit import lock_censor
from festinger.outcomes.stats import load_contradicting_causes
from festinger.proposals.deps import ProposalDeps
from festinger.proposals.model import ProposalType
from festinger.proposals.sightings.recount import Suggestion, detector_producer
from festinger.records import field_values
from festinger.store.pool import Transaction
from festinger.store.repositories.exchanges import PastExchange, recent_exchanges
from festinger.world.conflicts import Conflict, load_slot_conflicts_since
from festinger.world.explain import UnknownName, load_unknown_names
from festinger.world.model import NoteOutcome
from festinger.world.recollection import SPEAKERS


class DetectorName(StrEnum):
    TOOL_FAILURE = "tool_failure"
    LOOP = "loop"
    ZERO_HIT = "zero_hit"
    CENSOR_HITS = "censor_hits"
    CONFLICT_CHURN = "conflict_churn"
    MISLEADING = "misleading"
    IDENTITY = "identity"


LONGEST_SCOPE = 40
_NO_SLUG = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorFinding:
    """What one detector found in one session."""

    by: DetectorName
    category: str
    scope: str
    what: str
    why: str
    at: datetime
    source: str
    """Identifies the finding when it is reported again."""
    agent: AgentId | None = None
    session: str = ""
    type: ProposalType = ProposalType.ADVICE
    how: str = ""
    payload: Mapping[str, Any] = field(default_factory=dict, hash=False)
    target: Mapping[str, Any] = field(default_factory=dict, hash=False)
    evidence: Mapping[str, Any] = field(default_factory=dict, hash=False)


def finding_to_suggestion(found: DetectorFinding) -> Suggestion:
    """Convert a finding to the form that all producers use."""
    because = cause(
        agent=found.agent or DEFAULT_AGENT,
        session=SessionId(found.session or found.source),
        origin=Origin.JOB,
        at=found.at,
    )
    said = {name: value for name, value in field_values(found).items() if name not in ("by", "agent", "session")}
    return Suggestion(**said, producer=detector_producer(found.by), cause=because)


def slugify_scope(name: str, *, otherwise: str) -> str:
    """Convert a name to the characters allowed in a scope."""
    slug = _NO_SLUG.sub("_", name.lower()).strip("_-")
    slug = slug.lstrip("0123456789_-")[:LONGEST_SCOPE].rstrip("_-")
    return slug or otherwise


USUAL = 5
"""Strikes before escalation for a censor without a threshold of its own."""


def _event_fields_for_finding(event: Event) -> dict[str, Any]:
    """Return when and where the event that a finding rests on happened."""
    return {"at": event.at, "agent": event.agent, "session": event.session or "", "source": str(event.id)}


async def find_censor_to_escalate(deps: ProposalDeps, transaction: Transaction, event: Event) -> list[DetectorFinding]:
    """Propose escalating a censor that has struck often enough; nothing if it no longer exists."""
    try:
        censor = await lock_censor(transaction, event.space, UUID(event.payload["censor"]))
    except NotFound:
        return []
    usual = deps.terms(event.space).detectors.censor_hits.threshold
    return [build_escalation_finding(event, censor)] if is_escalation_due(censor, usual=usual) else []


def is_escalation_due(censor: Censor, *, usual: int) -> bool:
    """Whether a warning has struck often enough; its own threshold takes precedence."""
    needed = usual if censor.escalation_threshold == USUAL else censor.escalation_threshold
    return censor.active and censor.action is CensorAction.WARN and censor.counted >= needed


def build_escalation_finding(event: Event, censor: Censor) -> DetectorFinding:
    return DetectorFinding(
        by=DetectorName.CENSOR_HITS,
        category="safety",
        scope="censor",
        what=f"Let censor {censor.id} stop instead of warning",
        why=f"It struck {censor.counted} times, and nobody called that wrong.",
        **_event_fields_for_finding(event),
        type=ProposalType.CENSOR_ESCALATION,
        payload={"censor_id": str(censor.id), "from": CensorAction.WARN.value, "to": CensorAction.BLOCK.value},
        evidence={"triggers": [event.payload["trigger"]]},
    )


WINDOW = timedelta(days=30)
EDGE = "edge"


def is_edge_conflict(event: Event) -> bool:
    """Whether a conflict is about a graph edge; memories have no dimensions."""
    return bool(event.payload["about"] == EDGE)


async def find_dimension_to_split(deps: ProposalDeps, transaction: Transaction, event: Event) -> list[DetectorFinding]:
    """Propose splitting a dimension that has had enough conflicts."""
    payload = event.payload
    found = await load_slot_conflicts_since(
        transaction, event.space, concept=payload["concept"], dim=payload["dim"], since=event.at - WINDOW
    )
    if len(found) < deps.terms(event.space).detectors.conflict_churn.threshold:
        return []
    return [build_dimension_split_finding(event, found)]


def build_dimension_split_finding(event: Event, found: Sequence[Conflict]) -> DetectorFinding:
    newest = found[-1]
    payload: dict[str, Any] = {
        "conflict_id": event.payload["conflict"],
        "concept": newest.concept,
        "dim": newest.dimension,
    }
    return DetectorFinding(
        by=DetectorName.CONFLICT_CHURN,
        category="knowledge",
        scope="world",
        what=f"Part the dimension {newest.dimension} of {newest.concept}",
        why=f"There were {len(found)} conflicts about it in {WINDOW.days} days.",
        how="Name a dimension for what stands and one for what was said against it.",
        **_event_fields_for_finding(event),
        type=ProposalType.DIMENSION_DECOMPOSITION,
        payload=payload,
        evidence={"conflicts": [str(each.id) for each in found]},
    )


def build_identity_promotion(memory: UUID, *, gain: float, causes: int, cause: Mapping[str, Any]) -> DetectorFinding:
    """Propose that a memory becomes part of who the agent is, on behalf of one of the causes that said it."""
    return DetectorFinding(
        by=DetectorName.IDENTITY,
        category="knowledge",
        scope="identity",
        what=f"Hold memory {memory} as part of who the agent is",
        why=f"{causes} causes said it, and it would be held more deeply than by itself it may.",
        at=cause["at"],
        agent=cause["agent_id"],
        session=cause["session_id"],
        source=f"consolidation:{memory}:{cause['id']}",
        type=ProposalType.IDENTITY_PROMOTION,
        payload={"memory_id": str(memory), "gain": gain},
        evidence={"memories": [str(memory)]},
    )


CHAT = "chat"
"""The scope of a loop without tool calls."""
LOOKED_BACK = 6
"""Number of recent exchanges searched for the repeated call."""


async def find_loops(deps: ProposalDeps, transaction: Transaction, event: Event) -> list[DetectorFinding]:
    """Propose breaking a loop that has reached the threshold level."""
    payload = event.payload
    if payload["level"] < deps.terms(event.space).detectors.loop.threshold:
        return []
    session = SessionId(payload["session"])
    past = await recent_exchanges(transaction, event.space, session, limit=LOOKED_BACK)
    return [build_loop_finding(event, tool=most_called_tool(past))]


def most_called_tool(exchanges: Sequence[PastExchange]) -> str:
    """Return the tool called most often; `CHAT` if none was called."""
    names = [str(call.get("name", "")) for each in exchanges for call in each.tool_calls]
    counted = Counter(name for name in names if name)
    return min(counted, key=lambda name: (-counted[name], name)) if counted else CHAT


def build_loop_finding(event: Event, *, tool: str) -> DetectorFinding:
    rule = event.payload["rule"]
    scope = slugify_scope(tool, otherwise=CHAT)
    return DetectorFinding(
        by=DetectorName.LOOP,
        category="reliability",
        scope=scope,
        what=f"Break the {rule} repeat of {scope}",
        why=f"It repeated {event.payload['count']} times and reached level {event.payload['level']}.",
        at=event.at,
        agent=event.agent,
        session=event.payload["session"],
        source=str(event.id),
        evidence={"events": [str(event.id)]},
    )


def is_contradiction_event(event: Event) -> bool:
    return bool(event.payload["outcome"] == NoteOutcome.CONTRADICTED.value)


async def find_misleading_memory(deps: ProposalDeps, transaction: Transaction, event: Event) -> list[DetectorFinding]:
    """Propose archiving a memory that enough causes contradicted."""
    memory = MemoryId(UUID(event.payload["memory"]))
    causes = await load_contradicting_causes(transaction, event.space, memory)
    if len(causes) < deps.terms(event.space).detectors.misleading.threshold:
        return []
    return [build_misleading_finding(event, memory, causes)]


def build_misleading_finding(event: Event, memory: MemoryId, causes: Collection[Cause]) -> DetectorFinding:
    return DetectorFinding(
        by=DetectorName.MISLEADING,
        category="knowledge",
        scope="memory",
        what=f"Put memory {memory} away",
        why=f"It was found contradicted from {len(causes)} causes.",
        **_event_fields_for_finding(event),
        type=ProposalType.MEMORY_CHANGE,
        payload={"op": "archive", "ids": [str(memory)]},
        evidence={"memories": [str(memory)], "events": [str(event.id)]},
    )


async def find_unknown_names(
    deps: ProposalDeps, transaction: Transaction, space: SpaceId, *, concept: int | None = None
) -> list[DetectorFinding]:
    """Propose defining the unknown names of a space, or this one."""
    threshold = deps.terms(space).detectors.zero_hit.threshold
    names = await load_unknown_names(transaction, space, concept=concept)
    return [each for name in names for each in unknown_name_findings(name, threshold=threshold)]


def unknown_name_findings(name: UnknownName, *, threshold: int) -> list[DetectorFinding]:
    """Return one finding per session that mentioned the name, if there are enough sessions."""
    by_session: dict[str, Mapping[str, Any]] = {}
    for sentence in name.sentences:
        if sentence["origin"] not in SPEAKERS:
            # A name that only pages or tools mention is nobody's question.
            continue
        by_session[sentence["session_id"]] = sentence
    if len(by_session) < threshold:
        return []
    return [_unknown_name_finding(name, sentence, sessions=list(by_session)) for sentence in by_session.values()]


def _unknown_name_finding(
    name: UnknownName, sentence: Mapping[str, Any], *, sessions: Sequence[str]
) -> DetectorFinding:
    return DetectorFinding(
        by=DetectorName.ZERO_HIT,
        category="knowledge",
        scope="world",
        what=f"Say what {name.token} is",
        why=f"It was said in {len(sessions)} sessions, and nothing is known about it.",
        how=f"festinger iknowthat '{name.token} -isa '",
        at=sentence["at"],
        session=sentence["session_id"],
        source=f"unknown:{name.id}:{sentence['session_id']}"[:200],
        evidence={"concepts": [name.token], "messages": _message_ids(name.sentences)},
    )


def _message_ids(sentences: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(each["message_id"]) for each in sentences if each["message_id"]]
