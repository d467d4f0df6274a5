import hashlib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.llm.model import MessageRole, PromptMessage, prompt_hash
from festinger.llm.prompts import Prompt, load_prompt

TWO = Prompt(name="two", text="First: {{ one }}. Second: {{two}}.", hash="0123456789ab")


def test_values_go_into_their_slots() -> None:
    assert TWO.message(one="A", two="B").text == "First: A. Second: B."


@given(st.text())
def test_a_value_that_looks_like_a_slot_stays_as_it_is(value: str) -> None:
    text = TWO.message(one="{{ two }}" + value, two="B").text

    assert text == f"First: {{{{ two }}}}{value}. Second: B."


@pytest.mark.parametrize("values", [{}, {"one": "A"}, {"one": "A", "two": "B", "three": "C"}])
def test_a_missing_or_surplus_value_is_a_mistake(values: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="two"):
        TWO.message(MessageRole.USER, **values)


@pytest.mark.requirement("X-82")
def test_the_hash_is_the_first_12_hex_digits_of_the_file() -> None:
    content = files("festinger.llm").joinpath("prompts", "repair.md").read_bytes()

    prompt = load_prompt("festinger.llm", "repair")

    assert prompt.hash == hashlib.sha256(content).hexdigest()[:12]
    assert prompt.message(flaw="x", schema="y").prompt_hash == prompt.hash


@pytest.mark.requirement("X-82")
def test_the_hash_of_a_question_is_that_of_its_prompt() -> None:
    plain = PromptMessage(role=MessageRole.SYSTEM, text="Be brief.")

    assert prompt_hash([plain, TWO.message(one="A", two="B")]) == "0123456789ab"
    assert prompt_hash([plain]) is None
