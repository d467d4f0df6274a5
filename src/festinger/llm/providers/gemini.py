"""Gemini, through Google's own API."""

import warnings

from festinger.llm.endpoint import Endpoint
from festinger.llm.http import http_client
from festinger.llm.providers.pydantic_ai import PydanticAiProvider, key_text

with warnings.catch_warnings():
    # Google's library has string escapes that Python warns about when it first compiles them.
    warnings.simplefilter("ignore")
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider


def open_provider(asked: Endpoint) -> PydanticAiProvider:
    client = http_client(asked)
    provider = GoogleProvider(base_url=asked.address, api_key=key_text(asked), http_client=client)
    return PydanticAiProvider(asked, GoogleModel(asked.model, provider=provider), client)
