"""Which model does a setting mean?

A setting is empty (no model), a `provider:model` string, optionally with an address (`openai:qwen3@http://…`),
or the id of a row in the table of models, which is looked up by a function that is handed in. Whether the
model may be asked is `endpoint`'s matter, how is `providers`'.
"""

from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

from pydantic import SecretStr

from festinger.errors import BadSetting
from festinger.llm.endpoint import OWN_ADDRESS, Endpoint, ProviderName, endpoint

Resolve = Callable[[UUID], Awaitable[Endpoint]]
"""Finds the endpoint of a row in the table of models."""

AUTO = "auto"
ALIASES = {"anthropic": ProviderName.CLAUDE, "google": ProviderName.GEMINI}
"""Other names that people know a provider by."""

KEY_VARIABLES = {
    ProviderName.CLAUDE: ("ANTHROPIC_API_KEY",),
    ProviderName.OPENAI: ("OPENAI_API_KEY",),
    ProviderName.GEMINI: ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
"""Where each provider's own tools look for a key."""


async def choose(setting: str, resolve: Resolve, *, environment: Mapping[str, str]) -> Endpoint | None:
    """The endpoint that a setting means; none if it is empty."""
    text = setting.strip()
    if not text or text == AUTO:
        # Whoever knows the client's own model has put it in the place of `auto`; without one there is none.
        return None
    if (row := _row_id(text)) is not None:
        return await resolve(row)
    return _named(text, environment)


def provider_named(text: str) -> ProviderName:
    """The provider of this name or alias."""
    known = {name.value: name for name in ProviderName} | ALIASES
    try:
        return known[text.strip().lower()]
    except KeyError as error:
        raise BadSetting(
            f"There is no provider `{text[:64]}`.",
            hint="Known are " + ", ".join(f"`{name}`" for name in sorted(known)) + ".",
        ) from error


def _row_id(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _named(text: str, environment: Mapping[str, str]) -> Endpoint:
    name, colon, rest = text.partition(":")
    if not colon:
        raise BadSetting(
            f"`{text[:64]}` names no model.", hint="Write `provider:model`, or the id of a model."
        )
    provider = provider_named(name)
    # Ollama's own names hold colons, and digests follow an `@`; only `@http` begins an address.
    model, at, address = rest.partition("@http")
    own = not at
    return endpoint(
        provider,
        model,
        address=None if own else f"http{address}",
        # A key of the environment belongs to the provider's own address and goes nowhere else.
        api_key=_key(provider, environment) if own else None,
    )


def _key(provider: ProviderName, environment: Mapping[str, str]) -> SecretStr | None:
    found = (environment.get(variable) for variable in KEY_VARIABLES.get(provider, ()))
    return next((SecretStr(key) for key in found if key), None)


def needs_key(wanted: Endpoint) -> bool:
    """Whether this endpoint answers nobody without a key."""
    return wanted.provider in KEY_VARIABLES and wanted.address == OWN_ADDRESS[wanted.provider]
