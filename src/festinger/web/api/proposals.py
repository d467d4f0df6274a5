"""Proposals over HTTP: list them, look at one, hold two against each other, propose, and run the gate.

Whoever may read sees them, and whoever may write may propose: what a program proposes waits until it has recurred and
lasted, like any other sighting. What a reviewer proposes is before a person at once. Deciding is `deciding`'s matter.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.clock import read_moment
from festinger.errors import BadInput
from festinger.ids import cause, read_id
from festinger.proposals.model import Author, Channel, Proof, ProposalId
from festinger.proposals.verdicts.tasks import TaskState
from festinger.services.reviews import Review, suggestion, wanted
from festinger.web.auth import Scope
from festinger.web.caller import place_of
from festinger.web.pagination import cursor_at, limit_of, place_at
from festinger.web.route import Call, Route, answer

PROPOSALS = "/admin/api/proposals"
KEY_HEADER = "idempotency-key"
LONGEST_KEY = 120
LONGEST_NAME = 80


class Draft(BaseModel):
    """A proposal as somebody writes it; how long it may be is the room's to say."""

    model_config = ConfigDict(extra="forbid")

    what: str
    category: str
    scope: str
    type: str = "advice"
    why: str = ""
    how: str = ""
    payload: dict[str, Any] = Field(default_factory=dict)
    approve: bool = False


class RunBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    dry_run: bool = False


def review_of(call: Call, channel: Channel = Channel.API) -> Review:
    """The inbox, before whoever calls."""
    return Review(app=call.app, space=call.space, author=author_of(call), channel=channel)


def author_of(call: Call) -> Author:
    """Who speaks, as the key or the session proves it; nothing of a body is believed."""
    may_decide = call.admission.may(Scope.REVIEW)
    if call.session is not None:
        name = _name(call.session.name)
        return Author(name=name, proof=Proof.LOGIN if may_decide else Proof.NONE, id=name)
    if call.key is not None:
        proof = Proof.KEY if may_decide else Proof.NONE
        return Author(name=_name(call.key.name), proof=proof, id=str(call.key.id))
    return Author(name=call.by)


def ref_of(call: Call) -> str:
    """By what a caller lets a message be known again, if they do."""
    key = call.request.headers.get(KEY_HEADER, "")
    if len(key) > LONGEST_KEY:
        raise BadInput(f"`Idempotency-Key` has 1 to {LONGEST_KEY} characters.")
    return key


async def proposal_in(call: Call, name: str = "id") -> ProposalId:
    """The proposal that the path names, by its id or the beginning of that."""
    return await review_of(call).find(call.request.path_params[name])


async def list_proposals(call: Call) -> Response:
    limit, asked = limit_of(call.request), call.request.query_params
    after = place_at(asked.get("cursor") or asked.get("after"))
    items = await review_of(call).listed(wanted(asked, after=after, limit=limit))
    return answer({"items": items, "next": next_of(items) if len(items) == limit else None})


def next_of(items: list[dict[str, Any]]) -> str:
    """The cursor that goes on after a page of proposals."""
    last = items[-1]
    return cursor_at(read_moment(last["last_seen"] or last["created_at"]), read_id(last["id"]))


async def show_proposal(call: Call) -> Response:
    card = await review_of(call).card(await proposal_in(call))
    response = answer(card)
    response.headers["etag"] = f'"{card["version"]}"'
    return response


async def compare(call: Call) -> Response:
    a, b = await proposal_in(call), await proposal_in(call, "other")
    return answer(await review_of(call).explain(a, b))


async def propose(call: Call) -> Response:
    body = await call.body(Draft)
    return answer(await proposed(call, body.model_dump(exclude={"approve"}), approve=body.approve), 201)


async def proposed(
    call: Call, fields: dict[str, Any], *, approve: bool, channel: Channel = Channel.API
) -> dict[str, Any]:
    """Propose something as whoever calls, and say what came of it."""
    place, now = place_of(call), call.app.tools.clock()
    said = suggestion(
        fields,
        cause=cause(agent=place.agent, session=place.session, origin=call.cause.origin, at=now),
        at=now,
        source=f"{call.by} {ref_of(call)}" if ref_of(call) else str(call.app.tools.new_id()),
    )
    return await review_of(call, channel).propose(said, approve=approve)


async def promote(call: Call) -> Response:
    body = await call.body(RunBody, optional=True)
    return answer(await review_of(call).promote(dry_run=body.dry_run))


async def list_pairs(call: Call) -> Response:
    return answer({"items": await review_of(call).pairs(limit=limit_of(call.request)), "next": None})


async def list_tasks(call: Call) -> Response:
    asked = call.request.query_params.get("state", TaskState.OPEN)
    if asked not in (*TaskState, "all"):
        raise BadInput(f"`state` must be one of {', '.join((*TaskState, 'all'))}.")
    state = None if asked == "all" else TaskState(asked)
    return answer({"items": await review_of(call).tasks(state=state), "next": None})


async def show_rate(call: Call) -> Response:
    return answer(await review_of(call).rate())


async def show_inbox(call: Call) -> Response:
    return answer(await review_of(call).overview())


def _name(text: str) -> str:
    return " ".join(text.split())[:LONGEST_NAME] or "unnamed"


def _read(path: str, endpoint: Any, summary: str) -> Route:
    return Route(method="GET", path=path, scope=Scope.READ, endpoint=endpoint, summary=summary)


# What has a name of its own stands before what is named by an id.
ROUTES = (
    _read("/admin/api/inbox", show_inbox, "How many things wait for a person, here and in every other room."),
    _read(PROPOSALS, list_proposals, "Proposals, the latest seen first."),
    Route(
        method="POST",
        path=PROPOSALS,
        scope=Scope.WRITE,
        endpoint=propose,
        summary="Propose a change; a reviewer may approve it with the same call.",
    ),
    Route(
        method="POST",
        path=f"{PROPOSALS}/promote",
        scope=Scope.WRITE,
        endpoint=promote,
        summary="Run the gate now, or see what it would do.",
    ),
    _read(f"{PROPOSALS}/pairs", list_pairs, "Proposals that may be one, or that oppose each other."),
    _read(f"{PROPOSALS}/tasks", list_tasks, "What is to be done about approved advice."),
    _read(f"{PROPOSALS}/rate", show_rate, "Whether the bars are loose or tight."),
    _read(f"{PROPOSALS}/{{id}}", show_proposal, "One proposal in full, with what a yes would do."),
    _read(f"{PROPOSALS}/{{id}}/compare/{{other}}", compare, "Why two proposals are not one."),
)
