"""A world with everything handed in: a clock that tests move, settings as a value, events that nobody hears."""

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.events.wiring import Wired
from tests.jobs.deps import Hands, rows, run_sql
from tests.world import ports

from festinger.ids import MAIN_SPACE, AgentId, Cause, Origin, Scope, SessionId, SpaceId, cause, id_maker
from festinger.settings.memory_sections import WorldSettings
from festinger.store.pool import Store, Transaction
from festinger.text.vocabulary import is_common
from festinger.world.counts import EncounterBuffer, flush_counts, text_hash
from festinger.world.graph import World, WorldCache
from festinger.world.learn import apply_outcome_to_edge, write_claims
from festinger.world.model import EdgeSource, NoteOutcome, UrdEdge, WorldDeps, WorldStatement
from festinger.world.recall import Recollector, SourceText
from festinger.world.recollection import Recollection, ShownEdge
from festinger.world.write import bootstrap_dimensions, open_change

COMMON = frozenset(["please", "update", "use", "to", "instead", "open", "is", "a", "the", "state", "country", "region"])


class Bench:
    """One process: its worlds, and a desk whose deeds it follows."""

    def __init__(self, store: Store, *, hands: Hands | None = None, seed: int = 1, **settings: Any) -> None:
        self.store = store
        self.hands = hands or Hands()
        self.terms = WorldSettings(**settings)
        self.wired = Wired(store, self.hands)
        self.worlds = WorldCache(store, clock=self.hands.clock, stopwatch=self.hands.stopwatch, settings=self.terms)
        self.asked: list[tuple[int, int]] = []
        self.encounters = EncounterBuffer()
        self.deps = WorldDeps(
            store=store,
            outbox=self.wired.outbox,
            clock=self.hands.clock,
            new_id=id_maker(self.hands.clock, random.Random(seed)),
            terms=lambda _space: self.terms,
            is_common=is_common,
            ask_to_write=self._ask_to_write,
            has_writer=ports.has_writer,
            ask_to_learn=ports.ask_to_learn,
            follow=self.worlds.follow,
        )
        self.recollector = Recollector(self.deps, self.worlds, self.encounters)

    async def _ask_to_write(
        self, transaction: Transaction, space: SpaceId, concept: int, *, tries: int = 1, at: datetime | None = None
    ) -> None:
        self.asked.append((concept, tries))

    def world(self, space: SpaceId = MAIN_SPACE) -> World:
        found = self.worlds.find(space)
        assert found is not None
        return found

    def place(self, session: str = "s1", space: SpaceId = MAIN_SPACE) -> Scope:
        return Scope(space=space, agent=AgentId("a1"), session=SessionId(session))

    async def hear(
        self, text: str, *, origin: Origin = Origin.PERSON, session: str = "s1", **more: Any
    ) -> Recollection:
        """One turn: what comes to mind; then counting, learning, writing."""
        place = self.place(session, **more)
        said = SourceText(text=text, origin=origin, message=text_hash(f"{session} {text} {self.hands.now}"))
        found = self.recollector.recollect(place, [said])
        assert found is not None
        await self.recollector.count(place, said)
        async with self.store.transaction() as transaction:
            is_kept = await self.recollector.learn(transaction, place, said)
        if is_kept:
            await write_claims(self.deps, place.space, str(said.message))
        return found

    async def flush(self, space: SpaceId = MAIN_SPACE) -> int:
        return await flush_counts(self.deps, self.encounters, space, world=self.worlds.find(space))

    async def open(self, *spaces: SpaceId) -> "Bench":
        for space in spaces or (MAIN_SPACE,):
            await bootstrap_dimensions(self.deps, space)
            await self.worlds.need(space)
        return self

    def because(self, origin: Origin = Origin.PERSON, session: str = "s1", agent: str = "a1") -> Cause:
        return cause(agent=AgentId(agent), session=SessionId(session), origin=origin, at=self.hands.clock())

    def say(self, triple: str, *, origin: Origin = Origin.PERSON, session: str = "s1", **more: Any) -> WorldStatement:
        """`concept parent dimension`, an ISA unless told otherwise."""
        concept, parent, *dims = triple.split()
        said = WorldStatement(
            concept=concept,
            parent=parent,
            dimension=dims[0] if dims else "type",
            is_isa=True,
            confidence=0.65,
            source=EdgeSource.INFERRED,
            cause=self.because(origin, session),
        )
        return replace(said, **more)


async def table(store: Store, space: SpaceId = MAIN_SPACE) -> set[tuple[Any, ...]]:
    """The edges without roots, in words."""
    found = await rows(
        store,
        "select c.token as concept, p.token as parent, d.token as dim, u.is_isa, u.confidence from urd u"
        " join soas c on c.space_id = u.space_id and c.id = u.id"
        " join soas p on p.space_id = u.space_id and p.id = u.parent_id"
        " join soas d on d.space_id = u.space_id and d.id = u.dim_id"
        " where u.space_id = %(space)s and u.id <> u.parent_id",
        space=space,
    )
    return {tuple(row.values()) for row in found}


def kept(bench: Bench, space: SpaceId = MAIN_SPACE) -> set[tuple[Any, ...]]:
    """The same, as this process has it in memory."""
    world = bench.worlds.find(space)
    assert world is not None
    name = world.soas_by_id
    return {
        (name[edge.id], name[edge.parent_id], name[edge.dim_id], edge.is_isa, edge.confidence)
        for edges in world.urd_by_concept.values()
        for edge in edges
    }


async def queue(store: Store, space: SpaceId = MAIN_SPACE) -> Sequence[dict[str, Any]]:
    return await rows(
        store,
        "select concept_id, existing_parent_id, incoming_parent_id, dim_id, collision_type, status, priority,"
        " sightings, id, decided_by, resolution, attempts, reason from resolution_queue where space_id = %(space)s"
        " order by created_at, id",
        space=space,
    )


async def events(store: Store, *names: str) -> list[dict[str, Any]]:
    found = await rows(store, "select name, payload from event order by seq")
    return [row for row in found if not names or row["name"] in names]


async def number_from(store: Store, start: int) -> None:
    """Let the next word get this number."""
    await run_sql(store, f"alter table soas alter column id restart with {start}")


async def apply_outcome(
    deps: WorldDeps,
    space: SpaceId,
    note: ShownEdge,
    outcome: NoteOutcome,
    *,
    cause: Cause,
    weight: float = 1.0,
    is_explicit: bool = True,
) -> UrdEdge | None:
    """An outcome in a change of its own."""
    async with open_change(deps, space, by="outcome", cause=cause) as change:
        return await apply_outcome_to_edge(change, note, outcome, cause=cause, weight=weight, is_explicit=is_explicit)
