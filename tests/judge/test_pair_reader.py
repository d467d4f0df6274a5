"""The reader that ships: what it is asked, what its word counts for, and that it never merges past a guard."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.judge.judging import UNDECIDED, House, pair

from festinger.ids import MAIN_SPACE, Origin
from festinger.judge.cascade import judge_by_rules
from festinger.judge.model import CurrentSide, Judgement, Relation
from festinger.judge.pair_reader import (
    CLASSES,
    MOST_READ,
    NAME,
    NEAR_ENOUGH,
    PairReader,
    demote_weaker_updates,
    does_reading_count,
    judgement_from_scores,
    pair_text,
    select_pair_indexes,
)
from festinger.judge.rules import decide
from festinger.judge.rules.guards import compare_readings
from festinger.judge.rules.parse import parse_statement
from festinger.store.pool import Store

APART = "Tom works in search", "Mara works in search"
"""Rules go by the first words, and take these for two subjects."""


MANY_WORDS = " on every machine that stands in the cellar below the old town hall"
READ_ALIKE = compare_readings(*(parse_statement(each) for each in UNDECIDED))


class ScriptedScorer:
    """Gives one class nearly everything, or another one nearly as much."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.also: Relation | None = None
        self.asked: list[str] = []

    async def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += texts
        row = [8.0 if each is self.relation else 7.5 if each is self.also else 0.0 for each in CLASSES]
        return np.array([row] * len(texts), np.float32)


def judged_by(store: Store, relation: Relation) -> tuple[House, ScriptedScorer]:
    server, scorer = House(store), ScriptedScorer(relation)
    server.cascade.set_reader(PairReader(scorer))
    return server, scorer


@pytest.mark.requirement("J-03")
async def test_what_no_rule_fits_is_read(store: Store):
    server, scorer = judged_by(store, Relation.UNRELATED)

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*UNDECIDED, similarity=0.7)])

    assert (found.relation, found.judge, found.final) == (Relation.UNRELATED, NAME, True)
    assert scorer.asked == [pair_text(*UNDECIDED)]


@pytest.mark.requirement("J-03")
@pytest.mark.parametrize("read_as", [Relation.UPDATE, Relation.UNRELATED, Relation.CONTRADICTS])
async def test_where_rules_go_by_the_first_words_the_reader_counts_for_more(store: Store, read_as: Relation):
    led = "Tom leads the search team", "The search team has been Mara's since May"
    by_rules = decide.judge(pair(*led).old, pair(*led).new)
    assert (by_rules.relation, by_rules.tentative) == (Relation.UNRELATED, True)
    server, _ = judged_by(store, read_as)

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*led, similarity=0.7)])

    assert (found.relation, found.judge) == (read_as, NAME)


async def test_another_name_is_never_the_same_whatever_the_reader_says(store: Store):
    server, _ = judged_by(store, Relation.SAME)

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*APART, similarity=0.9)])

    assert (found.relation, found.final) == (Relation.UNRELATED, True)


async def test_what_may_be_the_same_or_news_waits_for_somebody_to_ask(store: Store):
    server, scorer = judged_by(store, Relation.SAME)
    scorer.also = Relation.UPDATE

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*UNDECIDED, similarity=0.9)])

    assert (found.relation, found.final) == (Relation.UNSURE, False)


@pytest.mark.parametrize(("relation", "current"), [(Relation.UPDATE, CurrentSide.NEW), (None, CurrentSide.BOTH)])
async def test_what_rather_stands_but_may_be_news_says_which_is_later(
    store: Store, relation: Relation | None, current: CurrentSide
):
    server, scorer = judged_by(store, Relation.UNRELATED)
    scorer.also = relation

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*UNDECIDED, similarity=0.9)])

    assert found.relation is (Relation.UNSURE if relation else Relation.UNRELATED)
    assert found.current is current
    assert relation is None or found.confidence == 0.0


@pytest.mark.parametrize(
    "texts",
    [
        ("Anna was born in Paris", "Anna was born in Rome"),
        ("A man in a red cap eats", "A man in a blue cap eats"),
        ("Anna (a friend), job: nurse", "Anna (a friend), city: Bonn"),
        ("Lena hired Marek", "It was Marek who hired Lena"),
    ],
    ids=["never changes", "any of a kind", "labels", "roles"],
)
async def test_where_the_reader_is_blind_it_replaces_and_merges_nothing(store: Store, texts: tuple[str, str]):
    for read_as in (Relation.UPDATE, Relation.SAME):
        server, _ = judged_by(store, read_as)
        [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*texts, similarity=0.9)])
        blind_to_news = texts[0].startswith("Lena")
        assert found.relation is not Relation.SAME
        assert blind_to_news or found.relation is not Relation.UPDATE


async def test_same_words_are_not_read(store: Store):
    server, scorer = judged_by(store, Relation.UNRELATED)

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair("Anna lives here", "anna lives  here.", similarity=0.9)])

    assert (found.relation, scorer.asked) == (Relation.SAME, [])


async def test_a_guard_is_never_overruled_into_the_same(store: Store):
    server, _ = judged_by(store, Relation.SAME)
    numbers = "Backups need about 40 GB a week", "About 50 GB a week go into backups"

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*numbers, similarity=0.9)])

    assert found.relation is not Relation.SAME


def test_only_the_nearest_few_are_read_and_neither_documents_nor_longer_texts():
    near = [pair(*UNDECIDED, similarity=NEAR_ENOUGH + step / 100) for step in range(MOST_READ + 3)]
    one = [replace(each, new_ref=near[0].new_ref) for each in near]
    far = pair(*UNDECIDED, similarity=NEAR_ENOUGH - 0.01)
    written = pair(*UNDECIDED, similarity=0.9)
    written = replace(written, new=replace(written.new, origin=Origin.DOCUMENT))

    longer = pair(UNDECIDED[0], f"{UNDECIDED[1]}. She began last year. It was in May.", similarity=0.9)

    assert select_pair_indexes([*one, far, written, longer]) == list(range(MOST_READ + 2, 2, -1))


@pytest.mark.requirement("J-03")
def test_a_statement_is_news_about_one_note():
    one, two, other = (pair(*UNDECIDED, similarity=0.7) for _ in range(3))
    two = replace(two, new_ref=one.new_ref)
    less, more, alone = (
        Judgement(relation=Relation.UPDATE, current=CurrentSide.NEW, confidence=sure, judge=NAME, reasoning="")
        for sure in (0.9, 0.95, 0.88)
    )

    found = demote_weaker_updates([less, more, alone], [one, two, other])

    assert (found[0].relation, found[0].current) == (Relation.UNRELATED, CurrentSide.BOTH)
    assert found[1:] == [more, alone]


@pytest.mark.requirement("J-03")
@pytest.mark.parametrize(("logit", "relation"), [(3.2, Relation.UPDATE), (2.0, Relation.UNSURE)])
def test_what_may_be_news_replaces_nothing_but_goes_first(logit: float, relation: Relation):
    statements, row = pair(*UNDECIDED, similarity=0.7), np.array([0.0, 0.0, logit, 0.0], np.float32)

    found = judgement_from_scores(row, statements, READ_ALIKE)

    assert (found.relation, found.current) == (relation, CurrentSide.NEW)


@pytest.mark.requirement("J-03")
@pytest.mark.parametrize(
    ("old", "new", "read_as", "counts"),
    [
        ("The build takes nine minutes.", "The build takes four minutes.", Relation.SAME, True),
        ("The build takes nine minutes.", f"The build takes four minutes{MANY_WORDS}.", Relation.UPDATE, True),
        ("The build takes nine minutes.", f"The build takes nine minutes{MANY_WORDS}.", Relation.SAME, False),
        ("The build takes nine minutes.", "The build got faster. It takes four minutes.", Relation.UPDATE, True),
        ("The build takes nine minutes.", "The build got slower. It takes nine minutes.", Relation.CONTRADICTS, False),
        ("The build takes long.", f"The build does not take long{MANY_WORDS}.", Relation.CONTRADICTS, True),
        ("The build takes long.", f"The build does not take long{MANY_WORDS}.", Relation.SAME, False),
        ("My rule for builds: wait.", f"My rule for builds: do not wait{MANY_WORDS}.", Relation.CONTRADICTS, False),
    ],
)
def test_of_long_statements_only_news_and_denials_count(old: str, new: str, read_as: Relation, counts: bool):
    compared = compare_readings(parse_statement(old), parse_statement(new))
    read = Judgement(relation=read_as, confidence=0.9, judge=NAME, reasoning="", guards=compared.guards)

    asked = pair(old, new, similarity=0.7)
    assert does_reading_count(read, asked, by_rules=judge_by_rules(asked)) is counts


DENIED = "The cook peels the carrots", "The cook doesn't peel the carrots"
DENIED_ELSEWHERE = "The cook peels the carrots", "The cook doesn't like guests who sing"


@pytest.mark.requirement("J-03")
@pytest.mark.parametrize(("texts", "is_found"), [(DENIED, True), (DENIED_ELSEWHERE, False)])
async def test_where_one_denies_what_the_other_states_the_reader_need_not_be_sure(
    store: Store, texts: tuple[str, str], is_found: bool
):
    server, scorer = judged_by(store, Relation.CONTRADICTS)
    scorer.also = Relation.UNRELATED

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*texts, similarity=0.5)])

    assert (found.relation is Relation.CONTRADICTS and found.final) is is_found


@pytest.mark.requirement("J-03")
@pytest.mark.parametrize(
    "texts",
    [
        ("A cook is peeling carrots", "The cook is washing a pan"),
        ("The cook peels the carrots", "It is not true that the cook does not peel the carrots"),
        ("Some of the cooks peel carrots", "Not all of the cooks peel carrots"),
    ],
    ids=["two scenes", "negated twice", "not all"],
)
async def test_where_the_reader_is_blind_it_contradicts_nothing(store: Store, texts: tuple[str, str]):
    server, _ = judged_by(store, Relation.CONTRADICTS)

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*texts, similarity=0.7)])

    assert found.relation is not Relation.CONTRADICTS


@pytest.mark.requirement("J-03")
async def test_a_denial_that_reads_as_the_same_is_no_contradiction(store: Store):
    only = pair(
        "Petra alone has the key to the archive", "Nobody besides Petra has the key to the archive", similarity=0.9
    )
    assert decide.judge(only.old, only.new, only.features).relation is Relation.CONTRADICTS
    server, _ = judged_by(store, Relation.SAME)

    [found] = await server.cascade.at_once(MAIN_SPACE, [only])

    assert found.relation is not Relation.CONTRADICTS


@pytest.mark.parametrize(
    "texts",
    [
        ("I play the piano", "I've been playing the piano since school"),
        ("The samples must stay in the lab", "The samples are not allowed to leave the lab"),
        ("Ticket 311 is for Ben", "Ticket 312 is for Ines"),
    ],
    ids=["an addition", "a denied opposite", "another ticket"],
)
async def test_what_agrees_or_is_about_another_thing_is_no_conflict(store: Store, texts: tuple[str, str]):
    server, _ = judged_by(store, Relation.CONTRADICTS)

    [found] = await server.cascade.at_once(MAIN_SPACE, [pair(*texts, similarity=0.9)])

    assert (found.relation, found.final) == (Relation.UNRELATED, True)


@pytest.mark.parametrize("read_as", [Relation.SAME, Relation.UPDATE, Relation.CONTRADICTS])
async def test_news_about_another_numbered_thing_is_unrelated_whatever_the_reader_says(store: Store, read_as: Relation):
    server, _ = judged_by(store, read_as)

    [found] = await server.cascade.at_once(
        MAIN_SPACE, [pair("Locker 18 belongs to Farah", "Locker 19 belongs to Otis now", similarity=0.9)]
    )

    assert found.relation is Relation.UNRELATED


async def test_a_statement_without_its_subject_is_read_with_it(store: Store):
    server, scorer = judged_by(store, Relation.UNRELATED)
    asked = pair("It juggles clubs", "It juggles knives", similarity=0.7)
    asked = replace(asked, old=replace(asked.old, unstated="red robot"), new=replace(asked.new, unstated="blue robot"))

    await server.cascade.at_once(MAIN_SPACE, [asked])

    assert scorer.asked == [pair_text("red robot: It juggles clubs", "blue robot: It juggles knives")]
