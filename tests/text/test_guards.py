"""What keeps the scanner of cues from hearing what nobody said, guard by guard.

Each guard has a sentence that it keeps out or puts right. With the guard taken away the scanner must hear something
else: so no guard stands there for nothing, and none is gone unnoticed.
"""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from festinger.text import assertion, cues, operands
from festinger.text.tokens import tokenize

Heard = list[tuple[str, str, str]]

NOBODY: frozenset[str] = frozenset()
NOTHING = re.compile(r"(?!)")


def heard(text: str) -> Heard:
    found = cues.extract_cues(text, tokenize(text, {"agent_pool"}.__contains__))
    return [(cue.subject, cue.parent, cue.dimension) for cue in found]


def never(*_given: Any, **_more: Any) -> bool:
    return False


def taken_nothing(*, cues: list[cues.RelationCue], until: int) -> cues.CueMatchResult:
    return TAKEN(cues=cues, until=0)


def any_context(reading: assertion.AnnotatedText, last: int, **_more: Any) -> operands.Operand | None:
    return operands.dimension_after(reading, last, dimensions=(), is_common=never)


TAKEN = cues.CueMatchResult

GUARDS: Mapping[str, tuple[Any, str, Any, str, Heard]] = {
    "the longer pattern wins": (
        cues, "PARTS", NOBODY, "dobby is a member of agent_pool", [("dobby", "agent_pool", "membership")],
    ),
    "a kind is no thing": (
        cues, "_KINDS", NOBODY, "gnommoweb is a kind of repo", [("gnommoweb", "repo", "type")],
    ),
    "an object is no subject again": (
        cues, "CueMatchResult", taken_nothing, "gnommoweb belongs to dobby is a bot", [("gnommoweb", "dobby", "membership")],
    ),
    "a common word after `of` is no dimension": (
        cues, "dimension_after", any_context, "gnommoweb is a list of files", [("gnommoweb", "list", "type")],
    ),
    "a phrase ends with what follows its noun": (
        operands, "_follows_noun", never, "ascii is a character encoding based on letters",
        [("ascii", "encoding", "type")],
    ),
    "an empty noun says nothing": (operands, "_EMPTY_NOUNS", NOBODY, "gnommoweb is a thing", []),
    "a number says nothing": (operands, "is_number", never, "gnommoweb is a 42", []),
    "a pronoun is nobody": (operands, "_PRONOUNS", NOBODY, "yesterday is a holiday", []),
    "what is pointed at is of the moment": (operands, "_POINTING", NOBODY, "the file is a symlink", []),
    "a question asserts nothing": (assertion, "_QUESTION", NOTHING, "so gnommoweb is a repo?", []),
    "what is supposed is not said": (
        assertion.AnnotatedText, "_supposes", never, "if gnommoweb is a repo we clone it", [],
    ),
    "what is denied is not said": (assertion.AnnotatedText, "_denies", never, "I don't think gnommoweb is a repo", []),
    "what is quoted is not said": (assertion, "_QUOTED", NOTHING, 'he wrote "gnommoweb is a repo" there', []),
}  # fmt: skip


@pytest.mark.requirement("W-17")
@pytest.mark.parametrize("name", GUARDS)
def test_without_a_guard_something_else_is_heard(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, guard, gone, text, right = GUARDS[name]

    assert heard(text) == right

    monkeypatch.setattr(place, guard, gone)
    assert heard(text) != right
