"""HTTP API for judgments of statement pairs: what judges said, what waits, and a person's answer."""

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import read_id
from festinger.runtime.review.queue import answer_question, fetch_judgement, fetch_judgements
from festinger.web.auth import AccessScope
from festinger.web.caller import viewer_of
from festinger.web.pagination import parse_limit
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()
FINAL = {None: None, "true": True, "false": False}


class AnswerJudgementRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    relation: str
    note: str = ""


@ROUTES.add("GET", "/admin/api/judgements", AccessScope.READ)
async def list_judgements(call: AdminCall) -> Response:
    """What judges said of two statements, the newest first."""
    asked, limit = call.request.query_params, parse_limit(call.request)
    if (final := asked.get("final")) not in FINAL:
        raise BadInput("`final` is `true` or `false`.")
    cursor = asked.get("cursor") or asked.get("after")
    found = await fetch_judgements(
        call.app,
        call.space,
        final=FINAL[final],
        agent=viewer_of(call),
        before=read_id(cursor) if cursor else None,
        limit=limit,
    )
    return json_response({"items": found, "next": found[-1]["id"] if len(found) == limit else None})


@ROUTES.add("POST", "/admin/api/judgements/{id}", AccessScope.REVIEW)
async def answer_judgement(call: AdminCall) -> Response:
    """A person's answer to what no judge could tell."""
    body = await call.body(AnswerJudgementRequest)
    answered = await answer_question(call.app, call.space, call.id, body.relation, by=call.by, note=body.note)
    return json_response(answered.as_json() | {"question": await fetch_judgement(call.app, call.space, call.id)})
