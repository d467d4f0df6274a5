"""Verdicts that come in as signed messages.

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
from festinger.web.access import Scope
from festinger.web.route import Call, Route, answer, first_fault

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


ROUTES = (
    Route(
        method="POST",
        path=ANSWER,
        scope=Scope.PROBE,
        endpoint=receive,
        summary="Take a signed verdict.",
    ),
)
