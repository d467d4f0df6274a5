"""Builds the ASGI app for everything under `/admin`.

Joins the route tables, admits callers by scope, and turns errors into JSON. It forwards nothing and is
reached only through the guards of the server that mounts it.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import nullcontext

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from festinger.errors import FestingerError, NotFound
from festinger.observability.trace import bind_request
from festinger.runtime.app import App
from festinger.runtime.supervisor import Supervisor
from festinger.web import render
from festinger.web.api import admin as api_admin
from festinger.web.api import (
    censors,
    episodes,
    events,
    forget,
    health,
    jobs,
    judgements,
    memories,
    outcomes,
    proposals,
    quarantine,
    recall,
    reviewers,
    settings,
    verdicts,
    world,
)
from festinger.web.auth import READING, TOKEN_HEADER, AuthDeps, CallerIdentity, StoreOwner, authorize
from festinger.web.pages import conflicts, inbox, login, loops, start, usefulness
from festinger.web.pages import world as pages_world
from festinger.web.render import SECURITY_HEADERS, TOKEN_FIELD, error_page
from festinger.web.route import AdminCall, AdminRoute, json_response, request_id

ROUTES: tuple[AdminRoute, ...] = (
    *start.ROUTES,
    *render.ROUTES,
    *health.ROUTES,
    *jobs.ROUTES,
    *events.ROUTES,
    *settings.ROUTES,
    *api_admin.ROUTES,
    *world.ROUTES,
    *world.CONCEPT_ROUTES,
    *quarantine.ROUTES,
    *login.ROUTES,
    *conflicts.ROUTES,
    *pages_world.ROUTES,
    *loops.ROUTES,
    *events.REQUEST_ROUTES,
    *recall.ROUTES,
    *episodes.ROUTES,
    *censors.ROUTES,
    *memories.ROUTES,
    *outcomes.ROUTES,
    *usefulness.ROUTES,
    *memories.EDIT_ROUTES,
    *judgements.ROUTES,
    *forget.ROUTES,
    *inbox.ROUTES,
    *proposals.ROUTES,
    *verdicts.ROUTES,
    *reviewers.WEBHOOK_ROUTES,
    *reviewers.ROUTES,
)

REQUEST_HEADER = "x-festinger-request"


def build_admin_app(
    supervisor: Supervisor, routes: Iterable[AdminRoute] = ROUTES, *, owner: StoreOwner | None = None
) -> Starlette:
    """Build the ASGI app over these routes; with an owner it is for that person alone, in this process."""
    return Starlette(
        routes=[
            StarletteRoute(route.path, _endpoint(route, supervisor, owner), methods=[route.method]) for route in routes
        ],
        # Our own errors are answered here and re-raised to the outer layer, which logs and counts them.
        exception_handlers={404: _unknown, 405: _unknown, Exception: _fault},
    )


def build_local_app(app: App, *, owner: str, uid: int) -> Starlette:
    """Build the same app over an open store, for the person who opened it in this process."""
    supervisor = Supervisor(app.settings, lambda: nullcontext(app))
    supervisor.app = app
    return build_admin_app(supervisor, owner=StoreOwner(name=owner, uid=uid))


def _endpoint(
    route: AdminRoute, supervisor: Supervisor, owner: StoreOwner | None
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        with bind_request(request_id(request)):
            try:
                response = await _answered(route, supervisor, request, owner)
            except FestingerError as error:
                response = _told(error, route, request)
        return _dressed(response, request)

    return endpoint


async def _answered(route: AdminRoute, supervisor: Supervisor, request: Request, owner: StoreOwner | None) -> Response:
    if owner is not None:
        identity = CallerIdentity(key=None, trusted=True, owner=owner)
        return await route.endpoint(AdminCall(request=request, supervisor=supervisor, admission=identity))
    doorway = AuthDeps(
        find_key=supervisor.find_key,
        find_session=supervisor.find_session,
        strict=supervisor.settings.now.auth.loopback == "strict",
    )
    admission = await authorize(request, route.scope, doorway, keyless=route.keyless)
    call = AdminCall(request=request, supervisor=supervisor, admission=admission)
    if admission.session is not None and request.method not in READING:
        admission.check_token(await _token(call, route))
    return await route.endpoint(call)


async def _token(call: AdminCall, route: AdminRoute) -> str | None:
    """The CSRF token that a page sent back: in a form field, or in a header from a script."""
    given = call.request.headers.get(TOKEN_HEADER)
    if given is None and route.page:
        given = (await call.form()).get(TOKEN_FIELD)
    return given


def _told(error: FestingerError, route: AdminRoute, request: Request) -> Response:
    if route.page:
        return error_page(error, request)
    told = json_response(error.as_json(request_id(request)), error.http)
    if error.retry_after is not None:
        told.headers["Retry-After"] = str(error.retry_after)
    return told


def _dressed(response: Response, request: Request) -> Response:
    """Add the headers that every response has."""
    response.headers.update(SECURITY_HEADERS)
    if found := request_id(request):
        response.headers[REQUEST_HEADER] = found
    return response


async def _unknown(request: Request, _error: Exception) -> Response:
    error = NotFound(f"There is nothing at {request.method} {request.url.path}.", hint="`/admin` is the start page.")
    return _dressed(json_response(error.as_json(request_id(request)), 404), request)


async def _fault(request: Request, _error: Exception) -> Response:
    return _dressed(json_response(FestingerError().as_json(request_id(request)), 500), request)
