"""Erases memories permanently, with everything derived from them.

Memories go with all rows about them and with whatever derives from nothing else; what also has other sources
is quarantined until a model rewords it from the remaining ones (without a model it stays quarantined and
listed). Their words are cut from every other place. The event names ids only. Keyed marks of wording and
gist, never the words, keep erased content from coming back by replay, import, night or a model; the key is in
the ledger outside the database.
A person who says it anew lifts the ban. It all runs in one transaction; a dry run rolls that transaction
back.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from pydantic import Field

from festinger.errors import BadInput, FestingerError
from festinger.events.outbox import erase_event_names
from festinger.ids import MemoryId, Origin, SpaceId
from festinger.judge.records import redact_judgements as forget_judgements
from festinger.llm.model import AnswerSchema, Model, PromptMessage
from festinger.llm.prompts import load_prompt
from festinger.memory.changes import (
    ChangeDraft,
    MemoryChangeOp,
    MemoryRelation,
    find_linked_ids,
    load_existing_memories,
    lock_memories_in_order,
    lock_owners,
    write_change,
)
from festinger.memory.deps import IsForgotten, MemoryDeps
from festinger.memory.edit import edit, release
from festinger.memory.episodes.repair import find_turns_by_words
from festinger.memory.episodes.repair import rebuild_summary as retell_episode
from festinger.memory.erasure.replay import replay_memory
from festinger.memory.erasure.selector import ErasureSelector, ErasureTargets, find_erasure_targets
from festinger.memory.jobs import FORGET_SAID, REMAKE, VACUUM
from festinger.memory.learn.statement import Statement, fold_hash, gist_hash
from festinger.memory.model import Memory, Status
from festinger.records import record_json
from festinger.store.erasure import ErasureEntry, ErasureLedger, append_entries, erase_words
from festinger.store.pool import Store, Transaction
from festinger.store.queries import load_queries
from festinger.store.repositories.exchanges import find_message_ids_matching
from festinger.text.blocks import ErasurePattern, build_erasure_patterns
from festinger.text.words import split_into_sentences
from festinger.world.erase import erase_memory_conflicts
from festinger.world.write import lock_world

Q = load_queries("festinger.memory")

MEMORY = "memory"
"""Ledger entry: an erased memory, with the mark of its wording."""
GIST = "gist"
"""Ledger entry: the mark of the gist of something erased."""
LIFTED = "lifted"
"""Ledger entry: a mark that no longer counts."""


def build_ban_marks(ledger: ErasureLedger, fold: bytes, gist: bytes) -> list[str]:
    return [ledger.mark(f"fold {fold.hex()}"), ledger.mark(f"gist {gist.hex()}")]


def build_ledger_entries(
    ledger: ErasureLedger,
    space: SpaceId,
    memory: UUID,
    wordings: Iterable[str],
    *,
    at: datetime,
    subject: str | None = None,
) -> list[ErasureEntry]:
    """Build the ledger entries of one erased memory: its id and the marks of each wording, also as said of its
    subject."""
    made: dict[str, ErasureEntry] = {}
    for wording, told in itertools.product(dict.fromkeys(wordings), (None, subject)):
        fold, gist = build_ban_marks(ledger, fold_hash(wording, told), gist_hash(wording, told))
        for kind, mark in ((MEMORY, fold), (GIST, gist)):
            made[mark] = ErasureEntry(space=space, kind=kind, id=str(memory), mark=mark, at=at)
    return list(made.values())


async def write_bans(transaction: Transaction, ledger: ErasureLedger, made: Sequence[ErasureEntry]) -> None:
    """Write bans to the ledger on disk before the caller's transaction commits, then to the database."""
    await asyncio.to_thread(append_entries, ledger, made)
    await apply_ledger_entries(transaction, made)


async def apply_ledger_entries(transaction: Transaction, made: Iterable[ErasureEntry]) -> None:
    """Store ledger marks in the database, in the order in which they were written."""
    for entry in made:
        query = Q["lift_ban" if entry.kind == LIFTED else "put_ban"]
        await transaction.run(query, space=entry.space, mark=entry.mark, at=entry.at)


def build_forgotten_check(ledger: ErasureLedger) -> IsForgotten:
    """Build the port that learning uses to check for bans."""

    async def is_forgotten(transaction: Transaction, space: SpaceId, statements: Sequence[Statement]) -> list[bool]:
        marks = [frozenset(build_ban_marks(ledger, each.fold, each.gist)) for each in statements]
        rows = await transaction.all(Q["find_bans"], space=space, marks=sorted(frozenset().union(*marks)))
        banned = {row["mark"] for row in rows}
        anew = [own & banned for own, each in zip(marks, statements, strict=True) if can_lift_ban(each)]
        if lifted := frozenset().union(*anew):
            at = max(each.at for each in statements)
            made = [ErasureEntry(space=space, kind=LIFTED, id="", mark=mark, at=at) for mark in sorted(lifted)]
            await write_bans(transaction, ledger, made)
        return [
            not own.isdisjoint(banned) and not can_lift_ban(each) for own, each in zip(marks, statements, strict=True)
        ]

    return is_forgotten


def can_lift_ban(statement: Statement) -> bool:
    """Whether a person deliberately states it, which lifts a ban."""
    return statement.origin is Origin.PERSON and statement.request.asked and not statement.request.imported


async def has_bans_since(store: Store, space: SpaceId, since: datetime) -> bool:
    """Whether anything was erased since a given time."""
    return bool(await store.value(Q["has_bans_since"], space=space, since=since))


async def strip_forgotten_sentences(
    transaction: Transaction, ledger: ErasureLedger, space: SpaceId, texts: Sequence[str], *, since: datetime
) -> list[str]:
    """Remove from late texts the sentences that were erased after they were said."""
    marks = {
        sentence: frozenset(build_ban_marks(ledger, fold_hash(sentence), gist_hash(sentence)))
        for text in texts
        for sentence in split_into_sentences(text)
    }
    asked = sorted(frozenset().union(*marks.values()))
    rows = await transaction.all(Q["find_later_bans"], space=space, marks=asked, since=since) if asked else []
    banned = {row["mark"] for row in rows}
    patterns = list(build_erasure_patterns(sentence for sentence, own in marks.items() if not own.isdisjoint(banned)))
    return [_cut(text, patterns) for text in texts]


def _cut(text: str, patterns: Iterable[ErasurePattern]) -> str:
    for cut in patterns:
        text = cut.erase_from(text)
    return text


EVENT_IDS = 100
"""Ids per event."""


Outside = Callable[[Sequence[ErasurePattern]], Awaitable[int]]
"""Cuts words from files outside the database; returns how many places held some."""


async def null_file_eraser(_cuts: Sequence[ErasurePattern]) -> int:
    return 0


LetGo = Callable[[Transaction, SpaceId, Sequence[MemoryId]], Awaitable[object]]
"""Erases what another package knows of memories, within the erasing transaction."""

LetGoCited = Callable[[Transaction, SpaceId, Sequence[UUID]], Awaitable[int]]
"""Erases what another package cites by memory, turn or episode id; returns the row count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureDeps:
    """Dependencies of erasure: ledger, other packages, and files outside the database."""

    deps: MemoryDeps
    ledger: ErasureLedger
    rooms: tuple[LetGo, ...] = ()
    citing: Mapping[str, LetGoCited] = field(default_factory=dict)
    """By the table that holds the citations."""
    outside: Outside = null_file_eraser


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureReport:
    """What an erasure did, or would do."""

    erased: tuple[MemoryId, ...] = ()
    derived: tuple[MemoryId, ...] = ()
    """Erased but not named: they derive from nothing else or are duplicates."""
    remade: tuple[MemoryId, ...] = ()
    """They also have other sources: quarantined until they are reworded."""
    trimmed: tuple[MemoryId, ...] = ()
    """Others said them too: they lose only the selected sightings."""
    predecessors: tuple[MemoryId, ...] = ()
    """What the erased memories had replaced. It stays history; a person may restore it."""
    retold: tuple[UUID, ...] = ()
    """Episodes whose summary is rebuilt from their remaining turns."""
    rows: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False

    def as_json(self) -> dict[str, Any]:
        return record_json(self)


class _ErasureDryRun(Exception):
    """Rolls back a dry run."""


async def forget(
    eraser: ErasureDeps, space: SpaceId, selector: ErasureSelector, *, reason: str, by: str, dry_run: bool = False
) -> ErasureReport:
    """Erase the selected memories and everything derived from them; with `dry_run` only report.

    A query never erases directly: it shows a plan, whose ids are then named. Raises `BadInput`.
    """
    if selector.checked().query and not dry_run:
        raise BadInput("A query only shows what would be forgotten.", hint="Look at the plan, then name the ids in it.")
    plan = ErasureReport()
    try:
        async with eraser.deps.store.transaction(patient=True) as transaction:
            meant = await find_erasure_targets(transaction, space, selector)
            plan = await forget_in_transaction(eraser, transaction, space, meant, reason=reason, by=by, dry_run=dry_run)
            if dry_run:
                raise _ErasureDryRun
    except _ErasureDryRun:
        pass
    return plan


async def forget_in_transaction(
    eraser: ErasureDeps,
    transaction: Transaction,
    space: SpaceId,
    meant: ErasureTargets,
    *,
    reason: str,
    by: str,
    dry_run: bool = False,
) -> ErasureReport:
    """Erase in the caller's transaction."""
    deps, rows = eraser.deps, Counter[str]()
    await lock_world(transaction, space)
    await lock_owners(transaction, space, [None])
    erased, remade = await _find_cascade(transaction, space, meant)
    await lock_memories_in_order(transaction, space, [*erased, *remade, *meant.sightings])
    trimmed = [each for each in meant.trimmed if each not in erased]
    cut_off = [each for memory in trimmed for each in meant.sightings[memory]]
    worded = await list_wordings(transaction, space, sorted(erased), cut_off)
    if not dry_run:
        await _ban_wordings(eraser, transaction, space, worded)
    rows["memory_sighting"] += await transaction.run(Q["erase_sightings"], space=space, ids=cut_off)
    await _release_held(deps, transaction, space, sorted(erased), by=by)
    predecessors = await erase_memory_rows(transaction, space, sorted(erased), rows, at=deps.clock())
    for memory in trimmed:
        await replay_memory(deps, transaction, space, memory)
    wordings = list(build_erasure_patterns(await _find_unshared_wordings(transaction, space, worded)))
    turns = await find_turns_by_words(transaction, space, wordings)
    messages = await find_message_ids_matching(transaction, space, wordings)
    rows += await erase_words(transaction, space, wordings)
    episodes = sorted(set(turns.values()))
    retold = [each for each in episodes if await retell_episode(deps, transaction, space, each)]
    if not dry_run and (files := await eraser.outside(wordings)):
        rows["spool"] += files
    await _quarantine(deps, transaction, space, sorted(remade), by=by)
    said_in = {str(turn) for each in worded for turn in each["turns"]} | {str(each) for each in messages}
    for let_go in eraser.rooms if erased else ():
        await let_go(transaction, space, sorted(erased))
    cited = {*erased, *map(UUID, said_in), *turns, *meant.cited, *await _list_whole_episodes(transaction, space, meant)}
    for table, let_go_cited in eraser.citing.items() if cited else ():
        rows[table] += await let_go_cited(transaction, space, sorted(cited))
    await _emit_forgotten(deps, transaction, space, sorted(erased), sorted(said_in))
    return ErasureReport(
        erased=tuple(sorted(erased)),
        derived=tuple(sorted(erased - meant.whole)),
        remade=tuple(sorted(remade)),
        trimmed=tuple(trimmed),
        predecessors=tuple(predecessors),
        retold=tuple(retold),
        rows=dict(sorted(rows.items())),
        dry_run=dry_run,
    )


async def _find_cascade(
    transaction: Transaction, space: SpaceId, meant: ErasureTargets
) -> tuple[frozenset[MemoryId], frozenset[MemoryId]]:
    """Return everything that goes with the targets, and what must be reworded."""
    gone = meant.whole
    while True:
        rows = await transaction.all(Q["standing_on"], space=space, memories=sorted(gone))
        with_it = {row["id"] for row in rows if row["others"] == 0}
        if meant.with_twins:
            duplicates = await transaction.all(Q["twins_of"], space=space, memories=sorted(gone))
            with_it |= {row["id"] for row in duplicates}
        if with_it <= gone:
            return gone, frozenset(row["id"] for row in rows) - gone
        gone |= with_it


async def list_wordings(
    transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], sightings: Sequence[UUID] = ()
) -> list[dict[str, Any]]:
    """List the wordings and messages of memories, and of the given sightings of others."""
    return list(await transaction.all(Q["wordings_of"], space=space, memories=memories, sightings=list(sightings)))


async def _list_whole_episodes(transaction: Transaction, space: SpaceId, meant: ErasureTargets) -> set[UUID]:
    """Return the fully selected episodes and their turns."""
    if not meant.episodes:
        return set()
    rows = await transaction.all(Q["turns_of_episodes"], space=space, episodes=sorted(meant.episodes))
    return {*meant.episodes, *(row["turn_id"] for row in rows)}


async def _find_unshared_wordings(
    transaction: Transaction, space: SpaceId, rows: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return the wordings that nobody else used; what others said too stays in their words."""
    gone: list[str] = []
    for each in rows:
        left = [] if each["whole"] else await transaction.all(Q["voices_of"], space=space, memory=each["id"])
        others = {fold_hash(row["wording"]) for row in left}
        gone += [wording for wording in each["wordings"] if fold_hash(wording) not in others]
    return gone


async def _ban_wordings(
    eraser: ErasureDeps, transaction: Transaction, space: SpaceId, rows: Iterable[Mapping[str, Any]]
) -> None:
    now = eraser.deps.clock()
    made = [
        entry
        for each in rows
        if each["whole"]
        for entry in build_ledger_entries(
            eraser.ledger, space, each["id"], each["wordings"], at=now, subject=each["subject"]
        )
    ]
    await write_bans(transaction, eraser.ledger, made)


async def erase_memory_rows(
    transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], rows: Counter[str], *, at: Any
) -> list[MemoryId]:
    """Erase memories with every row that is only about them; what they replaced stays as history."""
    if not memories:
        return []
    ids: dict[str, Any] = {"space": space, "memories": list(memories)}
    await forget_judgements(transaction, space, memories)
    rows["event"] += await erase_event_names(transaction, space, [f"memory:{each}" for each in memories])
    rows["resolution_queue"] += await erase_memory_conflicts(transaction, space, memories)
    predecessors = [row["id"] for row in await transaction.all(Q["orphan_predecessors"], **ids, at=at)]
    rows["memory_link"] += await transaction.run(Q["erase_links"], **ids)
    rows["memory_change"] += await transaction.run(Q["erase_changes"], **ids)
    rows["memory_change"] += await transaction.run(Q["strip_changes"], **ids)
    rows["learn_key"] += await transaction.run(Q["erase_keys"], **ids)
    rows["refusal"] += await transaction.run(Q["erase_refusals"], **ids)
    counts = await transaction.one(Q["count_companions"], **ids)
    rows.update(counts)
    rows["memory"] += await transaction.run(Q["erase_memories"], **ids)
    return sorted(predecessors)


async def _release_held(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], *, by: str
) -> None:
    """Activate what was held only against forgotten memories: their conflicts go, so nobody could decide it."""
    for row in await transaction.all(Q["stand_again"], space=space, memories=memories, at=deps.clock()):
        id_, why = row["id"], "what it contradicted was forgotten"
        before, after = {id_: {"status": "held"}}, {id_: {"status": "active"}}
        note = ChangeDraft(op=MemoryChangeOp.RELEASE, before=before, after=after, by=by, reason=why)
        await write_change(deps, transaction, space, note)
        told = {"memory": str(id_), "by": by}
        await deps.outbox.emit(transaction, "memory_released", space=space, subject=f"memory:{id_}", payload=told)


async def _quarantine(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], *, by: str
) -> None:
    """Quarantine memories that lost a source until they are reworded."""
    for memory in memories:
        row = await transaction.maybe(Q["quarantine_remade"], space=space, id=memory, at=deps.clock())
        await transaction.run(Q["erase_vectors"], space=space, memories=[memory])
        if row is not None:
            note = ChangeDraft(
                op=MemoryChangeOp.QUARANTINE,
                before={memory: {"status": row["was"]}},
                after={memory: {"status": "quarantined"}},
                by=by,
                reason="a source of it was forgotten",
            )
            await write_change(deps, transaction, space, note)
        await deps.ask(transaction, REMAKE, space=space, memory=str(memory))


async def _emit_forgotten(
    deps: MemoryDeps, transaction: Transaction, space: SpaceId, erased: Sequence[MemoryId], messages: Sequence[str]
) -> None:
    """Emit the erased ids and have the world erase what it extracted from those messages."""
    for start in range(0, len(erased), EVENT_IDS):
        part = [str(each) for each in erased[start : start + EVENT_IDS]]
        await deps.outbox.emit(transaction, "memory_forgotten", space=space, subject="memories", payload={"ids": part})
    for message in messages:
        await deps.ask(transaction, FORGET_SAID, space=space, message=message)
    if erased:
        await deps.ask(transaction, VACUUM, space=space)


async def reapply_ledger(transaction: Transaction, entries: Sequence[ErasureEntry]) -> int:
    """Erase what a ledger names from a restored database; return how many memories."""
    erased = 0
    for space in sorted({entry.space for entry in entries}):
        mine = [entry for entry in entries if entry.space == space]
        ids = sorted({MemoryId(UUID(entry.id)) for entry in mine if entry.kind == MEMORY})
        wordings = await list_wordings(transaction, SpaceId(space), ids)
        found, rows = [each["id"] for each in wordings], Counter[str]()
        at = max(entry.at for entry in mine)
        await erase_memory_rows(transaction, SpaceId(space), found, rows, at=at)
        await erase_words(
            transaction, SpaceId(space), build_erasure_patterns(w for each in wordings for w in each["wordings"])
        )
        if await transaction.maybe(Q["space_is_there"], space=space):
            await apply_ledger_entries(transaction, mine)
        erased += len(found)
    return erased


log = structlog.get_logger(room="memory")

BY = "job:remake"

ModelFor = Callable[[SpaceId], Awaitable[Model | None]]


class RewordingAnswer(AnswerSchema):
    """What a model answers."""

    statement: str = Field(max_length=8_000)


async def reword_from_sources(deps: MemoryDeps, space: SpaceId, memory: UUID, *, model_for: ModelFor) -> bool:
    """Reword a memory from its remaining sources; return whether it is active again."""
    async with deps.store.transaction() as transaction:
        found = (await load_existing_memories(transaction, space, [memory])).get(MemoryId(memory))
        if found is None or found.status is not Status.QUARANTINED:
            return False
        sources = await find_linked_ids(transaction, space, memory, MemoryRelation.DERIVES_FROM)
        left = await load_existing_memories(transaction, space, sources)
    standing = [each for each in left.values() if each.status is Status.ACTIVE]
    model = await model_for(space)
    if model is None or not standing:
        return False
    text = await _ask_for_rewording(model, standing)
    if not text:
        return False
    await edit(deps, space, found.id, text, by=BY)
    await release(deps, space, found.id, by=BY)
    return True


async def _ask_for_rewording(model: Model, sources: Sequence[Memory]) -> str:
    try:
        answer = await model.answer([_question(sources)], RewordingAnswer)
    except FestingerError as error:
        log.warning("a memory could not be made again", why=error.message)
        return ""
    return answer.value.statement.strip()


def _question(sources: Sequence[Memory]) -> PromptMessage:
    listed = "\n".join(f"- {each.content}" for each in sources)
    return load_prompt("festinger.memory", "remake").message(statements=listed)
