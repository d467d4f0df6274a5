"""Which details of a person are known, and what only looks like one?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.text.secrets import redact

DETAILS = {
    "mail": ("Write to ann.b+news@mail.example.org today", "email", "ann.b+news@mail.example.org"),
    "abroad": ("Ring +49 30 5550182-11 before noon", "phone", "+49 30 5550182-11"),
    "two noughts": ("Ring 0044 20 7946 0018 before noon", "phone", "0044 20 7946 0018"),
    "american": ("Her number: (212) 555-0187.", "phone", "(212) 555-0187"),
    "dotted": ("212.555.0187 is the office", "phone", "212.555.0187"),
    "at home": ("Telefon 030 / 5550182", "phone", "030 / 5550182"),
    "introduced": ("Call me at 5550187999", "phone", "5550187999"),
    "street": ("She lives at 221B Baker Street, London NW1 6XE now", "address", "221B Baker Street, London NW1 6XE"),
    "state": ("Send it to 300 Main St, Apt 4, Springfield, IL 62701", "address", "300 Main St, Apt 4, Springfield, IL 62701"),
    "strasse": ("Er wohnt in der Goethestraße 12, 10623 Berlin.", "address", "Goethestraße 12, 10623 Berlin"),
    "box": ("Mail goes to P.O. Box 4711", "address", "P.O. Box 4711"),
}  # fmt: skip

PLAIN = {
    "date": "It was on 2026-01-05, or 05/01/2026, at 10:30",
    "version": "Python 3.11.4 and 10.0.0.12",
    "count": "It ran 120 000 000 times",
    "order": "Order 12345678 has 3 items",
    "price": "It costs 1.200,00 euros",
    "film": "They watched 12 Angry Men",
    "way": "The best way 4 us",
    "handle": "Ask @anna about it",
    "room": "Meet in room 0123",
}


@pytest.mark.requirement("M-93")
@pytest.mark.parametrize("name", DETAILS)
def test_a_detail_gives_way_to_its_kind_and_nothing_around_it_does(name: str):
    text, kind, detail = DETAILS[name]

    found = redact(text, personal=True)

    assert found.text == text.replace(detail, f"[redacted:{kind}]")
    assert found.kinds == (kind,)


@pytest.mark.parametrize("name", DETAILS)
def test_a_detail_stays_where_nobody_asked(name: str):
    assert redact(DETAILS[name][0]).kinds == ()


@pytest.mark.parametrize("name", PLAIN)
def test_what_only_looks_like_one_stays(name: str):
    assert redact(PLAIN[name], personal=True).text == PLAIN[name]


def test_secrets_and_details_of_one_text_are_both_taken_out():
    found = redact("password: hunter2!Zx9, mail ann@example.org", personal=True)

    assert set(found.kinds) == {"password", "email"}
    assert "hunter2" not in found.text
    assert "ann@" not in found.text


@given(st.text(alphabet="+0123456789 -./()@a.bcStreet", max_size=80))
def test_twice_is_the_same_as_once(text: str):
    once = redact(text, personal=True)

    assert redact(once.text, personal=True).text == once.text
