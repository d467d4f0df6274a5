"""Can an edge and an incoming statement both stand?

Pure decisions on one slot (a concept in a dimension), which has room for one parent. Two parents collide, and
the flavours of the two say what is probably wrong. A parent that already stands under the concept would close a
cycle, which one parent per slot does not prevent by itself. What is done about it is `state`'s matter.
"""

from collections.abc import Callable
from enum import StrEnum

from festinger.ids import TRUST_ORDER, Origin
from festinger.world.edge import UrdEdge

LONGEST_CHAIN = 64

PLURAL_FROM = 4
"""Shorter words end in `s` without being plurals."""

_MARKS = str.maketrans("", "", "-_.")


class Collision(StrEnum):
    ISA_ISA = "isa_isa"
    ISPART_ISPART = "ispart_ispart"
    MISCLASSIFICATION = "misclassification"
    CYCLE = "cycle"
    RETRACTION = "retraction"


def collision_type(*, existing_is_isa: bool, incoming_is_isa: bool) -> Collision:
    """Two kinds: the dimension is too coarse. Two wholes: a contradiction. Mixed: the wrong dimension."""
    if existing_is_isa != incoming_is_isa:
        return Collision.MISCLASSIFICATION
    return Collision.ISA_ISA if existing_is_isa else Collision.ISPART_ISPART


def closes_cycle(concept: int, parent: int, parent_of: Callable[[int], int | None]) -> bool:
    """Whether the chain above `parent` meets the concept. A chain beyond the limit counts as one that does:
    nobody could walk it."""
    above: int | None = parent
    for _ in range(LONGEST_CHAIN):
        if above is None:
            return False
        if above == concept:
            return True
        above = parent_of(above)
    return above is not None


def is_above(ancestor: int, concept: int, parent_of: Callable[[int], int | None]) -> bool:
    """Whether `ancestor` stands somewhere above the concept."""
    above = parent_of(concept)
    for _ in range(LONGEST_CHAIN):
        if above is None or above == ancestor:
            return above == ancestor
        above = parent_of(above)
    return False


def spelling(token: str) -> str:
    """A token without what people write now so, now otherwise."""
    bare = token.translate(_MARKS)
    is_plural = len(bare) >= PLURAL_FROM and bare.endswith("s") and not bare.endswith("ss")
    return bare[:-1] if is_plural else bare


def is_same_name(one: str, other: str) -> bool:
    return one != other and spelling(one) == spelling(other)


def trust(origin: str) -> int:
    """How far an origin is trusted; more is better. A job's word is nobody's."""
    known = Origin(origin)
    return -TRUST_ORDER.index(known) if known in TRUST_ORDER else -len(TRUST_ORDER)


def yields(existing: UrdEdge, *, confidence: float, origin: str, floor: float) -> bool:
    """Whether an edge that is silent anyway makes way for a better one without a conflict."""
    return (
        existing.confidence < floor
        and not existing.person_stated
        and confidence > existing.confidence
        and trust(origin) >= trust(existing.origin)
    )
