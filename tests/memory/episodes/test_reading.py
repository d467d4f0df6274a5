"""What rules read of a conversation."""

import pytest
from tests.memory.episodes.talking import turns

from festinger.memory.episodes.episode import Lesson
from festinger.memory.episodes.reading import kind_of, lessons
from festinger.memory.kinds import Kind


def read(*said: tuple[str, str], most: int = 5) -> list[Lesson]:
    return lessons(turns(*said), most=most)


@pytest.mark.requirement("M-55")
@pytest.mark.parametrize(
    ("said", "content", "kind", "decided"),
    [
        (
            "Please remember that the vault code changes on Mondays.",
            "The vault code changes on Mondays.",
            "fact",
            False,
        ),
        ("Note: Ann is the owner of billing.", "Ann is the owner of billing.", "fact", False),
        ("We decided to use Postgres for billing.", "We decided to use Postgres for billing.", "fact", True),
        ("I prefer dark roast coffee.", "I prefer dark roast coffee.", "preference", False),
        ("The staging server runs on port 5433.", "The staging server runs on port 5433.", "fact", False),
    ],
    ids=["remember", "note", "decided", "prefer", "slot"],
)
def test_a_cue_makes_a_sentence_a_lesson(said: str, content: str, kind: str, decided: bool):
    [found] = read(("user", f"Good morning. {said} Thanks!"))

    assert (found.content, found.kind, found.is_decision) == (content, kind, decided)
    assert (found.turns, found.by_model) == ((1,), False)


@pytest.mark.requirement("M-55")
@pytest.mark.parametrize(
    "said",
    [
        "Is the staging server on port 5433?",
        "Thank you so much!",
        "The build is running right now.",
        "Let me check the logs.",
        "Remember?",
        "My tea is cold already.",
        "The token of the server is [redacted:github_token].",
        "Maybe Anna is the new director.",
        "In the opera, Anna is a queen.",
        'The book says: "Anna is a thief and lives in a tower."',
    ],
    ids=[
        "question",
        "thanks",
        "now",
        "let me",
        "remember",
        "moment",
        "secret",
        "supposed",
        "fiction",
        "quoted",
    ],
)
def test_talk_is_no_lesson(said: str):
    assert read(("user", said)) == []


@pytest.mark.requirement("M-55")
def test_what_somebody_wants_kept_is_read_whatever_leads_up_to_it():
    said = (
        "By the way, remember that my tea is cold already.",
        "Remember that, as I said before, Anna is a pilot.",
    )

    assert [lesson.content for lesson in read(*(("user", each) for each in said))] == [
        "My tea is cold already.",
        "Anna is a pilot.",
    ]


@pytest.mark.requirement("M-55")
def test_only_persons_are_read_and_no_more_than_wanted():
    said = [f"Remember that door {name} has code {name}{name}." for name in "abcdefgh"]

    assert read(("assistant", said[0]), ("tool", said[1])) == []
    assert [each.turns for each in read(*(("user", each) for each in said))] == [(1,), (2,), (3,), (4,), (5,)]
    assert read(("user", said[0]), most=0) == []


@pytest.mark.requirement("M-55")
def test_what_somebody_asks_to_be_remembered_goes_before_what_is_only_said():
    plain = [("user", f"The server {name} runs on port 80{at}.") for at, name in enumerate("abcde")]

    found = read(*plain, ("user", "Please remember that the vault is in Oslo."))

    assert "The vault is in Oslo." in [each.content for each in found]
    assert len(found) == 5


@pytest.mark.requirement("M-56")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Ann loves long walks", Kind.PREFERENCE),
        ("Always run the linter before a commit", Kind.PROCEDURAL),
        ("Actually, the port is 81", Kind.CORRECTION),
        ("The port is 81", Kind.FACT),
    ],
    ids=["preference", "procedure", "correction", "fact"],
)
def test_the_kind_is_read_by_rule(text: str, kind: Kind):
    assert kind_of(text) is kind
