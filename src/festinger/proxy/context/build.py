"""Fetches the context for a request from world and memory, and injects it.

Also asks what changed since it was shown and, for notes in the system text, what the model's own file says.
`place` assembles the result.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from festinger.ids import NewId
from festinger.observability.metrics import PROXY_PREFIX_CHANGED
from festinger.proxy.context.block import (
    ContextBlock,
    ContextLine,
    PresentLines,
    find_placed_blocks,
    graph_line,
    shown_lines,
)
from festinger.proxy.context.edit import FindModelfile, Position, find_no_modelfile
from festinger.proxy.context.fetch import ContextFetcher, ContextFetchResult, ShownMemories
from festinger.proxy.context.memories import (
    Restate,
    build_edge_note,
    find_memory_updates,
    memory_note_ids,
    no_line_updates,
)
from festinger.proxy.context.place import ContextInput, inject_context, may_add_notes_this_turn
from festinger.proxy.headers import MemoryResult, MemoryStatus
from festinger.proxy.parser import world_scope
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.session import ProxySession
from festinger.text.cues import RelationCue, extract_cues
from festinger.text.normalize import normalize_text
from festinger.text.tokens import Token, tokenize
from festinger.text.words import FUNCTION_WORDS
from festinger.world.recollection import PENDING, UNCONFIRMED, Recollection, ShownEdge


class ContextBuilder:
    """Fetches and injects the context of requests."""

    def __init__(
        self,
        fetcher: ContextFetcher,
        *,
        new_id: NewId,
        restate: Restate = no_line_updates,
        modelfile: FindModelfile = find_no_modelfile,
    ) -> None:
        self._fetcher = fetcher
        self._new_id = new_id
        self._restate = restate
        self._modelfile = modelfile

    async def inject(self, ctx: RequestContext) -> None:
        """Inject notes into the request; leave it unchanged where none may be added."""
        if ctx.skip is not None:
            ctx.memory_status = MemoryStatus(result=MemoryResult.OFF, reason=ctx.skip)
            return
        fetched = await self._fetcher.fetch(
            ctx, seconds=_deadline(ctx), asks=may_add_notes_this_turn(ctx), shown=_find_shown_memories(ctx)
        )
        inject_context(ctx, self._build_input(ctx, fetched))
        if ctx.prefix_change is not None:
            PROXY_PREFIX_CHANGED.labels(ctx.prefix_change).inc()
        if ctx.block is not None and ctx.memory_status is not None:
            self._fetcher.drop_shown(ctx, fetched.kept, with_notes=fetched.standing is not None)
            ctx.memory_status = replace(ctx.memory_status, recollection=str(self._new_id()))

    def _build_input(self, ctx: RequestContext, fetched: ContextFetchResult) -> ContextInput:
        settings, scope = ctx.settings.proxy, world_scope(ctx)
        modelfile = None
        if Position(settings.injection_position) is not Position.TURN:
            modelfile = self._modelfile(ctx.chat.model, ctx.chat.kind.protocol, settings)
        shown = shown_lines(_all_blocks(ctx.session))
        late = {line.about: line for each in fetched.kept.found for line in _world_lines(each)}
        found, standing = fetched.found or Recollection(), fetched.standing
        changed = find_memory_updates(shown, standing) if standing is not None else {}
        notes = _drop_covered_notes((*fetched.memories.lines, *_refresh_memory_lines(fetched)), found)
        return ContextInput(
            lines=(
                *_world_lines(found, beside=notes),
                *_refresh_world_lines(late, self._restate(scope, late) if late else {}),
            ),
            notes=notes,
            unknown=tuple(graph_line(text) for text in found.zero_hit_lines),
            present={**self._restate(scope, shown), **changed} if shown else {},
            modelfile=modelfile,
            is_late=fetched.is_late,
            is_ready=fetched.is_ready,
            without=fetched.without,
            recall=fetched.memories.recall,
        )


def _deadline(ctx: RequestContext) -> float:
    """Seconds that a request waits for memory; longer on a session's first turn, which needs it most."""
    settings = ctx.settings.proxy
    milliseconds = settings.memory_deadline_ms
    if not ctx.session.links:
        milliseconds = max(milliseconds, settings.first_memory_deadline_ms)
    return milliseconds / 1000


def _find_shown_memories(ctx: RequestContext) -> ShownMemories:
    """Memories shown in any block of the session, and those visible in this history."""
    session = ctx.session
    anywhere = memory_note_ids(line for block in _all_blocks(session) for line in block.lines)
    if not anywhere:
        return ShownMemories()
    visible = [each.block for each in find_placed_blocks(ctx.chat, ctx.chain.links, session.blocks)]
    if session.system_block is not None:
        visible.append(session.system_block)
    return ShownMemories(visible=memory_note_ids(line for block in visible for line in block.lines), anywhere=anywhere)


def _all_blocks(session: ProxySession) -> Iterator[ContextBlock]:
    yield from session.blocks.values()
    if session.system_block is not None:
        yield session.system_block


def _refresh_world_lines(lines: Mapping[str, ContextLine], present: PresentLines) -> Iterator[ContextLine]:
    """Late world lines in their present state."""
    for about, line in lines.items():
        now = present.get(about)
        if now is None:
            yield line
        elif now.line is not None:
            yield now.line


def _refresh_memory_lines(fetched: ContextFetchResult) -> Iterator[ContextLine]:
    """Late memories in their present state; they keep waiting while that is unknown."""
    standing = fetched.standing or {}
    for memory in memory_note_ids(fetched.kept.notes):
        if (now := standing.get(str(memory))) is not None:
            yield now


def _drop_covered_notes(notes: tuple[ContextLine, ...], found: Recollection) -> tuple[ContextLine, ...]:
    """Drop memories that a world line contradicts or covers: the world knows what is disputed and decided. A
    memory that agrees and says more stays."""
    return tuple(line for line in notes if not (found.notes and _is_covered_by_world(line.text, found.notes)))


def _is_covered_by_world(text: str, notes: Sequence[ShownEdge]) -> bool:
    """Whether world notes contradict a memory or say everything that it says."""
    said, read = _read(text)
    claimed = [
        (cue, note)
        for cue in said
        for note in notes
        if cue.subject == note.concept and (cue.dimension == note.dimension or cue.parent == note.parent)
    ]
    if any(cue.parent != note.parent for cue, note in claimed):
        return True
    told = set(FUNCTION_WORDS)
    for cue, _ in claimed:
        told.update(_words(f"{cue.subject} {cue.pattern} {cue.parent} {cue.dimension}"))
    return bool(claimed) and all(told.issuperset(_words(token.text)) for token in read)


def _read(text: str) -> tuple[list[RelationCue], list[Token]]:
    plain = normalize_text(text)
    read = tokenize(plain)
    return list(extract_cues(plain, read)), read


def _words(said: str) -> list[str]:
    return said.replace("_", " ").split()


def _world_lines(found: Recollection, *, beside: Sequence[ContextLine] = ()) -> Iterator[ContextLine]:
    """World lines with edges, except those that memories state in a person's own words; doubts stay."""
    said = {(cue.subject, cue.parent) for memory in beside for cue in _read(memory.text)[0]}
    by_concept = groupby(found.notes, key=lambda note: note.concept)
    for text, (_, group) in zip(found.lines, by_concept, strict=True):
        notes = list(group)
        is_told = said.issuperset((note.concept, note.parent) for note in notes)
        if is_told and not text.endswith((PENDING, UNCONFIRMED)):
            continue
        yield graph_line(
            text,
            [build_edge_note(note.concept, note.dimension, parent=note.parent, version=note.version) for note in notes],
        )
