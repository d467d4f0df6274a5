"""Which English words stand in a list of ours?"""

import pytest

from festinger.text.words import LISTS, load_words

NAMES = sorted(path.stem for path in LISTS.glob("*.txt"))


@pytest.mark.parametrize("name", NAMES)
def test_a_list_says_what_it_is_for_and_holds_plain_words(name: str):
    first, *_ = (LISTS / f"{name}.txt").read_text().splitlines()

    assert first.startswith("# ")
    assert all(word == word.lower() and word.strip("._-'") == word for word in load_words(name))


def test_a_comment_is_no_word():
    assert "#" not in load_words("function_words")
    assert "articles" not in load_words("function_words")
