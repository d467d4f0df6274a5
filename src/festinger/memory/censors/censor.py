"""Defines censors and their triggers as plain values.

A censor is a rule by pattern or by meaning, with its scope, its action, its origin and its trigger counts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.ids import AgentId, Origin, SpaceId
from festinger.records import record_json, row_mapper


class CensorAction(StrEnum):
    """The action of a censor when it triggers."""

    WARN = "warn"
    BLOCK = "block"


class CensorTextKind(StrEnum):
    """The kinds of text that censors check."""

    INPUT = "input"
    OUTPUT = "output"
    TOOL = "tool"
    LEARN = "learn"


class CensorMatchMethod(StrEnum):
    PATTERN = "pattern"
    MEANING = "meaning"


MAY_BLOCK = (Origin.PERSON, Origin.SYSTEM)
"""Origins that may create blocking censors. Anything that changes behavior needs a person's approval."""

OFF = "off"
"""The `standing` of an inactive censor."""

ENOUGH_STRIKES = 5
"""Minimum number of triggers before the false-positive rate is judged."""
MOSTLY_WRONG = 0.5
"""False-positive rate above which a censor does more harm than good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Censor:
    space_id: SpaceId
    id: UUID
    seq: int
    agent_id: AgentId | None
    reason: str
    pattern: str | None
    meaning: str | None
    domain: str | None
    applies_to: tuple[CensorTextKind, ...]
    action: CensorAction
    origin: Origin
    activation_count: int
    false_positive_count: int
    escalation_threshold: int
    last_triggered: datetime | None
    active: bool
    created_at: datetime
    version: int
    pardoned_count: int = 0
    """Triggers from before a person last made the block a warning again; known only of a locked censor."""
    would_have_hit: int | None = None
    """How many recent turns it would have triggered on; set on creation only."""
    looked_at: int | None = None
    """How many turns were checked for that."""
    said: str = ""
    """How the rule was interpreted, for a person to read."""

    @property
    def standing(self) -> str:
        """`warn`, `block` or `off`."""
        return self.action.value if self.active else OFF

    @property
    def counted(self) -> int:
        """Triggers that count toward escalation: all but the reported false positives and the pardoned ones."""
        return max(0, self.activation_count - self.false_positive_count - self.pardoned_count)

    @property
    def guidance(self) -> str:
        """The text shown to whoever triggered it."""
        return self.reason or self.meaning or f"This matches `{self.pattern}`."

    def as_json(self) -> dict[str, Any]:
        shown = record_json(self, hide=("seq", "pardoned_count", "would_have_hit", "looked_at", "said"))
        asked = {"would_have_hit": self.would_have_hit, "looked_at": self.looked_at or None, "said": self.said or None}
        return shown | {name: value for name, value in asked.items() if value is not None}


censor_from_row = row_mapper(Censor)


@dataclass(frozen=True, slots=True, kw_only=True)
class CensorTriggerRecord:
    """One occasion on which a censor triggered."""

    id: UUID
    seq: int
    censor_id: UUID
    agent_id: AgentId
    session_id: str
    day: date
    origin: Origin
    place: CensorTextKind
    matched_by: CensorMatchMethod
    similarity: float | None
    excerpt: str
    was_blocked: bool
    false_positive: bool
    at: datetime

    def as_json(self) -> dict[str, Any]:
        return record_json(self, hide=("seq",))


trigger_from_row = row_mapper(CensorTriggerRecord)


def is_due_for_escalation(censor: Censor) -> bool:
    """Whether a warning has triggered often enough to become a block."""
    return censor.active and censor.action is CensorAction.WARN and censor.counted >= censor.escalation_threshold


def is_mostly_wrong(censor: Censor) -> bool:
    """Whether more than half of a censor's triggers were false positives."""
    strikes = censor.activation_count
    return strikes >= ENOUGH_STRIKES and censor.false_positive_count / strikes > MOSTLY_WRONG


def parse_text_kinds(names: str | Iterable[str]) -> tuple[CensorTextKind, ...]:
    """Parse text kinds, each once. Raises `BadInput` with the list of known kinds."""
    wanted = (names,) if isinstance(names, str) else tuple(names)
    known = {where.value: where for where in CensorTextKind}
    if not wanted or not all(name in known for name in wanted):
        wrong = next((name for name in wanted if name not in known), "")
        raise BadInput(
            f"`{str(wrong)[:40]}` is no place of a censor.",
            hint=f"The places are {', '.join(f'`{where}`' for where in CensorTextKind)}.",
        )
    return tuple(dict.fromkeys(known[name] for name in wanted))


def parse_censor_action(name: str) -> CensorAction:
    try:
        return CensorAction(name)
    except ValueError as error:
        raise BadInput(f"`{name[:40]}` is no action of a censor.", hint="It is `warn` or `block`.") from error
