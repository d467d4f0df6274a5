"""Gives commands the world, from a running server or from the store.

Both return the same documents, so a command shows the same either way. The speaker differs: at a terminal
with the store it is the owner; at a server it is whoever the key says.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

import orjson

from festinger.cli.client import connect_server, current_user
from festinger.cli.context import CommandContext
from festinger.ids import DEFAULT_AGENT, AgentId, Cause, Origin, SessionId, SpaceId, cause, read_id

if TYPE_CHECKING:
    from festinger.proxy.remote_client import RemoteServer
    from festinger.runtime.app import App
    from festinger.world.conflicts import Conflict

Document = dict[str, Any]

EVERY_STATUS = ("pending", "resolved", "dismissed")
MOST_LISTED = 1000
SERVER_PAGE = 200
"""The most items that a server returns at once."""


class WorldBackend(Protocol):
    """The world as commands see it."""

    async def state(self, facts: Sequence[str]) -> list[Document]: ...
    async def concept(self, token: str) -> Document: ...
    async def conflicts(self, *, every: bool, limit: int) -> list[Document]: ...
    async def conflict(self, id_: str) -> Document: ...
    async def decide(self, id_: str, decision: str, *, texts: Sequence[str] = (), **more: str | None) -> Document: ...
    async def undo(self, id_: str) -> Document: ...
    async def resolve(self, *, dry_run: bool) -> Document: ...
    async def recall(self, cue: str, **asked: Any) -> Document: ...


@asynccontextmanager
async def open_world(context: CommandContext, *, recalls: bool = False) -> AsyncIterator[WorldBackend]:
    """The world of the command's space: at a server, else in the store.

    To recall, a command also asks the server that runs on its home if it names none.
    """
    async with connect_server(context, find=recalls) as server:
        if server is not None:
            yield RemoteWorldBackend(server=server, agent=context.agent)
            return
    from festinger.runtime.app import StartOptions

    # Without the embedder, only what shares a word with the cue would be recalled.
    async with context.app(start=StartOptions(providers=recalls)) as app:
        yield StoreWorldBackend(context=context, app=app, space=context.space_in(app))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteWorldBackend:
    server: "RemoteServer"
    agent: str

    async def state(self, facts: Sequence[str]) -> list[Document]:
        said = await self.server.ask("POST", "/iknowthat", body={"facts": list(facts)})
        return list(said["items"])

    async def concept(self, token: str) -> Document:
        found: Document = await self.server.ask("GET", f"/admin/api/concepts/{quote(token, safe='')}")
        return found

    async def conflicts(self, *, every: bool, limit: int) -> list[Document]:
        query = {"status": "all"} if every else {}
        found: list[Document] = []
        while len(found) < limit:
            size = min(limit - len(found), SERVER_PAGE)
            page = await self.server.ask("GET", "/conflicts", limit=str(size), **query)
            found += page["items"]
            if page["next"] is None:
                break
            query = {**query, "cursor": page["next"]}
        return found

    async def conflict(self, id_: str) -> Document:
        found: Document = await self.server.ask("GET", f"/conflicts/{id_}")
        return found

    async def decide(self, id_: str, decision: str, *, texts: Sequence[str] = (), **more: str | None) -> Document:
        given = {name: value for name, value in more.items() if value}
        if decision == "dismiss":
            body: Document = {"note": given.get("note", "")}
            operation = "dismiss"
        else:
            body, operation = {"decision": decision, **given, "texts": list(texts)}, "resolve"
        found: Document = await self.server.ask("POST", f"/conflicts/{id_}/{operation}", body=body)
        return found

    async def undo(self, id_: str) -> Document:
        found: Document = await self.server.ask("POST", f"/conflicts/{id_}/undo")
        return found

    async def resolve(self, *, dry_run: bool) -> Document:
        query = {"dry_run": "true"} if dry_run else {}
        found: Document = await self.server.ask("POST", "/resolve/run", **query)
        return found

    async def recall(self, cue: str, **asked: Any) -> Document:
        body = {"cue": cue, **{name: _sent(value) for name, value in asked.items() if value is not None}}
        agent = {} if self.agent == DEFAULT_AGENT else {"agent": self.agent}
        found: Document = await self.server.ask("POST", "/admin/api/recall", body=body, **agent)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreWorldBackend:
    context: CommandContext
    app: "App"
    space: SpaceId

    async def state(self, facts: Sequence[str]) -> list[Document]:
        from festinger.world.learn import fact_result_json, iknowthat

        await self.app.world.need(self.space)
        room = self.app.world.deps
        known = await iknowthat(room, self.space, facts, because=self._person())
        return [to_wire_document(await fact_result_json(room, self.space, each)) for each in known]

    async def concept(self, token: str) -> Document:
        from festinger.world.query import build_concept_report, concept_report_json

        return to_wire_document(concept_report_json(await build_concept_report(self.app.world.deps, self.space, token)))

    async def conflicts(self, *, every: bool, limit: int) -> list[Document]:
        from festinger.world.conflicts import load_conflicts

        room = self.app.world.deps
        found = await load_conflicts(room, self.space, statuses=EVERY_STATUS if every else None, limit=limit)
        return [await self._shown(item) for item in found]

    async def conflict(self, id_: str) -> Document:
        from festinger.world.conflicts import find_conflict

        async with self.app.store.transaction() as transaction:
            found = await find_conflict(transaction, self.space, read_id(id_))
        return await self._shown(found)

    async def decide(self, id_: str, decision: str, *, texts: Sequence[str] = (), **more: str | None) -> Document:
        from festinger.world.decisions import ConflictJudge, ConflictVerdict, decide_conflict

        verdict = ConflictVerdict(
            decision=decision,
            judge=ConflictJudge.PERSON,
            by=current_user(),
            existing_dimension=more.get("existing_dimension"),
            new_dimension=more.get("new_dimension"),
            dimension=more.get("dimension"),
            texts=tuple(texts),
            reasoning=more.get("note") or "",
        )
        return await self._shown(await decide_conflict(self.app.world.deps, self.space, read_id(id_), verdict))

    async def undo(self, id_: str) -> Document:
        from festinger.world.decisions import undo_conflict_decision

        return await self._shown(
            await undo_conflict_decision(self.app.world.deps, self.space, read_id(id_), by=current_user())
        )

    async def resolve(self, *, dry_run: bool) -> Document:
        from festinger.runtime.world import request_resolution

        run, pending = await request_resolution(self.app, self.app.world, self.space, dry_run=dry_run)
        return {"run_id": str(run), "pending": pending}

    async def recall(self, cue: str, **asked: Any) -> Document:
        from festinger.ids import Scope
        from festinger.retrieval.query import parse_recall_query
        from festinger.retrieval.recall import recall

        scope = Scope(space=self.space, agent=AgentId(self.context.agent))
        given = {name: assume_utc(value) for name, value in asked.items()}
        query = parse_recall_query(cue, now=self.app.tools.clock(), **given)
        return to_wire_document((await recall(self.app.recall.deps, scope, query, door="cli")).as_json())

    async def _shown(self, item: "Conflict") -> Document:
        from festinger.services.conflicts import conflict_json

        return to_wire_document(await conflict_json(self.app, self.space, item))

    def _person(self) -> Cause:
        """The cause: whoever sits at this terminal is the owner of the store."""
        return cause(
            agent=AgentId(self.context.agent),
            session=SessionId(current_user()),
            origin=Origin.PERSON,
            at=self.app.tools.clock(),
        )


def assume_utc(value: Any) -> Any:
    """Take a time that was typed without a zone as UTC."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def _sent(value: Any) -> Any:
    """The value as JSON has it."""
    return assume_utc(value).isoformat() if isinstance(value, datetime) else value


def to_wire_document(document: Any) -> Document:
    """The document as a server would send it, so that both backends return the same."""
    sent: Document = orjson.loads(
        orjson.dumps(document, default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)
    )
    return sent
