"""The page where a person decides conflicts between statements that cannot both hold.

Shows both statements side by side, who said them and when, with a form for every decision that applies. Next
to the conflicts are the questions: pairs of statements that no judge was sure about. A decision applies to
what held when the page was shown; if another edge holds by then, it is refused.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any
from uuid import UUID

from starlette.responses import Response

from festinger.consolidation.resolution import last_resolution_run
from festinger.errors import BadInput
from festinger.ids import read_id
from festinger.memory.conflicts import DECISIONS
from festinger.runtime.review.queue import answer_question, fetch_open_questions
from festinger.runtime.world import request_resolution
from festinger.services.conflicts import conflict_json
from festinger.web.auth import AccessScope
from festinger.web.render import add_page, redirect_to
from festinger.web.route import AdminCall, RouteTable, can_see, viewer_of
from festinger.world.conflicts import PENDING, Conflict, count_pending, find_conflict, load_conflicts
from festinger.world.decisions import (
    ConflictDecision,
    ConflictJudge,
    ConflictVerdict,
    decide_conflict,
    undo_conflict_decision,
)
from festinger.world.model import CollisionType

ROUTES = RouteTable()
SHOWN = 20
DECIDED = 10
MAX_NOTE = 500
CONFLICTS = "/admin/conflicts"

MEANINGS = {
    CollisionType.ISA_ISA: "Two kinds for one thing, in the same dimension.",
    CollisionType.ISPART_ISPART: "Two places for one thing, in the same dimension.",
    CollisionType.MISCLASSIFICATION: "One says what it is, the other what it belongs to.",
    CollisionType.CYCLE: "Taken together these would go round in a circle.",
    CollisionType.RETRACTION: "Somebody says that what stands is no longer so.",
}


@dataclass(frozen=True, slots=True)
class DecisionOption:
    """A decision that a person may make, in words, with the fields that it asks for."""

    decision: str
    label: str
    meaning: str
    names: tuple[tuple[str, str], ...] = ()
    """Single-line fields: names of dimensions."""
    texts: tuple[tuple[str, str], ...] = ()
    """Fields for a sentence each."""


KEEP = DecisionOption(ConflictDecision.DISMISS, "Keep what stands", "The new statement is set aside.")
UPDATE = DecisionOption(
    ConflictDecision.UPDATE, "Take the new one", "It replaces what stands, which is kept in the history."
)
TAKE_OUT = DecisionOption(ConflictDecision.UPDATE, "Take it out", "What stands goes into the history.")
TURN = DecisionOption(
    ConflictDecision.UPDATE, "Take the new one", "The statement by which the circle would close goes into the history."
)
SAME = DecisionOption(ConflictDecision.SAME, "Both are the same", "The new name is another name for what stands.")
DECOMPOSE = DecisionOption(
    ConflictDecision.DECOMPOSE,
    "Let both stand",
    "Each gets a dimension of its own.",
    names=(("existing_dimension", "Dimension of what stands"), ("new_dimension", "Dimension of the new one")),
)
RECLASSIFY = DecisionOption(
    ConflictDecision.RECLASSIFY,
    "Put the new one elsewhere",
    "What stands remains; the new one gets the dimension where it belongs.",
    names=(("dimension", "Dimension where it belongs"),),
)

OF_MEMORIES = (
    KEEP,
    UPDATE,
    DecisionOption("same", "Both say the same", "They become one memory."),
    DecisionOption("both", "Let both stand", "They do not contradict each other."),
    DecisionOption("neither", "Keep neither", "Both are put away."),
    DecisionOption(
        "split",
        "Say it more clearly",
        "Both are put away, and what you write stands in their place.",
        texts=(("old_text", "In place of what stands"), ("new_text", "In place of what is new")),
    ),
)
"""Decisions about two memories."""

TEXT_FIELDS = ("old_text", "new_text")

QUESTION = (
    DecisionOption("same", "They say the same", "They become one memory."),
    DecisionOption("update", "The second replaces the first", "The first is kept in the history."),
    DecisionOption("contradicts", "They contradict each other", "A conflict is opened, to be decided here."),
    DecisionOption("both", "Both hold", "Neither changes, and nobody asks again."),
)
"""Answers about two statements that no judge was sure about."""


def decision_options(conflict: Conflict) -> tuple[DecisionOption, ...]:
    """The decisions that apply to a conflict, likeliest first."""
    if conflict.about == "memory":
        return OF_MEMORIES
    match conflict.collision_type:
        case CollisionType.RETRACTION:
            return TAKE_OUT, KEEP
        case CollisionType.CYCLE:
            return KEEP, TURN, RECLASSIFY
        case CollisionType.MISCLASSIFICATION:
            return KEEP, RECLASSIFY, UPDATE, DECOMPOSE, SAME
    # Without an existing edge there is nothing to be the same as and nothing to move aside.
    return (KEEP, UPDATE, SAME, DECOMPOSE, RECLASSIFY) if conflict.existing_parent else (KEEP, UPDATE, RECLASSIFY)


@ROUTES.add("POST", f"{CONFLICTS}/{{id}}/decide", AccessScope.REVIEW, page=True)
async def submit_decide(call: AdminCall) -> Response:
    form = await call.form()
    await decide_conflict(call.app.world.deps, call.space, call.id, parse_verdict(form, by=call.by))
    return redirect_to(call, CONFLICTS, done=str(call.id))


@ROUTES.add("POST", f"{CONFLICTS}/{{id}}/undo", AccessScope.REVIEW, page=True)
async def submit_undo(call: AdminCall) -> Response:
    await undo_conflict_decision(call.app.world.deps, call.space, call.id, by=call.by)
    return redirect_to(call, CONFLICTS, done=str(call.id))


@ROUTES.add("POST", "/admin/judgements/{id}/answer", AccessScope.REVIEW, page=True)
async def submit_answer(call: AdminCall) -> Response:
    form = await call.form()
    said = form.get("decision", "")
    await answer_question(call.app, call.space, call.id, said, by=call.by, note=form.get("note", "")[:MAX_NOTE])
    return redirect_to(call, CONFLICTS)


@ROUTES.add("POST", "/admin/resolve", AccessScope.WRITE, page=True)
async def submit_run(call: AdminCall) -> Response:
    await request_resolution(call.app, call.app.world, call.space)
    return redirect_to(call, CONFLICTS)


def parse_verdict(form: Mapping[str, str], *, by: str) -> ConflictVerdict:
    """Parse the verdict from a form."""
    decision = form.get("decision", "")
    if decision not in (*ConflictDecision, *DECISIONS):
        raise BadInput("No decision was chosen.")
    against = form.get("against", "")
    return ConflictVerdict(
        decision=decision,
        judge=ConflictJudge.PERSON,
        by=by,
        existing_dimension=form.get("existing_dimension") or None,
        new_dimension=form.get("new_dimension") or None,
        dimension=form.get("dimension") or None,
        texts=tuple(form[name] for name in TEXT_FIELDS if form.get(name, "").strip()),
        reasoning=form.get("note", "")[:MAX_NOTE],
        against=int(against) if against.isascii() and against.isdigit() else None,
    )


async def resolution_status(call: AdminCall) -> dict[str, Any]:
    """How many conflicts wait, and how the last run went."""
    deps = call.app.world.deps
    run = await last_resolution_run(deps, call.space)
    return {"pending": await count_pending(deps, call.space), "last_run": asdict(run) if run else None}


@add_page(ROUTES, CONFLICTS, "conflicts.html")
async def load_conflicts_page(call: AdminCall) -> dict[str, Any]:
    deps = call.app.world.deps
    waiting = await load_conflicts(deps, call.space, statuses=(PENDING,), limit=SHOWN)
    recent = [item for item in await load_conflicts(deps, call.space, limit=10 * SHOWN) if item.status != PENDING]
    done = call.request.query_params.get("done")
    return {
        **await resolution_status(call),
        "waiting": [await _item(call, each) for each in waiting],
        "questions": await fetch_open_questions(call.app, call.space, agent=viewer_of(call), limit=SHOWN),
        "answers": [asdict(each) for each in QUESTION],
        "decided": [await _item(call, each) for each in recent[:DECIDED]],
        "done": (await _load_conflict_item(call, read_id(done)))["item"] if done else None,
    }


@add_page(ROUTES, f"{CONFLICTS}/{{id}}", "conflict.html")
async def load_conflict_page(call: AdminCall) -> dict[str, Any]:
    return await _load_conflict_item(call, call.id)


async def _load_conflict_item(call: AdminCall, conflict: UUID) -> dict[str, Any]:
    async with call.app.store.transaction() as transaction:
        found = await find_conflict(transaction, call.space, conflict)
    return {"item": await _item(call, found)}


async def _item(call: AdminCall, conflict: Conflict) -> dict[str, Any]:
    shown = await conflict_json(call.app, call.space, conflict, sees=partial(can_see, call))
    meaning = (
        MEANINGS.get(CollisionType(conflict.collision_type), "")
        if conflict.about == "edge"
        else "Two memories that cannot both stand."
    )
    return {
        **shown,
        "meaning": meaning,
        "attempts": conflict.attempts,
        "reason": conflict.reason,
        "decided_by": conflict.decided_by,
        "against": conflict.existing_parent_id,
        "choices": [asdict(choice) for choice in decision_options(conflict)],
    }
