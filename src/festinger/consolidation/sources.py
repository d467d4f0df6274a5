"""Shows memories to a model as numbered quotes, and checks what it made of them.

A text is kept only if it cites at least two that were shown, and its numbers, names and negations occur in them.
"""

from collections.abc import Sequence

from festinger.clock import iso
from festinger.consolidation.context import NightContext
from festinger.judge.rules.parse import parse_statement
from festinger.judge.rules.words import stem
from festinger.memory.model import Memory
from festinger.text.vocabulary import common_words

FEWEST_CITED = 2
NAME_ZIPF = 3.5
"""Zipf frequency below which a capitalized word is taken for a name."""


def format_sources(memories: Sequence[Memory]) -> str:
    """Format memories as numbered quotes with origin and day."""
    return "\n".join(
        f"[{number}] ({memory.origin.value}, {iso(memory.event_time or memory.created_at)[:10]}) {memory.content}"
        for number, memory in enumerate(memories, 1)
    )


def select_cited(cites: Sequence[int], shown: Sequence[Memory]) -> list[Memory]:
    """Return the cited memories; numbers that were not shown are ignored."""
    return [shown[number - 1] for number in dict.fromkeys(cites) if 1 <= number <= len(shown)]


def find_unsupported(text: str, sources: Sequence[str]) -> str | None:
    """Return what of a text no source supports; None if its numbers, days, names and negation occur in them."""
    read, known = parse_statement(text), [parse_statement(each) for each in sources]
    words = {word for each in known for word in (*each.names, *each.words)}
    stems = {word for each in known for word in each.stemmed}
    if set(read.amounts.numbers) - {number for each in known for number in each.amounts.numbers}:
        return "a number"
    if read.amounts.days - {day for each in known for day in each.amounts.days}:
        return "a day"
    # The first word of a sentence has its capital from its place; a rare one is taken for a name.
    named = (read.names - words) | (read.capitalized - words - common_words(NAME_ZIPF))
    if {stem(name) for name in named} - stems:
        return "a name"
    return None if read.negated in {each.negated for each in known} else "a negation"


def reject_text(context: NightContext, text: str, cited: Sequence[Memory]) -> bool:
    """Whether a derived text must be dropped; counts why."""
    contents = [each.content for each in cited]
    is_copy = text.strip().casefold() in {each.strip().casefold() for each in contents}
    reason = ""
    if len(cited) < FEWEST_CITED:
        reason = "uncited"
    elif not text or is_copy or find_unsupported(text, contents) is not None:
        reason = "unsupported"
    context.counts[reason or "supported"] += 1
    return bool(reason)
