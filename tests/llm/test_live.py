"""A tiny real model behind a real OpenAI-compatible server on this machine, through the real provider code.

It checks the protocol, not the wisdom: the model has 135 million parameters and is wrong about most things.
`make test-live` installs what is needed and runs these; they belong to no other run.
"""

from collections.abc import AsyncIterator, Iterator

import pytest
from tests.llama import llama_server
from tests.llm.bench import Bench, Verdict

from festinger.llm.client import CheckedModel, open_provider
from festinger.llm.endpoint import ProviderName, build_endpoint
from festinger.llm.model import FinishReason, MessageRole, ModelToolCall, PromptMessage, Provider, ToolOffer

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the server answers."""
    with llama_server() as server:
        yield f"{server}/v1"


@pytest.fixture(params=[ProviderName.OPENAI, ProviderName.OLLAMA])
async def provider(request: pytest.FixtureRequest, address: str) -> AsyncIterator[Provider]:
    """Both kinds that speak this protocol."""
    speaking = open_provider(build_endpoint(request.param, "smollm2", address=address))
    yield speaking
    await speaking.close()


def asked(text: str) -> list[PromptMessage]:
    return [
        PromptMessage(role=MessageRole.SYSTEM, text="You answer briefly."),
        PromptMessage(role=MessageRole.USER, text=text, prompt_hash="0123456789ab"),
    ]


@pytest.mark.requirement("X-88")
async def test_a_chat_has_text_an_end_and_counted_tokens(provider: Provider) -> None:
    reply = await provider.complete(asked("Say hello."), None)

    assert reply.text.strip()
    assert reply.finish is FinishReason.DONE
    assert reply.usage is not None
    assert reply.usage.tokens_in > 0
    assert reply.usage.tokens_out > 0


@pytest.mark.requirement("X-88")
async def test_a_streamed_chat_says_the_same_in_pieces_and_is_in_the_ledger(provider: Provider) -> None:
    bench = Bench()

    chunks = [chunk async for chunk in CheckedModel(bench.line(provider)).chat(asked("Say hello."))]
    whole = await provider.complete(asked("Say hello."), None)

    assert len(chunks) > 2
    assert "".join(chunk.text for chunk in chunks) == whole.text
    assert chunks[-1].finish is FinishReason.DONE
    (call,) = bench.ledger.calls
    assert call.ok
    assert call.usage == chunks[-1].usage
    assert call.usage is not None


@pytest.mark.requirement("X-88")
async def test_a_structured_answer_has_its_shape(provider: Provider) -> None:
    bench = Bench()

    answer = await CheckedModel(bench.line(provider)).answer(
        asked("Is 'the sky is blue' the same as 'the sky is azure'? The verdict is one word."), Verdict
    )

    assert isinstance(answer.value, Verdict)
    assert answer.prompt_hash == "0123456789ab"
    assert bench.ledger.calls[-1].ok
    assert answer.cost_usd is None, "a model of one's own has no price"


async def test_tools_may_be_offered_and_their_results_are_read(provider: Provider) -> None:
    offer = ToolOffer(
        name="recall",
        description="Search the memory.",
        schema={"type": "object", "properties": {"cue": {"type": "string"}}, "required": ["cue"]},
    )
    call = ModelToolCall(id="call_1", name="recall", arguments={"cue": "Ada"})
    said = PromptMessage(role=MessageRole.ASSISTANT, text="", calls=(call,))
    result = PromptMessage(role=MessageRole.TOOL, text="Ada lives in Lisgate.", calls=(call,))
    question = PromptMessage(role=MessageRole.USER, text="Where does Ada live? Answer in one word.")

    chunks = [chunk async for chunk in provider.stream([question, said, result], [offer])]

    assert chunks[-1].calls or "".join(chunk.text for chunk in chunks)
