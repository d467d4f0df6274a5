"""Whether a statement that nobody asked to keep says something that lasts."""

import pytest

from festinger.text.hygiene import is_lasting


@pytest.mark.parametrize(
    "text",
    [
        "Anna lives in Oslo.",
        "My sister works as a nurse.",
        "The library of Graz opens at nine.",
        "Ben prefers tea to coffee.",
        "Anna now works as a pilot.",
        "Our server listens on port 8080.",
        'Clara wrote "Dune".',
        "We decided that Ben keeps the keys.",
    ],
)
def test_a_fact_lasts(text: str):
    assert is_lasting(text)


@pytest.mark.parametrize(
    "text",
    [
        "I am hungry today.",
        "My tea is cold already.",
        "The train leaves in ten minutes.",
        "I will call Anna after work.",
        "We are in the garden.",
        "This letter is far too long.",
        "The other letter is better.",
        "I think the colour is fine now.",
        "The first line sounds odd.",
    ],
)
def test_what_is_said_of_the_moment_does_not_last(text: str):
    assert not is_lasting(text)


@pytest.mark.parametrize(
    "text",
    [
        "Maybe Anna is the new director.",
        "If Anna is a pilot, she knows.",
        "Imagine that Anna owns a castle.",
        'The book ends with: "Anna is a thief and lives in a tower."',
        "In the opera, Anna is a queen.",
        "My cousin claims that Anna is a spy.",
        "> Anna lives in Prague.",
    ],
)
def test_what_is_supposed_told_or_quoted_is_not_said(text: str):
    assert not is_lasting(text)
