"""Anthropic, also known by the name of its models, `claude`."""

from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from festinger.llm.endpoint import Endpoint
from festinger.llm.http import http_client
from festinger.llm.providers.pydantic_ai import PydanticAiProvider, key_text


def open_provider(asked: Endpoint) -> PydanticAiProvider:
    client = http_client(asked)
    provider = AnthropicProvider(base_url=asked.address, api_key=key_text(asked), http_client=client)
    return PydanticAiProvider(asked, AnthropicModel(asked.model, provider=provider), client)
