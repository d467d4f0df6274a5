"""The page where a person decides conflicts between statements that cannot both hold.

Shows both statements side by side, who said them and when, with a form for every decision that applies. Next
to the conflicts are the questions: pairs of statements that no judge was sure about. A decision applies to
what held when the page was shown; if another edge holds by then, it is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from starlette.responses import Response

from festinger.clock import iso
from festinger.consolidation.resolution import ResolutionRun, last_run
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
from festinger.world.model import Collision

ROUTES = RouteTable()
SHOWN = 50
MAX_NOTE = 500
CONFLICTS = "/admin/conflicts"

MEANINGS = {
    Collision.ISA_ISA: "Two kinds for one thing, in the same dimension.",
    Collision.ISPART_ISPART: "Two places for one thing, in the same dimension.",
    Collision.MISCLASSIFICATION: "One says what it is, the other what it belongs to.",
    Collision.CYCLE: "Taken together these would go round in a circle.",
    Collision.RETRACTION: "Somebody says that what stands is no longer so.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionOption:
    """A decision that a person may make, in words, with the fields that it asks for."""

    decision: str
    label: str
    meaning: str
    names: tuple[tuple[str, str], ...] = ()
    """Single-line fields: names of dimensions."""
    texts: tuple[tuple[str, str], ...] = ()
    """Fields for a sentence each."""


UPDATE = DecisionOption(
    decision=ConflictDecision.UPDATE,
    label="Take the new one",
    meaning="It replaces what stands, which is kept in the history.",
)
TAKE_OUT = DecisionOption(
    decision=ConflictDecision.UPDATE, label="Take it out", meaning="What stands goes into the history."
)
TURN = DecisionOption(
    decision=ConflictDecision.UPDATE,
    label="Take the new one",
    meaning="The statement by which the circle would close goes into the history.",
)
KEEP = DecisionOption(
    decision=ConflictDecision.DISMISS, label="Keep what stands", meaning="The new statement is set aside."
)
SAME = DecisionOption(
    decision=ConflictDecision.SAME, label="Both are the same", meaning="The new name is another name for what stands."
)
DECOMPOSE = DecisionOption(
    decision=ConflictDecision.DECOMPOSE,
    label="Let both stand",
    meaning="Each gets a dimension of its own.",
    names=(("existing_dimension", "Dimension of what stands"), ("new_dimension", "Dimension of the new one")),
)
RECLASSIFY = DecisionOption(
    decision=ConflictDecision.RECLASSIFY,
    label="Put the new one elsewhere",
    meaning="What stands remains; the new one gets the dimension where it belongs.",
    names=(("dimension", "Dimension where it belongs"),),
)


OF_MEMORIES = (
    KEEP,
    UPDATE,
    DecisionOption(decision="same", label="Both say the same", meaning="They become one memory."),
    DecisionOption(decision="both", label="Let both stand", meaning="They do not contradict each other."),
    DecisionOption(decision="neither", label="Keep neither", meaning="Both are put away."),
    DecisionOption(
        decision="split",
        label="Say it more clearly",
        meaning="Both are put away, and what you write stands in their place.",
        texts=(("old_text", "In place of what stands"), ("new_text", "In place of what is new")),
    ),
)
"""Decisions about two memories."""

TEXT_FIELDS = ("old_text", "new_text")

QUESTION = tuple(
    DecisionOption(decision=decision, label=label, meaning=meaning)
    for decision, label, meaning in (
        ("same", "They say the same", "They become one memory."),
        ("update", "The second replaces the first", "The first is kept in the history."),
        ("contradicts", "They contradict each other", "A conflict is opened, to be decided here."),
        ("both", "Both hold", "Neither changes, and nobody asks again."),
    )
)
"""Answers about two statements that no judge was sure about."""


def decision_options(conflict: Conflict) -> tuple[DecisionOption, ...]:
    """The decisions that apply to a conflict, likeliest first."""
    if conflict.about == "memory":
        return OF_MEMORIES
    match conflict.collision_type:
        case Collision.RETRACTION:
            return TAKE_OUT, KEEP
        case Collision.CYCLE:
            return KEEP, TURN, RECLASSIFY
        case Collision.MISCLASSIFICATION:
            return KEEP, RECLASSIFY, UPDATE, DECOMPOSE, SAME
    # Without an existing edge there is nothing to be the same as and nothing to move aside.
    return (KEEP, UPDATE, SAME, DECOMPOSE, RECLASSIFY) if conflict.existing_parent else (KEEP, UPDATE, RECLASSIFY)


@ROUTES.add("POST", f"{CONFLICTS}/{{id}}/decide", AccessScope.REVIEW, page=True)
async def decide_form(call: AdminCall) -> Response:
    """Decide a conflict, from the page."""
    form = await call.form()
    await decide_conflict(call.app.world.deps, call.space, call.id, parse_verdict(form, by=call.by))
    return redirect_to(call, CONFLICTS, done=str(call.id))


@ROUTES.add("POST", f"{CONFLICTS}/{{id}}/undo", AccessScope.REVIEW, page=True)
async def undo_form(call: AdminCall) -> Response:
    """Take a decision back, from the page."""
    await undo_conflict_decision(call.app.world.deps, call.space, call.id, by=call.by)
    return redirect_to(call, CONFLICTS, done=str(call.id))


@ROUTES.add("POST", "/admin/judgements/{id}/answer", AccessScope.REVIEW, page=True)
async def answer_form(call: AdminCall) -> Response:
    """Answer what no judge could tell, from the page."""
    form = await call.form()
    said = form.get("decision", "")
    await answer_question(call.app, call.space, call.id, said, by=call.by, note=form.get("note", "")[:MAX_NOTE])
    return redirect_to(call, CONFLICTS)


@ROUTES.add("POST", "/admin/resolve", AccessScope.WRITE, page=True)
async def run_form(call: AdminCall) -> Response:
    """Resolve what can be now, from the page."""
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
    run = await last_run(deps, call.space)
    return {"pending": await count_pending(deps, call.space), "last_run": _run(run) if run else None}


@add_page(ROUTES, CONFLICTS, "conflicts.html")
async def conflicts_page(call: AdminCall) -> dict[str, Any]:
    """What cannot both stand, and deciding it."""
    deps = call.app.world.deps
    waiting = await load_conflicts(deps, call.space, statuses=(PENDING,), limit=SHOWN)
    recent = [item for item in await load_conflicts(deps, call.space, limit=2 * SHOWN) if item.status != PENDING]
    done = call.request.query_params.get("done")
    return {
        **await resolution_status(call),
        "waiting": await _items(call, waiting),
        "questions": await fetch_open_questions(call.app, call.space, agent=viewer_of(call), limit=SHOWN),
        "answers": [_choice(each) for each in QUESTION],
        "decided": await _items(call, recent[:SHOWN]),
        "done": (await _one(call, read_id(done)))["item"] if done else None,
    }


@add_page(ROUTES, f"{CONFLICTS}/{{id}}", "conflict.html")
async def conflict_page(call: AdminCall) -> dict[str, Any]:
    """One conflict, with its forms."""
    return await _one(call, call.id)


async def _one(call: AdminCall, conflict: UUID) -> dict[str, Any]:
    async with call.app.store.transaction() as transaction:
        found = await find_conflict(transaction, call.space, conflict)
    (item,) = await _items(call, [found])
    return {"item": item}


async def _items(call: AdminCall, found: Sequence[Conflict]) -> list[dict[str, Any]]:
    return [await _item(call, each) for each in found]


async def _item(call: AdminCall, conflict: Conflict) -> dict[str, Any]:
    shown = await conflict_json(call.app, call.space, conflict, sees=partial(can_see, call))
    meaning = (
        MEANINGS.get(Collision(conflict.collision_type), "")
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
        "choices": [_choice(choice) for choice in decision_options(conflict)],
    }


def _choice(choice: DecisionOption) -> dict[str, Any]:
    return {
        "decision": str(choice.decision),
        "label": choice.label,
        "meaning": choice.meaning,
        "names": [{"name": name, "label": label} for name, label in choice.names],
        "texts": [{"name": name, "label": label} for name, label in choice.texts],
    }


def _run(run: ResolutionRun) -> dict[str, Any]:
    return {
        "id": str(run.id),
        "dry_run": run.dry_run,
        "seen": run.seen,
        "resolved": run.resolved,
        "dismissed": run.dismissed,
        "waiting": run.waiting,
        "failed": run.failed,
        "cost_usd": float(run.cost_usd) if run.cost_usd is not None else None,
        "started_at": iso(run.started_at),
        "finished_at": iso(run.finished_at) if run.finished_at else None,
    }
