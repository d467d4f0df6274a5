"""Which statements does a text take back?"""

import pytest

from festinger.text.cues import extract_cues, extract_retractions
from festinger.text.tokens import tokenize


def denied(text: str) -> list[tuple[str, str, str, bool]]:
    return [(cue.subject, cue.parent, cue.dimension, cue.is_isa) for cue in extract_retractions(text, tokenize(text))]


@pytest.mark.parametrize(
    ("words", "dimension", "is_isa"),
    [
        ("is not a", "type", True),
        ("is not an", "type", True),
        ("isn't a", "type", True),
        ("isn’t a", "type", True),
        ("is no longer a", "type", True),
        ("is no longer part of", "membership", False),
        ("is no longer owned by", "owned-by", False),
        ("is not part of", "membership", False),
        ("no longer belongs to", "membership", False),
        ("no longer runs on", "runs-on", False),
    ],
)
def test_a_denied_cue_is_taken_back(words: str, dimension: str, is_isa: bool):
    text = f"gnommoweb {words} fastapi."

    assert denied(text) == [("gnommoweb", "fastapi", dimension, is_isa)]
    assert extract_cues(text, tokenize(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "gnommoweb is a repo",
        "is gnommoweb not a repo?",
        "gnommoweb is not a repo?",
        "if gnommoweb is not a repo",
        'he said "gnommoweb is not a repo"',
        "the file is not a symlink",
        "it is not a repo",
        "gnommoweb is not, a repo",
        "gnommoweb no longer works",
        "gnommoweb is not here",
        "gnommoweb is not a bit",
    ],
)
def test_nothing_else_is_taken_back(text: str):
    assert denied(text) == []
