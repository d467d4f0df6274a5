"""State a fact on purpose.

It passes by thresholds and models: the edge stands at once, or a conflict waits with the highest priority. Whether a
person or an agent stated it is told by the caller; only a person's word is certain, because an agent may repeat
whatever it has read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from festinger.errors import BadFact, TooLarge
from festinger.ids import Cause, Origin, SpaceId
from festinger.text.facts import parse_fact
from festinger.world.claims import Claim
from festinger.world.conflicts import find_conflict, item_json
from festinger.world.corroboration import cap
from festinger.world.desk import Desk
from festinger.world.edge import Source, Statement
from festinger.world.quarantine import admit_stated
from festinger.world.state import Did, Stated, check_statement, state_in
from festinger.world.writing import writing

CERTAIN = 1.0
MOST_FACTS = 100
PATTERN = "iknowthat"

NEW = frozenset({Did.ADDED, Did.REPLACED})
INSERTED = "inserted"
"""What a caller is told of a fact that was not there before; other outcomes keep their own word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A fact, and what became of it."""

    said: Statement
    stated: Stated


def statement_of(fact: str, because: Cause, *, message: str | None = None) -> Statement:
    """The statement that a fact makes; one that cannot be read or cannot stand is `BadFact`."""
    parsed = parse_fact(fact)
    said = Statement(
        concept=parsed.concept,
        parent=parsed.parent,
        dimension=parsed.dimension,
        is_isa=parsed.is_isa,
        confidence=CERTAIN if because.origin is Origin.PERSON else cap(because.origin),
        source=Source.GUTASK,
        cause=because,
        message=message,
    )
    check_statement(said)
    return said


async def iknowthat(
    desk: Desk, space: SpaceId, facts: Sequence[str], *, because: Cause, message: str | None = None
) -> list[Known]:
    """State facts, all of them or none; when this returns they are in this process's memory too."""
    if len(facts) > MOST_FACTS:
        raise TooLarge(f"At most {MOST_FACTS} facts can be stated at once; these are {len(facts)}.")
    if not facts:
        raise BadFact("There is no fact.")
    said = [statement_of(fact, because, message=message) for fact in facts]
    async with writing(desk, space, by=because.origin.value, cause=because) as change:
        known = []
        for each in said:
            if each.is_of_person:
                await admit_stated(change, _claim(each))
            known.append(Known(said=each, stated=await state_in(change, each)))
    return known


async def known_json(desk: Desk, space: SpaceId, known: Known) -> dict[str, Any]:
    """What became of a fact, as every door tells it."""
    said, stated = known.said, known.stated
    if stated.conflict is not None:
        async with desk.store.transaction() as transaction:
            found = await find_conflict(transaction, space, stated.conflict)
        return {"status": Did.CONFLICT.value, "conflict": await item_json(desk, space, found)}
    edge = {
        "concept": said.concept,
        "parent": said.parent,
        "dimension": said.dimension,
        "is_isa": said.is_isa,
        "confidence": stated.edge.confidence if stated.edge else said.confidence,
        "source": str(stated.edge.source) if stated.edge else said.source.value,
    }
    status = INSERTED if stated.did in NEW else stated.did.value
    return {"status": status, "edge": edge, "new_tokens": list(stated.new_tokens)}


def _claim(said: Statement) -> Claim:
    return Claim(
        concept=said.concept,
        parent=said.parent,
        dimension=said.dimension,
        is_isa=said.is_isa,
        confidence=said.confidence,
        pattern=PATTERN,
        origin=said.origin,
    )
