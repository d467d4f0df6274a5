"""Resolves a model setting to an endpoint, and checks that it may be asked.

An endpoint is a provider, a model and an address. Addresses come from settings and from the models table,
never from the environment: nothing goes to a server that nobody named, and with `offline` on only this
machine is asked. A setting is empty (no model), `provider:model`, optionally with an address
(`openai:qwen3@http://…`), or the id of a row in the models table, looked up by a function that is passed in.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import SecretStr

from festinger.errors import BadInput, BadSetting, ProviderRefused
from festinger.text.addresses import is_forbidden, is_loopback_url


class ProviderName(StrEnum):
    CLAUDE = "claude"
    OPENAI = "openai"
    OLLAMA = "ollama"
    GEMINI = "gemini"
    SCRIPTED = "scripted"


STORED_PROVIDERS = (ProviderName.CLAUDE, ProviderName.OPENAI, ProviderName.OLLAMA, ProviderName.GEMINI)
"""Those that a row of the models table may name."""

OWN_ADDRESS = {
    ProviderName.CLAUDE: "https://api.anthropic.com",
    ProviderName.OPENAI: "https://api.openai.com/v1",
    ProviderName.OLLAMA: "http://127.0.0.1:11434",
    ProviderName.GEMINI: "https://generativelanguage.googleapis.com",
    ProviderName.SCRIPTED: "",
}
"""The default address of each provider."""


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
        return self.provider is ProviderName.SCRIPTED or is_loopback_url(self.address)


def build_endpoint(
    provider: ProviderName, model: str, *, address: str | None = None, api_key: SecretStr | None = None
) -> Endpoint:
    """Build an endpoint with a checked address, by default the provider's own."""
    if not model.strip() and provider is not ProviderName.SCRIPTED:
        raise BadInput(f"Which model of `{provider}` is meant is missing.", hint="Write it as `provider:model`.")
    where = check_address(address) if address else OWN_ADDRESS[provider]
    return Endpoint(provider=provider, model=model.strip(), address=where, api_key=api_key)


def check_address(address: str) -> str:
    """Return the address if it is valid and contains no secret."""
    try:
        parts = urlsplit(address.strip())
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadInput("The address of the provider cannot be understood.") from error
    if parts.scheme not in ("http", "https") or not host:
        raise BadInput(
            "The address of the provider is not an http address.", hint="Write it as `http://127.0.0.1:11434`."
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


ResolveHost = Callable[[str], Awaitable[Iterable[str]]]
"""Returns the addresses of a host. Raises `OSError` if there are none."""


async def resolve_host(host: str) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(where[0]) for *_, where in found]


async def refuse_forbidden_host(host: str, resolve: ResolveHost = resolve_host) -> None:
    """Raise `ProviderRefused` if a name resolves to a link-local or metadata address.

    A name that cannot be resolved here is left to the connection: a proxy may know it.
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


def require_endpoint_allowed(wanted: Endpoint, *, offline: bool) -> Endpoint:
    """Return the endpoint if it may be asked."""
    if offline and not wanted.is_local:
        raise ProviderRefused(
            f"`{wanted.name}` is beyond this machine, and `offline` is on.",
            hint="Choose a model on this machine, or turn `offline` off.",
        )
    return wanted


ResolveModel = Callable[[UUID], Awaitable[Endpoint]]
"""Finds the endpoint of a row in the models table."""

AUTO = "auto"
ALIASES = {"anthropic": ProviderName.CLAUDE, "google": ProviderName.GEMINI}
"""Other common names of a provider."""

KEY_VARIABLES = {
    ProviderName.CLAUDE: ("ANTHROPIC_API_KEY",),
    ProviderName.OPENAI: ("OPENAI_API_KEY",),
    ProviderName.GEMINI: ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""Where each provider's own tools look for a key."""


async def resolve_endpoint(setting: str, resolve: ResolveModel, *, environment: Mapping[str, str]) -> Endpoint | None:
    """Return the endpoint that a setting means; none if it is empty."""
    text = setting.strip()
    if not text or text == AUTO:
        # `auto` has already been replaced where the client's own model is known; otherwise there is none.
        return None
    try:
        row = UUID(text)
    except ValueError:
        return _parse_named_endpoint(text, environment)
    return await resolve(row)


def parse_provider(text: str) -> ProviderName:
    known = {name.value: name for name in ProviderName} | ALIASES
    try:
        return known[text.strip().lower()]
    except KeyError as error:
        raise BadSetting(
            f"There is no provider `{text[:64]}`.",
            hint="Known are " + ", ".join(f"`{name}`" for name in sorted(known)) + ".",
        ) from error


def _parse_named_endpoint(text: str, environment: Mapping[str, str]) -> Endpoint:
    name, colon, rest = text.partition(":")
    if not colon:
        raise BadSetting(f"`{text[:64]}` names no model.", hint="Write `provider:model`, or the id of a model.")
    provider = parse_provider(name)
    # Ollama's own names contain colons, and digests follow an `@`; only `@http` begins an address.
    model, at, address = rest.partition("@http")
    own = not at
    return build_endpoint(
        provider,
        model,
        address=None if own else f"http{address}",
        # A key from the environment belongs to the provider's own address and goes nowhere else.
        api_key=_key(provider, environment) if own else None,
    )


def _key(provider: ProviderName, environment: Mapping[str, str]) -> SecretStr | None:
    found = (environment.get(variable) for variable in KEY_VARIABLES.get(provider, ()))
    return next((SecretStr(key) for key in found if key), None)


def needs_api_key(wanted: Endpoint) -> bool:
    return wanted.provider in KEY_VARIABLES and wanted.address == OWN_ADDRESS[wanted.provider]
