"""Maps each provider to the module that opens it.

A provider module is imported when an endpoint of its kind is first opened: the client libraries take seconds
to load, and most commands never ask a model.
"""

from collections.abc import Mapping
from importlib import import_module

from festinger.errors import ProviderRefused
from festinger.llm.endpoint import Endpoint, ProviderName, needs_key
from festinger.llm.model import Provider

FILES: Mapping[ProviderName, str] = {
    ProviderName.CLAUDE: "festinger.llm.providers.anthropic",
    ProviderName.OPENAI: "festinger.llm.providers.openai",
    ProviderName.OLLAMA: "festinger.llm.providers.ollama",
    ProviderName.GEMINI: "festinger.llm.providers.gemini",
    ProviderName.SCRIPTED: "festinger.llm.providers.scripted",
}


def open_provider(asked: Endpoint) -> Provider:
    """Open a provider for this endpoint. It holds connections until it is closed."""
    if needs_key(asked) and asked.api_key is None:
        raise ProviderRefused(f"`{asked.name}` needs an API key.", hint="`festinger models add` takes one.")
    provider: Provider = import_module(FILES[asked.provider]).open_provider(asked)
    return provider
