"""Everything that is ours under `/admin`, as one ASGI app.

Joins the route tables, lets callers in by scope, and turns errors into their JSON shape. It forwards nothing
and is never reached but through the guards of the server that holds it.
"""

from collections.abc import Awaitable, Callable, Iterable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from festinger.app.keeper import Keeper
from festinger.errors import FestingerError, NotFound
from festinger.web import administration, happenings, health, pages, start, tuning, work
from festinger.web.access import admit
from festinger.web.pages import SECURITY_HEADERS
from festinger.web.route import Call, Route, answer

ROUTES: tuple[Route, ...] = (
    *start.ROUTES,
    *pages.ROUTES,
    *health.ROUTES,
    *work.ROUTES,
    *happenings.ROUTES,
    *tuning.ROUTES,
    *administration.ROUTES,
)


def admin(keeper: Keeper, routes: Iterable[Route] = ROUTES) -> Starlette:
    """The ASGI app over these routes."""
    return Starlette(
        routes=[
            StarletteRoute(route.path, _endpoint(route, keeper), methods=[route.method]) for route in routes
        ],
        exception_handlers={404: _unknown, 405: _unknown},
    )


def _endpoint(route: Route, keeper: Keeper) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        try:
            strict = keeper.settings.now.auth.loopback == "strict"
            key = await admit(request, route.scope, keeper.find_key, strict=strict)
            response = await route.endpoint(Call(request=request, keeper=keeper, key=key))
        except FestingerError as error:
            response = answer(error.as_json(trace(request)), error.http)
        response.headers.update(SECURITY_HEADERS)
        return response

    return endpoint


def trace(request: Request) -> str | None:
    """The id under which this request is found in logs and events."""
    visit = request.scope.get("state", {}).get("festinger.visit")
    return str(visit.request_id) if visit else None


async def _unknown(request: Request, _error: Exception) -> Response:
    error = NotFound(
        f"There is nothing at {request.method} {request.url.path}.", hint="`/admin` is the start page."
    )
    return answer(error.as_json(trace(request)), 404)
