"""Which messages of a looping history are left out?

Of the repeated rounds the first and the latest stay. A message goes only with its whole round: a call with all of
its results and what the framework said in between, so roles go on alternating and no result loses its call. What
a person or the system said always stays. The same history is always pruned in the same way, and a loop that goes on
after it was pruned only grows at its end, so that the prefix moves once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from festinger.proxy.loops.message import Message, Role
from festinger.proxy.loops.steps import Answer, Item
from festinger.proxy.loops.turns import Repeat
from festinger.settings.tree import LoopSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """What to leave out of a history, by places."""

    left_out: tuple[int, ...]
    after: int
    """The message to whose end the line is added."""
    line: str


def pruned_at(repeat: Repeat, settings: LoopSettings) -> int:
    """The number of rounds at which a loop of this weight is pruned first."""
    level = settings.ladder.index("prune") if "prune" in settings.ladder else len(settings.thresholds) - 1
    return ceil(settings.thresholds[level] * repeat.count / repeat.evidence)


def pruning(
    history: Sequence[Message], items: Sequence[Item], repeat: Repeat, *, keep: int, until: int | None = None
) -> Pruning | None:
    """How to shorten this history, whose own steps are `items`; `None` where nothing can go.

    `until` is the number of repeats at which the loop was pruned first: what came after those stays.
    """
    rounds = _rounds(items, repeat)
    hidden = max(0, repeat.count - len(rounds))
    counted = len(rounds) if until is None else min(len(rounds), until - hidden)
    gone = rounds[1 : max(1, counted - (keep - 1))]
    # Up to where the next round begins, so that a framework's words about a step go with it.
    ends = [following[0].first for following in rounds[2 : 2 + len(gone)]]
    places = [at for one, end in zip(gone, ends, strict=True) for at in range(one[0].first, end)]
    if not places or not all(_may_go(history[at]) for at in places):
        return None
    if not _is_apart(rounds) or not _is_periodic(rounds):
        return None
    line = f"[{len(gone)} repeated rounds of {len(repeat.block)} steps were left out here.]"
    return Pruning(left_out=tuple(places), after=places[0] - 1, line=line)


def _rounds(items: Sequence[Item], repeat: Repeat) -> list[Sequence[Item]]:
    """The repeated rounds that this history holds, oldest first, counted from where the loop began."""
    size = len(repeat.block)
    count = min(repeat.count, len(items) // size)
    start = len(items) - count * size
    while start and start + size <= len(items) and _is_same(items[start - 1], items[start - 1 + size]):
        start -= 1
    return [items[at : at + size] for at in range(start, start + count * size, size)]


def _is_same(one: Item, other: Item) -> bool:
    if isinstance(one, Answer) or isinstance(other, Answer):
        return isinstance(one, Answer) and isinstance(other, Answer) and one.key.exact == other.key.exact
    return one.whole == other.whole


def _is_apart(rounds: Sequence[Sequence[Item]]) -> bool:
    """Whether no two rounds share a message, as calls made in one turn would."""
    spans = list(_spans(rounds))
    return all(before < after for (_, before), (after, _) in pairwise(spans))


def _is_periodic(rounds: Sequence[Sequence[Item]]) -> bool:
    """Whether rounds of several steps hold them in the same order."""
    return len(rounds[0]) == 1 or all(
        _is_same(one, other)
        for before, after in pairwise(rounds)
        for one, other in zip(before, after, strict=True)
    )


def _spans(rounds: Sequence[Sequence[Item]]) -> Iterator[tuple[int, int]]:
    for one in rounds:
        yield min(item.first for item in one), max(item.last for item in one)


def _may_go(message: Message) -> bool:
    return not message.by_person and message.role is not Role.SYSTEM
