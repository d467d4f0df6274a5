"""A mind that recalls, with everything handed in."""

import asyncio
from collections.abc import Coroutine, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from tests.memory.remembering import Mind, says

from festinger.embedding.embedder import Embedder
from festinger.embedding.reranker import Reranker
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Origin, Scope, SpaceId
from festinger.memory.episodes.store import append_turn
from festinger.retrieval.deps import RetrievalConfig, RetrievalDeps
from festinger.retrieval.index.terms import recount_words
from festinger.retrieval.index.turns import index_turns
from festinger.retrieval.query import parse_recall_query
from festinger.retrieval.recall import recall
from festinger.retrieval.result import RecallResult
from festinger.settings.memory_sections import RetrievalSettings
from festinger.store.pool import Store, Transaction
from festinger.store.repositories.spaces import create_space


class Recaller(Mind):
    """One process with its memory and what it recalls; records are written when somebody waits for them."""

    def __init__(
        self,
        store: Store,
        *,
        near: Mapping[str, float] | None = None,
        reranker: Reranker | None = None,
        settings: Mapping[str, Any] | None = None,
        embedder: Embedder | None = None,
        without_embedder: bool = False,
    ) -> None:
        super().__init__(store, near=near, embedder=embedder, without_embedder=without_embedder)
        self.retrieval = RetrievalSettings(**(settings or {}))
        self.reranker = reranker
        self.unwritten: list[Coroutine[Any, Any, Any]] = []
        self.read: list[UUID] = []
        self.searching = RetrievalDeps(
            store=store,
            outbox=self.deps.outbox,
            clock=self.hands.clock,
            stopwatch=self.hands.stopwatch,
            new_id=self.deps.new_id,
            terms=lambda _space: RetrievalConfig(retrieval=self.retrieval),
            embedder=lambda: self.embedder,
            memory=self.deps,
            reranker=lambda: self.reranker,
            later=self.unwritten.append,
            on_read=self._note,
        )

    async def _note(self, _transaction: Transaction, _place: Scope, memories: Any) -> None:
        self.read += memories

    async def recall(
        self,
        cue: str,
        *,
        session: str = "asking",
        agent: str = DEFAULT_AGENT,
        space: SpaceId = MAIN_SPACE,
        **asked: Any,
    ) -> RecallResult:
        query = parse_recall_query(cue, now=self.hands.now, **asked)
        return await recall(self.searching, self.place(session, agent, space), query)

    async def put(self, *texts: str, **more: Any) -> list[UUID]:
        """Store statements side by side, whatever judges would say of them."""
        self.judges.told = says("unrelated")
        learnt = [await self.learn(text, **more) for text in texts]
        self.judges.told = None
        return [each.memory.id for each in learnt if each.memory]

    async def texts(self, cue: str, **asked: Any) -> list[str]:
        return [item.text for item in (await self.recall(cue, **asked)).items]

    async def written(self) -> None:
        """Have every record written that waits."""
        while self.unwritten:
            await asyncio.ensure_future(self.unwritten.pop(0))

    async def say(
        self,
        text: str,
        *,
        role: str = "user",
        session: str = "s1",
        agent: str = DEFAULT_AGENT,
        space: SpaceId = MAIN_SPACE,
        at: datetime | None = None,
        origin: Origin | None = None,
    ) -> UUID:
        said = await append_turn(
            self.deps, self.place(session, agent, space), role, text, at=at or self.hands.now, origin=origin
        )
        assert said.turn is not None
        return said.turn.turn_id

    async def settle(self, space: SpaceId = MAIN_SPACE) -> None:
        """Make what was said searchable and count all words."""
        await index_turns(self.searching, space)
        await recount_words(self.searching, space)

    async def open_space(self, name: str) -> SpaceId:
        async with self.store.transaction() as transaction:
            return (await create_space(transaction, name, at=self.hands.now)).id

    def forget_unwritten(self) -> None:
        for work in self.unwritten:
            work.close()
        self.unwritten.clear()
