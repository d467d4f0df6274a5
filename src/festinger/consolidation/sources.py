"""Shows memories to a model as quoted data, and checks what it made of them.

The model cites sources by their number. A text is kept only if its numbers, names and negations occur in a source
that it cites.
"""

from collections.abc import Sequence
from typing import Any

from festinger.clock import iso
from festinger.consolidation.context import NightContext
from festinger.consolidation.night import Q
from festinger.judge.rules.parse import parse_statement
from festinger.judge.rules.words import stem
from festinger.memory.model import Memory, memory_from_row
from festinger.text.vocabulary import common_words

FEWEST_CITED = 2
NAME_ZIPF = 3.5
"""Zipf frequency below which a capitalized word is taken for a name."""


async def load_memories(context: NightContext, query: str, **parameters: Any) -> list[Memory]:
    """Load memories of the night's owner by a query of this package."""
    rows = await context.deps.store.all(Q[query], space=context.space, agent=context.agent, **parameters)
    return [memory_from_row(row) for row in rows]


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
    """Return why no source supports a text; None if its numbers, names and negation occur in them."""
    read, known = parse_statement(text), [parse_statement(each) for each in sources]
    words = frozenset().union(*(each.names | set(each.words) for each in known)) if known else frozenset()
    stems = frozenset().union(*(each.stemmed for each in known))
    if set(read.amounts.numbers) - {number for each in known for number in each.amounts.numbers}:
        return "a number that no source has"
    if read.amounts.days - frozenset().union(*(each.amounts.days for each in known)):
        return "a day that no source has"
    # The first word of a sentence has its capital from its place; a rare one is taken for a name.
    named = (read.names - words) | (read.capitalized - words - common_words(NAME_ZIPF))
    if {stem(name) for name in named} - stems:
        return f"a name that no source has: {min(named)}"
    negated = {each.negated for each in known}
    if read.negated not in negated:
        return "a negation that no source has" if read.negated else "what every source denies"
    return None


def reject_text(context: NightContext, text: str, cited: Sequence[Memory]) -> bool:
    """Whether a derived text must be dropped; counts why."""
    if len(cited) < FEWEST_CITED:
        context.counts["uncited"] += 1
        return True
    says_nothing_new = any(text.strip().casefold() == each.content.strip().casefold() for each in cited)
    if says_nothing_new or find_unsupported(text, [each.content for each in cited]) is not None:
        context.counts["unsupported"] += 1
        return True
    return False
