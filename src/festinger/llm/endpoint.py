"""Which server is meant, and may it be asked at all?

An endpoint is a provider, a model and the address where it answers. Addresses come from settings and from
the table of models, never from the environment: nothing leaves this machine that nobody named. With
`offline` on, only this machine is asked. Where an endpoint comes from is `choose`'s matter.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from pydantic import SecretStr

from festinger.errors import BadInput, ProviderRefused
from festinger.text.addresses import is_forbidden, stays_here


class ProviderName(StrEnum):
    CLAUDE = "claude"
    OPENAI = "openai"
    OLLAMA = "ollama"
    GEMINI = "gemini"
    SCRIPTED = "scripted"


STORED_PROVIDERS = (ProviderName.CLAUDE, ProviderName.OPENAI, ProviderName.OLLAMA, ProviderName.GEMINI)
"""Those that a row of the table of models may name."""

OWN_ADDRESS = {
    ProviderName.CLAUDE: "https://api.anthropic.com",
    ProviderName.OPENAI: "https://api.openai.com/v1",
    ProviderName.OLLAMA: "http://127.0.0.1:11434",
    ProviderName.GEMINI: "https://generativelanguage.googleapis.com",
    ProviderName.SCRIPTED: "",
}
"""Where a provider answers unless another address is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    provider: ProviderName
    model: str
    address: str
    api_key: SecretStr | None = None

    @property
    def name(self) -> str:
        return f"{self.provider}:{self.model}"

    @property
    def server(self) -> str:
        """What is guarded together: one provider at one address."""
        return f"{self.provider} at {self.address}" if self.address else str(self.provider)

    @property
    def is_local(self) -> bool:
        return self.provider is ProviderName.SCRIPTED or stays_here(self.address)


def endpoint(
    provider: ProviderName, model: str, *, address: str | None = None, api_key: SecretStr | None = None
) -> Endpoint:
    """An endpoint with a checked address; without one, the provider's own."""
    if not model.strip() and provider is not ProviderName.SCRIPTED:
        raise BadInput(
            f"Which model of `{provider}` is meant is missing.", hint="Write it as `provider:model`."
        )
    where = checked_address(address) if address else OWN_ADDRESS[provider]
    return Endpoint(provider=provider, model=model.strip(), address=where, api_key=api_key)


def checked_address(address: str) -> str:
    """The address, if it is one that holds no secret of its own."""
    try:
        parts = urlsplit(address.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadInput("The address of the provider cannot be understood.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadInput(
            "The address of the provider is not an http address.",
            hint="Write it as `http://127.0.0.1:11434`.",
        )
    if is_forbidden(host):
        raise BadInput(
            "The address of the provider is a link-local or metadata address.",
            hint="Such an address is never connected to; name the server that is meant.",
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadInput(
            "The address of the provider holds more than host, port and path.",
            hint="Give the key as the API key, not in the address.",
        )
    return address.strip().rstrip("/")


Resolve = Callable[[str], Awaitable[Iterable[str]]]
"""The addresses of a host; `OSError` if there are none."""


async def resolve_host(host: str) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(where[0]) for *_, where in found]


async def refuse_forbidden(host: str, resolve: Resolve = resolve_host) -> None:
    """Raise `ProviderRefused` if a name leads to a link-local or metadata address.

    A name that cannot be resolved here is left to whoever connects: a proxy may know it.
    """
    try:
        addresses = list(await resolve(host))
    except OSError:
        return
    if any(map(is_forbidden, addresses)):
        raise ProviderRefused(
            f"`{host}` leads to a link-local or metadata address, which is never connected to.",
            hint="Name the server that is meant.",
        )


def permit(wanted: Endpoint, *, offline: bool) -> Endpoint:
    """The endpoint, if it may be asked."""
    if offline and not wanted.is_local:
        raise ProviderRefused(
            f"`{wanted.name}` is beyond this machine, and `offline` is on.",
            hint="Choose a model on this machine, or turn `offline` off.",
        )
    return wanted
