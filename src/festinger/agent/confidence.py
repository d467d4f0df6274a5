"""Computes how sure the agent is of a reply, and when it thinks again."""

import re
from collections.abc import Sequence
from enum import StrEnum

OBJECTIVE_SHARE, KNOWING_SHARE, VERBAL_SHARE = 0.5, 0.35, 0.15
LOWEST_BAR, BAR_SPAN = 0.3, 0.5
FULL_MEMORY = 1000
"""Beyond so many memories an agent is grown up."""
MANY_STEPS, MANY_QUESTIONS = 3, 2
SURENESS = ((0.75, "sure"), (0.55, "fairly sure"), (0.35, "not very sure"), (0.0, "in doubt"))

_HEDGES = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|might|could be|i think|i guess|i believe|not sure|unsure|i don't know"
    r"|it depends|hard to say|as far as i know|seems?|likely)\b",
    re.IGNORECASE,
)
_REVISIONS = re.compile(r"\b(?:actually|wait|no,|on second thought|let me correct|i mean|rather)\b", re.IGNORECASE)
_SURE = re.compile(r"\b(?:certainly|definitely|exactly|always|never|clearly|of course|yes|no)\b", re.IGNORECASE)
_STEPS = re.compile(r"\b(?:first|then|next|after that|finally|step)\b|^[ \t]*+\d+[.)]", re.IGNORECASE | re.MULTILINE)
HEDGE_COST, REVISION_COST, QUESTION_COST, SURE_GAIN, START = 0.12, 0.10, 0.08, 0.05, 0.75


class EscalationReason(StrEnum):
    DOUBT = "doubt"
    CONTRADICTION = "contradiction"
    COMPLEXITY = "complexity"
    UNKNOWN = "unknown"
    IRREVERSIBLE = "irreversible"
    IDENTITY = "identity"
    GOAL = "goal"


ALWAYS = frozenset([EscalationReason.IRREVERSIBLE, EscalationReason.IDENTITY, EscalationReason.GOAL])


def combine_confidence(*, objective: float | None, knowing: float | None, verbal: float | None = None) -> float:
    """Weigh the parts that are there: how the reply reads, what was recalled, what the model says of itself."""
    parts = [(objective, OBJECTIVE_SHARE), (knowing, KNOWING_SHARE), (verbal, VERBAL_SHARE)]
    known = [(value, share) for value, share in parts if value is not None]
    return sum(value * share for value, share in known) / sum(share for _, share in known) if known else 0.0


def describe_confidence(value: float | None) -> str:
    """How sure the agent was, in words; empty where it was not weighed."""
    if value is None:
        return ""
    return next(words for least, words in SURENESS if value >= least)


def estimate_reply_sureness(text: str) -> float:
    """Estimate how sure a reply sounds, where the provider gives no probabilities."""
    words = max(20, len(text.split()))
    per_hundred = 100 / words
    cost = (
        HEDGE_COST * len(_HEDGES.findall(text))
        + REVISION_COST * len(_REVISIONS.findall(text))
        + QUESTION_COST * text.count("?")
        - SURE_GAIN * len(_SURE.findall(text))
    )
    return min(1.0, max(0.0, START - cost * min(1.0, per_hundred)))


def doubt_threshold(*, memories: int, density: float) -> float:
    """The doubt from which the agent thinks again: the more it knows, the less it is bothered."""
    return LOWEST_BAR + BAR_SPAN * (min(1.0, memories / FULL_MEMORY) + density) / 2


def is_complex(message: str) -> bool:
    return len(_STEPS.findall(message)) >= MANY_STEPS or message.count("?") >= MANY_QUESTIONS


def needs_system2(reasons: Sequence[EscalationReason]) -> bool:
    """Two reasons, or one that always counts."""
    found = set(reasons)
    return len(found - ALWAYS) > 1 or bool(found & ALWAYS)
