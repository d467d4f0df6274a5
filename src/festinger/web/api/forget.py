"""Forgetting, taking back and refusals over HTTP: what a person may do about what should not be remembered.

Each of these needs the right to review, which no agent's key has. With `dry_run` they only say what they would do. An
agent may ask that something be forgotten, which is a proposal like any other.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.clock import aware
from festinger.ids import AgentId, MemoryId, Origin, SessionId
from festinger.memory.erasure.repair import Mode
from festinger.memory.erasure.selector import Selector
from festinger.memory.learn.refusals import learn_anyway, refusals
from festinger.runtime.effects.memories import request_to_forget
from festinger.runtime.erasure import forgetting_of
from festinger.web.api.memories import looked_at
from festinger.web.api.proposals import proposed
from festinger.web.auth import Scope
from festinger.web.pagination import limit_of
from festinger.web.route import Call, Route, answer

API = "/admin/api"
MAX_REASON = 500

Word = Annotated[str, Field(min_length=1, max_length=2_000)]


class From(BaseModel):
    """Where something came from."""

    model_config = ConfigDict(extra="forbid")

    source: Word | None = None
    session: Word | None = None
    agent: Word | None = None
    origin: Origin | None = None
    since: datetime | None = None
    until: datetime | None = None
    dry_run: bool = False

    def selector(
        self, *, ids: tuple[UUID, ...] = (), subject: str | None = None, query: str | None = None
    ) -> Selector:
        return Selector(
            ids=tuple(map(MemoryId, ids)),
            subject=subject,
            query=query,
            source=self.source,
            session=SessionId(self.session) if self.session else None,
            agent=AgentId(self.agent) if self.agent else None,
            origin=self.origin,
            since=aware(self.since) if self.since else None,
            until=aware(self.until) if self.until else None,
        )


class Forget(From):
    ids: tuple[UUID, ...] = Field(default=(), max_length=10_000)
    subject: Word | None = None
    query: Word | None = None
    reason: str = Field(default="", max_length=MAX_REASON)


class ForgetOne(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", max_length=MAX_REASON)
    dry_run: bool = False


class RequestForget(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str = Field(min_length=1, max_length=MAX_REASON)


class Repair(From):
    mode: Mode = Mode.QUARANTINE


async def forget_many(call: Call) -> Response:
    body = await call.body(Forget)
    selector = body.selector(ids=body.ids, subject=body.subject, query=body.query)
    return await _forget(call, selector, reason=body.reason, dry_run=body.dry_run)


async def forget_one(call: Call) -> Response:
    body = await call.body(ForgetOne)
    return await _forget(call, Selector(ids=(MemoryId(call.id),)), reason=body.reason, dry_run=body.dry_run)


async def _forget(call: Call, selector: Selector, *, reason: str, dry_run: bool) -> Response:
    plan = await forgetting_of(call.app).forget(
        call.space, selector, reason=reason, by=call.by, dry_run=dry_run
    )
    return answer(plan.as_json())


async def request_forget(call: Call) -> Response:
    body = await call.body(RequestForget)
    memory, place = await looked_at(call)
    fields = await request_to_forget(call.app.memory.desk, place, memory, reason=body.reason)
    return answer(await proposed(call, fields, approve=False), 201)


async def take_back(call: Call) -> Response:
    body = await call.body(Repair)
    done = await forgetting_of(call.app).repair(
        call.space, body.selector(), by=call.by, mode=body.mode, dry_run=body.dry_run
    )
    return answer(done.as_json())


async def list_refusals(call: Call) -> Response:
    reason = call.request.query_params.get("reason")
    found = await refusals(call.app.memory.desk, call.space, reason=reason, limit=limit_of(call.request))
    return answer({"items": [each.as_json() for each in found]})


async def learn_refused(call: Call) -> Response:
    learned = await learn_anyway(call.app.memory.desk, call.space, call.id, by=call.by)
    return answer(learned.as_json(), learned.http)


ROUTES = (
    Route(
        method="POST",
        path=f"{API}/forget",
        scope=Scope.REVIEW,
        endpoint=forget_many,
        summary="Forget memories for good, or say what that would take.",
    ),
    Route(
        method="POST",
        path=f"{API}/memories/{{id}}/forget",
        scope=Scope.REVIEW,
        endpoint=forget_one,
        summary="Forget one memory for good.",
    ),
    Route(
        method="POST",
        path=f"{API}/memories/{{id}}/request-forget",
        scope=Scope.WRITE,
        endpoint=request_forget,
        summary="Ask a person to forget one memory.",
    ),
    Route(
        method="POST",
        path=f"{API}/repair",
        scope=Scope.REVIEW,
        endpoint=take_back,
        summary="Take back all that came from somewhere.",
    ),
    Route(
        method="GET",
        path=f"{API}/refusals",
        scope=Scope.READ,
        endpoint=list_refusals,
        summary="What was not learnt, and why.",
    ),
    Route(
        method="POST",
        path=f"{API}/refusals/{{id}}/learn",
        scope=Scope.REVIEW,
        endpoint=learn_refused,
        summary="Learn what was refused, as a person's word.",
    ),
)
