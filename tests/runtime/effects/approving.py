"""A whole house in which a person proposes, approves and undoes."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from tests.jobs.deps import rows
from tests.runtime.server import Hands, fixed_tools, opened

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, MemoryId, Origin, Scope, SessionId, cause
from festinger.memory.changes import load_existing_memories
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Memory
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
from festinger.proposals.sightings.recount import API, Suggestion
from festinger.proposals.verdicts.apply import UndoApprovalResult, undo_approval
from festinger.proposals.verdicts.decide import decide
from festinger.proposals.verdicts.propose import propose
from festinger.runtime.app import App
from festinger.store.queries import load_queries

Q = load_queries("festinger.proposals")
ADA = Author(name="Ada", proof=IdentityProof.LOGIN, id="ada")
PLACE = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT)


@dataclass
class Approving:
    app: App
    hands: Hands
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    async def learn(self, text: str, **more: Any) -> MemoryId:
        learned = await learn(self.app.memory.deps, PLACE, LearnRequest(text=text, **more))
        assert learned.memory is not None
        return learned.memory.id

    async def memory(self, id_: MemoryId) -> Memory:
        async with self.app.store.transaction() as transaction:
            return (await load_existing_memories(transaction, MAIN_SPACE, [id_]))[id_]

    async def propose(self, type_: ProposalType, payload: Mapping[str, Any], **more: Any) -> Proposal:
        """A person's own proposal: before a person at once, with its targets as they are."""
        number, now = next(self.numbers), self.hands.now
        given: dict[str, Any] = {"what": f"Change number {number}"} | more
        said = Suggestion(
            category="knowledge",
            scope="memory",
            producer=API,
            source=f"call-{number}",
            cause=cause(agent=DEFAULT_AGENT, session=SessionId("s1"), origin=Origin.PERSON, at=now),
            at=now,
            type=type_,
            payload=payload,
            **given,
        )
        made = await propose(self.app.deciding.office, MAIN_SPACE, said, author=ADA, channel=ReviewChannel.CONSOLE)
        return made.proposal

    async def decide(self, proposal: Proposal, kind: VerdictKind = VerdictKind.APPROVE, **more: Any) -> DecideResult:
        said = VerdictInput(
            proposal=proposal.id,
            kind=kind,
            author=ADA,
            channel=ReviewChannel.CONSOLE,
            ref=f"ref-{next(self.numbers)}",
            **more,
        )
        return await decide(self.app.deciding.office, MAIN_SPACE, said)

    async def approve(self, type_: ProposalType, payload: Mapping[str, Any], **more: Any) -> DecideResult:
        """Propose and approve."""
        return await self.decide(await self.propose(type_, payload), **more)

    async def undo(self, decided: DecideResult) -> UndoApprovalResult:
        return await undo_approval(self.app.deciding.office, MAIN_SPACE, decided.proposal.id, author=ADA)

    async def oppose(self, one: Proposal, other: Proposal) -> None:
        """Find that two ask for opposite things, as the second pass does."""
        a, b = sorted((one.id, other.id))
        async with self.app.store.transaction() as transaction:
            await transaction.one(
                Q["put_pair"],
                space=MAIN_SPACE,
                id=self.app.tools.new_id(),
                a=a,
                b=b,
                relation="opposite",
                similarity=0.9,
                embedder="hashed:64",
                words="",
                judgement="{}",
                at=self.hands.now,
            )
            await transaction.run(Q["note_opposite"], space=MAIN_SPACE, ids=[a, b])

    async def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        return await rows(self.app.store, sql, **values)


@asynccontextmanager
async def approving(url: str, folder: Path, *, seed: int = 1, **flags: Any) -> AsyncIterator[Approving]:
    """A second process on the same database needs a seed of its own, or it makes the same ids."""
    hands = Hands()
    chosen = {"embedding__model": "hashed:64"} | flags
    async with opened(url, folder, tools=fixed_tools(hands, seed=seed), **chosen) as app:
        yield Approving(app=app, hands=hands)
