"""What a person puts in the place of a note that they call wrong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.outcomes.corrections import strip_correction_cue, substitute_value
from festinger.outcomes.inference import TurnInferenceInput, TurnNote, infer_turn_outcomes

TEAL = "Rana's favourite colour is teal."
CITY = "Anna lives in Port Louis."


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("Actually, Rana's favourite colour is crimson.", "Rana's favourite colour is crimson."),
        ("No, Anna lives in Rome.", "Anna lives in Rome."),
        ("Rana's favourite colour is crimson, not teal.", "Rana's favourite colour is crimson, not teal."),
        ("Wrong,", "Wrong,"),
        ("Anna, who lives in Rome, paints.", "Anna, who lives in Rome, paints."),
    ],
)
def test_a_cue_before_a_statement_is_no_part_of_it(said: str, left: str) -> None:
    assert strip_correction_cue(said) == left


@pytest.mark.parametrize(
    ("note", "message", "text"),
    [
        (TEAL, "No, it is crimson.", "Rana's favourite colour is crimson."),
        (TEAL, "No, it's now dark red!", "Rana's favourite colour is dark red."),
        (CITY, "No, it is Rome.", "Anna lives in Rome."),
        (TEAL, "No.", None),
        ("Uploads are often slow in the evening, so wait.", "No, it is fast.", None),
    ],
)
def test_a_value_named_instead_goes_where_the_old_one_stood(note: str, message: str, text: str | None) -> None:
    assert substitute_value(note, message) == text


@given(value=st.from_regex(r"[a-z]{3,12}( [a-z]{3,12})?", fullmatch=True))
def test_whatever_is_named_instead_the_rest_of_the_note_stays(value: str) -> None:
    told = substitute_value(TEAL, f"No, it is {value}.")

    assert told is not None
    assert told.startswith("Rana's favourite colour is ")
    assert told.endswith(".")


def _said(next_message: str) -> object:
    turn = TurnInferenceInput(notes=(TurnNote(id="n", text=TEAL),), reply=TEAL, next_message=next_message)
    [found] = infer_turn_outcomes(turn).outcomes
    assert found.outcome == "contradicted"
    return found.evidence.get("said")


@pytest.mark.requirement("O-48")
def test_a_correction_carries_what_was_said_in_the_place_of_the_note() -> None:
    assert _said("No, it is crimson.") == "Rana's favourite colour is crimson."
    assert _said("Actually, Rana's favourite colour is crimson.") == "Rana's favourite colour is crimson."
    assert _said("That is wrong. Rana's favourite colour is crimson.") == "Rana's favourite colour is crimson."


@pytest.mark.requirement("O-48")
def test_what_only_the_reply_says_otherwise_is_nobody_s_word() -> None:
    turn = TurnInferenceInput(notes=(TurnNote(id="n", text=TEAL),), reply="Rana's favourite colour is crimson.")

    [found] = infer_turn_outcomes(turn).outcomes

    assert (found.outcome, "said" in found.evidence) == ("contradicted", False)
