"""Do two texts say the same in the same words?"""

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from festinger.text.normalize import HIDDEN, fold

PLAIN = 'anna\'s "big" sister - the doctor - lives in zürich'

WRITTEN_AGAIN = {
    "case": 'ANNA\'S "BIG" SISTER - THE DOCTOR - LIVES IN ZÜRICH',
    "spacing": '  Anna\'s  "big" sister -\tthe doctor - lives\n in Zürich \n',
    "thin spaces": 'Anna\'s\u2009"big"\u00a0sister - the\u3000doctor - lives in\u202fZürich',
    "quotes": "Anna’s “big” sister - the doctor - lives in Zürich",
    "other quotes": "Anna`s «big» sister - the doctor - lives in Zürich",
    "dashes": 'Anna\'s "big" sister – the doctor — lives in Zürich',
    "end punctuation": 'Anna\'s "big" sister - the doctor - lives in Zürich.',
    "much end punctuation": 'Anna\'s "big" sister - the doctor - lives in Zürich … !!',
    "decomposed": unicodedata.normalize("NFD", 'Anna\'s "big" sister - the doctor - lives in Zürich'),
    "full width": 'Ａnna\'s "big" sister － the doctor - lives in Zürich',
    "zero width": 'An\u200bna\'s "big" sis\u00adter - the doc\u2060tor - lives in Zürich\ufeff',
    "marks of direction": '\u202aAnna\'s "big" sister - the doctor - lives in Zürich\u202c',
}


@pytest.mark.parametrize("text", WRITTEN_AGAIN.values(), ids=WRITTEN_AGAIN)
def test_a_sentence_written_again_folds_to_the_same(text: str):
    assert fold(text) == PLAIN


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna manages Ben", "Ben manages Anna"),
        ("The budget is 100%", "The budget is 100"),
        ("He writes C#", "He writes C"),
        ("He writes C++", "He writes C"),
        ("It is -5 degrees", "It is 5 degrees"),
        ('The pipe is 5"', "The pipe is 5'"),
        ("Version 1.2", "Version 12"),
        ("Use --force", "Use -force"),
        ("Anna does not smoke", "Anna does smoke"),
        ("?", "!"),
        ("f(x)", "f(x"),
        ("résumé", "resume"),
    ],
)
def test_what_is_said_otherwise_stays_apart(one: str, other: str):
    assert fold(one) != fold(other)


@given(st.text())
@example("\u0345\u0041")
@example("a\u200b\u0301.")
@example("ẞ ŉ ΐ ǰ")
@example("´ ¨ ¸")
@example("x .\u0301.")
@example("\u1e9b\u0323")
@example("\u03d2\u0301")
def test_folding_again_changes_nothing(text: str):
    assert fold(fold(text)) == fold(text)


@given(st.text())
@example("\u212b \ufb01 \u1e9e")
@example("\u0958\u0344")
@example("´")
@example("\u1fef")
@example("\u1ffd")
def test_composed_and_decomposed_letters_fold_alike(text: str):
    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text)) == fold(text)


@given(st.text())
def test_no_fold_has_wide_or_outer_space(text: str):
    assert fold(text) == " ".join(fold(text).split())


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_short_way_of_plain_text_ends_where_the_long_way_does(text: str):
    assert fold(text) == fold(text + "\u200b")


def test_hidden_are_all_format_and_control_characters_but_spaces():
    unseen = {
        character
        for character in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(character) in ("Cf", "Cc") and not character.isspace()
    }

    assert unseen <= HIDDEN
    assert not {character for character in HIDDEN - unseen if unicodedata.category(character) not in ("Mn", "Lo")}


def test_a_tower_of_marks_is_cut_before_it_is_sorted():
    tower = "e" + "\u0301\u0323" * 50_000

    assert len(fold(tower)) <= 31
    assert fold(fold(tower)) == fold(tower)
