"""HTTP API for verdicts: approve, reject, deepen, defer, merge, undo, release, and close tasks.

Only a reviewer decides: a key of that role, or a console session. Any other key is refused with 403 and the
attempt recorded, whatever the body claims. A version in `If-Match` keeps a person from deciding on something
other than what they saw; with an `Idempotency-Key` the same message may arrive twice and count once.
"""

from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.proposals.model import parse_verdict_kind
from festinger.proposals.verdicts.rules import MOST_AT_ONCE, MOST_SEEN
from festinger.proposals.verdicts.tasks import TaskState
from festinger.services.reviews import VerdictDetails
from festinger.web.api.memories import parse_version
from festinger.web.api.proposals import PROPOSALS, find_proposal_id, idempotency_key, review_of
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()


class VerdictApiInput(BaseModel):
    model_config = ConfigDict(extra="forbid")


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
        return VerdictDetails(
            note=self.note,
            of=self.of,
            until=self.until,
            edits=self.edits,
            word=self.word,
            version=version,
            seen=self.seen,
            ref=ref,
        )


class BulkVerdictRequest(VerdictRequest):
    ids: list[str] = Field(min_length=1, max_length=MOST_AT_ONCE)


class DecidePairRequest(VerdictApiInput):
    accept: bool


class CloseTaskRequest(VerdictApiInput):
    state: TaskState = TaskState.DONE


class LiftMuteRequest(VerdictApiInput):
    producer: str
    category: str


@ROUTES.add("POST", f"{PROPOSALS}/{{id}}/verdict", AccessScope.KNOWN)
async def decide_proposal(call: AdminCall) -> Response:
    """Decide a proposal."""
    body = await call.body(VerdictRequest)
    words = body.words(version=parse_version(call.request), ref=idempotency_key(call))
    return json_response(
        await review_of(call).decide(await find_proposal_id(call), parse_verdict_kind(body.verdict), words)
    )


@ROUTES.add("POST", f"{PROPOSALS}/verdicts", AccessScope.KNOWN)
async def decide_many(call: AdminCall) -> Response:
    """Say the same of many proposals."""
    body = await call.body(BulkVerdictRequest)
    review = review_of(call)
    ids = [await review.find(each) for each in body.ids]
    words = body.words(version=None, ref=idempotency_key(call))
    return json_response(await review.decide_many(ids, parse_verdict_kind(body.verdict), words))


@ROUTES.add("POST", f"{PROPOSALS}/{{id}}/undo", AccessScope.REVIEW)
async def undo_proposal(call: AdminCall) -> Response:
    """Take back what an approval did."""
    return json_response(await review_of(call).undo(await find_proposal_id(call)))


@ROUTES.add("POST", f"{PROPOSALS}/{{id}}/rebuild", AccessScope.REVIEW)
async def rebuild_proposal(call: AdminCall) -> Response:
    """Make a proposal anew from what stands."""
    return json_response(await review_of(call).rebuild(await find_proposal_id(call)))


@ROUTES.add("POST", f"{PROPOSALS}/{{id}}/release", AccessScope.REVIEW)
async def release_proposal(call: AdminCall) -> Response:
    """Let go a proposal that is held back."""
    return json_response(await review_of(call).release(await find_proposal_id(call)))


@ROUTES.add("POST", f"{PROPOSALS}/lift", AccessScope.REVIEW)
async def lift_mute(call: AdminCall) -> Response:
    """Let a muted producer speak again."""
    body = await call.body(LiftMuteRequest)
    return json_response(await review_of(call).lift(body.producer, body.category))


@ROUTES.add("POST", f"{PROPOSALS}/pairs/{{id}}", AccessScope.REVIEW)
async def decide_pair(call: AdminCall) -> Response:
    """Say whether two proposals are one."""
    body = await call.body(DecidePairRequest)
    return json_response(await review_of(call).decide_pair(call.id, accept=body.accept))


@ROUTES.add("POST", f"{PROPOSALS}/pairs/{{id}}/split", AccessScope.REVIEW)
async def split_pair(call: AdminCall) -> Response:
    """Part two proposals that were joined."""
    return json_response(await review_of(call).split(call.id))


@ROUTES.add("POST", f"{PROPOSALS}/tasks/{{id}}", AccessScope.REVIEW)
async def close_task(call: AdminCall) -> Response:
    """Say that a task is done, or that nobody will do it."""
    body = await call.body(CloseTaskRequest, optional=True)
    return json_response(await review_of(call).close_task(call.id, body.state))
