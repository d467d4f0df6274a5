"""Decides what happens to a new statement, given the judgements of its candidates.

One pure function for every path: learning, a late judgement, a person's answer. It says what to confirm,
supersede, hold, link and leave pending. Refusals and quarantine are decided before it; `write` carries the
decision out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from festinger.ids import Origin
from festinger.judge.model import ACCEPT, Current, Judgement, Relation

LOW_TRUST = 0.6
"""A person's contradiction replaces memories whose trust is at most that of a model."""


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


class CandidateStatus(StrEnum):
    """The states in which a memory is a candidate."""

    ACTIVE = "active"
    HELD = "held"
    QUARANTINED = "quarantined"


class OnContradiction(StrEnum):
    QUEUE = "queue"
    NEWEST_WINS = "newest_wins"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnLimits:
    """The settings used by this decision."""

    accept: float = ACCEPT
    supersede_confidence: float = 0.8
    supersede_trust_margin: float = 0.15
    on_contradiction: OnContradiction = OnContradiction.QUEUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    """The relevant properties of the new statement."""

    trust: float
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCandidate:
    """A candidate with its judgement; `similarity` breaks ties."""

    id: UUID
    judgement: Judgement
    trust: float
    status: CandidateStatus = CandidateStatus.ACTIVE
    immutable: bool = False
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnDecision:
    action: Action
    confirms: UUID | None = None
    """The memory that gets a sighting instead of a new row."""
    supersedes: tuple[UUID, ...] = ()
    superseded_by: UUID | None = None
    """An active memory is newer: the statement is stored as history."""
    conflicts: tuple[UUID, ...] = ()
    refines: tuple[UUID, ...] = ()
    waits_for: tuple[UUID, ...] = ()
    """Candidates that no judge was sure about; the new memory is marked pending."""
    why: str = ""

    @property
    def is_simply_new(self) -> bool:
        """Whether it becomes a new memory and affects no other."""
        operations = (self.confirms, self.superseded_by, self.supersedes, self.conflicts, self.refines)
        return not any(operations)


@dataclass(slots=True)
class _CandidateGroups:
    same: list[JudgedCandidate] = field(default_factory=list)
    replaced: list[JudgedCandidate] = field(default_factory=list)
    replacing: list[JudgedCandidate] = field(default_factory=list)
    opposed: list[JudgedCandidate] = field(default_factory=list)
    refined: list[JudgedCandidate] = field(default_factory=list)
    open: list[JudgedCandidate] = field(default_factory=list)


def decide(new: Newcomer, candidates: Sequence[JudgedCandidate], limits: LearnLimits) -> LearnDecision:
    """Decide about `new`. The order of the candidates does not matter."""
    found = _group_candidates(new, sorted(candidates, key=_sort_key), limits)
    waits_for = _ids(found.open)
    if found.same:
        return _decide_same(found.same[0])
    if found.opposed:
        return LearnDecision(
            action=Action.CONFLICTED,
            conflicts=_ids(found.opposed),
            waits_for=waits_for,
            why=found.opposed[0].judgement.reasoning,
        )
    if found.replaced:
        return LearnDecision(
            action=Action.SUPERSEDED,
            supersedes=_ids(found.replaced),
            refines=_ids(found.refined),
            waits_for=waits_for,
            why=found.replaced[0].judgement.reasoning,
        )
    if found.replacing:
        newest = found.replacing[0]
        return LearnDecision(action=Action.STORED, superseded_by=newest.id, why=newest.judgement.reasoning)
    return _decide_addition(found, waits_for)


def _decide_addition(found: _CandidateGroups, waits_for: tuple[UUID, ...]) -> LearnDecision:
    """Decide if nothing is replaced: the statement is new, refines something, or is pending."""
    refines = _ids(found.refined)
    if waits_for:
        why = found.open[0].judgement.reasoning
        return LearnDecision(action=Action.PENDING, refines=refines, waits_for=waits_for, why=why)
    if refines:
        why = found.refined[0].judgement.reasoning
        return LearnDecision(action=Action.REFINED, refines=refines, why=why)
    return LearnDecision(action=Action.STORED, why="nothing like it is known")


def _decide_same(duplicate: JudgedCandidate) -> LearnDecision:
    action = {
        CandidateStatus.ACTIVE: Action.CONFIRMED,
        # Repeating a held memory adds to its conflict; repeating a quarantined one releases nothing.
        CandidateStatus.HELD: Action.CONFLICTED,
        CandidateStatus.QUARANTINED: Action.QUARANTINED,
    }[duplicate.status]
    return LearnDecision(action=action, confirms=duplicate.id, why=duplicate.judgement.reasoning)


def _sort_key(candidate: JudgedCandidate) -> tuple[int, float, float, UUID]:
    """Active candidates first, then by confidence, then by similarity."""
    rank = list(CandidateStatus).index(candidate.status)
    return rank, -candidate.judgement.confidence, -(candidate.similarity or 0.0), candidate.id


def _group_candidates(new: Newcomer, candidates: Sequence[JudgedCandidate], limits: LearnLimits) -> _CandidateGroups:
    found = _CandidateGroups()
    for candidate in candidates:
        if (pile := _find_group(found, new, candidate, limits)) is not None:
            pile.append(candidate)
    return found


def _find_group(
    found: _CandidateGroups, new: Newcomer, candidate: JudgedCandidate, limits: LearnLimits
) -> list[JudgedCandidate] | None:
    said = candidate.judgement
    if not said.final or said.relation is Relation.UNSURE:
        # Nothing waits for a quarantined memory.
        return found.open if candidate.status is CandidateStatus.ACTIVE else None
    if said.relation is Relation.SAME:
        return found.same if said.confidence >= limits.accept else found.open
    if candidate.status is not CandidateStatus.ACTIVE:
        return None
    if said.relation is Relation.REFINES:
        return found.refined
    if said.relation is Relation.UNRELATED:
        return None
    return _find_conflict_group(found, new, candidate, limits)


def _find_conflict_group(
    found: _CandidateGroups, new: Newcomer, candidate: JudgedCandidate, limits: LearnLimits
) -> list[JudgedCandidate]:
    """Group a pair that cannot both hold."""
    said = candidate.judgement
    if not _may_replace(new, candidate, limits):
        return found.opposed
    if said.relation is Relation.UPDATE:
        if said.current is Current.BOTH or said.confidence < limits.supersede_confidence:
            return found.opposed
        return found.replaced if said.current is Current.NEW else found.replacing
    return found.replaced if _is_decided_for_new(new, candidate, limits) else found.opposed


def _may_replace(new: Newcomer, candidate: JudgedCandidate, limits: LearnLimits) -> bool:
    if candidate.judgement.current is Current.OLD:
        return True
    # Tolerance: 1.0 - 0.15 and 0.85 are not the same float.
    trusted = new.trust >= candidate.trust - limits.supersede_trust_margin - 1e-9
    return trusted and not candidate.immutable


def _is_decided_for_new(new: Newcomer, candidate: JudgedCandidate, limits: LearnLimits) -> bool:
    """Whether a plain contradiction is decided for the new statement without asking."""
    if candidate.immutable:
        return False
    if limits.on_contradiction is OnContradiction.NEWEST_WINS:
        return True
    is_sure = candidate.judgement.confidence >= limits.accept
    return is_sure and new.origin is Origin.PERSON and candidate.trust <= LOW_TRUST


def _ids(judged: Sequence[JudgedCandidate]) -> tuple[UUID, ...]:
    return tuple(each.id for each in judged)
