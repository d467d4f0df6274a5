"""Who is asked for what goes into a request?

World and memory, for what is known, as long as the deadline allows, and for what changed since it was shown; and
what is known of the model, where notes stand in its system text. Putting it together is `drafting`'s matter.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from festinger.observability.metrics import PROXY_PREFIX_CHANGED
from festinger.proxy.context.block import Block, Line, PresentLines, graph_line, shown_lines, standing_in
from festinger.proxy.context.edit import FindModelfile, Position, none_known
from festinger.proxy.context.fetch import InTime, Remembered, Shown
from festinger.proxy.context.memories import (
    Restate,
    edge_note,
    memory_notes,
    nothing_changed,
    restated_memories,
)
from festinger.proxy.context.place import Brought, Noted, may_say_more, noted
from festinger.proxy.headers import MemoryResult, MemoryTold
from festinger.proxy.parsed_request import NewId, Understood
from festinger.proxy.sessions.session import Session
from festinger.settings.tree import ProxySettings
from festinger.text.cues import Cue, cues
from festinger.text.normalize import normalised
from festinger.text.tokens import Token, tokens
from festinger.text.words import FUNCTION_WORDS
from festinger.world.recollection import PENDING, UNCONFIRMED, Note, Recollection


class Noting:
    """Asks for what a request needs and puts it in."""

    def __init__(
        self,
        in_time: InTime,
        *,
        new_id: NewId,
        restate: Restate = nothing_changed,
        modelfile: FindModelfile = none_known,
    ) -> None:
        self._in_time = in_time
        self._new_id = new_id
        self._restate = restate
        self._modelfile = modelfile

    async def note(self, understood: Understood, *, settings: ProxySettings) -> Noted:
        """The request with its notes; as it came where none may be put in."""
        if understood.never is not None:
            told = MemoryTold(result=MemoryResult.OFF, reason=understood.never)
            return Noted(body=understood.request.body, told=told, session=understood.session)
        remembered = await self._in_time.remembered(
            understood,
            seconds=_deadline(understood, settings),
            asks=may_say_more(understood, settings),
            shown=_shown(understood),
        )
        brought = self._brought(understood, remembered, settings=settings)
        found = noted(understood, brought, settings=settings)
        if found.moved is not None:
            PROXY_PREFIX_CHANGED.labels(found.moved).inc()
        if found.fresh is None:
            return found
        self._in_time.told(understood, remembered.kept, with_notes=remembered.standing is not None)
        return replace(found, told=replace(found.told, recollection=str(self._new_id())))

    def _brought(self, understood: Understood, remembered: Remembered, *, settings: ProxySettings) -> Brought:
        request, place = understood.request, understood.place
        modelfile = None
        if Position(settings.injection_position) is not Position.TURN:
            modelfile = self._modelfile(request.model, request.kind.protocol, settings)
        shown = shown_lines(_all_blocks(understood.session))
        late = {line.about: line for each in remembered.kept.found for line in _lines(each)}
        found, standing = remembered.found or Recollection(), remembered.standing
        changed = restated_memories(shown, standing) if standing is not None else {}
        notes = _untold((*remembered.reminded.lines, *_still_held(remembered)), found)
        return Brought(
            lines=(
                *_lines(found, beside=notes),
                *_still_true(late, self._restate(place, late) if late else {}),
            ),
            notes=notes,
            unknown=tuple(graph_line(text) for text in found.zero_hit_lines),
            present={**self._restate(place, shown), **changed} if shown else {},
            modelfile=modelfile,
            is_late=remembered.is_late,
            is_ready=remembered.is_ready,
            without=remembered.without,
            recall=remembered.reminded.recall,
        )


def _deadline(understood: Understood, settings: ProxySettings) -> float:
    """Seconds that a request waits for memory; longer on the first turn of a session, which depends on it most."""
    milliseconds = settings.memory_deadline_ms
    if not understood.session.links:
        milliseconds = max(milliseconds, settings.first_memory_deadline_ms)
    return milliseconds / 1000


def _shown(understood: Understood) -> Shown:
    """The memories that the blocks of a session show, and those that this history does."""
    session, request, links = understood.session, understood.request, understood.chain.links
    anywhere = memory_notes(line for block in _all_blocks(session) for line in block.lines)
    if not anywhere:
        return Shown()
    visible = [each.block for each in standing_in(request, links, session.blocks)]
    if session.system_block is not None:
        visible.append(session.system_block)
    return Shown(visible=memory_notes(line for block in visible for line in block.lines), anywhere=anywhere)


def _all_blocks(session: Session) -> Iterator[Block]:
    yield from session.blocks.values()
    if session.system_block is not None:
        yield session.system_block


def _still_true(lines: Mapping[str, Line], present: PresentLines) -> Iterator[Line]:
    """Lines that waited, as they stand now."""
    for about, line in lines.items():
        now = present.get(about)
        if now is None:
            yield line
        elif now.line is not None:
            yield now.line


def _still_held(remembered: Remembered) -> Iterator[Line]:
    """Memories that waited, as they stand now; while nobody says how they stand, they go on waiting."""
    standing = remembered.standing or {}
    for memory in memory_notes(remembered.kept.notes):
        if (now := standing.get(str(memory))) is not None:
            yield now


def _untold(notes: tuple[Line, ...], found: Recollection) -> tuple[Line, ...]:
    """Memories without those that say of a name what a line of the world says: it knows what is disputed and decided.
    One that agrees with the line and says more stays."""
    return tuple(line for line in notes if not (found.notes and _is_told(line.text, found.notes)))


def _is_told(text: str, notes: Sequence[Note]) -> bool:
    """Whether notes of the world contradict a memory, or say all that it says."""
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


def _read(text: str) -> tuple[list[Cue], list[Token]]:
    plain = normalised(text)
    read = tokens(plain)
    return list(cues(plain, read)), read


def _words(said: str) -> list[str]:
    return said.replace("_", " ").split()


def _lines(found: Recollection, *, beside: Sequence[Line] = ()) -> Iterator[Line]:
    """Each line of the world with the edges that it shows, but none that memories beside it tell in a person's own
    words; a doubt is told by the world alone."""
    said = {(cue.subject, cue.parent) for memory in beside for cue in _read(memory.text)[0]}
    by_concept = groupby(found.notes, key=lambda note: note.concept)
    for text, (_, group) in zip(found.lines, by_concept, strict=True):
        notes = list(group)
        is_told = said.issuperset((note.concept, note.parent) for note in notes)
        if is_told and not text.endswith((PENDING, UNCONFIRMED)):
            continue
        yield graph_line(
            text,
            [
                edge_note(note.concept, note.dimension, parent=note.parent, version=note.version)
                for note in notes
            ],
        )
