"""Every provider over a real wire: a loopback server that speaks its protocol, and the fake, by one contract."""

import json
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr
from tests.llm.bench import GOOD, QUESTION, Bench, Verdict
from tests.llm.stub import Stub, Turn

from festinger.errors import FestingerError, ProviderDown, ProviderRefused
from festinger.llm.client import CallPolicy, CheckedModel, open_provider
from festinger.llm.endpoint import Endpoint, ProviderName, build_endpoint
from festinger.llm.model import FinishReason, MessageRole, PromptMessage, Provider, ReplyChunk, ToolOffer, Usage
from festinger.llm.providers.pydantic_ai import UpstreamError
from festinger.llm.providers.scripted import ScriptedProvider

WIRED = [ProviderName.OPENAI, ProviderName.OLLAMA, ProviderName.CLAUDE, ProviderName.GEMINI]
KEY = SecretStr("sk-wire-canary-123")
DIALOGUE = (
    PromptMessage(role=MessageRole.SYSTEM, text="Be exact."),
    PromptMessage(role=MessageRole.USER, text="First question."),
    PromptMessage(role=MessageRole.ASSISTANT, text="First answer."),
    PromptMessage(role=MessageRole.USER, text="Second question."),
)


def at(stub: Stub, name: ProviderName) -> Endpoint:
    path = "/v1" if name is ProviderName.OPENAI else ""
    return build_endpoint(name, "some-model", address=stub.address + path, api_key=KEY)


@pytest.fixture(params=WIRED)
async def wired(request: pytest.FixtureRequest, stub: Stub) -> AsyncIterator[Provider]:
    provider = open_provider(at(stub, request.param))
    yield provider
    await provider.close()


async def failure(provider: Provider, stub: Stub, turn: Turn) -> FestingerError:
    stub.says(turn)
    with pytest.raises(FestingerError) as raised:
        await provider.complete(QUESTION, None)
    return raised.value


@pytest.mark.requirement("X-80")
async def test_a_whole_answer_comes_with_its_usage_and_end(wired: Provider, stub: Stub) -> None:
    stub.says(Turn(text="Paris"))

    reply = await wired.complete(DIALOGUE, None)

    assert (reply.text, reply.finish) == ("Paris", FinishReason.DONE)
    assert reply.usage is not None
    assert (reply.usage.tokens_in, reply.usage.tokens_out) == (11, 7)


@pytest.mark.requirement("X-80")
async def test_a_streamed_answer_comes_in_pieces_and_says_how_it_ended(wired: Provider, stub: Stub) -> None:
    stub.says(Turn(text="one two three"))

    chunks = [chunk async for chunk in wired.stream(DIALOGUE)]

    assert [chunk.text for chunk in chunks] == ["one ", "two ", "thre", "e", ""]
    assert chunks[-1].finish is FinishReason.DONE
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.tokens_out == 7


@pytest.mark.requirement("X-80", "X-82")
async def test_a_structured_answer_is_asked_for_with_its_schema(wired: Provider, stub: Stub) -> None:
    stub.says(Turn(text=GOOD.model_dump_json()))

    answer = await CheckedModel(Bench().line(wired)).answer(QUESTION, Verdict)

    assert answer.value == GOOD
    sent = json.dumps(stub.heard[0].json)
    assert sent.index('"reasoning": {') < sent.index('"verdict": {')


@pytest.mark.requirement("X-83")
async def test_exactly_what_was_given_is_sent(wired: Provider, stub: Stub) -> None:
    stub.says(Turn(), Turn())
    await wired.complete(DIALOGUE, None)
    await wired.complete(QUESTION, None)

    first, second = (json.dumps(heard.json) for heard in stub.heard)
    assert all(message.text in first for message in DIALOGUE)
    assert QUESTION[0].text in second
    assert not any(message.text in second for message in DIALOGUE)


@pytest.mark.requirement("X-82")
async def test_no_tight_cap_is_put_on_the_output(wired: Provider, stub: Stub) -> None:
    stub.says(Turn())
    await wired.complete(QUESTION, None)

    sent = stub.heard[0].json
    caps = [
        sent.get("max_tokens"),
        sent.get("max_completion_tokens"),
        sent.get("generationConfig", {}).get("maxOutputTokens"),
    ]
    # Anthropic's protocol demands a number.
    assert all(cap is None or cap >= 16_384 for cap in caps)


@pytest.mark.requirement("X-82")
async def test_a_cut_off_answer_says_so(wired: Provider, stub: Stub) -> None:
    stub.says(Turn(text="cut", finish="length"), Turn(text="cut", finish="length"))

    assert (await wired.complete(QUESTION, None)).finish is FinishReason.LENGTH
    assert [chunk async for chunk in wired.stream(QUESTION)][-1].finish is FinishReason.LENGTH


@pytest.mark.requirement("X-82")
@pytest.mark.parametrize(
    "flawed",
    [
        Turn(text=""),
        Turn(text="no json"),
        Turn(text='{"reasoning": "r"}'),
        Turn(text=GOOD.model_dump_json(), finish="length"),
    ],
)
async def test_a_flawed_answer_over_the_wire_is_repaired_once_then_refused(
    wired: Provider, stub: Stub, flawed: Turn
) -> None:
    bench = Bench()
    model = CheckedModel(bench.line(wired))
    stub.says(flawed, Turn(text=GOOD.model_dump_json()), flawed, flawed)

    assert (await model.answer(QUESTION, Verdict)).value == GOOD
    with pytest.raises(ProviderRefused, match="no usable answer"):
        await model.answer(QUESTION, Verdict)

    assert len(stub.heard) == 4
    assert [call.ok for call in bench.ledger.calls] == [False, True, False, False]


async def test_an_answer_of_10_mb_is_refused_and_kept_in_the_ledger(wired: Provider, stub: Stub) -> None:
    bench = Bench()
    stub.says(Turn(text="x" * 10_000_000))

    with pytest.raises(ProviderRefused, match="too long"):
        await CheckedModel(bench.line(wired)).answer(QUESTION, Verdict)

    assert [(call.ok, call.usage is None) for call in bench.ledger.calls] == [(False, False)]


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
async def test_what_may_pass_is_a_provider_that_is_down(wired: Provider, stub: Stub, status: int) -> None:
    error = await failure(wired, stub, Turn(status=status))

    assert isinstance(error, ProviderDown)
    assert isinstance(error.__cause__, UpstreamError)
    assert len(stub.heard) == 1, "nothing is retried inside: each try is a call with a row of its own"


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
async def test_what_will_not_pass_is_a_refusal(wired: Provider, stub: Stub, status: int) -> None:
    error = await failure(wired, stub, Turn(status=status))

    assert isinstance(error, ProviderRefused)
    assert isinstance(error.__cause__, UpstreamError)
    assert str(status) in error.message


async def test_a_rate_limit_says_how_long_to_wait(wired: Provider, stub: Stub) -> None:
    error = await failure(wired, stub, Turn(status=429, headers={"Retry-After": "7"}))

    assert error.details["retry_after"] == 7


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize("body", [b"", b"<html>gateway</html>", b"{}", b"[]", b"null", b'{"choices": 7}', b"\xff\xfe"])
async def test_a_body_in_no_known_form_is_never_a_fault_of_ours(wired: Provider, stub: Stub, body: bytes) -> None:
    stub.says(Turn(body=body))

    with pytest.raises((ProviderDown, ProviderRefused)):
        await CheckedModel(Bench().line(wired)).answer(QUESTION, Verdict)


@pytest.mark.requirement("X-86")
async def test_a_server_cannot_send_us_elsewhere(wired: Provider, stub: Stub) -> None:
    other = f"{stub.address}/another/place"

    error = await failure(wired, stub, Turn(status=307, headers={"Location": other}))

    assert isinstance(error, ProviderRefused)
    assert "another address" in error.message
    assert len(stub.heard) == 1


@pytest.mark.requirement("X-06")
async def test_a_stream_that_breaks_off_is_a_provider_that_is_down(wired: Provider, stub: Stub) -> None:
    stub.says(Turn(text="a text that is long enough to break off in the middle of it", breaks_off=True))
    seen: list[ReplyChunk] = []

    async def listen() -> None:
        async for chunk in wired.stream(QUESTION):
            seen.append(chunk)  # noqa: PERF401 a comprehension would lose the pieces before the error

    with pytest.raises(ProviderDown):
        await listen()
    assert seen
    assert all(chunk.finish is None for chunk in seen)


@pytest.mark.requirement("X-06")
@pytest.mark.parametrize("name", WIRED)
async def test_a_port_where_nobody_listens_is_a_provider_that_is_down(name: ProviderName) -> None:
    provider = open_provider(build_endpoint(name, "m", address="http://127.0.0.1:9", api_key=KEY))

    with pytest.raises(ProviderDown):
        await provider.complete(QUESTION, None)
    with pytest.raises(ProviderDown):
        _ = [chunk async for chunk in provider.stream(QUESTION)]
    await provider.close()


@pytest.mark.requirement("X-84")
async def test_a_server_that_never_answers_is_given_up(wired: Provider, stub: Stub) -> None:
    stub.says(Turn(hangs=True))

    with pytest.raises(ProviderDown, match="longer than"):
        await CheckedModel(Bench().line(wired, terms=CallPolicy(timeout_s=0.3))).answer(QUESTION, Verdict)


@pytest.mark.requirement("X-93")
async def test_a_server_that_repeats_our_key_cannot_make_us_show_it(wired: Provider, stub: Stub) -> None:
    import traceback

    repeated = {"error": {"message": f"bad key {KEY.get_secret_value()}", "code": KEY.get_secret_value()}}
    error = await failure(wired, stub, Turn(status=400, body=json.dumps(repeated).encode()))

    assert KEY.get_secret_value() in str(stub.heard[0].headers), "the key was really sent"
    shown = "".join(traceback.format_exception(error)) + repr(error) + json.dumps(error.as_json()) + error.hint
    assert "canary" not in shown
    assert error.__context__ is None or "canary" not in repr(error.__context__)


@pytest.mark.requirement("X-80")
async def test_the_fake_keeps_the_same_contract() -> None:
    usage = Usage(tokens_in=11, tokens_out=7)
    script = ScriptedProvider("Paris", "one two", GOOD)

    assert (await script.complete(DIALOGUE, None)).text == "Paris"
    assert [chunk.text async for chunk in script.stream(DIALOGUE)] == ["one ", "two", ""]
    assert (await CheckedModel(Bench().line(script)).answer(QUESTION, Verdict)).value == GOOD
    assert usage.tokens_cached == 0


async def test_a_provider_that_tells_no_usage_gives_none_and_not_zero(stub: Stub) -> None:
    provider = open_provider(at(stub, ProviderName.OPENAI))
    stub.says(Turn(usage=False), Turn(usage=False))

    assert (await provider.complete(QUESTION, None)).usage is None
    assert [chunk async for chunk in provider.stream(QUESTION)][-1].usage is None
    await provider.close()


async def test_a_public_service_is_not_even_opened_without_a_key() -> None:
    for name in (ProviderName.OPENAI, ProviderName.CLAUDE, ProviderName.GEMINI):
        with pytest.raises(ProviderRefused, match="needs an API key"):
            open_provider(build_endpoint(name, "m"))


@pytest.mark.requirement("X-86")
async def test_a_proxy_of_the_environment_is_not_used_on_this_machine(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    provider = open_provider(at(stub, ProviderName.OPENAI))
    stub.says(Turn(text="straight"))

    assert (await provider.complete(QUESTION, None)).text == "straight"
    await provider.close()


@pytest.mark.requirement("X-86")
async def test_addresses_of_the_environment_do_not_change_where_requests_go(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in (
        "OPENAI_BASE_URL",
        "OLLAMA_BASE_URL",
        "OLLAMA_HOST",
        "ANTHROPIC_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
    ):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for name in WIRED:
        provider = open_provider(at(stub, name))
        assert (await provider.complete(QUESTION, None)).text == "ready"
        await provider.close()
    assert len(stub.heard) == len(WIRED)


RECALL = ToolOffer(
    name="recall",
    description="Search the memory.",
    schema={"type": "object", "properties": {"cue": {"type": "string"}}, "required": ["cue"]},
)
NO_TOOLS = [
    (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (404, "No endpoints found that support tool use."),
]


@pytest.mark.parametrize("name", [ProviderName.OPENAI, ProviderName.OLLAMA])
async def test_tools_are_offered_called_and_answered_in_one_conversation(name: ProviderName, stub: Stub) -> None:
    provider = open_provider(at(stub, name))
    stub.says(Turn(text="", calls=(("recall", '{"cue": "Ada"}'),)), Turn(text="She lives in Lisgate."))

    first = [chunk async for chunk in CheckedModel(Bench().line(provider)).chat(QUESTION, [RECALL])]
    calls = first[-1].calls
    said = PromptMessage(role=MessageRole.ASSISTANT, text="", calls=calls)
    result = PromptMessage(role=MessageRole.TOOL, text="Ada lives in Lisgate", calls=calls)
    second = [chunk.text async for chunk in provider.stream([*QUESTION, said, result], [RECALL])]
    await provider.close()

    assert [(call.name, call.arguments) for call in calls] == [("recall", {"cue": "Ada"})]
    assert "".join(second) == "She lives in Lisgate."
    assert stub.heard[0].json["tools"][0]["function"]["name"] == "recall"
    *_, called, answered = stub.heard[1].json["messages"]
    assert called["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert (answered["role"], answered["content"]) == ("tool", "Ada lives in Lisgate")


@pytest.mark.parametrize(("status", "words"), NO_TOOLS)
async def test_a_model_that_takes_no_tools_is_asked_without_them_from_then_on(
    status: int, words: str, stub: Stub
) -> None:
    provider = open_provider(at(stub, ProviderName.OLLAMA))
    stub.says(Turn(status=status, body=json.dumps({"error": {"message": words}}).encode()), Turn(text="Yes."))
    bench = Bench()
    model = CheckedModel(bench.line(provider))

    said = [[chunk.text async for chunk in model.chat(QUESTION, [RECALL])] for _ in range(2)]
    await provider.close()

    assert ["".join(each) for each in said] == ["Yes.", "ready"]
    assert ["tools" in heard.json for heard in stub.heard] == [True, False, False]
    assert [call.ok for call in bench.ledger.calls] == [True, True]


async def test_another_fault_in_a_request_with_tools_is_told_and_not_tried_again(stub: Stub) -> None:
    provider = open_provider(at(stub, ProviderName.OLLAMA))
    stub.says(Turn(status=500, body=json.dumps({"error": {"message": "error parsing tool call: raw=x"}}).encode()))

    with pytest.raises(ProviderDown):
        _ = [chunk async for chunk in provider.stream(QUESTION, [RECALL])]
    await provider.close()

    assert len(stub.heard) == 1
