"""Requests that never get a block, and why."""

from typing import Any

import pytest
from tests.proxy.protocols.wire import assistant, request_of, system, user

from festinger.proxy.parser import find_skip_reason
from festinger.proxy.protocols.messages import RequestKind, SkipReason

HELLO = {"model": "m", "messages": [user("hello")]}
PROMPT = {"model": "m", "prompt": "hello"}


@pytest.mark.parametrize(
    ("kind", "tree", "why"),
    [
        (RequestKind.GENERATE, {"model": "m"}, SkipReason.EMPTY),
        (RequestKind.GENERATE, {"model": "m", "prompt": "", "keep_alive": 0}, SkipReason.EMPTY),
        (RequestKind.CHAT, {"model": "m", "messages": []}, SkipReason.EMPTY),
        (RequestKind.CHAT, {"model": "m", "messages": None}, SkipReason.EMPTY),
        (RequestKind.GENERATE, {**PROMPT, "raw": True}, SkipReason.RAW),
        (RequestKind.GENERATE, {**PROMPT, "raw": False}, None),
        (RequestKind.GENERATE, {**PROMPT, "suffix": "}"}, SkipReason.SUFFIX),
        (RequestKind.GENERATE, {**PROMPT, "template": "{{ .Prompt }}"}, SkipReason.TEMPLATE),
        (RequestKind.GENERATE, {**PROMPT, "context": [1, 2]}, SkipReason.CONTEXT),
        (RequestKind.CHAT, {**HELLO, "_debug_render_only": True}, SkipReason.DEBUG),
        (RequestKind.CHAT, {"messages": [system("a"), assistant("b")]}, SkipReason.NO_USER),
        (RequestKind.TEXT, PROMPT, SkipReason.ROUTE),
        (RequestKind.CHAT, {**HELLO, "model": "gpt-oss:120b-cloud"}, SkipReason.CLOUD),
        (RequestKind.CHAT, {**HELLO, "model": "kimi:cloud"}, SkipReason.CLOUD),
        (RequestKind.CHAT, {**HELLO, "model": "cloudy"}, None),
        (RequestKind.COMPLETIONS, {**HELLO, "context": "mine", "suffix": "x"}, None),
        (RequestKind.CHAT, HELLO, None),
        (RequestKind.GENERATE, PROMPT, None),
    ],
)
def test_each_has_its_reason(kind: RequestKind, tree: dict[str, Any], why: SkipReason | None):
    assert find_skip_reason(request_of(tree, kind)) is why


def test_what_is_known_from_elsewhere_counts_too():
    request = request_of(HELLO, RequestKind.CHAT)
    cloud = request_of({**HELLO, "model": "x:cloud"}, RequestKind.CHAT)

    assert find_skip_reason(request, side=True) is SkipReason.SIDE
    assert find_skip_reason(request, opted_out=True, side=True) is SkipReason.ASKED
    assert find_skip_reason(request, breaker_open=True) is SkipReason.BREAKER
    assert find_skip_reason(cloud, cloud_allowed=True) is None
