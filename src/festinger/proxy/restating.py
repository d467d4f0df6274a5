"""How do the world and the memory stand today to what a history shows of them?

Each visible line was true when it was put in. Here its edges are looked up again: a slot that another parent holds
now, or whose dispute was settled since, is told anew; a slot that stands empty was taken back or forgotten, and
what filled it is shown to nobody any more. An edge that was only confirmed has not changed. The same goes for memories:
one that reads otherwise today, or was replaced, is told anew, and one that stands no more is shown to nobody.
"""

from collections.abc import Callable, Iterator, Mapping

from festinger.proxy.injection.block import Line, NoteRef, graph_line
from festinger.proxy.injection.corrections import Present, PresentLines
from festinger.proxy.memories import Lines, is_memory
from festinger.runtime.app import App
from festinger.world.graph import World
from festinger.world.model import SoasRow, UrdEdge
from festinger.world.recall import Place
from festinger.world.recollection import line as line_of

EDGE = "edge"

Restate = Callable[[Place, Mapping[str, Line]], PresentLines]
"""How these lines, by what they tell of, stand now. Reads memory only."""


def nothing_changed(_place: Place, _shown: Mapping[str, Line]) -> PresentLines:
    return {}


def restating(app: Callable[[], App | None]) -> Restate:
    """Asks the world of the open house; while it is not loaded, nothing is known to have changed."""

    def restate(place: Place, shown: Mapping[str, Line]) -> PresentLines:
        house = app()
        world = house.world.recollector.worlds.find(place.space) if house is not None and shown else None
        return {} if world is None else restated(world, shown)

    return restate


def edge_note(concept: str, dimension: str, *, parent: str, version: int) -> NoteRef:
    return NoteRef(kind=EDGE, id=f"{concept} [{dimension}] {parent}", version=version)


def restated(world: World, shown: Mapping[str, Line]) -> dict[str, Present]:
    """What of these lines is no longer so."""
    found = ((about, _present(world, line)) for about, line in shown.items())
    return {about: present for about, present in found if present is not None}


def restated_memories(shown: Mapping[str, Line], standing: Lines) -> dict[str, Present]:
    """What of these lines is no longer so, by how their memories stand."""
    told = {about: (line, standing.get(about)) for about, line in shown.items() if is_memory(line)}
    return {
        about: Present(line=now) if now is not None else Present(forgotten=line.notes)
        for about, (line, now) in told.items()
        if now is None or now.text != line.text
    }


def _present(world: World, line: Line) -> Present | None:
    edges = tuple((note, *_slot(world, note)) for note in line.notes if note.kind == EDGE)
    gone = tuple(note for note, _, edge in edges if edge is None)
    if not any(_differs(world, line, note, edge) for note, _, edge in edges if edge is not None):
        return Present(forgotten=gone) if gone else None
    standing = [(row, edge) for _, row, edge in edges if row is not None and edge is not None]
    return Present(line=_line(world, standing), forgotten=gone)


def _slot(world: World, note: NoteRef) -> tuple[SoasRow | None, UrdEdge | None]:
    row, dimension = world.row(note.about), world.row(_dimension(note))
    if row is None or dimension is None:
        return None, None
    return row, world.slot(row.id, dimension.id)


def _differs(world: World, line: Line, note: NoteRef, edge: UrdEdge) -> bool:
    if world.soas_by_id[edge.parent_id] != _parent(note):
        return True
    was_disputed, is_disputed = f"[{_dimension(note)}?]" in line.text, edge.slot in world.pending_slots
    if was_disputed == is_disputed:
        return False
    # A collision is shown before it is written down; only a decision, not its absence, ends what was shown.
    return is_disputed or any(triple[:2] == edge.slot for triple in world.dismissed)


def _line(world: World, standing: list[tuple[SoasRow, UrdEdge]]) -> Line:
    row, edges = standing[0][0], [edge for _, edge in standing]
    return graph_line(line_of(world, row, edges, disputed=world.pending_slots), _notes(world, row, edges))


def _notes(world: World, row: SoasRow, edges: list[UrdEdge]) -> Iterator[NoteRef]:
    for edge in edges:
        yield edge_note(
            row.token,
            world.soas_by_id[edge.dim_id],
            parent=world.soas_by_id[edge.parent_id],
            version=edge.version,
        )


def _dimension(note: NoteRef) -> str:
    return note.id.partition(" [")[2].partition("] ")[0]


def _parent(note: NoteRef) -> str:
    return note.id.partition("] ")[2]
