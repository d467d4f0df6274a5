"""Decides what happens to a new statement, given the judgements of its candidates.

One pure function for every path: learning, a late judgement, a person's answer. It says what to confirm,
supersede, hold, link and leave pending. Refusals and quarantine are decided before it; `write` carries the
decision out.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from uuid import UUID

from festinger.ids import Origin
from festinger.judge.model import ACCEPT, CurrentSide, Judgement, Relation
from festinger.memory.model import LIVE, LearnAction, Status

LOW_TRUST = 0.6
"""A person's contradiction replaces memories whose trust is at most that of a model."""


class ContradictionPolicy(StrEnum):
    QUEUE = "queue"
    NEWEST_WINS = "newest_wins"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnLimits:
    """The settings used by this decision."""

    accept: float = ACCEPT
    supersede_confidence: float = 0.8
    supersede_trust_margin: float = 0.15
    on_contradiction: ContradictionPolicy = ContradictionPolicy.QUEUE


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCandidate:
    """A candidate with its judgement; `similarity` breaks ties."""

    id: UUID
    judgement: Judgement
    trust: float
    status: Status = Status.ACTIVE
    immutable: bool = False
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnDecision:
    action: LearnAction
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


class _CandidateRole(Enum):
    """What a candidate is to the new statement."""

    SAME = auto()
    OPPOSED = auto()
    REPLACED = auto()
    REPLACING = auto()
    REFINED = auto()
    OPEN = auto()


def decide(
    candidates: Sequence[JudgedCandidate], limits: LearnLimits, *, trust: float, origin: Origin
) -> LearnDecision:
    """Decide about a statement of this trust and origin. The order of the candidates does not matter."""
    groups: dict[_CandidateRole | None, list[JudgedCandidate]] = defaultdict(list)
    for each in sorted(candidates, key=_sort_key):
        groups[_find_group(each, limits, trust=trust, origin=origin)].append(each)
    same, opposed, replaced, replacing, refined, open_ = (groups[group] for group in _CandidateRole)
    refines, waits_for = _ids(refined), _ids(open_)
    if same:
        return _decide_same(same[0])
    if opposed:
        why = opposed[0].judgement.reasoning
        return LearnDecision(action=LearnAction.CONFLICTED, conflicts=_ids(opposed), waits_for=waits_for, why=why)
    if replaced:
        why = replaced[0].judgement.reasoning
        return LearnDecision(
            action=LearnAction.SUPERSEDED, supersedes=_ids(replaced), refines=refines, waits_for=waits_for, why=why
        )
    if replacing:
        newest = replacing[0]
        return LearnDecision(action=LearnAction.STORED, superseded_by=newest.id, why=newest.judgement.reasoning)
    if open_:
        why = open_[0].judgement.reasoning
        return LearnDecision(action=LearnAction.PENDING, refines=refines, waits_for=waits_for, why=why)
    if refined:
        return LearnDecision(action=LearnAction.REFINED, refines=refines, why=refined[0].judgement.reasoning)
    return LearnDecision(action=LearnAction.STORED, why="nothing like it is known")


def _decide_same(duplicate: JudgedCandidate) -> LearnDecision:
    action = {
        Status.ACTIVE: LearnAction.CONFIRMED,
        # Repeating a held memory adds to its conflict; repeating a quarantined one releases nothing.
        Status.HELD: LearnAction.CONFLICTED,
        Status.QUARANTINED: LearnAction.QUARANTINED,
    }[duplicate.status]
    return LearnDecision(action=action, confirms=duplicate.id, why=duplicate.judgement.reasoning)


def _sort_key(candidate: JudgedCandidate) -> tuple[int, float, float, UUID]:
    """Active candidates first, then by confidence, then by similarity."""
    rank = LIVE.index(candidate.status)
    return rank, -candidate.judgement.confidence, -(candidate.similarity or 0.0), candidate.id


def _find_group(
    candidate: JudgedCandidate, limits: LearnLimits, *, trust: float, origin: Origin
) -> _CandidateRole | None:
    judgement = candidate.judgement
    if not judgement.final or judgement.relation is Relation.UNSURE:
        # Nothing waits for a quarantined memory.
        return _CandidateRole.OPEN if candidate.status is Status.ACTIVE else None
    if judgement.relation is Relation.SAME:
        return _CandidateRole.SAME if judgement.confidence >= limits.accept else _CandidateRole.OPEN
    if candidate.status is not Status.ACTIVE or judgement.relation is Relation.UNRELATED:
        return None
    if judgement.relation is Relation.REFINES:
        return _CandidateRole.REFINED
    if not _may_replace(candidate, limits, trust=trust):
        return _CandidateRole.OPPOSED
    if judgement.relation is Relation.UPDATE:
        if judgement.current is CurrentSide.BOTH or judgement.confidence < limits.supersede_confidence:
            return _CandidateRole.OPPOSED
        return _CandidateRole.REPLACED if judgement.current is CurrentSide.NEW else _CandidateRole.REPLACING
    return _CandidateRole.REPLACED if _is_decided_for_new(candidate, limits, origin=origin) else _CandidateRole.OPPOSED


def _may_replace(candidate: JudgedCandidate, limits: LearnLimits, *, trust: float) -> bool:
    if candidate.judgement.current is CurrentSide.OLD:
        return True
    # Tolerance: 1.0 - 0.15 and 0.85 are not the same float.
    is_trusted = trust >= candidate.trust - limits.supersede_trust_margin - 1e-9
    return is_trusted and not candidate.immutable


def _is_decided_for_new(candidate: JudgedCandidate, limits: LearnLimits, *, origin: Origin) -> bool:
    """Whether a plain contradiction is decided for the new statement without asking."""
    if candidate.immutable:
        return False
    if limits.on_contradiction is ContradictionPolicy.NEWEST_WINS:
        return True
    is_sure = candidate.judgement.confidence >= limits.accept
    return is_sure and origin is Origin.PERSON and candidate.trust <= LOW_TRUST


def _ids(judged: Sequence[JudgedCandidate]) -> tuple[UUID, ...]:
    return tuple(each.id for each in judged)
