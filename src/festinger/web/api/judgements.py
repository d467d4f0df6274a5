"""Judgements over HTTP: what was said of two statements, what waits, and a person's answer."""

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import read_id
from festinger.runtime.review.queue import answer_question, judgement, judgements
from festinger.web.auth import Scope
from festinger.web.caller import viewer_of
from festinger.web.pagination import limit_of
from festinger.web.route import Call, Route, answer

FINAL = {None: None, "true": True, "false": False}


class Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    relation: str
    note: str = ""


async def list_judgements(call: Call) -> Response:
    asked, limit = call.request.query_params, limit_of(call.request)
    if (final := asked.get("final")) not in FINAL:
        raise BadInput("`final` is `true` or `false`.")
    cursor = asked.get("cursor") or asked.get("after")
    found = await judgements(
        call.app,
        call.space,
        final=FINAL[final],
        agent=viewer_of(call),
        before=read_id(cursor) if cursor else None,
        limit=limit,
    )
    return answer({"items": found, "next": found[-1]["id"] if len(found) == limit else None})


async def answer_judgement(call: Call) -> Response:
    body = await call.body(Answer)
    answered = await answer_question(call.app, call.space, call.id, body.relation, by=call.by, note=body.note)
    return answer(answered.as_json() | {"question": await judgement(call.app, call.space, call.id)})


ROUTES = (
    Route(
        method="GET",
        path="/admin/api/judgements",
        scope=Scope.READ,
        endpoint=list_judgements,
        summary="What judges said of two statements, the newest first.",
    ),
    Route(
        method="POST",
        path="/admin/api/judgements/{id}",
        scope=Scope.REVIEW,
        endpoint=answer_judgement,
        summary="A person's answer to what no judge could tell.",
    ),
)
