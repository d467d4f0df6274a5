"""Requests that never get a block, and why."""

from typing import Any

import pytest
from tests.proxy.protocols.wire import assistant, request_of, system, user

from festinger.proxy.parsed_request import why_never
from festinger.proxy.protocols.messages import Kind, Untouched

HELLO = {"model": "m", "messages": [user("hello")]}
PROMPT = {"model": "m", "prompt": "hello"}


@pytest.mark.parametrize(
    ("kind", "tree", "why"),
    [
        (Kind.GENERATE, {"model": "m"}, Untouched.EMPTY),
        (Kind.GENERATE, {"model": "m", "prompt": "", "keep_alive": 0}, Untouched.EMPTY),
        (Kind.CHAT, {"model": "m", "messages": []}, Untouched.EMPTY),
        (Kind.CHAT, {"model": "m", "messages": None}, Untouched.EMPTY),
        (Kind.GENERATE, {**PROMPT, "raw": True}, Untouched.RAW),
        (Kind.GENERATE, {**PROMPT, "raw": False}, None),
        (Kind.GENERATE, {**PROMPT, "suffix": "}"}, Untouched.SUFFIX),
        (Kind.GENERATE, {**PROMPT, "template": "{{ .Prompt }}"}, Untouched.TEMPLATE),
        (Kind.GENERATE, {**PROMPT, "context": [1, 2]}, Untouched.CONTEXT),
        (Kind.CHAT, {**HELLO, "_debug_render_only": True}, Untouched.DEBUG),
        (Kind.CHAT, {"messages": [system("a"), assistant("b")]}, Untouched.NO_USER),
        (Kind.TEXT, PROMPT, Untouched.ROUTE),
        (Kind.CHAT, {**HELLO, "model": "gpt-oss:120b-cloud"}, Untouched.CLOUD),
        (Kind.CHAT, {**HELLO, "model": "kimi:cloud"}, Untouched.CLOUD),
        (Kind.CHAT, {**HELLO, "model": "cloudy"}, None),
        (Kind.COMPLETIONS, {**HELLO, "context": "mine", "suffix": "x"}, None),
        (Kind.CHAT, HELLO, None),
        (Kind.GENERATE, PROMPT, None),
    ],
)
def test_each_has_its_reason(kind: Kind, tree: dict[str, Any], why: Untouched | None):
    assert why_never(request_of(tree, kind)) is why


def test_what_is_known_from_elsewhere_counts_too():
    request = request_of(HELLO, Kind.CHAT)
    cloud = request_of({**HELLO, "model": "x:cloud"}, Kind.CHAT)

    assert why_never(request, side=True) is Untouched.SIDE
    assert why_never(request, opted_out=True, side=True) is Untouched.ASKED
    assert why_never(request, breaker_open=True) is Untouched.BREAKER
    assert why_never(cloud, cloud_allowed=True) is None
