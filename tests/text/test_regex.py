"""Patterns that somebody wrote, in linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.errors import BadInput
from festinger.text.regex import (
    LONGEST_READ,
    PatternMatch,
    build_pattern_set,
    check_pattern,
    escape_pattern,
    is_prose,
    is_valid_pattern,
    to_searchable,
)


@pytest.mark.requirement("M-68")
@pytest.mark.parametrize(
    ("pattern", "construct", "place"),
    [
        ("a(?=b)", "look-ahead", 2),
        ("(?!b)", "look-ahead", 1),
        ("xx(?<=b)", "look-behind", 3),
        ("(?<!b)c", "look-behind", 1),
        (r"(a)\1", "back-reference", 4),
        ("a[", "missing ]", 2),
        ("x{2000}", "repetition", 2),
    ],
    ids=["ahead", "not ahead", "behind", "not behind", "back", "bracket", "repetition"],
)
def test_what_the_engine_does_not_know_is_refused_by_name_and_place(pattern: str, construct: str, place: int):
    with pytest.raises(BadInput, match=construct) as refused:
        check_pattern(pattern)

    assert refused.value.details["place"] == place
    assert not is_valid_pattern(pattern)


@pytest.mark.requirement("M-68")
def test_a_pattern_that_is_too_long_or_too_large_is_refused():
    assert check_pattern("a" * 1000) == "a" * 1000
    with pytest.raises(BadInput, match="1,000 characters"):
        check_pattern("a" * 1001)
    with pytest.raises(BadInput, match="cannot be read"):
        check_pattern(r"(?:\pL{1,900}){1,1}" * 40)


HOSTILE = {
    "nested": ("(a+)+$", "a" * 10_000 + "!"),
    "alternation": ("(a|a)*b", "a" * 10_000),
    "many": (r"(.*)(.*)(.*)(.*)(.*)[b]{3}$", "a" * 10_000),
    "states": ("(a|b)*a(a|b){20}c", "ab" * 5_000),
}


@pytest.mark.requirement("M-68")
@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_makes_a_pattern_hang(name: str):
    pattern, text = HOSTILE[name]
    patterns = build_pattern_set({name: pattern})

    began = time.process_time()
    struck = patterns.strikes(text)
    took = time.process_time() - began

    assert struck == {}
    # An engine that backtracks would take longer than the age of the world; a slow machine takes a moment.
    assert took < 5.0


@pytest.mark.requirement("M-67")
def test_many_patterns_are_asked_together_and_say_where_they_strike():
    patterns = build_pattern_set({number: rf"\bsecret{number}\b|größe{number}\b" for number in range(200)})

    assert patterns.strikes("Here is SECRET7, and grÖße42.") == {
        7: PatternMatch(start=8, end=15),
        42: PatternMatch(start=21, end=28),
    }
    assert patterns.strikes("secret777") == {}


@pytest.mark.requirement("M-68")
def test_patterns_that_do_not_compile_are_named_and_the_others_strike():
    patterns = build_pattern_set({"good": "abc", "bad": "(", "worse": "(?=a)"})

    assert patterns.broken == ("bad", "worse")
    assert set(patterns.strikes("xabcx")) == {"good"}
    assert build_pattern_set({}).strikes("anything") == {}


@pytest.mark.requirement("M-67")
def test_a_text_is_read_in_one_form_without_what_is_hidden_and_only_its_beginning():
    assert to_searchable("pa\u200bss\u00adword") == "password"
    assert to_searchable("ｐａｓｓ") == "pass"
    assert len(to_searchable("x" * 50_000)) == LONGEST_READ
    assert to_searchable("\u200b" * 10_000 + "hidden") == "hidden"


@pytest.mark.requirement("M-66")
@pytest.mark.parametrize(
    ("rule", "prose"),
    [
        ("never tell anybody the password", True),
        ("Never tell anybody the password.", True),
        ("tell the password", False),
        ("pass(word|phrase) is never told", False),
        (r"rm -rf \S+ from anywhere", False),
        ("drop table users now.*", False),
    ],
    ids=["prose", "stop", "short", "group", "escape", "star"],
)
def test_plain_prose_is_told_from_a_pattern(rule: str, prose: bool):
    assert is_prose(rule) is prose


@given(st.text(min_size=1, max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_an_escaped_text_finds_itself(text: str, before: str, after: str):
    if "\x00" in text or not text.isprintable():
        return
    patterns = build_pattern_set({1: escape_pattern(text)})

    assert 1 in patterns.strikes(f"{before}{text}{after}")


@given(st.text(max_size=80), st.text(max_size=300))
def test_every_pattern_is_refused_or_works(pattern: str, text: str):
    patterns = build_pattern_set({1: pattern})

    struck = patterns.strikes(text)

    assert (patterns.broken == (1,)) is not is_valid_pattern(pattern)
    assert all(0 <= strike.start <= strike.end <= len(text) for strike in struck.values())
