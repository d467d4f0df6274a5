"""What a body says, and when it is left alone."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.protocols.wire import LIMIT, RULES, SPELLINGS, TREES, assistant, request_of, system, tool, user

from festinger.ids import Origin
from festinger.proxy.loops.keys import ChatMessage, ChatRole, ToolCall
from festinger.proxy.protocols.messages import ChatRequest, RequestKind, SkipReason, request_kind
from festinger.proxy.protocols.parse import MOST_PARTS, parse_request
from festinger.proxy.routes import find_route

DEEP = b'{"messages":[],"x":' + b"[" * 200 + b"]" * 200 + b"}"


@pytest.mark.requirement("P-08")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", SkipReason.UNREADABLE),
        (b'{"messages":[', SkipReason.UNREADABLE),
        (b"\xff", SkipReason.UNREADABLE),
        (b'{"messages":[{"role":"user","content":"\\ud800"}]}', SkipReason.UNREADABLE),
        (b'{"messages":[],"x":1e999}', SkipReason.UNREADABLE),
        (b'{"messages":[],"x":' + b"9" * 400 + b"}", SkipReason.UNREADABLE),
        (b"[1,2]", SkipReason.SHAPE),
        (b'"text"', SkipReason.SHAPE),
        (b'{"messages":"hi"}', SkipReason.SHAPE),
        (b'{"messages":["hi"]}', SkipReason.SHAPE),
        (b'{"messages":[{"role":"robot","content":"x"}]}', SkipReason.SHAPE),
        (b'{"messages":[{"content":"x"}]}', SkipReason.SHAPE),
        (b'{"messages":[{"role":"user","content":7}]}', SkipReason.SHAPE),
        (b'{"Messages":[{"role":"user","content":"x"}]}', SkipReason.KEY_CASE),
        (b'{"messages":[],"STREAM":true}', SkipReason.KEY_CASE),
        (b'{"messages":[],"messages":[]}', SkipReason.DUPLICATE_KEY),
        (b'{"messages":[],"a":{"messages":1},"messages" :[]}', SkipReason.DUPLICATE_KEY),
        (DEEP, SkipReason.TOO_DEEP),
        (b'{"messages":[],"x":"' + b"x" * 2000 + b'"}', SkipReason.TOO_LARGE),
    ],
)
def test_what_cannot_be_read_for_sure_is_left_alone_and_says_why(body: bytes, why: SkipReason):
    assert parse_request(body, RequestKind.CHAT, rules=RULES, limit=1999) is why


@pytest.mark.requirement("P-08")
@pytest.mark.parametrize(
    "messages",
    [[user("x")] * (MOST_PARTS + 1), [user([{"type": "text", "text": "x"}] * MOST_PARTS)]],
    ids=["messages", "parts"],
)
def test_a_body_of_endless_tiny_parts_is_left_alone(messages: list[Any]):
    body = orjson.dumps({"messages": messages})

    assert parse_request(body, RequestKind.COMPLETIONS, rules=RULES, limit=LIMIT) is SkipReason.TOO_LARGE


@pytest.mark.requirement("P-08")
@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[],"tools":[{"messages":1}]}',
        b'{"messages":[{"role":"user","content":"\\"messages\\":"}]}',
        b'{"messages":[],"x":[{"y":1},{"y":2}]}',
        DEEP.replace(b"[[", b"[", 1).replace(b"]]", b"]", 1),
        b'{"messages":null}',
        b"{}",
    ],
)
def test_what_only_looks_odd_is_read(body: bytes):
    assert isinstance(parse_request(body, RequestKind.CHAT, rules=RULES, limit=LIMIT), ChatRequest)


@pytest.mark.requirement("P-08")
@given(st.binary(max_size=60), st.sampled_from(list(RequestKind)))
def test_any_bytes_give_a_request_or_a_reason(body: bytes, kind: RequestKind):
    assert isinstance(parse_request(body, kind, rules=RULES, limit=LIMIT), ChatRequest | SkipReason)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "tool_calls", "function", "source", "input", "summary"]
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@pytest.mark.requirement("P-08")
@given(JSON, st.sampled_from(["messages", "prompt", "input"]), st.sampled_from(list(RequestKind)))
def test_any_shape_gives_a_request_or_a_reason(value: Any, key: str, kind: RequestKind):
    body = orjson.dumps({key: [value], "system": value, "instructions": value})

    assert isinstance(parse_request(body, kind, rules=RULES, limit=LIMIT), ChatRequest | SkipReason)


@given(st.sampled_from(list(TREES)), st.data())
def test_every_spelling_of_a_body_is_read_alike(kind: RequestKind, data: Any):
    tree = data.draw(TREES[kind])
    found = [parse_request(spell(tree), kind, rules=RULES, limit=LIMIT) for spell in SPELLINGS.values()]

    assert {request.turns for request in found if isinstance(request, ChatRequest)} == {request_of(tree, kind).turns}


def test_a_chat_of_ollama_is_read():
    call = {"function": {"name": "ls", "arguments": {"path": "/"}}}
    request = request_of(
        {
            "model": "m",
            "messages": [
                system("Be brief."),
                user("hi"),
                {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call]},
                {"role": "tool", "content": "42", "tool_name": "ls"},
            ],
        },
        RequestKind.CHAT,
    )

    assert request.messages == (
        ChatMessage(role=ChatRole.SYSTEM, text="Be brief."),
        ChatMessage(role=ChatRole.USER, text="hi", by_person=True),
        ChatMessage(role=ChatRole.ASSISTANT, calls=(ToolCall(name="ls", arguments='{"path":"/"}'),)),
        ChatMessage(role=ChatRole.TOOL, text="42"),
    )
    assert (request.model, request.streams, request.flattened) == ("m", True, False)


def test_chat_completions_are_read():
    call = {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "/"}'}}
    image = {"type": "image_url", "image_url": {"url": "data:,x"}}
    request = request_of(
        {
            "messages": [
                {"role": "developer", "content": "Be brief."},
                user([{"type": "text", "text": "look"}, image]),
                {"role": "assistant", "content": None, "tool_calls": [call]},
                tool("42"),
            ]
        },
        RequestKind.COMPLETIONS,
    )

    assert [message.role for message in request.messages] == [
        ChatRole.SYSTEM,
        ChatRole.USER,
        ChatRole.ASSISTANT,
        ChatRole.TOOL,
    ]
    assert request.messages[2].calls == (ToolCall(name="ls", arguments='{"path": "/"}', id="c1"),)
    assert (request.messages[3].answers, request.streams) == ("c1", False)
    assert request.turns[1].others == orjson.dumps(image)


@pytest.mark.requirement("P-27")
def test_messages_of_anthropic_are_read_with_each_result_on_its_own():
    request = request_of(
        {
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                user("hi"),
                assistant(
                    [
                        {"type": "thinking", "thinking": "hm"},
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "t1", "name": "ls", "input": {"path": "/"}},
                    ]
                ),
                user(
                    [
                        {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
                        {"type": "document", "source": {"type": "text", "data": "a page"}},
                        {"type": "text", "text": "try again"},
                    ]
                ),
            ],
        },
        RequestKind.MESSAGES,
    )

    assert request.messages == (
        ChatMessage(role=ChatRole.SYSTEM, text="Be brief."),
        ChatMessage(role=ChatRole.USER, text="hi", by_person=True),
        ChatMessage(
            role=ChatRole.ASSISTANT, text="I look.", calls=(ToolCall(name="ls", arguments='{"path":"/"}', id="t1"),)
        ),
        ChatMessage(role=ChatRole.TOOL, text="no", answers="t1", is_error=True),
        ChatMessage(role=ChatRole.USER, text="try again", by_person=True),
    )
    assert [(each.origin, each.text) for each in request.turns[-1].sayings] == [
        (Origin.TOOL, "no"),
        (Origin.DOCUMENT, "a page"),
        (Origin.PERSON, "try again"),
    ]


def test_responses_are_read():
    request = request_of(
        {
            "instructions": "Be brief.",
            "input": [
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
                {"type": "reasoning", "summary": []},
                {"type": "function_call", "name": "ls", "arguments": "{}", "call_id": "c1"},
                {"type": "function_call_output", "call_id": "c1", "output": "42"},
            ],
        },
        RequestKind.RESPONSES,
    )

    assert request.messages == (
        ChatMessage(role=ChatRole.SYSTEM, text="Be brief."),
        ChatMessage(role=ChatRole.USER, text="hi", by_person=True),
        ChatMessage(role=ChatRole.ASSISTANT, calls=(ToolCall(name="ls", arguments="{}", id="c1"),)),
        ChatMessage(role=ChatRole.TOOL, text="42", answers="c1"),
    )


@pytest.mark.requirement("P-34", "P-27")
def test_a_flattened_prompt_is_read_as_its_messages():
    warning = json.dumps({"system_warning": "You sent the same message again."})
    prompt = (
        "### System:\nYou are Agent Zero.\n\n### User:\n"
        + json.dumps({"user_message": "restart gnommoweb"})
        + '\n\n### Assistant:\n{"tool_name": "ls", "tool_args": {}}\n\n### User:\n'
        + json.dumps({"tool_name": "ls", "tool_result": "a b"})
        + f"\n\n### User:\n{warning}\n\n[EXTRAS]\nit is noon\n\n"
    )
    request = request_of({"model": "m", "prompt": prompt}, RequestKind.GENERATE)

    assert request.flattened
    assert [(turn.role, turn.by_person) for turn in request.turns] == [
        (ChatRole.SYSTEM, False),
        (ChatRole.USER, True),
        (ChatRole.ASSISTANT, False),
        (ChatRole.USER, False),
        (ChatRole.USER, False),
    ]
    assert [turn.sayings[0].origin for turn in request.turns] == [
        Origin.SYSTEM,
        Origin.PERSON,
        Origin.MODEL,
        Origin.TOOL,
        Origin.SYSTEM,
    ]
    assert request.turns[1].sayings[0].text == "restart gnommoweb"
    assert request.turns[-1].text == warning


SAID = "I moved from Berlin to Lisbon."


@pytest.mark.parametrize(
    ("more", "kind", "origin"),
    [
        ({}, RequestKind.GENERATE, Origin.PERSON),
        ({"raw": False, "suffix": ""}, RequestKind.GENERATE, Origin.PERSON),
        ({"raw": True}, RequestKind.GENERATE, Origin.DOCUMENT),
        ({"suffix": "\nreturn home"}, RequestKind.GENERATE, Origin.DOCUMENT),
        ({}, RequestKind.TEXT, Origin.DOCUMENT),
    ],
)
@pytest.mark.parametrize("prompt", [SAID, f"### User:\n{SAID}"])
def test_a_prompt_that_an_editor_completes_is_a_document_and_nobodys_words(
    prompt: str, more: dict[str, Any], kind: RequestKind, origin: Origin
):
    [turn] = request_of({"model": "m", "prompt": prompt, **more}, kind).turns

    assert [(saying.origin, saying.text) for saying in turn.sayings] == [(origin, SAID)]


def test_only_routes_with_a_conversation_have_a_kind():
    assert request_kind(find_route("/api/chat")) is RequestKind.CHAT
    assert request_kind(find_route("/v1/completions")) is RequestKind.TEXT
    assert request_kind(find_route("/api/tags")) is None
