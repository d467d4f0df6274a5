"""Which words stand in a text?"""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from festinger.text.normalize import normalize_text
from festinger.text.tokens import content_tokens, token_texts, tokenize
from festinger.text.words import FUNCTION_WORDS

ANY_TEXT = st.text(alphabet=st.characters()) | st.text(
    alphabet=st.sampled_from("aB 1.'’_-@\n?!#`\x00\u200b\u0301é東京กำ\ud800ßŉΐ")
)
SENTENCES = st.lists(
    st.sampled_from(["We met", "Agent Zero", "the repo", "Then Deploy", "1st", "now"]), min_size=1
).map(lambda parts: " ".join(parts) + ".")


def texts(text: str) -> list[str]:
    return [token.text for token in tokenize(text)]


@pytest.mark.requirement("W-02")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("runs-on artifact-type", ["runs-on", "artifact-type"]),
        ("glitch.university agent0_stack", ["glitch.university", "agent0_stack"]),
        ("(repo),", ["repo"]),
        ("gnommoweb's and GNOMMOWEB’S", ["gnommoweb", "and", "gnommoweb"]),
        ("FastAPI", ["fastapi"]),
        ("-flag --other __init__ .hidden...", ["flag", "other", "init", "hidden"]),
        ("a--b c..d e._f", ["a", "b", "c", "d", "e", "f"]),
        ("one/two|three", ["one", "two", "three"]),
        ("ｇnommo\u200bweb", ["gnommoweb"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("x\u0302y", ["x\u0302y"]),
        ("v1.2.3", ["v1.2.3"]),
        ("don't", ["don", "t"]),
        ("s 's as", ["s", "s", "as"]),
        ("write to anna@example.org or @anna", ["write", "to", "anna@example.org", "or", "anna"]),
        ("see user@host now", ["see", "user", "host", "now"]),
    ],
)
def test_a_word_keeps_its_inner_marks_and_loses_the_rest(text: str, found: list[str]):
    assert texts(text) == found


@pytest.mark.requirement("W-02", "W-03")
def test_a_token_says_where_it_stands_in_the_normalised_text():
    text = "Ｗｅ met Glitch  University’s dean."

    places = {token.text: normalize_text(text)[token.start : token.end] for token in tokenize(text)}

    assert places == {"we": "We", "met": "met", "glitch_university": "Glitch  University", "dean": "dean"}


@pytest.mark.requirement("W-01")
def test_a_token_says_how_it_is_written_and_whether_it_opens_a_sentence():
    found = tokenize("dobby runs. Docker stops? no")

    assert [(token.capital, token.sentence_start) for token in found] == [
        (False, True),
        (False, False),
        (True, True),
        (False, False),
        (False, True),
    ]


@pytest.mark.requirement("W-01")
@given(ANY_TEXT)
@example("")
@example("\ud800")
@example("\x00\x01\x7f")
def test_any_string_is_accepted_and_every_token_is_a_folded_word(text: str):
    found = tokenize(text)

    places = [place for token in found for place in (token.start, token.end)]
    assert places == sorted(places)
    assert all(token.text == token.text.casefold() or not token.text.isascii() for token in found)
    assert all(token.text[0].isalnum() and token.text[-1] not in "._-@'’" for token in found)


@pytest.mark.requirement("W-02")
@given(ANY_TEXT)
@example("ᾳ\u0345")
@example("ŉ A. _")
def test_a_token_is_its_own_and_only_token(text: str):
    for token in tokenize(text, known=lambda piece: True):
        assert [again.text for again in tokenize(token.text, known=lambda piece: True)] == [token.text]


@pytest.mark.requirement("W-02")
@given(ANY_TEXT)
def test_composed_and_decomposed_letters_give_the_same_tokens(text: str):
    assert tokenize(unicodedata.normalize("NFC", text)) == tokenize(unicodedata.normalize("NFD", text))


@pytest.mark.requirement("W-03")
@given(st.lists(SENTENCES, max_size=6), st.sampled_from([" ", "\n", "\n\n", "  "]))
def test_sentences_apart_give_the_tokens_of_sentences_together(sentences: list[str], gap: str):
    apart = [token for sentence in sentences for token in tokenize(sentence)]
    together = tokenize(gap.join(sentences))

    assert [token[0:1] + token[3:] for token in apart] == [token[0:1] + token[3:] for token in together]


@pytest.mark.requirement("W-05")
def test_content_is_what_is_no_function_word():
    found = tokenize("gnommoweb is a repo of Glitch University")

    assert [token.text for token in content_tokens(found)] == ["gnommoweb", "repo", "glitch_university"]


@pytest.mark.requirement("W-05")
def test_content_has_no_least_length_unless_one_is_asked_for():
    found = tokenize("x is a repo")

    assert [token.text for token in content_tokens(found)] == ["x", "repo"]
    assert [token.text for token in content_tokens(found, min_chars=4)] == ["repo"]


@pytest.mark.requirement("W-05")
@given(ANY_TEXT)
def test_content_holds_every_token_but_function_words(text: str):
    found = tokenize(text)

    assert [token for token in found if token not in content_tokens(found)] == [
        token for token in found if token.text in FUNCTION_WORDS
    ]


@given(ANY_TEXT | SENTENCES | st.lists(st.sampled_from(["# Big Names", "\n", "Of It", " is ", "A B"])).map("".join))
@example("# Glitch University\n")
@example("C# Sharp\n")
@example("Glitch University\n===")
def test_the_texts_alone_are_those_of_the_tokens(text: str):
    def known(token: str) -> bool:
        return len(token) % 3 == 0

    assert token_texts(text, known) == [token.text for token in tokenize(text, known)]


@given(ANY_TEXT)
def test_a_token_stands_where_it_says(text: str):
    plain = normalize_text(text)

    for token in tokenize(text):
        written = plain[token.start : token.end]
        assert token.capital == written[0].isupper()
