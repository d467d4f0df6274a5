"""Reads what an agent has done since a person last spoke.

A history becomes a list of steps: a call with its result, or an answer without a call. Each call of a turn is a
step of its own. Whatever stands before the last thing that a person said is over and is not read.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from festinger.proxy.loops.keys import (
    KEPT,
    AnswerKey,
    CallKey,
    Kept,
    ResultKey,
    answer_key,
    call_key,
    failure_key,
    means_to_wait,
    result_key,
    words_of,
)
from festinger.proxy.loops.message import Call, Message, Role
from festinger.proxy.loops.results import Outcome, complains, outcome_of
from festinger.proxy.loops.spoken import spoken_call

SHORT_MESSAGE = 200
SHOWN = 200
"""Characters of arguments, results and answers that a notice may quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A call that has its result."""

    tool: str
    call: CallKey
    result: ResultKey
    outcome: Outcome
    failure: bytes
    """How it failed, or seems to have failed; empty if neither."""
    means_to_wait: bool
    arguments: str
    said: str
    """How the result begins."""
    first: int
    last: int
    """The messages of the call and of its result, by their places in the history."""

    @property
    def deed(self) -> tuple[str, bytes]:
        return self.tool, self.call.exact

    @property
    def whole(self) -> tuple[str, bytes, bytes]:
        return self.tool, self.call.exact, self.result.steady


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A reply that calls nothing."""

    key: AnswerKey
    opening: str
    first: int
    last: int


Item = Step | Answer


class Keys:
    """What a session has read before: every step is made once, though it comes again with each request."""

    __slots__ = ("answer", "arguments", "result", "spoken", "steps")

    def __init__(self) -> None:
        self.arguments = Kept(call_key)
        self.result = Kept(result_key)
        self.answer = Kept(answer_key)
        self.spoken = Kept(_spoken)
        self.steps: OrderedDict[int, Step] = OrderedDict()


def last_person(history: Sequence[Message]) -> int | None:
    """The place of the last real user message."""
    return next((at for at in range(len(history) - 1, -1, -1) if history[at].by_person), None)


def task_start(history: Sequence[Message]) -> int | None:
    """The place of the last real user message that says something new.

    Whoever says the same again, alone or among other words, says nothing new: many frameworks say `Continue.` in a
    person's place, and people whose answer is not heard repeat it.
    """
    first: dict[str, int] = {}
    for at, message in enumerate(history):
        if message.by_person:
            first.setdefault(message.text.strip(), at)
    places = sorted(first.values(), reverse=True)
    if not places:
        return None
    start, shared = places[0], _short_words(history[places[0]])
    for at in places[1:]:
        if not shared:
            break
        words = _short_words(history[at])
        start = at if words and words <= shared else start
        shared &= words
    return start


def _short_words(message: Message) -> frozenset[str]:
    """The words of a short message; a long one is taken for something new."""
    return frozenset(words_of(message.text)) if len(message.text) <= SHORT_MESSAGE else frozenset()


def steps_of(history: Sequence[Message], keys: Keys) -> list[Item]:
    """What was done in the task, oldest first."""
    start = task_start(history)
    return list(_items(history, -1 if start is None else start, keys))


def _items(history: Sequence[Message], start: int, keys: Keys) -> Iterator[Item]:
    waiting: list[tuple[Call, int]] = []
    for at in range(start + 1, len(history)):
        message = history[at]
        if message.role is Role.ASSISTANT:
            calls = message.calls or keys.spoken(message.text)
            waiting = [(call, at) for call in calls]
            if not calls and message.text:
                yield _answer(message.text, at, keys)
        elif message.role is not Role.SYSTEM and waiting:
            call, made = waiting.pop(_place(waiting, message.answers))
            yield _step(call, message, keys, first=made, last=at)


def _spoken(text: str) -> tuple[Call, ...]:
    call = spoken_call(text)
    return () if call is None else (call,)


def _place(waiting: Sequence[tuple[Call, int]], answers: str) -> int:
    """Which call a result belongs to; where no id says it, results come in the order of the calls."""
    if len(waiting) == 1:
        return 0
    return next((place for place, (call, _) in enumerate(waiting) if answers and call.id == answers), 0)


def _step(call: Call, result: Message, keys: Keys, *, first: int, last: int) -> Step:
    place = hash((call.name, call.arguments, result.text, result.is_error, first, last))
    step = keys.steps.get(place)
    if step is None:
        step = keys.steps[place] = _made(call, result, keys, first=first, last=last)
        if len(keys.steps) > KEPT:
            keys.steps.popitem(last=False)
    return step


def _made(call: Call, result: Message, keys: Keys, *, first: int, last: int) -> Step:
    key = keys.arguments(call.arguments)
    outcome = outcome_of(f"{call.name} {call.arguments}", result.text, is_error=result.is_error)
    fails = outcome is Outcome.FAILED or complains(result.text)
    return Step(
        tool=call.name,
        call=key,
        result=keys.result(result.text),
        outcome=outcome,
        failure=failure_key(result.text, key) if fails else b"",
        means_to_wait=means_to_wait(call.name, call.arguments),
        arguments=call.arguments[:SHOWN],
        said=result.text[:SHOWN],
        first=first,
        last=last,
    )


def _answer(text: str, at: int, keys: Keys) -> Answer:
    return Answer(key=keys.answer(text), opening=text[:SHOWN], first=at, last=at)
