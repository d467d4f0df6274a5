"""Coming in to the console and going again.

A one-time link is opened by a button, not by following it: whoever merely looks at a link, such as a program that
previews it, does not use it up, and the cookie that comes of it is set by a page of ours.
"""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from festinger.errors import BadInput, NotAuthorised
from festinger.store.repositories.auth import LINK_PREFIX
from festinger.web.auth import COOKIE, Scope, is_from_here, is_here
from festinger.web.render import back_to, show
from festinger.web.route import Call, Route

MAX_SECRET = 200
LONGEST_ADDRESS = 64
PATH = "/admin"
"""Where the cookie is sent to: our own pages and nothing that is forwarded."""


async def login_page(call: Call) -> Response:
    code = call.request.query_params.get("code", "")[:MAX_SECRET]
    known = code if code.startswith(LINK_PREFIX) else ""
    wanted = local(call.request.query_params.get("next", PATH))
    return await show(call, "login.html", {"message": "", "hint": "", "next": wanted, "code": known})


async def enter(call: Call) -> Response:
    if not is_from_here(call.request):
        raise NotAuthorised("This came from a page of another site.")
    form = await call.form()
    secret = form.get("secret", "")
    if not secret or len(secret) > MAX_SECRET:
        raise BadInput("A link or a key is needed.", hint="`festinger login` prints a link.")
    _, cookie = await call.app.logins.enter(secret, address=address_of(call.request))
    response = RedirectResponse(local(form.get("next", PATH)), 303)
    response.set_cookie(
        COOKIE,
        cookie,
        path=PATH,
        httponly=True,
        samesite="strict",
        secure=call.request.url.scheme == "https",
    )
    return response


def address_of(request: Request) -> str:
    """Whose wrong tries are counted together.

    Behind a reverse proxy on this machine every request comes from the same address. The last one that such a proxy
    added is who spoke to it; whoever reaches this machine directly could at most lock out names of their own.
    """
    peer = request.client.host if request.client else "here"
    forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
    return forwarded[:LONGEST_ADDRESS] if forwarded and is_here(request) else peer


async def leave(call: Call) -> Response:
    if call.session is not None:
        await call.app.logins.leave(call.session)
    response = back_to(call, PATH)
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="strict")
    return response


def local(path: str) -> str:
    """A place of ours to go on to; anything else becomes the start page."""
    is_ours = path == PATH or path.startswith((f"{PATH}/", f"{PATH}?"))
    return path if is_ours and "\\" not in path and path.isprintable() else PATH


ROUTES = (
    Route(
        method="GET",
        path="/admin/login",
        scope=Scope.PROBE,
        endpoint=login_page,
        summary="Log in to the console.",
        page=True,
    ),
    Route(
        method="POST",
        path="/admin/login",
        scope=Scope.PROBE,
        endpoint=enter,
        summary="Open a session by a link or a key.",
        page=True,
    ),
    Route(
        method="POST",
        path="/admin/logout",
        scope=Scope.PROBE,
        endpoint=leave,
        summary="End the session.",
        page=True,
    ),
)
