"""Gives commands the memories, from a running server or from the store.

Both return the same documents, so a command shows the same either way. The speaker differs: at a terminal
with the store it is the owner, who may say whose word something is; at a server it is whoever the key says.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

import orjson

from festinger.cli.backends.world import SERVER_PAGE, Document, to_wire_document
from festinger.cli.client import connect_server, current_user
from festinger.cli.context import CommandContext
from festinger.ids import DEFAULT_AGENT, AgentId, SessionId, SpaceId, read_id

if TYPE_CHECKING:
    from festinger.client.memory import Memory
    from festinger.memory.deps import MemoryDeps
    from festinger.memory.learn.statement import LearnRequest
    from festinger.proxy.remote_client import RemoteServer
    from festinger.runtime.app import App

API = "/admin/api"

Query = Mapping[str, str]
"""A query for a list, with the API's parameter names."""


class MemoryBackend(Protocol):
    """Memories as commands see them."""

    async def learn(self, statement: Document) -> Document: ...
    async def learn_many(self, statements: Sequence[Document]) -> list[Document]: ...
    async def memories(self, query: Query, *, limit: int) -> list[Document]: ...
    async def memory(self, id_: str) -> Document: ...
    async def release(self, id_: str) -> Document: ...
    async def why(self, id_: str) -> Document: ...
    async def history(self, id_: str) -> Document: ...
    async def changes(self, query: Query, *, limit: int) -> list[Document]: ...
    async def undo(self, id_: str) -> Document: ...
    async def judgements(self, query: Query, *, limit: int) -> list[Document]: ...
    async def answer(self, id_: str, relation: str, *, note: str) -> Document: ...


@asynccontextmanager
async def open_memories(context: CommandContext, *, learns: bool = False) -> AsyncIterator[MemoryBackend]:
    """The memories of the command's space: at the named server or the one on this home, else in the store."""
    async with connect_server(context, find=True) as server:
        if server is not None:
            yield RemoteMemoryBackend(server=server, agent=context.agent)
            return
    from festinger.runtime.app import StartOptions

    async with context.app(start=StartOptions(providers=learns)) as app:
        yield StoreMemoryBackend(app=app, space=context.space_in(app), agent=AgentId(context.agent))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteMemoryBackend:
    server: "RemoteServer"
    agent: str

    @property
    def _as_agent(self) -> dict[str, str]:
        return {} if self.agent == DEFAULT_AGENT else {"agent": self.agent}

    async def learn(self, statement: Document) -> Document:
        return await self._ask("POST", "/memories", body=statement)

    async def learn_many(self, statements: Sequence[Document]) -> list[Document]:
        lines = [orjson.dumps(each) for each in statements]
        answers = self.server.ask_lines(f"{API}/memories/batch", lines, **self._as_agent)
        return [each async for each in answers]

    async def memories(self, query: Query, *, limit: int) -> list[Document]:
        return await self._all("/memories", query, limit=limit)

    async def memory(self, id_: str) -> Document:
        return await self._ask("GET", f"/memories/{quote(id_, safe='')}")

    async def release(self, id_: str) -> Document:
        released = await self._ask("POST", f"/memories/{quote(id_, safe='')}/release")
        memory: Document = released["memory"]
        return memory

    async def why(self, id_: str) -> Document:
        return await self._ask("GET", f"/memories/{quote(id_, safe='')}/why")

    async def history(self, id_: str) -> Document:
        return await self._ask("GET", f"/memories/{quote(id_, safe='')}/history")

    async def changes(self, query: Query, *, limit: int) -> list[Document]:
        return await self._all("/changes", query, limit=limit)

    async def undo(self, id_: str) -> Document:
        return await self._ask("POST", f"/changes/{quote(id_, safe='')}/undo")

    async def judgements(self, query: Query, *, limit: int) -> list[Document]:
        return await self._all("/judgements", query, limit=limit)

    async def answer(self, id_: str, relation: str, *, note: str) -> Document:
        body = {"relation": relation, "note": note}
        return await self._ask("POST", f"/judgements/{quote(id_, safe='')}", body=body)

    async def _ask(self, method: str, path: str, *, body: Any = None) -> Document:
        found: Document = await self.server.ask(method, API + path, body=body, **self._as_agent)
        return found

    async def _all(self, path: str, query: Query, *, limit: int) -> list[Document]:
        found: list[Document] = []
        asked = {**self._as_agent, **query}
        while len(found) < limit:
            size = min(limit - len(found), SERVER_PAGE)
            page = await self.server.ask("GET", API + path, limit=str(size), **asked)
            found += page["items"]
            if page["next"] is None:
                break
            asked["cursor"] = page["next"]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreMemoryBackend:
    app: "App"
    space: SpaceId
    agent: AgentId

    @property
    def _memory(self) -> "Memory":
        from festinger.client.memory import Memory

        return Memory(space=self.space, agent=self.agent, session=SessionId(current_user()), _app=self.app)

    async def learn(self, statement: Document) -> Document:
        from festinger.memory.learn.result import build_refused_error
        from festinger.memory.model import Action

        learned = await self._memory.learn(**_dated(statement))
        if learned.action is Action.REFUSED:
            raise build_refused_error(learned)
        return to_wire_document(learned.as_json())

    async def learn_many(self, statements: Sequence[Document]) -> list[Document]:
        """Learn each statement; one that cannot be parsed gets its own error and stops no other."""
        from festinger.errors import FestingerError
        from festinger.memory.learn.result import build_error_result
        from festinger.memory.learn.statement import LearnRequest

        read: list[LearnRequest | FestingerError] = []
        for each in statements:
            try:
                read.append(self._given(each))
            except FestingerError as error:
                read.append(error)
        fit = [each for each in read if isinstance(each, LearnRequest)]
        learned = iter(await self._memory.learn_many(fit))
        done = [next(learned) if isinstance(each, LearnRequest) else build_error_result(each) for each in read]
        return [to_wire_document(each.as_json()) for each in done]

    def _given(self, statement: Document) -> "LearnRequest":
        from festinger.client.episodes import parse_origin
        from festinger.errors import BadInput
        from festinger.ids import MemoryId, Origin
        from festinger.memory.learn.statement import LearnRequest

        fields = _dated(statement)
        origin = parse_origin(fields.pop("origin", Origin.PERSON))
        fields["tags"] = tuple(fields.get("tags", ()))
        fields["derived_from"] = tuple(MemoryId(read_id(each)) for each in fields.get("derived_from", ()))
        try:
            return LearnRequest(origin=origin, **fields)
        except TypeError as error:
            raise BadInput(f"This is no statement: {error}.", hint="Write `text`, and what you know of it.") from error

    async def memories(self, query: Query, *, limit: int) -> list[Document]:
        from festinger.ids import Scope
        from festinger.memory.query import LONGEST_PAGE, page_memories, parse_filter

        scope = Scope(space=self.space, agent=self.agent, session=SessionId(current_user()))
        wanted = replace(parse_filter(query), everybodys=self.agent == DEFAULT_AGENT)
        found: list[Document] = []
        after = None
        while len(found) < limit:
            size = min(limit - len(found), LONGEST_PAGE)
            listed = await page_memories(self._context, scope, wanted, after=after, limit=size)
            found += [to_wire_document(each.as_json()) for each in listed]
            if len(listed) < size:
                break
            after = listed[-1].seq
        return found

    async def memory(self, id_: str) -> Document:
        return to_wire_document((await (await self._eyes(id_)).get(id_)).as_json())

    async def release(self, id_: str) -> Document:
        return to_wire_document((await self._memory.release(id_, by=current_user())).memory.as_json())

    async def why(self, id_: str) -> Document:
        return to_wire_document((await (await self._eyes(id_)).why(id_)).as_json())

    async def history(self, id_: str) -> Document:
        return to_wire_document((await (await self._eyes(id_)).history(id_)).as_json())

    async def _eyes(self, id_: str) -> "Memory":
        """The handle of an agent that sees the memory: the store's owner sees each as its own agent does."""
        from festinger.memory.changes import find_memory, resolve_memory_id

        if self.agent != DEFAULT_AGENT:
            return self._memory
        memory = await resolve_memory_id(self._context, self.space, id_)
        async with self.app.store.transaction() as transaction:
            owner = (await find_memory(transaction, self.space, memory)).agent_id
        return self._memory.for_agent(owner) if owner else self._memory

    async def changes(self, query: Query, *, limit: int) -> list[Document]:
        from festinger.memory.changes import list_changes, parse_op, resolve_memory_id

        subject = query.get("subject")
        found = await list_changes(
            self._context,
            self.space,
            ops=[parse_op(query["op"])] if "op" in query else (),
            memory=await resolve_memory_id(self._context, self.space, subject) if subject else None,
            limit=limit,
        )
        return [to_wire_document(each.as_json()) for each in found]

    async def undo(self, id_: str) -> Document:
        return to_wire_document((await self._memory.undo(id_, by=current_user())).as_json())

    async def judgements(self, query: Query, *, limit: int) -> list[Document]:
        from festinger.runtime.review.queue import fetch_judgements

        final = {"true": True, "false": False}.get(query.get("final", ""))
        found = await fetch_judgements(self.app, self.space, final=final, limit=limit)
        return [to_wire_document(each) for each in found]

    async def answer(self, id_: str, relation: str, *, note: str) -> Document:
        from festinger.runtime.review.queue import answer_question, fetch_judgement

        wanted = read_id(id_)
        done = await answer_question(self.app, self.space, wanted, relation, by=current_user(), note=note)
        return to_wire_document(done.as_json() | {"question": await fetch_judgement(self.app, self.space, wanted)})

    @property
    def _context(self) -> "MemoryDeps":
        return self.app.memory.deps


def _dated(statement: Document) -> Document:
    """The statement with its times parsed."""
    from festinger.clock import read_moment

    found = dict(statement)
    for name in ("event_time", "valid_from"):
        if isinstance(found.get(name), str):
            found[name] = read_moment(found[name])
    return found
