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
from festinger.observability.logs import bind_request_id
from festinger.runtime.app import App
from festinger.runtime.supervisor import Supervisor
from festinger.web.auth import READING, TOKEN_FIELD, TOKEN_HEADER, AuthDeps, CallerIdentity, StoreOwner, authorize
from festinger.web.route import AdminCall, AdminRoute, json_response, request_id

REQUEST_HEADER = "x-festinger-request"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)

SECURITY_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


def all_routes() -> list[AdminRoute]:
    """The routes of all pages and of the whole API."""
    from festinger.web import render
    from festinger.web.api import (
        admin,
        agents,
        censors,
        events,
        forget,
        health,
        hooks,
        mcp,
        nights,
        outcomes,
        quarantine,
    )
    from festinger.web.pages import (
        about,
        changes,
        conflicts,
        conversations,
        docs,
        inbox,
        login,
        loops,
        mind,
        overview,
        usefulness,
        world,
    )
    from festinger.web.pages import health as health_page
    from festinger.web.pages import memories as memory_pages
    from festinger.web.pages import nights as night_pages

    api = (admin, agents, censors, events, forget, health, hooks, mcp, nights, outcomes, quarantine)
    pages = (
        *(render, about, changes, conflicts, conversations, docs, health_page, inbox, login, loops),
        *(memory_pages, mind, night_pages, overview, usefulness, world),
    )
    return [route for module in (*api, *pages) for route in module.ROUTES] + command_routes()


def command_routes() -> list[AdminRoute]:
    """The routes that commands ask; a command that opens the store itself loads no others."""
    from festinger.web.api import episodes, memories, proposals, recall, verdicts, world

    modules = (episodes, memories, proposals, recall, verdicts, world)
    return [route for module in modules for route in module.ROUTES]


def build_admin_app(
    supervisor: Supervisor, routes: Iterable[AdminRoute] | None = None, *, owner: StoreOwner | None = None
) -> Starlette:
    """Build the ASGI app over these routes; with an owner it is for that person alone, in this process."""
    # Of two paths that fit a request, the one that says more of it literally comes first.
    ordered = sorted(
        all_routes() if routes is None else routes, key=lambda route: route.path.replace("{", "\x7f") + "\x7f"
    )
    return Starlette(
        routes=[
            StarletteRoute(route.path, _build_endpoint(route, supervisor, owner), methods=[route.method])
            for route in ordered
        ],
        # Our own errors are answered here and re-raised to the outer layer, which logs and counts them.
        exception_handlers={404: _unknown, 405: _unknown, Exception: _internal_error_response},
    )


def build_local_app(app: App, *, owner: str, uid: int, whole: bool = False) -> Starlette:
    """Build the same app over an open store, for the person who opened it; `whole` has all routes."""
    supervisor = Supervisor(app.settings, lambda: nullcontext(app))
    supervisor.app = app
    return build_admin_app(supervisor, None if whole else command_routes(), owner=StoreOwner(name=owner, uid=uid))


def _build_endpoint(
    route: AdminRoute, supervisor: Supervisor, owner: StoreOwner | None
) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        with bind_request_id(request_id(request)):
            try:
                response = await _authorize_and_call(route, supervisor, request, owner)
            except FestingerError as error:
                response = _told(error, route, request)
        return _add_common_headers(response, request)

    return endpoint


async def _authorize_and_call(
    route: AdminRoute, supervisor: Supervisor, request: Request, owner: StoreOwner | None
) -> Response:
    if owner is not None:
        identity = CallerIdentity(key=None, trusted=True, owner=owner).speaking(request)
        return await route.endpoint(AdminCall(request=request, supervisor=supervisor, admission=identity))
    doorway = AuthDeps(
        find_key=supervisor.find_key,
        find_session=supervisor.find_session,
        strict=supervisor.settings.now.auth.loopback == "strict",
    )
    admission = await authorize(request, route.scope, doorway, keyless=route.keyless)
    call = AdminCall(request=request, supervisor=supervisor, admission=admission.speaking(request))
    if admission.session is not None and request.method not in READING:
        admission.check_csrf_token(await _read_csrf_token(call, route))
    return await route.endpoint(call)


async def _read_csrf_token(call: AdminCall, route: AdminRoute) -> str | None:
    """The CSRF token that a page sent back: in a form field, or in a header from a script."""
    given = call.request.headers.get(TOKEN_HEADER)
    if given is None and route.page:
        given = (await call.form()).get(TOKEN_FIELD)
    return given


def _told(error: FestingerError, route: AdminRoute, request: Request) -> Response:
    if route.page:
        from festinger.web.render import error_page

        return error_page(error, request)
    told = json_response(error.as_json(request_id(request)), error.http)
    if error.retry_after is not None:
        told.headers["Retry-After"] = str(error.retry_after)
    return told


def _add_common_headers(response: Response, request: Request) -> Response:
    """Add the headers that every response has."""
    response.headers.update(SECURITY_HEADERS)
    if found := request_id(request):
        response.headers[REQUEST_HEADER] = found
    return response


async def _unknown(request: Request, _error: Exception) -> Response:
    error = NotFound(f"There is nothing at {request.method} {request.url.path}.", hint="`/admin` is the start page.")
    if "text/html" in request.headers.get("accept", ""):
        from festinger.web.render import error_page

        return _add_common_headers(error_page(error, request), request)
    return _add_common_headers(json_response(error.as_json(request_id(request)), 404), request)


async def _internal_error_response(request: Request, _error: Exception) -> Response:
    return _add_common_headers(json_response(FestingerError().as_json(request_id(request)), 500), request)
