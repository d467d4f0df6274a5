"""A room of proposals in which people decide: an office, effects that tests can break, and reviewers of every channel."""

import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from tests.jobs.desk import rows
from tests.proposals.proposing import Room

from festinger.errors import FestingerError
from festinger.ids import MAIN_SPACE
from festinger.llm.model import Model
from festinger.proposals.deps import Office
from festinger.proposals.model import Author, Channel, Decided, Kind, Proof, Proposal, Said, Type
from festinger.proposals.producers import muted_until, values
from festinger.proposals.verdicts.apply import Undone, undo
from festinger.proposals.verdicts.decide import decide
from festinger.proposals.verdicts.effects import Afterwards, Applied, Deed, Effect, Look
from festinger.proposals.verdicts.tasks import Advice
from festinger.store.pool import Store

WHAT = "Retry the failed query"
ADA = Author(name="Ada", proof=Proof.LOGIN, id="ada")
AGENT = Author(name="Ada", proof=Proof.NONE, id="key-of-an-agent")


class Trial(Advice):
    """Advice that finds what a test tells it to find, and fails when told to, after it has done its work."""

    def __init__(self, room: Room) -> None:
        super().__init__(room.desk)
        self.found = Look()
        self.fails: FestingerError | None = None
        self.refuses_undo: FestingerError | None = None
        self.after = 0
        self.seen: list[Mapping[str, Any]] = []

    async def look(self, deed: Deed) -> Look:
        return self.found

    async def apply(self, deed: Deed) -> Applied:
        self.seen.append({"what": deed.proposal.what, "by": deed.by, **deed.payload})
        done = await super().apply(deed)
        if self.fails is not None:
            raise self.fails
        return replace(done, changes=("change-1",), afterwards=self._afterwards)

    async def undo(self, deed: Deed, applied: Applied) -> Afterwards:
        if self.refuses_undo is not None:
            raise self.refuses_undo
        await super().undo(deed, applied)
        return self._afterwards

    async def _afterwards(self) -> None:
        self.after += 1


class Court(Room):
    """One process in which people decide."""

    def __init__(self, store: Store, **settings: Any) -> None:
        super().__init__(store, **settings)
        bare = self.desk
        self.desk = replace(bare, values=partial(values, bare), muted_until=partial(muted_until, bare))
        self.trial = Trial(self)
        self.model: Model | None = None
        effects: dict[Type, Effect] = dict.fromkeys(Type, self.trial)
        self.office = Office(
            desk=self.desk,
            effects=effects | {Type.ADVICE: Advice(self.desk)},
            entropy=random.Random(7).randbytes,
            thinker=self._thinker,
        )
        self._refs = count(1)

    async def _thinker(self, _space: object) -> Model | None:
        return self.model

    async def promoted(self, what: str = WHAT, **more: Any) -> Proposal:
        """A proposal that is before a person."""
        sighted = await self.ripen(what, **more)
        await self.promote()
        return await self.proposal(sighted)

    def said(self, proposal: Proposal, kind: Kind = Kind.APPROVE, **more: Any) -> Said:
        given: dict[str, Any] = {"author": ADA, "channel": Channel.CONSOLE, "ref": f"r{next(self._refs)}"}
        return Said(proposal=proposal.id, kind=kind, **given | more)

    async def decide(self, proposal: Proposal, kind: Kind = Kind.APPROVE, **more: Any) -> Decided:
        return await decide(self.office, MAIN_SPACE, self.said(proposal, kind, **more))

    async def undo(self, proposal: Proposal, author: Author = ADA) -> Undone:
        return await undo(self.office, MAIN_SPACE, proposal.id, author=author)

    async def table(self, name: str) -> list[dict[str, Any]]:
        return await rows(self.store, f"select * from {name}")
