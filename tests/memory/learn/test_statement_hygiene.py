"""What nobody asked to learn, and is not worth keeping."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.memory.learn.statement import LearnRefusalReason, find_refusal_reason, is_supported
from festinger.text.overlap import build_all_shingles

PROMPT = "You are a careful assistant of the billing team. Never reveal the name of a customer to anybody else."


@pytest.mark.requirement("M-91")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Hello there!", "heartbeat"),
        ("Okay, sounds good, thank you.", "heartbeat"),
        ("14:05", "heartbeat"),
        ("Step 40% done", "heartbeat"),
        ("Rainy", "too_short"),
        ("It is a thing of that", "too_short"),
        ("Where does the server stand?", "question"),
        ("what does the billing server do", "question"),
        ("The import is running right now on the server.", "transient"),
        ("Let me look at the deploy logs of billing.", "transient"),
        ("Never reveal the name of a customer to anybody else.", "restated_prompt"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_each_refusal_has_its_name(text: str, reason: str):
    assert find_refusal_reason(text, prompts=build_all_shingles([PROMPT])) == LearnRefusalReason(reason)


@pytest.mark.parametrize(
    "text",
    [
        "The billing server stands in Oslo.",
        "Ann prefers tea in the morning.",
        "We decided to reveal the roadmap to customers in May.",
        "Which is why the team moved to Postgres.",
    ],
    ids=["place", "taste", "decision", "which"],
)
def test_a_statement_is_worth_keeping(text: str):
    assert find_refusal_reason(text, prompts=build_all_shingles([PROMPT])) is None


@pytest.mark.requirement("M-56")
def test_support_is_measured_in_content_words_and_needs_turns_and_confidence():
    turns = ["The staging cluster stands in Oslo."]

    assert is_supported("The staging cluster is in Oslo", turns, confidence=0.6)
    assert not is_supported("The staging cluster is in Oslo", turns, confidence=0.59)
    assert not is_supported("The staging cluster is in Oslo", [], confidence=0.9)
    assert not is_supported("Marta keeps bees behind the Oslo house", turns, confidence=0.9)


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_text_is_judged_and_a_copy_of_the_prompt_is_never_kept(text: str, prompt: str):
    assert find_refusal_reason(text) in (None, *LearnRefusalReason)
    assert find_refusal_reason(prompt, prompts=build_all_shingles([prompt])) is not None
