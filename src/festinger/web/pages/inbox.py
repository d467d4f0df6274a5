"""The page where a person decides proposals.

Each proposal is a card: in plain words, with hidden characters made visible, distinct causes next to the raw
count, and exactly what a yes would do. Around the cards is everything else that waits: pairs, tasks, held
proposals, those still at the gate, and what other packages cannot decide alone. A form carries the version
that was shown, so that nobody decides on something else, and a reference, so that a form sent twice counts
once.
"""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import groupby
from typing import Any
from uuid import UUID

from starlette.responses import Response

from festinger.clock import read_moment
from festinger.errors import BadInput
from festinger.ids import read_id
from festinger.proposals.gate import InboxStatus
from festinger.proposals.inbox import ProposalQuery
from festinger.proposals.model import ProposalState, ReviewChannel, VerdictKind, parse_verdict_kind
from festinger.proposals.sightings.similarity import ON
from festinger.proposals.verdicts.rules import EDITED
from festinger.proposals.verdicts.tasks import TaskState
from festinger.services.reviews import ReviewService, VerdictDetails
from festinger.web.api.proposals import build_review_service, next_cursor, submit_proposal
from festinger.web.auth import AccessScope
from festinger.web.render import INBOX, add_page, redirect_to, render_page
from festinger.web.route import AdminCall, RouteTable, parse_time_cursor

ROUTES = RouteTable()
CARDS = 10
"""Full cards on one page."""
LINES = 20
"""Lines of each list next to them."""

PICKED = "pick-"
"""The name prefix of the checkboxes that select several proposals; the id follows."""

DECIDED = (ProposalState.APPLIED, ProposalState.UNDONE, ProposalState.REJECTED, ProposalState.DUPLICATE)


@add_page(ROUTES, f"{INBOX}/{{id}}", "proposal.html")
async def load_proposal_page(call: AdminCall) -> dict[str, Any]:
    review = _review(call)
    return {"item": await review.card(await review.find(call.request.path_params["id"])), "ref": _mark(call)}


@ROUTES.add("POST", f"{INBOX}/{{id}}/verdict", AccessScope.REVIEW, page=True)
async def submit_verdict(call: AdminCall) -> Response:
    form, review = await call.form(), _review(call)
    words = parse_verdict_details(call, form)
    if words.edits:
        words = replace(words, edits=_changed(words.edits, await review.card(call.id)))
    await review.decide(call.id, parse_verdict_kind(form.get("verdict", "")), words)
    return redirect_to(call, INBOX, done=str(call.id))


def _changed(edits: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    """The edited fields. What came back as shown keeps its stored value, hidden characters included."""
    return {name: text for name, text in edits.items() if text != shown[name]}


@ROUTES.add("POST", f"{INBOX}/bulk", AccessScope.REVIEW, page=True)
async def submit_bulk_verdict(call: AdminCall) -> Response:
    form = await call.form()
    ids = [read_id(name.removeprefix(PICKED)) for name in form if name.startswith(PICKED)]
    if not ids:
        raise BadInput("No proposal was chosen.", hint="Mark those that you mean, then decide.")
    review = _review(call)
    said = await review.decide_many(ids, parse_verdict_kind(form.get("verdict", "")), parse_verdict_details(call, form))
    items = [each | {"what": (await review.card(read_id(each["id"])))["what"]} for each in said["items"]]
    return await render_page(call, "decided.html", {**said, "items": items})


@ROUTES.add("POST", f"{INBOX}/{{id}}/undo", AccessScope.REVIEW, page=True)
async def submit_undo(call: AdminCall) -> Response:
    await _review(call).undo(call.id)
    return redirect_to(call, INBOX, done=str(call.id))


@ROUTES.add("POST", f"{INBOX}/{{id}}/rebuild", AccessScope.REVIEW, page=True)
async def submit_rebuild(call: AdminCall) -> Response:
    await _review(call).rebuild(call.id)
    return redirect_to(call, f"{INBOX}/{call.id}")


@ROUTES.add("POST", f"{INBOX}/{{id}}/release", AccessScope.REVIEW, page=True)
async def submit_release(call: AdminCall) -> Response:
    await _review(call).release(call.id)
    return redirect_to(call, INBOX, done=str(call.id))


@ROUTES.add("POST", f"{INBOX}/pairs/{{id}}", AccessScope.REVIEW, page=True)
async def submit_pair_decision(call: AdminCall) -> Response:
    form = await call.form()
    await _review(call).decide_pair(call.id, accept=form.get("answer") == "accept")
    return redirect_to(call, INBOX)


@ROUTES.add("POST", f"{INBOX}/tasks/{{id}}", AccessScope.REVIEW, page=True)
async def submit_close_task(call: AdminCall) -> Response:
    form = await call.form()
    state = TaskState.DONE if form.get("state") == TaskState.DONE else TaskState.DROPPED
    await _review(call).close_task(call.id, state)
    return redirect_to(call, INBOX)


@ROUTES.add("POST", f"{INBOX}/lift", AccessScope.REVIEW, page=True)
async def submit_unmute_producer(call: AdminCall) -> Response:
    form = await call.form()
    await _review(call).lift(form.get("producer", ""), form.get("category", ""))
    return redirect_to(call, INBOX)


@ROUTES.add("POST", f"{INBOX}/promote", AccessScope.WRITE, page=True)
async def submit_promote(call: AdminCall) -> Response:
    await _review(call).promote()
    return redirect_to(call, INBOX)


@ROUTES.add("POST", f"{INBOX}/propose", AccessScope.WRITE, page=True)
async def submit_propose(call: AdminCall) -> Response:
    form = await call.form()
    fields = {name: form.get(name, "") for name in ("what", "why", "how", "category", "scope")}
    made = await submit_proposal(call, fields, approve=False, channel=ReviewChannel.CONSOLE)
    return redirect_to(call, f"{INBOX}/{made['proposal']['id']}")


def parse_verdict_details(call: AdminCall, form: Mapping[str, str]) -> VerdictDetails:
    """Parse what a form says besides the verdict."""
    version = form.get("version", "")
    until = form.get("until", "").strip()
    edits = {name: form[f"edit-{name}"] for name in sorted(EDITED) if form.get(f"edit-{name}", "").strip()}
    return VerdictDetails(
        note=form.get("note", ""),
        of=form.get("of", "").strip(),
        until=read_moment(f"{until}T00:00:00Z") if until else None,
        edits=edits if parse_verdict_kind(form.get("verdict", "")) is VerdictKind.APPROVE else {},
        word=form.get("word", ""),
        version=int(version) if version.isascii() and version.isdigit() else None,
        seen=form.get("seen", "").split(),
        ref=_form_idempotency_key(call, form),
    )


def _form_idempotency_key(call: AdminCall, form: Mapping[str, str]) -> str:
    """The idempotency key of a form: the same form twice is one message, with other content another."""
    said = repr((call.request.url.path, sorted(form.items())))
    return f"{form.get('ref', '')} {sha256(said.encode()).hexdigest()[:16]}"


@add_page(ROUTES, INBOX, "inbox.html")
async def load_inbox_page(call: AdminCall) -> dict[str, Any]:
    review = _review(call)
    around = await review.overview()
    cards, more = await _load_open_cards(call, review)
    return {
        **around,
        "groups": _groups(cards, is_apart=around["second pass"] != ON),
        "more": more,
        "quiet": await review.listed(ProposalQuery(standing=InboxStatus.QUIET, limit=LINES)),
        "put_off": await review.listed(ProposalQuery(standing=InboxStatus.PUT_OFF, limit=LINES)),
        "at_the_gate": await review.listed(ProposalQuery(states=(ProposalState.WAITING,), held=False, limit=LINES)),
        "held": await review.listed(ProposalQuery(states=(ProposalState.WAITING,), held=True, limit=LINES)),
        "still_seen": (await review.list_still_recurring())[:LINES],
        "pairs": await review.pairs(limit=LINES),
        "tasks": (await review.tasks())[:LINES],
        "decided": await review.listed(ProposalQuery(states=DECIDED, limit=LINES)),
        "categories": list(review.app.inbox.deps.terms(call.space).categories),
        "done": await _done(call, review),
        "ref": _mark(call),
    }


async def _load_open_cards(call: AdminCall, review: ReviewService) -> tuple[list[dict[str, Any]], str | None]:
    """The open proposals as full cards, and the cursor of the next page."""
    after = parse_time_cursor(call.request.query_params.get("cursor"))
    listed = await review.listed(ProposalQuery(standing=InboxStatus.OPEN, after=after, limit=CARDS))
    cards = [await review.card(UUID(each["id"])) for each in listed]
    return cards, next_cursor(listed) if len(listed) == CARDS else None


def _groups(cards: list[dict[str, Any]], *, is_apart: bool) -> list[dict[str, Any]]:
    """The cards as shown; when no meanings are compared, grouped by category and scope."""
    if not is_apart:
        return [{"title": "", "cards": cards}] if cards else []
    sorted_cards = sorted(cards, key=_about)
    return [{"title": title, "cards": list(those)} for title, those in groupby(sorted_cards, key=_about)]


def _about(card: Mapping[str, Any]) -> str:
    return f"{card['category']}: {card['scope']}"


async def _done(call: AdminCall, review: ReviewService) -> dict[str, Any] | None:
    """The proposal decided just now, so that it can be undone at once."""
    done = call.request.query_params.get("done")
    return await review.card(read_id(done)) if done else None


def _review(call: AdminCall) -> ReviewService:
    return build_review_service(call, ReviewChannel.CONSOLE)


def _mark(call: AdminCall) -> str:
    """The reference shared by the forms of one rendering of the page."""
    return str(call.app.tools.new_id())
