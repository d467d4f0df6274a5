"""Recalls memories for a request, and checks whether shown lines still hold.

`services.recollect` recalls. Each shown line was true when it was added. A slot with another parent, or whose
dispute was settled, is restated; an empty slot was withdrawn or forgotten, and its note is hidden. A confirmed
edge has not changed. Memories alike: edited or replaced ones are restated, and those that no longer stand are
hidden.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Protocol
from uuid import UUID

import structlog

from festinger.errors import Unavailable
from festinger.ids import Scope, SpaceId
from festinger.observability.metrics import DEGRADED
from festinger.proposals.health import reload_proposals_for_agent
from festinger.proxy.context.edit import LineUpdate, PresentLines
from festinger.proxy.sessions.session import shorten_session_id
from festinger.proxy.statements import RequestLearner
from festinger.retrieval.log import KeepRecord
from festinger.retrieval.notes import load_current_memories
from festinger.runtime.app import App
from festinger.services.block import ContextLine, NoteRef, build_world_line
from festinger.services.recollect import (
    EDGE,
    NOTHING,
    MemoryFetchResult,
    build_edge_note,
    has_memory_note,
    memory_line,
    observation_line,
    recall_lines,
    strip_day,
)
from festinger.world.graph import World
from festinger.world.model import SoasRow, UrdEdge
from festinger.world.recollection import format_concept_line as line_of

log = structlog.get_logger(room="proxy")

DOOR = "proxy"
Lines = Mapping[str, ContextLine]
"""Present lines by the id of a shown memory; missing ones must not be shown anymore."""


class MemoryReader(Protocol):
    def may_know(self, space: SpaceId) -> bool:
        """Whether asking is worthwhile. Must not block."""

    async def recall(
        self, scope: Scope, cue: str, *, exclude: Collection[UUID], is_first: bool = False, by_words: bool = False
    ) -> MemoryFetchResult:
        """Recall memories for a cue, except excluded ones: in a session's first turn also what is being learned
        right now; `by_words` without vectors."""

    async def standing(self, scope: Scope, memories: Collection[UUID]) -> Lines | None:
        """Present lines of memories; `None` if unknown."""


class AppMemoryReader:
    def __init__(self, app: Callable[[], App | None], *, learner: RequestLearner, keep: KeepRecord) -> None:
        """`keep` takes the records of its recalls."""
        self._app = app
        self._learner = learner
        self._keep = keep

    def may_know(self, space: SpaceId) -> bool:
        app = self._app()
        if app is None:
            return False
        return (
            app.recall.holdings.may_have_memories(space)
            or app.inbox.deps.terms(space).surface
            or self._learner.is_learning(space)
        )

    async def recall(
        self, scope: Scope, cue: str, *, exclude: Collection[UUID], is_first: bool = False, by_words: bool = False
    ) -> MemoryFetchResult:
        app = self._app()
        if app is None:
            return NOTHING
        if is_first and not by_words:
            # Include what was said a moment ago in another chat; the request's deadline bounds the wait. A session
            # that goes on has its own words in its history.
            await self._learner.settled(scope.space, scope.agent)
        try:
            return await recall_lines(
                app, _build_scope(scope), cue, exclude=exclude, by_words=by_words, door=DOOR, keep=self._keep
            )
        except Unavailable as error:
            return MemoryFetchResult(failed=_report_unavailable(error))

    async def standing(self, scope: Scope, memories: Collection[UUID]) -> Lines | None:
        app = self._app()
        if app is None:
            return None
        try:
            found = await load_current_memories(app.recall.deps, _build_scope(scope), memories)
            observed = await reload_proposals_for_agent(app.inbox.deps, scope.space, set(memories) - set(found))
        except Unavailable as error:
            _report_unavailable(error)
            return None
        lines = {str(asked): memory_line(now, now=app.tools.clock()) for asked, now in found.items()}
        return lines | {str(each.id): observation_line(each) for each in observed}


def _build_scope(scope: Scope) -> Scope:
    return Scope(space=scope.space, agent=scope.agent, session=shorten_session_id(scope.session))


def _report_unavailable(error: Unavailable) -> str:
    DEGRADED.labels("recall").inc()
    log.warning("memories not recalled", error=error.message)
    return type(error).__name__


Restate = Callable[[Scope, Mapping[str, ContextLine]], PresentLines]
"""Returns updates for lines by subject. Must not do I/O."""


def no_line_updates(_place: Scope, _shown: Mapping[str, ContextLine]) -> PresentLines:
    return {}


def build_line_update_finder(app: Callable[[], App | None]) -> Restate:
    """Use the world of the open app; while it is not loaded, nothing counts as changed."""

    def restate(scope: Scope, shown: Mapping[str, ContextLine]) -> PresentLines:
        server = app()
        world = server.world.recollector.worlds.find(scope.space) if server is not None and shown else None
        return {} if world is None else find_shown_line_updates(world, shown)

    return restate


def find_shown_line_updates(world: World, shown: Mapping[str, ContextLine]) -> dict[str, LineUpdate]:
    """Updates for lines that no longer hold."""
    found = ((about, _find_line_update(world, line)) for about, line in shown.items())
    return {about: present for about, present in found if present is not None}


def find_memory_line_updates(shown: Mapping[str, ContextLine], standing: Lines) -> dict[str, LineUpdate]:
    memory_lines = {about: (line, standing.get(about)) for about, line in shown.items() if has_memory_note(line)}
    return {
        about: LineUpdate(line=now) if now is not None else LineUpdate(forgotten=line.notes)
        for about, (line, now) in memory_lines.items()
        if now is None or strip_day(now.text) != strip_day(line.text)
    }


def _find_line_update(world: World, line: ContextLine) -> LineUpdate | None:
    edges = tuple((note, *_find_slot(world, note)) for note in line.notes if note.kind == EDGE)
    gone = tuple(note for note, _, edge in edges if edge is None)
    if not any(_has_changed(world, line, note, edge) for note, _, edge in edges if edge is not None):
        return LineUpdate(forgotten=gone) if gone else None
    standing = [(row, edge) for _, row, edge in edges if row is not None and edge is not None]
    row, now = standing[0][0], [edge for _, edge in standing]
    line = build_world_line(line_of(world, row, now, disputed=world.pending_slots), _edge_notes(world, row, now))
    return LineUpdate(line=line, forgotten=gone)


def _find_slot(world: World, note: NoteRef) -> tuple[SoasRow | None, UrdEdge | None]:
    row, dimension = world.row(note.about), world.row(_parse_edge_dimension(note))
    if row is None or dimension is None:
        return None, None
    return row, world.slot(row.id, dimension.id)


def _has_changed(world: World, line: ContextLine, note: NoteRef, edge: UrdEdge) -> bool:
    if world.soas_by_id[edge.parent_id] != note.id.partition("] ")[2]:
        return True
    was_disputed, is_disputed = f"[{_parse_edge_dimension(note)}?]" in line.text, edge.slot in world.pending_slots
    if was_disputed == is_disputed:
        return False
    # A collision is shown before it is stored; only a decision, not its absence, ends it.
    return is_disputed or any(triple[:2] == edge.slot for triple in world.dismissed)


def _edge_notes(world: World, row: SoasRow, edges: list[UrdEdge]) -> Iterator[NoteRef]:
    for edge in edges:
        yield build_edge_note(
            row.token, world.soas_by_id[edge.dim_id], parent=world.soas_by_id[edge.parent_id], version=edge.version
        )


def _parse_edge_dimension(note: NoteRef) -> str:
    return note.id.partition(" [")[2].partition("] ")[0]
