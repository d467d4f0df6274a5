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
from festinger.web.route import AdminCall, RouteTable, first_validation_error, json_response

ROUTES = RouteTable()
REVIEWERS = "/admin/api/reviewers"


class AddReviewerRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    identities: dict[str, list[str]] = Field(default_factory=dict)
    """Identities by channel: `login`, `key`, `uid`, `webhook`."""


@ROUTES.add("GET", REVIEWERS, AccessScope.ADMIN)
async def list_reviewers(call: AdminCall) -> Response:
    """Everybody whose verdict counts or counted."""
    return json_response({"items": await review_of(call).reviewers(), "next": None})


@ROUTES.add("POST", REVIEWERS, AccessScope.ADMIN)
async def add_reviewer(call: AdminCall) -> Response:
    """Make a reviewer, or let one who was sent away decide again."""
    body = await call.body(AddReviewerRequest)
    return json_response(await review_of(call).add_reviewer(body.name, body.identities), 201)


@ROUTES.add("DELETE", f"{REVIEWERS}/{{name}}", AccessScope.ADMIN)
async def remove_reviewer(call: AdminCall) -> Response:
    """Let somebody's verdict count no more; what they decided stands."""
    return json_response(await review_of(call).send_away(call.request.path_params["name"]))


@ROUTES.add("POST", f"{REVIEWERS}/{{name}}/codes", AccessScope.ADMIN)
async def make_codes(call: AdminCall) -> Response:
    """Ten one-time codes, shown this once."""
    return json_response(await review_of(call).new_codes(call.request.path_params["name"]), 201)


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


@ROUTES.add("POST", ANSWER, AccessScope.PROBE)
async def receive_verdict(call: AdminCall) -> Response:
    """Take a signed verdict."""
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
