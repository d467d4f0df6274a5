"""What HTTP says, in our words: the border of every embedder that is spoken to over the wire."""

import asyncio
from collections.abc import Callable

import aiohttp
import pytest
from aiohttp import web
from tests.embedding.servers import Served

from festinger.embedding.embedder import EmbedderOptions
from festinger.embedding.profiles import EmbeddingPurpose
from festinger.embedding.providers import remote as wire_module
from festinger.embedding.providers.remote import ProviderHttpClient
from festinger.embedding.registry import open_embedder
from festinger.errors import ProviderDown, ProviderRefused

CHOICE = "ollama:nomic-embed-text"


def answering(status: int, body: str) -> Callable[..., web.Response]:
    return lambda texts: web.Response(status=status, text=body, headers={"Location": "http://192.0.2.1/"})


async def ask(served: Served, **supplies: object) -> None:
    wire = ProviderHttpClient(served.url, EmbedderOptions(offline=True, **supplies))  # type: ignore[arg-type]
    try:
        await wire.post("/api/embed", {"model": "m", "input": ["tea"]})
    finally:
        await wire.close()


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
async def test_an_answer_that_may_pass_is_a_provider_that_is_down(served: Served, status: int):
    served.spoil = answering(status, '{"error": "overloaded"}')

    with pytest.raises(ProviderDown, match=f"answered {status}: overloaded"):
        await ask(served)


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 413, 422])
async def test_an_answer_that_will_stay_is_a_provider_that_refuses(served: Served, status: int):
    served.spoil = answering(status, '{"error": {"message": "no such model"}}')

    with pytest.raises(ProviderRefused, match=f"answered {status}: no such model"):
        await ask(served)


@pytest.mark.requirement("X-06")
async def test_nobody_listening_is_a_provider_that_is_down_and_the_cause_is_kept(served: Served):
    wire = ProviderHttpClient("http://127.0.0.1:1", EmbedderOptions(offline=True))

    with pytest.raises(ProviderDown, match="cannot be reached") as caught:
        await wire.post("/api/embed", {})
    await wire.close()

    assert isinstance(caught.value.__cause__, aiohttp.ClientError)


@pytest.mark.requirement("X-06")
async def test_silence_is_a_provider_that_is_down(served: Served):
    async def never(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        return web.Response()

    served.answering = never

    with pytest.raises(ProviderDown, match=r"did not answer in 0\.05 s") as caught:
        await ask(served, timeout_s=0.05)

    assert isinstance(caught.value.__cause__, TimeoutError)


@pytest.mark.requirement("X-06")
async def test_an_answer_cut_off_in_the_middle_is_a_provider_that_is_down(served: Served):
    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"embeddings": [[0.1')
        assert request.transport is not None
        request.transport.close()
        return response

    served.answering = cut

    with pytest.raises(ProviderDown):
        await ask(served)


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize("body", ["", "not json", "[1, 2]", '{"embeddings": [[NaN]]}'])
async def test_an_answer_that_cannot_be_read_is_refused(served: Served, body: str):
    served.spoil = answering(200, body)

    with pytest.raises(ProviderRefused):
        await ask(served)


async def test_an_endless_answer_is_cut(served: Served, monkeypatch):
    monkeypatch.setattr(wire_module, "LARGEST_ANSWER", 100)
    served.spoil = answering(200, "x" * 101)

    with pytest.raises(ProviderRefused, match="longer than 100 bytes"):
        await ask(served)


async def test_a_key_that_the_server_sends_back_does_not_reach_the_error(served: Served):
    served.spoil = answering(401, '{"error": {"message": "Incorrect API key: sk-hidden-42"}}')

    with pytest.raises(ProviderRefused) as caught:
        await ask(served, api_key="sk-hidden-42")

    assert "sk-hidden-42" not in caught.value.message + repr(EmbedderOptions(api_key="sk-hidden-42"))
    assert caught.value.hint == "Check `embedding.api_key`."


async def test_a_session_that_was_given_is_used_and_left_open(served: Served):
    async with aiohttp.ClientSession(headers={"X-Mine": "yes"}) as session:
        await ask(served, session=session)

        assert served.headers[0]["X-Mine"] == "yes"
        assert not session.closed


@pytest.mark.requirement("X-86")
@pytest.mark.parametrize(
    "choice", ["openai:text-embedding-3-small", "gemini:gemini-embedding-001", "ollama:nomic-embed-text"]
)
async def test_offline_no_provider_beyond_this_machine_is_opened(choice: str):
    far = EmbedderOptions(offline=True, base_url="http://192.0.2.1:9" if choice.startswith("ollama") else None)

    with pytest.raises(ProviderRefused, match="beyond this machine"):
        await open_embedder(choice, far)


@pytest.mark.requirement("X-86")
async def test_a_redirect_to_another_place_is_not_followed(served: Served):
    """The guard of the suite would fail this test if anything reached the address of the redirect."""
    served.spoil = answering(307, "")

    with pytest.raises(ProviderRefused, match="answered 307"):
        await ask(served)

    assert len(served.asked) == 1


async def test_a_provider_that_comes_back_is_used_again_without_a_restart(served: Served):
    embedder = await open_embedder("ollama:toy", EmbedderOptions(offline=True, base_url=served.url))
    served.spoil = answering(503, "loading")
    with pytest.raises(ProviderDown):
        await embedder.embed(["tea"], EmbeddingPurpose.QUERY)

    served.spoil = lambda texts: None

    assert len(await embedder.embed(["tea"], EmbeddingPurpose.QUERY)) == 1
    await embedder.close()
