"""What do the rules say of two statements?"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import Origin
from festinger.judge.model import (
    Cardinality,
    CurrentSide,
    GuardKind,
    Judgement,
    JudgeStatement,
    PairFeatures,
    Relation,
    SimilarityThresholds,
    Slot,
)
from festinger.judge.rules.decide import NAME, judge

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
BARS = SimilarityThresholds(same=0.95, check=0.85)


def said(old: str, new: str, *, similarity: float | None = None, bars: SimilarityThresholds = BARS) -> Judgement:
    """What is said of two statements of a person, the second said after the first."""
    features = PairFeatures(similarity=similarity, bars=bars)
    return judge(JudgeStatement(text=old, order=1), JudgeStatement(text=new, order=2), features)


@pytest.mark.requirement("J-05")
def test_the_same_words_are_the_same_statement():
    found = said("Anna lives in Paris.", "  anna LIVES in paris")

    assert (found.relation, found.confidence, found.judge, found.final) == (Relation.SAME, 1.0, NAME, True)


@pytest.mark.requirement("J-05")
@pytest.mark.parametrize(
    ("old", "new", "is_of_another"),
    [
        ("The build of sensor 1 takes 80 seconds", "The build of sensor 2 takes 95 seconds", True),
        ("The team has 3 cats in 2 rooms", "The team has 4 cats in 3 rooms", False),
        ("Sensor 1 takes 80 seconds", "Sensor 1 takes 95 seconds", False),
        ("Patch p27 helps at startup", "Patch p28 hurts at startup", True),
        ("Patch p27 helps at startup", "Patch p27 is not in the release", False),
    ],
    ids=["two things", "counts", "one thing", "two names", "one name"],
)
def test_what_is_said_of_one_numbered_thing_says_nothing_of_another(old: str, new: str, is_of_another: bool):
    found = said(old, new)

    assert (found.relation is Relation.UNRELATED) is is_of_another


@pytest.mark.requirement("J-05")
def test_the_same_gist_without_a_guard_is_the_same():
    found = said("The backup runs on the big machine", "Backup runs on big machine")

    assert (found.relation, found.confidence) == (Relation.SAME, 0.95)


@pytest.mark.requirement("J-05", "M-25")
@pytest.mark.parametrize(
    ("similarity", "relation", "confidence"),
    [
        (0.95, Relation.SAME, 0.9),
        (0.94, Relation.UNSURE, 0.5),
        (0.85, Relation.UNSURE, 0.5),
        (0.84, Relation.UNRELATED, 0.9),
    ],
)
def test_where_words_decide_nothing_the_bars_of_the_profile_do(
    similarity: float, relation: Relation, confidence: float
):
    found = said(
        "deployments happen by merging to trunk", "to ship things people merge a branch", similarity=similarity
    )

    assert (found.relation, found.confidence) == (relation, confidence)


@pytest.mark.requirement("J-04", "M-25")
def test_a_guard_keeps_even_the_nearest_pair_apart():
    found = said("deployments happen by merging to trunk", "to ship things all people merge a branch", similarity=0.99)

    assert (found.relation, found.guards) == (Relation.UNSURE, (GuardKind.QUANTIFIER,))


def test_one_word_for_another_is_never_the_same_by_nearness_alone():
    found = said("people enjoy the gleaming garden", "people enjoy the drab garden", similarity=0.99)

    assert found.relation is Relation.UNSURE


@pytest.mark.requirement("M-25")
def test_without_a_profile_nearness_decides_nothing():
    found = said(
        "deployments happen by merging to trunk",
        "to ship things people merge a branch",
        similarity=0.99,
        bars=SimilarityThresholds(),
    )

    assert found.relation is Relation.UNSURE


UPDATES = {
    "where somebody lives": ("Anna lives in Paris", "Anna lives in Rome"),
    "an attribute of mine": ("My job title is Engineer", "My job title is Director"),
    "whoever speaks": ("I live in Oslo", "The user lives in Bergen"),
    "the one of something": ("The head coach of Rovers is Ann Lee", "The head coach of Rovers is Bo Sand"),
    "a typed value": ("Kim works in the field of chemistry", "Kim works in the field of medicine"),
    "a record's line": ("My travel card preference: a blue card", "My travel card preference: a metal card"),
    "yes and no": ("Does the user have children? No.", "Does the user have children? Yes."),
    "a count": ("The team has 3 printers", "The team has 5 printers"),
}


@pytest.mark.requirement("J-05", "J-04")
@pytest.mark.parametrize(("old", "new"), UPDATES.values(), ids=UPDATES)
def test_another_value_of_what_has_one_at_a_time_is_an_update(old: str, new: str):
    found = said(old, new)

    assert (found.relation, found.current, found.confidence) == (Relation.UPDATE, CurrentSide.NEW, 0.85)
    assert GuardKind.SLOT in found.guards


@pytest.mark.requirement("J-05")
@pytest.mark.parametrize("cue", ["Anna now lives in Rome", "Anna lives in Rome these days"])
def test_an_announced_change_is_surer(cue: str):
    found = said("Anna lives in Paris", cue)

    assert (found.relation, found.confidence) == (Relation.UPDATE, 0.95)


@pytest.mark.requirement("J-05")
def test_the_later_event_is_current_whichever_was_said_first():
    old = JudgeStatement(text="Anna lives in Paris", order=1, event_time=MONDAY)
    new = JudgeStatement(text="Anna lives in Rome", order=2, event_time=MONDAY - timedelta(days=9))

    # Two days: by the table, both dated statements stand; a slot with one value is an update all the same.
    assert judge(old, new).current is CurrentSide.OLD


@pytest.mark.requirement("J-05")
def test_without_an_order_nothing_is_replaced():
    found = judge(JudgeStatement(text="Anna lives in Paris"), JudgeStatement(text="Anna lives in Rome"))

    assert (found.relation, found.current) == (Relation.CONTRADICTS, CurrentSide.BOTH)


BOTH_HOLD = {
    "likes": ("Anna likes tea", "Anna likes coffee"),
    "friends": ("The user's friend is called Ann Lee", "The user's friend is called Bo Sand"),
    "conditions": (
        "The user's drink preference is Tea: on cold evenings",
        "The user's drink preference is Juice: after a run",
    ),
    "past and present": ("Anna used to live in Paris", "Anna lives in Rome"),
    "denial of another value": ("Anna lives in Paris", "Anna does not live in Rome"),
}


@pytest.mark.requirement("J-05")
@pytest.mark.parametrize(("old", "new"), BOTH_HOLD.values(), ids=BOTH_HOLD)
def test_what_can_both_hold_is_left_alone(old: str, new: str):
    found = said(old, new)

    assert (found.relation, found.current) == (Relation.UNRELATED, CurrentSide.BOTH)
    assert found.confidence >= 0.8


TWO_BEINGS = {
    "people": ("A man is peeling carrots", "A woman is peeling carrots"),
    "animals": ("Some cat is chasing a leaf", "Some horse is chasing a leaf"),
}


@pytest.mark.requirement("J-05")
@pytest.mark.parametrize(("old", "new"), TWO_BEINGS.values(), ids=TWO_BEINGS)
def test_two_who_do_the_same_do_not_exclude_each_other(old: str, new: str):
    assert said(old, new).relation is Relation.UNSURE


def test_whom_one_and_the_same_met_was_one_of_them():
    assert said("We met a man at noon", "We met a woman at noon").relation is Relation.CONTRADICTS


@pytest.mark.parametrize(("one", "other"), [("boat", "ship"), ("bikes", "bicycles"), ("keyboards", "piano")])
def test_two_names_of_one_thing_exclude_nothing(one: str, other: str):
    assert said(f"We keep the {one} here", f"We keep the {other} here").relation is not Relation.CONTRADICTS


@pytest.mark.requirement("J-05")
def test_an_attribute_that_nobody_knows_is_left_to_the_next_judge():
    found = said("Anna juggles clubs", "Anna juggles knives")

    assert (found.relation, found.final) == (Relation.UNSURE, False)
    assert found.confidence <= 0.5


FIXED = {
    "birthplace": ("The user was born in Lima", "The user was born in Quito"),
    "birthday": ("The user was born on 1988-05-14", "The user was born on 1990-05-14"),
    "name": ("The user's name is Jo Park", "The user's name is Al Park"),
    "siblings": ("The user has 1 sibling", "The user has 2 siblings"),
    "told in passing": ("Does the user have siblings? Yes.", "User often says they grew up as an only child."),
}


@pytest.mark.parametrize(("old", "new"), FIXED.values(), ids=FIXED)
def test_what_cannot_have_changed_is_a_contradiction(old: str, new: str):
    found = said(old, new)

    assert found.relation is Relation.CONTRADICTS
    assert found.confidence >= 0.8


def test_between_two_writings_the_later_one_corrects_the_earlier():
    old, new = (
        JudgeStatement(text=f"The club was founded by {who}", order=order, origin=Origin.DOCUMENT)
        for order, who in enumerate(("Ann Lee", "Bo Sand"))
    )

    assert judge(old, new).relation is Relation.UPDATE


@pytest.mark.requirement("J-01", "M-42")
def test_what_the_caller_knows_of_slot_and_subject_counts():
    slot = Slot(subject="anna", attribute="city", value="rome", holding=Cardinality.ONE)
    old = JudgeStatement(text="Paris it is", order=1, subject="Anna", slot=replace(slot, value="paris"))
    new = JudgeStatement(text="Rome it is", order=2, subject="Anna", slot=slot)

    assert judge(old, new).relation is Relation.UPDATE
    elsewhere = judge(old, replace(new, subject="Bert"))
    assert (elsewhere.relation, elsewhere.confidence) == (Relation.UNRELATED, 0.9)
    assert judge(old, replace(new, subject="Bert"), PairFeatures(same_subject=True)).relation is Relation.UPDATE


@pytest.mark.requirement("J-05")
def test_only_a_negation_contradicts():
    found = said("The job retries on failure", "The job does not retry on failure")

    assert (found.relation, found.confidence, found.guards) == (Relation.CONTRADICTS, 0.9, (GuardKind.NEGATION,))


@pytest.mark.requirement("J-05")
def test_a_negation_that_announces_a_change_updates():
    found = said("The job retries on failure", "The job no longer retries on failure")

    assert (found.relation, found.current, found.confidence) == (Relation.UPDATE, CurrentSide.NEW, 0.9)


@pytest.mark.requirement("J-05")
def test_only_an_opposite_contradicts():
    found = said("The new index improves ranking", "The new index worsens ranking")

    assert (found.relation, found.confidence) == (Relation.CONTRADICTS, 0.85)
    assert GuardKind.ANTONYM in found.guards


def test_two_things_that_are_nobody_in_particular_may_differ():
    found = said("A white dog runs through the snow", "A black dog runs through the snow")

    assert found.relation is Relation.CONTRADICTS
    assert found.confidence < 0.8, "two dogs may be meant, so it is left to the next judge"


@pytest.mark.requirement("J-05")
def test_two_days_are_two_events():
    found = said("The review met on 3 May 2025", "The review met on 4 May 2025")

    assert (found.relation, found.confidence) == (Relation.UNRELATED, 0.9)


@pytest.mark.requirement("J-05")
def test_the_same_words_of_two_days_are_two_events():
    old = JudgeStatement(text="Anna ran ten miles", event_time=MONDAY)
    new = JudgeStatement(text="Anna ran ten miles", event_time=MONDAY + timedelta(days=1))

    assert judge(old, new).relation is Relation.UNRELATED


@pytest.mark.requirement("J-05")
def test_all_the_old_words_and_more_refine():
    found = said("the cache lives in memory", "the cache lives in memory under heavy pressure")

    assert found.relation in (Relation.REFINES, Relation.UPDATE)
    plain = said("caches warm slowly", "caches warm slowly under heavy pressure")
    assert (plain.relation, plain.confidence) == (Relation.REFINES, 0.8)


def test_other_subjects_are_other_statements():
    found = said("Anna lives in Paris", "Bert lives in Paris", similarity=0.99)

    assert (found.relation, found.confidence) == (Relation.UNRELATED, 0.9)


TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(
        st.sampled_from(
            [
                "Anna",
                "Bert",
                "lives",
                "in",
                "Paris",
                "Rome",
                "not",
                "never",
                "5",
                "7",
                "GB",
                "MB",
                "the",
                "a",
                "is",
                "was",
                "born",
                "on",
                "3",
                "May",
                "2025",
                "likes",
                "tea",
                "My",
                "title",
                ":",
                "all",
                "some",
                "up",
                "down",
                "red",
                "blue",
                "if",
                "now",
                "used",
                "to",
                "?",
                "Yes",
                ".",
                "and",
                "two",
                "second",
                "user's",
            ]
        ),
        max_size=12,
    ).map(" ".join),
)
SYMMETRIC = (Relation.SAME, Relation.CONTRADICTS, Relation.UNRELATED)


@pytest.mark.requirement("J-04")
@given(old=TEXTS, new=TEXTS, similarity=st.none() | st.floats(0, 1))
def test_no_text_is_too_odd_and_guards_look_at_both_alike(old: str, new: str, similarity: float | None):
    there, back = said(old, new, similarity=similarity), said(new, old, similarity=similarity)

    assert set(there.guards) == set(back.guards)
    assert 0 <= there.confidence <= 1
    if there.relation is Relation.SAME:
        assert back.relation is Relation.SAME
    if there.relation in (Relation.SAME, Relation.UNRELATED) and back.relation in SYMMETRIC:
        assert there.relation is back.relation


@pytest.mark.requirement("J-04")
@given(old=TEXTS, new=TEXTS)
def test_no_pair_with_a_guard_is_the_same(old: str, new: str):
    found = said(old, new, similarity=1.0)

    harmless = {GuardKind.ORDER, GuardKind.QUANTIFIER}
    assert found.relation is not Relation.SAME or found.confidence == 1.0 or set(found.guards) <= harmless


@given(text=TEXTS)
def test_a_statement_is_the_same_as_itself(text: str):
    assert said(text, text).relation is Relation.SAME


HOSTILE = {
    "one letter": "a" * 1_000_000,
    "one word": "not " * 250_000,
    "digits": "1" * 1_000_000,
    "numbers": "1,000 " * 170_000,
    "quotes": "'" * 1_000_000,
    "colons": "My a: " * 170_000,
    "brackets": "(" * 1_000_000,
    "words of numbers": "hundred thousand " * 60_000,
    "marks": "a\u0301" * 500_000,
    "dates": "3 May 2020 " * 90_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_anything_is_said(text: str):
    found = said(text, f"{text[:-1]}b")

    assert found.judge == NAME


@pytest.mark.requirement("J-05")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mira works as a pilot.", "Mira's job is pilot."),
        ("Tomas enjoys long drives.", "Tomas likes long drives."),
        ("The mail server listens on port 2100.", "The port of the mail server is 2100."),
        ("Ben is a member of a hiking club, since May.", "Ben's a member of a hiking club, since May."),
    ],
)
def test_one_attribute_by_two_names_is_one(one: str, other: str):
    assert said(one, other).relation is Relation.SAME
    assert said(other, one).relation is Relation.SAME


@pytest.mark.requirement("J-05")
@pytest.mark.parametrize(
    ("old", "new", "relation"),
    [
        ("Mira's job is pilot.", "Mira now works as a baker.", Relation.UPDATE),
        ("The port of the mail server is 2100.", "The mail server listens on port 2800.", Relation.UPDATE),
        ("Tomas enjoys long drives.", "Tomas likes short walks.", Relation.UNRELATED),
        ("Tomas lives in room 12.", "Tomas lives in Oslo.", Relation.UNRELATED),
    ],
)
def test_what_has_one_value_by_two_names_is_replaced_and_what_has_many_is_not(old: str, new: str, relation: Relation):
    assert said(old, new).relation is relation


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The rehearsal on Monday took 40 minutes", "The rehearsal on Thursday took 25 minutes"),
        ("The invoice for May came to 40 euros", "The invoice for June came to 55 euros"),
    ],
)
def test_one_kind_of_event_on_two_days_is_two_events(old: str, new: str):
    assert said(old, new).relation is Relation.UNRELATED


def test_the_holder_of_a_role_is_its_value_on_either_side_of_the_verb():
    assert said("Farah is the treasurer of the club", "The treasurer of the club is Farah").relation is Relation.SAME
    assert said("Farah is the treasurer of the club", "Otis is the treasurer of the club").relation is Relation.UPDATE


def test_a_place_is_the_same_with_its_preposition():
    assert said("I live in Leipzig", "My home is in Leipzig").relation is not Relation.UPDATE
