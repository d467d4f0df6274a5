"""What is a censor?

Values only: a rule, by pattern or by meaning, with where it applies, what it does, who made it and how often it
struck. Nothing here reads a row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from festinger.clock import iso
from festinger.errors import BadInput
from festinger.ids import AgentId, Origin, SpaceId


class CensorAction(StrEnum):
    """What a censor does."""

    WARN = "warn"
    BLOCK = "block"


class CensorTextKind(StrEnum):
    """What kind of text a censor is held against."""

    INPUT = "input"
    OUTPUT = "output"
    TOOL = "tool"
    LEARN = "learn"


class MatchedBy(StrEnum):
    PATTERN = "pattern"
    MEANING = "meaning"


MAY_BLOCK = (Origin.PERSON, Origin.SYSTEM)
"""Whose word may stop something. Whatever changes behaviour asks a person."""

OFF = "off"
"""How a censor that is not active stands."""

ENOUGH_STRIKES = 5
"""Strikes before anything is said of how often a censor is wrong."""
MOSTLY_WRONG = 0.5
"""Share of wrong strikes above which a censor does more harm than good."""


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
    would_have_hit: int | None = None
    """How many of the last turns it would have struck; told when it is made."""
    looked_at: int | None = None
    """How many turns were looked at for that."""
    said: str = ""
    """What was made of the rule, for a person."""

    @property
    def standing(self) -> str:
        """`warn`, `block` or `off`."""
        return self.action.value if self.active else OFF

    @property
    def counted(self) -> int:
        """The strikes that speak for making it stronger: those that nobody called wrong."""
        return max(0, self.activation_count - self.false_positive_count)

    @property
    def guidance(self) -> str:
        """What somebody who set it off should know."""
        return self.reason or self.meaning or f"This matches `{self.pattern}`."

    def as_json(self) -> dict[str, Any]:
        asked = ("would_have_hit", "looked_at", "said")
        shown = {each.name: _to_json(getattr(self, each.name)) for each in fields(self)}
        return {name: value for name, value in shown.items() if name != "seq" and not (name in asked and not value)} | (
            {"would_have_hit": self.would_have_hit} if self.would_have_hit is not None else {}
        )


_STORED = tuple(each.name for each in fields(Censor) if each.name not in ("would_have_hit", "looked_at", "said"))


def censor_from_row(row: Mapping[str, Any]) -> Censor:
    values = {name: row[name] for name in _STORED}
    return Censor(
        **values
        | {
            "applies_to": tuple(map(CensorTextKind, row["applies_to"])),
            "action": CensorAction(row["action"]),
            "origin": Origin(row["origin"]),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """One time that a censor struck."""

    id: UUID
    seq: int
    censor_id: UUID
    agent_id: AgentId
    session_id: str
    day: date
    origin: Origin
    place: CensorTextKind
    matched_by: MatchedBy
    similarity: float | None
    excerpt: str
    was_blocked: bool
    false_positive: bool
    at: datetime

    def as_json(self) -> dict[str, Any]:
        shown = {each.name: _to_json(getattr(self, each.name)) for each in fields(self) if each.name != "seq"}
        return shown | {"day": self.day.isoformat()}


def trigger_from_row(row: Mapping[str, Any]) -> Trigger:
    values = {name: value for name, value in row.items() if name != "space_id"}
    return Trigger(
        **values
        | {
            "origin": Origin(row["origin"]),
            "place": CensorTextKind(row["place"]),
            "matched_by": MatchedBy(row["matched_by"]),
        }
    )


def is_due_for_escalation(censor: Censor) -> bool:
    """Whether a warning has struck often enough to become a stop."""
    return censor.active and censor.action is CensorAction.WARN and censor.counted >= censor.escalation_threshold


def is_mostly_wrong(censor: Censor) -> bool:
    """Whether a censor strikes more often wrongly than rightly."""
    strikes = censor.activation_count
    return strikes >= ENOUGH_STRIKES and censor.false_positive_count / strikes > MOSTLY_WRONG


def parse_where(names: str | Iterable[str]) -> tuple[CensorTextKind, ...]:
    """The places that are meant, each once; an unknown one is refused with the list."""
    given = (names,) if isinstance(names, str) else tuple(names)
    known = {where.value: where for where in CensorTextKind}
    if not given or not all(name in known for name in given):
        wrong = next((name for name in given if name not in known), "")
        raise BadInput(
            f"`{str(wrong)[:40]}` is no place of a censor.",
            hint=f"The places are {', '.join(f'`{where}`' for where in CensorTextKind)}.",
        )
    return tuple(dict.fromkeys(known[name] for name in given))


def parse_force(name: str) -> CensorAction:
    try:
        return CensorAction(name)
    except ValueError as error:
        raise BadInput(f"`{name[:40]}` is no action of a censor.", hint="It is `warn` or `block`.") from error


def _to_json(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, UUID):
        return str(value)
    return [str(each) for each in value] if isinstance(value, tuple) else value
