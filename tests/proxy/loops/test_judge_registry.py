from datetime import UTC, datetime, timedelta

from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, SessionId
from festinger.proxy.loops.judge import READ, LoopKey, LoopRegistry, LoopState, SessionLoopEntry
from festinger.proxy.sessions.session import ProxyCaller

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
SEEN = LoopState(task=7)


def key(name: str, caller: str = "local") -> LoopKey:
    return LoopKey(caller=ProxyCaller(space=MAIN_SPACE, name=caller), agent=DEFAULT_AGENT, session=SessionId(name))


def test_sessions_of_different_callers_never_meet():
    loops = LoopRegistry(most=10, idle=HOUR)
    loops.put(key("s", "one"), SessionLoopEntry(at=MONDAY, loop=SEEN))

    assert loops.find(key("s", "one"), now=MONDAY).loop == SEEN
    assert loops.find(key("s", "other"), now=MONDAY).loop == LoopState()


def test_what_is_idle_for_too_long_is_forgotten():
    loops = LoopRegistry(most=10, idle=HOUR)
    loops.put(key("s"), SessionLoopEntry(at=MONDAY, loop=SEEN))

    assert loops.find(key("s"), now=MONDAY + HOUR).loop == SEEN
    assert loops.find(key("s"), now=MONDAY + HOUR * 1.1).loop == LoopState()
    assert [*loops.those(lambda _key, _loop: True, now=MONDAY + HOUR * 1.1)] == []


def test_the_least_recently_used_go_first():
    loops = LoopRegistry(most=2, idle=HOUR)
    for name in ("a", "b", "a", "c"):
        loops.put(key(name), SessionLoopEntry(at=MONDAY, loop=SEEN))

    assert [found.session for found, _ in loops.those(lambda _key, _loop: True, now=MONDAY)] == ["c", "a"]


def test_what_was_read_is_kept_for_the_busiest_only():
    loops = LoopRegistry(most=10_000, idle=HOUR)
    first = loops.keys(key("first"))
    for number in range(READ - 1):
        loops.keys(key(str(number)))
    assert loops.keys(key("first")) is first
    for number in range(READ):
        loops.keys(key(f"more {number}"))

    assert loops.keys(key("first")) is not first
