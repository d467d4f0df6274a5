"""What does a statement fill in?"""

import pytest

from festinger.judge.model import Cardinality, Slot
from festinger.judge.rules.parse import parse_statement

FILLED = {
    "a place": ("Anna lives in Paris.", "anna", "liv in", "paris", Cardinality.ONE),
    "a move": ("Anna has moved to Bergen.", "anna", "liv in", "bergen", Cardinality.ONE),
    "a move of who speaks": ("I moved to Bergen", "user", "liv in", "bergen", Cardinality.ONE),
    "a move of a thing": ("The team moved to Postgres", "team", "mov to", "postgres", Cardinality.UNKNOWN),
    "a move to a thing": ("Anna moved to the sofa", "anna", "mov to", "sofa", Cardinality.UNKNOWN),
    "after what leads up": ("By the way, Anna lives in Paris.", "anna", "liv in", "paris", Cardinality.ONE),
    "whoever speaks": ("I now live in Rome", "user", "liv in", "rome", Cardinality.ONE),
    "what is mine": ("My job title is Lead", "user", "job titl", "lead", Cardinality.ONE),
    "what is the user's": ("The user's work state is On Leave.", "user", "work stat", "on leave", Cardinality.ONE),
    "the A of S": ("The capital of Norland is Ost", "norland", "capital", "ost", Cardinality.ONE),
    "the A that S does": ("The music that Kim plays is jazz", "kim", "music plai", "jazz", Cardinality.ONE),
    "a typed value": ("Kim plays the position of keeper", "kim", "plai position of", "keeper", Cardinality.ONE),
    "once and for all": ("Acme was founded by Ann Lee", "acme", "found by", "ann lee", Cardinality.FIXED),
    "a birth": ("The user was born in Lima", "user", "bear in", "lima", Cardinality.FIXED),
    "one of many": ("Anna likes tea", "anna", "lik", "tea", Cardinality.MANY),
    "a friend": ("Anna's friend is called Bo", "anna", "friend call", "bo", Cardinality.MANY),
    "a line of a record": ("Ann Lee (my boss), residence: Oslo", "ann lee", "residenc", "oslo", Cardinality.ONE),
    "a wish": ("For coffee I want this: black, no sugar", "user", "coffe", "black no sugar", Cardinality.ONE),
    "a count": ("The team has 3 printers", "team", "have printer", "3", Cardinality.ONE),
    "an answer": ("Does the user have pets? No.", "user", "pet", "no", Cardinality.ONE),
    "a scene": ("The man is drinking cider", "man", "drink", "cider", Cardinality.UNKNOWN),
}


@pytest.mark.requirement("J-04")
@pytest.mark.parametrize(("text", "subject", "attribute", "value", "holding"), FILLED.values(), ids=FILLED)
def test_a_plain_frame_fills_a_slot(text: str, subject: str, attribute: str, value: str, holding: Cardinality):
    assert parse_statement(text).slots[0] == Slot(subject=subject, attribute=attribute, value=value, holding=holding)


EMPTY = {
    "nobody in particular": "A man is running",
    "some": "Young children are at the fair",
    "a number of them": "The two women are friends",
    "a pronoun": "She lives in Paris",
    "two sentences": "Anna lives in Paris. She works in Rome.",
    "no verb": "Paris in spring",
    "nothing": "",
    "an order": "Deploy the service to staging",
}


@pytest.mark.parametrize("text", EMPTY.values(), ids=EMPTY)
def test_what_fits_no_frame_fills_nothing(text: str):
    assert parse_statement(text).slots == ()


IN_PASSING = {
    "only child": ("User grew up as an only child", "sibl", "no"),
    "count": ("The user has 2 siblings", "sibl", "yes"),
    "pronouns": ("User uses she/her pronouns at work", "gender", "female"),
    "birthplace": ("Born and raised in Lima and never left", "bear in", "lima"),
    "study": ("User holds a degree in Marine Biology", "major", "marine biology"),
    "kin": ("User says their father's name is Al Park and is proud", "father nam", "al park"),
}


@pytest.mark.parametrize(("text", "attribute", "value"), IN_PASSING.values(), ids=IN_PASSING)
def test_facts_of_a_life_are_read_in_passing(text: str, attribute: str, value: str):
    found = {(slot.subject, slot.attribute): slot.value for slot in parse_statement(text).slots}

    assert found["user", attribute] == value


def test_what_is_said_of_others_is_not_about_who_speaks():
    assert all(slot.subject != "user" for slot in parse_statement("Ann Lee (my boss), family: an only child").slots)
