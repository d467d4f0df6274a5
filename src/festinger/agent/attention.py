"""Decides what the agent attends to: salience, the winner, and the vector of what it is thinking about.

Whatever asks for attention is a `Stimulus`. People come first where it is close, and never lose twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


class StimulusSource(StrEnum):
    USER = "user"
    SCHEDULED = "scheduled"
    GUT = "gut"
    CONSOLIDATION = "consolidation"
    IDLE = "idle"


INNER = frozenset([StimulusSource.GUT, StimulusSource.CONSOLIDATION, StimulusSource.IDLE])
"""What comes from the agent itself: nobody asked for it, and nobody is told at once."""

URGENCY = {
    StimulusSource.USER: 0.8,
    StimulusSource.SCHEDULED: 0.5,
    StimulusSource.GUT: 0.4,
    StimulusSource.CONSOLIDATION: 0.3,
    StimulusSource.IDLE: 0.2,
}
PATIENCE = 0.9
"""What a cycle of waiting leaves of the urgency."""
NOVELTY_SHARE, RELEVANCE_SHARE, CHARGE_SHARE, URGENCY_SHARE = 0.3, 0.3, 0.2, 0.2
RECENT_WINNERS = 5
INERTIA, INERTIA_AFTER_SHIFT, SHIFT = 0.3, 0.05, 0.7
"""How much of the last attention stays; less once the distance to the new winner passes `SHIFT`."""
REPORT_CHARS = 80
MOST_REPORTED = 8


@dataclass(slots=True, kw_only=True)
class Stimulus:
    """Something that asks for attention."""

    id: UUID
    source: StimulusSource
    text: str
    """What it is about."""
    prompt: str = ""
    """What the model is asked, where that is more than the text."""
    at: datetime
    waited: int = 0
    """Cycles that it lost."""
    charge: float = 0.0
    vector: Vector | None = None
    is_forget_request: bool = False
    """Whether a person asks to forget what the text names; such a message is not kept."""

    @property
    def urgency(self) -> float:
        return URGENCY[self.source] * PATIENCE**self.waited


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionResult:
    """The stimulus that won, the salience of each candidate, and why."""

    stimulus: Stimulus
    saliences: tuple[tuple[Stimulus, float], ...]
    reason: str


def salience(*, novelty: float, relevance: float, charge: float, urgency: float) -> float:
    return NOVELTY_SHARE * novelty + RELEVANCE_SHARE * relevance + CHARGE_SHARE * charge + URGENCY_SHARE * urgency


def choose_winner(
    waiting: Sequence[Stimulus], *, recent: Sequence[Vector] = (), goals: Sequence[Vector] = ()
) -> AttentionResult | None:
    """Choose the most salient stimulus; ties go to people, then to the older. A person never loses twice."""
    if not waiting:
        return None
    scored = tuple(
        (
            each,
            salience(
                novelty=1.0 - nearest_similarity(each.vector, recent[-RECENT_WINNERS:]),
                relevance=nearest_similarity(each.vector, goals),
                charge=each.charge,
                urgency=each.urgency,
            ),
        )
        for each in waiting
    )
    overdue = [each for each in waiting if each.source is StimulusSource.USER and each.waited]
    if overdue:
        return AttentionResult(stimulus=overdue[0], saliences=scored, reason="a person waited already")
    best, score = min(scored, key=lambda pair: (-pair[1], pair[0].source is not StimulusSource.USER, pair[0].at))
    reason = "nothing else waits" if len(scored) == 1 else f"most salient with {score:.2f}"
    return AttentionResult(stimulus=best, saliences=scored, reason=reason)


def shift_attention(before: Vector | None, winner: Vector | None) -> Vector | None:
    """Move the attention to the winner, with inertia unless it is about something else."""
    if before is None or winner is None:
        return before if winner is None else winner
    inertia = INERTIA_AFTER_SHIFT if 1.0 - float(before @ winner) > SHIFT else INERTIA
    moved = inertia * before + (1.0 - inertia) * winner
    return np.asarray(moved / max(float(np.linalg.norm(moved)), 1e-9), dtype=np.float32)


def describe_attention(winner: AttentionResult) -> str:
    """What the model is told about its own attention; nothing if there was no choice."""
    if len(winner.saliences) < 2:
        return ""
    ordered = sorted(winner.saliences, key=lambda pair: -pair[1])[:MOST_REPORTED]
    lines = [f"- {each.source} {score:.2f}: {each.text[:REPORT_CHARS]}" for each, score in ordered]
    return "\n".join(
        ["What asks for your attention:", *lines, f"You attend to: {winner.stimulus.source}, {winner.reason}."]
    )


def nearest_similarity(vector: Vector | None, others: Sequence[Vector]) -> float:
    """How near a vector is to the nearest of others, from 0 to 1."""
    if vector is None or not len(others):
        return 0.0
    return max(0.0, max(float(vector @ other) for other in others))
