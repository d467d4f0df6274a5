"""Defines a route and the call that its handler receives.

One value per route: its path, the scope that it needs and its handler. A module adds each handler to its table
with a decorator; the table of all routes is made from these and serves the pages, the API and their tests alike.

The key or session says who calls, never the body: without a person's key a caller counts as a model, because the
agent itself can reach this machine. A key bound to an agent speaks as that agent and sees what is shared and the
agent's own. People see the whole space, and may view it as an agent by naming one. Lists are paginated by `limit` and
`cursor`; a cursor is opaque: the last item's number or id as text, with its time where the list is ordered by that.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import parse_qsl
from uuid import UUID

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from festinger.errors import BadInput, NotAuthorised, NotFound, TooLarge
from festinger.ids import (
    DEFAULT_AGENT,
    EVERY_SPACE,
    MAIN_SPACE,
    AgentId,
    Cause,
    Origin,
    Scope,
    SessionId,
    SpaceId,
    cause,
    read_id,
)
from festinger.memory.model import Memory
from festinger.runtime.app import App
from festinger.runtime.supervisor import Supervisor
from festinger.store.repositories.auth import AccessRole, ApiKey, LoginSession
from festinger.web.auth import AccessScope, CallerIdentity, StoreOwner

Shape = TypeVar("Shape", bound=BaseModel)

MAX_BODY = 2**20

PEOPLE = (AccessRole.REVIEWER, AccessRole.ADMIN)
"""Roles whose word counts as a person's."""

FORM = "festinger.form"
FORM_TYPE = "application/x-www-form-urlencoded"
MOST_FIELDS = 100

VISIT = "festinger.visit"
"""The key in the ASGI state under which the proxy leaves what it knows of a request."""


class ApiInput(BaseModel):
    """A JSON body; a field that it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminCall:
    """One admitted request to a route."""

    request: Request
    supervisor: Supervisor
    admission: CallerIdentity

    @property
    def key(self) -> ApiKey | None:
        return self.admission.key

    @property
    def session(self) -> LoginSession | None:
        return self.admission.session

    @property
    def owner(self) -> StoreOwner | None:
        """The person who opened the store in this process."""
        return self.admission.owner

    @property
    def app(self) -> App:
        """The open app; raises `StoreDown` while it is not open."""
        return self.supervisor.need()

    @property
    def id(self) -> UUID:
        return read_id(self.request.path_params["id"])

    @property
    def space(self) -> SpaceId:
        """The space that the caller names, if the key reaches it; any other counts as not found."""
        named = self.request.query_params.get("space") or _place(self.request)
        if named is None:
            return self.own_space or MAIN_SPACE
        found = self.supervisor.known_space(named)
        if found is None or self.own_space not in (None, found):
            raise NotFound(f"There is no space `{named[:80]}`.")
        return found

    @property
    def own_space(self) -> SpaceId | None:
        """The one space that the caller's key or session is bound to, if any."""
        who = self.admission.who
        return who.space if who and who.space != EVERY_SPACE else None

    @property
    def by(self) -> str:
        """The actor's name, for the records."""
        if self.session:
            return f"person:{self.session.name}"
        if self.key:
            return f"key:{self.key.name}"
        return f"cli:{self.owner.name}" if self.owner else "loopback"

    @property
    def cause(self) -> Cause:
        """The cause. Without a person's key it may be the agent itself, which can reach this machine too."""
        who = self.admission.who
        named = self.request.query_params.get("agent") if self.owner else None
        return cause(
            agent=(self.key.agent if self.key else None) or AgentId(named or DEFAULT_AGENT),
            session=SessionId(self.by),
            origin=Origin.PERSON if who is not None and who.role in PEOPLE else Origin.MODEL,
            at=self.app.tools.clock(),
        )

    async def body(self, shape: type[Shape], *, optional: bool = False) -> Shape:
        """The JSON body in its shape; anything else is `BadInput`. An optional one may be missing."""
        raw = await self.raw()
        try:
            return shape.model_validate_json(raw if raw or not optional else b"{}")
        except ValidationError as error:
            raise BadInput(f"The body does not fit: {first_validation_error(error)}") from error

    async def form(self) -> Mapping[str, str]:
        """The form fields; of a repeated field, the last."""
        if FORM not in self.request.scope:
            if self.request.headers.get("content-type", "").partition(";")[0].strip() != FORM_TYPE:
                raise BadInput("This takes the fields of a form.")
            try:
                fields = parse_qsl((await self.raw()).decode(), max_num_fields=MOST_FIELDS)
            except ValueError as error:
                raise BadInput("The form cannot be read.") from error
            self.request.scope[FORM] = dict(fields)
        found: dict[str, str] = self.request.scope[FORM]
        return found

    async def raw(self, most: int = MAX_BODY) -> bytes:
        """The bytes of the body; more than `most` is `TooLarge`, unless they come from this process."""
        raw = bytearray()
        async for chunk in self.request.stream():
            raw += chunk
            if len(raw) > most and self.owner is None:
                raise TooLarge(f"The body is larger than {most} bytes.")
        return bytes(raw)


Endpoint = Callable[[AdminCall], Awaitable[Response]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminRoute:
    method: str
    path: str
    scope: AccessScope
    endpoint: Endpoint
    keyless: bool = False
    """Whether a caller on this machine needs no key for it."""
    page: bool = False
    """Whether a person reads the answer in a browser: errors are pages then, and changes come as forms."""


class RouteTable(list[AdminRoute]):
    def add(
        self, method: str, path: str, scope: AccessScope, *, keyless: bool = False, page: bool = False
    ) -> Callable[[Endpoint], Endpoint]:
        """Decorate the handler of a route."""

        def register(endpoint: Endpoint) -> Endpoint:
            self.append(
                AdminRoute(method=method, path=path, scope=scope, endpoint=endpoint, keyless=keyless, page=page)
            )
            return endpoint

        return register


def json_response(document: Any, status: int = 200) -> Response:
    """A JSON response; times in RFC 3339, ids as text."""
    return Response(
        orjson.dumps(document, default=str, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS),
        status_code=status,
        media_type="application/json",
    )


def request_id(request: Request) -> str | None:
    """The id that identifies this request in logs and events."""
    authorized = request.scope.get("state", {}).get(VISIT)
    return str(authorized.request_id) if authorized else None


def _place(request: Request) -> str | None:
    """The space from the path prefix or a header, as the proxy parsed it."""
    authorized = request.scope.get("state", {}).get(VISIT)
    return str(authorized.space) if authorized else None


def first_validation_error(error: ValidationError) -> str:
    """Where a body does not fit, and why, without its content."""
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"]) or "body"
    return f"`{where}`: {fault['msg']}"


SESSION_HEADER = "x-festinger-session"
LONGEST_NAME = 200


def is_person(call: AdminCall) -> bool:
    """Whether the caller is a person: by key, by session, or at the terminal of the store."""
    who = call.admission.who
    return who is not None and AccessRole(who.role) in PEOPLE


def agent_of(call: AdminCall) -> AgentId:
    """The agent that a call is made as; for a bound key that names another agent, `NotFound`."""
    named = call.request.query_params.get("agent") or _agent_from_proxy(call)
    own = call.key.agent if call.key else None
    if own and named not in (None, own):
        raise NotFound(f"There is no agent `{named[:80] if named else ''}` for this key.")
    return AgentId((own or named or DEFAULT_AGENT)[:LONGEST_NAME])


def caller_scope(call: AdminCall) -> Scope:
    """The scope of a call: the space, the agent, and the session that it names or its key stands for."""
    session = call.request.headers.get(SESSION_HEADER, "").strip()[:LONGEST_NAME]
    return Scope(space=call.space, agent=agent_of(call), session=SessionId(session or call.by))


def viewer_of(call: AdminCall) -> AgentId | None:
    """The agent whose view applies; `None` sees the whole space, which is for people."""
    if is_person(call) and not call.request.query_params.get("agent"):
        return None
    return agent_of(call)


def can_see(call: AdminCall, memory: Memory) -> bool:
    """Whether a caller may see the text of a memory; without a key, none."""
    if call.admission.who is None:
        return False
    viewer = viewer_of(call)
    return viewer is None or memory.agent_id in (None, viewer)


def origin_of(call: AdminCall, claimed: str | None) -> Origin:
    """The origin of a statement. A person may claim another one; from anyone else a claim is refused."""
    own = Origin.PERSON if is_person(call) else Origin.MODEL
    if claimed is None or claimed == own:
        return own
    if not is_person(call):
        raise NotAuthorised(
            f"What this key says is the word of a `{own}`, whatever it claims.",
            hint="Leave `origin` out, or use a key of a reviewer or an administrator.",
        )
    try:
        return Origin(claimed)
    except ValueError as error:
        known = ", ".join(f"`{each}`" for each in Origin)
        raise BadInput(f"`{claimed[:40]}` is no origin.", hint=f"The origins are {known}.") from error


def _agent_from_proxy(call: AdminCall) -> str | None:
    """The agent from the path prefix or a header, as the proxy parsed it."""
    authorized = call.request.scope.get("state", {}).get(VISIT)
    named = getattr(authorized, "agent", None)
    return str(named) if named and named != DEFAULT_AGENT else None


DEFAULT_LIMIT = 50
MAX_LIMIT = 200

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def parse_limit(request: Request) -> int:
    return parse_whole_number(request, "limit", default=DEFAULT_LIMIT, most=MAX_LIMIT)


def parse_cursor(request: Request) -> int | None:
    """The cursor of the page; `after` means the same."""
    name = "cursor" if "cursor" in request.query_params else "after"
    return parse_whole_number(request, name, default=0, most=2**63 - 1) or None


def build_page(items: Sequence[Any], *, limit: int, last: int | None) -> dict[str, Any]:
    """A page; `last` is the cursor of its last item."""
    return {"items": items, "next": str(last) if last is not None and len(items) == limit else None}


def format_time_cursor(at: datetime, id_: UUID) -> str:
    """A cursor for a list that is ordered by time and id."""
    return f"{(at - EPOCH) // MICROSECOND}.{id_}"


def parse_time_cursor(cursor: str | None) -> tuple[datetime, UUID] | None:
    if cursor is None:
        return None
    at, _, last = cursor.partition(".")
    if not at.isascii() or not at.isdigit() or len(at) > 17:
        raise BadInput("This cursor leads nowhere.", hint="Send `next` of the page before as it came.")
    return EPOCH + int(at) * MICROSECOND, read_id(last)


def parse_whole_number(request: Request, name: str, *, default: int, most: int) -> int:
    """A whole number of the query. Raises `BadInput`."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise BadInput(f"`{name}` must be a whole number from 1 to {most}.")
    return int(text)
