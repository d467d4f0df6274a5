"""How is something forgotten for good?

Memories are erased with everything that tells of them, and with what derives from nothing else; what also derives
from others is locked away until its text has been made again from the rest. Their words are cut out of every other
place that holds them. That something was forgotten is told by ids; a keyed mark keeps it from coming back by itself.
All of it happens in one transaction; the plan is the same transaction, taken back.

Have people asked to forget these words?

What was forgotten does not come back by itself: not from a replay, an import, sleep or a model. It is known again by
keyed marks of its words and of its gist, never by the words; the key stands in the ledger outside of the database.
A person who says it anew lifts the ban.

How is a memory made again that lost one of its sources?

Its text was worded from several memories, and one of them is forgotten or was taken back. A model words it anew from
those that are left, seeing nothing else; it is then held against all others and stands again. Without a model, or if
the answer is none, it stays locked away and is listed.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from pydantic import Field

from festinger.errors import BadInput, FestingerError
from festinger.events.erase import forget_names
from festinger.ids import MemoryId, Origin, SpaceId
from festinger.judge.records import forget as forget_judgements
from festinger.llm.model import Message, Model, Shape
from festinger.llm.prompts import prompt_of
from festinger.memory.changes import Link, Note, Op, find_all, hold_known, linked, write_change
from festinger.memory.deps import Desk, IsForgotten
from festinger.memory.edit import edit, release
from festinger.memory.episodes.repair import retell as retell_episode
from festinger.memory.episodes.repair import turns_with
from festinger.memory.erasure.replay import retell
from festinger.memory.erasure.selector import Reach, Selector, reach
from festinger.memory.learn.statement import Said, fold_mark, gist_mark
from festinger.memory.learn.write import hold_owners
from festinger.memory.model import Memory, Status
from festinger.store.erasure import Forgotten, Ledger, append, sweep
from festinger.store.pool import Store, Transaction
from festinger.store.queries import queries_of
from festinger.store.repositories.exchanges import messages_with
from festinger.text.blocks import Cut, cuts
from festinger.text.words import sentences_in
from festinger.world.erase import erase_memory_conflicts
from festinger.world.write import hold

Q = queries_of("festinger.memory")

MEMORY = "memory"
"""An erased memory, with the mark of its words."""
GIST = "gist"
"""The mark of the gist of something erased."""
LIFTED = "lifted"
"""A mark that counts no more."""


def marks_of(ledger: Ledger, fold: bytes, gist: bytes) -> list[str]:
    return [ledger.mark(f"fold {fold.hex()}"), ledger.mark(f"gist {gist.hex()}")]


def entries(
    ledger: Ledger, space: SpaceId, memory: UUID, wordings: Iterable[str], *, at: datetime
) -> list[Forgotten]:
    """What the ledger keeps of one erased memory: its id, and how each of its wordings is known again."""
    made: dict[str, Forgotten] = {}
    for wording in dict.fromkeys(wordings):
        fold, gist = marks_of(ledger, fold_mark(wording), gist_mark(wording))
        for kind, mark in ((MEMORY, fold), (GIST, gist)):
            made[mark] = Forgotten(space=space, kind=kind, id=str(memory), mark=mark, at=at)
    return list(made.values())


async def write(transaction: Transaction, ledger: Ledger, made: Sequence[Forgotten]) -> None:
    """Ban what the entries mark, on disk before the caller's transaction is."""
    await asyncio.to_thread(append, ledger, made)
    await ban(transaction, made)


async def ban(transaction: Transaction, made: Iterable[Forgotten]) -> None:
    """Put the marks of a ledger into the database, in the order in which they were written."""
    for entry in made:
        query = Q["lift_ban" if entry.kind == LIFTED else "put_ban"]
        await transaction.run(query, space=entry.space, mark=entry.mark, at=entry.at)


def is_forgotten_by(ledger: Ledger) -> IsForgotten:
    """The port by which learning asks."""

    async def is_forgotten(transaction: Transaction, space: SpaceId, said: Sequence[Said]) -> list[bool]:
        marks = [frozenset(marks_of(ledger, each.fold, each.gist)) for each in said]
        rows = await transaction.all(Q["find_bans"], space=space, marks=sorted(frozenset().union(*marks)))
        banned = {row["mark"] for row in rows}
        anew = [own & banned for own, each in zip(marks, said, strict=True) if is_said_anew(each)]
        if lifted := frozenset().union(*anew):
            at = max(each.at for each in said)
            made = [Forgotten(space=space, kind=LIFTED, id="", mark=mark, at=at) for mark in sorted(lifted)]
            await write(transaction, ledger, made)
        return [
            not own.isdisjoint(banned) and not is_said_anew(each)
            for own, each in zip(marks, said, strict=True)
        ]

    return is_forgotten


def is_said_anew(said: Said) -> bool:
    """Whether a person says something and wants it learnt, which lifts a ban."""
    return said.origin is Origin.PERSON and said.given.asked


async def has_bans_since(store: Store, space: SpaceId, since: datetime) -> bool:
    """Whether anything was forgotten after a moment."""
    return bool(await store.value(Q["has_bans_since"], space=space, since=since))


async def without_forgotten(
    transaction: Transaction, ledger: Ledger, space: SpaceId, texts: Sequence[str], *, since: datetime
) -> list[str]:
    """Texts that come late, without the sentences that were forgotten after they were said."""
    marks = {
        sentence: frozenset(marks_of(ledger, fold_mark(sentence), gist_mark(sentence)))
        for text in texts
        for sentence in sentences_in(text)
    }
    asked = sorted(frozenset().union(*marks.values()))
    rows = await transaction.all(Q["find_later_bans"], space=space, marks=asked, since=since) if asked else []
    banned = {row["mark"] for row in rows}
    patterns = list(cuts(sentence for sentence, own in marks.items() if not own.isdisjoint(banned)))
    return [_cut(text, patterns) for text in texts]


def _cut(text: str, patterns: Iterable[Cut]) -> str:
    for cut in patterns:
        text = cut.out_of(text)
    return text


REMAKE = "remake_memory"
"""The job that makes the text of a memory again from the sources that are left."""
FORGET_SAID = "forget_said"
"""The job that erases what the world read in a message."""
VACUUM = "vacuum_forgotten"
EVENT_IDS = 100
"""Ids in one event."""


Outside = Callable[[Sequence[Cut]], Awaitable[int]]
"""Cuts words out of what lies outside of the database; how many places held some."""


async def nothing_outside(_cuts: Sequence[Cut]) -> int:
    return 0


LetGo = Callable[[Transaction, SpaceId, Sequence[MemoryId]], Awaitable[object]]
"""Erases what another room knows of memories, as part of the transaction that forgets them."""

LetGoCited = Callable[[Transaction, SpaceId, Sequence[UUID]], Awaitable[int]]
"""Erases what another room has from memories, turns or episodes, by whose ids it cites them; how many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Eraser:
    """What forgetting needs beside the desk: the ledger, the other rooms, and what lies outside of the database."""

    desk: Desk
    ledger: Ledger
    rooms: tuple[LetGo, ...] = ()
    citing: Mapping[str, LetGoCited] = field(default_factory=dict)
    """By the table in which each says what it cites."""
    outside: Outside = nothing_outside


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What forgetting does, or did."""

    erased: tuple[MemoryId, ...] = ()
    derived: tuple[MemoryId, ...] = ()
    """Those of the erased that were not named, but derive from nothing else or say the same."""
    remade: tuple[MemoryId, ...] = ()
    """They derive from others too: locked away until their text is made again."""
    trimmed: tuple[MemoryId, ...] = ()
    """Others said them too: they lose what was said there."""
    predecessors: tuple[MemoryId, ...] = ()
    """What the erased had replaced. It stays history; a person may restore it."""
    retold: tuple[UUID, ...] = ()
    """Episodes whose summary is written anew from what is left of their words."""
    rows: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False

    def as_json(self) -> dict[str, Any]:
        lists = ("erased", "derived", "remade", "trimmed", "predecessors", "retold")
        shown: dict[str, Any] = {name: [str(each) for each in getattr(self, name)] for name in lists}
        return shown | {"rows": dict(self.rows), "dry_run": self.dry_run}


class _OnlyPlanned(Exception):
    """Takes a transaction back that was made to see what it does."""


async def forget(
    eraser: Eraser, space: SpaceId, selector: Selector, *, reason: str, by: str, dry_run: bool = False
) -> Plan:
    """Erase what is meant and everything derived from it; with `dry_run` only say what that would be.

    Words alone never erase: what a query finds is shown first, and then named by ids. Raises `BadInput`.
    """
    if selector.checked().query and not dry_run:
        raise BadInput(
            "A query only shows what would be forgotten.", hint="Look at the plan, then name the ids in it."
        )
    plan = Plan()
    try:
        async with eraser.desk.store.transaction(patient=True) as transaction:
            meant = await reach(transaction, space, selector)
            plan = await forget_in(eraser, transaction, space, meant, reason=reason, by=by, dry_run=dry_run)
            if dry_run:
                raise _OnlyPlanned
    except _OnlyPlanned:
        pass
    return plan


async def forget_in(
    eraser: Eraser,
    transaction: Transaction,
    space: SpaceId,
    meant: Reach,
    *,
    reason: str,
    by: str,
    dry_run: bool = False,
) -> Plan:
    """The same within a transaction of the caller's."""
    desk, rows = eraser.desk, Counter[str]()
    await hold(transaction, space)
    await hold_owners(transaction, space, [None])
    erased, remade = await _cascade(transaction, space, meant)
    await hold_known(transaction, space, [*erased, *remade, *meant.sightings])
    trimmed = [each for each in meant.trimmed if each not in erased]
    cut_off = [each for memory in trimmed for each in meant.sightings[memory]]
    said = await words_of(transaction, space, sorted(erased), cut_off)
    if not dry_run:
        await _ban(eraser, transaction, space, said)
    rows["memory_sighting"] += await transaction.run(Q["erase_sightings"], space=space, ids=cut_off)
    predecessors = await erase_rows(transaction, space, sorted(erased), rows, at=desk.clock())
    for memory in trimmed:
        await retell(desk, transaction, space, memory)
    wordings = list(cuts(await _gone_for_good(transaction, space, said)))
    turns = await turns_with(transaction, space, wordings)
    messages = await messages_with(transaction, space, wordings)
    rows += await sweep(transaction, space, wordings)
    episodes = sorted(set(turns.values()))
    retold = [each for each in episodes if await retell_episode(desk, transaction, space, each)]
    if not dry_run and (files := await eraser.outside(wordings)):
        rows["spool"] += files
    await _lock_away(desk, transaction, space, sorted(remade), by=by)
    said_in = {str(turn) for each in said for turn in each["turns"]} | {str(each) for each in messages}
    for let_go in eraser.rooms if erased else ():
        await let_go(transaction, space, sorted(erased))
    cited = {
        *erased,
        *map(UUID, said_in),
        *turns,
        *meant.cited,
        *await _episodes_whole(transaction, space, meant),
    }
    for table, let_go_cited in eraser.citing.items() if cited else ():
        rows[table] += await let_go_cited(transaction, space, sorted(cited))
    await _tell(desk, transaction, space, sorted(erased), sorted(said_in))
    return Plan(
        erased=tuple(sorted(erased)),
        derived=tuple(sorted(erased - meant.whole)),
        remade=tuple(sorted(remade)),
        trimmed=tuple(trimmed),
        predecessors=tuple(predecessors),
        retold=tuple(retold),
        rows=dict(sorted(rows.items())),
        dry_run=dry_run,
    )


async def _cascade(
    transaction: Transaction, space: SpaceId, meant: Reach
) -> tuple[frozenset[MemoryId], frozenset[MemoryId]]:
    """Everything that goes with what is meant, and what must be made again."""
    gone = meant.whole
    while True:
        rows = await transaction.all(Q["standing_on"], space=space, memories=sorted(gone))
        with_it = {row["id"] for row in rows if row["others"] == 0}
        if meant.with_twins:
            twins = await transaction.all(Q["twins_of"], space=space, memories=sorted(gone))
            with_it |= {row["id"] for row in twins}
        if with_it <= gone:
            return gone, frozenset(row["id"] for row in rows) - gone
        gone |= with_it


async def words_of(
    transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], sightings: Sequence[UUID] = ()
) -> list[dict[str, Any]]:
    """In which words memories were said, and in which messages; of others only some sightings."""
    return list(
        await transaction.all(Q["wordings_of"], space=space, memories=memories, sightings=list(sightings))
    )


async def _episodes_whole(transaction: Transaction, space: SpaceId, meant: Reach) -> set[UUID]:
    """The episodes that are meant whole, and their turns."""
    if not meant.episodes:
        return set()
    rows = await transaction.all(Q["turns_of_episodes"], space=space, episodes=sorted(meant.episodes))
    return {*meant.episodes, *(row["turn_id"] for row in rows)}


async def _gone_for_good(
    transaction: Transaction, space: SpaceId, said: Iterable[Mapping[str, Any]]
) -> list[str]:
    """The wordings that nobody else used: what others said too stays in their words."""
    gone: list[str] = []
    for each in said:
        left = [] if each["whole"] else await transaction.all(Q["voices_of"], space=space, memory=each["id"])
        others = {fold_mark(row["wording"]) for row in left}
        gone += [wording for wording in each["wordings"] if fold_mark(wording) not in others]
    return gone


async def _ban(
    eraser: Eraser, transaction: Transaction, space: SpaceId, said: Iterable[Mapping[str, Any]]
) -> None:
    now = eraser.desk.clock()
    made = [
        entry
        for each in said
        if each["whole"]
        for entry in entries(eraser.ledger, space, each["id"], each["wordings"], at=now)
    ]
    await write(transaction, eraser.ledger, made)


async def erase_rows(
    transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], rows: Counter[str], *, at: Any
) -> list[MemoryId]:
    """Erase memories with every row that is only about them; what they had replaced stays as history."""
    if not memories:
        return []
    ids: dict[str, Any] = {"space": space, "memories": list(memories)}
    await forget_judgements(transaction, space, memories)
    rows["event"] += await forget_names(transaction, space, [f"memory:{each}" for each in memories])
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


async def _lock_away(
    desk: Desk, transaction: Transaction, space: SpaceId, memories: Sequence[MemoryId], *, by: str
) -> None:
    """What lost one of its sources is not recalled until its text has been made again."""
    for memory in memories:
        row = await transaction.maybe(Q["quarantine_remade"], space=space, id=memory, at=desk.clock())
        await transaction.run(Q["erase_vectors"], space=space, memories=[memory])
        if row is not None:
            note = Note(
                op=Op.QUARANTINE,
                before={memory: {"status": row["was"]}},
                after={memory: {"status": "quarantined"}},
                by=by,
                reason="a source of it was forgotten",
            )
            await write_change(desk, transaction, space, note)
        await desk.ask(transaction, REMAKE, space=space, memory=str(memory))


async def _tell(
    desk: Desk,
    transaction: Transaction,
    space: SpaceId,
    erased: Sequence[MemoryId],
    messages: Sequence[str],
) -> None:
    """Say what is gone, by ids alone, and have the world erase what it read in those messages."""
    for start in range(0, len(erased), EVENT_IDS):
        part = [str(each) for each in erased[start : start + EVENT_IDS]]
        await desk.outbox.emit(
            transaction, "memory_forgotten", space=space, subject="memories", payload={"ids": part}
        )
    for message in messages:
        await desk.ask(transaction, FORGET_SAID, space=space, message=message)
    if erased:
        await desk.ask(transaction, VACUUM, space=space)


async def forget_again(transaction: Transaction, entries: Sequence[Forgotten]) -> int:
    """Erase what a ledger names from a database that was brought back; how many memories."""
    erased = 0
    for space in sorted({entry.space for entry in entries}):
        mine = [entry for entry in entries if entry.space == space]
        ids = sorted({MemoryId(UUID(entry.id)) for entry in mine if entry.kind == MEMORY})
        said = await words_of(transaction, SpaceId(space), ids)
        found, rows = [each["id"] for each in said], Counter[str]()
        at = max(entry.at for entry in mine)
        await erase_rows(transaction, SpaceId(space), found, rows, at=at)
        await sweep(transaction, SpaceId(space), cuts(w for each in said for w in each["wordings"]))
        if await transaction.maybe(Q["space_is_there"], space=space):
            await ban(transaction, mine)
        erased += len(found)
    return erased


log = structlog.get_logger(room="memory")

BY = "job:remake"

ModelFor = Callable[[SpaceId], Awaitable[Model | None]]


class Remade(Shape):
    """What a model answers."""

    statement: str = Field(max_length=8_000)


async def remake(desk: Desk, space: SpaceId, memory: UUID, *, model_for: ModelFor) -> bool:
    """Word a memory anew from the sources that are left; whether it stands again."""
    async with desk.store.transaction() as transaction:
        found = (await find_all(transaction, space, [memory])).get(MemoryId(memory))
        if found is None or found.status is not Status.QUARANTINED:
            return False
        sources = await linked(transaction, space, memory, Link.DERIVES_FROM)
        left = await find_all(transaction, space, sources)
    standing = [each for each in left.values() if each.status is Status.ACTIVE]
    model = await model_for(space)
    if model is None or not standing:
        return False
    text = await _worded(model, standing)
    if not text:
        return False
    await edit(desk, space, found.id, text, by=BY)
    await release(desk, space, found.id, by=BY)
    return True


async def _worded(model: Model, sources: Sequence[Memory]) -> str:
    try:
        answer = await model.answer([_question(sources)], Remade)
    except FestingerError as error:
        log.warning("a memory could not be made again", why=error.message)
        return ""
    return answer.value.statement.strip()


def _question(sources: Sequence[Memory]) -> Message:
    listed = "\n".join(f"- {each.content}" for each in sources)
    return prompt_of("festinger.memory", "remake").message(statements=listed)
