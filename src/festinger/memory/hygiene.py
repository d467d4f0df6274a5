"""Which statements that nobody asked to learn are not worth keeping, and by what name are they refused?

A person who says `learn this` is believed. What a job read somewhere must be more than talk: long enough, no sign of
life, no question, true beyond this moment, and not the prompt said over again. Pure. What was forgotten, and what
nothing supports, is found out where that is known.
"""

from collections.abc import Collection
from enum import StrEnum

from festinger.memory.gist import content_words
from festinger.text.hygiene import is_heartbeat, is_question, is_transient
from festinger.text.overlap import MOSTLY, share_within

SHORTEST = 10
FEWEST_WORDS = 2


class Reason(StrEnum):
    """Why a statement was refused."""

    TOO_SHORT = "too_short"
    RESTATED_PROMPT = "restated_prompt"
    HEARTBEAT = "heartbeat"
    TRANSIENT = "transient"
    QUESTION = "question"
    UNSUPPORTED = "unsupported"
    DUPLICATE = "duplicate_refusal"


def unworthy(text: str, *, prompts: frozenset[tuple[str, ...]] = frozenset()) -> Reason | None:
    """Why a statement is not worth keeping; none if it is. `prompts` are the shingles of what the agent was told
    to be."""
    if is_heartbeat(text):
        return Reason.HEARTBEAT
    if len(text) < SHORTEST or len(content_words(text)) < FEWEST_WORDS:
        return Reason.TOO_SHORT
    if share_within(text, prompts) >= MOSTLY:
        return Reason.RESTATED_PROMPT
    if is_question(text):
        return Reason.QUESTION
    return Reason.TRANSIENT if is_transient(text) else None


SUPPORT = 0.3
"""Share of its content words that a statement has from the turns that it is said to come from."""
SURE = 0.6
"""How sure whoever read it must be."""


def is_supported(text: str, turns: Collection[str], *, confidence: float) -> bool:
    """Whether what was read in some turns really stands in them."""
    words = content_words(text)
    if not turns or not words or confidence < SURE:
        return False
    said = frozenset().union(*(content_words(turn) for turn in turns))
    return len(words & said) / len(words) >= SUPPORT
