"""Which conflicts decide themselves?

Pure rules, tried in order; the first that fits decides. They look only at what stands in the graph and at who said
what, never at what words mean. What none of them fits is left to `arbiter`, or to a person.
"""

from dataclasses import dataclass

from festinger.world.case import Case
from festinger.world.collision import Collision
from festinger.world.decisions import Decision
from festinger.world.edge import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a rule says, and why."""

    decision: Decision
    why: str
    dimension: str | None = None
    existing_dimension: str | None = None


def ruling(case: Case) -> Ruling | None:
    """What the first fitting rule says; none if none fits."""
    item = case.conflict
    if not case.incoming_causes:
        return Ruling(decision=Decision.DISMISS, why="nobody is left who said it")
    if item.collision_type == Collision.CYCLE or case.existing is None:
        return None
    if item.incoming_parent_id in case.above_existing:
        return Ruling(decision=Decision.DISMISS, why="what stands already implies it")
    if case.existing.parent_id in case.above_incoming:
        return Ruling(decision=Decision.UPDATE, why="it says the same more precisely")
    if item.collision_type == Collision.MISCLASSIFICATION and case.free_dimension is not None:
        if case.is_existing_misplaced:
            return Ruling(
                decision=Decision.RECLASSIFY,
                why="what stands belongs to another dimension",
                existing_dimension=case.free_dimension,
            )
        return Ruling(
            decision=Decision.RECLASSIFY, why="it belongs to another dimension", dimension=case.free_dimension
        )
    if item.collision_type != Collision.RETRACTION and is_persons_word_against_none(case):
        return Ruling(decision=Decision.UPDATE, why="a person stated it, and nobody stated the other")
    return None


def is_persons_word_against_none(case: Case) -> bool:
    item = case.conflict
    is_stated = item.is_persons and item.incoming_source == Source.GUTASK
    return is_stated and case.existing is not None and not case.existing.person_stated
