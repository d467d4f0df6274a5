"""Statements about two things or people are no news about each other; what a caller names is part of what is said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.judge.rules.guards import compare_readings
from festinger.judge.rules.parse import parse_statement
from festinger.judge.rules.subjects import find_other_subject, unstated_subject

words = st.lists(
    st.sampled_from(
        [
            "I",
            "my",
            "sister",
            "Hana",
            "Otis",
            "room",
            "4",
            "web-3",
            "is",
            "are",
            "the",
            "top",
            "bottom",
            "shelf",
            "took",
            "owns",
            "not",
            "of",
            "s'",
            "'s",
        ]
    ),
    max_size=8,
).map(" ".join)


def are_two(old: str, new: str) -> bool:
    return find_other_subject(compare_readings(parse_statement(old), parse_statement(new))) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Locker 18 belongs to Farah", "Locker 19 belongs to Otis now"),
        ("Bay 7 holds six pallets", "Bay 8 holds ten pallets now"),
        ("db-2 has 32 GB of memory", "db-3 has 64 GB of memory now"),
        ("The fan in room 4 is broken", "The fan in room 5 is fixed now"),
        ("My uncle works at the docks", "I changed jobs and work at the airport now"),
        ("My aunt drives a Fiat", "My cousin drives a Volvo now"),
        ("Farah plays the cello", "Otis took up rowing"),
        ("Farah handles the incoming mail", "As of May Otis handles the outgoing mail"),
        ("The top shelf holds paint", "We cleared the bottom shelf for brushes"),
    ],
)
def test_things_that_differ_in_a_number_and_people_who_share_nothing_are_two(old: str, new: str):
    assert are_two(old, new)
    assert are_two(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Farah leads the night shift", "Otis took over the night shift"),
        ("Farah owns search", "I own search now"),
        ("Farah runs the archive", "Otis took over from Farah last week"),
        ("Version 4 is the current one", "Version 5 is the current one now"),
        ("Our 2 cats sleep outside", "Our 3 cats sleep outside"),
        ("My sister is called Hana", "Hana moved to Osaka"),
        ("The standup is at 9", "The standup is at 10 now"),
        ("We keep the top shelf free", "We keep the bottom shelf free now"),
        ("The heating is on in winter", "The heating is off in winter, says Otis"),
        ("We use Jenkins", "I moved everything to Buildkite"),
    ],
)
def test_a_role_that_passes_on_and_a_value_that_changes_are_one_matter(old: str, new: str):
    assert not are_two(old, new)
    assert not are_two(new, old)


@given(words, words)
def test_any_words_can_be_compared(old: str, new: str):
    assert are_two(old, new) is are_two(new, old)


@pytest.mark.parametrize(
    ("text", "subject", "unstated"),
    [
        ("She lives in Oslo.", "Anna", "anna"),
        ("It listens on 8080", "the staging server", "staging server"),
        ("The staging server listens on 8080", "staging server", ""),
        ("Anna's port is 8080", "anna", ""),
        ("I live in Oslo", "user", ""),
        ("She lives in Oslo", None, ""),
    ],
)
def test_a_subject_is_unstated_if_the_text_leaves_it_out(text: str, subject: str | None, unstated: str):
    assert unstated_subject(text, subject) == unstated
