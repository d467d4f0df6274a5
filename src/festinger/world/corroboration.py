"""How sure is the world of an edge after it was said again, or after it was acted on?

Distinct causes move confidence, repeats do not. Each origin has a cap that nothing but a person's word lifts.
The steps become smaller with the evidence that there already is.
"""

from enum import StrEnum

from festinger.ids import Origin

SIGNAL = 0.9
REFUTED = 0.1
MOST_EVIDENCE = 20
INFERRED_WEIGHT = 0.25

CAPS = {Origin.PERSON: 0.95, Origin.MODEL: 0.80}
OTHER_CAP = 0.70
"""Of text that nobody vouches for."""

STATED_MODEL_CUE = 0.60
"""What a model says in passing starts no higher."""
WRITTEN_BY_MODEL = 0.80
ADMITTED = 0.60


class Outcome(StrEnum):
    ACTED = "acted"
    USED = "used"
    DISMISSED = "dismissed"
    DEFERRED = "deferred"
    CONTRADICTED = "contradicted"


def cap(origin: Origin) -> float:
    return CAPS.get(origin, OTHER_CAP)


def corroborated(confidence: float, *, evidence: int, origin: Origin) -> float:
    """Confidence after one more cause, `evidence` being those before."""
    moved = confidence + (SIGNAL - confidence) / (min(evidence + 1, MOST_EVIDENCE) + 1)
    return max(confidence, min(moved, cap(origin)))


def observed(confidence: float, outcome: Outcome, *, evidence: int, weight: float, origin: Origin) -> float:
    """Confidence after what happened to a note that showed the edge."""
    signal = {Outcome.ACTED: SIGNAL, Outcome.CONTRADICTED: REFUTED}.get(outcome)
    if signal is None:
        return confidence
    moved = confidence + weight * (signal - confidence) / (min(evidence + 1, MOST_EVIDENCE) + 1)
    return moved if moved <= confidence else max(confidence, min(moved, cap(origin)))
