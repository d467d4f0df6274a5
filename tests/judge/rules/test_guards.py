"""What keeps two statements from being the same?"""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.judge.model import GuardKind
from festinger.judge.rules.guards import compare_readings
from festinger.judge.rules.parse import parse_statement

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)


def guards(old: str, new: str) -> tuple[GuardKind, ...]:
    return compare_readings(parse_statement(old, said_at=MONDAY), parse_statement(new, said_at=MONDAY)).guards


FIRES = {
    "number": ("the laptop has 16 GB", "the laptop has 32 GB", GuardKind.NUMBER),
    "number in words": ("seven people came", "eight people came", GuardKind.NUMBER),
    "percent": ("sales rose by 5 %", "sales rose by 6 percent", GuardKind.NUMBER),
    "currency": ("it costs $5", "it costs €5", GuardKind.UNIT),
    "unit": ("a call takes 5 ms", "a call takes 5 s", GuardKind.UNIT),
    "date": ("on 3 May we met", "on 4 May we met", GuardKind.DATE),
    "relative day": ("we met yesterday", "we met on 2026-01-03", GuardKind.DATE),
    "tense": ("Anna is chair", "Anna was chair", GuardKind.DATE),
    "negation": ("retry the job", "do not retry the job", GuardKind.NEGATION),
    "negation cut short": ("it works", "it doesn't works", GuardKind.NEGATION),
    "antonym": ("it improves ranking", "it regresses ranking", GuardKind.ANTONYM),
    "prefix": ("the path is stable", "the path is unstable", GuardKind.ANTONYM),
    "another of its kind": ("a red door opens", "a blue door opens", GuardKind.ANTONYM),
    "quantifier": ("all tests pass", "some tests pass", GuardKind.QUANTIFIER),
    "modal": ("it must run", "it may run", GuardKind.QUANTIFIER),
    "condition": ("ship it", "ship it if green", GuardKind.QUANTIFIER),
    "version": ("we use Python 3.11", "we use Python 3.12", GuardKind.NAME),
    "trailing zero": ("we use Python 3.1", "we use Python 3.10", GuardKind.NAME),
    "name": ("mail goes to Anna", "mail goes to Bert", GuardKind.NAME),
    "path": ("logs lie in var/log", "logs lie in var/tmp", GuardKind.NAME),
    "address": ("write to a@b.org", "write to c@b.org", GuardKind.NAME),
    "person": ("I trust her", "I trust him", GuardKind.NAME),
    "order": ("Anna manages Ben", "Ben manages Anna", GuardKind.ORDER),
    "direction": ("the train goes to Oslo", "the train goes from Oslo", GuardKind.ORDER),
    "slot": ("Anna lives in Paris", "Anna lives in Rome", GuardKind.SLOT),
}


@pytest.mark.requirement("J-04")
@pytest.mark.parametrize(("old", "new", "guard"), FIRES.values(), ids=FIRES)
def test_a_guard_fires_for_what_it_is_there_for(old: str, new: str, guard: GuardKind):
    assert guard in guards(old, new)
    assert guard in guards(new, old)


QUIET = {
    "converted bytes": ("the file has 1.5 GB", "the file has 1500 MB"),
    "converted time": ("it takes 90 min", "it takes 1.5 h"),
    "separators": ("1,000 people came", "1000 people came"),
    "words": ("twenty two people came", "22 people came"),
    "percent sign": ("a share of 5 %", "a share of 5 percent"),
    "dates": ("we met on 2025-05-03", "we met on 3 May 2025"),
    "resolved days": ("we met yesterday", "we met on 4 January 2026"),
    "two negations": ("it is never not open", "it is open"),
    "articles": ("the door opens", "a door opens"),
}


@pytest.mark.requirement("J-04")
@pytest.mark.parametrize(("old", "new"), QUIET.values(), ids=QUIET)
def test_what_is_only_written_otherwise_sets_off_no_guard(old: str, new: str):
    assert guards(old, new) == ()


@pytest.mark.requirement("J-04")
def test_neither_a_speed_nor_several_of_a_day_are_names():
    assert GuardKind.NAME not in guards("drive at 50 km/h", "drive at 50 kilometers per hour")
    assert GuardKind.NAME not in guards("we swim every Thursday", "we swim on Thursdays")


def test_each_guard_says_why():
    compared = compare_readings(parse_statement("all 5 tests pass"), parse_statement("some 6 tests pass"))

    assert compared.why(GuardKind.NUMBER) == "The numbers differ: 5 and 6."
    assert "all, some" in compared.why(GuardKind.QUANTIFIER)
    assert compared.why(GuardKind.DATE) == ""


NUMBERS = st.integers(0, 10**6)


@given(one=NUMBERS, other=NUMBERS)
def test_two_numbers_part_and_one_does_not(one: int, other: int):
    fired = GuardKind.NUMBER in guards(f"the hall holds {one} people", f"the hall holds {other:,} people")

    assert fired == (one != other)


@given(amount=st.integers(1, 10_000))
def test_a_converted_quantity_is_the_same_quantity(amount: int):
    assert guards(f"the disk has {amount} GB", f"the disk has {amount * 1000} MB") == ()
    assert GuardKind.UNIT in guards(f"the disk has {amount} GB", f"the disk has {amount} MB")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The archive is closed on Mondays", "The archive is not open on Mondays"),
        ("Amina is older than Halima", "Halima is younger than Amina"),
    ],
    ids=["a denied opposite", "a relation turned around"],
)
def test_an_opposite_that_is_denied_or_turned_around_keeps_nothing_apart(old: str, new: str):
    found = compare_readings(parse_statement(old), parse_statement(new))

    assert found.fired
    assert found.find_parting_guard(sure=False) is None


def test_only_who_is_sure_overrules_a_negation_and_nobody_overrules_a_number():
    denied = compare_readings(
        parse_statement("no grapes for the dog"), parse_statement("grapes are off limits for the dog")
    )
    numbers = compare_readings(parse_statement("the hall seats 40"), parse_statement("the hall seats 50"))

    assert denied.find_parting_guard(sure=False)
    assert denied.find_parting_guard(sure=True) is None
    assert numbers.find_parting_guard(sure=True)
