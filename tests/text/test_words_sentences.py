"""Does a sentence end between two words?"""

import pytest

from festinger.text.words import ends_sentence, split_into_sentences


@pytest.mark.parametrize(
    ("gap", "before", "after"),
    [
        (". ", "repo", "Dobby"),
        (". ", "repo", "dobby"),
        ("? ", "repo", "yes"),
        ('!" ', "repo", "yes"),
        (".) ", "repo", "then"),
        ("…\n", "repo", "then"),
        ("。", "犬", "猫"),
        ("\n\n", "repo", "and"),
        ("\r\n\r\n", "repo", "and"),
        ("\n", "repo", "Dobby"),
        ("\n- ", "repo", "dobby"),
        ("\n> ", "repo", "dobby"),
        (":\n", "repo", "dobby"),
        ("... ", "etc", "then"),
    ],
)
def test_a_sentence_ends(gap: str, before: str, after: str):
    assert ends_sentence(gap, before, after)


@pytest.mark.parametrize(
    ("gap", "before", "after"),
    [
        (" ", "the", "repo"),
        (", ", "repo", "and"),
        (": ", "repo", "dobby"),
        ("?", "path", "query"),
        (". ", "Dr", "Smith"),
        (". ", "e.g", "Docker"),
        (". ", "J", "Smith"),
        ("\n", "the", "repo"),
        ("\r\n", "the", "repo"),
        (",\n", "the", "repo"),
    ],
)
def test_a_sentence_goes_on(gap: str, before: str, after: str):
    assert not ends_sentence(gap, before, after)


def test_sentences_end_at_marks_and_lines_but_not_within_numbers() -> None:
    assert split_into_sentences("It costs 3.50 a day. Really?\nYes!") == ["It costs 3.50 a day.", "Really?", "Yes!"]
