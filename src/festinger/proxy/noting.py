"""Which notes go into a request, and where?

Notes of earlier turns go in again at their places, so that the upstream's prefix stays; what is new to say makes
one block in the newest turn of the user. What is worth noting was decided by the rooms below.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from festinger.proxy.injection.anchors import Standing, carrier, shown_notes, standing_in
from festinger.proxy.injection.block import Block, Line, NoteRef, block, graph_line
from festinger.proxy.injection.budget import context_of, fitted, room
from festinger.proxy.injection.corrections import unseen
from festinger.proxy.injection.editing import edited
from festinger.proxy.requests.turn import Request
from festinger.proxy.requests.untouched import Untouched
from festinger.proxy.telling import MemoryResult, MemoryTold
from festinger.proxy.understanding import Understood
from festinger.settings.tree import ProxySettings
from festinger.text.budget import count_tokens
from festinger.world.recollection import Recollection


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """A request with its notes."""

    body: bytes
    told: MemoryTold
    blocks: Mapping[bytes, Block]
    """The blocks of its session by anchor, with the new one."""
    fresh: Block | None = None
    """The block that is new in this request."""


def noted(understood: Understood, found: Recollection | None, *, settings: ProxySettings) -> Noted:
    """The request with the notes of its history and, where there is something new to say, one new block."""
    request, session, links = understood.request, understood.session, understood.chain.links
    standing = [*standing_in(request, links, session.blocks)]
    blocks = dict(session.blocks)
    spot = carrier(
        request, links, forwarded=set(session.links), tools_may_carry=settings.inject_into_tool_messages
    )
    fresh = None
    if found and not isinstance(spot, Untouched):
        fresh = _fresh(found, request, [each.block for each in standing], settings)
    if fresh is not None and not isinstance(spot, Untouched):
        standing.append(Standing(turn=spot[0], anchor=spot[1], block=fresh))
        blocks[spot[1]] = fresh
    result = edited(request, standing, mark=understood.mark)
    told = _told(found, fresh, placed=result.placed)
    if not result.is_certain:
        return Noted(body=result.body, told=told, blocks=session.blocks)
    return Noted(body=result.body, told=told, blocks=blocks, fresh=fresh)


def _fresh(
    found: Recollection, request: Request, standing: Sequence[Block], settings: ProxySettings
) -> Block | None:
    """A block of what no visible block tells yet, as large as there is room for."""
    lines = unseen(_lines(found), shown_notes(standing))
    made = block(settings.label, graph=lines, unknown=[graph_line(text) for text in found.zero_hit_lines])
    if made is None:
        return None
    return fitted(made, room(settings, context=context_of(request), standing=standing))


def _lines(found: Recollection) -> Iterator[Line]:
    """Each line of the world with the edges that it shows."""
    by_concept = groupby(found.notes, key=lambda note: note.concept)
    for text, (_, notes) in zip(found.lines, by_concept, strict=True):
        refs = [
            NoteRef(kind="edge", id=f"{note.concept}/{note.dimension}/{note.parent}", version=note.version)
            for note in notes
        ]
        yield graph_line(text, refs)


def _told(found: Recollection | None, fresh: Block | None, *, placed: int) -> MemoryTold:
    if fresh is not None and placed:
        return MemoryTold(
            result=MemoryResult.INJECTED, notes=len(fresh.lines), tokens=count_tokens(fresh.text)
        )
    if placed:
        return MemoryTold(result=MemoryResult.REUSED)
    return MemoryTold(result=MemoryResult.NOT_READY if found is None else MemoryResult.EMPTY)
