"""Renders data as HTML pages with Jinja, everything escaped.

Pages load one stylesheet and one small script of ours and nothing else; the policy forbids inline scripts and
styles, so user text can never become code. Every page works as plain links and forms; each form carries the token
of its session. No text hides anything: a bidirectional mark or a zero-width character is shown by its number.
Each page has a JSON twin with the same data.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from festinger import __version__
from festinger.clock import iso
from festinger.errors import FestingerError, NotAuthenticated, NotFound, Unavailable
from festinger.services.reviews import count_waiting
from festinger.web.auth import READING, TOKEN_FIELD, AccessScope
from festinger.web.route import AdminCall, RouteTable, json_response

ROUTES = RouteTable()
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def escape_hidden(text: object) -> str:
    """Show by number every character in a text that a page would hide or obey."""
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", str(text))


def format_time(at: datetime | str | None) -> str:
    """A time to the minute, for people; empty when there is none."""
    return format_iso_seconds(at)[:16].replace("T", " ") + " UTC" if at else ""


def format_source(source: str) -> str:
    """Where something came from, without the id of it."""
    return next((words for start, words in SOURCES.items() if source.startswith(start)), source)


SOURCES = {"correction of ": "a correction", "episode:": "a conversation"}


def format_iso_seconds(at: datetime | str) -> str:
    """A time to the second, for programs."""
    read = datetime.fromisoformat(at) if isinstance(at, str) else at
    return iso(read.replace(microsecond=0))


STATIC_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

INBOX = "/admin/inbox"

TABS = (
    ("/admin", "Overview"),
    ("/admin/memories", "Memories"),
    ("/admin/about", "People and things"),
    ("/admin/conversations", "Conversations"),
    ("/admin/mind", "Mind"),
    (INBOX, "Inbox"),
    ("/admin/conflicts", "Conflicts"),
    ("/admin/world", "World"),
    ("/admin/nights", "Nights"),
    ("/admin/outcomes", "Outcomes"),
    ("/admin/loops", "Loops"),
    ("/admin/changes", "Changes"),
    ("/admin/health", "Health"),
    ("/admin/docs", "Docs"),
)

THEME_COOKIE = "festinger_theme"
THEMES = ("light", "dark")
THEME_SECONDS = 365 * 24 * 3600
RETRY_SECONDS = 5
"""How soon the page of a store that is down tries again by itself."""


@pass_context
def link_to(context: Context, path: str, **query: Any) -> str:
    """The address of a page in the space that this page shows; values that are empty are left out."""
    wanted = {"space": context.get("space_name"), **query}
    kept = urlencode({name: value for name, value in wanted.items() if value not in (None, "")}, doseq=True)
    return f"{path}{'&' if '?' in path else '?'}{kept}" if kept else path


@cache
def _template_environment() -> Environment:
    made = Environment(
        loader=PackageLoader("festinger.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Markup is ours; any other text may be somebody's.
        finalize=lambda value: escape_hidden(value) if type(value) is str else value,
    )
    made.globals |= {"tabs": TABS, "inbox": INBOX, "token_field": TOKEN_FIELD, "link": link_to}
    made.filters |= {
        "moment": format_time,
        "exact": format_iso_seconds,
        "provenance": format_source,
        "quoted": lambda text: quote(str(text), safe=""),
    }
    return made


BARE_FRAME: Mapping[str, Any] = {
    **dict.fromkeys(("version", "here", "whole_path", "twin", "theme", "form_token"), ""),
    **dict.fromkeys(("space_name", "person", "in_all")),
    **dict.fromkeys(("may_write", "may_review", "again"), False),
}
"""What the layout needs, for somebody of whom nothing is known."""


def render_template(template: str, data: Mapping[str, Any], status: int = 200) -> Response:
    page = _template_environment().get_template(template).render({**BARE_FRAME, **data})
    return Response(page, status, media_type="text/html")


async def render_page(call: AdminCall, template: str, data: Mapping[str, Any], *, status: int = 200) -> Response:
    """Render a page for the caller, with the navigation and what its forms need."""
    session = call.session
    frame = {
        **_frame(call.request),
        "person": session.name if session else None,
        "form_token": call.admission.token,
        "may_write": session is not None and call.admission.may(AccessScope.WRITE),
        "may_review": session is not None and call.admission.may(AccessScope.REVIEW),
        "in_all": await _waiting(call),
    }
    return render_template(template, {**frame, **data}, status)


def _frame(request: Request) -> dict[str, Any]:
    """What every page has, whoever asked."""
    path, query = request.url.path, request.url.query
    theme = request.cookies.get(THEME_COOKIE, "")
    return {
        "version": __version__,
        "here": path,
        "whole_path": path + (f"?{query}" if query else ""),
        "twin": f"{path}.json" + (f"?{query}" if query else ""),
        "space_name": request.query_params.get("space"),
        "theme": theme if theme in THEMES else "",
    }


Load = Callable[[AdminCall], Awaitable[Mapping[str, Any]]]


def add_page(
    routes: RouteTable, path: str, template: str, scope: AccessScope = AccessScope.READ
) -> Callable[[Load], Load]:
    """Decorate what loads the data of a page: the page is added at its path, and its JSON twin beside it."""

    def register(load: Load) -> Load:
        async def page(call: AdminCall) -> Response:
            return await render_page(call, template, await load(call))

        async def twin(call: AdminCall) -> Response:
            return json_response(await load(call))

        routes.add("GET", path, scope, page=True)(page)
        routes.add("GET", f"{path}.json", scope)(twin)
        return load

    return register


async def _waiting(call: AdminCall) -> int | None:
    """How many things wait for a person, across all lists; only for logged-in callers."""
    if call.session is None or not call.supervisor.is_open():
        return None
    return await count_waiting(call.app, call.space)


def error_page(error: FestingerError, request: Request) -> Response:
    """The page for an error; an unknown caller can log in there, and a store that is down is asked again."""
    frame = _frame(request)
    is_reading = request.method in READING
    data = {
        **frame,
        "again": RETRY_SECONDS if isinstance(error, Unavailable) and is_reading else 0,
        # How a program gets in is not what a person in a browser wants to know.
        "message": "" if error.message == NotAuthenticated().message else error.message,
        "hint": error.hint or "",
        "next": frame["whole_path"] if is_reading else "/admin",
        "code": "",
    }
    return render_template("login.html" if isinstance(error, NotAuthenticated) else "error.html", data, error.http)


def redirect_to(call: AdminCall, path: str, **said: str) -> Response:
    """After a form: redirect to the page that shows the result."""
    named = call.request.query_params.get("space")
    query = urlencode({**({"space": named} if named else {}), **said})
    return RedirectResponse(f"{path}?{query}" if query else path, 303)


START = "/admin"


def safe_redirect_path(path: str) -> str:
    """A local path to continue to; anything else becomes the start page."""
    is_ours = path == START or path.startswith((f"{START}/", f"{START}?"))
    return path if is_ours and "\\" not in path and path.isprintable() else START


@ROUTES.add("POST", "/admin/theme", AccessScope.PROBE, page=True)
async def set_theme(call: AdminCall) -> Response:
    """Keep the colors that a person chose, in this browser; without a choice the system's preference holds."""
    form = await call.form()
    response = RedirectResponse(safe_redirect_path(form.get("next", START)), 303)
    if (theme := form.get("theme", "")) in THEMES:
        response.set_cookie(THEME_COOKIE, theme, path=START, max_age=THEME_SECONDS, httponly=True, samesite="strict")
    else:
        response.delete_cookie(THEME_COOKIE, path=START)
    return response


@ROUTES.add("GET", "/admin/static/{name}", AccessScope.PROBE)
async def serve_static(call: AdminCall) -> Response:
    name = call.request.path_params["name"]
    for suffix, media in STATIC_TYPES.items():
        asset = files("festinger.web").joinpath("static", name)
        if name.endswith(suffix) and asset.is_file():
            return Response(asset.read_bytes(), media_type=media)
    raise NotFound(f"There is no file `{name}`.")
