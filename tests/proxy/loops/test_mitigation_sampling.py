from typing import Any

import pytest
from tests.proxy.protocols.wire import request_of

from festinger.proxy.loops.mitigation import LIMIT, build_parameter_patch, build_reply_limit, build_sampling_boost
from festinger.proxy.protocols.json_edit import MemberUpdate
from festinger.proxy.protocols.messages import ChatRequest, RequestKind
from festinger.settings.tree import LoopSettings

SETTINGS = LoopSettings()
ASKED = [{"role": "user", "content": "go"}]
BODIES: dict[RequestKind, dict[str, Any]] = {
    RequestKind.CHAT: {"model": "m", "messages": ASKED},
    RequestKind.GENERATE: {"model": "m", "prompt": "go"},
    RequestKind.COMPLETIONS: {"model": "m", "messages": ASKED},
    RequestKind.MESSAGES: {"model": "m", "messages": ASKED, "max_tokens": 100},
    RequestKind.RESPONSES: {"model": "m", "input": "go"},
}


def asked(kind: RequestKind, **more: Any) -> ChatRequest:
    return request_of(BODIES[kind] | more, kind)


@pytest.mark.requirement("P-72")
@pytest.mark.parametrize(
    ("request_", "level", "changed"),
    [
        (asked(RequestKind.CHAT), 1, {}),
        (asked(RequestKind.CHAT), 2, {"temperature": 1.0, "repeat_penalty": 1.15, "repeat_last_n": 256}),
        (asked(RequestKind.CHAT, options={"temperature": 0.2, "seed": 7}), 2,
         {"temperature": 0.4, "seed": 8, "repeat_penalty": 1.15, "repeat_last_n": 256}),
        (asked(RequestKind.CHAT, options={"repeat_penalty": 1.5, "temperature": 1.2}), 3,
         {"temperature": 1.2, "repeat_penalty": 1.5, "repeat_last_n": 256}),
        (asked(RequestKind.COMPLETIONS), 2, {"temperature": 1.2, "frequency_penalty": 0.3, "presence_penalty": 0.3}),
        (asked(RequestKind.COMPLETIONS, temperature=0.1), 3,
         {"temperature": 0.5, "frequency_penalty": 0.6, "presence_penalty": 0.6}),
        (asked(RequestKind.MESSAGES), 2, {"temperature": 1.0}),
        (asked(RequestKind.RESPONSES), 2, {"temperature": 1.2}),
        (asked(RequestKind.CHAT, format="json"), 3, {}),
        (asked(RequestKind.CHAT, options="none"), 3, {}),
    ],
    ids=["below", "native", "given", "never lower", "openai", "third level", "anthropic", "responses", "schema",
         "no place"],
)  # fmt: skip
def test_sampling_rises_in_the_words_of_each_protocol(request_: ChatRequest, level: int, changed: dict[str, float]):
    assert build_sampling_boost(request_, level=level, settings=SETTINGS) == changed


@pytest.mark.requirement("P-72")
def test_the_models_own_temperature_is_the_base_where_the_client_gave_none():
    given = asked(RequestKind.GENERATE, options={"temperature": 0.5})

    assert (
        build_sampling_boost(asked(RequestKind.GENERATE), level=2, settings=SETTINGS, of_model=0.1)["temperature"]
        == 0.3
    )
    assert build_sampling_boost(given, level=2, settings=SETTINGS, of_model=0.1)["temperature"] == 0.7


@pytest.mark.requirement("P-72")
def test_a_temperature_of_zero_stays_where_that_is_wanted():
    zero = asked(RequestKind.COMPLETIONS, temperature=0)

    assert build_sampling_boost(zero, level=2, settings=LoopSettings(keep_zero_temperature=True)) == {}
    assert build_sampling_boost(zero, level=2, settings=SETTINGS)["temperature"] == 0.2


@pytest.mark.requirement("P-67")
@pytest.mark.parametrize(
    ("request_", "enforced"),
    [
        (asked(RequestKind.CHAT, format="json"), True),
        (asked(RequestKind.CHAT, format={"type": "object"}), True),
        (asked(RequestKind.CHAT, format=""), False),
        (asked(RequestKind.COMPLETIONS, response_format={"type": "json_object"}), True),
        (asked(RequestKind.COMPLETIONS, response_format={"type": "text"}), False),
        (asked(RequestKind.RESPONSES, text={"format": {"type": "json_schema"}}), True),
        (asked(RequestKind.RESPONSES, text={"format": {"type": "text"}}), False),
        (asked(RequestKind.COMPLETIONS, guided_json={"type": "object"}), True),
        (asked(RequestKind.MESSAGES), False),
    ],
    ids=["json", "schema", "empty", "object", "text", "responses", "plain responses", "guided", "none"],
)
def test_it_is_known_where_a_shape_is_enforced(request_: ChatRequest, enforced: bool):
    assert request_.is_structured is enforced


@pytest.mark.requirement("P-74")
@pytest.mark.parametrize(
    ("request_", "limit"),
    [
        (asked(RequestKind.CHAT), {"num_predict": LIMIT}),
        (asked(RequestKind.COMPLETIONS), {"max_tokens": LIMIT}),
        (asked(RequestKind.COMPLETIONS, max_completion_tokens=5), {}),
        (asked(RequestKind.COMPLETIONS, max_tokens=None), {"max_tokens": LIMIT}),
        (asked(RequestKind.RESPONSES), {"max_output_tokens": LIMIT}),
        (asked(RequestKind.MESSAGES), {}),
    ],
    ids=["native", "openai", "newer name", "null", "responses", "anthropic"],
)
def test_a_reply_without_a_limit_gets_one(request_: ChatRequest, limit: dict[str, float]):
    assert build_reply_limit(request_) == limit


def test_parameters_stand_where_the_protocol_has_them():
    assert build_parameter_patch(asked(RequestKind.CHAT), {"seed": 1}) == MemberUpdate(
        path=(), members={"options": {"seed": 1}}
    )
    assert build_parameter_patch(asked(RequestKind.CHAT, options={}), {"seed": 1}) == MemberUpdate(
        path=("options",), members={"seed": 1}
    )
    assert build_parameter_patch(asked(RequestKind.RESPONSES), {"seed": 1}) == MemberUpdate(
        path=(), members={"seed": 1}
    )
    assert build_parameter_patch(asked(RequestKind.RESPONSES), {}) is None
