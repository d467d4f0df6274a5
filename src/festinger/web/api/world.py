"""HTTP API for the world: state facts, decide conflicts, explain and look around, reload.

The short paths at the root are those that people and agents already use; each is repeated under `/admin/api`.
Stating a fact and reading need no key on this machine; deciding is for reviewers alone. A fact stated without
a reviewer's or an administrator's key counts as the agent's own.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Any

from starlette.responses import Response

from festinger.consolidation.resolution import find_resolution_run
from festinger.errors import BadFact, BadInput
from festinger.ids import read_id
from festinger.runtime.world import request_resolution
from festinger.services.conflicts import conflict_json
from festinger.web.auth import AccessScope
from festinger.web.route import AdminCall, ApiInput, Endpoint, RouteTable, can_see, json_response, parse_limit
from festinger.world.conflicts import Conflict, find_conflict, load_conflicts
from festinger.world.decisions import (
    ConflictDecision,
    ConflictJudge,
    ConflictVerdict,
    decide_conflict,
    undo_conflict_decision,
)
from festinger.world.explain import list_unexplained_names
from festinger.world.learn import NEW, FactResult, fact_result_json, iknowthat
from festinger.world.model import StatementEffect
from festinger.world.query import Neighborhood, build_concept_report, concept_report_json, load_neighborhood

ROUTES = RouteTable()


def _both(method: str, path: str, scope: AccessScope, *, keyless: bool = False) -> Callable[[Endpoint], Endpoint]:
    """Add a handler at the root and under the API; only at the root may a local caller skip the key."""

    def register(endpoint: Endpoint) -> Endpoint:
        ROUTES.add(method, path, scope, keyless=keyless)(endpoint)
        return ROUTES.add(method, f"/admin/api{path}", scope)(endpoint)

    return register


STATUSES = ("pending", "resolved", "dismissed")

INSERTED, CORROBORATED, CONFLICT = 201, 200, 202


class StateFactsRequest(ApiInput):
    fact: str | None = None
    facts: list[str] | None = None

    def all(self) -> list[str]:
        if (self.fact is None) is (self.facts is None):
            raise BadFact("Send one `fact`, or a list of `facts`.")
        return self.facts if self.facts is not None else [self.fact or ""]


class DismissConflictRequest(ApiInput):
    note: str = ""


class ResolveConflictRequest(ApiInput):
    decision: str
    existing_dimension: str | None = None
    new_dimension: str | None = None
    dimension: str | None = None
    texts: tuple[str, ...] = ()
    note: str = ""


@_both("POST", "/iknowthat", AccessScope.WRITE, keyless=True)
async def state_facts(call: AdminCall) -> Response:
    body = await call.body(StateFactsRequest)
    room, space = call.app.world, call.space
    await room.need(space)
    known = await iknowthat(room.deps, space, body.all(), because=call.cause)
    items = [await fact_result_json(room.deps, space, each) for each in known]
    if body.facts is None:
        return json_response(items[0], _http_status_of_facts(known))
    return json_response({"items": items}, _http_status_of_facts(known))


@_both("GET", "/conflicts", AccessScope.READ, keyless=True)
async def list_conflicts(call: AdminCall) -> Response:
    wanted = call.request.query_params.get("status")
    if wanted not in (None, "all", *STATUSES):
        raise BadInput(f"`status` must be one of {', '.join((*STATUSES, 'all'))}.")
    statuses = STATUSES if wanted == "all" else (wanted,) if wanted else None
    room, space, limit = call.app.world, call.space, parse_limit(call.request)
    found = await load_conflicts(room.deps, space, statuses=statuses, after=await _after(call), limit=limit)
    last = str(found[-1].id) if len(found) == limit else None
    return json_response({"items": [await _json(call, item) for item in found], "next": last})


@_both("GET", "/conflicts/{id}", AccessScope.READ, keyless=True)
async def show_conflict(call: AdminCall) -> Response:
    async with call.app.store.transaction() as transaction:
        found = await find_conflict(transaction, call.space, call.id)
    return json_response(await _json(call, found))


@_both("POST", "/conflicts/{id}/dismiss", AccessScope.REVIEW)
async def dismiss_conflict(call: AdminCall) -> Response:
    body = await call.body(DismissConflictRequest)
    verdict = ConflictVerdict(
        decision=ConflictDecision.DISMISS, judge=ConflictJudge.PERSON, by=call.by, reasoning=body.note
    )
    return json_response(await _json(call, await decide_conflict(call.app.world.deps, call.space, call.id, verdict)))


@_both("POST", "/conflicts/{id}/resolve", AccessScope.REVIEW)
async def resolve_conflict(call: AdminCall) -> Response:
    body = await call.body(ResolveConflictRequest)
    verdict = ConflictVerdict(
        **body.model_dump(exclude={"note"}), judge=ConflictJudge.PERSON, by=call.by, reasoning=body.note
    )
    return json_response(await _json(call, await decide_conflict(call.app.world.deps, call.space, call.id, verdict)))


@_both("POST", "/conflicts/{id}/undo", AccessScope.REVIEW)
async def post_conflict_undo(call: AdminCall) -> Response:
    return json_response(
        await _json(call, await undo_conflict_decision(call.app.world.deps, call.space, call.id, by=call.by))
    )


@_both("POST", "/resolve/run", AccessScope.WRITE, keyless=True)
async def run_conflict_resolution(call: AdminCall) -> Response:
    is_dry = call.request.query_params.get("dry_run") == "true"
    run, pending = await request_resolution(call.app, call.app.world, call.space, dry_run=is_dry)
    return json_response({"run_id": run, "pending": pending}, 202)


@_both("GET", "/resolve/runs/{id}", AccessScope.READ, keyless=True)
async def show_resolution_run(call: AdminCall) -> Response:
    return json_response(asdict(await find_resolution_run(call.app.world.deps, call.space, call.id)))


@_both("POST", "/reload", AccessScope.WRITE, keyless=True)
async def reload_caches(call: AdminCall) -> Response:
    """Build what this process keeps in memory anew: the world, and the settings, keys and spaces beside it."""
    await call.app.world.begin(call.space)
    reloaded = await call.app.world.worlds.reload(call.space)
    await call.app.refresh_caches()
    return json_response(asdict(reloaded))


def _http_status_of_facts(known: Sequence[FactResult]) -> int:
    did = {each.stated.did for each in known}
    if StatementEffect.CONFLICT in did:
        return CONFLICT
    return INSERTED if did & NEW else CORROBORATED


async def _json(call: AdminCall, item: Conflict) -> dict[str, Any]:
    return await conflict_json(call.app, call.space, item, sees=partial(can_see, call))


async def _after(call: AdminCall) -> Conflict | None:
    cursor = call.request.query_params.get("cursor")
    if cursor is None:
        return None
    async with call.app.store.transaction() as transaction:
        return await find_conflict(transaction, call.space, read_id(cursor))


DEEPEST = 3


@ROUTES.add("GET", "/admin/api/concepts/{token}", AccessScope.READ)
async def show_concept(call: AdminCall) -> Response:
    found = await build_concept_report(
        call.app.world.deps, call.space, str(call.request.path_params["token"]).casefold()
    )
    return json_response(concept_report_json(found))


@ROUTES.add("GET", "/admin/api/graph", AccessScope.READ)
async def show_neighborhood(call: AdminCall) -> Response:
    """What stands around a word; with `svg` also as a picture."""
    from festinger.web.graph import lay_out_graph, render_svg

    asked = call.request.query_params
    centre = asked.get("centre", "").strip()
    if not centre:
        raise BadInput("`centre` must name a word.")
    found = await load_requested_neighborhood(call, centre)
    svg = {"svg": render_svg(lay_out_graph(found, **graph_drawing_options(call)))} if asked.get("svg") else {}
    return json_response(asdict(found) | svg)


@ROUTES.add("GET", "/admin/api/wanted", AccessScope.READ)
async def list_unexplained_words(call: AdminCall) -> Response:
    found = await list_unexplained_names(call.app.world.deps, call.space, limit=parse_limit(call.request))
    return json_response({"items": [unexplained_word_json(row) for row in found], "next": None})


async def load_requested_neighborhood(call: AdminCall, token: str) -> Neighborhood:
    """The neighborhood of a word, in the depth and dimension that the caller asks for."""
    return await load_neighborhood(
        call.app.world.deps,
        call.space,
        token.casefold(),
        depth=parse_depth(call),
        dimension=call.request.query_params.get("dim") or None,
        most=call.supervisor.settings.now.console.graph_nodes,
    )


def graph_drawing_options(call: AdminCall) -> dict[str, Any]:
    """What the drawing of a neighborhood needs to know besides it."""
    recent = timedelta(days=call.supervisor.settings.now.world.recollection_recency_days)
    return {"now": call.app.tools.clock(), "recent": recent}


def parse_depth(call: AdminCall) -> int:
    given = call.request.query_params.get("depth", "1")
    if given not in map(str, range(1, DEEPEST + 1)):
        raise BadInput(f"`depth` must be a whole number from 1 to {DEEPEST}.")
    return int(given)


def unexplained_word_json(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "token": row["token"],
        "encounters": row["encounter_count"],
        "last_seen": row["last_seen"],
        "wanted_at": row["wanted_at"],
    }
