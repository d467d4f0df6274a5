"""Judges each request of a session by the loops it shows, and keeps the session's loop state.

The history is read into steps, joined to what is remembered, and judged; the breaker decides whether the
request passes. Retries and resent requests show nothing new and change nothing. Agents compact histories in
the middle of a task, which hides repeats, so the last sixty steps are kept with the time before each. A
history with more steps than before has grown; otherwise it was shortened, and the kept steps continue. The
registry is bounded in number and idle time; step caches are costly and kept for the busiest sessions only.
Events contain rules, counts and hashes, never the words of agents and tools.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from cachetools import LRUCache

from festinger.events.catalogue import NewEvent
from festinger.ids import AgentId, SessionId
from festinger.proxy.loops.history import (
    AnswerStep,
    Item,
    LoopRepetition,
    StepCache,
    ToolStep,
    find_repetition,
    last_person_index,
    parse_steps,
    task_start_index,
)
from festinger.proxy.loops.keys import ChatMessage, text_digest
from festinger.proxy.loops.mitigation import CLOSED, LoopBreaker, LoopBreakerDecision, update_breaker
from festinger.proxy.loops.stream import ChannelFinding
from festinger.proxy.sessions.session import ProxyCaller
from festinger.settings.tree import LoopSettings

KEPT = 60
RESENT_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepHistory:
    """What the last counted request of a session showed."""

    person: bytes = b""
    """The last real user message."""
    count: int = 0
    """Steps in its history."""
    steps: tuple[Item, ...] = ()
    """Latest steps of the task, including those no longer in the history."""
    length: int = 0
    """Messages in its history."""
    waits: tuple[float, ...] = ()
    """Seconds before each step of the task."""
    witnessed: int = 0
    """Latest steps that were seen live, after a person's last message."""

    @property
    def hidden(self) -> tuple[Item, ...]:
        return self.steps[: max(0, len(self.steps) - self.count)]


NOTHING = StepHistory()


def is_new_state(
    previous: StepHistory, items: Sequence[Item], *, length: int, retry: int = 0, failed_before: float | None = None
) -> bool:
    """Whether a request with these steps, in a history of `length`, shows a new state of the conversation.

    `retry` is the client's count of attempts; `failed_before` are the seconds since an identical request got no
    response: server error, timeout or disconnect.
    """
    if retry or (failed_before is not None and failed_before <= RESENT_SECONDS):
        return False
    # A resent history is as long as the last one and ends in the same steps.
    here, kept = items[-KEPT:], previous.steps[-len(items) :]
    is_resent = bool(here) and length == previous.length and [*map(_item_key, here)] == [*map(_item_key, kept)]
    return not is_resent


def current_task_digest(history: Sequence[ChatMessage]) -> bytes:
    at = task_start_index(history)
    return b"" if at is None else text_digest(history[at].text)


def is_new_task(previous: StepHistory, items: Sequence[Item], *, person: bytes, length: int) -> bool:
    """Whether a person has spoken since, even in the same words."""
    if length > previous.length and len(items) < previous.count:
        return True
    # A summary may replace the person's words. It is the same task if known steps follow it.
    return bool(person) and person != previous.person and not _overlap(previous.steps, items)


def extend_steps(previous: StepHistory, items: Sequence[Item], *, person: bytes, length: int) -> tuple[list[Item], int]:
    """All steps of the task, including remembered ones if the history was shortened, and how many are new."""
    if not previous.steps or is_new_task(previous, items, person=person, length=length):
        return list(items), len(items)
    if len(items) > previous.count:
        return [*previous.hidden, *items], len(items) - previous.count
    fresh = items[_overlap(previous.steps, items) :]
    return [*previous.steps, *fresh], len(fresh)


def _overlap(kept: Sequence[Item], items: Sequence[Item]) -> int:
    """How many of these steps are already kept; a counted request always brings at least one new step."""
    known, here = [_item_key(item) for item in kept], [_item_key(item) for item in items]
    most = min(len(known), len(here) - 1)
    return next((size for size in range(most, 0, -1) if known[-size:] == here[:size]), 0)


def _item_key(item: Item) -> object:
    return item.key.exact if isinstance(item, AnswerStep) else item.whole


CUTS = 32
"""Cut replies remembered per session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopState:
    previous: StepHistory = NOTHING
    task: int = 0
    """Increases whenever a person speaks."""
    pardoned: int = 0
    """Initial steps of this task that a reset excluded."""
    standing: LoopRepetition | None = None
    """What repeats, if it has reached a level."""
    breaker: LoopBreaker = CLOSED
    noticed: bool = False
    """Whether the latest reply repeated itself while streaming."""
    limited: bool = False
    """Whether the latest reply was cut."""
    cuts: tuple[bytes, ...] = ()
    """Digests of the texts of cut replies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopJudgment:
    loop: LoopState
    """The session's loop state after the request."""
    repeat: LoopRepetition | None
    decision: LoopBreakerDecision

    def has_risen_since(self, before: LoopState) -> bool:
        return _level(self.loop.standing) > _level(before.standing)


def judge_request(
    loop: LoopState,
    history: Sequence[ChatMessage],
    *,
    keys: StepCache,
    now: float,
    settings: LoopSettings,
    retry: int = 0,
    failed_before: float | None = None,
    waited: float = 0.0,
) -> LoopJudgment:
    """Judge the request with this history, `waited` seconds after the session's last reply ended."""
    items = parse_steps(history, keys)
    own = items[loop.pardoned :]
    if is_new_state(loop.previous, own, length=len(history), retry=retry, failed_before=failed_before):
        return _judge_new_state(loop, history, items, waited=waited, now=now, settings=settings)
    return _judge_resent(loop, now=now, settings=settings)


def _judge_new_state(
    loop: LoopState,
    history: Sequence[ChatMessage],
    items: Sequence[Item],
    *,
    waited: float,
    now: float,
    settings: LoopSettings,
) -> LoopJudgment:
    person, length = current_task_digest(history), len(history)
    before = loop.previous
    is_new = is_new_task(before, items[loop.pardoned :], person=person, length=length)
    pardoned = 0 if is_new or len(items) < loop.pardoned else loop.pardoned
    own = items[pardoned:]
    steps, new = extend_steps(before, own, person=person, length=length)
    waits = ([0.0] * len(steps) + [*before.waits, *[waited] * new])[-len(steps) :] if steps else []
    spoken_at = last_person_index(history) or 0
    has_spoken = is_new or spoken_at >= before.length > 0
    # An agent first seen in mid-task, or spoken to since, is not stopped for earlier steps.
    was_met_midway = before == NOTHING and new > 1
    witnessed = 0 if was_met_midway else before.witnessed + new
    if has_spoken:
        witnessed = min(witnessed, sum(item.first > spoken_at for item in own))
    repeat = find_repetition(steps, settings, waits=waits, witnessed=witnessed, noticed=loop.noticed)
    decision, breaker = update_breaker(
        loop.breaker, repeat, person=b"%d" % (loop.task + has_spoken), now=now, settings=settings
    )
    after = replace(
        loop,
        previous=StepHistory(
            person=person,
            count=len(own),
            steps=tuple(steps[-KEPT:]),
            length=length,
            waits=tuple(waits),
            witnessed=witnessed,
        ),
        task=loop.task + has_spoken,
        pardoned=pardoned,
        standing=repeat,
        breaker=breaker,
    )
    return LoopJudgment(loop=after, repeat=repeat, decision=decision)


def _judge_resent(loop: LoopState, *, now: float, settings: LoopSettings) -> LoopJudgment:
    repeat = loop.standing
    if loop.breaker.probing:
        # The probe request, sent again.
        return LoopJudgment(loop=loop, repeat=repeat, decision=LoopBreakerDecision.PROBE)
    decision, breaker = update_breaker(loop.breaker, repeat, person=b"%d" % loop.task, now=now, settings=settings)
    return LoopJudgment(loop=replace(loop, breaker=breaker), repeat=repeat, decision=decision)


def _level(repeat: LoopRepetition | None) -> int:
    return repeat.level if repeat else 0


def reset_loop(loop: LoopState) -> LoopState:
    """The loop state after a reset: earlier steps no longer count."""
    before = loop.previous
    return replace(
        loop,
        previous=replace(before, steps=(), count=0),
        pardoned=loop.pardoned + before.count,
        standing=None,
        breaker=CLOSED,
    )


def update_after_reply(loop: LoopState, *, noticed: bool, cut: bytes | None) -> LoopState:
    """The loop state after a reply: whether it repeated itself, and its digest if it was cut."""
    cuts = loop.cuts if cut is None else (*(each for each in loop.cuts if each != cut), cut)[-CUTS:]
    return replace(loop, noticed=noticed, limited=cut is not None, cuts=cuts)


READ = 256
"""Sessions whose parsed steps are cached."""


class LoopKey(NamedTuple):
    caller: ProxyCaller
    agent: AgentId
    session: SessionId


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLoopEntry:
    at: datetime
    loop: LoopState
    failed: tuple[int, datetime] | None = None
    """A request without a response: its hash and time."""


class LoopRegistry:
    def __init__(self, *, most: int, idle: timedelta) -> None:
        self._most = most
        self._idle = idle
        self._kept: OrderedDict[LoopKey, SessionLoopEntry] = OrderedDict()
        self._keys: LRUCache[LoopKey, StepCache] = LRUCache(READ)

    def find(self, key: LoopKey, *, now: datetime) -> SessionLoopEntry:
        found = self._kept.get(key)
        return (
            found if found is not None and now - found.at <= self._idle else SessionLoopEntry(at=now, loop=LoopState())
        )

    def keys(self, key: LoopKey) -> StepCache:
        if (found := self._keys.get(key)) is None:
            found = self._keys[key] = StepCache()
        return found

    def put(self, key: LoopKey, kept: SessionLoopEntry) -> None:
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            gone, _ = self._kept.popitem(last=False)
            self._keys.pop(gone, None)

    def those(
        self, wanted: Callable[[LoopKey, LoopState], bool], *, now: datetime
    ) -> Iterator[tuple[LoopKey, SessionLoopEntry]]:
        """Live loops that match, newest first."""
        for key, kept in reversed(self._kept.items()):
            if now - kept.at <= self._idle and wanted(key, kept.loop):
                yield key, kept


BY_LOOP = "loop"
BY_PERSON = "person"
BY_PROBE = "probe"
NOTICED = "notice"


def build_request_events(
    session: str, before: LoopState, after: LoopJudgment, *, did: Sequence[str]
) -> Iterator[NewEvent]:
    standing, was, now = after.loop.standing, before.breaker, after.loop.breaker
    if standing is not None and after.has_risen_since(before):
        yield _build_loop_event(session, "loop_detected", standing, did)
    if standing is None and before.standing is not None:
        yield _build_loop_event(session, "loop_recovered", before.standing, ())
    if was.opened is None and now.opened is not None and (cause := now.cause) is not None:
        yield _build_breaker_event(session, "breaker_opened", cause, BY_LOOP)
    if was.opened is not None and now.opened is None and (cause := was.cause) is not None:
        by = BY_PERSON if after.loop.task != before.task else BY_PROBE
        yield _build_breaker_event(session, "breaker_closed", cause, by)


def build_reset_events(session: str, before: LoopState, *, by: str) -> Iterator[NewEvent]:
    if before.standing is not None:
        yield _build_loop_event(session, "loop_recovered", before.standing, ())
    if before.breaker.cause is not None:
        yield _build_breaker_event(session, "breaker_closed", before.breaker.cause, by)


def build_reply_events(session: str, found: Sequence[ChannelFinding], cut: ChannelFinding | None) -> Iterator[NewEvent]:
    """Events for findings in a streamed reply, one per rule."""
    if cut is not None:
        finding = cut.finding
        payload = {"rule": finding.rule.value, "channel": cut.channel.value, "chars": finding.at}
        yield _build_event(session, "loop_cut", payload)
    reported = {cut.finding.rule} if cut else set()
    for each in found:
        if each.finding.rule not in reported:
            reported.add(each.finding.rule)
            payload = {"rule": each.finding.rule.value, "level": 0, "count": each.finding.count}
            yield _build_event(session, "loop_detected", {**payload, "key": "", "did": NOTICED})


def repetition_hash(block: Sequence[Item]) -> str:
    """Hash of what repeats, the same in every session."""
    parts = hashlib.sha256()
    for item in block:
        parts.update(item.key.exact if isinstance(item, AnswerStep) else _step_bytes(item))
    return parts.hexdigest()[:32]


def _step_bytes(step: ToolStep) -> bytes:
    return step.tool.encode("utf-8", "replace") + b"\0" + step.call.exact + step.result.steady


def _build_loop_event(session: str, name: str, repeat: LoopRepetition, did: Sequence[str]) -> NewEvent:
    payload = {
        "rule": repeat.rule.value,
        "level": repeat.level,
        "count": repeat.count,
        "key": repetition_hash(repeat.block),
        "did": ",".join(did),
    }
    return _build_event(session, name, payload)


def _build_breaker_event(session: str, name: str, cause: LoopRepetition, by: str) -> NewEvent:
    return _build_event(session, name, {"rule": cause.rule.value, "count": cause.count, "by": by[:100]})


def _build_event(session: str, name: str, payload: dict[str, Any]) -> NewEvent:
    return NewEvent(name=name, subject=f"session:{session}", payload={"session": session, **payload})
