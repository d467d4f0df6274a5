"""A room of proposals with everything handed in: a clock that tests move, and producers of any agent and session."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

from tests.events.wiring import Wired
from tests.jobs.deps import Hands, rows

from festinger.embedding.embedder import Embedder
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Origin, SessionId, SpaceId, cause, id_maker
from festinger.judge.model import Judgement, StatementPair, unsure_judgement
from festinger.proposals.deps import Key, ProposalDeps, ProposalJudge
from festinger.proposals.model import Proposal, proposal_of
from festinger.proposals.promotion import PromotionReport, promote
from festinger.proposals.sightings.intake import record_sighting
from festinger.proposals.sightings.recount import ProposalSighting, SightingResult, Suggestion, sighting_of
from festinger.settings.proposals import ProposalsSettings
from festinger.store.pool import Store, Transaction

DAY = timedelta(days=1)
SEEDS = count(1)


class UnsureJudge:
    """A judge that is never sure."""

    async def with_model_all(self, space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        return [unsure_judgement("nobody", "there is no judge") for _ in pairs]


class Room:
    """One process with its proposals."""

    def __init__(
        self,
        store: Store,
        *,
        hands: Hands | None = None,
        embedder: Embedder | None = None,
        judges: ProposalJudge = UnsureJudge(),  # noqa: B008 - it has no state
        **settings: Any,
    ) -> None:
        self.store = store
        self.hands = hands or Hands()
        self.wired = Wired(store, self.hands)
        self.terms = ProposalsSettings(**settings)
        self.embedder = embedder
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.values: Mapping[Key, float] = {}
        self.muted: dict[Key, datetime] = {}
        self._sources = count(1)
        self.deps = ProposalDeps(
            store=store,
            outbox=self.wired.outbox,
            clock=self.hands.clock,
            new_id=id_maker(self.hands.clock, random.Random(next(SEEDS))),
            terms=lambda _space: self.terms,
            ask=self._ask,
            values=self._values,
            muted_until=self._muted_until,
            judges=judges,
            embedder=lambda: self.embedder,
        )

    async def _ask(self, _transaction: Transaction, job: str, **ids: Any) -> None:
        self.asked.append((job, ids))

    async def _values(self, _transaction: Transaction, _space: SpaceId) -> Mapping[Key, float]:
        return self.values

    async def _muted_until(self, _transaction: Transaction, _space: SpaceId, key: Key) -> datetime | None:
        return self.muted.get(key)

    def suggestion(
        self,
        what: str = "Retry the failed query",
        *,
        session: str = "s1",
        agent: str = DEFAULT_AGENT,
        origin: Origin = Origin.MODEL,
        days_ago: float = 0,
        at: datetime | None = None,
        source: str = "",
        **more: Any,
    ) -> Suggestion:
        """A suggestion that was made some days ago; of a source of its own unless one is named."""
        when = at or self.hands.now - days_ago * DAY
        values = {"category": "reliability", "scope": "tools", "producer": "reflection"} | more
        return Suggestion(
            what=what,
            source=source or f"source-{next(self._sources)}",
            cause=cause(agent=AgentId(agent), session=SessionId(session), origin=origin, at=when),
            at=when,
            **values,
        )

    async def sight(
        self, what: str = "Retry the failed query", *, space: SpaceId = MAIN_SPACE, **more: Any
    ) -> SightingResult:
        return await record_sighting(self.deps, space, self.suggestion(what, **more))

    async def ripen(self, what: str = "Retry the failed query", **more: Any) -> SightingResult:
        """Let something be seen by two causes, ten and eight days ago."""
        await self.sight(what, session="r1", days_ago=10, **more)
        return await self.sight(what, session="r2", days_ago=8, **more)

    async def promote(self, *, space: SpaceId = MAIN_SPACE, dry_run: bool = False) -> PromotionReport:
        return await promote(self.deps, space, dry_run=dry_run)

    async def proposal(self, of: SightingResult | UUID) -> Proposal:
        id_ = of.proposal if isinstance(of, SightingResult) else of
        found = await rows(self.store, "select * from proposal where id = %(id)s", id=id_)
        return proposal_of(found[0])

    async def change(self, seen: SightingResult, sets: str, **values: Any) -> None:
        """Put a proposal into a state that other deeds bring about."""
        await rows(self.store, f"update proposal set {sets} where id = %(id)s returning id", id=seen.proposal, **values)

    async def reject(self, of: SightingResult, *, days: int = 30) -> None:
        await self.change(
            of,
            "state = 'rejected', rejections = rejections + 1, decided_at = %(at)s, suppressed_until = %(until)s",
            at=self.hands.now,
            until=self.hands.now + days * DAY,
        )

    async def proposals(self, space: SpaceId = MAIN_SPACE) -> list[Proposal]:
        found = await rows(
            self.store, "select * from proposal where space_id = %(space)s order by created_at, id", space=space
        )
        return [proposal_of(row) for row in found]

    async def sightings(self) -> list[ProposalSighting]:
        return [sighting_of(row) for row in await rows(self.store, "select * from proposal_sighting order by at, id")]

    async def events(self, *names: str) -> list[dict[str, Any]]:
        found = await rows(self.store, "select name, payload from event order by seq")
        return [row["payload"] for row in found if not names or row["name"] in names]

    def forward(self, by: timedelta = DAY) -> datetime:
        self.hands.forward(by)
        return self.hands.now
