"""Verdicts over HTTP: approve, reject, deepen, defer, join, take back, release, and close tasks.

Only a reviewer decides: a key of that role, or a session of the console. Whoever else shows a key and tries is refused
with 403 and written down, whatever the body claims. A version in `If-Match` keeps a person from deciding on something
else than what they saw; an `Idempotency-Key` lets the same message come twice and count once.
"""

from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.proposals.model import kind_of
from festinger.proposals.verdicts.rules import MOST_AT_ONCE, MOST_SEEN
from festinger.proposals.verdicts.tasks import TaskState
from festinger.services.reviews import Words
from festinger.web.api.memories import version_in
from festinger.web.api.proposals import PROPOSALS, proposal_in, ref_of, review_of
from festinger.web.auth import Scope
from festinger.web.route import Call, Endpoint, Route, answer


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class VerdictBody(BaseModel):
    """A verdict. Who gives it is not read from here: a `by` is passed over like anything else that has no meaning."""

    model_config = ConfigDict(extra="ignore")

    verdict: str
    note: str = ""
    of: str = ""
    until: AwareDatetime | None = None
    edits: dict[str, Any] = Field(default_factory=dict)
    word: str = ""
    seen: list[str] = Field(default_factory=list, max_length=MOST_SEEN)
    """The proposals of the opposite that the caller has looked at."""

    def words(self, *, version: int | None, ref: str) -> Words:
        return Words(
            note=self.note,
            of=self.of,
            until=self.until,
            edits=self.edits,
            word=self.word,
            version=version,
            seen=self.seen,
            ref=ref,
        )


class ManyBody(VerdictBody):
    ids: list[str] = Field(min_length=1, max_length=MOST_AT_ONCE)


class PairBody(Body):
    accept: bool


class TaskBody(Body):
    state: TaskState = TaskState.DONE


class LiftBody(Body):
    producer: str
    category: str


async def decide(call: Call) -> Response:
    body = await call.body(VerdictBody)
    words = body.words(version=version_in(call.request), ref=ref_of(call))
    return answer(await review_of(call).decide(await proposal_in(call), kind_of(body.verdict), words))


async def decide_many(call: Call) -> Response:
    body = await call.body(ManyBody)
    review = review_of(call)
    ids = [await review.find(each) for each in body.ids]
    words = body.words(version=None, ref=ref_of(call))
    return answer(await review.decide_many(ids, kind_of(body.verdict), words))


async def undo(call: Call) -> Response:
    return answer(await review_of(call).undo(await proposal_in(call)))


async def rebuild(call: Call) -> Response:
    return answer(await review_of(call).rebuild(await proposal_in(call)))


async def release(call: Call) -> Response:
    return answer(await review_of(call).release(await proposal_in(call)))


async def lift(call: Call) -> Response:
    body = await call.body(LiftBody)
    return answer(await review_of(call).lift(body.producer, body.category))


async def decide_pair(call: Call) -> Response:
    body = await call.body(PairBody)
    return answer(await review_of(call).decide_pair(call.id, accept=body.accept))


async def split_pair(call: Call) -> Response:
    return answer(await review_of(call).split(call.id))


async def close_task(call: Call) -> Response:
    body = await call.body(TaskBody, optional=True)
    return answer(await review_of(call).close_task(call.id, body.state))


def _deed(path: str, endpoint: Endpoint, summary: str, scope: Scope = Scope.REVIEW) -> Route:
    return Route(method="POST", path=PROPOSALS + path, scope=scope, endpoint=endpoint, summary=summary)


# What has a name of its own stands before what is named by an id.
ROUTES = (
    _deed("/verdicts", decide_many, "Say the same of many proposals.", Scope.KNOWN),
    _deed("/lift", lift, "Let a muted producer speak again."),
    _deed("/pairs/{id}", decide_pair, "Say whether two proposals are one."),
    _deed("/pairs/{id}/split", split_pair, "Part two proposals that were joined."),
    _deed("/tasks/{id}", close_task, "Say that a task is done, or that nobody will do it."),
    _deed("/{id}/verdict", decide, "Decide a proposal.", Scope.KNOWN),
    _deed("/{id}/undo", undo, "Take back what an approval did."),
    _deed("/{id}/rebuild", rebuild, "Make a proposal anew from what stands."),
    _deed("/{id}/release", release, "Let go a proposal that is held back."),
)
