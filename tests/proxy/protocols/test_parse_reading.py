"""What a body says, and when it is left alone."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.protocols.wire import (
    LIMIT,
    RULES,
    SPELLINGS,
    TREES,
    assistant,
    request_of,
    system,
    tool,
    user,
)

from festinger.ids import Origin
from festinger.proxy.loops.keys import Call, Message, Role
from festinger.proxy.protocols.messages import Kind, Request, Untouched, kind_of
from festinger.proxy.protocols.parse import MOST_PARTS, read
from festinger.proxy.routes import route_of

DEEP = b'{"messages":[],"x":' + b"[" * 200 + b"]" * 200 + b"}"


@pytest.mark.requirement("P-08")
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", Untouched.UNREADABLE),
        (b'{"messages":[', Untouched.UNREADABLE),
        (b"\xff", Untouched.UNREADABLE),
        (b'{"messages":[{"role":"user","content":"\\ud800"}]}', Untouched.UNREADABLE),
        (b'{"messages":[],"x":1e999}', Untouched.UNREADABLE),
        (b'{"messages":[],"x":' + b"9" * 400 + b"}", Untouched.UNREADABLE),
        (b"[1,2]", Untouched.SHAPE),
        (b'"text"', Untouched.SHAPE),
        (b'{"messages":"hi"}', Untouched.SHAPE),
        (b'{"messages":["hi"]}', Untouched.SHAPE),
        (b'{"messages":[{"role":"robot","content":"x"}]}', Untouched.SHAPE),
        (b'{"messages":[{"content":"x"}]}', Untouched.SHAPE),
        (b'{"messages":[{"role":"user","content":7}]}', Untouched.SHAPE),
        (b'{"Messages":[{"role":"user","content":"x"}]}', Untouched.KEY_CASE),
        (b'{"messages":[],"STREAM":true}', Untouched.KEY_CASE),
        (b'{"messages":[],"messages":[]}', Untouched.DUPLICATE_KEY),
        (b'{"messages":[],"a":{"messages":1},"messages" :[]}', Untouched.DUPLICATE_KEY),
        (DEEP, Untouched.TOO_DEEP),
        (b'{"messages":[],"x":"' + b"x" * 2000 + b'"}', Untouched.TOO_LARGE),
    ],
)
def test_what_cannot_be_read_for_sure_is_left_alone_and_says_why(body: bytes, why: Untouched):
    assert read(body, Kind.CHAT, rules=RULES, limit=1999) is why


@pytest.mark.requirement("P-08")
@pytest.mark.parametrize(
    "messages",
    [[user("x")] * (MOST_PARTS + 1), [user([{"type": "text", "text": "x"}] * MOST_PARTS)]],
    ids=["messages", "parts"],
)
def test_a_body_of_endless_tiny_parts_is_left_alone(messages: list[Any]):
    body = orjson.dumps({"messages": messages})

    assert read(body, Kind.COMPLETIONS, rules=RULES, limit=LIMIT) is Untouched.TOO_LARGE


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
    assert isinstance(read(body, Kind.CHAT, rules=RULES, limit=LIMIT), Request)


@pytest.mark.requirement("P-08")
@given(st.binary(max_size=60), st.sampled_from(list(Kind)))
def test_any_bytes_give_a_request_or_a_reason(body: bytes, kind: Kind):
    assert isinstance(read(body, kind, rules=RULES, limit=LIMIT), Request | Untouched)


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
@given(JSON, st.sampled_from(["messages", "prompt", "input"]), st.sampled_from(list(Kind)))
def test_any_shape_gives_a_request_or_a_reason(value: Any, key: str, kind: Kind):
    body = orjson.dumps({key: [value], "system": value, "instructions": value})

    assert isinstance(read(body, kind, rules=RULES, limit=LIMIT), Request | Untouched)


@given(st.sampled_from(list(TREES)), st.data())
def test_every_spelling_of_a_body_is_read_alike(kind: Kind, data: Any):
    tree = data.draw(TREES[kind])
    found = [read(spell(tree), kind, rules=RULES, limit=LIMIT) for spell in SPELLINGS.values()]

    assert {request.turns for request in found if isinstance(request, Request)} == {
        request_of(tree, kind).turns
    }


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
        Kind.CHAT,
    )

    assert request.messages == (
        Message(role=Role.SYSTEM, text="Be brief."),
        Message(role=Role.USER, text="hi", by_person=True),
        Message(role=Role.ASSISTANT, calls=(Call(name="ls", arguments='{"path":"/"}'),)),
        Message(role=Role.TOOL, text="42"),
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
        Kind.COMPLETIONS,
    )

    assert [message.role for message in request.messages] == [
        Role.SYSTEM,
        Role.USER,
        Role.ASSISTANT,
        Role.TOOL,
    ]
    assert request.messages[2].calls == (Call(name="ls", arguments='{"path": "/"}', id="c1"),)
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
        Kind.MESSAGES,
    )

    assert request.messages == (
        Message(role=Role.SYSTEM, text="Be brief."),
        Message(role=Role.USER, text="hi", by_person=True),
        Message(
            role=Role.ASSISTANT, text="I look.", calls=(Call(name="ls", arguments='{"path":"/"}', id="t1"),)
        ),
        Message(role=Role.TOOL, text="no", answers="t1", is_error=True),
        Message(role=Role.USER, text="try again", by_person=True),
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
        Kind.RESPONSES,
    )

    assert request.messages == (
        Message(role=Role.SYSTEM, text="Be brief."),
        Message(role=Role.USER, text="hi", by_person=True),
        Message(role=Role.ASSISTANT, calls=(Call(name="ls", arguments="{}", id="c1"),)),
        Message(role=Role.TOOL, text="42", answers="c1"),
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
    request = request_of({"model": "m", "prompt": prompt}, Kind.GENERATE)

    assert request.flattened
    assert [(turn.role, turn.by_person) for turn in request.turns] == [
        (Role.SYSTEM, False),
        (Role.USER, True),
        (Role.ASSISTANT, False),
        (Role.USER, False),
        (Role.USER, False),
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
        ({}, Kind.GENERATE, Origin.PERSON),
        ({"raw": False, "suffix": ""}, Kind.GENERATE, Origin.PERSON),
        ({"raw": True}, Kind.GENERATE, Origin.DOCUMENT),
        ({"suffix": "\nreturn home"}, Kind.GENERATE, Origin.DOCUMENT),
        ({}, Kind.TEXT, Origin.DOCUMENT),
    ],
)
@pytest.mark.parametrize("prompt", [SAID, f"### User:\n{SAID}"])
def test_a_prompt_that_an_editor_completes_is_a_document_and_nobodys_words(
    prompt: str, more: dict[str, Any], kind: Kind, origin: Origin
):
    [turn] = request_of({"model": "m", "prompt": prompt, **more}, kind).turns

    assert [(saying.origin, saying.text) for saying in turn.sayings] == [(origin, SAID)]


def test_only_routes_with_a_conversation_have_a_kind():
    assert kind_of(route_of("/api/chat")) is Kind.CHAT
    assert kind_of(route_of("/v1/completions")) is Kind.TEXT
    assert kind_of(route_of("/api/tags")) is None
