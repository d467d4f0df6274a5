"""Client for the admin API: of a server that runs, or of the same app inside this process.

Server errors are raised as the same error classes, so a command ends alike whether it opened the store itself
or asked a server.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2
import orjson

from festinger.errors import BadInput, FestingerError, NotAuthenticated, NotAuthorised, NotFound, ServerAway
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
PAGE = 200
"""The most items that a server returns at once."""

IN_PROCESS = "http://in-process"

AT_THE_DOOR: dict[int, type[FestingerError]] = {401: NotAuthenticated, 403: NotAuthorised, 404: NotFound}
"""The proxy's access guard answers in the models' protocol: an error text without a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminClient:
    """A server, and the identity used to call it."""

    base: str
    http: httpx2.AsyncClient
    space: str = MAIN_SPACE
    agent: str = DEFAULT_AGENT

    @property
    def as_agent(self) -> dict[str, str]:
        """The query that names the agent, for requests that are made as one."""
        return {} if self.agent == DEFAULT_AGENT else {"agent": self.agent}

    async def is_ready(self) -> bool:
        """Whether it answers, accepts the key and has its store open."""
        try:
            await self.ask("GET", "/admin/readyz")
        except FestingerError:
            return False
        return True

    async def ask(self, method: str, path: str, *, body: Any = None, **query: str) -> Any:
        """Send a request and return the JSON response; server errors are raised as the error they name."""
        answer = await self._send(method, path, b"" if body is None else orjson.dumps(body), query)
        return _parse_response(answer.content, status=answer.status_code, base=self.base)

    async def send_json_lines(self, path: str, lines: Sequence[bytes], **query: str) -> list[Any]:
        """Send JSON lines and return the documents of the response, one per line."""
        answer = await self._send("POST", path, b"\n".join(lines), query, content_type="application/x-ndjson")
        said = [answer.content] if answer.is_error else [line for line in answer.content.split(b"\n") if line.strip()]
        return [_parse_response(each, status=answer.status_code, base=self.base) for each in said]

    async def fetch_all_pages(self, path: str, *, limit: int, **query: str) -> list[Any]:
        """Return the items of a list, page by page."""
        found: list[Any] = []
        while len(found) < limit:
            page = await self.ask("GET", path, limit=str(min(limit - len(found), PAGE)), **query)
            found += page["items"]
            if page["next"] is None:
                break
            query["cursor"] = page["next"]
        return found

    async def _send(
        self, method: str, path: str, body: bytes, query: dict[str, str], *, content_type: str = "application/json"
    ) -> httpx2.Response:
        asked = {**({"space": self.space} if self.space != MAIN_SPACE else {}), **query}
        try:
            return await self.http.request(
                method, self.base + path, params=asked, content=body, headers={"content-type": content_type}
            )
        except httpx2.HTTPError as error:
            raise ServerAway(f"Nothing answers at {self.base}: {type(error).__name__}.") from error


@asynccontextmanager
async def open_remote(
    address: str,
    *,
    space: str = MAIN_SPACE,
    agent: str = DEFAULT_AGENT,
    key: str | None = None,
    session: str = "",
    origin: str = "",
) -> AsyncIterator[AdminClient]:
    """Open a client for the server at this address; statements are learned in the session's name, if any."""
    base = check_server_address(address)
    # The server answers while it works: the total may take long, but not the wait for what comes next.
    patience = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    # Ignore proxies from the environment, so that the key is shown to nobody on the way. Certificates take long to
    # load and serve only https.
    async with httpx2.AsyncClient(
        headers=_headers(key=key, session=session, origin=origin),
        timeout=patience,
        trust_env=False,
        verify=base.startswith("https:"),
    ) as http:
        yield AdminClient(base=base, http=http, space=space, agent=agent)


@asynccontextmanager
async def open_in_process(
    app: Any, *, space: str, agent: str, key: str | None = None, session: str = "", origin: str = ""
) -> AsyncIterator[AdminClient]:
    headers = _headers(key=key, session=session, origin=origin)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers, trust_env=False) as http:
        yield AdminClient(base=IN_PROCESS, http=http, space=space, agent=agent)


def _headers(*, key: str | None, session: str, origin: str) -> dict[str, str]:
    named = {"x-festinger-key": key, "x-festinger-session": session, "x-festinger-origin": origin}
    return {name: value for name, value in named.items() if value}


def check_server_address(address: str) -> str:
    """Normalize a server address, without a trailing slash. Raises `BadInput`."""
    try:
        parts = urlsplit(address.strip())
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        is_one = False
    if not is_one or parts.username is not None:
        raise BadInput(
            f"`{address[:80]}` is not the address of a server.",
            hint="Write it as `http://127.0.0.1:11435`; the key is given apart.",
        )
    return parts.geturl().rstrip("/")


def _parse_response(raw: bytes, *, status: int, base: str) -> Any:
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise ServerAway(f"What answers at {base} is no Festinger.") from error
    if status < 400:
        return document
    said = document.get("error") if isinstance(document, Mapping) else None
    if isinstance(said, str) and status in AT_THE_DOOR:
        raise AT_THE_DOOR[status](said)
    if not isinstance(said, Mapping) or "name" not in said:
        raise ServerAway(f"What answers at {base} is no Festinger (status {status}).")
    raise rebuild_remote_error(said)


def rebuild_remote_error(said: Mapping[str, Any]) -> FestingerError:
    """Rebuild the error that a response names; a name unknown here becomes `FestingerError`."""
    kinds: dict[str, type[FestingerError]] = {}
    for each in _error_classes(FestingerError):
        # If two classes share a name, the base class comes first and wins.
        kinds.setdefault(each.class_name(), each)
    kind = kinds.get(str(said["name"]), FestingerError)
    details = said.get("details")
    kept = {str(name): value for name, value in details.items()} if isinstance(details, Mapping) else {}
    error = FestingerError.__new__(kind)
    FestingerError.__init__(error, str(said.get("message", "")), hint=str(said.get("hint", "")), **kept)
    return error


def _error_classes(kind: type[FestingerError]) -> Iterator[type[FestingerError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _error_classes(below)
