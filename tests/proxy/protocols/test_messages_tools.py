"""What tools say of themselves, in whatever shape a vendor writes them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.protocols.messages import MOST_DESCRIPTION_CHARS, descriptions_hash, join_tool_descriptions

WEATHER, CITY = "Tells the weather of a city.", "The name of the city."
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string", "description": CITY}}}
FUNCTION = {"name": "weather", "description": WEATHER, "parameters": PARAMETERS}

SHAPES: dict[str, dict[str, Any]] = {
    "chat": {"tools": [{"type": "function", "function": FUNCTION}]},
    "responses": {"tools": [{"type": "function", **FUNCTION}]},
    "anthropic": {"tools": [{"name": "weather", "description": WEATHER, "input_schema": PARAMETERS}]},
    "the old name": {"functions": [FUNCTION]},
}


@pytest.mark.requirement("M-91")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_tool_and_its_parameters_are_read_in_every_shape(shape: str):
    assert join_tool_descriptions({"model": "m", **SHAPES[shape]}) == f"{WEATHER}\n{CITY}"


def test_two_tools_stand_in_their_order_and_what_both_say_stands_once():
    other = {"name": "rain", "description": "Tells whether it rains.", "parameters": PARAMETERS}

    assert join_tool_descriptions({"tools": [FUNCTION, other]}) == f"{WEATHER}\n{CITY}\nTells whether it rains."


def test_a_parameter_that_is_called_description_is_read_for_what_it_says():
    named = {"properties": {"description": {"type": "string", "description": "What the ticket is about."}}}

    assert join_tool_descriptions({"tools": [{"name": "ticket", "parameters": named}]}) == "What the ticket is about."


def test_the_same_descriptions_are_known_again_and_others_are_not():
    assert descriptions_hash(WEATHER) == descriptions_hash(WEATHER) != descriptions_hash(CITY)


@pytest.mark.parametrize("tools", [None, [], {}, "all", 3, [None, 3, "x", []]], ids=repr)
def test_what_is_no_list_of_tools_says_nothing(tools: Any):
    assert join_tool_descriptions({"tools": tools}) == join_tool_descriptions({}) == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["description", "x", "y"]), inner),
)


@pytest.mark.requirement("M-91")
@given(JSON)
def test_whatever_a_client_sends_is_read_to_its_end_and_kept_short(tools: Any):
    assert (
        len(join_tool_descriptions({"tools": tools, "functions": [{"description": "long " * 9_000}]}))
        <= MOST_DESCRIPTION_CHARS
    )
