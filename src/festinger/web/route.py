"""What is a route of ours?

One value a route: how it is called, which scope it needs and what it does. The table of all routes is made
from these, and serves the pages, the API and their tests alike.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from festinger.app.keeper import Keeper
from festinger.errors import BadInput, TooLarge
from festinger.store.keys import ApiKey
from festinger.web.access import Scope

Shape = TypeVar("Shape", bound=BaseModel)

MAX_BODY = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request to a route of ours, let in."""

    request: Request
    keeper: Keeper
    key: ApiKey | None

    @property
    def by(self) -> str:
        """Who acts, for the records."""
        return f"key:{self.key.name}" if self.key else "loopback"

    async def body(self, shape: type[Shape]) -> Shape:
        """The JSON body in its shape; anything else is `BadInput`."""
        raw = bytearray()
        async for chunk in self.request.stream():
            raw += chunk
            if len(raw) > MAX_BODY:
                raise TooLarge(f"The body is larger than {MAX_BODY} bytes.")
        try:
            return shape.model_validate_json(bytes(raw))
        except ValidationError as error:
            raise BadInput(f"The body does not fit: {_first(error)}") from error


Endpoint = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    method: str
    path: str
    scope: Scope
    endpoint: Endpoint
    summary: str


def answer(document: Any, status: int = 200) -> Response:
    """A JSON answer; times in RFC 3339, ids as text."""
    return Response(
        orjson.dumps(document, default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS),
        status_code=status,
        media_type="application/json",
    )


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"]) or "body"
    return f"`{where}`: {fault['msg']}"
