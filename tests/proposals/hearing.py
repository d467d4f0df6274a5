"""A room of proposals in which people decide: an office, effects that tests can break, and reviewers of every channel."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from tests.jobs.deps import rows
from tests.proposals.proposing import Room

from festinger.errors import FestingerError
from festinger.ids import MAIN_SPACE
from festinger.llm.model import Model
from festinger.proposals.deps import Afterwards, EffectContext, EffectPreview, EffectResult, ProposalEffect, ReviewDeps
from festinger.proposals.model import (
    Author,
    DecideResult,
    IdentityProof,
    Proposal,
    ProposalType,
    ReviewChannel,
    VerdictInput,
    VerdictKind,
)
from festinger.proposals.producers import load_muted_until, load_producer_scores
from festinger.proposals.verdicts.apply import UndoApprovalResult, undo_approval
from festinger.proposals.verdicts.decide import decide
from festinger.proposals.verdicts.tasks import AdviceEffect
from festinger.store.pool import Store

WHAT = "Retry the failed query"
ADA = Author(name="Ada", proof=IdentityProof.LOGIN, id="ada")
AGENT = Author(name="Ada", proof=IdentityProof.NONE, id="key-of-an-agent")


class Trial(AdviceEffect):
    """Advice that finds what a test tells it to find, and fails when told to, after it has done its work."""

    def __init__(self, room: Room) -> None:
        super().__init__(room.deps)
        self.found = EffectPreview()
        self.fails: FestingerError | None = None
        self.refuses_undo: FestingerError | None = None
        self.after = 0
        self.seen: list[Mapping[str, Any]] = []

    async def look(self, operation: EffectContext) -> EffectPreview:
        return self.found

    async def apply(self, operation: EffectContext) -> EffectResult:
        self.seen.append({"what": operation.proposal.what, "by": operation.by, **operation.payload})
        done = await super().apply(operation)
        if self.fails is not None:
            raise self.fails
        return replace(done, changes=("change-1",), afterwards=self._afterwards)

    async def undo(self, operation: EffectContext, applied: EffectResult) -> Afterwards:
        if self.refuses_undo is not None:
            raise self.refuses_undo
        await super().undo(operation, applied)
        return self._afterwards

    async def _afterwards(self) -> None:
        self.after += 1


class Court(Room):
    """One process in which people decide."""

    def __init__(self, store: Store, **settings: Any) -> None:
        super().__init__(store, **settings)
        bare = self.deps
        self.deps = replace(
            bare, values=partial(load_producer_scores, bare), muted_until=partial(load_muted_until, bare)
        )
        self.trial = Trial(self)
        self.model: Model | None = None
        effects: dict[ProposalType, ProposalEffect] = dict.fromkeys(ProposalType, self.trial)
        self.office = ReviewDeps(
            deps=self.deps,
            effects=effects | {ProposalType.ADVICE: AdviceEffect(self.deps)},
            thinker=self._thinker,
            related=self._related,
        )
        self._refs = count(1)

    async def _related(self, *_: object) -> dict[str, Any]:
        return {}

    async def _thinker(self, _space: object) -> Model | None:
        return self.model

    async def promoted(self, what: str = WHAT, **more: Any) -> Proposal:
        """A proposal that is before a person."""
        sighted = await self.ripen(what, **more)
        await self.promote()
        return await self.proposal(sighted)

    def said(self, proposal: Proposal, kind: VerdictKind = VerdictKind.APPROVE, **more: Any) -> VerdictInput:
        given: dict[str, Any] = {"author": ADA, "channel": ReviewChannel.CONSOLE, "ref": f"r{next(self._refs)}"}
        return VerdictInput(proposal=proposal.id, kind=kind, **given | more)

    async def decide(self, proposal: Proposal, kind: VerdictKind = VerdictKind.APPROVE, **more: Any) -> DecideResult:
        return await decide(self.office, MAIN_SPACE, self.said(proposal, kind, **more))

    async def undo(self, proposal: Proposal, author: Author = ADA) -> UndoApprovalResult:
        return await undo_approval(self.office, MAIN_SPACE, proposal.id, author=author)

    async def table(self, name: str) -> list[dict[str, Any]]:
        return await rows(self.store, f"select * from {name}")
