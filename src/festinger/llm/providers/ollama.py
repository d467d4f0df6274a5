"""Ollama, through its OpenAI-compatible API, which takes a JSON schema for the answer."""

from pydantic_ai.models.ollama import OllamaModel
from pydantic_ai.providers.ollama import OllamaProvider

from festinger.llm.endpoint import Endpoint
from festinger.llm.http import http_client
from festinger.llm.providers.pydantic_ai import PydanticAiProvider, key_text


def open_provider(asked: Endpoint) -> PydanticAiProvider:
    client = http_client(asked)
    address = asked.address if asked.address.endswith("/v1") else f"{asked.address}/v1"
    provider = OllamaProvider(base_url=address, api_key=key_text(asked), http_client=client)
    return PydanticAiProvider(asked, OllamaModel(asked.model, provider=provider), client)
