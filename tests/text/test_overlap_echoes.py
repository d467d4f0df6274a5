"""Whether a sentence only says again what stood in one line of our notes."""

import pytest

from festinger.text.overlap import remove_echoes

NOTES = ("gnommo: [type] website", "dobby: [membership] club")


@pytest.mark.requirement("M-90")
@pytest.mark.parametrize(
    "text", ["gnommo: [type] website", "So gnommo is a website.", "From what I know, gnommo is of type website!"]
)
def test_a_note_that_comes_back_is_taken_out(text: str):
    assert remove_echoes(text, NOTES) == ""


@pytest.mark.requirement("M-90")
@pytest.mark.parametrize(
    "text",
    [
        "gnommo is not a website.",
        "gnommo is a wiki.",
        "gnommo is a website of Anna.",
        "gnommo again.",
        "gnommo is in the club of dobby.",
    ],
)
def test_what_says_more_or_something_else_stays(text: str):
    assert remove_echoes(text, NOTES) == text


def test_only_the_echo_goes_from_a_longer_text():
    assert remove_echoes("gnommo is a website. Anna built it.", NOTES) == "Anna built it."


def test_without_notes_nothing_is_an_echo():
    assert remove_echoes("gnommo is a website.", ()) == "gnommo is a website."
