"""A memory whose use is watched: a clock that tests move, and hooks of any agent and session."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from tests.jobs.deps import rows
from tests.memory.remembering import Mind, known

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, MemoryId, Origin, Scope, SessionId, SpaceId
from festinger.outcomes import ObservationProtocol
from festinger.outcomes.model import OutcomeDeps, Reporter, ReportSource, Step, null_step
from festinger.settings.memory_sections import OutcomesSettings
from festinger.store.pool import Store
from festinger.world.model import WorldDeps

SENTENCES = [
    "The harbour office of Lisgate opens at 0730.",
    "Quillon Freight ships copper wire on Tuesdays.",
    "The Brandt archive keeps glass plates in room 12.",
    "Marlow bakery sells 40 rye loaves before noon.",
    "The Ostrava ferry carries 18 lorries.",
    "Pellworm station repairs 6 buoys a week.",
    "The Tarn observatory closes its dome in hail.",
    "Corvin printing uses indigo paper for maps.",
    "The Yarrow clinic orders 90 lenses in spring.",
    "Dunmore quarry blasts granite at 1415.",
    "The Silt museum lends 3 canoes to schools.",
    "Hexham dairy stores butter at 4 degrees.",
    "The Norvik tunnel carries 2 gauges of track.",
    "Salt Ridge library binds ledgers in calfskin.",
    "The Ember foundry pours bronze on Fridays.",
    "Calder nursery grafts 70 plum trees in March.",
    "The Windrow mill grinds spelt for 5 villages.",
    "Ashby signal box has 32 levers.",
    "The Fenwick lock drains in 11 minutes.",
    "Orla pottery fires stoneware at 1280 degrees.",
]


class Watched:
    """One process with its memory and what becomes of it."""

    def __init__(
        self,
        store: Store,
        *,
        step: Step = null_step,
        mind: Mind | None = None,
        world: WorldDeps | None = None,
        **settings: Any,
    ) -> None:
        self.mind = mind or Mind(store, without_embedder=True)
        self.store = store
        self.terms = OutcomesSettings(**settings)
        self.deps = OutcomeDeps(
            store=store,
            outbox=self.mind.deps.outbox,
            clock=self.mind.hands.clock,
            new_id=self.mind.deps.new_id,
            terms=lambda _space: self.terms,
            memory=self.mind.deps,
            world=world or self.mind.world,
            step=step,
        )

    def reporter(
        self,
        session: str = "s1",
        *,
        agent: str = DEFAULT_AGENT,
        how: ReportSource = ReportSource.EXPLICIT,
        origin: Origin = Origin.PERSON,
        space: SpaceId = MAIN_SPACE,
        **more: Any,
    ) -> Reporter:
        place = Scope(space=space, agent=AgentId(agent), session=SessionId(session))
        named = {"name": "owner", "door": "library"} | more
        return Reporter(scope=place, how=how, origin=origin, **named)

    def inferring(self, session: str = "s1") -> Reporter:
        return self.reporter(session, how=ReportSource.INFERRED, origin=Origin.MODEL)

    def hooks(self, session: str = "s1", **who: Any) -> ObservationProtocol:
        return ObservationProtocol(self.deps, self.reporter(session, **who))

    async def memory(self, text: str = SENTENCES[0], **more: Any) -> MemoryId:
        return known(await self.mind.learn(text, **more))

    async def memories(self, number: int) -> list[MemoryId]:
        return [await self.memory(text) for text in SENTENCES[:number]]

    async def held(self, memory: UUID) -> dict[str, Any]:
        """What is stored of a memory that outcomes move."""
        [row] = await rows(
            self.store,
            "select confidence, evidence_count, passive_count, weight_alpha, weight_beta, access_count,"
            " confidence_ceiling, weight_ceiling, corroborations, contradictions, confidence_anchor"
            " from memory where id = %(id)s",
            id=memory,
        )
        return dict(row)

    async def amplitudes(self, memory: UUID) -> list[float]:
        found = await rows(self.store, "select amplitude from cycle where memory_id = %(id)s order by n", id=memory)
        return [row["amplitude"] for row in found]

    async def log(self, memory: UUID | None = None) -> list[dict[str, Any]]:
        return await rows(
            self.store,
            "select * from outcome where %(id)s::uuid is null or memory_id = %(id)s order by at, id",
            id=memory,
        )

    async def surfacings(self) -> list[dict[str, Any]]:
        return await rows(self.store, "select * from surfacing order by first_surfaced_at, id")

    async def spoken_of(self, table: str) -> set[UUID]:
        """The memories that a table names."""
        return {row["memory_id"] for row in await rows(self.store, f"select memory_id from {table}")}

    async def count(self, table: str) -> int:
        found = await rows(self.store, f"select count(*) as n from {table}")
        return int(found[0]["n"])

    def with_step(self, step: Step) -> "Watched":
        other = Watched(self.store, mind=self.mind)
        other.terms = self.terms
        other.deps = replace(self.deps, step=step)
        return other
