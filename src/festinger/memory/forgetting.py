"""How is something forgotten for good?

Memories are erased with everything that tells of them, and with what derives from nothing else; what also derives
from others is locked away until its text has been made again from the rest. Their words are cut out of every other
place that holds them. That something was forgotten is told by ids; a keyed mark keeps it from coming back by itself.
All of it happens in one transaction; the plan is the same transaction, taken back.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from festinger.errors import BadInput
from festinger.events.erase import forget_names
from festinger.ids import MemoryId, SpaceId
from festinger.judge.records import forget as forget_judgements
from festinger.memory import ban
from festinger.memory.belief import hold_known
from festinger.memory.changes import Note, Op, write_change
from festinger.memory.desk import Desk
from festinger.memory.episodes.retelling import retell as retell_episode
from festinger.memory.episodes.retelling import turns_with
from festinger.memory.gist import fold_mark
from festinger.memory.holding import hold_owners
from festinger.memory.replaying import retell
from festinger.memory.selector import Reach, Selector, reach
from festinger.store.erasure import Forgotten as Entry
from festinger.store.erasure import Ledger, sweep
from festinger.store.pool import Transaction
from festinger.store.queries import queries_of
from festinger.store.repositories.exchanges import messages_with
from festinger.text.blocks import Cut, cuts
from festinger.world.memories import erase_memory_conflicts
from festinger.world.writing import hold

Q = queries_of("festinger.memory")

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
        for entry in ban.entries(eraser.ledger, space, each["id"], each["wordings"], at=now)
    ]
    await ban.write(transaction, eraser.ledger, made)


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


async def forget_again(transaction: Transaction, entries: Sequence[Entry]) -> int:
    """Erase what a ledger names from a database that was brought back; how many memories."""
    erased = 0
    for space in sorted({entry.space for entry in entries}):
        mine = [entry for entry in entries if entry.space == space]
        ids = sorted({MemoryId(UUID(entry.id)) for entry in mine if entry.kind == ban.MEMORY})
        said = await words_of(transaction, SpaceId(space), ids)
        found, rows = [each["id"] for each in said], Counter[str]()
        at = max(entry.at for entry in mine)
        await erase_rows(transaction, SpaceId(space), found, rows, at=at)
        await sweep(transaction, SpaceId(space), cuts(w for each in said for w in each["wordings"]))
        if await transaction.maybe(Q["space_is_there"], space=space):
            await ban.ban(transaction, mine)
        erased += len(found)
    return erased
