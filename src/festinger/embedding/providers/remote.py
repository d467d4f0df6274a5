"""The HTTP client that all remote embedders share.

One POST of JSON, one answer. Client errors become `ProviderDown` where a retry may help and `ProviderRefused`
where it will not. Redirects are not followed: they could lead off this machine to an address that nobody
named. The vector length comes from the profile, or from one small call when the embedder is opened. Below
it, each provider defines the JSON of its requests and answers.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson

from festinger.embedding.address_check import check_address_allowed, open_checked_socket
from festinger.embedding.embedder import EmbedderOptions, Rows
from festinger.embedding.profiles import EmbeddingPurpose, find_profile
from festinger.errors import BadSetting, ProviderDown, ProviderRefused

LARGEST_ANSWER = 128 * 2**20
"""Bytes; a thousand vectors of 3,072 dimensions in JSON are about half of it."""

TRY_AGAIN = frozenset({408, 425, 429})
SHOWN = 300


class ProviderHttpClient:
    """A provider's address, with the session, key and limits for talking to it."""

    def __init__(self, base_url: str, supplies: EmbedderOptions, *, headers: Mapping[str, str] | None = None) -> None:
        self._base_url = check_address_allowed(base_url, offline=supplies.offline)
        self._key = supplies.api_key
        self._headers = dict(headers or {})
        self._timeout = aiohttp.ClientTimeout(total=supplies.timeout_s)
        self._given = supplies.session
        self._own: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Post and return the JSON object of the answer."""
        address = f"{self._base_url}{path}"
        try:
            async with self._session().post(
                address,
                data=orjson.dumps(body),
                headers={"Content-Type": "application/json", **self._headers},
                timeout=self._timeout,
                allow_redirects=False,
            ) as response:
                status, answer = response.status, await _read(response)
        except TimeoutError as error:
            raise ProviderDown(f"`{self._base_url}` did not answer in {self._timeout.total:g} s.") from error
        except (aiohttp.ClientError, OSError) as error:
            raise ProviderDown(f"`{self._base_url}` cannot be reached: {self._shown(str(error))}") from error
        if status != 200:
            raise self._refusal(status, answer)
        return self._object(answer)

    async def close(self) -> None:
        if self._own is not None:
            await self._own.close()

    def _session(self) -> aiohttp.ClientSession:
        if self._given is not None:
            return self._given
        if self._own is None:
            connector = aiohttp.TCPConnector(socket_factory=open_checked_socket)
            self._own = aiohttp.ClientSession(connector=connector)
        return self._own

    def _refusal(self, status: int, answer: bytes) -> ProviderDown | ProviderRefused:
        said = self._shown(_message(answer))
        if status >= 500 or status in TRY_AGAIN:
            return ProviderDown(f"`{self._base_url}` answered {status}: {said}")
        if status in (401, 403):
            return ProviderRefused(f"`{self._base_url}` answered {status}: {said}", hint="Check `embedding.api_key`.")
        return ProviderRefused(f"`{self._base_url}` answered {status}: {said}")

    def _object(self, answer: bytes) -> dict[str, Any]:
        try:
            read = orjson.loads(answer)
        except orjson.JSONDecodeError as error:
            raise ProviderRefused(f"`{self._base_url}` answered with broken JSON.") from error
        if not isinstance(read, dict):
            raise ProviderRefused(f"`{self._base_url}` answered with JSON that is not an object.")
        return read

    def _shown(self, said: str) -> str:
        """Shorten what an error may show, and remove the key, which some servers echo."""
        return (said.replace(self._key, "…") if self._key else said)[:SHOWN]


async def _read(response: aiohttp.ClientResponse) -> bytes:
    answer = bytearray()
    async for chunk in response.content.iter_any():
        answer += chunk
        if len(answer) > LARGEST_ANSWER:
            raise ProviderRefused(f"The provider's answer is longer than {LARGEST_ANSWER} bytes.")
    return bytes(answer)


def _message(answer: bytes) -> str:
    """Return the provider's error text: `{"error": "…"}`, `{"error": {"message": "…"}}`, or the body."""
    try:
        error = orjson.loads(answer)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return answer.decode(errors="replace").strip()


PROBE = "How long are the vectors?"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingProtocol:
    """One provider's protocol: the path and the two translations."""

    path: str
    request: Callable[[Sequence[str], EmbeddingPurpose, str], Mapping[str, Any]]
    rows: Callable[[Mapping[str, Any]], Rows]


class RemoteEngine:
    def __init__(
        self, name: str, wire: ProviderHttpClient, protocol: EmbeddingProtocol, *, dimensions: int, batch: int
    ) -> None:
        self.name = name
        self.dimensions = dimensions
        self.batch = batch
        self._wire = wire
        self._protocol = protocol

    async def rows(self, texts: Sequence[str], purpose: EmbeddingPurpose, *, kind: str) -> Rows:
        return await request_vectors(self._wire, self._protocol, texts, purpose=purpose, kind=kind)

    async def close(self) -> None:
        await self._wire.close()


async def open_remote(
    name: str, wire: ProviderHttpClient, protocol: EmbeddingProtocol, *, supplies: EmbedderOptions
) -> RemoteEngine:
    """Open the engine; probe a model without a stated length once, to keep out another model's vectors."""
    if name.endswith(":"):
        raise BadSetting(f"`{name}` names no model.", hint=f"Write it as `{name}model`.")
    async with AsyncExitStack() as undo:
        undo.push_async_callback(wire.close)
        stated = find_profile(name, supplies.profiles).dimensions
        dimensions = stated or await _probe_dimensions(name, wire, protocol)
        undo.pop_all()
    return RemoteEngine(name, wire, protocol, dimensions=dimensions, batch=supplies.batch)


async def _probe_dimensions(name: str, wire: ProviderHttpClient, protocol: EmbeddingProtocol) -> int:
    rows = await request_vectors(wire, protocol, [PROBE], purpose=EmbeddingPurpose.COMPARE, kind="")
    try:
        return len(rows[0])
    except (IndexError, TypeError, KeyError) as error:
        raise ProviderRefused(f"`{name}` answered with no vector.") from error


async def request_vectors(
    wire: ProviderHttpClient, protocol: EmbeddingProtocol, texts: Sequence[str], *, purpose: EmbeddingPurpose, kind: str
) -> Rows:
    answer = await wire.post(protocol.path, protocol.request(texts, purpose, kind))
    try:
        return protocol.rows(answer)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ProviderRefused("The provider answered with something else than vectors.") from error


OLLAMA = "http://127.0.0.1:11434"


async def open_ollama(model: str, supplies: EmbedderOptions) -> RemoteEngine:
    """Open `ollama:nomic-embed-text`; Ollama truncates a text that is longer than the model reads."""

    def request(texts: Sequence[str], purpose: EmbeddingPurpose, kind: str) -> Mapping[str, Any]:
        return {"model": model, "input": list(texts), "truncate": True}

    protocol = EmbeddingProtocol(path="/api/embed", request=request, rows=lambda answer: answer["embeddings"])
    wire = ProviderHttpClient(supplies.base_url or OLLAMA, supplies)
    return await open_remote(f"ollama:{model}", wire, protocol, supplies=supplies)


OPENAI = "https://api.openai.com/v1"


async def open_openai(model: str, supplies: EmbedderOptions) -> RemoteEngine:
    """Open `openai:text-embedding-3-small`, or a model of any server that speaks OpenAI's protocol.

    `embedding.base_url` names the server including its `/v1`.
    """

    def request(texts: Sequence[str], purpose: EmbeddingPurpose, kind: str) -> Mapping[str, Any]:
        return {"model": model, "input": list(texts), "encoding_format": "float"}

    headers = {"Authorization": f"Bearer {supplies.api_key}"} if supplies.api_key else {}
    protocol = EmbeddingProtocol(path="/embeddings", request=request, rows=_openai_rows)
    wire = ProviderHttpClient(supplies.base_url or OPENAI, supplies, headers=headers)
    return await open_remote(f"openai:{model}", wire, protocol, supplies=supplies)


def _openai_rows(answer: Mapping[str, Any]) -> Rows:
    """Order the vectors by `index`: servers may answer in any order."""
    by_index = {int(item["index"]): item["embedding"] for item in answer["data"]}
    return [by_index[place] for place in range(len(answer["data"]))]


GEMINI = "https://generativelanguage.googleapis.com/v1beta"


async def open_gemini(model: str, supplies: EmbedderOptions) -> RemoteEngine:
    """Open `gemini:gemini-embedding-001`.

    Gemini gives a different vector for each task, which the model's profile maps to purposes, and takes the kind of
    a memory as the title of what is stored.
    """
    name = f"gemini:{model}"
    task_types = find_profile(name, supplies.profiles).task_types

    def request(texts: Sequence[str], purpose: EmbeddingPurpose, kind: str) -> Mapping[str, Any]:
        shared: dict[str, Any] = {"model": f"models/{model}"}
        if purpose in task_types:
            shared["taskType"] = task_types[purpose]
        # The API takes a title for documents only and refuses it elsewhere.
        if purpose is EmbeddingPurpose.STORE and kind:
            shared["title"] = kind
        return {"requests": [{**shared, "content": {"parts": [{"text": text}]}} for text in texts]}

    headers = {"x-goog-api-key": supplies.api_key} if supplies.api_key else {}
    protocol = EmbeddingProtocol(
        path=f"/models/{quote(model, safe='')}:batchEmbedContents",
        request=request,
        rows=lambda answer: [item["values"] for item in answer["embeddings"]],
    )
    wire = ProviderHttpClient(supplies.base_url or GEMINI, supplies, headers=headers)
    return await open_remote(name, wire, protocol, supplies=supplies)
