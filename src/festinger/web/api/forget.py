"""HTTP API for what should not be remembered: forgetting, withdrawing and refusals.

Every operation needs the right to review, which no agent's key has. With `dry_run` it only says what it would
do. An agent may ask that something be forgotten; that is a proposal like any other.
"""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from festinger.clock import aware
from festinger.ids import AgentId, MemoryId, Origin, SessionId
from festinger.memory.erasure.repair import RepairMode
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.learn.refusals import learn_anyway, load_page_of_refusals
from festinger.runtime.effects.memories import build_forget_proposal
from festinger.runtime.erasure import build_erasure_service
from festinger.web.api.memories import find_memory_and_scope
from festinger.web.api.proposals import submit_proposal
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, ApiInput, RouteTable, json_response, parse_limit

ROUTES = RouteTable()
API = "/admin/api"
MAX_REASON = 500

Word = Annotated[str, Field(min_length=1, max_length=2_000)]


class SourceRequest(ApiInput):
    """The source to act on."""

    source: Word | None = None
    session: Word | None = None
    agent: Word | None = None
    origin: Origin | None = None
    since: datetime | None = None
    until: datetime | None = None
    dry_run: bool = False

    def selector(
        self, *, ids: tuple[UUID, ...] = (), subject: str | None = None, query: str | None = None
    ) -> ErasureSelector:
        return ErasureSelector(
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


class ForgetManyRequest(SourceRequest):
    ids: tuple[UUID, ...] = Field(default=(), max_length=10_000)
    subject: Word | None = None
    query: Word | None = None
    reason: str = Field(default="", max_length=MAX_REASON)


class ForgetOneRequest(ApiInput):
    reason: str = Field(default="", max_length=MAX_REASON)
    dry_run: bool = False


class ForgetProposalRequest(ApiInput):
    reason: str = Field(min_length=1, max_length=MAX_REASON)


class RepairRequest(SourceRequest):
    mode: RepairMode = RepairMode.QUARANTINE


@ROUTES.add("POST", f"{API}/forget", AccessScope.REVIEW)
async def forget_many(call: AdminCall) -> Response:
    """Forget memories for good, or say what that would take."""
    body = await call.body(ForgetManyRequest)
    selector = body.selector(ids=body.ids, subject=body.subject, query=body.query)
    return await _forget(call, selector, reason=body.reason, dry_run=body.dry_run)


@ROUTES.add("POST", f"{API}/memories/{{id}}/forget", AccessScope.REVIEW)
async def forget_one(call: AdminCall) -> Response:
    body = await call.body(ForgetOneRequest)
    return await _forget(call, ErasureSelector(ids=(MemoryId(call.id),)), reason=body.reason, dry_run=body.dry_run)


async def _forget(call: AdminCall, selector: ErasureSelector, *, reason: str, dry_run: bool) -> Response:
    plan = await build_erasure_service(call.app).forget(
        call.space, selector, reason=reason, by=call.by, dry_run=dry_run
    )
    return json_response(plan.as_json())


@ROUTES.add("POST", f"{API}/memories/{{id}}/request-forget", AccessScope.WRITE)
async def request_forget(call: AdminCall) -> Response:
    body = await call.body(ForgetProposalRequest)
    memory, place = await find_memory_and_scope(call)
    fields = await build_forget_proposal(call.app.memory.deps, place, memory, reason=body.reason)
    return json_response(await submit_proposal(call, fields, approve=False), 201)


@ROUTES.add("POST", f"{API}/repair", AccessScope.REVIEW)
async def repair_source(call: AdminCall) -> Response:
    body = await call.body(RepairRequest)
    done = await build_erasure_service(call.app).repair(
        call.space, body.selector(), by=call.by, mode=body.mode, dry_run=body.dry_run
    )
    return json_response(done.as_json())


@ROUTES.add("GET", f"{API}/refusals", AccessScope.READ)
async def get_refusals(call: AdminCall) -> Response:
    reason = call.request.query_params.get("reason")
    found = await load_page_of_refusals(
        call.app.memory.deps, call.space, reason=reason, limit=parse_limit(call.request)
    )
    return json_response({"items": [each.as_json() for each in found]})


@ROUTES.add("POST", f"{API}/refusals/{{id}}/learn", AccessScope.REVIEW)
async def learn_refusal(call: AdminCall) -> Response:
    learned = await learn_anyway(call.app.memory.deps, call.space, call.id, by=call.by)
    return json_response(learned.as_json(), learned.http)
