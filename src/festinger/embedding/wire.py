"""How is a provider spoken to over HTTP, and what do its refusals mean?

One POST of JSON, one answer. Here, and only here, the errors of the client become ours: `ProviderDown` where
trying again may help, `ProviderRefused` where it will not. Redirects are not followed: they could lead off this
machine without anybody having named the place. What the JSON means is each provider's matter.
"""

from collections.abc import Mapping
from typing import Any

import aiohttp
import orjson

from festinger.embedding.embedder import Supplies
from festinger.embedding.reach import allowed, open_checked_socket
from festinger.errors import ProviderDown, ProviderRefused

LARGEST_ANSWER = 128 * 2**20
"""Bytes; a thousand vectors of 3,072 dimensions in JSON are about half of it."""

TRY_AGAIN = frozenset({408, 425, 429})
SHOWN = 300


class Wire:
    """A provider's address, with the session, key and limits for speaking to it."""

    def __init__(
        self, base_url: str, supplies: Supplies, *, headers: Mapping[str, str] | None = None
    ) -> None:
        self._base_url = allowed(base_url, offline=supplies.offline)
        self._key = supplies.api_key
        self._headers = dict(headers or {})
        self._timeout = aiohttp.ClientTimeout(total=supplies.timeout_s)
        self._given = supplies.session
        self._own: aiohttp.ClientSession | None = None

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON object that the provider answers with."""
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
            return ProviderRefused(
                f"`{self._base_url}` answered {status}: {said}", hint="Check `embedding.api_key`."
            )
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
        """What may stand in an error: short, and never with the key, which some servers send back."""
        return (said.replace(self._key, "…") if self._key else said)[:SHOWN]


async def _read(response: aiohttp.ClientResponse) -> bytes:
    answer = bytearray()
    async for chunk in response.content.iter_any():
        answer += chunk
        if len(answer) > LARGEST_ANSWER:
            raise ProviderRefused(f"The provider's answer is longer than {LARGEST_ANSWER} bytes.")
    return bytes(answer)


def _message(answer: bytes) -> str:
    """What the provider says of its error: `{"error": "…"}`, `{"error": {"message": "…"}}`, or its text."""
    try:
        error = orjson.loads(answer)["error"]
        return str(error["message"] if isinstance(error, dict) else error)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return answer.decode(errors="replace").strip()
