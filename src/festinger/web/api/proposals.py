"""HTTP API for proposals: list, show, compare, propose, and run the gate.

Anyone who may read sees them, and anyone who may write may propose: what a program proposes waits until it
has recurred and lasted, like any other sighting. What a reviewer proposes goes before a person at once.
Verdicts are in `verdicts`.
"""

from typing import Any

from pydantic import Field
from starlette.responses import Response

from festinger.clock import read_moment
from festinger.errors import BadInput
from festinger.ids import read_id
from festinger.proposals.model import Author, IdentityProof, ProposalId, ReviewChannel
from festinger.proposals.verdicts.tasks import TaskState
from festinger.services.reviews import ReviewService, build_suggestion, parse_proposal_filter
from festinger.web.auth import AccessScope
from festinger.web.route import (
    AdminCall,
    ApiInput,
    RouteTable,
    caller_scope,
    format_time_cursor,
    json_response,
    parse_limit,
    parse_time_cursor,
)

ROUTES = RouteTable()
PROPOSALS = "/admin/api/proposals"
KEY_HEADER = "idempotency-key"
LONGEST_KEY = 120
LONGEST_NAME = 80


class ProposeRequest(ApiInput):
    """A proposal as a caller writes it; the proposals package limits its length."""

    what: str
    category: str
    scope: str
    type: str = "advice"
    why: str = ""
    how: str = ""
    payload: dict[str, Any] = Field(default_factory=dict)
    approve: bool = False


class PromoteRequest(ApiInput):
    dry_run: bool = False


def build_review_service(call: AdminCall, channel: ReviewChannel = ReviewChannel.API) -> ReviewService:
    """The review service for the caller; whoever opened the store uses it from the command line."""
    channel = ReviewChannel.CLI if call.owner else channel
    return ReviewService(app=call.app, space=call.space, author=author_of(call), channel=channel)


def author_of(call: AdminCall) -> Author:
    """The author as the key or session proves it; nothing in the body is trusted."""
    may_decide = call.admission.may(AccessScope.REVIEW)
    if call.session is not None:
        name = _name(call.session.name)
        return Author(name=name, proof=IdentityProof.LOGIN if may_decide else IdentityProof.NONE, id=name)
    if call.key is not None:
        proof = IdentityProof.KEY if may_decide else IdentityProof.NONE
        return Author(name=_name(call.key.name), proof=proof, id=str(call.key.id))
    if call.owner is not None:
        proof = IdentityProof.UID if may_decide else IdentityProof.NONE
        return Author(name=call.owner.name, proof=proof, id=str(call.owner.uid))
    return Author(name=call.by)


def idempotency_key(call: AdminCall) -> str:
    """The caller's idempotency key, if there is one."""
    key = call.request.headers.get(KEY_HEADER, "")
    if len(key) > LONGEST_KEY:
        raise BadInput(f"`Idempotency-Key` has 1 to {LONGEST_KEY} characters.")
    return key


async def find_proposal_id(call: AdminCall) -> ProposalId:
    """The proposal that the path names, by its id or a prefix of it."""
    return await build_review_service(call).find(call.request.path_params["id"])


@ROUTES.add("GET", PROPOSALS, AccessScope.READ)
async def list_proposals(call: AdminCall) -> Response:
    limit, asked = parse_limit(call.request), call.request.query_params
    after = parse_time_cursor(asked.get("cursor") or asked.get("after"))
    items = await build_review_service(call).listed(parse_proposal_filter(asked, after=after, limit=limit))
    return json_response({"items": items, "next": next_cursor(items) if len(items) == limit else None})


def next_cursor(items: list[dict[str, Any]]) -> str:
    """The cursor for the page that follows."""
    last = items[-1]
    return format_time_cursor(read_moment(last["last_seen"] or last["created_at"]), read_id(last["id"]))


@ROUTES.add("GET", f"{PROPOSALS}/{{id}}", AccessScope.READ)
async def show_proposal(call: AdminCall) -> Response:
    """One proposal in full, with what a yes would do."""
    card = await build_review_service(call).card(await find_proposal_id(call))
    response = json_response(card)
    response.headers["etag"] = f'"{card["version"]}"'
    return response


@ROUTES.add("POST", PROPOSALS, AccessScope.WRITE)
async def propose(call: AdminCall) -> Response:
    """Propose a change; a reviewer may approve it with the same call."""
    body = await call.body(ProposeRequest)
    return json_response(await submit_proposal(call, body.model_dump(exclude={"approve"}), approve=body.approve), 201)


async def submit_proposal(
    call: AdminCall, fields: dict[str, Any], *, approve: bool, channel: ReviewChannel = ReviewChannel.API
) -> dict[str, Any]:
    """Propose something as the caller, and return the result."""
    place, now = caller_scope(call), call.app.tools.clock()
    said = build_suggestion(
        fields,
        cause=place.cause(call.cause.origin, now),
        at=now,
        source=f"{call.by} {idempotency_key(call)}" if idempotency_key(call) else str(call.app.tools.new_id()),
    )
    return await build_review_service(call, channel).propose(said, approve=approve)


@ROUTES.add("POST", f"{PROPOSALS}/promote", AccessScope.WRITE)
async def promote(call: AdminCall) -> Response:
    """Run the gate now, or see what it would do."""
    body = await call.body(PromoteRequest, optional=True)
    return json_response(await build_review_service(call).promote(dry_run=body.dry_run))


@ROUTES.add("GET", f"{PROPOSALS}/pairs", AccessScope.READ)
async def list_pairs(call: AdminCall) -> Response:
    """Proposals that may be one, or that oppose each other."""
    return json_response(
        {"items": await build_review_service(call).pairs(limit=parse_limit(call.request)), "next": None}
    )


@ROUTES.add("GET", f"{PROPOSALS}/tasks", AccessScope.READ)
async def list_tasks(call: AdminCall) -> Response:
    asked = call.request.query_params.get("state", TaskState.OPEN)
    if asked not in (*TaskState, "all"):
        raise BadInput(f"`state` must be one of {', '.join((*TaskState, 'all'))}.")
    state = None if asked == "all" else TaskState(asked)
    return json_response({"items": await build_review_service(call).tasks(state=state), "next": None})


@ROUTES.add("GET", f"{PROPOSALS}/rate", AccessScope.READ)
async def show_promotion_rate(call: AdminCall) -> Response:
    return json_response(await build_review_service(call).rate())


@ROUTES.add("GET", "/admin/api/inbox", AccessScope.READ)
async def show_inbox_overview(call: AdminCall) -> Response:
    """How many things wait for a person, here and in every other room."""
    return json_response(await build_review_service(call).overview())


def _name(text: str) -> str:
    return " ".join(text.split())[:LONGEST_NAME] or "unnamed"
