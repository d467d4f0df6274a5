"""How does what is known look in a prompt?

One line a concept: `token: [dim] parent [dim] parent`. What is disputed is marked and comes last, with the parent
that stands; the one that is not accepted is never shown. The same state gives the same bytes. Tokens hold no
bracket, quote or line break, so a line cannot break out of its block.
"""

from collections.abc import Collection, Iterator, Sequence

from festinger.world.concept import SoasRow
from festinger.world.edge import UrdEdge
from festinger.world.world import Slot, World

PENDING = " — conflict pending"
UNCONFIRMED = " (unconfirmed)"


def line(world: World, row: SoasRow, edges: Sequence[UrdEdge], *, disputed: Collection[Slot]) -> str:
    """The line of one concept."""
    shown = sorted(edges, key=lambda edge: (edge.slot in disputed, not edge.is_isa, edge.dim_id))
    parts = [_part(world, edge, is_disputed=edge.slot in disputed) for edge in shown]
    ending = PENDING if any(edge.slot in disputed for edge in shown) else ""
    return f"{row.token}: {' '.join(parts)}{ending}"


def unknown_lines(token: str, *, command: str) -> Iterator[str]:
    """What is said of a name that nothing is known about."""
    yield f"? {token}: no recollection (if it is a typo, pass over this; else say what it is)"
    yield f"  {command} '{token} -isa KIND'"
    yield f"  {command} '{token} -ispart WHOLE in context of DIMENSION'"


def _part(world: World, edge: UrdEdge, *, is_disputed: bool) -> str:
    mark = "?" if is_disputed else ""
    ending = UNCONFIRMED if edge.unconfirmed else ""
    return f"[{world.soas_by_id[edge.dim_id]}{mark}] {world.soas_by_id[edge.parent_id]}{ending}"
