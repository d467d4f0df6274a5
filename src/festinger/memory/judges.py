"""How do the judges of the house sit on this room's panel?"""

from uuid import UUID

from festinger.ids import SpaceId
from festinger.judge.cascade import Cascade
from festinger.judge.model import PERSON, Judgement, Pair, Record
from festinger.judge.records import answer, judgements_of
from festinger.store.pool import Transaction


class Judges(Cascade):
    """The cascade, which also keeps what people decide of memories."""

    async def overrule(self, transaction: Transaction, space: SpaceId, pair: Pair, said: Judgement) -> UUID:
        kept, _ = await answer(
            self.desk,
            transaction,
            space,
            pair,
            name=said.judge.removeprefix(PERSON),
            relation=said.relation,
            current=said.current,
            reasoning=said.reasoning,
        )
        return kept

    async def said_of(self, space: SpaceId, ref: UUID) -> list[Record]:
        return await judgements_of(self.desk, space, ref)
