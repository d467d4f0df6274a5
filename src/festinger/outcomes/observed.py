"""What is reported, and what did a report do?

Values only. A report is checked as a whole before anything is done; what it did can be kept and given again to
whoever asks twice.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import MemoryId
from festinger.outcomes.credit import shares
from festinger.outcomes.outcome import checked_outcomes
from festinger.world.corroboration import Outcome

LONGEST_KEY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What became of what was brought to mind. Ids as text: of memories, or of notes that are edges."""

    memories: tuple[str, ...]
    outcomes: Mapping[str, Outcome]
    partition: str | None = None
    turn: UUID | None = None
    recall: UUID | None = None
    key: str | None = None
    credit: Mapping[str, float] | None = None
    superseded_by: Mapping[str, str] = field(default_factory=dict)
    q: Mapping[str, float] = field(default_factory=dict)
    """How sure whoever told was; 1 where nothing is said."""
    evidence: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def outcome_of(self, id_: str) -> Outcome:
        """What became of one; what is not spoken of was not dealt with."""
        return self.outcomes.get(id_, Outcome.DEFERRED)

    @property
    def body_hash(self) -> bytes:
        """What two reports with one key must share."""
        body = [
            sorted(set(self.memories)),
            sorted((id_, outcome.value) for id_, outcome in self.outcomes.items()),
            [self.partition, str(self.turn), str(self.recall)],
            sorted((self.credit or {}).items()),
            sorted(self.superseded_by.items()),
        ]
        return sha256(json.dumps(body).encode()).digest()


def report_of(memories: Sequence[Any], outcomes: Mapping[Any, Any], **more: Any) -> Report:
    """A report, checked: every label, also of ids that are not among the memories, and every credit."""
    checked = checked_outcomes(outcomes)
    told = Report(memories=tuple(dict.fromkeys(map(id_of, memories))), outcomes=checked, **more)
    if told.credit is not None:
        credit = {str(id_): share for id_, share in told.credit.items()}
        shares(list(credit), credit)
        told = replace(told, credit=credit)
    if told.key is not None and not 0 < len(told.key) <= LONGEST_KEY:
        raise BadInput(f"A key has 1 to {LONGEST_KEY} characters.")
    return replace(told, superseded_by={str(old): str(new) for old, new in told.superseded_by.items()})


def id_of(memory: Any) -> str:
    """The id of a memory, or of whatever names one."""
    return str(getattr(memory, "id", memory))


@dataclass(frozen=True, slots=True, kw_only=True)
class Effected:
    """What a report did to one memory: confidence and center of its weight before and after, reads that count now."""

    outcome: Outcome
    confidence: tuple[float, float]
    weight: tuple[float, float]
    access: int = 0
    counted: bool = True

    def as_json(self) -> dict[str, Any]:
        return {
            "outcome": self.outcome.value,
            "confidence": list(self.confidence),
            "weight": list(self.weight),
            "access": self.access,
            "counted": self.counted,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a report did; `skipped` says why of ids that nothing could be done with."""

    effects: Mapping[str, Effected] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    edges: tuple[str, ...] = ()
    """Notes that are edges, and that the world moved."""
    replayed: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "effects": {id_: each.as_json() for id_, each in self.effects.items()},
            "skipped": dict(self.skipped),
            "edges": list(self.edges),
            "replayed": self.replayed,
        }


def observed_of(kept: Mapping[str, Any]) -> Observed:
    """What an earlier report did, as it was kept."""
    return Observed(
        effects={id_: _effected(each) for id_, each in kept["effects"].items()},
        skipped=kept["skipped"],
        edges=tuple(kept["edges"]),
        replayed=True,
    )


def _effected(kept: Mapping[str, Any]) -> Effected:
    confidence, weight = kept["confidence"], kept["weight"]
    return Effected(
        outcome=Outcome(kept["outcome"]),
        confidence=(confidence[0], confidence[1]),
        weight=(weight[0], weight[1]),
        access=kept["access"],
        counted=kept["counted"],
    )


def memory_id(text: str) -> MemoryId | None:
    """The memory that an id means; none if it is the id of something else."""
    try:
        return MemoryId(UUID(text))
    except ValueError:
        return None
