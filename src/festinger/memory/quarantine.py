"""Which statements are locked away until a person has looked?

Those of tools and documents that order the agent about or hide characters, those that at a stroke would overturn
much that is well held, and those that come in a flood from one little trusted cause. Pure; what is locked away is
stored all the same, but is not recalled, confirms nothing and replaces nothing.
"""

from collections.abc import Sequence
from datetime import timedelta
from enum import StrEnum

from festinger.ids import Origin
from festinger.judge.model import Relation
from festinger.memory.comparing import Compared
from festinger.memory.kinds import Status
from festinger.memory.memory import Memory
from festinger.text.hygiene import orders_about

BURST_WINDOW = timedelta(minutes=10)
LITTLE_TRUST = 0.7
"""Below it a cause may not overturn much, nor come in floods."""
SPIKE = 3
"""Well held memories that one little trusted statement may not overturn together."""
WELL_TRUSTED = 0.8
WELL_BELIEVED = 0.6


class Suspicion(StrEnum):
    INSTRUCTION = "instruction"
    HIDDEN_TEXT = "hidden_text"
    SPIKE = "contradiction_spike"
    BURST = "burst"


OUTSIDERS = (Origin.TOOL, Origin.DOCUMENT)


def suspicions(text: str, *, origin: Origin, hid: bool) -> tuple[str, ...]:
    """What speaks against a text by itself."""
    if origin not in OUTSIDERS:
        return ()
    found = []
    if orders_about(text):
        found.append(Suspicion.INSTRUCTION.value)
    if hid:
        found.append(Suspicion.HIDDEN_TEXT.value)
    return tuple(found)


def is_spike(trust: float, compared: Sequence[Compared]) -> bool:
    """Whether a statement would overturn too much for whoever says it."""
    if trust >= LITTLE_TRUST:
        return False
    against = [each for each in compared if is_against(each) and is_well_held(each.memory)]
    return len(against) >= SPIKE


def is_against(compared: Compared) -> bool:
    return compared.opinion.judgement.relation in (Relation.UPDATE, Relation.CONTRADICTS)


def is_well_held(memory: Memory) -> bool:
    is_held = memory.trust >= WELL_TRUSTED or memory.confidence >= WELL_BELIEVED
    return memory.status is Status.ACTIVE and is_held


def is_burst(trust: float, *, births: int, limit: int) -> bool:
    """Whether a cause has brought as much as it may in the window already."""
    return trust < LITTLE_TRUST and births >= limit
