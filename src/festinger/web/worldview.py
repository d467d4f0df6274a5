"""The page on which a person looks around in the world.

A search field, a picture of what stands around a word with the same edges in a table, what waits in quarantine, what
nobody has explained, and a field to state a fact. Without a word it says how to begin.
"""

from dataclasses import asdict
from datetime import timedelta
from typing import Any

from starlette.responses import Response

from festinger.errors import NoSuchConcept
from festinger.ids import read_id
from festinger.text.tokens import tokens
from festinger.web.access import Scope
from festinger.web.concepts import DEEPEST, depth_of, neighbourhood, wanted_json
from festinger.web.pages import back_to, show
from festinger.web.picture import drawn
from festinger.web.quarantine import UNDECIDED, items_of
from festinger.web.route import Call, Route, answer
from festinger.world.explain import wanted
from festinger.world.learn import iknowthat
from festinger.world.quarantine import find_quarantined, quarantined
from festinger.world.query import Neighbourhood

WORLD = "/admin/world"
SHOWN = 50
MAX_ASKED = 200


async def world_page(call: Call) -> Response:
    data, found = await _data(call)
    settings = call.keeper.settings.now.world
    picture = found and drawn(
        found, now=call.app.tools.clock(), recent=timedelta(days=settings.recollection_recency_days)
    )
    return await show(call, "world.html", {**data, "picture": picture, "depths": range(1, DEEPEST + 1)})


async def world_twin(call: Call) -> Response:
    data, _ = await _data(call)
    return answer(data)


async def fact_form(call: Call) -> Response:
    fact = (await call.form()).get("fact", "")
    await call.app.world.need(call.space)
    (known,) = await iknowthat(call.app.world.desk, call.space, [fact], because=call.cause)
    if known.stated.conflict is not None:
        return back_to(call, f"/admin/conflicts/{known.stated.conflict}")
    return back_to(call, WORLD, concept=known.said.concept)


async def _data(call: Call) -> tuple[dict[str, Any], Neighbourhood | None]:
    asked = call.request.query_params.get("concept", "").strip()[:MAX_ASKED]
    found, problem, nearest = await _looked_up(call, asked)
    data = {
        "asked": asked,
        "depth": depth_of(call),
        "problem": problem,
        "nearest": nearest,
        "found": asdict(found) if found else None,
        "quarantine": await _quarantine(call),
        "decided": await _decided(call),
        "wanted": [wanted_json(row) for row in await wanted(call.app.world.desk, call.space, limit=SHOWN)],
    }
    return data, found


async def _looked_up(call: Call, asked: str) -> tuple[Neighbourhood | None, str, list[str]]:
    """What stands around the word that was asked for; or why not, and the nearest spellings."""
    if not asked:
        return None, "", []
    try:
        return await neighbourhood(call, _token(asked)), "", []
    except NoSuchConcept as error:
        return None, error.message, list(error.details.get("nearest", []))


def _token(asked: str) -> str:
    """A word as somebody typed it, as one token; several are taken for one name."""
    return "_".join(token.text for token in tokens(asked)) or asked


async def _quarantine(call: Call) -> list[dict[str, Any]]:
    held = await quarantined(call.app.world.desk, call.space, statuses=UNDECIDED, limit=SHOWN)
    return await items_of(call, held)


async def _decided(call: Call) -> dict[str, Any] | None:
    """What was just let in or kept out, from the page."""
    decided = call.request.query_params.get("decided")
    if not decided:
        return None
    held = await find_quarantined(call.app.world.desk, call.space, read_id(decided))
    return {"concept": held.concept, "parent": held.parent, "status": held.status}


ROUTES = (
    Route(
        method="GET",
        path=WORLD,
        scope=Scope.READ,
        endpoint=world_page,
        summary="A look around in the world.",
        page=True,
    ),
    Route(
        method="GET",
        path=f"{WORLD}.json",
        scope=Scope.READ,
        endpoint=world_twin,
        summary="The page of the world as data.",
    ),
    Route(
        method="POST",
        path=f"{WORLD}/iknowthat",
        scope=Scope.WRITE,
        endpoint=fact_form,
        summary="State a fact, from the page.",
        page=True,
    ),
)
