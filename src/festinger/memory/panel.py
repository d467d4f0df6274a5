"""Who is asked how two memories relate?

The port to the judges, as this room needs them: rules at any moment, the small model and what was judged before
outside of transactions, an LLM only where there is time. The judges keep what they say; what follows from it is
decided here.
"""

from collections.abc import Sequence
from typing import Protocol
from uuid import UUID

from festinger.ids import SpaceId
from festinger.judge.model import Judgement, Opinion, Pair, Record, Waiting
from festinger.store.pool import Transaction


class Panel(Protocol):
    def by_rules(self, pair: Pair) -> Judgement:
        """What rules say: at once, and nothing is kept."""
        ...

    async def at_once(self, space: SpaceId, pairs: Sequence[Pair]) -> list[Judgement]:
        """What people said before, rules and the small model say; not within a transaction."""
        ...

    async def with_model_all(self, space: SpaceId, pairs: Sequence[Pair]) -> list[Judgement]:
        """What the whole cascade says, an LLM included; not within a transaction."""
        ...

    async def keep(self, transaction: Transaction, space: SpaceId, opinions: Sequence[Opinion]) -> list[UUID]:
        """Keep what was said; the ids, in the same order."""
        ...

    async def waiting(self, transaction: Transaction, space: SpaceId, ref: UUID) -> list[Waiting]:
        """The pairs of a memory that wait for a judge."""
        ...

    async def drop(self, transaction: Transaction, space: SpaceId, ref: UUID) -> None:
        """Let nothing wait any more that is about a memory which is gone."""
        ...

    async def overrule(self, transaction: Transaction, space: SpaceId, pair: Pair, said: Judgement) -> UUID:
        """Keep what a person decided of a pair, over all that was said of it before."""
        ...

    async def said_of(self, space: SpaceId, ref: UUID) -> list[Record]:
        """What was said of a memory, the newest first; not within a transaction."""
        ...
