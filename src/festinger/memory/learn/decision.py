"""What becomes of a new statement, given what was judged of it and its candidates?

One pure function for every way in: learning, a late word of a model, a person's answer. It says what to confirm,
supersede, hold, link and leave waiting; carrying it out is left to the deeds of this room. Finding candidates and
judging them come before it, quarantine and refusal too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from festinger.ids import Origin
from festinger.judge.model import ACCEPT, Current, Judgement, Relation

LOW_TRUST = 0.6
"""A person's contradiction replaces what nobody more trusted than a model has said."""


class Action(StrEnum):
    """What learning did. `echoed` and `refused` are decided before anything is judged."""

    STORED = "stored"
    CONFIRMED = "confirmed"
    ECHOED = "echoed"
    REFINED = "refined"
    SUPERSEDED = "superseded"
    CONFLICTED = "conflicted"
    PENDING = "pending"
    QUARANTINED = "quarantined"
    REFUSED = "refused"


class Standing(StrEnum):
    """The states in which a memory is a candidate."""

    ACTIVE = "active"
    HELD = "held"
    QUARANTINED = "quarantined"


class OnContradiction(StrEnum):
    QUEUE = "queue"
    NEWEST_WINS = "newest_wins"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The settings that this decision looks at."""

    accept: float = ACCEPT
    supersede_confidence: float = 0.8
    supersede_trust_margin: float = 0.15
    on_contradiction: OnContradiction = OnContradiction.QUEUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """What is asked about the new statement."""

    trust: float
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A candidate with what was judged of it; `similarity` breaks ties."""

    id: UUID
    judgement: Judgement
    trust: float
    status: Standing = Standing.ACTIVE
    immutable: bool = False
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    action: Action
    confirms: UUID | None = None
    """The memory that gets a sighting instead of a new row."""
    supersedes: tuple[UUID, ...] = ()
    superseded_by: UUID | None = None
    """What stands is newer than this: it is stored as history at once."""
    conflicts: tuple[UUID, ...] = ()
    refines: tuple[UUID, ...] = ()
    waits_for: tuple[UUID, ...] = ()
    """Candidates of which no judge was sure; the new memory is marked pending."""
    why: str = ""

    @property
    def is_simply_new(self) -> bool:
        """Whether it becomes a memory of its own and does nothing to any other."""
        deeds = (self.confirms, self.superseded_by, self.supersedes, self.conflicts, self.refines)
        return not any(deeds)


@dataclass(slots=True)
class _Sorted:
    same: list[Judged] = field(default_factory=list)
    replaced: list[Judged] = field(default_factory=list)
    replacing: list[Judged] = field(default_factory=list)
    opposed: list[Judged] = field(default_factory=list)
    refined: list[Judged] = field(default_factory=list)
    open: list[Judged] = field(default_factory=list)


def decide(new: Newcomer, candidates: Sequence[Judged], limits: Limits) -> Decided:
    """What becomes of `new`. The order of the candidates does not matter."""
    found = _sorted(new, sorted(candidates, key=_by_weight), limits)
    waits_for = _ids(found.open)
    if found.same:
        return _same(found.same[0])
    if found.opposed:
        return Decided(
            action=Action.CONFLICTED,
            conflicts=_ids(found.opposed),
            waits_for=waits_for,
            why=found.opposed[0].judgement.reasoning,
        )
    if found.replaced:
        return Decided(
            action=Action.SUPERSEDED,
            supersedes=_ids(found.replaced),
            refines=_ids(found.refined),
            waits_for=waits_for,
            why=found.replaced[0].judgement.reasoning,
        )
    if found.replacing:
        newest = found.replacing[0]
        return Decided(action=Action.STORED, superseded_by=newest.id, why=newest.judgement.reasoning)
    return _beside(found, waits_for)


def _beside(found: _Sorted, waits_for: tuple[UUID, ...]) -> Decided:
    """Nothing gives way: the statement is new, adds to something, or waits."""
    refines = _ids(found.refined)
    if waits_for:
        why = found.open[0].judgement.reasoning
        return Decided(action=Action.PENDING, refines=refines, waits_for=waits_for, why=why)
    if refines:
        why = found.refined[0].judgement.reasoning
        return Decided(action=Action.REFINED, refines=refines, why=why)
    return Decided(action=Action.STORED, why="nothing like it is known")


def _same(twin: Judged) -> Decided:
    action = {
        Standing.ACTIVE: Action.CONFIRMED,
        # A repeat of what waits adds to its conflict, and one of what is locked away sets nothing free.
        Standing.HELD: Action.CONFLICTED,
        Standing.QUARANTINED: Action.QUARANTINED,
    }[twin.status]
    return Decided(action=action, confirms=twin.id, why=twin.judgement.reasoning)


def _by_weight(candidate: Judged) -> tuple[int, float, float, UUID]:
    """What stands first, then the surest, then the nearest."""
    rank = list(Standing).index(candidate.status)
    return rank, -candidate.judgement.confidence, -(candidate.similarity or 0.0), candidate.id


def _sorted(new: Newcomer, candidates: Sequence[Judged], limits: Limits) -> _Sorted:
    found = _Sorted()
    for candidate in candidates:
        if (pile := _pile(found, new, candidate, limits)) is not None:
            pile.append(candidate)
    return found


def _pile(found: _Sorted, new: Newcomer, candidate: Judged, limits: Limits) -> list[Judged] | None:
    said = candidate.judgement
    if not said.final or said.relation is Relation.UNSURE:
        # What is locked away is nothing to wait for.
        return found.open if candidate.status is Standing.ACTIVE else None
    if said.relation is Relation.SAME:
        return found.same if said.confidence >= limits.accept else found.open
    if candidate.status is not Standing.ACTIVE:
        return None
    if said.relation is Relation.REFINES:
        return found.refined
    if said.relation is Relation.UNRELATED:
        return None
    return _unequal(found, new, candidate, limits)


def _unequal(found: _Sorted, new: Newcomer, candidate: Judged, limits: Limits) -> list[Judged]:
    """Where a pair belongs that cannot stand together."""
    said = candidate.judgement
    if not _may_replace(new, candidate, limits):
        return found.opposed
    if said.relation is Relation.UPDATE:
        if said.current is Current.BOTH or said.confidence < limits.supersede_confidence:
            return found.opposed
        return found.replaced if said.current is Current.NEW else found.replacing
    return found.replaced if _settles(new, candidate, limits) else found.opposed


def _may_replace(new: Newcomer, candidate: Judged, limits: Limits) -> bool:
    if candidate.judgement.current is Current.OLD:
        return True
    # A hair of tolerance: 1.0 - 0.15 and 0.85 are not the same float.
    trusted = new.trust >= candidate.trust - limits.supersede_trust_margin - 1e-9
    return trusted and not candidate.immutable


def _settles(new: Newcomer, candidate: Judged, limits: Limits) -> bool:
    """Whether a plain contradiction is decided for the new statement without asking."""
    if limits.on_contradiction is OnContradiction.NEWEST_WINS:
        return True
    is_sure = candidate.judgement.confidence >= limits.accept
    return is_sure and new.origin is Origin.PERSON and candidate.trust <= LOW_TRUST


def _ids(judged: Sequence[Judged]) -> tuple[UUID, ...]:
    return tuple(each.id for each in judged)
