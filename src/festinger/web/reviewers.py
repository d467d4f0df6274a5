"""Reviewers over HTTP: whose verdict counts, by what each is known, and one-time codes.

An administrator says who decides; deciding itself is not the administrator's.
"""

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.web.access import Scope
from festinger.web.proposals import review_of
from festinger.web.route import Call, Route, answer

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
