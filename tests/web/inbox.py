"""A house with an inbox behind its pages: a clock that moves when told to, an agent that proposes, people who decide."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.jobs.deps import rows
from tests.runtime.server import Hands, fixed_tools
from tests.web.asgi import Got
from tests.web.deps import Desk, deps

from festinger.services.reviews import Document
from festinger.store.repositories.auth import AccessRole

PROPOSALS = "/admin/api/proposals"
WHAT = "Retry the failed query"
DRAFT = {"what": WHAT, "category": "reliability", "scope": "tools", "why": "It fails at night."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    deps: Desk
    hands: Hands
    ann: str
    """The key of a reviewer."""
    bot: str
    """The key of an agent."""

    async def ask(self, method: str, path: str = "", *, key: str | None = None, **more: Any) -> Got:
        """Ask the API of proposals, as Ann unless another key is shown."""
        return await self.deps.ask(method, PROPOSALS + path, key=key or self.ann, **more)

    async def sight(self, what: str = WHAT, *, session: str = "s1", **more: Any) -> Got:
        """An agent says that something should change."""
        headers = {"x-festinger-session": session}
        return await self.ask("POST", body=DRAFT | {"what": what} | more, key=self.bot, headers=headers)

    async def proposed(self, what: str = WHAT, **more: Any) -> Document:
        """What Ann proposes herself: it is before a person at once."""
        card: Document = (await self.ask("POST", body=DRAFT | {"what": what} | more)).json["proposal"]
        return card

    async def ripened(self, what: str = WHAT) -> Document:
        """A proposal that an agent saw on two days and that a run of the gate put before a person."""
        await self.sight(what)
        self.hands.forward(timedelta(days=8))
        seen = await self.sight(what, session="s2")
        await self.ask("POST", "/promote")
        card: Document = (await self.ask("GET", f"/{seen.json['proposal']['id']}")).json
        return card

    async def decide(self, card: Document, verdict: str, *, key: str | None = None, **more: Any) -> Got:
        headers = more.pop("headers", None)
        body = {"verdict": verdict, **more}
        return await self.ask("POST", f"/{card['id']}/verdict", body=body, key=key, headers=headers)

    async def suggest(self, one: Document, other: Document, relation: str = "same") -> str:
        """Write a pair as the second pass would."""
        a, b = sorted((one["id"], other["id"]))
        sql = (
            "insert into proposal_pair (space_id, id, a_id, b_id, relation, similarity, embedder, words, at) values "
            "('main', %(id)s, %(a)s, %(b)s, %(relation)s, 0.9, 'hashed:64', '', %(at)s) returning id"
        )
        pair = str(self.deps.app.tools.new_id())
        values = {"id": pair, "a": a, "b": b, "relation": relation, "at": self.hands.now}
        await rows(self.deps.app.store, sql, **values)
        return pair

    async def change(self, sets: str) -> None:
        """Put every proposal into a state that other deeds bring about."""
        await rows(self.deps.app.store, f"update proposal set {sets} returning id")

    async def table(self, name: str) -> list[dict[str, Any]]:
        return await rows(self.deps.app.store, f"select * from {name}")


@asynccontextmanager
async def inbox(url: str, folder: Path, **how: Any) -> AsyncIterator[Inbox]:
    hands = Hands()
    tools = fixed_tools(hands)
    async with deps(url, folder, tools=tools, embedding__model="hashed:64", **how) as at:
        ann, bot = (await at.new_key(AccessRole.REVIEWER, name="ann"), await at.new_key(AccessRole.AGENT, name="bot"))
        yield Inbox(deps=at, hands=hands, ann=ann, bot=bot)
