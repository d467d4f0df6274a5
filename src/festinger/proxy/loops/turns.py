"""Does an agent repeat itself from turn to turn, and how far has it gone?

Every rule counts completed repeats at the end of the list of steps; one step that does not repeat ends them, so
recovery needs no rule of its own. A tool that is there for waiting may repeat five times as often. A call that
goes on while its results change is polling: it is told and never acted upon.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import pairwise, takewhile
from typing import Any

from festinger.proxy.loops.steps import Answer, Item, Step
from festinger.settings.tree import LoopSettings

POLL_FACTOR = 5
POLLING = 10
PERIODS = range(2, 6)
ALIKE = 0.9
LEAST_WORDS = 12


class TurnRule(StrEnum):
    SAME_CALL = "same_call"
    SAME_ERROR = "same_error"
    CYCLE = "cycle"
    SAME_ANSWER = "same_answer"
    NEAR_ANSWER = "near_answer"
    POLLING = "polling"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What repeats at the end of the steps, and how far up the ladder it has come."""

    rule: TurnRule
    count: int
    level: int
    """0 where it is not, or not yet, to be acted upon."""
    block: tuple[Item, ...]
    """One round of it, the latest."""


def repeats(items: Sequence[Item], settings: LoopSettings, *, noticed: bool = False) -> list[Repeat]:
    """Everything that repeats at the end, the highest level first.

    `noticed` says that the latest reply repeated itself while it streamed; it counts as one more equal answer.
    """
    if not items:
        return []
    found = [*_of_answers(items, noticed=noticed)] if isinstance(items[-1], Answer) else [*_of_steps(items)]
    graded = [
        Repeat(rule=rule, count=count, level=_level(rule, count, block, settings), block=block)
        for rule, count, block in found
        if count > 1
    ]
    return sorted(graded, key=lambda repeat: -repeat.level)


def worst(items: Sequence[Item], settings: LoopSettings, *, noticed: bool = False) -> Repeat | None:
    """The repeat that decides, if any reaches a level."""
    return deciding(repeats(items, settings, noticed=noticed))


def deciding(found: Sequence[Repeat]) -> Repeat | None:
    """The one of these repeats that decides, if any reaches a level."""
    return next((repeat for repeat in found if repeat.level), None)


def polling(found: Sequence[Repeat], settings: LoopSettings) -> Repeat | None:
    """A call among these that has gone on for long with changing results: worth telling, nothing more."""
    long = (repeat for repeat in found if repeat.rule is TurnRule.POLLING)
    return next((each for each in long if each.count >= POLLING * patience(each.block, settings)), None)


Counted = tuple[TurnRule, int, tuple[Item, ...]]


def _of_steps(items: Sequence[Item]) -> Iterator[Counted]:
    steps = [
        item
        for item in takewhile(lambda item: isinstance(item, Step), reversed(items))
        if isinstance(item, Step)
    ]
    latest = steps[0]
    same = _run(steps, lambda step: step.deed == latest.deed)
    equal = _run(steps, lambda step: step.whole == latest.whole)
    yield TurnRule.SAME_CALL, equal, (latest,)
    yield TurnRule.SAME_ERROR, _run(steps[:same], lambda step: step.is_error), (latest,)
    if equal < same:
        yield TurnRule.POLLING, same, (latest,)
    if equal == 1:
        yield from _cycles(steps)


def _cycles(steps: Sequence[Step]) -> Iterator[Counted]:
    wholes = [step.whole for step in steps]
    for period in PERIODS:
        matched = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(wholes, wholes[period:], strict=False))
        )
        if matched >= period:
            yield TurnRule.CYCLE, (matched + period) // period, tuple(reversed(steps[:period]))
            return


def _of_answers(items: Sequence[Item], *, noticed: bool) -> Iterator[Counted]:
    answers = [
        item
        for item in takewhile(lambda item: isinstance(item, Answer), reversed(items))
        if isinstance(item, Answer)
    ]
    latest = answers[0]
    equal = _run(answers, lambda answer: answer.key.exact == latest.key.exact)
    yield TurnRule.SAME_ANSWER, equal + noticed, (latest,)
    near = sum(1 for _ in takewhile(lambda pair: _are_alike(*pair), pairwise(answers)))
    yield TurnRule.NEAR_ANSWER, near + 1, (latest,)


def _are_alike(one: Answer, other: Answer) -> bool:
    ours, theirs = one.key.shingles, other.key.shingles
    if min(one.key.words, other.key.words) < LEAST_WORDS:
        return False
    return len(ours & theirs) >= ALIKE * len(ours | theirs)


def _run(items: Sequence[Any], holds: Callable[[Any], bool]) -> int:
    return sum(1 for _ in takewhile(holds, items))


def _level(rule: TurnRule, count: int, block: Sequence[Item], settings: LoopSettings) -> int:
    if rule is TurnRule.POLLING:
        return 0
    borne = patience(block, settings)
    return sum(count >= bar * borne for bar in settings.thresholds)


def patience(block: Sequence[Item], settings: LoopSettings) -> int:
    """How many times as often this may repeat as anything else."""
    tools = [item.tool.lower() for item in block if isinstance(item, Step)]
    waits = tools and all(
        any(fnmatchcase(tool, pattern) for pattern in settings.poll_tools) for tool in tools
    )
    return POLL_FACTOR if waits else 1
