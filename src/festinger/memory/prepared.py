"""What is known of a statement before it is written?

Gathered outside of any transaction: who says it, what it was held against and what was said of each pair, its
vectors, and what this session was reminded of. Pure values, and the one question that can be answered from them
alone: does somebody only repeat us?
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from festinger.ids import Cause, MemoryId, Origin
from festinger.judge.model import Relation
from festinger.memory.candidates import NOTHING_SEEN, Seen
from festinger.memory.comparing import Compared
from festinger.memory.given import Said
from festinger.memory.memory import Place
from festinger.memory.vectors import Embedded

REPEATERS = (Origin.MODEL, Origin.TOOL)
"""Who sees what we bring to mind, and says it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    place: Place
    said: Said
    ref: MemoryId
    """The id that it gets if it becomes a memory of its own."""
    seen: Seen = NOTHING_SEEN
    compared: tuple[Compared, ...] = ()
    vectors: Embedded | None = None
    surfaced: Collection[MemoryId] = ()
    by: str = ""

    @property
    def who(self) -> str:
        return self.by or self.said.origin.value

    @property
    def cause(self) -> Cause:
        return self.place.cause(self.said.origin, self.said.at)


def echo_of(prepared: Prepared, compared: Sequence[Compared]) -> Compared | None:
    """What we brought to mind that a model or a tool only says again, in whatever words."""
    if prepared.said.origin not in REPEATERS or not prepared.surfaced:
        return None
    for each in compared:
        judgement = each.opinion.judgement
        says_again = judgement.relation is Relation.SAME or (
            judgement.relation in (Relation.UNSURE, Relation.REFINES) and not judgement.guards
        )
        if each.memory.id in prepared.surfaced and says_again:
            return each
    return None
