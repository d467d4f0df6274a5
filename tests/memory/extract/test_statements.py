"""What is read as a statement in a message, without an encoder and without a language model."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from wordfreq import zipf_frequency

from festinger.embedding.trained_encoder import open_text_classifier
from festinger.memory.extract.classifier import reader_path
from festinger.memory.extract.clauses import COMMON, split_clauses, strip_clause_lead_ins, to_word_shapes
from festinger.memory.extract.introductions import find_introductions
from festinger.memory.extract.statements import (
    asks_to_remember,
    can_be_statement,
    classify_kind,
    extract_statements,
    flatten_lists,
    is_task,
    may_hold_statements,
    resolve_pronoun,
)
from festinger.memory.model import Kind


async def texts(message: str) -> list[str]:
    return [each.text for each in await extract_statements(message)]


@pytest.mark.requirement("M-55")
@pytest.mark.parametrize(
    ("message", "stated"),
    [
        ("Please remember that the vault code changes on Mondays.", ["The vault code changes on Mondays"]),
        ("Note: Ann is the owner of billing.", ["Ann is the owner of billing"]),
        ("note to self - the boiler key is under the pot", ["The boiler key is under the pot"]),
        ("Store this for later: the boiler code is 88.", ["The boiler code is 88"]),
        ("Could you keep in mind that I work from home on Mondays", ["I work from home on Mondays"]),
        ("Remember these things:\n- tea is at 4\n- no nuts in the house", ["Tea is at 4", "No nuts in the house"]),
        ("memo -> the bins go out on Tuesday", ["The bins go out on Tuesday"]),
        (
            "Write this down: Ida has the spare key. The gate code is 4711.",
            ["Ida has the spare key", "The gate code is 4711"],
        ),
        ("I'm allergic to peanuts, can you suggest a snack?", ["I'm allergic to peanuts"]),
        ("btw prod is in eu-west-1, staging is in us-east-2", ["Prod is in eu-west-1", "Staging is in us-east-2"]),
        ("I'm a data engineer at Acme.", ["I'm a data engineer", "I work at Acme"]),
        ("I live in Lisbon.", ["I live in Lisbon"]),
        ("Our CI takes 14 minutes.", ["Our CI takes 14 minutes"]),
        ("We decided to use Postgres for billing.", ["We decided to use Postgres for billing"]),
        ("Our staging server runs on port 5433.", ["Our staging server runs on port 5433"]),
    ],
)
async def test_what_a_person_states_is_read_without_fillers_and_requests(message: str, stated: list[str]):
    assert await texts(message) == stated


class Convinced:
    """An encoder that takes every clause for a statement."""

    async def logits(self, texts: Sequence[str]) -> list[float]:
        return [9.0] * len(texts)


@pytest.mark.parametrize(
    ("message", "stated"),
    [
        ("Could you please never use tables?", ["Never use tables"]),
        ("btw can you always add the units? thanks", ["Always add the units"]),
        ("Can you add the units?", []),
        ("Why do you never use tables?", []),
    ],
)
async def test_a_wish_for_good_counts_also_as_a_question(message: str, stated: list[str]):
    found = [each.text for each in await extract_statements(message, encoder=Convinced())]
    assert [text for text in found if text != "Thanks"] == stated


@pytest.mark.parametrize(
    ("message", "stated"),
    [
        ("News on the budget: we got 6k more.", ["News on the budget: we got 6k more"]),
        ("My diet: I eat no gluten, any ideas?", ["My diet: I eat no gluten"]),
        ("Heads-up: we got 6k more.", ["We got 6k more"]),
        ("Two things: we got 6k more.", ["We got 6k more"]),
    ],
)
async def test_a_topic_before_a_colon_stays_with_what_is_said_of_it(message: str, stated: list[str]):
    assert [each.text for each in await extract_statements(message, encoder=Convinced())] == stated


@pytest.mark.requirement("M-55")
@pytest.mark.parametrize(
    "message",
    [
        "Is the staging server on port 5433?",
        "Thank you so much!",
        "The build is running right now.",
        "Let me check the logs.",
        "Remember?",
        "Do you remember that my name is Ann?",
        "The token of the server is [redacted:github_token].",
        "Translate to French: I live in Berlin and my cat is old.",
        "Write a test for the parser.",
        "What if we moved everything to Berlin?",
        "ok",
        "",
    ],
)
async def test_questions_tasks_and_small_talk_state_nothing(message: str):
    assert await texts(message) == []


async def test_a_pronoun_gets_the_noun_that_it_points_to():
    message = "Can you write a regex for our invoice numbers? They always start with INV-"

    assert await texts(message) == ["Our invoice numbers always start with INV-"]


def test_explicit_requests_are_known_at_once():
    assert asks_to_remember("hey, remember that the demo is on Friday")
    assert asks_to_remember("For the record: we use tabs")
    assert not asks_to_remember("I can't remember where the keys are, any idea?")
    assert not asks_to_remember("Do you remember what I said?")
    assert not asks_to_remember("Keep this short: explain entropy")
    assert not asks_to_remember("write down the steps of a rebase")
    assert not asks_to_remember("save it as csv")
    assert not asks_to_remember("put this into a table: a, b, c")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I prefer dark roast coffee", Kind.PREFERENCE),
        ("Never deploy on Fridays", Kind.PROCEDURAL),
        ("You must always answer in French", Kind.PROCEDURAL),
        ("The server runs on port 5433", Kind.FACT),
    ],
)
def test_taste_rule_and_fact_are_told_apart(text: str, kind: Kind):
    assert classify_kind(text) is kind


def test_markers_come_off_unless_they_are_part_of_the_statement():
    assert strip_clause_lead_ins("oh and btw, we use pnpm") == "we use pnpm"
    assert strip_clause_lead_ins("no peanuts in my food") == "no peanuts in my food"
    assert strip_clause_lead_ins("hm no wait, Jo does the till") == "Jo does the till"
    assert strip_clause_lead_ins("update the docs") == "update the docs"


def test_a_clause_knows_what_announced_it():
    clauses = split_clauses("Fix this mail: I live in Rome. Thanks a lot!")

    assert [(each.text, each.head) for each in clauses] == [
        ("Fix this mail:", ""),
        ("I live in Rome.", "Fix this mail"),
        ("Thanks a lot!", "Fix this mail"),
    ]


@pytest.mark.parametrize(
    ("text", "is_one_off"),
    [
        ("update gnommoweb to use FastAPI instead", True),
        ("rename the function to load_all", True),
        ("always update the changelog", False),
        ("port 9090 is taken by prometheus", False),
    ],
)
def test_work_to_be_done_once_is_a_task_and_a_rule_for_every_time_is_none(text: str, is_one_off: bool):
    assert is_task(text) is is_one_off


def test_a_sentence_ends_at_an_emoticon():
    found = split_clauses("The bike is gone :( I take the tram")

    assert [each.text for each in found] == ["The bike is gone.", "I take the tram"]
    assert [each.text for each in split_clauses("The bike is gone :(")] == ["The bike is gone."]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("Kong sits in front of every service. It's our API gateway.", "Kong is our API gateway"),
        ("Garlic is poison for me. Never put it in anything you suggest.", "Never put Garlic in anything you suggest"),
        ("Mayo smells bad to me. Never suggest it.", "Mayo smells bad to me: Never suggest it"),
        ("What is mayo made of? Never suggest it.", "Never suggest it"),
        ("What shall I buy for my uncle? He collects stamps.", "my uncle collects stamps"),
        ("Olga's back. She runs the till.", "Olga runs the till"),
        ("I met Olga and Sven. He runs the till.", "I met Olga and Sven. He runs the till"),
        ("Mila joined the band in March, she plays the oboe.", "Mila plays the oboe"),
        ("actually Kibana moved, it's on port 9000 now.", "Kibana is on port 9000 now"),
        ("They handed out new badges, mine is number 44.", "They handed out new badges, mine is number 44"),
        ("My aunt Vera agrees. Right now it's 50%, that's 19 hours.", "Right now it's 50%, that's 19 hours"),
        ("Is there a way to do that in awk? That's what we run.", "That's what we run"),
        (
            "Good news, the vet says it was never the heart, it's a tick.",
            "Good news, the vet says it was never the heart, it's a tick",
        ),
        ("Print me a quiz. They are nine years old.", "Print me a quiz. They are nine years old"),
    ],
)
def test_a_pronoun_gets_the_subject_of_the_sentence_before_or_keeps_that_sentence(message: str, text: str):
    clause = split_clauses(message)[-1]

    assert resolve_pronoun(clause.text.rstrip("."), clause) == text


@pytest.mark.parametrize(
    ("message", "text", "lists"),
    [
        (
            "About our band:\n- oboe\n- two drums\n- we rehearse on Mondays\nany ideas?",
            "About our band: oboe, two drums.\nWe rehearse on Mondays.\nany ideas?",
            {1},
        ),
        ("1. I sing alto\n2) who sings bass?", "I sing alto. Who sings bass?", {0}),
        ("Fix the spelling:\n- I sing altoo", "Fix the spelling:\n- I sing altoo", set()),
        ("Which is louder?\n\n* an oboe\n* a drum", "Which is louder?\n\n* an oboe\n* a drum", set()),
        ("no list - at all", "no list - at all", set()),
    ],
)
def test_a_list_of_ones_own_is_read_as_prose_and_one_below_a_task_stays(message: str, text: str, lists: set[int]):
    assert flatten_lists(message) == (text, frozenset(lists))


class Reading:
    """An encoder that is sure of clauses with one of its words."""

    def __init__(self, *sure: str) -> None:
        self._sure = sure

    async def logits(self, texts: Sequence[str]) -> list[float]:
        clauses = [text.partition(" [SEP]")[0] for text in texts]
        return [9.0 if any(word in clause for word in self._sure) else -4.0 for clause in clauses]


async def test_who_lists_some_facts_lists_facts():
    message = "Our band:\n- I sing alto\n- Jo plays the oboe\n- mostly old waltzes\n- no gigs in August"

    both = [each.text for each in await extract_statements(message, encoder=Reading("alto", "oboe"))]
    one = [each.text for each in await extract_statements(message, encoder=Reading("alto"))]

    assert both == ["I sing alto", "Jo plays the oboe", "Mostly old waltzes", "No gigs in August"]
    assert one == ["I sing alto"]


async def test_a_sentence_that_the_next_one_repeats_is_not_kept_twice():
    message = "We took in a stray. she's called Moth"

    assert [each.text for each in await extract_statements(message, encoder=Convinced())] == [
        "We took in a stray. she's called Moth"
    ]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("a toast for my cousin Bela please", ["Bela is my cousin"]),
        ("Write to our choir leader Mrs Odum that we're late", ["Mrs Odum is our choir leader"]),
        ("Nadia (my sister in law) is coming", ["Nadia is my sister in law"]),
        ("My neighbor Ilse's hens escaped", ["Ilse is my neighbor"]),
        ("my friend Bo and I need a tent", ["Bo is my friend"]),
        ("our landlord (Ilse) wants the keys", ["Ilse is our landlord"]),
        ("my cousin, Bela, plays the harp", ["Bela is my cousin"]),
        ("thanks for the tip about my harp, Bela, it sounds better", []),
        ("my old Fiat won't start", []),
        ("our Django cluster is down", []),
        ("our build server Jenkins cluster", []),
        ("my cats Mo and Flo are twins", []),
        ("my aunt speaks Tamil", []),
    ],
)
def test_a_name_is_introduced_in_passing(message: str, told: list[str]):
    found = find_introductions(message)

    assert [each.text for each in found] == told
    assert all(message[each.start : each.end].endswith(("Bela", "Odum", "law", "Ilse", "Bo")) for each in found)


async def test_an_introduction_is_kept_only_where_it_is_surely_ones_own():
    message = "a toast for my cousin Bela please"

    sure = await extract_statements(message, encoder=Reading("is my cousin"))

    assert [(each.text, each.only_as_news) for each in sure] == [("Bela is my cousin", False)]
    assert await extract_statements(message, encoder=Reading()) == []


async def test_who_is_introduced_is_not_kept_apart_from_what_is_told_about_them():
    told = await extract_statements("my cousin Bela is a diver, gift ideas?", encoder=Convinced())
    apart = await extract_statements(
        "my cousin Bela turns 40. I dive a lot, gift ideas?", encoder=Reading("cousin", "I")
    )

    assert [each.text for each in told if not each.only_as_news] == ["My cousin Bela is a diver"]
    assert [each.text for each in apart if not each.only_as_news] == ["My cousin Bela turns 40", "I dive a lot"]


def test_a_clause_whose_object_stands_before_it_is_not_cut_off():
    sentence = "We keep the rota on the shared drive, Katja owns it"

    assert [each.text for each in split_clauses(sentence)] == [sentence]


MESSAGES = Path(__file__).parents[3] / "benchmarks" / "training" / "statements.jsonl"
EVERY = 5
"""Of the labeled messages each fifth, which takes a second."""


async def test_no_message_in_which_the_reader_finds_a_statement_is_said_to_hold_none():
    messages = [json.loads(line)["message"] for line in MESSAGES.read_text("utf-8").splitlines()[::EVERY]]
    skipped = [message for message in messages if not may_hold_statements(message)]
    encoder = await open_text_classifier(reader_path())
    try:
        wrong = [message for message in skipped if await extract_statements(message, encoder=encoder)]
    finally:
        await encoder.close()

    assert wrong == []
    assert len(skipped) > len(messages) / 8


@pytest.mark.parametrize(
    "word", ["house", "to-do", "full-time", "under-12", "3/4", "zebra", "to-zebra", "m²", "c++", "日"]
)
def test_a_word_is_as_common_as_the_packaged_list_says(word: str):
    assert (to_word_shapes(f"x {word}")[1] == word) == (zipf_frequency(word, "en") >= COMMON)


@pytest.mark.parametrize(
    ("message", "stump"),
    [
        ("Only lot 3 and lot 5.", "Only lot 3 and lot 5."),
        ("Three singers left, so we are eleven now", "Three singers left"),
    ],
)
def test_a_fragment_that_says_nothing_alone_is_no_statement(message: str, stump: str):
    clauses = {clause.text: clause for clause in split_clauses(message)}

    assert not can_be_statement(clauses[stump], is_asked=False)


@pytest.mark.parametrize(
    "message", ["Only vegan food for me", "Only use tabs", "Kofi left", "Staff entrance: only by card"]
)
def test_a_short_wish_a_rule_and_a_note_are_statements(message: str):
    [clause] = split_clauses(message)

    assert can_be_statement(clause, is_asked=False)
