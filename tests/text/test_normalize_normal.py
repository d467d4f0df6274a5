"""In which one form are characters read?"""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from festinger.text.normalize import (
    HIDDEN,
    MARKS_IN_A_ROW,
    UNSEEN,
    combining_marks,
    limit_combining_marks,
    non_plain_characters,
    normalize_text,
)

LETTERS_AND_MARKS = st.text(alphabet=st.sampled_from("aé ́̈̃̈́ﾞᾼ\u200bक्ज़ཱི"), max_size=120)


@pytest.mark.requirement("W-02")
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("ｇｎｏｍｍｏ", "gnommo"),
        ("gno\u200bm\u00admo", "gnommo"),
        ("e\u0301te\u0301", "été"),
        ("a\x00b\x1bc\x7f", "abc"),
        ("one\ntwo\tthree", "one\ntwo\tthree"),
        ("It’s “so”", "It’s “so”"),
    ],
)
def test_a_text_is_read_in_one_form(written: str, read: str):
    assert normalize_text(written) == read


@given(st.text() | LETTERS_AND_MARKS)
@example("\u0344" * 20)
@example("a" + "\uff9e" * 40)
def test_normalising_again_changes_nothing(text: str):
    assert normalize_text(normalize_text(text)) == normalize_text(text)


@given(st.text() | LETTERS_AND_MARKS)
@example("ǖ" + "\u0301" * 29 + "\u0323")
@example("\u1fef\u0958")
def test_composed_and_decomposed_letters_are_read_alike(text: str):
    assert normalize_text(unicodedata.normalize("NFC", text)) == normalize_text(unicodedata.normalize("NFD", text))


@given(LETTERS_AND_MARKS)
def test_only_towers_are_cut(text: str):
    seen = "".join(character for character in text if character not in HIDDEN)
    apart = unicodedata.normalize("NFKD", seen)
    heights, height = [0], 0
    for character in apart:
        height = height + 1 if unicodedata.combining(character) else 0
        heights.append(height)

    assert (normalize_text(text) == unicodedata.normalize("NFKC", seen)) == (max(heights) <= MARKS_IN_A_ROW)


@pytest.mark.parametrize("brick", ["\u0301\u0323", "\u0344", "\uff9e", "\u0f73", "\u0301\u200b\u0323"])
def test_a_tower_of_marks_is_cut_before_it_is_sorted(brick: str):
    assert len(normalize_text("e" + brick * 50_000)) <= MARKS_IN_A_ROW + 1


def test_no_letter_is_hidden_by_normalising():
    letters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]

    assert not [letter for letter in letters if set(normalize_text(letter)) & HIDDEN]


def test_marks_are_all_that_unicode_calls_so_and_anyone_can_see():
    all_marks = {chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code))[0] == "M"}

    assert all_marks - HIDDEN == set(combining_marks()) - HIDDEN


@given(st.text(alphabet=st.characters()) | st.text(alphabet="ab é\u0301\u200b…“가각ᄀ\u1161\u11a8\x00\ud800\t"))
@example("e\u0301")
@example("\u1100 \u1161")
@example("\u1100\u1161")
def test_a_text_that_is_taken_as_it_is_had_its_one_form(text: str):
    assert normalize_text(text) == unicodedata.normalize("NFKC", limit_combining_marks(text.translate(UNSEEN)))


def test_what_is_beyond_plain_characters_keeps_its_order():
    assert non_plain_characters("It’s\x00 a “test”\n\t~é\ud800") == "’\x00“”é\ud800"
