"""Defines what a detector finds and turns it into a suggestion.

The suggestion names the detector as its producer, counts for the session in which the problem occurred, at
the time of the evidence, and is identified by its source. Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from festinger.ids import DEFAULT_AGENT, AgentId, Origin, SessionId, cause
from festinger.proposals.model import ProposalType
from festinger.proposals.sightings.model import Suggestion, detector_producer
from festinger.records import field_values


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
