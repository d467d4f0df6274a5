"""A model address that leads to our own proxy: what we ask ourselves gets no notes."""

from pathlib import Path

import pytest
from tests.stories.stage import stage
from tests.stories.test_recalling import chat, library, talk

from festinger.llm.endpoint import ProviderName, build_endpoint
from festinger.llm.http import http_client

QUESTION = "Where does the spare key hang?"


@pytest.mark.requirement("A-09")
async def test_our_own_question_passes_our_proxy_without_notes(database_url: str, tmp_path: Path):
    async with stage(database_url, tmp_path) as at:
        await library(at.app, "desk").learn("The spare key hangs behind the painting.")
        client = await talk(at, QUESTION)
        noted = at.model.heard[-1].newest
        asked = build_endpoint(ProviderName.OLLAMA, "m", address=at.url)
        body = {"model": "m", "messages": chat(QUESTION), "stream": False}
        async with http_client(asked) as own:
            answer = await own.post(f"{at.url}/api/chat", json=body)
        plain = at.model.heard[-1].newest

    assert client.memory.startswith("injected")
    assert "behind the painting" in noted
    assert answer.headers["x-festinger-memory"].startswith("off")
    assert plain == QUESTION
