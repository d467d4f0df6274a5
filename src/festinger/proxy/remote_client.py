"""How is a Festinger that runs elsewhere asked?

Commands that name a server speak to it through this: one JSON request, one JSON answer. Its errors come back as the
errors of this tree, so that a command ends alike whether it opened the store itself or asked a server. It stands in
this room because this room speaks HTTP to others; it forwards nothing and knows nothing of what is asked.
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
"""What the guard before the pages refuses, it says in the words of the models' protocol: a text without a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteServer:
    """A server, and as whom it is asked."""

    base: str
    client: aiohttp.ClientSession
    space: str = MAIN
    key: str | None = None
    session: str = ""
    """In whose name statements are learned; empty for that of the key."""

    async def is_ready(self) -> bool:
        """Whether it answers, knows the key and has its store open."""
        try:
            await self.ask("GET", "/admin/readyz")
        except FestingerError:
            return False
        return True

    async def ask(self, method: str, path: str, *, body: Any = None, **query: str) -> Any:
        """The document that it answers with; what it refuses is raised as the error that it names."""
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
        """Send lines of JSON; the documents that it answers with, as they come."""
        asked = {**({"space": self.space} if self.space != MAIN else {}), **query}
        headers = {**self._headers(), "content-type": "application/x-ndjson"}
        # It answers while it works: what may take long is the whole, not the way to the next line.
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
    """A server at an address, for as long as the block runs."""
    base = normalize_address(address)
    patience = aiohttp.ClientTimeout(total=ANSWER_SECONDS, connect=CONNECT_SECONDS)
    # No proxy of the environment: a key for this server is not shown to anybody on the way.
    async with aiohttp.ClientSession(timeout=patience, trust_env=False) as client:
        yield RemoteServer(base=base, client=client, space=space, key=key, session=session)


def normalize_address(address: str) -> str:
    """The address of a server without a slash at its end; `BadInput` if it is none."""
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
    """Lines of any length."""
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
    """The error that an answer names, as the class of this tree; a name of a newer server is a plain fault."""
    kinds: dict[str, type[FestingerError]] = {}
    for each in _error_classes(FestingerError):
        # Of two under one name the plainer one, which stands above.
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
