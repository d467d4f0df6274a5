"""HTTP API for reviewers, their one-time codes, and verdicts that arrive as signed messages.

An administrator says who decides, but does not decide. For a signed message the signature replaces the key:
it proves that the message comes from someone who shares the secret, and the author that it names must be a
reviewer. A message that is old, altered or unsigned is refused before it is read.
"""

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.proposals.channels.webhook import ANSWER, SIGNATURE
from festinger.proposals.verdicts.rules import MOST_SEEN
from festinger.runtime.review.webhook import WebhookVerdict, apply_webhook_verdict, check_signature
from festinger.web.api.proposals import review_of
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, AdminRoute, first_validation_error, json_response

REVIEWERS = "/admin/api/reviewers"


class AddReviewerRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    identities: dict[str, list[str]] = Field(default_factory=dict)
    """Identities by channel: `login`, `key`, `uid`, `webhook`."""


async def list_reviewers(call: AdminCall) -> Response:
    return json_response({"items": await review_of(call).reviewers(), "next": None})


async def add_reviewer(call: AdminCall) -> Response:
    body = await call.body(AddReviewerRequest)
    return json_response(await review_of(call).add_reviewer(body.name, body.identities), 201)


async def remove_reviewer(call: AdminCall) -> Response:
    return json_response(await review_of(call).send_away(call.request.path_params["name"]))


async def make_codes(call: AdminCall) -> Response:
    return json_response(await review_of(call).new_codes(call.request.path_params["name"]), 201)


ROUTES = (
    AdminRoute(
        method="GET",
        path=REVIEWERS,
        scope=AccessScope.ADMIN,
        endpoint=list_reviewers,
        summary="Everybody whose verdict counts or counted.",
    ),
    AdminRoute(
        method="POST",
        path=REVIEWERS,
        scope=AccessScope.ADMIN,
        endpoint=add_reviewer,
        summary="Make a reviewer, or let one who was sent away decide again.",
    ),
    AdminRoute(
        method="DELETE",
        path=f"{REVIEWERS}/{{name}}",
        scope=AccessScope.ADMIN,
        endpoint=remove_reviewer,
        summary="Let somebody's verdict count no more; what they decided stands.",
    ),
    AdminRoute(
        method="POST",
        path=f"{REVIEWERS}/{{name}}/codes",
        scope=AccessScope.ADMIN,
        endpoint=make_codes,
        summary="Ten one-time codes, shown this once.",
    ),
)


MAX_BODY = 64 * 1024


class WebhookVerdictRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    proposal: str = Field(max_length=64)
    verdict: str = Field(max_length=40)
    author: str = Field(min_length=1, max_length=80)
    ref: str = Field(min_length=1, max_length=200)
    note: str = ""
    of: str = Field(default="", max_length=64)
    until: AwareDatetime | None = None
    seen: tuple[str, ...] = Field(default=(), max_length=MOST_SEEN)


async def receive_verdict(call: AdminCall) -> Response:
    body = await call.raw(MAX_BODY)
    check_signature(call.app, call.request.headers.get(SIGNATURE, ""), body)
    try:
        message = WebhookVerdictRequest.model_validate(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise BadInput("The body is no JSON.") from error
    except ValidationError as error:
        raise BadInput(f"The body does not fit: {first_validation_error(error)}") from error
    decided = await apply_webhook_verdict(call.app, call.space, WebhookVerdict(**message.model_dump()), body=body)
    return json_response(decided.as_json())


WEBHOOK_ROUTES = (
    AdminRoute(
        method="POST", path=ANSWER, scope=AccessScope.PROBE, endpoint=receive_verdict, summary="Take a signed verdict."
    ),
)
