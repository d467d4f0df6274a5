"""Gives commands the inbox, from a running server or from the store.

Both return the same documents, so a command shows the same either way. The author differs: at a terminal with
the store it is the owner, identified by the user of this machine; at a server it is whoever the key says.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from festinger.cli.backends.world import Document, to_wire_document
from festinger.cli.client import current_user
from festinger.cli.context import CommandContext
from festinger.ids import AgentId, Origin, SessionId, cause, read_id

if TYPE_CHECKING:
    from festinger.proxy.remote_client import RemoteServer
    from festinger.services.reviews import ReviewService, VerdictDetails

API = "/admin/api"
PROPOSALS = f"{API}/proposals"
REVIEWERS = f"{API}/reviewers"

Query = Mapping[str, str]
"""A query for proposals, with the API's parameter names."""


class InboxBackend(Protocol):
    """The inbox as commands see it."""

    async def overview(self) -> Document: ...
    async def proposals(self, query: Query, *, limit: int) -> list[Document]: ...
    async def card(self, id_: str) -> Document: ...
    async def explain(self, a: str, b: str) -> Document: ...
    async def propose(self, draft: Document) -> Document: ...
    async def promote(self, *, dry_run: bool) -> Document: ...
    async def decide(self, id_: str, said: Document) -> Document: ...
    async def decide_many(self, ids: Sequence[str], said: Document) -> Document: ...
    async def operation(self, id_: str, name: str) -> Document: ...
    async def pairs(self) -> list[Document]: ...
    async def decide_pair(self, id_: str, *, accept: bool) -> Document: ...
    async def tasks(self, *, state: str) -> list[Document]: ...
    async def close_task(self, id_: str, *, state: str) -> Document: ...
    async def reviewers(self) -> list[Document]: ...
    async def add_reviewer(self, name: str, identities: Mapping[str, list[str]]) -> Document: ...
    async def send_away(self, name: str) -> Document: ...
    async def codes(self, name: str) -> Document: ...


@asynccontextmanager
async def open_inbox(context: CommandContext) -> AsyncIterator[InboxBackend]:
    """The inbox of the command's space: at its server if it names one, else in the store."""
    if context.server is not None:
        from festinger.proxy.remote_client import open_remote

        async with open_remote(context.server, space=context.space, key=context.key) as server:
            yield RemoteInboxBackend(server=server)
        return
    from festinger.proposals.model import Author, IdentityProof, ReviewChannel
    from festinger.services.reviews import ReviewService

    async with context.app() as app:
        name = current_user().removeprefix("cli:")
        author = Author(name=name, proof=IdentityProof.UID, id=str(os.getuid()))
        review = ReviewService(app=app, space=context.space_in(app), author=author, channel=ReviewChannel.CLI)
        yield StoreInboxBackend(review=review, agent=AgentId(context.agent))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteInboxBackend:
    server: "RemoteServer"

    async def overview(self) -> Document:
        return await self._ask("GET", f"{API}/inbox")

    async def proposals(self, query: Query, *, limit: int) -> list[Document]:
        return list((await self._ask("GET", PROPOSALS, limit=str(limit), **query))["items"])

    async def card(self, id_: str) -> Document:
        return await self._ask("GET", f"{PROPOSALS}/{_part(id_)}")

    async def explain(self, a: str, b: str) -> Document:
        return await self._ask("GET", f"{PROPOSALS}/{_part(a)}/compare/{_part(b)}")

    async def propose(self, draft: Document) -> Document:
        return await self._ask("POST", PROPOSALS, body=draft)

    async def promote(self, *, dry_run: bool) -> Document:
        return await self._ask("POST", f"{PROPOSALS}/promote", body={"dry_run": dry_run})

    async def decide(self, id_: str, said: Document) -> Document:
        return await self._ask("POST", f"{PROPOSALS}/{_part(id_)}/verdict", body=said)

    async def decide_many(self, ids: Sequence[str], said: Document) -> Document:
        return await self._ask("POST", f"{PROPOSALS}/verdicts", body={**said, "ids": list(ids)})

    async def operation(self, id_: str, name: str) -> Document:
        return await self._ask("POST", f"{PROPOSALS}/{_part(id_)}/{name}")

    async def pairs(self) -> list[Document]:
        return list((await self._ask("GET", f"{PROPOSALS}/pairs"))["items"])

    async def decide_pair(self, id_: str, *, accept: bool) -> Document:
        return await self._ask("POST", f"{PROPOSALS}/pairs/{_part(id_)}", body={"accept": accept})

    async def tasks(self, *, state: str) -> list[Document]:
        return list((await self._ask("GET", f"{PROPOSALS}/tasks", state=state))["items"])

    async def close_task(self, id_: str, *, state: str) -> Document:
        return await self._ask("POST", f"{PROPOSALS}/tasks/{_part(id_)}", body={"state": state})

    async def reviewers(self) -> list[Document]:
        return list((await self._ask("GET", REVIEWERS))["items"])

    async def add_reviewer(self, name: str, identities: Mapping[str, list[str]]) -> Document:
        return await self._ask("POST", REVIEWERS, body={"name": name, "identities": dict(identities)})

    async def send_away(self, name: str) -> Document:
        return await self._ask("DELETE", f"{REVIEWERS}/{_part(name)}")

    async def codes(self, name: str) -> Document:
        return await self._ask("POST", f"{REVIEWERS}/{_part(name)}/codes")

    async def _ask(self, method: str, path: str, *, body: Any = None, **query: str) -> Document:
        found: Document = await self.server.ask(method, path, body=body, **query)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreInboxBackend:
    review: "ReviewService"
    agent: AgentId

    async def overview(self) -> Document:
        return to_wire_document(await self.review.overview())

    async def proposals(self, query: Query, *, limit: int) -> list[Document]:
        from festinger.services.reviews import parse_proposal_filter

        return [to_wire_document(each) for each in await self.review.listed(parse_proposal_filter(query, limit=limit))]

    async def card(self, id_: str) -> Document:
        return to_wire_document(await self.review.card(await self.review.find(id_)))

    async def explain(self, a: str, b: str) -> Document:
        return to_wire_document(await self.review.explain(await self.review.find(a), await self.review.find(b)))

    async def propose(self, draft: Document) -> Document:
        from festinger.services.reviews import build_suggestion

        tools = self.review.app.tools
        now = tools.clock()
        person = cause(agent=self.agent, session=SessionId(current_user()), origin=Origin.PERSON, at=now)
        said = build_suggestion(draft, cause=person, at=now, source=str(tools.new_id()))
        return to_wire_document(await self.review.propose(said, approve=bool(draft.get("approve"))))

    async def promote(self, *, dry_run: bool) -> Document:
        return to_wire_document(await self.review.promote(dry_run=dry_run))

    async def decide(self, id_: str, said: Document) -> Document:
        from festinger.proposals.model import parse_verdict_kind

        proposal = await self.review.find(id_)
        return to_wire_document(await self.review.decide(proposal, parse_verdict_kind(said["verdict"]), _words(said)))

    async def decide_many(self, ids: Sequence[str], said: Document) -> Document:
        from festinger.proposals.model import parse_verdict_kind

        found = [await self.review.find(each) for each in ids]
        return to_wire_document(await self.review.decide_many(found, parse_verdict_kind(said["verdict"]), _words(said)))

    async def operation(self, id_: str, name: str) -> Document:
        operations = {"undo": self.review.undo, "rebuild": self.review.rebuild, "release": self.review.release}
        return to_wire_document(await operations[name](await self.review.find(id_)))

    async def pairs(self) -> list[Document]:
        return [to_wire_document(each) for each in await self.review.pairs()]

    async def decide_pair(self, id_: str, *, accept: bool) -> Document:
        return to_wire_document(await self.review.decide_pair(read_id(id_), accept=accept))

    async def tasks(self, *, state: str) -> list[Document]:
        from festinger.proposals.verdicts.tasks import TaskState

        wanted = None if state == "all" else TaskState(state)
        return [to_wire_document(each) for each in await self.review.tasks(state=wanted)]

    async def close_task(self, id_: str, *, state: str) -> Document:
        from festinger.proposals.verdicts.tasks import TaskState

        return to_wire_document(await self.review.close_task(read_id(id_), TaskState(state)))

    async def reviewers(self) -> list[Document]:
        return [to_wire_document(each) for each in await self.review.reviewers()]

    async def add_reviewer(self, name: str, identities: Mapping[str, list[str]]) -> Document:
        return to_wire_document(await self.review.add_reviewer(name, identities))

    async def send_away(self, name: str) -> Document:
        return to_wire_document(await self.review.send_away(name))

    async def codes(self, name: str) -> Document:
        return to_wire_document(await self.review.new_codes(name))


def _words(said: Document) -> "VerdictDetails":
    from festinger.clock import read_moment
    from festinger.services.reviews import VerdictDetails

    until = said.get("until")
    return VerdictDetails(
        note=said.get("note", ""),
        of=said.get("of", ""),
        until=read_moment(until) if until else None,
        edits=said.get("edits"),
        word=said.get("word", ""),
        seen=said.get("seen", ()),
    )


def _part(text: str) -> str:
    return quote(text, safe="")
