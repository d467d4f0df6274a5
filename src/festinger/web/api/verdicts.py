"""HTTP API for verdicts: approve, reject, deepen, defer, merge, undo, release, and close tasks.

Only a reviewer decides: a key of that role, or a console session. Any other key is refused with 403 and the
attempt recorded, whatever the body claims. A version in `If-Match` keeps a person from deciding on something
other than what they saw; with an `Idempotency-Key` the same message may arrive twice and count once.

An administrator says who the reviewers are, but does not decide. For a signed message the signature replaces the key:
it proves that the message comes from someone who shares the secret, and the author that it names must be a reviewer. A
message that is old, altered or unsigned is refused before it is read.
"""

from typing import Any

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.proposals.channels.webhook import ANSWER, SIGNATURE
from festinger.proposals.model import parse_verdict_kind
from festinger.proposals.verdicts.rules import MOST_AT_ONCE, MOST_SEEN
from festinger.proposals.verdicts.tasks import TaskState
from festinger.runtime.review.webhook import WebhookVerdict, apply_webhook_verdict, check_signature
from festinger.services.reviews import VerdictDetails
from festinger.web.api.memories import parse_if_match_version
from festinger.web.api.proposals import PROPOSALS, build_review_service, find_proposal_id, idempotency_key
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, ApiInput, RouteTable, first_validation_error, json_response

ROUTES = RouteTable()


class VerdictRequest(BaseModel):
    """A verdict. The author is not read from the body: `by` is ignored like any other unknown field."""

    model_config = ConfigDict(extra="ignore")

    verdict: str
    note: str = ""
    of: str = ""
    until: AwareDatetime | None = None
    edits: dict[str, Any] = Field(default_factory=dict)
    word: str = ""
    seen: list[str] = Field(default_factory=list, max_length=MOST_SEEN)
    """The opposing proposals that the caller has looked at."""

    def words(self, *, version: int | None, ref: str) -> VerdictDetails:
        return VerdictDetails(**self.model_dump(exclude={"verdict", "ids"}), version=version, ref=ref)


class BulkVerdictRequest(VerdictRequest):
    ids: list[str] = Field(min_length=1, max_length=MOST_AT_ONCE)


class DecidePairRequest(ApiInput):
    accept: bool


class CloseTaskRequest(ApiInput):
    state: TaskState = TaskState.DONE


class LiftMuteRequest(ApiInput):
    producer: str
    category: str


@ROUTES.add("POST", f"{PROPOSALS}/{{id}}/verdict", AccessScope.KNOWN)
async def decide_proposal(call: AdminCall) -> Response:
    body = await call.body(VerdictRequest)
    words = body.words(version=parse_if_match_version(call.request), ref=idempotency_key(call))
    return json_response(
        await build_review_service(call).decide(await find_proposal_id(call), parse_verdict_kind(body.verdict), words)
    )


@ROUTES.add("POST", f"{PROPOSALS}/verdicts", AccessScope.KNOWN)
async def decide_many(call: AdminCall) -> Response:
    body = await call.body(BulkVerdictRequest)
    review = build_review_service(call)
    ids = [await review.find(each) for each in body.ids]
    words = body.words(version=None, ref=idempotency_key(call))
    return json_response(await review.decide_many(ids, parse_verdict_kind(body.verdict), words))


@ROUTES.add("POST", f"{PROPOSALS}/{{id}}/undo", AccessScope.REVIEW)
async def undo_proposal(call: AdminCall) -> Response:
    return json_response(await build_review_service(call).undo(await find_proposal_id(call)))


@ROUTES.add("POST", f"{PROPOSALS}/{{id}}/rebuild", AccessScope.REVIEW)
async def rebuild_proposal(call: AdminCall) -> Response:
    return json_response(await build_review_service(call).rebuild(await find_proposal_id(call)))


@ROUTES.add("POST", f"{PROPOSALS}/{{id}}/release", AccessScope.REVIEW)
async def release_proposal(call: AdminCall) -> Response:
    return json_response(await build_review_service(call).release(await find_proposal_id(call)))


@ROUTES.add("POST", f"{PROPOSALS}/lift", AccessScope.REVIEW)
async def lift_mute(call: AdminCall) -> Response:
    body = await call.body(LiftMuteRequest)
    return json_response(await build_review_service(call).lift(body.producer, body.category))


@ROUTES.add("POST", f"{PROPOSALS}/pairs/{{id}}", AccessScope.REVIEW)
async def decide_pair(call: AdminCall) -> Response:
    body = await call.body(DecidePairRequest)
    return json_response(await build_review_service(call).decide_pair(call.id, accept=body.accept))


@ROUTES.add("POST", f"{PROPOSALS}/pairs/{{id}}/split", AccessScope.REVIEW)
async def split_pair(call: AdminCall) -> Response:
    return json_response(await build_review_service(call).split(call.id))


@ROUTES.add("POST", f"{PROPOSALS}/tasks/{{id}}", AccessScope.REVIEW)
async def close_task(call: AdminCall) -> Response:
    """Say that a task is done, or that nobody will do it."""
    body = await call.body(CloseTaskRequest, optional=True)
    return json_response(await build_review_service(call).close_task(call.id, body.state))


REVIEWERS = "/admin/api/reviewers"


class AddReviewerRequest(ApiInput):
    name: str
    identities: dict[str, list[str]] = Field(default_factory=dict)
    """Identities by channel: `login`, `key`, `uid`, `webhook`."""


@ROUTES.add("GET", REVIEWERS, AccessScope.ADMIN)
async def list_reviewers(call: AdminCall) -> Response:
    return json_response({"items": await build_review_service(call).reviewers(), "next": None})


@ROUTES.add("POST", REVIEWERS, AccessScope.ADMIN)
async def add_reviewer(call: AdminCall) -> Response:
    """Make a reviewer, or let one who was sent away decide again."""
    body = await call.body(AddReviewerRequest)
    return json_response(await build_review_service(call).add_reviewer(body.name, body.identities), 201)


@ROUTES.add("DELETE", f"{REVIEWERS}/{{name}}", AccessScope.ADMIN)
async def remove_reviewer(call: AdminCall) -> Response:
    """Let somebody's verdict count no more; what they decided stands."""
    return json_response(await build_review_service(call).retire_reviewer(call.request.path_params["name"]))


MAX_MESSAGE = 64 * 1024


class WebhookVerdictRequest(ApiInput):
    proposal: str = Field(max_length=64)
    verdict: str = Field(max_length=40)
    author: str = Field(min_length=1, max_length=80)
    ref: str = Field(min_length=1, max_length=200)
    note: str = ""
    of: str = Field(default="", max_length=64)
    until: AwareDatetime | None = None
    seen: tuple[str, ...] = Field(default=(), max_length=MOST_SEEN)


@ROUTES.add("POST", ANSWER, AccessScope.PROBE)
async def receive_webhook_verdict(call: AdminCall) -> Response:
    body = await call.raw(MAX_MESSAGE)
    check_signature(call.app, call.request.headers.get(SIGNATURE, ""), body)
    try:
        message = WebhookVerdictRequest.model_validate(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise BadInput("The body is no JSON.") from error
    except ValidationError as error:
        raise BadInput(f"The body does not fit: {first_validation_error(error)}") from error
    decided = await apply_webhook_verdict(call.app, call.space, WebhookVerdict(**message.model_dump()), body=body)
    return json_response(decided.as_json())
