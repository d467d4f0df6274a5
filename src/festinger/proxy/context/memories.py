"""What does the memory bring to mind for a request, and how does what it brought before stand today?

The small port through which the door asks for memories, beside the world. Only memories are asked for, never what was
merely said: a note is something that somebody can correct, forget and be told the outcome of. Where a person switched
it on, what was observed again and again follows, labelled as that. A space that holds nothing is not asked at all. What
is late, or cannot be had, is `in_time`'s matter.

How do the world and the memory stand today to what a history shows of them?

Each visible line was true when it was put in. Here its edges are looked up again: a slot that another parent holds
now, or whose dispute was settled since, is told anew; a slot that stands empty was taken back or forgotten, and
what filled it is shown to nobody any more. An edge that was only confirmed has not changed. The same goes for memories:
one that reads otherwise today, or was replaced, is told anew, and one that stands no more is shown to nobody.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

import structlog

from festinger.errors import Unavailable
from festinger.ids import AgentId, Origin, SpaceId
from festinger.memory.model import Kind
from festinger.memory.model import Place as MemoryPlace
from festinger.observability.metrics import DEGRADED
from festinger.proposals.health import told
from festinger.proposals.model import Proposal
from festinger.proxy.capture.exchange import session_name
from festinger.proxy.context.block import (
    NOTE_CHARS,
    Line,
    NoteRef,
    Present,
    PresentLines,
    Why,
    graph_line,
    note_line,
)
from festinger.retrieval.notes import (
    NoteReader,
    Standing,
    choose,
    pair_text,
    standing_notes,
    standings,
    weighed,
)
from festinger.retrieval.query import wished
from festinger.retrieval.recall import recall
from festinger.retrieval.result import Item
from festinger.runtime.app import App
from festinger.text.words import sentences_in
from festinger.world.graph import World
from festinger.world.model import SoasRow, UrdEdge
from festinger.world.recall import Place, Said
from festinger.world.recollection import line as line_of

log = structlog.get_logger(room="proxy")

DOOR = "proxy"
MEMORY = "memory"
OBSERVATION = "proposal"
NOTES = (MEMORY, OBSERVATION)
"""What is told of the memory, and not of the world."""
MOST_NOTES = 5
CANDIDATES = 10
"""Memories that are read beside a message to see whether they apply."""
CUE_CHARS = 240
"""Of a longer message only a part is asked about: a page is about too much to be like any one memory, and to embed it
takes longer than a request waits."""
END_CHARS = 2000
"""Questions stand before or after what was pasted in, not in its midst."""
QUESTION_MARKS = ("?", "？", "؟")
KINDS = tuple(kind.value for kind in Kind)

_OPERATORS = re.compile(r"[\"“”\x00\ud800-\udfff]|(?:(?<=\s)|^)-+(?=\w)")
"""What a search reads as more than words. In a conversation a quotation demands nothing, and a dash forbids nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminded:
    """What came to mind."""

    lines: tuple[Line, ...] = ()
    recall: str = ""
    """Under which id it can be looked up why."""
    failed: str = ""
    """The class of the error, if there was no answer."""


NOTHING = Reminded()

Lines = Mapping[str, Line]
"""By the id of a memory that was shown, how it is told today; what is missing is told to nobody any more."""


class TurnsUnderWay(Protocol):
    """What is being learned at this moment from the turns of other requests."""

    def is_learning(self, space: SpaceId) -> bool: ...

    async def settled(self, space: SpaceId, agent: AgentId) -> None:
        """Wait until what an agent heard is learned."""


class Memories(Protocol):
    def may_know(self, space: SpaceId) -> bool:
        """Whether asking is worth anything. Answers at once."""

    async def remind(
        self, place: Place, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> Reminded:
        """The memories that a cue brings to mind, but for those that are excluded; `by_words` without vectors."""

    async def standing(self, place: Place, memories: Collection[UUID]) -> Lines | None:
        """How memories stand; none if nobody can say."""


class NoMemories:
    """A door without a memory behind it."""

    def may_know(self, space: SpaceId) -> bool:
        return False

    async def remind(
        self, place: Place, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> Reminded:
        return NOTHING

    async def standing(self, place: Place, memories: Collection[UUID]) -> Lines | None:
        return None


class StoredMemories:
    """The memory of the open house."""

    def __init__(self, app: Callable[[], App | None], *, turns: TurnsUnderWay | None = None) -> None:
        self._app = app
        self._turns = turns

    def may_know(self, space: SpaceId) -> bool:
        app = self._app()
        if app is None:
            return False
        is_learning = self._turns is not None and self._turns.is_learning(space)
        return is_learning or app.recall.holdings.may_hold(space) or app.inbox.desk.terms(space).surface

    async def remind(
        self, place: Place, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> Reminded:
        app = self._app()
        if app is None:
            return NOTHING
        if self._turns is not None and not by_words:
            # What was said a moment ago in another chat counts too; the deadline of the request ends the wait.
            await self._turns.settled(place.space, place.agent)
        try:
            reminded = await _recalled(app, place, cue, exclude=exclude, by_words=by_words)
            observed = await app.inbox.observed(place.space, exclude=exclude)
        except Unavailable as error:
            return Reminded(failed=_gone_without(error))
        return replace(reminded, lines=(*reminded.lines, *map(_observation, observed)))

    async def standing(self, place: Place, memories: Collection[UUID]) -> Lines | None:
        app = self._app()
        if app is None:
            return None
        try:
            found = await standings(app.recall.desk, _place(place), memories)
            observed = await app.inbox.still_observed(place.space, set(memories) - set(found))
        except Unavailable as error:
            _gone_without(error)
            return None
        lines = {str(asked): _line(now) for asked, now in found.items()}
        return lines | {str(each.id): _observation(each) for each in observed}


async def _recalled(
    app: App, place: Place, cue: str, *, exclude: Collection[UUID], by_words: bool
) -> Reminded:
    if not await app.recall.holdings.holds(app.store, place.space):
        return NOTHING
    reader = None if by_words else app.note_reader
    where = _place(place)
    wish = wished(
        cue,
        now=app.tools.clock(),
        limit=MOST_NOTES if reader is None else CANDIDATES,
        kinds=KINDS,
        exclude=sorted(exclude),
        strict=True,
        hurried=True,
        by_words=by_words,
        ungated=reader is not None,
    )
    found = await recall(app.recall.desk, where, wish, door=DOOR, shows=False)
    items: Sequence[Item | Standing] = found.items
    if reader is not None:
        standing = await standing_notes(app.recall.desk, where)
        known = {*exclude, *(item.id for item in items)}
        items = await _applying(reader, cue, [*items, *(each for each in standing if each.id not in known)])
    return Reminded(lines=tuple(map(_line, items)), recall=str(found.id))


async def _applying(
    reader: NoteReader, message: str, notes: Sequence[Item | Standing]
) -> list[Item | Standing]:
    """The notes that a message needs, the surest first."""
    logits = await reader.logits([pair_text(note.text, message) for note in notes])
    scores = [
        weighed(logit, note.cosine if isinstance(note, Item) else None)
        for logit, note in zip(logits, notes, strict=True)
    ]
    return [notes[place] for place in choose(scores, message, most=MOST_NOTES)]


def cue_of(texts: Sequence[Said]) -> str:
    """What to ask the memory about: the last words of a person among texts, the newest first. May be empty.

    More texts would not make a better question: what has little to do with all of them answers none of them. Of a long
    message it is what it asks, or else its end: that is where people put what they want.
    """
    newest = next((said for said in texts if said.origin is Origin.PERSON), None)
    if newest is None:
        return ""
    turn = _turn(newest)
    parts = [said.text for said in texts if said.origin is Origin.PERSON and _turn(said) == turn]
    whole = "\n".join(reversed(parts))
    return _OPERATORS.sub(" ", whole if len(whole) <= CUE_CHARS else _point_of(whole)).strip()


def _point_of(text: str) -> str:
    """The questions that a long text asks, or else its last sentences; of either, the last ones."""
    sentences = [*sentences_in(text[:-END_CHARS][:END_CHARS]), *sentences_in(text[-END_CHARS:])]
    asked = [each for each in sentences if each.endswith(QUESTION_MARKS)]
    return " ".join(asked or sentences)[-CUE_CHARS:]


def memory_notes(lines: Iterable[Line]) -> list[UUID]:
    """The memories and observations that lines show."""
    return [UUID(note.id) for line in lines for note in line.notes if note.kind in NOTES]


def is_memory(line: Line) -> bool:
    """Whether a line tells of the memory, and not of the world."""
    return any(note.kind in NOTES for note in line.notes)


def _turn(said: Said) -> str:
    """Stretches of one turn differ only in the number at the end of their ids."""
    return (said.message or "").rpartition(":")[0]


def _place(place: Place) -> MemoryPlace:
    return MemoryPlace(space=place.space, agent=place.agent, session=session_name(place.session))


def _line(memory: Item | Standing) -> Line:
    """A memory as a note; in short where it is too long and there is a short form."""
    text = memory.compressed if memory.compressed and len(memory.text) > NOTE_CHARS else memory.text
    note = NoteRef(kind=MEMORY, id=str(memory.id), version=memory.version)
    return note_line(text, note, disputed=memory.disputed, why=Why.RECALLED)


def _observation(proposal: Proposal) -> Line:
    note = NoteRef(kind=OBSERVATION, id=str(proposal.id), version=proposal.version)
    return note_line(told(proposal), note, why=Why.OBSERVED)


def _gone_without(error: Unavailable) -> str:
    DEGRADED.labels("recall").inc()
    log.warning("memories not recalled", error=error.message)
    return type(error).__name__


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
    return Present(line=_restated_line(world, standing), forgotten=gone)


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


def _restated_line(world: World, standing: list[tuple[SoasRow, UrdEdge]]) -> Line:
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
