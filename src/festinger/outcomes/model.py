"""Defines outcome reports, their results, the dependencies, and how credit is shared.

Outcomes become known in four ways: reported on purpose by an application or a person, by a model about
itself, inferred from what was said, or expired. A report is validated as a whole before anything is done, and
its result can be stored and returned to a repeat. The credit of one reply sums to at most one: shared as the
caller says, else by the words that only a note could have brought, else equally. `Defaults` lets a program
change the settings for its own handle; values outside the hard range are refused.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import Any, TypeVar
from uuid import UUID

from pydantic import ValidationError

from festinger.clock import Clock
from festinger.errors import BadInput, BadSetting, UnknownOutcome, UnknownSetting
from festinger.events.outbox import Outbox
from festinger.ids import DEFAULT_AGENT, Cause, MemoryId, NewId, Origin, Scope, SpaceId
from festinger.memory.deps import MemoryDeps
from festinger.records import JsonRecord, row_mapper
from festinger.settings.memory_sections import OutcomesSettings
from festinger.store.pool import Store, Transaction
from festinger.world.model import NoteOutcome, WorldDeps

NAMES = ", ".join(f"`{outcome}`" for outcome in NoteOutcome)
HINTS = {"echoed": "Say `used` if it was reasoned over, `dismissed` if the overlap was chance."}
SHOWN = 40


class ReportSource(StrEnum):
    """How an outcome became known."""

    EXPLICIT = "explicit"
    SELF = "self"
    INFERRED = "inferred"
    EXPIRED = "expired"

    @property
    def is_passive(self) -> bool:
        """Whether nobody reported it on purpose from outside."""
        return self in (ReportSource.SELF, ReportSource.INFERRED)


def validate_outcomes(outcomes: Mapping[Any, Any]) -> dict[str, NoteOutcome]:
    """Validate outcomes by id; one unknown label refuses all of them. Raises `UnknownOutcome`."""
    return {str(id_): _validate_outcome(str(id_), label) for id_, label in outcomes.items()}


def _validate_outcome(id_: str, label: Any) -> NoteOutcome:
    # Outcomes are strings too, so equal strings are accepted; other cases or spellings are not.
    if isinstance(label, str) and label in tuple(NoteOutcome):
        return NoteOutcome(label)
    shown = str(label)[:SHOWN]
    raise UnknownOutcome(
        f"`{shown}` (for `{id_[:SHOWN]}`) is no outcome; they are {NAMES}.",
        hint=HINTS.get(shown),
        id=id_[:SHOWN],
        label=shown,
    )


Id = TypeVar("Id")


def credit_shares(acted: Collection[Id], credit: Mapping[Id, float] | None = None) -> dict[Id, float]:
    """Return the share of each memory that was acted on. Raises `BadInput`."""
    if credit is None:
        return {each: 1.0 / len(acted) for each in acted}
    for id_, share in credit.items():
        if not math.isfinite(share) or share < 0:
            raise BadInput(f"A credit is 0 or more; {share} (for `{id_}`) is not.")
    total = math.fsum(credit.get(each, 0.0) for each in acted)
    return {each: credit.get(each, 0.0) / total if total else 0.0 for each in acted}


def credit_shares_by_words(own: Mapping[Id, Mapping[str, float]]) -> dict[Id, float]:
    """Share credit by the worth of each note's own words that were said; a word of k notes counts 1/k."""
    holders: dict[str, int] = {}
    for words in own.values():
        for word in words:
            holders[word] = holders.get(word, 0) + 1
    worth = {id_: math.fsum(value / holders[word] for word, value in words.items()) for id_, words in own.items()}
    total = math.fsum(worth.values())
    return {id_: value / total for id_, value in worth.items()} if total else credit_shares(list(own))


LONGEST_KEY = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReport:
    """What became of surfaced memories or edges. Ids are text."""

    memories: tuple[str, ...]
    outcomes: Mapping[str, NoteOutcome]
    partition: str | None = None
    turn: UUID | None = None
    recall: UUID | None = None
    key: str | None = None
    credit: Mapping[str, float] | None = None
    superseded_by: Mapping[str, str] = field(default_factory=dict)
    q: Mapping[str, float] = field(default_factory=dict)
    """How sure the reporter was; 1 if not given."""
    evidence: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def outcome_of(self, id_: str) -> NoteOutcome:
        """Return the outcome of one id; deferred if not given."""
        return self.outcomes.get(id_, NoteOutcome.DEFERRED)

    @property
    def body_hash(self) -> bytes:
        """A hash that two reports with one key must share."""
        body = [
            sorted(set(self.memories)),
            sorted((id_, outcome.value) for id_, outcome in self.outcomes.items()),
            [self.partition, str(self.turn), str(self.recall)],
            sorted((self.credit or {}).items()),
            sorted(self.superseded_by.items()),
        ]
        return sha256(json.dumps(body).encode()).digest()


def build_outcome_report(memories: Sequence[Any], outcomes: Mapping[Any, Any], **more: Any) -> OutcomeReport:
    """Build and validate a report: every label, also of ids outside `memories`, and every credit."""
    checked = validate_outcomes(outcomes)
    report = OutcomeReport(memories=tuple(dict.fromkeys(map(id_of, memories))), outcomes=checked, **more)
    if report.credit is not None:
        credit = {str(id_): share for id_, share in report.credit.items()}
        credit_shares(list(credit), credit)
        report = replace(report, credit=credit)
    if report.key is not None and not 0 < len(report.key) <= LONGEST_KEY:
        raise BadInput(f"A key has 1 to {LONGEST_KEY} characters.")
    return replace(report, superseded_by={str(old): str(new) for old, new in report.superseded_by.items()})


def id_of(memory: Any) -> str:
    """Return the id of a memory, or of whatever names one."""
    return str(getattr(memory, "id", memory))


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEffectResult(JsonRecord):
    """What a report did to one memory: confidence and weight center (before, after), reads now counted."""

    outcome: NoteOutcome
    confidence: tuple[float, float]
    weight: tuple[float, float]
    access: int = 0
    counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveResult(JsonRecord):
    """What a report did; `skipped` gives the reason for each id that could not be handled."""

    effects: Mapping[str, MemoryEffectResult] = field(default_factory=dict)
    skipped: Mapping[str, str] = field(default_factory=dict)
    edges: tuple[str, ...] = ()
    """Ids of edges that the world moved."""
    replayed: bool = False


def observe_result_from_json(kept: Mapping[str, Any]) -> ObserveResult:
    """Restore the stored result of an earlier report."""
    return ObserveResult(
        effects={id_: _effected_from_json(each) for id_, each in kept["effects"].items()},
        skipped=kept["skipped"],
        edges=tuple(kept["edges"]),
        replayed=True,
    )


_effected_from_json = row_mapper(MemoryEffectResult)


def parse_memory_id(text: str) -> MemoryId | None:
    """Parse a memory id; None if it is the id of something else."""
    try:
        return MemoryId(UUID(text))
    except ValueError:
        return None


DEFAULT_PARTITION = str(DEFAULT_AGENT)

Step = Callable[[str], None]


def null_step(_step: str) -> None:
    """Called at each step of a batch; tests replace it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeDeps:
    store: Store
    outbox: Outbox
    clock: Clock
    new_id: NewId
    terms: Callable[[SpaceId], OutcomesSettings]
    memory: MemoryDeps
    world: WorldDeps
    step: Step = null_step


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporter:
    """Who reports outcomes, where, through which interface and how."""

    scope: Scope
    name: str
    door: str
    how: ReportSource = ReportSource.EXPLICIT
    origin: Origin = Origin.PERSON
    is_reviewer: bool = False
    """Whether it is a reviewer, whose report always counts."""

    @property
    def partition(self) -> str:
        """The default partition of its reads and surfacings."""
        return str(self.scope.agent)

    def cause(self, at: datetime) -> Cause:
        return self.scope.cause(self.origin, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContext:
    """A report being applied: who reports what, when, and in which transaction."""

    deps: OutcomeDeps
    transaction: Transaction
    reporter: Reporter
    report: OutcomeReport
    cause: Cause
    now: datetime

    @property
    def space(self) -> SpaceId:
        return self.reporter.scope.space

    @property
    def terms(self) -> OutcomesSettings:
        return self.deps.terms(self.space)


_KEYS = {name.upper(): name for name in OutcomesSettings.model_fields}


class _ReadOnlyConstantsMeta(type):
    """Refuses to set a constant on the class, which would change no handle."""

    def __setattr__(cls, name: str, value: Any) -> None:
        key = _setting_key(name)
        raise BadSetting(
            f"`Defaults.{name}` belongs to a handle and cannot be set for all of them here.",
            hint=f"Write `memory.observation.defaults.{name} = {value!r}` for one handle, or change the setting "
            f"`outcomes.{key}` for everybody.",
        )


class Defaults(metaclass=_ReadOnlyConstantsMeta):
    """The settings `outcomes.…` as constants of one handle, such as `ACTED_CONFIDENCE_SIGNAL`.

    `changed` holds what the handle has set, by setting.
    """

    __slots__ = ("changed", "settings")

    settings: OutcomesSettings
    changed: dict[str, Any]

    def __init__(self, settings: OutcomesSettings | None = None, changed: dict[str, Any] | None = None) -> None:
        object.__setattr__(self, "changed", {} if changed is None else changed)
        object.__setattr__(self, "settings", (settings or OutcomesSettings()).model_copy(update=self.changed))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.settings, _setting_key(name))

    def __setattr__(self, name: str, value: Any) -> None:
        changed = {**self.settings.model_dump(), _setting_key(name): value}
        try:
            settings = OutcomesSettings(**changed)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]["msg"]
            raise BadSetting(f"`outcomes.{_setting_key(name)}` cannot be {value!r}: {fault}.") from error
        self.changed[_setting_key(name)] = value
        object.__setattr__(self, "settings", settings)


def _setting_key(name: str) -> str:
    if name not in _KEYS:
        raise UnknownSetting(f"There is no constant `{name[:60]}`.")
    return _KEYS[name]
