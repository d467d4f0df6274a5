"""Words are cut out of texts for good, however they are spaced and cased, and nothing else is."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.text.blocks import MARK, build_erasure_patterns, is_distinctive

PHRASE = "Zelda's key hangs behind (the) painting"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"I said: {PHRASE}.", f"I said: {MARK}."),
        (PHRASE.upper(), MARK),
        (PHRASE.replace(" ", "\n  "), MARK),
        (f"x{PHRASE}", f"x{PHRASE}"),
        (f"{PHRASE}s", f"{PHRASE}s"),
        ("Zelda's key hangs elsewhere", "Zelda's key hangs elsewhere"),
    ],
    ids=["in a sentence", "in capitals", "over lines", "within a word before", "within a word after", "only a part"],
)
def test_a_phrase_is_cut_where_it_stands_as_such(text: str, left: str):
    (cut,) = build_erasure_patterns([f"  {PHRASE}. "])

    assert cut.erase_from(text) == left


@pytest.mark.parametrize("wording", ["yes", "ok then", "Anna", "12 34 56 78 90 12", ""])
def test_what_is_too_short_to_be_meant_is_cut_nowhere(wording: str):
    assert not is_distinctive(wording)
    assert list(build_erasure_patterns([wording])) == []


def test_the_longest_wording_is_cut_first():
    (cut,) = build_erasure_patterns(["the key hangs", "the key hangs behind the door"])

    assert cut.erase_from("so the key hangs behind the door") == f"so {MARK}"


def test_documents_keep_their_shape():
    (cut,) = build_erasure_patterns(['She said "the key hangs here"'])
    document = {"a": ['He: she said  "the key hangs here"!', 3, None], "b": {"c": True}}

    assert cut.erase_from_json(document) == {"a": [f"He: {MARK}!", 3, None], "b": {"c": True}}
    assert re.search(cut.json_pattern, json.dumps(document), re.IGNORECASE)


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=12, max_size=60), max_size=5))
def test_no_telling_wording_is_left_whatever_it_is(wordings: list[str]):
    for cut in build_erasure_patterns(wordings):
        for wording in filter(is_distinctive, wordings):
            text = f"before {' '.join(wording.split())} after"
            cut.erase_from(text)
            assert cut.erase_from(cut.erase_from(text)) == cut.erase_from(text)
