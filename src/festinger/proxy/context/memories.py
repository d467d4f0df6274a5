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
from festinger.memory.model import Kind, Scope
from festinger.observability.metrics import DEGRADED
from festinger.proposals.health import format_observation
from festinger.proposals.model import Proposal
from festinger.proxy.capture.exchange import session_name
from festinger.proxy.context.block import (
    NOTE_CHARS,
    ContextLine,
    LineReason,
    LineUpdate,
    NoteRef,
    PresentLines,
    graph_line,
    note_line,
)
from festinger.retrieval.notes import (
    CurrentMemory,
    NoteReader,
    combine_logits,
    load_current_memories,
    load_standing_notes,
    pair_text,
    select_notes,
)
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall
from festinger.retrieval.result import RecallItem
from festinger.runtime.app import App
from festinger.text.words import split_into_sentences
from festinger.world.graph import World
from festinger.world.model import SoasRow, UrdEdge
from festinger.world.recall import SourceText, WorldScope
from festinger.world.recollection import format_concept_line as line_of

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
class MemoryFetchResult:
    """What came to mind."""

    lines: tuple[ContextLine, ...] = ()
    recall: str = ""
    """Under which id it can be looked up why."""
    failed: str = ""
    """The class of the error, if there was no answer."""


NOTHING = MemoryFetchResult()

Lines = Mapping[str, ContextLine]
"""By the id of a memory that was shown, how it is told today; what is missing is told to nobody any more."""


class PendingTurns(Protocol):
    """What is being learned at this moment from the turns of other requests."""

    def is_learning(self, space: SpaceId) -> bool: ...

    async def settled(self, space: SpaceId, agent: AgentId) -> None:
        """Wait until what an agent heard is learned."""


class MemoryReader(Protocol):
    def may_know(self, space: SpaceId) -> bool:
        """Whether asking is worth anything. Answers at once."""

    async def remind(
        self, place: WorldScope, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> MemoryFetchResult:
        """The memories that a cue brings to mind, but for those that are excluded; `by_words` without vectors."""

    async def standing(self, place: WorldScope, memories: Collection[UUID]) -> Lines | None:
        """How memories stand; none if nobody can say."""


class NullMemoryReader:
    """A door without a memory behind it."""

    def may_know(self, space: SpaceId) -> bool:
        return False

    async def remind(
        self, place: WorldScope, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> MemoryFetchResult:
        return NOTHING

    async def standing(self, place: WorldScope, memories: Collection[UUID]) -> Lines | None:
        return None


class AppMemoryReader:
    """The memory of the open house."""

    def __init__(self, app: Callable[[], App | None], *, turns: PendingTurns | None = None) -> None:
        self._app = app
        self._turns = turns

    def may_know(self, space: SpaceId) -> bool:
        app = self._app()
        if app is None:
            return False
        is_learning = self._turns is not None and self._turns.is_learning(space)
        return is_learning or app.recall.holdings.may_hold(space) or app.inbox.deps.terms(space).surface

    async def remind(
        self, place: WorldScope, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> MemoryFetchResult:
        app = self._app()
        if app is None:
            return NOTHING
        if self._turns is not None and not by_words:
            # What was said a moment ago in another chat counts too; the deadline of the request ends the wait.
            await self._turns.settled(place.space, place.agent)
        try:
            reminded = await _recall_lines(app, place, cue, exclude=exclude, by_words=by_words)
            observed = await app.inbox.observed(place.space, exclude=exclude)
        except Unavailable as error:
            return MemoryFetchResult(failed=_report_unavailable(error))
        return replace(reminded, lines=(*reminded.lines, *map(_observation_line, observed)))

    async def standing(self, place: WorldScope, memories: Collection[UUID]) -> Lines | None:
        app = self._app()
        if app is None:
            return None
        try:
            found = await load_current_memories(app.recall.deps, _build_scope(place), memories)
            observed = await app.inbox.still_observed(place.space, set(memories) - set(found))
        except Unavailable as error:
            _report_unavailable(error)
            return None
        lines = {str(asked): _memory_line(now) for asked, now in found.items()}
        return lines | {str(each.id): _observation_line(each) for each in observed}


async def _recall_lines(
    app: App, place: WorldScope, cue: str, *, exclude: Collection[UUID], by_words: bool
) -> MemoryFetchResult:
    if not await app.recall.holdings.holds(app.store, place.space):
        return NOTHING
    reader = None if by_words else app.note_reader
    where = _build_scope(place)
    wish = parse_recall_query(
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
    found = await recall(app.recall.deps, where, wish, door=DOOR, shows=False)
    items: Sequence[RecallItem | CurrentMemory] = found.items
    if reader is not None:
        standing = await load_standing_notes(app.recall.deps, where)
        known = {*exclude, *(item.id for item in items)}
        items = await _select_applicable(reader, cue, [*items, *(each for each in standing if each.id not in known)])
    return MemoryFetchResult(lines=tuple(map(_memory_line, items)), recall=str(found.id))


async def _select_applicable(
    reader: NoteReader, message: str, notes: Sequence[RecallItem | CurrentMemory]
) -> list[RecallItem | CurrentMemory]:
    """The notes that a message needs, the surest first."""
    logits = await reader.logits([pair_text(note.text, message) for note in notes])
    scores = [
        combine_logits(logit, note.cosine if isinstance(note, RecallItem) else None)
        for logit, note in zip(logits, notes, strict=True)
    ]
    return [notes[place] for place in select_notes(scores, message, most=MOST_NOTES)]


def build_cue(texts: Sequence[SourceText]) -> str:
    """What to ask the memory about: the last words of a person among texts, the newest first. May be empty.

    More texts would not make a better question: what has little to do with all of them answers none of them. Of a long
    message it is what it asks, or else its end: that is where people put what they want.
    """
    newest = next((said for said in texts if said.origin is Origin.PERSON), None)
    if newest is None:
        return ""
    turn = _turn_id(newest)
    parts = [said.text for said in texts if said.origin is Origin.PERSON and _turn_id(said) == turn]
    whole = "\n".join(reversed(parts))
    return _OPERATORS.sub(" ", whole if len(whole) <= CUE_CHARS else _extract_question(whole)).strip()


def _extract_question(text: str) -> str:
    """The questions that a long text asks, or else its last sentences; of either, the last ones."""
    sentences = [*split_into_sentences(text[:-END_CHARS][:END_CHARS]), *split_into_sentences(text[-END_CHARS:])]
    asked = [each for each in sentences if each.endswith(QUESTION_MARKS)]
    return " ".join(asked or sentences)[-CUE_CHARS:]


def memory_note_ids(lines: Iterable[ContextLine]) -> list[UUID]:
    """The memories and observations that lines show."""
    return [UUID(note.id) for line in lines for note in line.notes if note.kind in NOTES]


def is_memory_line(line: ContextLine) -> bool:
    """Whether a line tells of the memory, and not of the world."""
    return any(note.kind in NOTES for note in line.notes)


def _turn_id(said: SourceText) -> str:
    """Stretches of one turn differ only in the number at the end of their ids."""
    return (said.message or "").rpartition(":")[0]


def _build_scope(place: WorldScope) -> Scope:
    return Scope(space=place.space, agent=place.agent, session=session_name(place.session))


def _memory_line(memory: RecallItem | CurrentMemory) -> ContextLine:
    """A memory as a note; in short where it is too long and there is a short form."""
    text = memory.compressed if memory.compressed and len(memory.text) > NOTE_CHARS else memory.text
    note = NoteRef(kind=MEMORY, id=str(memory.id), version=memory.version)
    return note_line(text, note, disputed=memory.disputed, why=LineReason.RECALLED)


def _observation_line(proposal: Proposal) -> ContextLine:
    note = NoteRef(kind=OBSERVATION, id=str(proposal.id), version=proposal.version)
    return note_line(format_observation(proposal), note, why=LineReason.OBSERVED)


def _report_unavailable(error: Unavailable) -> str:
    DEGRADED.labels("recall").inc()
    log.warning("memories not recalled", error=error.message)
    return type(error).__name__


EDGE = "edge"

Restate = Callable[[WorldScope, Mapping[str, ContextLine]], PresentLines]
"""How these lines, by what they tell of, stand now. Reads memory only."""


def no_line_updates(_place: WorldScope, _shown: Mapping[str, ContextLine]) -> PresentLines:
    return {}


def build_restate(app: Callable[[], App | None]) -> Restate:
    """Asks the world of the open house; while it is not loaded, nothing is known to have changed."""

    def restate(place: WorldScope, shown: Mapping[str, ContextLine]) -> PresentLines:
        house = app()
        world = house.world.recollector.worlds.find(place.space) if house is not None and shown else None
        return {} if world is None else find_world_updates(world, shown)

    return restate


def build_edge_note(concept: str, dimension: str, *, parent: str, version: int) -> NoteRef:
    return NoteRef(kind=EDGE, id=f"{concept} [{dimension}] {parent}", version=version)


def find_world_updates(world: World, shown: Mapping[str, ContextLine]) -> dict[str, LineUpdate]:
    """What of these lines is no longer so."""
    found = ((about, _find_line_update(world, line)) for about, line in shown.items())
    return {about: present for about, present in found if present is not None}


def find_memory_updates(shown: Mapping[str, ContextLine], standing: Lines) -> dict[str, LineUpdate]:
    """What of these lines is no longer so, by how their memories stand."""
    told = {about: (line, standing.get(about)) for about, line in shown.items() if is_memory_line(line)}
    return {
        about: LineUpdate(line=now) if now is not None else LineUpdate(forgotten=line.notes)
        for about, (line, now) in told.items()
        if now is None or now.text != line.text
    }


def _find_line_update(world: World, line: ContextLine) -> LineUpdate | None:
    edges = tuple((note, *_find_slot(world, note)) for note in line.notes if note.kind == EDGE)
    gone = tuple(note for note, _, edge in edges if edge is None)
    if not any(_has_changed(world, line, note, edge) for note, _, edge in edges if edge is not None):
        return LineUpdate(forgotten=gone) if gone else None
    standing = [(row, edge) for _, row, edge in edges if row is not None and edge is not None]
    return LineUpdate(line=_current_line(world, standing), forgotten=gone)


def _find_slot(world: World, note: NoteRef) -> tuple[SoasRow | None, UrdEdge | None]:
    row, dimension = world.row(note.about), world.row(_dimension(note))
    if row is None or dimension is None:
        return None, None
    return row, world.slot(row.id, dimension.id)


def _has_changed(world: World, line: ContextLine, note: NoteRef, edge: UrdEdge) -> bool:
    if world.soas_by_id[edge.parent_id] != _parent(note):
        return True
    was_disputed, is_disputed = f"[{_dimension(note)}?]" in line.text, edge.slot in world.pending_slots
    if was_disputed == is_disputed:
        return False
    # A collision is shown before it is written down; only a decision, not its absence, ends what was shown.
    return is_disputed or any(triple[:2] == edge.slot for triple in world.dismissed)


def _current_line(world: World, standing: list[tuple[SoasRow, UrdEdge]]) -> ContextLine:
    row, edges = standing[0][0], [edge for _, edge in standing]
    return graph_line(line_of(world, row, edges, disputed=world.pending_slots), _edge_notes(world, row, edges))


def _edge_notes(world: World, row: SoasRow, edges: list[UrdEdge]) -> Iterator[NoteRef]:
    for edge in edges:
        yield build_edge_note(
            row.token, world.soas_by_id[edge.dim_id], parent=world.soas_by_id[edge.parent_id], version=edge.version
        )


def _dimension(note: NoteRef) -> str:
    return note.id.partition(" [")[2].partition("] ")[0]


def _parent(note: NoteRef) -> str:
    return note.id.partition("] ")[2]
