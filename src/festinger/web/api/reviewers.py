"""Reviewers over HTTP: whose verdict counts, by what each is known, and one-time codes.

An administrator says who decides; deciding itself is not the administrator's.

Verdicts that come in as signed messages.

The signature takes the place of a key: it proves that the message comes from whoever shares the secret, and the author
that it names must be a reviewer. A message that is old, changed or signed by nobody is refused before it is read.
"""

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.proposals.channels.webhook import ANSWER, SIGNATURE
from festinger.proposals.verdicts.rules import MOST_SEEN
from festinger.runtime.review.webhook import Heard, check_signature, take
from festinger.web.api.proposals import review_of
from festinger.web.auth import Scope
from festinger.web.route import Call, Route, answer, first_fault

REVIEWERS = "/admin/api/reviewers"


class NewReviewer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    identities: dict[str, list[str]] = Field(default_factory=dict)
    """How channels know them: `login`, `key`, `uid`, `webhook`."""


async def list_reviewers(call: Call) -> Response:
    return answer({"items": await review_of(call).reviewers(), "next": None})


async def add_reviewer(call: Call) -> Response:
    body = await call.body(NewReviewer)
    return answer(await review_of(call).add_reviewer(body.name, body.identities), 201)


async def send_away(call: Call) -> Response:
    return answer(await review_of(call).send_away(call.request.path_params["name"]))


async def make_codes(call: Call) -> Response:
    return answer(await review_of(call).new_codes(call.request.path_params["name"]), 201)


ROUTES = (
    Route(
        method="GET",
        path=REVIEWERS,
        scope=Scope.ADMIN,
        endpoint=list_reviewers,
        summary="Everybody whose verdict counts or counted.",
    ),
    Route(
        method="POST",
        path=REVIEWERS,
        scope=Scope.ADMIN,
        endpoint=add_reviewer,
        summary="Make a reviewer, or let one who was sent away decide again.",
    ),
    Route(
        method="DELETE",
        path=f"{REVIEWERS}/{{name}}",
        scope=Scope.ADMIN,
        endpoint=send_away,
        summary="Let somebody's verdict count no more; what they decided stands.",
    ),
    Route(
        method="POST",
        path=f"{REVIEWERS}/{{name}}/codes",
        scope=Scope.ADMIN,
        endpoint=make_codes,
        summary="Ten one-time codes, shown this once.",
    ),
)


MAX_BODY = 64 * 1024


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid")

    proposal: str = Field(max_length=64)
    verdict: str = Field(max_length=40)
    author: str = Field(min_length=1, max_length=80)
    ref: str = Field(min_length=1, max_length=200)
    note: str = ""
    of: str = Field(default="", max_length=64)
    until: AwareDatetime | None = None
    seen: tuple[str, ...] = Field(default=(), max_length=MOST_SEEN)


async def receive(call: Call) -> Response:
    body = await call.raw(MAX_BODY)
    check_signature(call.app, call.request.headers.get(SIGNATURE, ""), body)
    try:
        message = Message.model_validate(orjson.loads(body))
    except orjson.JSONDecodeError as error:
        raise BadInput("The body is no JSON.") from error
    except ValidationError as error:
        raise BadInput(f"The body does not fit: {first_fault(error)}") from error
    decided = await take(call.app, call.space, Heard(**message.model_dump()), body=body)
    return answer(decided.as_json())


WEBHOOK_ROUTES = (
    Route(
        method="POST",
        path=ANSWER,
        scope=Scope.PROBE,
        endpoint=receive,
        summary="Take a signed verdict.",
    ),
)
