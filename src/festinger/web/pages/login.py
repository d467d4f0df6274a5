"""Logging in to the console and out again.

A one-time link is redeemed by a button, not by opening it: a program that previews links does not use it up,
and the cookie is set by one of our pages.
"""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from festinger.errors import BadInput, NotAuthorised
from festinger.store.repositories.auth import LINK_PREFIX
from festinger.web.auth import COOKIE, AccessScope, is_local_caller, is_same_origin
from festinger.web.render import START, redirect_to, render_page, safe_redirect_path
from festinger.web.route import AdminCall, RouteTable

ROUTES = RouteTable()
MAX_SECRET = 200
LONGEST_ADDRESS = 64


@ROUTES.add("GET", "/admin/login", AccessScope.PROBE, page=True)
async def login_page(call: AdminCall) -> Response:
    code = call.request.query_params.get("code", "")[:MAX_SECRET]
    known = code if code.startswith(LINK_PREFIX) else ""
    wanted = safe_redirect_path(call.request.query_params.get("next", START))
    return await render_page(call, "login.html", {"message": "", "hint": "", "next": wanted, "code": known})


@ROUTES.add("POST", "/admin/login", AccessScope.PROBE, page=True)
async def log_in(call: AdminCall) -> Response:
    if not is_same_origin(call.request):
        raise NotAuthorised("This came from a page of another site.")
    form = await call.form()
    secret = form.get("secret", "")
    if not secret or len(secret) > MAX_SECRET:
        raise BadInput("A link or a key is needed.", hint="`festinger login` prints a link.")
    _, cookie = await call.app.logins.enter(secret, address=client_address(call.request))
    response = RedirectResponse(safe_redirect_path(form.get("next", START)), 303)
    # Only our own pages get the cookie, and nothing that is forwarded.
    response.set_cookie(
        COOKIE, cookie, path=START, httponly=True, samesite="strict", secure=call.request.url.scheme == "https"
    )
    return response


def client_address(request: Request) -> str:
    """The address whose failed attempts are counted together.

    Behind a reverse proxy on this machine every request comes from the same address. The last entry that such
    a proxy added is its client; whoever reaches this machine directly could at most lock out names of their
    own.
    """
    peer = request.client.host if request.client else "here"
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return forwarded[:LONGEST_ADDRESS] if forwarded and is_local_caller(request) else peer


@ROUTES.add("POST", "/admin/logout", AccessScope.PROBE, page=True)
async def log_out(call: AdminCall) -> Response:
    if call.session is not None:
        await call.app.logins.leave(call.session)
    response = redirect_to(call, START)
    response.delete_cookie(COOKIE, path=START, httponly=True, samesite="strict")
    return response
