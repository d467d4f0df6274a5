"""How is bringing to mind joined to the rest of the house?

Builds what the room needs, makes its jobs known, and lets it hear what changes words and what was said. Recalls are
written down beside the requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from festinger.app.tasks import tasks_beside
from festinger.embedding.embedder import Embedder
from festinger.embedding.reranker import Reranker
from festinger.events.event import Event
from festinger.ids import Origin, SpaceId
from festinger.jobs.model import Queue, Run
from festinger.memory.model import Place
from festinger.retrieval.agent_blend import HEARD as OUTCOME
from festinger.retrieval.agent_blend import embed_questions, learn_blends, note_outcome
from festinger.retrieval.deps import Desk, Terms
from festinger.retrieval.index.terms import Holdings, count_words, recount
from festinger.retrieval.index.turns import index_turns
from festinger.retrieval.log import prune_recalls
from festinger.retrieval.query import Wish
from festinger.retrieval.result import Item
from festinger.store.pool import Transaction
from festinger.store.vectors import READ_WHOLE_BELOW, VectorModel, ensure_index

if TYPE_CHECKING:
    from festinger.app.wiring import App

COUNT_WORDS = "count_words"
RECOUNT_WORDS = "recount_words"
INDEX_TURNS = "index_turns"
TEND_RECALLS = "tend_recalls"
LEARN_QUESTIONS = "learn_questions"

EACH_MINUTE = "* * * * *"
NIGHTLY = "41 3 * * *"
TURN_TABLE = "turn_index"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRoom:
    """Bringing to mind, as this process opens it."""

    desk: Desk
    holdings: Holdings


def build_recall(app: "App") -> RecallRoom:
    """The room, with everything that it takes from the house."""

    def terms(space: SpaceId) -> Terms:
        chosen = app.settings.for_space(space)
        trusts = {Origin(name): number for name, number in chosen.memory.trusts.items()}
        return Terms(
            retrieval=chosen.retrieval,
            outcomes=chosen.outcomes,
            rerank_timeout_ms=chosen.rerank.timeout_ms,
            reranks=bool(chosen.rerank.model),
            trusts=lambda origin: trusts.get(Origin(origin), 0.5),
        )

    def embedder() -> Embedder | None:
        return app.embedder

    def reranker() -> Reranker | None:
        return app.reranker

    async def on_surfaced(
        transaction: Transaction, place: Place, memories: Sequence[UUID], recall: UUID
    ) -> None:
        await app.outcomes.on_surfaced(transaction, place, memories, recall=recall, reason="recall")

    async def beside(place: Place, wish: Wish) -> Sequence[Item]:
        return await tasks_beside(app, place, wish)

    desk = Desk(
        store=app.store,
        outbox=app.outbox,
        clock=app.tools.clock,
        stopwatch=app.tools.stopwatch,
        new_id=app.tools.new_id,
        terms=terms,
        embedder=embedder,
        reranker=reranker,
        memory=app.memory.desk,
        on_read=app.outcomes.on_read,
        later=app.afterwards.write,
        on_surfaced=on_surfaced,
        beside=beside,
    )
    return RecallRoom(desk=desk, holdings=Holdings(app.tools.stopwatch))


def register_recall(app: "App", room: RecallRoom) -> None:
    """Make the room's jobs and its subscribers known."""
    desk = room.desk

    async def count(_run: Run) -> None:
        for space in app.directory.ids():
            await count_words(desk, space)

    async def count_anew(_run: Run, *, space: str) -> int:
        return await recount(desk, SpaceId(space))

    async def index(_run: Run) -> None:
        for space in app.directory.ids():
            await index_turns(desk, space, between=app.jobs.courtesy.turn)
            await embed_questions(desk, space)
            await count_words(desk, space)
        await _index_vectors(app, room)

    async def tend(_run: Run) -> None:
        for space in app.directory.ids():
            await learn_blends(desk, space)
            await prune_recalls(desk, space)

    async def learn(transaction: Transaction, event: Event) -> None:
        await note_outcome(transaction, event)

    app.jobs.register(COUNT_WORDS, count, queue=Queue.INDEX, schedule=EACH_MINUTE)
    app.jobs.register(RECOUNT_WORDS, count_anew, queue=Queue.INDEX, limit=timedelta(hours=6))
    app.jobs.register(INDEX_TURNS, index, queue=Queue.INDEX, schedule=EACH_MINUTE, limit=timedelta(hours=6))
    app.jobs.register(TEND_RECALLS, tend, queue=Queue.SLEEP, schedule=NIGHTLY)
    app.outbox.subscribe(OUTCOME, LEARN_QUESTIONS, learn)


async def _index_vectors(app: "App", room: RecallRoom) -> None:
    """Have the index of the present model in place once a space has so many parts that it is searched by it."""
    embedder = app.embedder
    sizes = [size for (*_, name), size in room.desk.sizes.items() if embedder and name == embedder.name]
    if embedder is not None and any(size.parts >= READ_WHOLE_BELOW // 2 for size in sizes):
        model = VectorModel(name=embedder.name, dims=embedder.dimensions)
        await ensure_index(app.store, TURN_TABLE, model, column="embedding")
