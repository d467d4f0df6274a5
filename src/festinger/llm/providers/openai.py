"""OpenAI, and every server that speaks its chat completions API."""

from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from festinger.llm.endpoint import OWN_ADDRESS, Endpoint, ProviderName
from festinger.llm.http import http_client
from festinger.llm.providers.pydantic_ai import PydanticAiProvider, key_text


def open_provider(asked: Endpoint) -> PydanticAiProvider:
    client = http_client(asked)
    provider: OpenAIProvider | OpenAICompatibleProvider
    if asked.address == OWN_ADDRESS[ProviderName.OPENAI]:
        provider = OpenAIProvider(base_url=asked.address, api_key=key_text(asked), http_client=client)
    else:
        # Other servers are not sent what only OpenAI's own understands.
        provider = OpenAICompatibleProvider(
            "openai-compatible", base_url=asked.address, api_key=key_text(asked), http_client=client
        )
    return PydanticAiProvider(asked, OpenAIChatModel(asked.model, provider=provider), client)
