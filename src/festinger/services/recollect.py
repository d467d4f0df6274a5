"""Recollects what belongs beside a message: the block of notes that goes into a prompt.

Proxy, web, MCP and hooks share this. Only memories are asked for, never raw turns: a note must be something
that people can correct and forget. An encoder reads the candidates and the standing notes beside the message
and keeps those that apply; what was said in one breath with the best one comes along. Repeated observations
follow, if enabled, and what the world knows of the names in the message comes first. Empty spaces are not
queried.
"""

import asyncio
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from uuid import UUID

import structlog

from festinger.errors import FestingerError
from festinger.ids import Origin, Scope, read_id
from festinger.memory.model import Kind
from festinger.proposals.health import format_proposal_for_agent, load_proposals_for_agent
from festinger.proposals.model import Proposal
from festinger.records import record_json
from festinger.retrieval.log import KeepRecord
from festinger.retrieval.notes import (
    COMPANION_BEHIND,
    COMPANIONS,
    RECOUNTED,
    CurrentMemory,
    NoteScorer,
    asks_about_self,
    limit_notes_by_length,
    load_likely_updates,
    load_same_turn_memories,
    load_standing_notes,
    select_note_indexes,
)
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall
from festinger.retrieval.result import RecallItem
from festinger.runtime.app import App
from festinger.services.block import (
    NOTE_CHARS,
    ContextLine,
    LineReason,
    NoteRef,
    build_block,
    build_world_line,
    fit_block,
    note_line,
)
from festinger.text.cues import RelationCue, extract_cues
from festinger.text.normalize import normalize_text
from festinger.text.tokens import Token, tokenize
from festinger.text.words import FUNCTION_WORDS, split_into_sentences
from festinger.world.recall import SourceText
from festinger.world.recollection import PENDING, UNCONFIRMED, Recollection, ShownEdge

log = structlog.get_logger(room="services")

EDGE = "edge"
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
DATED_FROM = timedelta(days=1)
"""Age from which a note says its day: a model can tell which of two is later, and what `next Friday` meant."""

_DAY = re.compile(r" \(noted \d{4}-\d\d-\d\d\)$")
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
    evidence: float = 0.0
    """Of the best memory."""


NOTHING = MemoryFetchResult()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecollectResult:
    """The block for a message; empty if nothing applies."""

    text: str = ""
    ids: tuple[str, ...] = ()
    """Notes shown: memories by their ids, facts of the world as `concept [dimension] parent`."""
    recall: str = ""
    """Recall id under which outcomes can be reported; empty if memory was not asked."""
    evidence: float = 0.0
    """Of the best memory, from 0 to 1; for callers in this process."""

    def as_json(self) -> dict[str, Any]:
        return record_json(self, hide=("evidence",))


async def recollect(
    app: App,
    scope: Scope,
    text: str,
    *,
    exclude: Collection[str | UUID] = (),
    tokens: int | None = None,
    door: str = "library",
) -> RecollectResult:
    """Build the block for a person's message, without notes that were shown already. Raises `StoreDown`.

    What it shows counts as surfaced, so that outcomes can be reported under its recall.
    """
    texts, shown = [SourceText(text=text, origin=Origin.PERSON)], {str(each) for each in exclude}
    recalled, cue = NOTHING, build_cue(texts)
    if cue:
        ids = {read_id(each) for each in shown if " " not in each}
        recalled = await recall_lines(app, scope, cue, exclude=ids, door=door)
    found = await _recollect_world(app, scope, texts)
    notes = drop_covered_notes(recalled.lines, found)
    lines = (*unstated_world_lines(found, memories=notes), *notes)
    settings = app.settings.for_space(scope.space).proxy
    block = build_block(
        settings.label,
        graph=[line for line in lines if not _is_shown(line, shown)],
        unknown=map(build_world_line, found.zero_hit_lines),
    )
    block = block and fit_block(block, settings.recollection_max_tokens if tokens is None else tokens)
    if block is None:
        return RecollectResult(recall=recalled.recall)
    memories = [UUID(note.id) for note in block.notes if note.kind == MEMORY]
    if memories:
        app.afterwards.write(_record_shown(app, scope, memories, recall_id=UUID(recalled.recall)))
    return RecollectResult(
        text=block.text, ids=tuple(note.id for note in block.notes), recall=recalled.recall, evidence=recalled.evidence
    )


async def _recollect_world(app: App, scope: Scope, texts: Sequence[SourceText]) -> Recollection:
    if app.world.worlds.is_too_large(scope.space):
        return await app.world.recollector.recollect_from_database(scope, texts)
    await app.world.need(scope.space)
    return app.world.recollector.recollect(scope, texts) or Recollection()


def _is_shown(line: ContextLine, shown: Collection[str]) -> bool:
    return bool(line.notes) and all(note.id in shown for note in line.notes)


async def _record_shown(app: App, scope: Scope, memories: Sequence[UUID], *, recall_id: UUID) -> None:
    """Record that notes were shown. A failure is only logged, since the answer has been given."""
    try:
        async with app.store.transaction() as transaction:
            await app.outcomes.on_surfaced(transaction, scope, memories, recall=recall_id, reason="recollection")
    except FestingerError as error:
        log.warning("shown notes not recorded", why=error.message)


async def recall_lines(
    app: App,
    scope: Scope,
    cue: str,
    *,
    exclude: Collection[UUID],
    by_words: bool = False,
    door: str,
    keep: KeepRecord | None = None,
) -> MemoryFetchResult:
    """Recall memories and observations for a cue, except excluded ones; `by_words` without vectors."""
    recalled = await _recall_memories(app, scope, cue, exclude=exclude, by_words=by_words, door=door, keep=keep)
    observed = await load_proposals_for_agent(app.inbox.deps, scope.space, exclude=exclude)
    return replace(recalled, lines=(*recalled.lines, *map(observation_line, observed)))


async def _recall_memories(
    app: App, scope: Scope, cue: str, *, exclude: Collection[UUID], by_words: bool, door: str, keep: KeepRecord | None
) -> MemoryFetchResult:
    if not await app.recall.holdings.holds(app.store, scope.space):
        return NOTHING
    reader = None if by_words else app.note_reader
    query = parse_recall_query(
        cue,
        now=app.tools.clock(),
        limit=MOST_NOTES if reader is None else RECOUNTED if asks_about_self(cue) else CANDIDATES,
        kinds=KINDS,
        exclude=sorted(exclude),
        strict=True,
        hurried=True,
        by_words=by_words,
        ungated=reader is not None,
    )
    found, standing = await asyncio.gather(
        recall(app.recall.deps, scope, query, door=door, shows=False, keep=keep),
        _read_standing(app, scope, reader, cue, exclude=exclude),
    )
    items: Sequence[RecallItem | CurrentMemory] = found.items
    if reader is not None:
        items = await _select_applicable(app, scope, reader, cue, items, standing=standing, exclude=exclude)
    evidence = max((item.evidence for item in items if isinstance(item, RecallItem)), default=0.0)
    notes = await _replace_with_updates(app, scope, items, exclude=exclude)
    lines = tuple(memory_line(note, now=app.tools.clock()) for note in notes)
    return MemoryFetchResult(lines=lines, recall=str(found.id), evidence=evidence)


async def _replace_with_updates(
    app: App, scope: Scope, notes: Sequence[RecallItem | CurrentMemory], *, exclude: Collection[UUID]
) -> list[RecallItem | CurrentMemory]:
    """Put what was said later in the place of what it probably replaces: until that is decided, go by the later."""
    later = await load_likely_updates(app.recall.deps, scope, {note.id for note in notes}) if notes else {}
    shown = {each.id: each for each in (later.get(note.id, note) for note in notes)}
    return [note for note in shown.values() if note.id not in exclude]


async def _read_standing(
    app: App, scope: Scope, reader: NoteScorer | None, message: str, *, exclude: Collection[UUID]
) -> list[CurrentMemory]:
    """Load the standing notes and read them beside the message, while the search for others waits for the store."""
    if reader is None:
        return []
    standing = [each for each in await load_standing_notes(app.recall.deps, scope) if each.id not in exclude]
    await reader.find_always_applicable(standing)
    await reader.screen(message, limit_notes_by_length(standing))
    return standing


async def _select_applicable(
    app: App,
    scope: Scope,
    reader: NoteScorer,
    message: str,
    found: Sequence[RecallItem | CurrentMemory],
    *,
    standing: Sequence[CurrentMemory],
    exclude: Collection[UUID],
) -> list[RecallItem | CurrentMemory]:
    """What holds for every message; then the notes that apply to this one, surest first, with their companions."""
    general = await reader.find_always_applicable(standing)
    taken = {note.id for note in general}
    near = [note for note in found if note.id not in taken]
    taken.update(note.id for note in near)
    notes = limit_notes_by_length([*near, *(each for each in standing if each.id not in taken)])
    scores = await reader.score(message, notes)
    chosen = [notes[at] for at in select_note_indexes(scores, message, most=MOST_NOTES)]
    if not chosen:
        return [*general]
    known = dict(zip((note.id for note in notes), scores, strict=True))
    mates = [
        each
        for each in await load_same_turn_memories(app.recall.deps, scope, chosen[0].id)
        if each.id not in exclude and each not in general
    ]
    unread = [each for each in mates if each.id not in known]
    known.update(zip((each.id for each in unread), await reader.score(message, unread), strict=True))
    least = known[chosen[0].id] - COMPANION_BEHIND
    shown = {note.id for note in chosen}
    companions = [each for each in mates if each.id not in shown and known[each.id] >= least][:COMPANIONS]
    return [*general, chosen[0], *companions, *chosen[1:]]


def build_cue(texts: Sequence[SourceText]) -> str:
    """Build the memory query: a person's last message among texts, newest first. May be empty.

    More texts would not make a better query: what relates a little to all of them answers none. From a long
    message take its questions, or else its end, where people put what they want.
    """
    newest = next((said for said in texts if said.origin is Origin.PERSON), None)
    if newest is None:
        return ""
    turn = source_turn_id(newest)
    parts = [said.text for said in texts if said.origin is Origin.PERSON and source_turn_id(said) == turn]
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


def has_memory_note(line: ContextLine) -> bool:
    """Whether a line is about memory, not about the world."""
    return any(note.kind in NOTES for note in line.notes)


def source_turn_id(said: SourceText) -> str:
    """Texts of one turn differ only in the number at the end of their ids."""
    return (said.message or "").rpartition(":")[0]


def memory_line(memory: RecallItem | CurrentMemory, *, now: datetime) -> ContextLine:
    """A memory as a note, with its day if it is older than one; in its short form if it is too long and has one."""
    text = memory.compressed if memory.compressed and len(memory.text) > NOTE_CHARS else memory.text
    note = NoteRef(kind=MEMORY, id=str(memory.id), version=memory.version)
    ending = f" (noted {memory.noted_at:%Y-%m-%d})" if now - memory.noted_at >= DATED_FROM else ""
    return note_line(text, note, disputed=memory.disputed, ending=ending, why=LineReason.RECALLED)


def strip_day(line: str) -> str:
    """A memory's line without the day that a note gets with age."""
    return _DAY.sub("", line)


def observation_line(proposal: Proposal) -> ContextLine:
    note = NoteRef(kind=OBSERVATION, id=str(proposal.id), version=proposal.version)
    return note_line(format_proposal_for_agent(proposal), note, why=LineReason.OBSERVED)


def build_edge_note(concept: str, dimension: str, *, parent: str, version: int) -> NoteRef:
    return NoteRef(kind=EDGE, id=f"{concept} [{dimension}] {parent}", version=version)


def drop_covered_notes(lines: Iterable[ContextLine], found: Recollection) -> tuple[ContextLine, ...]:
    """Drop memories that world notes cover: the world knows what is disputed and decided.

    A memory that agrees with it and says more stays.
    """
    return tuple(
        line for line in lines if not (found.notes and _is_covered_by_world(strip_day(line.text), found.notes))
    )


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
    covered = set(FUNCTION_WORDS)
    for cue, _ in claimed:
        covered.update(_words(f"{cue.subject} {cue.pattern} {cue.parent} {cue.dimension}"))
    return bool(claimed) and all(covered.issuperset(_words(token.text)) for token in read)


def _read(text: str) -> tuple[list[RelationCue], list[Token]]:
    plain = normalize_text(text)
    read = tokenize(plain)
    return list(extract_cues(plain, read)), read


def _words(said: str) -> list[str]:
    return said.replace("_", " ").split()


def unstated_world_lines(found: Recollection, *, memories: Sequence[ContextLine] = ()) -> Iterator[ContextLine]:
    """World lines with edges, except those that memories state in a person's own words; doubts stay."""
    said = {(cue.subject, cue.parent) for memory in memories for cue in _read(strip_day(memory.text))[0]}
    by_concept = groupby(found.notes, key=lambda note: note.concept)
    for text, (_, group) in zip(found.lines, by_concept, strict=True):
        notes = list(group)
        is_covered = said.issuperset((note.concept, note.parent) for note in notes)
        if is_covered and not text.endswith((PENDING, UNCONFIRMED)):
            continue
        yield build_world_line(
            text,
            [build_edge_note(note.concept, note.dimension, parent=note.parent, version=note.version) for note in notes],
        )
