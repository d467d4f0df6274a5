"""What does a person say in a conversation that is worth learning, as rules can read it?

Sentences that ask to be remembered, decisions, and of preferences and plain statements of how something is those that
last. Rules read the turns of persons alone: what models and tools say needs somebody who understands it. Pure; whether
what was read is learnt is left to `learn`.
"""

import re
from collections.abc import Sequence

from festinger.ids import Origin
from festinger.judge.reading import read
from festinger.memory.episodes.episode import Lesson, Role, Turn
from festinger.memory.episodes.transcript import sentences
from festinger.memory.hygiene import unworthy
from festinger.memory.kinds import Kind
from festinger.text.lasting import is_lasting
from festinger.text.lead_ins import without_lead_in
from festinger.text.secret_checks import MARK

_MARK = MARK.decode()
LONGEST = 500
"""Characters of a sentence that says one thing."""

_REMEMBER = re.compile(
    r"^(?:please\s+|also\s+|and\s+|so\s+)*"
    r"(?:remember(?:\s+this)?|note|keep\s+in\s+mind|don't\s+forget|do\s+not\s+forget|for\s+the\s+record|fyi)"
    r"\s*(?:that\b|:|,)\s*",
    re.IGNORECASE,
)
_DECIDED = re.compile(
    r"\b(?:we|i|they|the\s+team)(?:\s+have|'ve|\s+all)?\s+(?:decided|agreed|settled\s+on|chose|concluded)\b"
    r"|\bthe\s+decision\s+is\b|\blet's\s+go\s+with\b|\bwe(?:'ll|\s+will)\s+go\s+with\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:prefers?|preferred|favou?rites?|would\s+rather|likes?|loves?|hates?|dislikes?|can't\s+stand|enjoys?)\b",
    re.IGNORECASE,
)
_PROCEDURE = re.compile(
    r"^(?:always|never|before\s+\w+|after\s+\w+|whenever|to\s+\w+.*,)\b|\b(?:must|should)\s+(?:always|never)\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(r"^(?:no,|actually,?|correction:)\s", re.IGNORECASE)


def lessons(turns: Sequence[Turn], *, most: int) -> list[Lesson]:
    """What persons said that is worth learning: what they asked to be remembered first, then in its order."""
    found = [
        (lesson, rank, sentence.place)
        for sentence in sentences(turns)
        if sentence.turn.role is Role.USER
        and sentence.turn.origin is Origin.PERSON
        and (read_one := _read(sentence.text, sentence.turn.seq)) is not None
        for lesson, rank in [read_one]
    ]
    chosen = sorted(found, key=lambda each: (each[1], each[2]))[:most]
    return [lesson for lesson, _, _ in sorted(chosen, key=lambda each: each[2])]


def kind_of(text: str) -> Kind:
    """Which kind of memory a statement becomes."""
    if _CORRECTION.search(text):
        return Kind.CORRECTION
    if _PREFERS.search(text):
        return Kind.PREFERENCE
    return Kind.PROCEDURAL if _PROCEDURE.search(text) else Kind.FACT


def _read(text: str, turn: int) -> tuple[Lesson, int] | None:
    """The lesson of a sentence, and how much somebody wants it kept; 0 most."""
    bare = without_lead_in(text)
    wish = _REMEMBER.match(bare)
    told = without_lead_in(bare[wish.end() :].lstrip(", ") if wish else bare)
    asked_for = wish is not None
    decided = _DECIDED.search(told) is not None
    if len(told) > LONGEST or unworthy(told) is not None:
        return None
    if not (asked_for or decided) and _MARK in told:
        # What it was about has been taken out.
        return None
    if not (asked_for or decided or (is_lasting(told) and (_PREFERS.search(told) or read(told).slots))):
        return None
    content = told if told == text else told[:1].upper() + told[1:]
    rank = 0 if asked_for else 1 if decided else 2
    return Lesson(content=content, turns=(turn,), is_decision=decided, kind=kind_of(content)), rank
