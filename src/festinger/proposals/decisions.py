"""What was said of a proposal, and what did that do?

Every verdict, whether anybody acted on it or not, and every effect, whether it was taken back or not. Nothing here
changes anything.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from festinger.ids import SpaceId
from festinger.proposals.desk import Desk
from festinger.proposals.shelf import visible
from festinger.proposals.verdict import Effect, Verdict, effect_of, verdict_of
from festinger.store.queries import queries_of

Q = queries_of("festinger.proposals")

MOST = 50
"""Verdicts and effects that are shown of one proposal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What people said of one proposal and what came of it, the newest first."""

    verdicts: tuple[Verdict, ...]
    effects: tuple[Effect, ...]

    def as_json(self) -> dict[str, Any]:
        """As every door shows it, with hidden characters made visible."""
        return {
            "verdicts": [visible(each.as_json()) for each in self.verdicts],
            "effects": [visible(each.as_json()) for each in self.effects],
        }


async def decisions(desk: Desk, space: SpaceId, proposal: UUID) -> Decisions:
    """All that was decided of a proposal."""
    async with desk.store.transaction() as transaction:
        said = await transaction.all(Q["verdicts_of"], space=space, proposal=proposal, limit=MOST)
        done = await transaction.all(Q["effects_of"], space=space, proposal=proposal, limit=MOST)
    return Decisions(verdicts=tuple(map(verdict_of, said)), effects=tuple(map(effect_of, done)))
