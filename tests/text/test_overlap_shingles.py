"""How much of a text stands word for word in another."""

from hypothesis import given
from hypothesis import strategies as st

from festinger.text.overlap import all_shingles, share_within, shingles, without_copies

NOTE = "The staging cluster of billing stands in Oslo."


def test_a_copy_is_known_whatever_its_case_and_marks():
    assert share_within("the STAGING cluster of billing, stands in Oslo!", all_shingles([NOTE])) == 1.0
    assert share_within("Billing stands by the staging cluster in Oslo", all_shingles([NOTE])) == 0.0


def test_copied_sentences_are_cut_and_short_ones_are_not():
    known = all_shingles([NOTE, "Yes."])

    assert without_copies(f"Hello. {NOTE} Yes. Is that so?", known) == "Hello. Yes. Is that so?"
    assert without_copies(NOTE, frozenset()) == NOTE


@given(st.text(max_size=200))
def test_every_text_with_words_is_a_copy_of_itself(text: str):
    assert share_within(text, shingles(text)) == (1.0 if shingles(text) else 0.0)
    assert len(without_copies(text, shingles(NOTE))) <= len(text)
