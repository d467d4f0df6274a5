"""Wordings that differ in nothing that matters are one proposal; a denial, a direction or a number matters."""

import random
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.proposals.sightings.fingerprint import STOPWORDS, compute_fingerprint, normalize_suggestion

VECTORS = [
    ("reliability", "tools", "Add a retry budget for Elasticsearch queries", "c9f0e3b965da5167"),
    ("ux", "tools", "Add a progress bar for long tool calls", "9ba0a61ea162aab0"),
    ("cost", "llm_client", "Lower the summarizer temperature", "9438acf3ad8187a2"),
    ("performance", "tools", "Parallelize the health probe", "f08fc2c3adc235e6"),
    ("reliability", "llm_client", "Add retry logic", "c925cdb80c13e200"),
    ("reliability", "tools", "Retry the failed query", "2deb88e485a55dce"),
]  # fmt: skip

SEVEN = [
    ("reliability", "tools", "Add a retry budget for Elasticsearch queries"),
    ("reliability", "tools", "Elasticsearch queries: a budget for the retry"),
    ("reliability", "tools", "Retry budget, on queries to Elasticsearch"),
    ("ux", "tools", "Add a progress bar for long tool calls"),
    ("ux", "tools", "Long tool calls: a progress bar"),
    ("cost", "llm_client", "Lower the summarizer temperature"),
    ("performance", "tools", "Parallelize the health probe"),
]

UNPLAIN = {
    "not", "never", "nor", "without", "cannot", "over", "than", "before", "after", "instead", "versus", "into", "from",
    "replace", "does", "did",
}  # fmt: skip

PLAIN = st.lists(st.text("abcdefghijklmnopqrstuvwxyz", min_size=3, max_size=8), min_size=1, max_size=8).map(
    lambda words: [word for word in words if word not in UNPLAIN] or ["query"]
)


def print_of(category: str, scope: str, text: str) -> str:
    return compute_fingerprint(category=category, scope=scope, normalised=normalize_suggestion(text))


def test_the_stopwords_are_as_many_as_the_specification_lists():
    assert len(STOPWORDS) == 19


@pytest.mark.requirement("H-01")
@pytest.mark.parametrize(("category", "scope", "text", "ours"), VECTORS)
def test_the_reference_vectors_hold(category: str, scope: str, text: str, ours: str):
    assert print_of(category, scope, text) == ours


@pytest.mark.requirement("H-03")
def test_what_is_denied_is_another_proposal():
    assert print_of("reliability", "tools", "Do not retry the failed query") == "e2fd6755b778ee8d"


def test_seven_reflections_give_four_proposals():
    assert len({print_of(*each) for each in SEVEN}) == 4


@pytest.mark.requirement("H-01")
def test_a_fingerprint_is_the_hash_of_category_scope_and_words():
    whole = sha256(b"ux:tools:bar calls long progress tool").hexdigest()

    assert print_of("ux", "tools", "Add a progress bar for long tool calls") == whole[:16]


@pytest.mark.requirement("H-02")
def test_small_words_case_and_repeats_fall_out():
    assert normalize_suggestion("Add a retry budget for Elasticsearch queries") == "budget elasticsearch queries retry"
    assert normalize_suggestion("RETRY the retry, and Retry!") == "retry"
    assert [word for word in STOPWORDS if normalize_suggestion(f"{word} query") != "query"] == []


@pytest.mark.requirement("H-02")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Ｗｉｄｅ letters", "letters wide"),
        ("STRASSE straße", "strasse"),
        ("Увеличь таймаут", "таймаут увеличь"),
        ("超时 重试", "超时 重试"),
        ("सीमा बढ़ाओ", "बढ़ाओ सीमा"),
        ("snake_case-words/split", "case snake split words"),
        ("limit 1,000.5 and 7.", "1,000.5 7 limit | #1,000.5>7"),
        ("v1.2 client", "client v1.2"),
    ],
)
def test_words_of_any_script_are_runs_of_letters_and_digits(text: str, left: str):
    assert normalize_suggestion(text) == left


@pytest.mark.requirement("H-01")
@given(words=PLAIN, seed=st.integers(0, 2**32))
def test_order_case_and_small_words_never_matter(words: list[str], seed: int):
    chance = random.Random(seed)
    mixed = chance.sample([*words, *chance.sample(sorted(STOPWORDS), 3)], len(words) + 3)

    assert normalize_suggestion(" ".join(mixed).upper()) == normalize_suggestion(", ".join(words))


@pytest.mark.requirement("H-02")
@given(words=PLAIN)
def test_plain_text_hashes_as_in_the_reference(words: list[str]):
    assert normalize_suggestion(" ".join(words)) == " ".join(sorted(set(words) - STOPWORDS))


@given(text=st.text(max_size=80))
def test_any_text_normalises_the_same_way_twice(text: str):
    assert normalize_suggestion(text) == normalize_suggestion(text)
    assert "\n" not in normalize_suggestion(text)


@pytest.mark.requirement("H-03")
@pytest.mark.parametrize(
    "text",
    [
        "Do not retry the failed query",
        "Don’t retry the failed query",
        "don't RETRY the failed query",
        "The failed query: never retry",
        "The failed query without a retry",
        "No retry of the failed query",
    ],
)
def test_every_way_to_deny_marks_the_next_word(text: str):
    assert normalize_suggestion(text) == "!retry failed query"


@pytest.mark.requirement("H-03")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Retry the failed query", "Do not retry the failed query"),
        ("Fail, do not retry", "Retry, do not fail"),
        ("Cache the answer", "Cannot cache the answer"),
        ("Retry the query", "Retry the query? Never"),
        ("Never retry", "Never not retry"),
        ("Do the retry", "Retry"),
    ],
)
def test_what_is_denied_is_never_what_is_asked(one: str, other: str):
    assert normalize_suggestion(one) != normalize_suggestion(other)


@pytest.mark.requirement("H-03")
@given(words=PLAIN)
def test_denying_any_word_makes_another_proposal(words: list[str]):
    assert normalize_suggestion(" ".join(words)) != normalize_suggestion("never " + " ".join(words))


@pytest.mark.requirement("H-04")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Prefer Postgres over Redis", "Prefer Redis over Postgres"),
        ("Prefer plan A over plan B", "Prefer plan B over plan A"),
        ("Raise the timeout from 10 to 20", "Raise the timeout from 20 to 10"),
        ("Replace Redis with Postgres", "Replace Postgres with Redis"),
        ("Replace Redis by Postgres", "Replace Postgres by Redis"),
        ("Use Postgres instead of Redis", "Use Redis instead of Postgres"),
        ("Validate before the write", "Write before the validate"),
        ("Move logs into the bucket", "Move bucket into the logs"),
        ("Set 3 retries and 9 workers", "Set 9 retries and 3 workers"),
        ("Set the rate to 0.5", "Set the rate to 5.0"),
    ],
)
def test_swapping_what_has_a_direction_makes_another_proposal(one: str, other: str):
    assert normalize_suggestion(one) != normalize_suggestion(other)


@pytest.mark.requirement("H-04")
def test_a_direction_and_numbers_are_appended():
    assert normalize_suggestion("Prefer Postgres over Redis") == "over postgres prefer redis | postgres>redis"
    assert normalize_suggestion("Raise the timeout from 10 to 20") == "10 20 from raise timeout | 10>20 #10>20"
    assert normalize_suggestion("Raise the timeout to 20") == "20 raise timeout"


@pytest.mark.requirement("H-07")
@pytest.mark.parametrize("text", ["to the and of", "", "  \n", "?!", "not", "\u202e\u200b"])
def test_nothing_is_left_of_text_that_says_nothing(text: str):
    assert normalize_suggestion(text) == ""


@pytest.mark.requirement("H-07")
def test_hidden_characters_do_not_make_another_proposal():
    assert normalize_suggestion("Re\u200btry\u202e the\x07 query\ufeff") == normalize_suggestion("Retry the query")
    assert normalize_suggestion("Retry\nthe\tquery") == normalize_suggestion("Retry the query")
