"""What is read out of an answer, in every protocol, streamed and whole."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.loops.keys import ToolCall
from festinger.proxy.protocols.messages import RequestKind
from festinger.proxy.protocols.replies import ReplyContent, ReplyDelta, build_reply_parser
from festinger.proxy.transport.streams import DONE, StreamFrame


def feed(kind: RequestKind, *datas: Any) -> ReplyContent:
    ear = build_reply_parser(kind)
    for data in datas:
        ear.feed(StreamFrame(data=data))
    return ear.content()


def delta(**said: Any) -> dict[str, Any]:
    return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": said, "finish_reason": None}]}


def piece(index: int, arguments: str, **more: Any) -> dict[str, Any]:
    return {"index": index, "function": {"arguments": arguments, **more.pop("function", {})}, **more}


STREAMED: dict[RequestKind, list[Any]] = {
    RequestKind.CHAT: [
        {"model": "m", "message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": False},
        {"message": {"content": "Hel"}, "done": False},
        {"message": {"content": "lo", "tool_calls": [{"id": "k", "function": {"name": "ls", "arguments": {"p": 1}}}]}},
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3},
    ],
    RequestKind.COMPLETIONS: [
        delta(role="assistant", content="", reasoning_content="hm"),
        delta(content="Hel"),
        delta(content="lo", tool_calls=[piece(0, '{"p"', id="k", function={"name": "ls"})]),
        delta(tool_calls=[piece(0, ":1}")]),
        {"choices": [{"index": 1, "delta": {"content": "another choice"}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 3}},
        DONE,
    ],
    RequestKind.MESSAGES: [
        {"type": "message_start", "message": {"id": "c1", "model": "m", "usage": {"input_tokens": 7, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "ping"},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hel"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "lo"}},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "k", "name": "ls", "input": {}}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"p"'}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ":1}"}},
        {"type": "message_delta", "delta": {"stop_reason": "stop"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ],
    RequestKind.RESPONSES: [
        {"type": "response.created", "response": {"id": "c1", "model": "m"}},
        {"type": "response.reasoning_text.delta", "delta": "hm"},
        {"type": "response.output_text.delta", "delta": "Hel"},
        {"type": "response.output_text.delta", "delta": "lo"},
        {"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "call_id": "k", "name": "ls", "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": '{"p"'},
        {"type": "response.function_call_arguments.delta", "output_index": 1, "delta": ":1}"},
        {"type": "response.completed", "response": {"id": "c1", "status": "stop", "usage": {"input_tokens": 7, "output_tokens": 3}}},
    ],
}  # fmt: skip

WHOLE: dict[RequestKind, Any] = {
    RequestKind.CHAT: {
        "model": "m", "done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3,
        "message": {"content": "Hello", "thinking": "hm", "tool_calls": [{"id": "k", "function": {"name": "ls", "arguments": {"p": 1}}}]},
    },
    RequestKind.COMPLETIONS: {
        "id": "c1", "model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        "choices": [{"index": 0, "finish_reason": "stop", "message": {
            "content": "Hello", "reasoning": "hm",
            "tool_calls": [{"id": "k", "function": {"name": "ls", "arguments": '{"p":1}'}}]}}],
    },
    RequestKind.MESSAGES: {
        "type": "message", "id": "c1", "model": "m", "stop_reason": "stop", "usage": {"input_tokens": 7, "output_tokens": 3},
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"},
                    {"type": "tool_use", "id": "k", "name": "ls", "input": {"p": 1}}],
    },
    RequestKind.RESPONSES: {
        "object": "response", "id": "c1", "model": "m", "status": "stop", "usage": {"input_tokens": 7, "output_tokens": 3},
        "output": [{"type": "reasoning", "summary": [{"text": "hm"}]},
                   {"type": "message", "content": [{"type": "output_text", "text": "Hello"}]},
                   {"type": "function_call", "call_id": "k", "name": "ls", "arguments": '{"p":1}'}],
    },
}  # fmt: skip


@pytest.mark.requirement("P-17")
@pytest.mark.parametrize("kind", STREAMED)
@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
def test_text_thinking_calls_ending_and_counts_are_read(kind: RequestKind, streamed: bool):
    content = feed(kind, *(STREAMED[kind] if streamed else [WHOLE[kind]]))

    assert (content.text, content.thinking, content.finish) == ("Hello", "hm", "stop")
    assert content.calls == (ToolCall(name="ls", arguments='{"p":1}', id="k"),)
    assert (content.tokens_read, content.tokens_written, content.errors) == (7, 3, ())
    assert content.model == "m"
    assert content.id == ("" if kind is RequestKind.CHAT else "c1")


@pytest.mark.requirement("P-17")
def test_generate_and_text_completions_are_read_from_their_own_fields():
    assert feed(RequestKind.GENERATE, {"response": "a", "thinking": "t"}, {"response": "b"}).text == "ab"
    assert feed(RequestKind.TEXT, {"choices": [{"index": 0, "text": "a"}]}, {"choices": [{"text": "b"}]}).text == "ab"


@pytest.mark.requirement("P-17")
@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (RequestKind.CHAT, {"error": "out of memory"}),
        (RequestKind.COMPLETIONS, {"error": {"message": "out of memory", "type": "api_error"}}),
        (RequestKind.MESSAGES, {"type": "error", "error": {"type": "overloaded_error", "message": "out of memory"}}),
        (RequestKind.RESPONSES, {"type": "error", "message": "out of memory"}),
        (RequestKind.RESPONSES, {"type": "response.failed", "response": {"error": {"message": "out of memory"}}}),
    ],
)
def test_an_error_in_the_middle_is_read_beside_what_was_said(kind: RequestKind, data: Any):
    assert feed(kind, *STREAMED[kind][:4], data).errors == ("out of memory",)


@pytest.mark.requirement("P-17")
@pytest.mark.parametrize("kind", STREAMED)
def test_what_each_frame_adds_makes_the_whole(kind: RequestKind):
    ear = build_reply_parser(kind)
    deltas = [ear.feed(StreamFrame(data=data)) for data in STREAMED[kind]]

    assert "".join(each.text for each in deltas) == "Hello"
    assert "".join(each.thinking for each in deltas) == "hm"
    assert "".join(each.arguments for each in deltas) == '{"p":1}'


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["type", "message", "choices", "delta", "tool_calls", "content", "index", "response",
                             "content_block", "output", "item", "usage", "error", "function"]),
            inner, max_size=4,
        ),
    ),
    max_leaves=12,
).map(lambda tree: orjson.loads(json.dumps(tree)))  # fmt: skip


@pytest.mark.parametrize("kind", RequestKind)
@given(data=JSON)
def test_a_frame_of_any_shape_is_heard_without_harm(kind: RequestKind, data: Any):
    ear = build_reply_parser(kind)

    assert isinstance(ear.feed(StreamFrame(data=data)), ReplyDelta)
    assert isinstance(ear.content().text, str)


def test_a_call_with_a_broken_index_is_heard_too():
    content = feed(
        RequestKind.COMPLETIONS, delta(tool_calls=[{"index": [1], "function": {"name": "ls", "arguments": "{}"}}])
    )

    assert content.calls == (ToolCall(name="ls", arguments="{}"),)
