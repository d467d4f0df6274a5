"""HTTP client for a Festinger server that runs elsewhere, used by commands that name a server.

Server errors are raised as the same error classes, so a command ends alike whether it opened the store itself
or asked a server.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from festinger.errors import BadInput, FestingerError, NotAuthenticated, NotAuthorised, NotFound, ServerAway

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 60.0
MAX_ANSWER = 64 * 2**20

MAIN = "main"

AT_THE_DOOR: dict[int, type[FestingerError]] = {401: NotAuthenticated, 403: NotAuthorised, 404: NotFound}
"""The proxy's access guard answers in the models' protocol: an error text without a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteServer:
    """A server, and the identity used to call it."""

    base: str
    client: aiohttp.ClientSession
    space: str = MAIN
    key: str | None = None
    session: str = ""
    """Session in whose name statements are learned; empty for the key's own."""

    async def is_ready(self) -> bool:
        """Whether it answers, accepts the key and has its store open."""
        try:
            await self.ask("GET", "/admin/readyz")
        except FestingerError:
            return False
        return True

    async def ask(self, method: str, path: str, *, body: Any = None, **query: str) -> Any:
        """Send a request and return the JSON response; server errors are raised as the error they name."""
        asked = {**({"space": self.space} if self.space != MAIN else {}), **query}
        sent = None if body is None else orjson.dumps(body)
        try:
            async with self.client.request(
                method, self.base + path, params=asked, data=sent, headers=self._headers(), allow_redirects=False
            ) as answer:
                raw = await answer.content.read(MAX_ANSWER)
                return _parse_document(raw, status=answer.status, base=self.base)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ServerAway(f"Nothing answers at {self.base}: {type(error).__name__}.") from error

    async def ask_lines(self, path: str, lines: Sequence[bytes], **query: str) -> AsyncIterator[Any]:
        """Send JSON lines; yield the documents of the response as they arrive."""
        asked = {**({"space": self.space} if self.space != MAIN else {}), **query}
        headers = {**self._headers(), "content-type": "application/x-ndjson"}
        # The server answers while it works: the total may take long, but not the wait for the next line.
        patience = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS, sock_read=ANSWER_SECONDS)
        try:
            async with self.client.post(
                self.base + path,
                params=asked,
                data=b"\n".join(lines),
                headers=headers,
                timeout=patience,
                allow_redirects=False,
            ) as answer:
                if answer.status >= 400:
                    _parse_document(await answer.content.read(MAX_ANSWER), status=answer.status, base=self.base)
                async for line in _iter_lines(answer.content):
                    yield _parse_document(line, status=answer.status, base=self.base)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ServerAway(f"Nothing answers at {self.base}: {type(error).__name__}.") from error

    def _headers(self) -> dict[str, str]:
        key = {"x-festinger-key": self.key} if self.key else {}
        session = {"x-festinger-session": self.session} if self.session else {}
        return {"content-type": "application/json", **key, **session}


@asynccontextmanager
async def open_remote(
    address: str, *, space: str = MAIN, key: str | None = None, session: str = ""
) -> AsyncIterator[RemoteServer]:
    """Open a client for the server at this address."""
    base = normalize_address(address)
    patience = aiohttp.ClientTimeout(total=ANSWER_SECONDS, connect=CONNECT_SECONDS)
    # Ignore proxies from the environment, so that the key is shown to nobody on the way.
    async with aiohttp.ClientSession(timeout=patience, trust_env=False) as client:
        yield RemoteServer(base=base, client=client, space=space, key=key, session=session)


def normalize_address(address: str) -> str:
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


async def _iter_lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield lines of any length."""
    rest = b""
    async for chunk in content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
    if rest.strip():
        yield rest


def _parse_document(raw: bytes, *, status: int, base: str) -> Any:
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
    raise parse_remote_error(said)


def parse_remote_error(said: Mapping[str, Any]) -> FestingerError:
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
