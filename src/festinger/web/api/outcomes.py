"""Outcomes over HTTP: what was read, what was put before a model, what became of it, and how much of it came back."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from festinger.errors import BadInput
from festinger.ids import SessionId, read_id
from festinger.memory.model import Place
from festinger.outcomes.model import How, Reporter
from festinger.outcomes.report import observe_recall
from festinger.outcomes.stats import lists, page, tally
from festinger.outcomes.surface import list_surfacings, pending
from festinger.web.auth import Scope
from festinger.web.pagination import limit_of
from festinger.web.route import PEOPLE, Call, Route, answer

LONGEST_KEY = 200
MOST_IDS = 10_000


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class OutcomesBody(Body):
    outcomes: dict[str, Any]
    recall: UUID | None = None
    partition: str | None = Field(None, max_length=200)
    turn: UUID | None = None
    session: str | None = Field(None, max_length=200)
    credit: dict[str, float] | None = None
    superseded_by: dict[str, str] = Field(default_factory=dict)


class ReadsBody(Body):
    ids: list[UUID] = Field(max_length=MOST_IDS)


class SurfacedBody(Body):
    ids: list[UUID] = Field(max_length=MOST_IDS)
    reason: str = "proactive"
    partition: str | None = Field(None, max_length=200)


class CycleBody(Body):
    period: float | str
    amplitude: float
    phase: float = 0.0


class RhythmBody(Body):
    cycles: list[CycleBody] = Field(default_factory=list)
    pressure_rate: float = 0.0
    decay_rate: float | None = None


class PredictionBody(Body):
    predicted: dict[str, Any]


class ActualBody(Body):
    actual: dict[str, Any]


def reporter_of(call: Call, *, session: str | None = None) -> Reporter:
    """Who reports: a person who is logged in or shows a person's key, or a program with its own."""
    cause, who = call.cause, call.session or call.key
    place = Place(space=call.space, agent=cause.agent, session=SessionId(session or cause.session))
    return Reporter(
        place=place,
        name=call.by,
        door="rest",
        origin=cause.origin,
        is_reviewer=who is not None and who.role in PEOPLE,
    )


async def report_outcomes(call: Call) -> Response:
    body = await call.body(OutcomesBody)
    key = call.request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise BadInput(f"`Idempotency-Key` has 1 to {LONGEST_KEY} characters.")
    await call.app.afterwards.written()
    observed = await observe_recall(
        call.app.outcomes.desk,
        reporter_of(call, session=body.session),
        body.outcomes,
        recall=body.recall,
        partition=body.partition,
        turn=body.turn,
        key=key,
        credit=body.credit,
        superseded_by=body.superseded_by,
    )
    return answer(observed.as_json())


async def stage_reads(call: Call) -> Response:
    body = await call.body(ReadsBody)
    protocol = call.app.outcomes.protocol(reporter_of(call))
    for each in body.ids:
        await protocol.on_read(each)
    return Response(status_code=204)


async def note_surfaced(call: Call) -> Response:
    body = await call.body(SurfacedBody)
    protocol = call.app.outcomes.protocol(reporter_of(call))
    found = await protocol.on_surfaced(body.ids, body.reason, body.partition)
    return answer({"items": [each.as_json() for each in found], "next": None}, 201)


async def list_surfaced(call: Call) -> Response:
    query, limit, desk = call.request.query_params, limit_of(call.request), call.app.outcomes.desk
    partition = query.get("partition")
    if query.get("pending") == "true":
        found = await pending(desk, call.space, partition or str(call.cause.agent), limit=limit)
        return answer({"items": [each.as_json() for each in found], "next": None})
    cursor = query.get("cursor")
    found = await list_surfacings(
        desk, call.space, partition=partition, after=read_id(cursor) if cursor else None, limit=limit
    )
    last = str(found[-1].id) if len(found) == limit else None
    return answer({"items": [each.as_json() for each in found], "next": last})


async def list_outcomes(call: Call) -> Response:
    query, limit = call.request.query_params, limit_of(call.request)
    memory, how, cursor = query.get("memory"), query.get("how"), query.get("cursor")
    if how is not None and how not in tuple(How):
        raise BadInput(f"`how` must be one of {', '.join(How)}.")
    found = await page(
        call.app.outcomes.desk,
        call.space,
        memory=read_id(memory) if memory else None,
        how=How(how) if how else None,
        after=read_id(cursor) if cursor else None,
        limit=limit,
    )
    return answer({"items": found, "next": found[-1]["id"] if len(found) == limit else None})


async def show_metrics(call: Call) -> Response:
    desk = call.app.outcomes.desk
    return answer({**await tally(desk, call.space), "lists": await lists(desk, call.space)})


async def set_rhythm(call: Call) -> Response:
    body = await call.body(RhythmBody)
    state = await call.app.outcomes.protocol(reporter_of(call)).set_rhythm(
        call.id,
        cycles=[(each.period, each.amplitude, each.phase) for each in body.cycles],
        pressure_rate=body.pressure_rate,
        decay_rate=body.decay_rate,
    )
    return answer(rhythm_json(state.rhythm, state.cycles))


def rhythm_json(rhythm: Any, cycles: Any) -> Mapping[str, Any]:
    return {
        "decay_rate": rhythm.decay_rate,
        "last_touched": rhythm.last_touched,
        "pressure_rate": rhythm.pressure_rate,
        "pressure_resolved_at": rhythm.pressure_resolved_at,
        "cycles": [
            {"period": each.period_s, "amplitude": each.amplitude, "phase": each.phase_s} for each in cycles
        ],
    }


async def record_prediction(call: Call) -> Response:
    body = await call.body(PredictionBody)
    await call.app.outcomes.protocol(reporter_of(call)).record_prediction(call.id, body.predicted)
    return Response(status_code=204)


async def resolve_prediction(call: Call) -> Response:
    body = await call.body(ActualBody)
    error = await call.app.outcomes.protocol(reporter_of(call)).resolve_prediction(call.id, body.actual)
    return answer({"error": error})


ROUTES = (
    Route(
        method="POST",
        path="/admin/api/outcomes",
        scope=Scope.WRITE,
        endpoint=report_outcomes,
        summary="Say what became of memories.",
    ),
    Route(
        method="GET",
        path="/admin/api/outcomes",
        scope=Scope.READ,
        endpoint=list_outcomes,
        summary="What was done with memories, newest first.",
    ),
    Route(
        method="GET",
        path="/admin/api/outcomes/metrics",
        scope=Scope.READ,
        endpoint=show_metrics,
        summary="How much of what is brought to mind comes to an outcome.",
    ),
    Route(
        method="POST",
        path="/admin/api/reads",
        scope=Scope.WRITE,
        endpoint=stage_reads,
        summary="Note that memories were read.",
    ),
    Route(
        method="POST",
        path="/admin/api/surfaced",
        scope=Scope.WRITE,
        endpoint=note_surfaced,
        summary="Note that memories were put before a model.",
    ),
    Route(
        method="GET",
        path="/admin/api/surfaced",
        scope=Scope.READ,
        endpoint=list_surfaced,
        summary="What was put before models, newest first, or what waits.",
    ),
    Route(
        method="PUT",
        path="/admin/api/memories/{id}/rhythm",
        scope=Scope.WRITE,
        endpoint=set_rhythm,
        summary="Say how the strength of a memory moves with time.",
    ),
    Route(
        method="POST",
        path="/admin/api/memories/{id}/prediction",
        scope=Scope.WRITE,
        endpoint=record_prediction,
        summary="Keep what a memory is expected to lead to.",
    ),
    Route(
        method="POST",
        path="/admin/api/memories/{id}/prediction/resolve",
        scope=Scope.WRITE,
        endpoint=resolve_prediction,
        summary="Say what came, against what was expected.",
    ),
)
