"""Erases knowledge for good, closes conflicts of withdrawn memories, and tidies spaces at night.

Erasure goes by edge, message or session: the edges that nobody else stated, their causes, history,
conflicts, quarantine, aliases and sentences, and words left without any. What others stated too stays,
without the erased causes. A tombstone records when, by whom and how much, and nothing of the content.
Conflicts of a forgotten memory are erased; those of a withdrawn one are closed and can be reopened. Tidying
prunes words without statements beyond a limit, log lines that everybody has followed, messages written long
ago and expired quarantine; nothing that anybody said is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog

from festinger.errors import NoSuchConcept
from festinger.events.outbox import scrub_event_words
from festinger.ids import SessionId, SpaceId
from festinger.store.pool import Transaction
from festinger.store.queries import load_queries
from festinger.world.conflicts import recheck_slot_conflicts
from festinger.world.model import WorldDeps
from festinger.world.quarantine import expire_quarantine
from festinger.world.write import WorldChange, WorldChangeKind, load_concept_rows, lock_and_begin_change, open_change

Q = load_queries("festinger.world")

Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldForgetResult:
    edges: int
    causes: int
    others: int


@dataclass(slots=True, kw_only=True)
class _WorldErasure:
    change: WorldChange
    edges: int = 0
    causes: int = 0
    others: int = 0
    touched: set[int] = field(default_factory=set)
    words: set[str] = field(default_factory=set)
    """Words that may disappear with it."""

    async def run(self, query: str, **parameters: Any) -> int:
        return await self.change.transaction.run(Q[query], space=self.change.space, **parameters)

    async def erase_triples(self, triples: Sequence[Triple]) -> None:
        if not triples:
            return
        ids, parents, dims = (list(column) for column in zip(*triples, strict=True))
        columns = {"ids": ids, "parents": parents, "dims": dims}
        space = self.change.space
        gone = await self.change.transaction.all(Q["erase_triples"], space=space, **columns)
        self.edges += len(gone)
        self.causes += await self.run("erase_triple_causes", **columns)
        self.others += await self.run("erase_history", **columns)
        self.others += await self.run("erase_conflicts", **columns)
        self.others += await self.run("erase_outcomes", session=None, **columns)
        self.touched.update(*triples)
        for row in gone:
            await recheck_slot_conflicts(self.change, row["id"], row["dim_id"])

    async def erase_voteless_quarantine(self) -> None:
        """Erase quarantined statements that have no votes left."""
        change = self.change
        gone = await change.all("erase_voiceless_quarantine")
        self.others += len(gone)
        rows = await load_concept_rows(
            change.transaction, change.space, {name for row in gone for name in row.values()}
        )
        self.touched.update(row.id for row in rows.values())

    async def erase_words(self) -> None:
        """Erase words without edges, and have every process reload what was touched."""
        concepts = sorted(self.touched)
        await self.run("calm_concepts", concepts=concepts)
        bare = await self.change.transaction.all(Q["erase_bare_tokens"], space=self.change.space, concepts=concepts)
        self.others += len(bare)
        self.words.update(row["token"] for row in bare)
        left = await load_concept_rows(self.change.transaction, self.change.space, self.words)
        await scrub_event_words(self.change.transaction, self.change.space, self.words - left.keys())
        for concept in concepts:
            self.change.log(WorldChangeKind.FORGOTTEN, concept)

    async def write_tombstone(self, kind: str) -> WorldForgetResult:
        await self.run(
            "put_tombstone",
            id=self.change.deps.new_id(),
            kind=kind,
            by=self.change.by,
            at=self.change.now,
            edges=self.edges,
            causes=self.causes,
            others=self.others,
        )
        return WorldForgetResult(edges=self.edges, causes=self.causes, others=self.others)


async def forget_edge(
    deps: WorldDeps, space: SpaceId, *, concept: str, parent: str, dimension: str, by: str
) -> WorldForgetResult:
    async with open_change(deps, space, by=by) as change:
        rows = await load_concept_rows(change.transaction, space, (concept, parent, dimension))
        if missing := {concept, parent, dimension} - rows.keys():
            raise NoSuchConcept(f"There is no concept `{min(missing)[:64]}`.")
        erasing = _WorldErasure(change=change)
        await erasing.erase_triples([(rows[concept].id, rows[parent].id, rows[dimension].id)])
        await erasing.erase_words()
        return await erasing.write_tombstone("edge")


async def forget_session(deps: WorldDeps, space: SpaceId, session: SessionId, *, by: str) -> WorldForgetResult:
    """Erase everything that only this session said."""
    return await _forget_session_or_message(deps, space, session=session, message=None, by=by)


async def forget_message(deps: WorldDeps, space: SpaceId, message: str, *, by: str) -> WorldForgetResult:
    """Erase everything that only this message said."""
    return await _forget_session_or_message(deps, space, session=None, message=message, by=by)


async def _forget_session_or_message(
    deps: WorldDeps, space: SpaceId, *, session: SessionId | None, message: str | None, by: str
) -> WorldForgetResult:
    async with open_change(deps, space, by=by, patient=True) as change:
        erasing = _WorldErasure(change=change)
        rows = await change.transaction.all(
            Q["causes_in_session" if session else "causes_in_message"],
            space=space,
            **({"session": session} if session else {"message": message}),
        )
        who = {"session": session, "message": message}
        erasing.causes += await erasing.run("drop_causes", **who)
        await erasing.erase_triples(await _filter_uncaused_triples(change, [_triple(row) for row in rows]))
        erasing.others += await erasing.run("erase_sentences", **who, concepts=[])
        erasing.others += await erasing.run("erase_waiting_cues", **who)
        erasing.others += await erasing.run("erase_quarantine_causes", **who)
        await erasing.erase_voteless_quarantine()
        if session:
            erasing.others += await erasing.run("erase_session_marks", session=session)
            erasing.others += await erasing.run("erase_outcomes", session=session, ids=[], parents=[], dims=[])
        await erasing.erase_words()
        return await erasing.write_tombstone("session" if session else "message")


async def forget_withdrawn_triples(
    deps: WorldDeps,
    transaction: Transaction,
    space: SpaceId,
    *,
    triples: Sequence[Triple],
    messages: Sequence[str],
    by: str,
) -> WorldForgetResult:
    """Erase the rest of withdrawn triples that nobody else stated, and the messages that stated them, within
    the caller's transaction."""
    change = await lock_and_begin_change(deps, transaction, space, by=by)
    erasing = _WorldErasure(change=change)
    await erasing.erase_triples(await _filter_uncaused_triples(change, triples))
    erasing.others += await erasing.run("erase_sentences_in", messages=list(messages))
    await erasing.erase_voteless_quarantine()
    await erasing.erase_words()
    done = await erasing.write_tombstone("repair")
    await change.finish()
    return done


async def _filter_uncaused_triples(change: WorldChange, triples: Sequence[Triple]) -> list[Triple]:
    if not triples:
        return []
    ids, parents, dims = (list(column) for column in zip(*triples, strict=True))
    rows = await change.all("uncaused", ids=ids, parents=parents, dims=dims)
    return [_triple(row) for row in rows]


def _triple(row: dict[str, Any]) -> Triple:
    return row["id"], row["parent_id"], row["dim_id"]


async def erase_memory_conflicts(transaction: Transaction, space: SpaceId, memories: Sequence[UUID]) -> int:
    return await transaction.run(Q["erase_memory_conflicts"], space=space, memories=list(memories))


async def withdraw_memory_conflicts(
    transaction: Transaction, space: SpaceId, memories: Sequence[UUID], *, by: str, at: datetime
) -> list[UUID]:
    """Close waiting conflicts of these memories because one side was withdrawn; returns which."""
    rows = await transaction.all(Q["withdraw_memory_conflicts"], space=space, memories=list(memories), by=by, at=at)
    return [row["id"] for row in rows]


async def reopen_withdrawn_conflicts(transaction: Transaction, space: SpaceId, conflicts: Sequence[UUID]) -> None:
    """Reopen conflicts that were closed because one side had been withdrawn."""
    await transaction.run(Q["return_conflicts"], space=space, conflicts=list(conflicts))


log = structlog.get_logger(room="world")

LOG_KEPT_FOR = timedelta(days=7)
MESSAGES_KEPT_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldPruneResult:
    words: int
    expired: int


async def prune_world_data(deps: WorldDeps, space: SpaceId) -> WorldPruneResult:
    expired = await expire_quarantine(deps, [space])
    words = await prune_vocabulary(deps, space)
    now = deps.clock()
    await deps.store.run(Q["prune_log"], space=space, before=now - LOG_KEPT_FOR)
    await deps.store.run(Q["prune_cues"], space=space, before=now - MESSAGES_KEPT_FOR)
    if words:
        log.info("words taken away", space=space, words=words)
    return WorldPruneResult(words=words, expired=expired)


async def prune_vocabulary(deps: WorldDeps, space: SpaceId) -> int:
    """Delete the longest unseen words without statements; returns how many."""
    async with open_change(deps, space, by="festinger", patient=True) as change:
        keep = change.terms.vocabulary_max_unconfirmed
        gone = await change.transaction.all(Q["prune_vocabulary"], space=space, keep=keep)
        for row in gone:
            change.log(WorldChangeKind.FORGOTTEN, row["id"])
    return len(gone)
