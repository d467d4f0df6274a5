"""What a memory holds after a stream of statements.

The product learns the stream as a user's does, in a space of its own. The baseline `nearest_wins` replaces whatever is
nearest. Only texts and their order are seen.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

import numpy as np

from benchmarks.judging import JudgingTexts
from festinger.client.memory import Memory
from festinger.ids import MemoryId, Origin
from festinger.judge.model import Relation
from festinger.memory.learn.result import Learned
from festinger.memory.learn.statement import LearnRequest
from festinger.services.access import add_space


@dataclass(slots=True)
class StreamResult:
    """What became of the statements, by their position in the stream."""

    active: set[int] = field(default_factory=set)
    superseded_by: dict[int, int] = field(default_factory=dict)
    merged_into: dict[int, int] = field(default_factory=dict)
    conflicts: dict[int, set[int]] = field(default_factory=dict)
    pending: set[int] = field(default_factory=set)


Learner = Callable[[Sequence[str]], Awaitable[StreamResult]]


def through(memory: Memory) -> Learner:
    """The product: each stream in a space of its own, as the word of a person."""

    async def learner(stream: Sequence[str]) -> StreamResult:
        space = await add_space(memory._app, f"stream-{uuid4()}")  # noqa: SLF001 - the library makes no spaces
        own = replace(memory, space=space.id)
        requests = [LearnRequest(text=text, origin=Origin.PERSON) for text in stream]
        return held_after(await own.learn_many(requests))

    return learner


def held_after(learned: Sequence[Learned]) -> StreamResult:
    """What became of statements, by their position, as `learn` reported."""
    held = StreamResult()
    places: dict[MemoryId, int] = {}
    for place, each in enumerate(learned):
        if each.memory is None:
            continue
        if each.memory.id in places:
            held.merged_into[place] = places[each.memory.id]
            continue
        places[each.memory.id] = place
        gone = {places[old] for old in each.superseded if old in places}
        held.superseded_by |= dict.fromkeys(gone, place)
        held.active -= gone
        if each.pending:
            held.pending.add(place)
        if each.conflict:
            against = [match.id for match in each.matched if match.relation is Relation.CONTRADICTS]
            held.conflicts[place] = {places[old] for old in against if old in places}
        else:
            held.active.add(place)
    return held


def nearest_wins(texts: JudgingTexts, threshold: float) -> Learner:
    """Replace the nearest live statement above a cosine; identical words are one statement."""

    async def learner(stream: Sequence[str]) -> StreamResult:
        held = StreamResult()
        for place, text in enumerate(stream):
            known = sorted(held.active)
            if known:
                cosines = np.stack([texts.vectors[stream[old]] for old in known]) @ texts.vectors[text]
                best = int(np.argmax(cosines))
                if stream[known[best]] == text:
                    held.merged_into[place] = known[best]
                    continue
                if cosines[best] >= threshold:
                    held.superseded_by[known[best]] = place
                    held.active.remove(known[best])
            held.active.add(place)
        return held

    return learner
