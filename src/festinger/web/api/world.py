"""The world over HTTP: state facts, see and decide conflicts, resolve them now, reload.

The short paths at the root are those that people and agents already use; each has a twin under `/admin/api`.
Stating a fact and looking need no key on this machine; deciding is for reviewers alone. Who states a fact
without a reviewer's or an administrator's key is taken for the agent itself.

Words of the world over HTTP: why something is believed, what stands around it, what nobody has explained.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from festinger.consolidation.resolution import find_run
from festinger.errors import BadFact, BadInput
from festinger.ids import read_id
from festinger.runtime.world import ask_to_resolve
from festinger.services.conflicts import conflict_json
from festinger.web.auth import Scope
from festinger.web.caller import sees
from festinger.web.pagination import limit_of
from festinger.web.route import Call, Endpoint, Route, answer
from festinger.world.conflicts import Conflict, conflicts, find_conflict
from festinger.world.decisions import Decision, Judge, Verdict, decide, undo
from festinger.world.explain import wanted
from festinger.world.learn import NEW, Known, iknowthat, known_json
from festinger.world.query import Neighbourhood, around, why, why_json
from festinger.world.state import Did

STATUSES = ("pending", "resolved", "dismissed")

INSERTED, CORROBORATED, CONFLICT = 201, 200, 202


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Facts(Body):
    fact: str | None = None
    facts: list[str] | None = None

    def all(self) -> list[str]:
        if (self.fact is None) is (self.facts is None):
            raise BadFact("Send one `fact`, or a list of `facts`.")
        return self.facts if self.facts is not None else [self.fact or ""]


class Dismissal(Body):
    note: str = ""


class Resolution(Body):
    decision: str
    existing_dimension: str | None = None
    new_dimension: str | None = None
    dimension: str | None = None
    texts: list[str] = []
    note: str = ""


async def state_facts(call: Call) -> Response:
    body = await call.body(Facts)
    room, space = call.app.world, call.space
    await room.need(space)
    known = await iknowthat(room.desk, space, body.all(), because=call.cause)
    items = [await known_json(room.desk, space, each) for each in known]
    if body.facts is None:
        return answer(items[0], _status(known))
    return answer({"items": items}, _status(known))


async def list_conflicts(call: Call) -> Response:
    wanted = call.request.query_params.get("status")
    if wanted not in (None, "all", *STATUSES):
        raise BadInput(f"`status` must be one of {', '.join((*STATUSES, 'all'))}.")
    statuses = STATUSES if wanted == "all" else (wanted,) if wanted else None
    room, space, limit = call.app.world, call.space, limit_of(call.request)
    found = await conflicts(room.desk, space, statuses=statuses, after=await _after(call), limit=limit)
    last = str(found[-1].id) if len(found) == limit else None
    return answer({"items": [await _json(call, item) for item in found], "next": last})


async def one_conflict(call: Call) -> Response:
    async with call.app.store.transaction() as transaction:
        found = await find_conflict(transaction, call.space, call.id)
    return answer(await _json(call, found))


async def dismiss(call: Call) -> Response:
    body = await call.body(Dismissal)
    verdict = Verdict(decision=Decision.DISMISS, judge=Judge.PERSON, by=call.by, reasoning=body.note)
    return answer(await _json(call, await decide(call.app.world.desk, call.space, call.id, verdict)))


async def resolve_conflict(call: Call) -> Response:
    body = await call.body(Resolution)
    verdict = Verdict(
        decision=body.decision,
        judge=Judge.PERSON,
        by=call.by,
        existing_dimension=body.existing_dimension,
        new_dimension=body.new_dimension,
        dimension=body.dimension,
        texts=tuple(body.texts),
        reasoning=body.note,
    )
    return answer(await _json(call, await decide(call.app.world.desk, call.space, call.id, verdict)))


async def undo_decision(call: Call) -> Response:
    return answer(await _json(call, await undo(call.app.world.desk, call.space, call.id, by=call.by)))


async def run_resolution(call: Call) -> Response:
    is_dry = call.request.query_params.get("dry_run") == "true"
    run, pending = await ask_to_resolve(call.app, call.app.world, call.space, dry_run=is_dry)
    return answer({"run_id": run, "pending": pending}, 202)


async def resolution_run(call: Call) -> Response:
    return answer(asdict(await find_run(call.app.world.desk, call.space, call.id)))


async def reload(call: Call) -> Response:
    """Build what this process keeps in memory anew: the world, and the settings, keys and spaces beside it."""
    await call.app.world.begin(call.space)
    reloaded = await call.app.world.worlds.reload(call.space)
    await call.app.reread()
    return answer(asdict(reloaded))


def _status(known: Sequence[Known]) -> int:
    did = {each.stated.did for each in known}
    if Did.CONFLICT in did:
        return CONFLICT
    return INSERTED if did & NEW else CORROBORATED


async def _json(call: Call, item: Conflict) -> dict[str, Any]:
    return await conflict_json(call.app, call.space, item, sees=partial(sees, call))


async def _after(call: Call) -> Conflict | None:
    cursor = call.request.query_params.get("cursor")
    if cursor is None:
        return None
    async with call.app.store.transaction() as transaction:
        return await find_conflict(transaction, call.space, read_id(cursor))


def _both(
    method: str, path: str, scope: Scope, endpoint: Endpoint, *, summary: str, keyless: bool = False
) -> tuple[Route, Route]:
    """A route at the root and its twin under the API; only the root one may need no key on this machine."""
    twin = Route(method=method, path=f"/admin/api{path}", scope=scope, endpoint=endpoint, summary=summary)
    return replace(twin, path=path, keyless=keyless), twin


ROUTES = (
    *_both("POST", "/iknowthat", Scope.WRITE, state_facts, summary="State a fact.", keyless=True),
    *_both(
        "GET", "/conflicts", Scope.READ, list_conflicts, summary="Conflicts, most urgent first.", keyless=True
    ),
    *_both("GET", "/conflicts/{id}", Scope.READ, one_conflict, summary="One conflict.", keyless=True),
    *_both("POST", "/conflicts/{id}/dismiss", Scope.REVIEW, dismiss, summary="Let the old fact stand."),
    *_both("POST", "/conflicts/{id}/resolve", Scope.REVIEW, resolve_conflict, summary="Decide a conflict."),
    *_both("POST", "/conflicts/{id}/undo", Scope.REVIEW, undo_decision, summary="Take a decision back."),
    *_both(
        "POST", "/resolve/run", Scope.WRITE, run_resolution, summary="Resolve what can be now.", keyless=True
    ),
    *_both("GET", "/resolve/runs/{id}", Scope.READ, resolution_run, summary="How a run went.", keyless=True),
    *_both("POST", "/reload", Scope.WRITE, reload, summary="Read the world anew.", keyless=True),
)


DEEPEST = 3


async def concept(call: Call) -> Response:
    found = await why(call.app.world.desk, call.space, str(call.request.path_params["token"]).casefold())
    return answer(why_json(found))


async def graph(call: Call) -> Response:
    asked = call.request.query_params
    centre = asked.get("centre", "").strip()
    if not centre:
        raise BadInput("`centre` must name a word.")
    return answer(asdict(await neighbourhood(call, centre)))


async def wanted_words(call: Call) -> Response:
    found = await wanted(call.app.world.desk, call.space, limit=limit_of(call.request))
    return answer({"items": [wanted_json(row) for row in found], "next": None})


async def neighbourhood(call: Call, token: str) -> Neighbourhood:
    """What stands around a word, as deep and in the dimension that the caller asks for."""
    return await around(
        call.app.world.desk,
        call.space,
        token.casefold(),
        depth=depth_of(call),
        dimension=call.request.query_params.get("dim") or None,
    )


def depth_of(call: Call) -> int:
    given = call.request.query_params.get("depth", "1")
    if given not in map(str, range(1, DEEPEST + 1)):
        raise BadInput(f"`depth` must be a whole number from 1 to {DEEPEST}.")
    return int(given)


def wanted_json(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "token": row["token"],
        "encounters": row["encounter_count"],
        "last_seen": row["last_seen"],
        "wanted_at": row["wanted_at"],
    }


CONCEPT_ROUTES = (
    Route(
        method="GET",
        path="/admin/api/concepts/{token}",
        scope=Scope.READ,
        endpoint=concept,
        summary="All that is known of a word, and why.",
    ),
    Route(
        method="GET",
        path="/admin/api/graph",
        scope=Scope.READ,
        endpoint=graph,
        summary="What stands around a word.",
    ),
    Route(
        method="GET",
        path="/admin/api/wanted",
        scope=Scope.READ,
        endpoint=wanted_words,
        summary="Names that stand out and that nobody has explained.",
    ),
)
