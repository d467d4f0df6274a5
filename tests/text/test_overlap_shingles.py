"""How much of a text stands word for word in another."""

from hypothesis import given
from hypothesis import strategies as st

from festinger.text.overlap import build_all_shingles, build_shingles, remove_copies, shingle_overlap

NOTE = "The staging cluster of billing stands in Oslo."


def test_a_copy_is_known_whatever_its_case_and_marks():
    assert shingle_overlap("the STAGING cluster of billing, stands in Oslo!", build_all_shingles([NOTE])) == 1.0
    assert shingle_overlap("Billing stands by the staging cluster in Oslo", build_all_shingles([NOTE])) == 0.0


def test_copied_sentences_are_cut_and_short_ones_are_not():
    known = build_all_shingles([NOTE, "Yes."])

    assert remove_copies(f"Hello. {NOTE} Yes. Is that so?", known) == "Hello. Yes. Is that so?"
    assert remove_copies(NOTE, frozenset()) == NOTE


@given(st.text(max_size=200))
def test_every_text_with_words_is_a_copy_of_itself(text: str):
    assert shingle_overlap(text, build_shingles(text)) == (1.0 if build_shingles(text) else 0.0)
    assert len(remove_copies(text, build_shingles(NOTE))) <= len(text)
