"""A memory with everything handed in: a clock that tests move, vectors of chosen nearness, judges that say what
they are told."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
from tests.events.wiring import Wired
from tests.jobs.deps import Hands, rows
from tests.world import ports

from festinger.embedding.embedder import Embedder, EmbedderOptions, Vector
from festinger.embedding.profiles import EmbedderProfile, EmbeddingPurpose, load_bundled_profiles
from festinger.embedding.registry import open_embedder
from festinger.errors import FestingerError
from festinger.events.catalogue import Delivery
from festinger.events.outbox import Outbox
from festinger.ids import (
    DEFAULT_AGENT,
    MAIN_SPACE,
    AgentId,
    MemoryId,
    NewId,
    Origin,
    Scope,
    SessionId,
    SpaceId,
    id_maker,
)
from festinger.judge.cascade import CascadeConfig, ModelFor, null_model_for
from festinger.judge.model import CurrentSide, Judgement, Relation, StatementPair
from festinger.judge.records import JudgeDeps
from festinger.memory.deps import (
    EffectiveMemorySettings,
    MemoryCascade,
    MemoryDeps,
    Step,
    Surfaced,
    null_step_hook,
    null_surfaced_ids,
)
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Memory, memory_from_row
from festinger.settings.memory_sections import MemorySettings, WorldSettings
from festinger.store.pool import Store, Transaction
from festinger.text.vocabulary import is_common
from festinger.world.model import WorldDeps, null_follow

REFERENCE = replace(load_bundled_profiles()["reference"], name="scripted:near", dimensions=3, kinds={})
DAY = timedelta(days=1)


class NearEmbedder:
    """Vectors whose cosine to the first text is chosen; texts that were not chosen are far from all others."""

    def __init__(self, near: Mapping[str, float] | None = None, *, profile: EmbedderProfile = REFERENCE) -> None:
        self.near = dict(near or {})
        self.profile = profile
        self.name = profile.name
        self.dimensions = 64
        self.asked: list[tuple[EmbeddingPurpose, tuple[str, ...]]] = []
        self.fault: FestingerError | None = None
        self._far: dict[str, int] = {}

    async def embed(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str = "") -> list[Vector]:
        self.asked.append((purpose, tuple(texts)))
        if self.fault is not None:
            raise self.fault
        return [self._vector(text) for text in texts]

    async def close(self) -> None:
        return None

    def _vector(self, text: str) -> Vector:
        vector = np.zeros(self.dimensions, dtype=np.float32)
        axis = 1 + self._far.setdefault(text, len(self._far)) % (self.dimensions - 1)
        cosine = self.near.get(text, 0.0)
        vector[0], vector[axis] = cosine, np.sqrt(1 - cosine**2)
        return vector


def says(relation: str, confidence: float = 0.9, *, current: str = "new", judge: str = "llm:test") -> Judgement:
    return Judgement(
        relation=Relation(relation),
        current=CurrentSide(current),
        confidence=confidence,
        judge=judge,
        reasoning="as told",
        final=relation != "unsure",
    )


class ToldJudges(MemoryCascade):
    """Judges that say of pairs what a test told them, and else what the rules say."""

    told: Judgement | None = None
    later: Judgement | None = None
    asked: list[StatementPair]

    async def at_once(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        self.asked = [*getattr(self, "asked", []), *pairs]
        if self.told is None:
            return await super().at_once(space, pairs)
        return [self.told] * len(pairs)

    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        if self.later is None:
            return await super().with_model_all(space, pairs)
        return [self.later] * len(pairs)


async def deliver_nothing(_transaction: Transaction, _deliveries: Sequence[Delivery]) -> None:
    """Nobody listens."""


class Mind:
    """One process with its memory."""

    def __init__(
        self,
        store: Store,
        *,
        near: Mapping[str, float] | None = None,
        embedder: Embedder | None = None,
        without_embedder: bool = False,
        hands: Hands | None = None,
        seed: int = 1,
        surfaced: Surfaced = null_surfaced_ids,
        model_for: ModelFor = null_model_for,
        step: Step = null_step_hook,
        new_id: NewId | None = None,
        **settings: Any,
    ) -> None:
        self.store = store
        self.hands = hands or Hands()
        self.wired = Wired(store, self.hands)
        self.terms = EffectiveMemorySettings(memory=MemorySettings(**settings))
        self.near = NearEmbedder(near)
        self.embedder: Embedder | None = None if without_embedder else embedder or self.near
        self.asked: list[tuple[str, dict[str, Any]]] = []
        ids = new_id or id_maker(self.hands.clock, random.Random(seed))
        # Ids of this process's own: two processes that count alike would make the same ones.
        outbox = Outbox(clock=self.hands.clock, new_id=ids, deliver=deliver_nothing) if new_id else self.wired.outbox
        self.judges = ToldJudges(
            JudgeDeps(store=store, outbox=outbox, clock=self.hands.clock, new_id=ids),
            stopwatch=self.hands.stopwatch,
            terms=lambda _space: CascadeConfig(),
            model_for=model_for,
        )
        self.judges.asked = []

        self.deps = MemoryDeps(
            store=store,
            outbox=outbox,
            clock=self.hands.clock,
            stopwatch=self.hands.stopwatch,
            new_id=ids,
            terms=lambda _space: self.terms,
            embedder=lambda: self.embedder,
            panel=self.judges,
            world=WorldDeps(
                store=store,
                outbox=outbox,
                clock=self.hands.clock,
                new_id=ids,
                terms=lambda _space: WorldSettings(),
                is_common=is_common,
                ask_to_write=ports.ask_to_write,
                has_writer=ports.has_writer,
                ask_to_learn=ports.ask_to_learn,
                follow=null_follow,
            ),
            surfaced=surfaced,
            ask=self._ask,
            step=step,
        )

        self.world = self.deps.world

    async def _ask(self, _transaction: Transaction, job: str, **ids: Any) -> None:
        self.asked.append((job, ids))

    def place(self, session: str = "s1", agent: str = DEFAULT_AGENT, space: SpaceId = MAIN_SPACE) -> Scope:
        return Scope(space=space, agent=AgentId(agent), session=SessionId(session))

    async def learn(
        self,
        text: str,
        *,
        session: str = "s1",
        agent: str = DEFAULT_AGENT,
        space: SpaceId = MAIN_SPACE,
        origin: str = "person",
        **more: Any,
    ) -> Learned:
        given = LearnRequest(text=text, origin=Origin(origin), **more)
        return await learn(self.deps, self.place(session, agent, space), given)

    async def memory(self, learned: Learned | UUID) -> Memory:
        """A memory as it is now."""
        wanted = learned.memory.id if isinstance(learned, Learned) and learned.memory else learned
        found = await rows(self.store, "select * from memory where id = %(id)s", id=wanted)
        return memory_from_row(found[0])

    def forward(self, by: timedelta = timedelta(minutes=1)) -> datetime:
        self.hands.forward(by)
        return self.hands.now


async def memories(store: Store, status: str | None = None) -> list[Memory]:
    found = await rows(
        store, "select * from memory where %(status)s::text is null or status = %(status)s order by seq", status=status
    )
    return [memory_from_row(row) for row in found]


async def texts(store: Store, status: str = "active") -> list[str]:
    return [memory.content for memory in await memories(store, status)]


async def events(store: Store, *names: str) -> list[dict[str, Any]]:
    found = await rows(store, "select name, payload from event order by seq")
    return [row for row in found if not names or row["name"] in names]


async def bundled() -> Embedder:
    """The model that comes with the install."""
    return await open_embedder("onnx:all-minilm-l6-v2", EmbedderOptions(offline=True))


def now(learned: Learned) -> Memory:
    """The memory of a result."""
    assert learned.memory is not None
    return learned.memory


def known(learned: Learned) -> MemoryId:
    return now(learned).id


def changed(learned: Learned) -> UUID:
    assert learned.change is not None
    return learned.change
