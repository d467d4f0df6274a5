"""How is it told that a loop came up, went away, or was cut?

Each step up and each recovery is an event. Events hold rules, counts and hashes; the words of agents and tools stay
out of them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from festinger.events.event import Happening
from festinger.proxy.loops.channels import Heard
from festinger.proxy.loops.judging import Judged, Loop
from festinger.proxy.loops.steps import Answer, Item, Step
from festinger.proxy.loops.turns import Repeat

BY_LOOP = "loop"
BY_PERSON = "person"
BY_PROBE = "probe"
NOTICED = "notice"


def told_of_request(session: str, before: Loop, after: Judged, *, did: Sequence[str]) -> Iterator[Happening]:
    """What a request has changed for its session."""
    standing = after.loop.standing
    if standing is not None and after.rose_from(before):
        yield _seen(session, "loop_detected", standing, did)
    if (over := after.recovered_from(before)) is not None:
        yield _seen(session, "loop_recovered", over, ())
    if (cause := after.opened_from(before)) is not None:
        yield _breaker(session, "breaker_opened", cause, BY_LOOP)
    if (cause := after.closed_from(before)) is not None:
        by = BY_PERSON if after.loop.task != before.task else BY_PROBE
        yield _breaker(session, "breaker_closed", cause, by)


def told_of_reset(session: str, before: Loop, *, by: str) -> Iterator[Happening]:
    """What it means that somebody let the session go on."""
    if before.standing is not None:
        yield _seen(session, "loop_recovered", before.standing, ())
    if before.breaker.cause is not None:
        yield _breaker(session, "breaker_closed", before.breaker.cause, by)


def told_of_reply(session: str, found: Sequence[Heard], cut: Heard | None) -> Iterator[Happening]:
    """What was found in a reply while it streamed, each rule once."""
    if cut is not None:
        finding = cut.finding
        payload = {"rule": finding.rule.value, "channel": cut.channel.value, "chars": finding.at}
        yield _happening(session, "loop_cut", payload)
    told = {cut.finding.rule} if cut else set()
    for each in found:
        if each.finding.rule not in told:
            told.add(each.finding.rule)
            payload = {"rule": each.finding.rule.value, "level": 0, "count": each.finding.count}
            yield _happening(session, "loop_detected", {**payload, "key": "", "did": NOTICED})


def key_of(block: Sequence[Item]) -> str:
    """What repeats, as a hash that is the same wherever it repeats."""
    parts = hashlib.sha256()
    for item in block:
        parts.update(item.key.exact if isinstance(item, Answer) else _bytes(item))
    return parts.hexdigest()[:32]


def _bytes(step: Step) -> bytes:
    return step.tool.encode("utf-8", "replace") + b"\0" + step.call.exact + step.result.steady


def _seen(session: str, name: str, repeat: Repeat, did: Sequence[str]) -> Happening:
    payload = {
        "rule": repeat.rule.value,
        "level": repeat.level,
        "count": repeat.count,
        "key": key_of(repeat.block),
        "did": ",".join(did),
    }
    return _happening(session, name, payload)


def _breaker(session: str, name: str, cause: Repeat, by: str) -> Happening:
    return _happening(session, name, {"rule": cause.rule.value, "count": cause.count, "by": by[:100]})


def _happening(session: str, name: str, payload: dict[str, Any]) -> Happening:
    return Happening(name=name, subject=f"session:{session}", payload={"session": session, **payload})
