from typing import Any

import pytest
from tests.proxy.protocols.wire import request_of

from festinger.proxy.loops.mitigation import LIMIT, boost_of, is_structured, limit_of, put
from festinger.proxy.protocols.json_edit import PutMembers
from festinger.proxy.protocols.messages import Kind, Request
from festinger.settings.tree import LoopSettings

SETTINGS = LoopSettings()
ASKED = [{"role": "user", "content": "go"}]
BODIES: dict[Kind, dict[str, Any]] = {
    Kind.CHAT: {"model": "m", "messages": ASKED},
    Kind.GENERATE: {"model": "m", "prompt": "go"},
    Kind.COMPLETIONS: {"model": "m", "messages": ASKED},
    Kind.MESSAGES: {"model": "m", "messages": ASKED, "max_tokens": 100},
    Kind.RESPONSES: {"model": "m", "input": "go"},
}


def asked(kind: Kind, **more: Any) -> Request:
    return request_of(BODIES[kind] | more, kind)


@pytest.mark.requirement("P-72")
@pytest.mark.parametrize(
    ("request_", "level", "changed"),
    [
        (asked(Kind.CHAT), 1, {}),
        (asked(Kind.CHAT), 2, {"temperature": 1.0, "repeat_penalty": 1.15, "repeat_last_n": 256}),
        (asked(Kind.CHAT, options={"temperature": 0.2, "seed": 7}), 2,
         {"temperature": 0.4, "seed": 8, "repeat_penalty": 1.15, "repeat_last_n": 256}),
        (asked(Kind.CHAT, options={"repeat_penalty": 1.5, "temperature": 1.2}), 3,
         {"temperature": 1.2, "repeat_penalty": 1.5, "repeat_last_n": 256}),
        (asked(Kind.COMPLETIONS), 2, {"temperature": 1.2, "frequency_penalty": 0.3, "presence_penalty": 0.3}),
        (asked(Kind.COMPLETIONS, temperature=0.1), 3,
         {"temperature": 0.5, "frequency_penalty": 0.6, "presence_penalty": 0.6}),
        (asked(Kind.MESSAGES), 2, {"temperature": 1.0}),
        (asked(Kind.RESPONSES), 2, {"temperature": 1.2}),
        (asked(Kind.CHAT, format="json"), 3, {}),
        (asked(Kind.CHAT, options="none"), 3, {}),
    ],
    ids=["below", "native", "given", "never lower", "openai", "third level", "anthropic", "responses", "schema",
         "no place"],
)  # fmt: skip
def test_sampling_rises_in_the_words_of_each_protocol(
    request_: Request, level: int, changed: dict[str, float]
):
    assert boost_of(request_, level=level, settings=SETTINGS) == changed


@pytest.mark.requirement("P-72")
def test_the_models_own_temperature_is_the_base_where_the_client_gave_none():
    given = asked(Kind.GENERATE, options={"temperature": 0.5})

    assert boost_of(asked(Kind.GENERATE), level=2, settings=SETTINGS, of_model=0.1)["temperature"] == 0.3
    assert boost_of(given, level=2, settings=SETTINGS, of_model=0.1)["temperature"] == 0.7


@pytest.mark.requirement("P-72")
def test_a_temperature_of_zero_stays_where_that_is_wanted():
    zero = asked(Kind.COMPLETIONS, temperature=0)

    assert boost_of(zero, level=2, settings=LoopSettings(keep_zero_temperature=True)) == {}
    assert boost_of(zero, level=2, settings=SETTINGS)["temperature"] == 0.2


@pytest.mark.requirement("P-67")
@pytest.mark.parametrize(
    ("request_", "enforced"),
    [
        (asked(Kind.CHAT, format="json"), True),
        (asked(Kind.CHAT, format={"type": "object"}), True),
        (asked(Kind.CHAT, format=""), False),
        (asked(Kind.COMPLETIONS, response_format={"type": "json_object"}), True),
        (asked(Kind.COMPLETIONS, response_format={"type": "text"}), False),
        (asked(Kind.RESPONSES, text={"format": {"type": "json_schema"}}), True),
        (asked(Kind.RESPONSES, text={"format": {"type": "text"}}), False),
        (asked(Kind.COMPLETIONS, guided_json={"type": "object"}), True),
        (asked(Kind.MESSAGES), False),
    ],
    ids=["json", "schema", "empty", "object", "text", "responses", "plain responses", "guided", "none"],
)
def test_it_is_known_where_a_shape_is_enforced(request_: Request, enforced: bool):
    assert is_structured(request_) is enforced


@pytest.mark.requirement("P-74")
@pytest.mark.parametrize(
    ("request_", "limit"),
    [
        (asked(Kind.CHAT), {"num_predict": LIMIT}),
        (asked(Kind.COMPLETIONS), {"max_tokens": LIMIT}),
        (asked(Kind.COMPLETIONS, max_completion_tokens=5), {}),
        (asked(Kind.COMPLETIONS, max_tokens=None), {"max_tokens": LIMIT}),
        (asked(Kind.RESPONSES), {"max_output_tokens": LIMIT}),
        (asked(Kind.MESSAGES), {}),
    ],
    ids=["native", "openai", "newer name", "null", "responses", "anthropic"],
)
def test_a_reply_without_a_limit_gets_one(request_: Request, limit: dict[str, float]):
    assert limit_of(request_) == limit


def test_parameters_stand_where_the_protocol_has_them():
    assert put(asked(Kind.CHAT), {"seed": 1}) == PutMembers(path=(), members={"options": {"seed": 1}})
    assert put(asked(Kind.CHAT, options={}), {"seed": 1}) == PutMembers(
        path=("options",), members={"seed": 1}
    )
    assert put(asked(Kind.RESPONSES), {"seed": 1}) == PutMembers(path=(), members={"seed": 1})
    assert put(asked(Kind.RESPONSES), {}) is None
