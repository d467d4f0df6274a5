"""Words of the world over HTTP: why something is believed, what stands around it, what nobody has explained."""

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from festinger.errors import BadInput
from festinger.web.access import Scope
from festinger.web.listing import limit_of
from festinger.web.route import Call, Route, answer
from festinger.world.explain import wanted
from festinger.world.query import Neighbourhood, around, why, why_json

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


ROUTES = (
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
