"""Renders data as HTML pages with Jinja, everything escaped.

Pages load one stylesheet of ours and nothing else; the policy forbids inline scripts and styles, so user text
can never become code. Every page works as plain links and forms; each form carries the token of its session.
In other people's text nothing hides: a bidirectional mark or a zero-width character is shown by its number.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from festinger import __version__
from festinger.clock import iso
from festinger.errors import FestingerError, NotAuthenticated, NotFound
from festinger.services.reviews import count_waiting
from festinger.web.auth import READING, TOKEN_FIELD, AccessScope
from festinger.web.route import AdminCall, RouteTable

ROUTES = RouteTable()
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def escape_hidden(text: object) -> str:
    """Show by number every character in a text that a page would hide or obey."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def format_time(at: datetime | str | None) -> str:
    """A time to the second, for people; empty when there is none."""
    if at is None:
        return ""
    read = datetime.fromisoformat(at) if isinstance(at, str) else at
    return iso(read.replace(microsecond=0)).replace("T", " ").replace("Z", " UTC")


STATIC_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

INBOX = "/admin/inbox"

TABS = (
    ("/admin", "Start"),
    (INBOX, "Inbox"),
    ("/admin/conflicts", "Conflicts"),
    ("/admin/world", "World"),
    ("/admin/loops", "Loops"),
    ("/admin/outcomes", "Outcomes"),
)


@cache
def _templates() -> Environment:
    made = Environment(loader=PackageLoader("festinger.web", "templates"), autoescape=True, undefined=StrictUndefined)
    made.globals |= {"tabs": TABS, "inbox": INBOX, "token_field": TOKEN_FIELD}
    made.filters |= {"moment": format_time, "seen": escape_hidden, "quoted": lambda text: quote(str(text), safe="")}
    return made


def render_template(template: str, data: Mapping[str, Any], status: int = 200) -> Response:
    return Response(_templates().get_template(template).render(data), status, media_type="text/html")


async def render_page(call: AdminCall, template: str, data: Mapping[str, Any], *, status: int = 200) -> Response:
    """Render a page for the caller, with the navigation and what its forms need."""
    session = call.session
    frame = {
        "version": __version__,
        "here": call.request.url.path,
        "suffix": space_suffix(call.request),
        "person": session.name if session else None,
        "form_token": call.admission.token,
        "may_write": session is not None and call.admission.may(AccessScope.WRITE),
        "may_review": session is not None and call.admission.may(AccessScope.REVIEW),
        "in_all": await _waiting(call),
    }
    return render_template(template, {**frame, **data}, status)


async def _waiting(call: AdminCall) -> int | None:
    """How many things wait for a person, across all lists; only for logged-in callers."""
    if call.session is None or not call.supervisor.is_open():
        return None
    return await count_waiting(call.app, call.space)


def error_page(error: FestingerError, request: Request) -> Response:
    """The page for an error; an unknown caller can log in there."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    wants_in = isinstance(error, NotAuthenticated)
    frame = {
        "version": __version__,
        "here": "",
        "suffix": space_suffix(request),
        "person": None,
        "form_token": "",
        "in_all": None,
        "message": error.message,
        "hint": error.hint,
        "next": asked if request.method in READING else "/admin",
        "code": "",
    }
    return render_template("login.html" if wants_in else "error.html", frame, error.http)


def space_suffix(request: Request) -> str:
    """The query string that keeps a page's links in the requested space."""
    named = request.query_params.get("space")
    return f"?{urlencode({'space': named})}" if named else ""


def redirect_to(call: AdminCall, path: str, **said: str) -> Response:
    """After a form: redirect to the page that shows the result."""
    named = call.request.query_params.get("space")
    query = urlencode({**({"space": named} if named else {}), **said})
    return RedirectResponse(f"{path}?{query}" if query else path, 303)


@ROUTES.add("GET", "/admin/static/{name}", AccessScope.PROBE)
async def serve_static(call: AdminCall) -> Response:
    """Stylesheet and icon."""
    name = call.request.path_params["name"]
    for suffix, media in STATIC_TYPES.items():
        asset = files("festinger.web").joinpath("static", name)
        if name.endswith(suffix) and asset.is_file():
            return Response(asset.read_bytes(), media_type=media)
    raise NotFound(f"There is no file `{name}`.")
