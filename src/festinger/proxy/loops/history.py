"""Reads the steps of a task and weighs the evidence that the agent loops.

A step is one call with its result, or an answer without a call; everything before a person's last message is
over. A step unlike all earlier ones is news and resets the count. Since then the agent went through its few
different steps a number of times; that number, with each step weighted, is the evidence. One repeated call, a
cycle of any length and hopping between a few calls are the same thing. These weigh little:
- a step before which time passed: the agent waits for something;
- a result that only confirms the call: the effect of a key press or a scroll shows elsewhere;
- a call that only resembles others: it may be one of many rows, files or pages.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from festinger.proxy.loops.keys import (
    KEPT,
    AnswerKey,
    CallKey,
    ChatMessage,
    ChatRole,
    ResultKey,
    TextCache,
    ToolCall,
    ToolOutcome,
    answer_key,
    call_key,
    classify_outcome,
    failure_key,
    has_failure_word,
    is_wait_call,
    parse_text_call,
    result_key,
    split_words,
)
from festinger.settings.tree import LoopSettings

SHORT_MESSAGE = 200
WORDS_KEPT = 4096
SHOWN = 200
"""Characters of arguments, results and answers that a notice may quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStep:
    """A call with its result."""

    tool: str
    call: CallKey
    result: ResultKey
    outcome: ToolOutcome
    failure: bytes
    """Key of its failure, certain or suspected; empty if there is none."""
    means_to_wait: bool
    arguments: str
    said: str
    """How the result begins."""
    first: int
    last: int
    """Indexes of the call's and the result's messages in the history."""

    @property
    def operation(self) -> tuple[str, bytes]:
        return self.tool, self.call.exact

    @property
    def whole(self) -> tuple[str, bytes, bytes]:
        return self.tool, self.call.exact, self.result.steady


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerStep:
    """A reply without calls."""

    key: AnswerKey
    opening: str
    first: int
    last: int


Item = ToolStep | AnswerStep


class StepCache:
    """Cache of parsed steps of a session: each is built once, though it comes again with every request."""

    __slots__ = ("answer", "arguments", "result", "spoken", "steps")

    def __init__(self) -> None:
        self.arguments = TextCache(call_key)
        self.result = TextCache(result_key)
        self.answer = TextCache(answer_key)
        self.spoken = TextCache(_parse_text_calls)
        self.steps: OrderedDict[int, ToolStep] = OrderedDict()


def last_person_index(history: Sequence[ChatMessage]) -> int | None:
    """Index of the last real user message."""
    return next((at for at in range(len(history) - 1, -1, -1) if history[at].by_person), None)


def task_start_index(history: Sequence[ChatMessage]) -> int | None:
    """Index of the last real user message that says something new.

    Repeating an earlier message, alone or among other words, is not new: many frameworks send `Continue.` in
    a person's place, and people repeat an answer that was not heard.
    """
    first: dict[str, int] = {}
    for at, message in enumerate(history):
        if message.by_person:
            first.setdefault(message.text.strip(), at)
    indexes = sorted(first.values(), reverse=True)
    if not indexes:
        return None
    start, shared = indexes[0], _words_if_short(history[indexes[0]])
    for at in indexes[1:]:
        if not shared:
            break
        words = _words_if_short(history[at])
        start = at if words and words <= shared else start
        shared &= words
    return start


def _words_if_short(message: ChatMessage) -> frozenset[str]:
    """The words of a short message; a long one counts as new."""
    return _words_of(message.text) if len(message.text) <= SHORT_MESSAGE else frozenset()


@lru_cache(WORDS_KEPT)
def _words_of(text: str) -> frozenset[str]:
    """The words of a text; a history comes again with every request."""
    return frozenset(split_words(text))


def parse_steps(history: Sequence[ChatMessage], keys: StepCache) -> list[Item]:
    """The steps of the task, oldest first."""
    start = task_start_index(history)
    return list(_iter_items(history, -1 if start is None else start, keys))


def _iter_items(history: Sequence[ChatMessage], start: int, keys: StepCache) -> Iterator[Item]:
    waiting: list[tuple[ToolCall, int]] = []
    for at in range(start + 1, len(history)):
        message = history[at]
        if message.role is ChatRole.ASSISTANT:
            calls = message.calls or keys.spoken(message.text)
            waiting = [(call, at) for call in calls]
            if not calls and message.text:
                yield AnswerStep(key=keys.answer(message.text), opening=message.text[:SHOWN], first=at, last=at)
        elif message.role is not ChatRole.SYSTEM and waiting:
            call, made = waiting.pop(_match_call(waiting, message.answers))
            yield _cached_step(call, message, keys, first=made, last=at)


def _parse_text_calls(text: str) -> tuple[ToolCall, ...]:
    call = parse_text_call(text)
    return () if call is None else (call,)


def _match_call(waiting: Sequence[tuple[ToolCall, int]], answers: str) -> int:
    """Index of the call that a result belongs to; without an id, results come in call order."""
    if len(waiting) == 1:
        return 0
    return next((key for key, (call, _) in enumerate(waiting) if answers and call.id == answers), 0)


def _cached_step(call: ToolCall, result: ChatMessage, keys: StepCache, *, first: int, last: int) -> ToolStep:
    key = hash((call.name, call.arguments, result.text, result.is_error, first, last))
    step = keys.steps.get(key)
    if step is None:
        step = keys.steps[key] = _build_step(call, result, keys, first=first, last=last)
        if len(keys.steps) > KEPT:
            keys.steps.popitem(last=False)
    return step


def _build_step(call: ToolCall, result: ChatMessage, keys: StepCache, *, first: int, last: int) -> ToolStep:
    key = keys.arguments(call.arguments)
    outcome = classify_outcome(f"{call.name} {call.arguments}", result.text, is_error=result.is_error)
    fails = outcome is ToolOutcome.FAILED or has_failure_word(result.text)
    return ToolStep(
        tool=call.name,
        call=key,
        result=keys.result(result.text),
        outcome=outcome,
        failure=failure_key(result.text, key) if fails else b"",
        means_to_wait=is_wait_call(call.name, call.arguments),
        arguments=call.arguments[:SHOWN],
        said=result.text[:SHOWN],
        first=first,
        last=last,
    )


READ = 400
"""Latest steps of a task that are weighed."""
LONGEST_CYCLE = 12
WAITED_SECONDS = 10.0
"""From a reply to the next request. Anything slower than this may be worth waiting for."""

SAME_ERROR, OTHER_ERROR = 0.8, 0.5
"""A failure that begins alike except for numbers, and any other."""
OTHER_TIME = 0.25
CONFIRMED, CONFIRMED_LONG = 0.1, 0.5
LONG = 80
"""Calls with at least this many argument characters are not repeated for their effect, as a key press is."""
ALIKE, ALIKE_SHORT, UNLIKE = 0.5, 0.05, 0.1
CYCLE_STEPS, CYCLE = 3, 4 / 3
"""Rounds of this many different steps weigh more: they hardly occur by chance."""
SHORT = 40
"""Characters up to which equal results of different calls say little."""
REPHRASED = 0.5
"""Minimum share of a failed call's own words found in other failed calls for it to be a rewording."""
WAITED, WAITED_FAILED = 0.02, 0.5

OFTEN = 3
"""Number of different results of one call from which on they are expected to differ."""

SIMILAR, SIMILAR_WITH_NEW_WORDS = 0.45, 0.7
"""Minimum share of common word pairs, if all words are known from earlier answers or if some are new."""
REWORDED = 0.5
COMPARED = 8
"""Different earlier answers that an answer is compared with."""


class RepetitionRule(StrEnum):
    SAME_CALL = "same_call"
    SAME_ERROR = "same_error"
    NEAR_CALL = "near_call"
    CYCLE = "cycle"
    SAME_ANSWER = "same_answer"
    NEAR_ANSWER = "near_answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRepetition:
    """What repeats at the end of the steps, and the level it has reached."""

    rule: RepetitionRule
    count: int
    """Rounds, unweighted."""
    level: int
    block: tuple[Item, ...]
    """The latest round."""
    evidence: float
    """Weighted rounds."""


Class = Hashable
CHANGING, FAILED = "changing", "failed"


def find_repetition(
    items: Sequence[Item],
    settings: LoopSettings,
    *,
    waits: Sequence[float] = (),
    witnessed: int = READ,
    noticed: bool = False,
) -> LoopRepetition | None:
    """Find what repeats at the end, if it reaches a level.

    `waits` has the seconds before each item. Only the latest `witnessed` items may open the breaker.
    `noticed` means that the latest reply repeated itself while streaming; it counts as one more equal answer.
    """
    items = items[-READ:]
    if not items or _is_clearly_new(items):
        return None
    known = waits[-len(items) :] or [0.0] * len(items)
    classes = _classify_items(items)
    says, lasts = _evidence_weights(items, classes), _time_weights(items, classes, known)
    streak = _find_streak(items, classes, says, lasts)
    if noticed and isinstance(items[-1], AnswerStep):
        streak = _Streak(streak.rounds + 1, streak.length + 1, streak.size)
    *lower, highest = settings.thresholds
    level = sum(streak.rounds >= bar for bar in lower)
    if level == len(lower):
        unseen = max(0, len(items) - witnessed)
        seen = [0.0] * unseen + lasts[unseen:]
        level += _find_streak(items, classes, says, seen).rounds >= highest
    if not level:
        return None
    return LoopRepetition(
        rule=_choose_rule(items[-streak.size :], items[-streak.length :]),
        count=streak.length // streak.size,
        level=level,
        block=tuple(items[-streak.size :]),
        evidence=streak.rounds,
    )


def _is_clearly_new(items: Sequence[Item]) -> bool:
    """Quick check whether the latest step resembles no earlier one, as in nearly all honest work."""
    latest = items[-1]
    if isinstance(latest, AnswerStep):
        return False
    call, failure = latest.call, latest.failure
    return not any(
        isinstance(item, ToolStep)
        and (item.call.alike == call.alike or (failure and item.failure == failure))
        and item.tool == latest.tool
        for item in items[:-1]
    )


class _Streak(NamedTuple):
    """Latest steps since the last news: weighted rounds, number of steps, number of different steps."""

    rounds: float = 0.0
    length: int = 1
    size: int = 1


def _find_streak(
    items: Sequence[Item], classes: Sequence[Class | None], says: Sequence[float], lasts: Sequence[float]
) -> _Streak:
    """Find the tail of the steps with the most rounds."""
    best = _Streak()
    full, partial, confirmed = _Rounds(), _Rounds(), _Rounds()
    says_all = {one for one, said in zip(classes, says, strict=True) if said == 1}
    for length, at in enumerate(range(len(items) - 1, -1, -1), start=1):
        one, item = classes[at], items[at]
        if one is None:
            break
        is_confirmed = isinstance(item, ToolStep) and item.outcome is ToolOutcome.CONFIRMED
        (confirmed if is_confirmed else full if one in says_all else partial).add(one, says[at] * lasts[at])
        size = full.size + partial.size + confirmed.size
        if size > LONGEST_CYCLE:
            break
        rounds = _average_rounds(full, partial, confirmed) * (CYCLE if size >= CYCLE_STEPS else 1)
        if rounds >= best.rounds:
            best = _Streak(round(rounds, 6), length, size)
    return best


class _Rounds:
    """Weighted count of rounds through some different steps."""

    def __init__(self) -> None:
        self._different: set[Class] = set()
        self.total = 0.0

    def add(self, one: Class, weight: float) -> None:
        self._different.add(one)
        self.total += weight

    @property
    def size(self) -> int:
        return len(self._different)


def _average_rounds(full: _Rounds, partial: _Rounds, confirmed: _Rounds) -> float:
    """Rounds of the most telling steps: the others would only blur them."""
    if full.size and full.size >= partial.size:
        return full.total / full.size
    if full.size or partial.size:
        return (full.total + partial.total) / (full.size + partial.size)
    return confirmed.total / confirmed.size


def _choose_rule(block: Sequence[Item], streak: Sequence[Item]) -> RepetitionRule:
    latest = block[-1]
    if len(block) > 1:
        return RepetitionRule.CYCLE
    if isinstance(latest, AnswerStep):
        is_same = any(isinstance(item, AnswerStep) and item.key.exact == latest.key.exact for item in streak[:-1])
        return RepetitionRule.SAME_ANSWER if is_same or len(streak) == 1 else RepetitionRule.NEAR_ANSWER
    before = [item for item in streak[:-1] if isinstance(item, ToolStep) and item.operation == latest.operation]
    if not before:
        return RepetitionRule.NEAR_CALL
    is_same = any(item.whole == latest.whole for item in before)
    return RepetitionRule.SAME_CALL if is_same else RepetitionRule.SAME_ERROR


def _classify_items(items: Sequence[Item]) -> list[Class | None]:
    """Class of each item, where items of one class repeat each other; `None` for news."""
    answers = _AnswerGroups(item.key for item in items if isinstance(item, AnswerStep))
    changing = _find_changing_calls(items)
    candidates = [
        (answers.classes[item.key.exact],) if isinstance(item, AnswerStep) else _candidate_classes(item, changing)
        for item in items
    ]
    counts = Counter(one for several in candidates for one in several)
    chosen = (max(several, key=counts.__getitem__) for several in candidates)
    return [one if counts[one] > 1 else None for one in chosen]


def _find_changing_calls(items: Sequence[Item]) -> frozenset[tuple[str, bytes]]:
    """Calls made several times that never had the same result: a clock, a queue, a load."""
    results: dict[tuple[str, bytes], list[bytes]] = {}
    for item in items:
        if isinstance(item, ToolStep) and not item.failure:
            results.setdefault(item.operation, []).append(item.result.steady)
    return frozenset(operation for operation, several in results.items() if len(several) == len(set(several)) >= OFTEN)


def _candidate_classes(step: ToolStep, changing: Collection[tuple[str, bytes]]) -> tuple[Class, ...]:
    if step.operation in changing and not step.failure:
        return ((CHANGING, step.operation),)
    has_failed = step.outcome is ToolOutcome.FAILED
    came = step.outcome if has_failed else step.failure or step.result.steady
    same = (*step.operation, came)
    if step.outcome is ToolOutcome.CONFIRMED:
        return (same,)
    # Times in results of different calls are not noise: they may be what was asked for.
    alike = ("alike", step.tool, step.call.alike, came if has_failed else step.result.exact)
    return (same, alike, (FAILED, step.tool, step.failure)) if has_failed else (same, alike)


class _AnswerGroups:
    """Groups answers that say the same, in the same or in other words."""

    def __init__(self, keys: Iterable[AnswerKey]) -> None:
        self.classes: dict[bytes, bytes] = {}
        latest: deque[AnswerKey] = deque(maxlen=COMPARED)
        said: set[str] = set()
        for key in keys:
            if key.exact not in self.classes:
                self.classes[key.exact] = key.exact
                # Another number is news: chapter 4 is not chapter 3.
                if key.numbers <= said:
                    least = SIMILAR if key.words <= said else SIMILAR_WITH_NEW_WORDS
                    self._join(key, [one for one in latest if _pair_overlap(one, key) >= least])
                latest.append(key)
                said |= key.words

    def _join(self, key: AnswerKey, near: Iterable[AnswerKey]) -> None:
        joined = {self.classes[one.exact] for one in near}
        for exact, one in self.classes.items():
            if one in joined:
                self.classes[exact] = key.exact


def _pair_overlap(one: AnswerKey, other: AnswerKey) -> float:
    """The share of word pairs that two answers have in common."""
    pairs = len(one.pairs | other.pairs)
    return len(one.pairs & other.pairs) / pairs if pairs else 0.0


def _evidence_weights(items: Sequence[Item], classes: Sequence[Class | None]) -> list[float]:
    """Weight of each repeat, from 0 to 1."""
    operations = Counter(item.key.exact if isinstance(item, AnswerStep) else item.operation for item in items)
    wholes = Counter((item.operation, item.result.exact) for item in items if isinstance(item, ToolStep))
    failures = Counter((item.operation, item.failure) for item in items if isinstance(item, ToolStep))
    reworded = _reworded_shares(items, classes)

    def says(at: int, item: Item) -> float:
        if isinstance(item, AnswerStep):
            return 1.0 if operations[item.key.exact] > 1 else REWORDED
        one = classes[at]
        if isinstance(one, tuple) and one[0] is CHANGING:
            return 0.0
        if operations[item.operation] > 1:
            if wholes[item.operation, item.result.exact] > 1 and item.outcome is not ToolOutcome.CONFIRMED:
                return 1.0
            return _same_call_weight(item, fails_alike=failures[item.operation, item.failure] > 1)
        if item.outcome is ToolOutcome.FAILED:
            return UNLIKE if reworded.get(at, 1.0) < REPHRASED else ALIKE
        return ALIKE_SHORT if len(item.said) <= SHORT else ALIKE

    return [says(at, item) for at, item in enumerate(items)]


def _time_weights(items: Sequence[Item], classes: Sequence[Class | None], waits: Sequence[float]) -> list[float]:
    """Remaining weight of each repeat, given the time since the previous one.

    An answer is discounted only if the agent has acted since: just saying the same again is not waiting.
    """
    found: list[float] = []
    latest: dict[Class | None, int] = {}
    slow_at, slow, step_at = -1, None, -1
    for at, (item, wait) in enumerate(zip(items, waits, strict=True)):
        if wait >= WAITED_SECONDS:
            slow_at, slow = at, item
        step_at = at if isinstance(item, ToolStep) else step_at
        before = latest.get(classes[at], -1)
        found.append(_waiting_weight(item, slow) if slow is not None and min(slow_at, step_at) > before else 1.0)
        latest[classes[at]] = at
    return found


def _waiting_weight(item: Item, slow: Item) -> float:
    """A slow failure may be worth waiting out; an explicit wait certainly is."""
    steps = [one for one in (item, slow) if isinstance(one, ToolStep)]
    has_failed = any(step.outcome is ToolOutcome.FAILED for step in steps)
    means_to_wait = isinstance(slow, AnswerStep) or slow.means_to_wait
    return WAITED_FAILED if has_failed and not means_to_wait else WAITED


def _same_call_weight(step: ToolStep, *, fails_alike: bool) -> float:
    """Weight of a repeated call that was confirmed or had another result."""
    if step.outcome is ToolOutcome.CONFIRMED:
        return CONFIRMED if len(step.arguments) < LONG else CONFIRMED_LONG
    if step.outcome is ToolOutcome.FAILED and fails_alike:
        return SAME_ERROR
    return OTHER_ERROR if step.failure else OTHER_TIME


def _reworded_shares(items: Sequence[Item], classes: Sequence[Class | None]) -> dict[int, float]:
    """For calls that failed alike, the share of each one's own words that others also contain."""
    groups: dict[Class, list[tuple[int, frozenset[str]]]] = {}
    for at, (item, one) in enumerate(zip(items, classes, strict=True)):
        if isinstance(item, ToolStep) and isinstance(one, tuple) and one[0] is FAILED:
            groups.setdefault(one, []).append((at, item.call.words))
    found: dict[int, float] = {}
    for group in groups.values():
        counts = Counter(word for _, words in group for word in words)
        for at, words in group:
            own = [word for word in words if counts[word] < len(group)]
            found[at] = sum(counts[word] > 1 for word in own) / len(own) if own else 1.0
    return found
