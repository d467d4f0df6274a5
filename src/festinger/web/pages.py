"""How does data become a page?

Server-rendered with Jinja, everything escaped. Pages load one stylesheet of ours and nothing else; the policy
forbids inline scripts and styles, so a text of a user can never become code.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

from festinger.errors import NotFound
from festinger.web.access import Scope
from festinger.web.route import Call, Route

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

STATIC_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("festinger.web", "templates"), autoescape=True, undefined=StrictUndefined
    )


def page(template: str, data: Mapping[str, Any], status: int = 200) -> Response:
    return Response(_templates().get_template(template).render(data), status, media_type="text/html")


async def static(call: Call) -> Response:
    name = call.request.path_params["name"]
    for suffix, media in STATIC_TYPES.items():
        asset = files("festinger.web").joinpath("static", name)
        if name.endswith(suffix) and asset.is_file():
            return Response(asset.read_bytes(), media_type=media)
    raise NotFound(f"There is no file `{name}`.")


ROUTES = (
    Route(
        method="GET",
        path="/admin/static/{name}",
        scope=Scope.OPEN,
        endpoint=static,
        summary="Stylesheet and script.",
    ),
)
