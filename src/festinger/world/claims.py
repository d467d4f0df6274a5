"""What does a text claim, and would it collide with what stands?

A claim is a cue of a text in the words of this room. Whether it collides is answered from memory alone, so that a
prompt which contradicts the world is already marked in its own recollection; writing it comes later, and decides
again under the lock.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from festinger.ids import Origin, least_trusted
from festinger.settings.beliefs import WorldSettings
from festinger.world.collision import is_same_name, yields
from festinger.world.corroboration import STATED_MODEL_CUE
from festinger.world.edge import UrdEdge
from festinger.world.world import Slot, World

VOUCHED = (Origin.PERSON, Origin.MODEL)
"""Whose claims are written at once; all others are quarantined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One triple that a text asserts, or takes back."""

    concept: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float
    pattern: str
    origin: Origin
    is_retraction: bool = False


def heard_from(origin: Origin, claim: Claim, *, unvouched: Collection[str]) -> Origin:
    """Whose claim it really is: a model that repeats a page speaks for the page.

    `unvouched` are the words of tool and document texts of the same session.
    """
    if origin is Origin.MODEL and claim.concept in unvouched and claim.parent in unvouched:
        return least_trusted((Origin.MODEL, Origin.TOOL))
    return origin


def starting_confidence(claim: Claim) -> float:
    """What an edge begins with that comes from this claim."""
    return min(claim.confidence, STATED_MODEL_CUE) if claim.origin is Origin.MODEL else claim.confidence


def collides(world: World, claim: Claim, *, now: datetime, terms: WorldSettings) -> Slot | None:
    """The slot whose edge the claim contradicts, if there is one."""
    concept, dim = world.row(claim.concept), world.row(claim.dimension)
    if concept is None or dim is None or (existing := world.slot(concept.id, dim.id)) is None:
        return None
    parent = world.row(claim.parent)
    if claim.is_retraction:
        is_this = parent is not None and parent.id == existing.parent_id and claim.origin is Origin.PERSON
        return existing.slot if is_this else None
    if parent is not None and (
        parent.id == existing.parent_id or world.is_settled(*existing.slot, parent=parent.id, now=now)
    ):
        return None
    return None if _makes_way(world, existing, claim, terms=terms) else existing.slot


def _makes_way(world: World, existing: UrdEdge, claim: Claim, *, terms: WorldSettings) -> bool:
    """Whether the claim is another spelling of what stands, or replaces it without a conflict."""
    return is_same_name(world.soas_by_id[existing.parent_id], claim.parent) or yields(
        existing,
        confidence=starting_confidence(claim),
        origin=claim.origin,
        floor=terms.recollection_confidence_floor,
    )
