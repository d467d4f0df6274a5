"""Recalls memories for a request, and checks whether shown lines still hold.

Only memories are asked for, never raw turns: a note must be something that people can correct and forget. If
enabled, repeated observations follow, labeled as such. Empty spaces are not queried. Each shown line was true
when it was added. A slot with another parent, or whose dispute was settled, is restated; an empty slot was
withdrawn or forgotten, and its note is hidden. A confirmed edge has not changed. Memories alike: edited or
replaced ones are restated, and those that no longer stand are hidden.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol
from uuid import UUID

import structlog

from festinger.errors import Unavailable
from festinger.ids import Origin, Scope, SpaceId
from festinger.memory.model import Kind
from festinger.observability.metrics import DEGRADED
from festinger.proposals.health import format_observation, load_observations, reload_observations
from festinger.proposals.model import Proposal
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
from festinger.proxy.sessions.session import session_name
from festinger.proxy.statements import StoredLearner
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
from festinger.world.recall import SourceText
from festinger.world.recollection import format_concept_line as line_of

log = structlog.get_logger(room="proxy")

DOOR = "proxy"
MEMORY = "memory"
OBSERVATION = "proposal"
NOTES = (MEMORY, OBSERVATION)
"""Kinds of notes that come from memory, not from the world."""
MOST_NOTES = 5
CANDIDATES = 10
"""Memories read beside a message to see whether they apply."""
CUE_CHARS = 240
"""Longer messages are shortened: a page covers too much to resemble any one memory, and embedding it takes
longer than a request waits."""
END_CHARS = 2000
"""Questions are before or after pasted text, not inside it."""
QUESTION_MARKS = ("?", "？", "؟")
KINDS = tuple(kind.value for kind in Kind)

_OPERATORS = re.compile(r"[\"“”\x00\ud800-\udfff]|(?:(?<=\s)|^)-+(?=\w)")
"""Search operators. In a conversation, quotes require nothing and a dash excludes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFetchResult:
    """Recalled lines."""

    lines: tuple[ContextLine, ...] = ()
    recall: str = ""
    """Recall id under which the reasons can be looked up."""
    failed: str = ""
    """Class of the error, if there was no answer."""


NOTHING = MemoryFetchResult()

Lines = Mapping[str, ContextLine]
"""Present lines by the id of a shown memory; missing ones must not be shown anymore."""


class MemoryReader(Protocol):
    def may_know(self, space: SpaceId) -> bool:
        """Whether asking is worthwhile. Must not block."""

    async def recall(
        self, scope: Scope, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> MemoryFetchResult:
        """Recall memories for a cue, except excluded ones; `by_words` without vectors."""

    async def standing(self, scope: Scope, memories: Collection[UUID]) -> Lines | None:
        """Present lines of memories; `None` if unknown."""


class AppMemoryReader:
    """Reads the memory of the open app."""

    def __init__(self, app: Callable[[], App | None], *, learner: StoredLearner) -> None:
        self._app = app
        self._learner = learner

    def may_know(self, space: SpaceId) -> bool:
        app = self._app()
        if app is None:
            return False
        return (
            self._learner.is_learning(space)
            or app.recall.holdings.may_hold(space)
            or app.inbox.deps.terms(space).surface
        )

    async def recall(
        self, scope: Scope, cue: str, *, exclude: Collection[UUID], by_words: bool = False
    ) -> MemoryFetchResult:
        app = self._app()
        if app is None:
            return NOTHING
        if not by_words:
            # Include what was said a moment ago in another chat; the request's deadline bounds the wait.
            await self._learner.settled(scope.space, scope.agent)
        try:
            recalled = await _recall_lines(app, scope, cue, exclude=exclude, by_words=by_words)
            observed = await load_observations(app.inbox.deps, scope.space, exclude=exclude)
        except Unavailable as error:
            return MemoryFetchResult(failed=_report_unavailable(error))
        return replace(recalled, lines=(*recalled.lines, *map(_observation_line, observed)))

    async def standing(self, scope: Scope, memories: Collection[UUID]) -> Lines | None:
        app = self._app()
        if app is None:
            return None
        try:
            found = await load_current_memories(app.recall.deps, _build_scope(scope), memories)
            observed = await reload_observations(app.inbox.deps, scope.space, set(memories) - set(found))
        except Unavailable as error:
            _report_unavailable(error)
            return None
        lines = {str(asked): _memory_line(now) for asked, now in found.items()}
        return lines | {str(each.id): _observation_line(each) for each in observed}


async def _recall_lines(
    app: App, scope: Scope, cue: str, *, exclude: Collection[UUID], by_words: bool
) -> MemoryFetchResult:
    if not await app.recall.holdings.holds(app.store, scope.space):
        return NOTHING
    reader = None if by_words else app.note_reader
    where = _build_scope(scope)
    query = parse_recall_query(
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
    found = await recall(app.recall.deps, where, query, door=DOOR, shows=False)
    items: Sequence[RecallItem | CurrentMemory] = found.items
    if reader is not None:
        standing = await load_standing_notes(app.recall.deps, where)
        known = {*exclude, *(item.id for item in items)}
        items = await _select_applicable(reader, cue, [*items, *(each for each in standing if each.id not in known)])
    return MemoryFetchResult(lines=tuple(map(_memory_line, items)), recall=str(found.id))


async def _select_applicable(
    reader: NoteReader, message: str, notes: Sequence[RecallItem | CurrentMemory]
) -> list[RecallItem | CurrentMemory]:
    """The notes that apply to a message, surest first."""
    logits = await reader.logits([pair_text(note.text, message) for note in notes])
    scores = [
        combine_logits(logit, note.cosine if isinstance(note, RecallItem) else None)
        for logit, note in zip(logits, notes, strict=True)
    ]
    return [notes[at] for at in select_notes(scores, message, most=MOST_NOTES)]


def build_cue(texts: Sequence[SourceText]) -> str:
    """Build the memory query: a person's last message among texts, newest first. May be empty.

    More texts would not make a better query: what relates a little to all of them answers none. From a long
    message take its questions, or else its end, where people put what they want.
    """
    newest = next((said for said in texts if said.origin is Origin.PERSON), None)
    if newest is None:
        return ""
    turn = _turn_id(newest)
    parts = [said.text for said in texts if said.origin is Origin.PERSON and _turn_id(said) == turn]
    whole = "\n".join(reversed(parts))
    return _OPERATORS.sub(" ", whole if len(whole) <= CUE_CHARS else _extract_question(whole)).strip()


def _extract_question(text: str) -> str:
    """The questions of a long text, or else its last sentences; the last ones of either."""
    sentences = [*split_into_sentences(text[:-END_CHARS][:END_CHARS]), *split_into_sentences(text[-END_CHARS:])]
    asked = [each for each in sentences if each.endswith(QUESTION_MARKS)]
    return " ".join(asked or sentences)[-CUE_CHARS:]


def memory_note_ids(lines: Iterable[ContextLine]) -> list[UUID]:
    """Ids of the memories and observations that lines show."""
    return [UUID(note.id) for line in lines for note in line.notes if note.kind in NOTES]


def is_memory_line(line: ContextLine) -> bool:
    """Whether a line is about memory, not about the world."""
    return any(note.kind in NOTES for note in line.notes)


def _turn_id(said: SourceText) -> str:
    """Texts of one turn differ only in the number at the end of their ids."""
    return (said.message or "").rpartition(":")[0]


def _build_scope(scope: Scope) -> Scope:
    return Scope(space=scope.space, agent=scope.agent, session=session_name(scope.session))


def _memory_line(memory: RecallItem | CurrentMemory) -> ContextLine:
    """A memory as a note; in its short form if it is too long and has one."""
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

Restate = Callable[[Scope, Mapping[str, ContextLine]], PresentLines]
"""Returns updates for lines by subject. Must not do I/O."""


def no_line_updates(_place: Scope, _shown: Mapping[str, ContextLine]) -> PresentLines:
    return {}


def bind_restater(app: Callable[[], App | None]) -> Restate:
    """Use the world of the open app; while it is not loaded, nothing counts as changed."""

    def restate(scope: Scope, shown: Mapping[str, ContextLine]) -> PresentLines:
        server = app()
        world = server.world.recollector.worlds.find(scope.space) if server is not None and shown else None
        return {} if world is None else find_world_updates(world, shown)

    return restate


def build_edge_note(concept: str, dimension: str, *, parent: str, version: int) -> NoteRef:
    return NoteRef(kind=EDGE, id=f"{concept} [{dimension}] {parent}", version=version)


def find_world_updates(world: World, shown: Mapping[str, ContextLine]) -> dict[str, LineUpdate]:
    """Updates for lines that no longer hold."""
    found = ((about, _find_line_update(world, line)) for about, line in shown.items())
    return {about: present for about, present in found if present is not None}


def find_memory_updates(shown: Mapping[str, ContextLine], standing: Lines) -> dict[str, LineUpdate]:
    """Updates for lines whose memories changed."""
    memory_lines = {about: (line, standing.get(about)) for about, line in shown.items() if is_memory_line(line)}
    return {
        about: LineUpdate(line=now) if now is not None else LineUpdate(forgotten=line.notes)
        for about, (line, now) in memory_lines.items()
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
    # A collision is shown before it is stored; only a decision, not its absence, ends it.
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
