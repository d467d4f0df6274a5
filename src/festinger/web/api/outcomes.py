"""HTTP API for outcomes: reads, surfacings, reported outcomes, predictions and metrics."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import Field
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import Scope, SessionId, read_id
from festinger.outcomes.model import Reporter, ReportSource
from festinger.outcomes.report import observe_recall
from festinger.outcomes.stats import list_recorded_outcomes, outcome_stats, top_memories
from festinger.outcomes.surface import list_pending_surfacings, list_surfacings
from festinger.web.auth import AccessScope
from festinger.web.route import PEOPLE, AdminCall, ApiInput, RouteTable, json_response, parse_limit

ROUTES = RouteTable()
LONGEST_KEY = 200
MOST_IDS = 10_000


class ReportOutcomesRequest(ApiInput):
    outcomes: dict[str, Any]
    recall: UUID | None = None
    partition: str | None = Field(None, max_length=200)
    turn: UUID | None = None
    session: str | None = Field(None, max_length=200)
    credit: dict[str, float] | None = None
    superseded_by: dict[str, str] = Field(default_factory=dict)


class StageReadsRequest(ApiInput):
    ids: list[UUID] = Field(max_length=MOST_IDS)


class RecordSurfacingRequest(ApiInput):
    ids: list[UUID] = Field(max_length=MOST_IDS)
    reason: str = "proactive"
    partition: str | None = Field(None, max_length=200)


class CycleInput(ApiInput):
    period: float | str
    amplitude: float
    phase: float = 0.0


class SetRhythmRequest(ApiInput):
    cycles: list[CycleInput] = Field(default_factory=list)
    pressure_rate: float = 0.0
    decay_rate: float | None = None


class RecordPredictionRequest(ApiInput):
    predicted: dict[str, Any]


class ResolvePredictionRequest(ApiInput):
    actual: dict[str, Any]


def reporter_of(call: AdminCall, *, session: str | None = None) -> Reporter:
    """The reporter: a person who is logged in or uses a person's key, or a program with its own key."""
    cause, who = call.cause, call.admission.who
    scope = Scope(space=call.space, agent=cause.agent, session=SessionId(session or cause.session))
    return Reporter(
        scope=scope, name=call.by, door="rest", origin=cause.origin, is_reviewer=who is not None and who.role in PEOPLE
    )


@ROUTES.add("POST", "/admin/api/outcomes", AccessScope.WRITE)
async def report_outcomes(call: AdminCall) -> Response:
    body = await call.body(ReportOutcomesRequest)
    key = call.request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise BadInput(f"`Idempotency-Key` has 1 to {LONGEST_KEY} characters.")
    await call.app.afterwards.written()
    observed = await observe_recall(
        call.app.outcomes.deps,
        reporter_of(call, session=body.session),
        body.outcomes,
        recall=body.recall,
        partition=body.partition,
        turn=body.turn,
        key=key,
        credit=body.credit,
        superseded_by=body.superseded_by,
    )
    return json_response(observed.as_json())


@ROUTES.add("POST", "/admin/api/reads", AccessScope.WRITE)
async def stage_reads(call: AdminCall) -> Response:
    body = await call.body(StageReadsRequest)
    protocol = call.app.outcomes.protocol(reporter_of(call))
    for each in body.ids:
        await protocol.on_read(each)
    return Response(status_code=204)


@ROUTES.add("POST", "/admin/api/surfaced", AccessScope.WRITE)
async def record_surfacing(call: AdminCall) -> Response:
    body = await call.body(RecordSurfacingRequest)
    protocol = call.app.outcomes.protocol(reporter_of(call))
    found = await protocol.on_surfaced(body.ids, body.reason, body.partition)
    return json_response({"items": [each.as_json() for each in found], "next": None}, 201)


@ROUTES.add("GET", "/admin/api/surfaced", AccessScope.READ)
async def show_surfacings(call: AdminCall) -> Response:
    """What was put before models, newest first, or what waits."""
    query, limit, deps = call.request.query_params, parse_limit(call.request), call.app.outcomes.deps
    partition = query.get("partition")
    if query.get("pending") == "true":
        found = await list_pending_surfacings(deps, call.space, partition or str(call.cause.agent), limit=limit)
        return json_response({"items": [each.as_json() for each in found], "next": None})
    cursor = query.get("cursor")
    found = await list_surfacings(
        deps, call.space, partition=partition, after=read_id(cursor) if cursor else None, limit=limit
    )
    last = str(found[-1].id) if len(found) == limit else None
    return json_response({"items": [each.as_json() for each in found], "next": last})


@ROUTES.add("GET", "/admin/api/outcomes", AccessScope.READ)
async def list_outcomes(call: AdminCall) -> Response:
    query, limit = call.request.query_params, parse_limit(call.request)
    memory, how, cursor = query.get("memory"), query.get("how"), query.get("cursor")
    if how is not None and how not in tuple(ReportSource):
        raise BadInput(f"`how` must be one of {', '.join(ReportSource)}.")
    found = await list_recorded_outcomes(
        call.app.outcomes.deps,
        call.space,
        memory=read_id(memory) if memory else None,
        how=ReportSource(how) if how else None,
        after=read_id(cursor) if cursor else None,
        limit=limit,
    )
    return json_response({"items": found, "next": found[-1]["id"] if len(found) == limit else None})


@ROUTES.add("GET", "/admin/api/outcomes/metrics", AccessScope.READ)
async def show_metrics(call: AdminCall) -> Response:
    """How much of what is brought to mind comes to an outcome."""
    deps = call.app.outcomes.deps
    return json_response({**await outcome_stats(deps, call.space), "lists": await top_memories(deps, call.space)})


@ROUTES.add("PUT", "/admin/api/memories/{id}/rhythm", AccessScope.WRITE)
async def set_rhythm(call: AdminCall) -> Response:
    """Say how the strength of a memory moves with time."""
    body = await call.body(SetRhythmRequest)
    state = await call.app.outcomes.protocol(reporter_of(call)).set_rhythm(
        call.id,
        cycles=[(each.period, each.amplitude, each.phase) for each in body.cycles],
        pressure_rate=body.pressure_rate,
        decay_rate=body.decay_rate,
    )
    return json_response(rhythm_json(state.rhythm, state.cycles))


def rhythm_json(rhythm: Any, cycles: Any) -> Mapping[str, Any]:
    return {
        "decay_rate": rhythm.decay_rate,
        "last_touched": rhythm.last_touched,
        "pressure_rate": rhythm.pressure_rate,
        "pressure_resolved_at": rhythm.pressure_resolved_at,
        "cycles": [{"period": each.period_s, "amplitude": each.amplitude, "phase": each.phase_s} for each in cycles],
    }


@ROUTES.add("POST", "/admin/api/memories/{id}/prediction", AccessScope.WRITE)
async def record_prediction(call: AdminCall) -> Response:
    body = await call.body(RecordPredictionRequest)
    await call.app.outcomes.protocol(reporter_of(call)).record_prediction(call.id, body.predicted)
    return Response(status_code=204)


@ROUTES.add("POST", "/admin/api/memories/{id}/prediction/resolve", AccessScope.WRITE)
async def resolve_prediction(call: AdminCall) -> Response:
    body = await call.body(ResolvePredictionRequest)
    error = await call.app.outcomes.protocol(reporter_of(call)).resolve_prediction(call.id, body.actual)
    return json_response({"error": error})
