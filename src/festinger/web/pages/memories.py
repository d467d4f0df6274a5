"""The pages of memories: find one, see why it is believed and where it was used, and correct it.

The search is the recall that agents get, without its record. Every change comes back to the page of the memory
with its undo; only forgetting, which needs a typed word, is for good.

Corrects and confirms memories on behalf of a person.

A correction is learned like any statement of that person, and replaces what it corrects whatever a judge would
say: the person has seen both. Words that say the same as before reword the memory in place. Either way there is
one change to undo.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from starlette.responses import Response

from festinger.errors import BadInput, Refused
from festinger.ids import DEFAULT_AGENT, MemoryId, Origin, Scope, SessionId, SpaceId
from festinger.judge.model import Relation
from festinger.memory.changes import find_memory
from festinger.memory.edit import MemoryEditResult, archive, edit, release, restore, supersede
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.result import Learned, build_refused_error
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import Kind, LearnAction, Memory, Status
from festinger.memory.query import browse_memories, explain_belief, list_owners, load_history, parse_filter
from festinger.outcomes.surface import surfacings_of_memory
from festinger.runtime.app import App
from festinger.runtime.erasure import build_erasure_service
from festinger.services.search import MemoryHit, find_neighbors, search_memories
from festinger.web.api.memories import find_memory_and_scope
from festinger.web.auth import AccessScope
from festinger.web.pages.changes import describe_changes, load_just_made_change, load_visible_texts
from festinger.web.render import add_page, redirect_to
from festinger.web.route import (
    AdminCall,
    RouteTable,
    can_see,
    format_time_cursor,
    is_person,
    parse_limit,
    parse_time_cursor,
    viewer_of,
)


async def correct_memory(app: App, space: SpaceId, memory: UUID, text: str, *, by: str) -> MemoryEditResult:
    """Put other words in the place of a memory. Raises `NotFound`, `BadInput`, `Refused`."""
    old = await _require_live_memory(app, space, memory)
    learned = await _learn(app, old, text, by=by, corrects=old)
    new = learned.memory
    if new is None or new.id == old.id:
        return await edit(app.memory.deps, space, old.id, text, by=by)
    if old.id in learned.superseded:
        return MemoryEditResult(memory=new, change=learned.change)
    if new.status is not Status.ACTIVE:
        raise Refused(
            f"The correction itself is {new.status.value} now.", hint=f"Decide it first: `/admin/memories/{new.id}`."
        )
    cause = _scope(old, by).cause(Origin.PERSON, app.memory.deps.clock())
    return await supersede(app.memory.deps, space, old.id, new.id, by=by, reason="corrected by a person", cause=cause)


async def confirm_memory_as_person(app: App, space: SpaceId, memory: UUID, *, by: str) -> MemoryEditResult:
    """Let a person vouch for a memory: it is said again. Raises `NotFound`, `Refused`."""
    old = await _require_live_memory(app, space, memory)
    learned = await _learn(app, old, old.content, by=by)
    return MemoryEditResult(memory=learned.memory or old, change=learned.change)


async def _require_live_memory(app: App, space: SpaceId, memory: UUID) -> Memory:
    async with app.store.transaction() as transaction:
        found = await find_memory(transaction, space, memory)
    if not found.is_live:
        raise Refused(f"This memory is {found.status.value}.", hint="Restore it first, or look at what replaced it.")
    return found


async def _learn(app: App, old: Memory, text: str, *, by: str, corrects: Memory | None = None) -> Learned:
    request = LearnRequest(
        text=text,
        subject=old.subject,
        kind=old.kind,
        origin=Origin.PERSON,
        source=f"correction of {old.id}" if corrects else None,
        event_time=old.event_time,
        tags=old.tags,
        shared=old.agent_id is None,
        corrects=corrects.id if corrects else None,
    )
    learned = await learn(app.memory.deps, _scope(old, by), request)
    if learned.action is LearnAction.REFUSED:
        raise build_refused_error(learned)
    return learned


def _scope(memory: Memory, by: str) -> Scope:
    return Scope(space=memory.space_id, agent=memory.agent_id or DEFAULT_AGENT, session=SessionId(by))


ROUTES = RouteTable()
MEMORIES = "/admin/memories"
FORGET_WORD = "forget"
RELATIONS = {
    Relation.SAME: "The same as",
    Relation.UPDATE: "One is newer than the other:",
    Relation.CONTRADICTS: "Contradicts",
    Relation.REFINES: "One says more than the other:",
    Relation.UNRELATED: "Has nothing to do with",
    Relation.UNSURE: "Nobody is sure how it relates to",
}
MAX_CUE = 500
FILTERS = ("kind", "status", "origin", "agent", "since", "until", "tag")


@add_page(ROUTES, MEMORIES, "memories.html")
async def load_memories_page(call: AdminCall) -> dict[str, Any]:
    """Memories: search, filter, list."""
    asked, agent = call.request.query_params, viewer_of(call)
    cue = asked.get("q", "").strip()[:MAX_CUE]
    wanted = replace(parse_filter(_add_times_to_days(asked)), words=None, everybodys=agent is None)
    filters = {name: asked.get(name, "") for name in FILTERS}
    shown: dict[str, Any] = {
        "q": cue,
        "filters": filters,
        "is_filtered": any(filters.values()),
        "kinds": [each.value for each in Kind],
        "statuses": [*(each.value for each in Status), "all"],
        "origins": [each.value for each in Origin],
        "agents": await list_owners(call.app.memory.deps, call.space) if is_person(call) else [],
        "done": await load_just_made_change(call),
        "next": None,
    }
    if cue:
        hits = await search_memories(call.app, call.space, cue, wanted, agent=agent, limit=parse_limit(call.request))
        return shown | {"items": [_hit(each) for each in hits]}
    limit, before = parse_limit(call.request), parse_time_cursor(asked.get("cursor"))
    scope = Scope(space=call.space, agent=agent or DEFAULT_AGENT)
    found = await browse_memories(call.app.memory.deps, scope, wanted, before=before, limit=limit)
    if len(found) == limit:
        shown["next"] = format_time_cursor(found[-1].created_at, found[-1].id)
    return shown | {"items": [{**each.as_json(), "why": "", "weak": False} for each in found]}


def _add_times_to_days(asked: Mapping[str, str]) -> dict[str, str]:
    """The filters; a bare day, as a browser sends it, begins in the morning and ends in the evening."""
    ends = {"since": "T00:00:00Z", "until": "T23:59:59Z"}
    return {
        name: text + ends[name] if name in ends and len(text) == len("2026-01-05") else text
        for name, text in asked.items()
    }


def _hit(hit: MemoryHit) -> dict[str, Any]:
    return {**hit.memory.as_json(), "why": hit.why, "weak": hit.weak}


@add_page(ROUTES, f"{MEMORIES}/{{id}}", "memory.html")
async def load_memory_page(call: AdminCall) -> dict[str, Any]:
    """One memory: why it is believed, its history, where it was used, what lies near."""
    memory, scope = await find_memory_and_scope(call)
    deps = call.app.memory.deps
    why = await explain_belief(deps, scope, memory)
    history = await load_history(deps, scope, memory)
    surfaced = await surfacings_of_memory(call.app.outcomes.deps, call.space, memory)
    near = await find_neighbors(call.app, why.memory) if why.memory.is_live else []
    return {
        "item": why.memory.as_json() | {"weight": round(why.weight.center, 2)},
        "why": why.as_json() | {"judgements": await _judged(call, why.as_json()["judgements"], str(memory))},
        "causes": len(why.causes),
        "replaced_by": why.superseded_by.as_json() if why.superseded_by else None,
        "history": list(reversed(await describe_changes(call, history.changes))),
        "injected": [each.as_json() for each in surfaced],
        "near": [_hit(each) for each in near if can_see(call, each.memory)],
        "forget_word": FORGET_WORD,
        "done": await load_just_made_change(call),
    }


async def _judged(call: AdminCall, judgements: list[dict[str, Any]], memory: str) -> list[dict[str, Any]]:
    """What judges said of this memory and another one, in words."""
    others = [each["new"] if each["old"] == memory else each["old"] for each in judgements]
    texts = await load_visible_texts(call, others)
    return [
        each | {"other": other, "text": texts.get(other), "says": RELATIONS[Relation(each["relation"])]}
        for each, other in zip(judgements, others, strict=True)
    ]


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/correct", AccessScope.REVIEW, page=True)
async def submit_correct(call: AdminCall) -> Response:
    """Put what is right in the place of a memory, from the page."""
    text = (await call.form()).get("text", "")
    return _changed(call, await correct_memory(call.app, call.space, call.id, text, by=call.by))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/confirm", AccessScope.REVIEW, page=True)
async def submit_confirm(call: AdminCall) -> Response:
    return _changed(call, await confirm_memory_as_person(call.app, call.space, call.id, by=call.by))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/archive", AccessScope.REVIEW, page=True)
async def submit_archive(call: AdminCall) -> Response:
    return _changed(call, await archive(call.app.memory.deps, call.space, call.id, by=call.by))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/restore", AccessScope.REVIEW, page=True)
async def submit_restore(call: AdminCall) -> Response:
    return _changed(call, await restore(call.app.memory.deps, call.space, call.id, by=call.by))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/release", AccessScope.REVIEW, page=True)
async def submit_release(call: AdminCall) -> Response:
    return _changed(call, await release(call.app.memory.deps, call.space, call.id, by=call.by))


@ROUTES.add("POST", f"{MEMORIES}/{{id}}/forget", AccessScope.REVIEW, page=True)
async def submit_forget(call: AdminCall) -> Response:
    require_forget_word(await call.form())
    selector = ErasureSelector(ids=(MemoryId(call.id),))
    done = await build_erasure_service(call.app).forget(call.space, selector, reason="asked in the console", by=call.by)
    return redirect_to(call, MEMORIES, said=f"Forgotten for good, with what was derived from it: {len(done.erased)}.")


def require_forget_word(form: Mapping[str, str]) -> None:
    """Refuse to forget without the typed word."""
    if form.get("word", "").strip().lower() != FORGET_WORD:
        raise BadInput(f"Forgetting is for good: write `{FORGET_WORD}` into the field.", hint="Nothing was changed.")


def _changed(call: AdminCall, result: MemoryEditResult) -> Response:
    said = {"done": str(result.change)} if result.change else {"said": "Nothing had to change."}
    return redirect_to(call, f"{MEMORIES}/{result.memory.id}", **said)
