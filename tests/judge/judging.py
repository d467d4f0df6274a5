"""A cascade on a store, with a clock that moves only when told to, and pairs to judge."""

import random
from itertools import count
from uuid import UUID

from tests.events.wiring import Wired

from festinger.ids import SpaceId, id_maker
from festinger.judge.cascade import Cascade, CascadeConfig
from festinger.judge.model import JudgeStatement, PairFeatures, PairJudgement, StatementPair
from festinger.judge.records import JudgeDeps, save_judgements
from festinger.llm.model import Model
from festinger.store.pool import Store

REFS = count(1)
UNDECIDED = ("Anna juggles clubs", "Anna juggles knives")
"""No rule knows how many things one juggles."""


class House:
    def __init__(self, store: Store, *, model: Model | None = None, terms: CascadeConfig | None = None) -> None:
        self.wired = Wired(store)
        self.hands = self.wired.hands
        self.model = model
        new_id = id_maker(self.hands.clock, random.Random(7))
        self.deps = JudgeDeps(store=store, outbox=self.wired.outbox, clock=self.hands.clock, new_id=new_id)
        self.cascade = Cascade(
            self.deps,
            stopwatch=self.hands.stopwatch,
            terms=lambda _space: terms or CascadeConfig(),
            model_for=self._model_for,
        )

    async def _model_for(self, _space: SpaceId) -> Model | None:
        return self.model

    async def keep(self, space: SpaceId, *opinions: PairJudgement) -> list[UUID]:
        async with self.deps.store.transaction() as transaction:
            return await save_judgements(self.deps, transaction, space, opinions)


def pair(old: str, new: str, *, similarity: float | None = None) -> StatementPair:
    return StatementPair(
        old_ref=UUID(int=next(REFS)),
        new_ref=UUID(int=next(REFS)),
        old=JudgeStatement(text=old, order=1),
        new=JudgeStatement(text=new, order=2),
        features=PairFeatures(similarity=similarity),
    )
