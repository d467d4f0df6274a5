"""A prompt that is a conversation is cut at its headers, and only there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proxy.loops.keys import ChatRole
from festinger.proxy.protocols.parse import MOST_SECTIONS, split_sections

PIECES = st.lists(
    st.sampled_from(
        ["### System:\n", "### User:\n", "### Assistant:\n", "\n", "\n\n", "text", "### user:\n", "#", " "]
    ),
    max_size=14,
).map("".join)


@pytest.mark.requirement("P-34")
@given(PIECES)
def test_the_sections_together_are_the_prompt(prompt: str):
    found = split_sections(prompt)

    assert not found or "".join(prompt[each.span.start : each.span.end] for each in found) == prompt
    assert bool(found) is prompt.startswith(("### System:\n", "### User:\n", "### Assistant:\n"))


@pytest.mark.requirement("P-34")
@pytest.mark.parametrize(
    ("prompt", "cut"),
    [
        ("### User:\na\n\n### Assistant:\nb\n\n", [(ChatRole.USER, "a\n\n"), (ChatRole.ASSISTANT, "b\n\n")]),
        ("### User:\na\n### Assistant:\nb", [(ChatRole.USER, "a\n### Assistant:\nb")]),
        ("### User:\na ### User:\nb", [(ChatRole.USER, "a ### User:\nb")]),
        ("### User:\n\n\n### User:\n", [(ChatRole.USER, "\n\n"), (ChatRole.USER, "")]),
        ("### User:\na\n\n#### User:\nb", [(ChatRole.USER, "a\n\n#### User:\nb")]),
        ("say\n\n### User:\na", []),
        ("### User: a", []),
        ("", []),
    ],
)
def test_a_header_counts_at_a_line_start_after_an_empty_line(prompt: str, cut: list[tuple[ChatRole, str]]):
    assert [(each.role, each.text_in(prompt)) for each in split_sections(prompt)] == cut


def test_a_prompt_of_endless_headers_is_no_conversation():
    assert len(split_sections("### User:\na\n\n" * MOST_SECTIONS)) == MOST_SECTIONS
    assert split_sections("### User:\na\n\n" * (MOST_SECTIONS + 1)) == ()
