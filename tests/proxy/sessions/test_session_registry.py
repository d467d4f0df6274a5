"""Sessions in memory are bounded, and callers never meet."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from festinger.ids import MAIN_SPACE, SessionId, SpaceId
from festinger.proxy.sessions.session import SESSION_BYTES, ProxyCaller, ProxySession, SessionRegistry, SessionReply
from festinger.services.block import ContextBlock, ContextLine

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DOBBY = ProxyCaller(space=MAIN_SPACE, name="dobby")
WINKY = ProxyCaller(space=MAIN_SPACE, name="winky")
ELSEWHERE = ProxyCaller(space=SpaceId("team"), name="dobby")
BLOCK = ContextBlock(label="", lines=(ContextLine(text="a: [b] c"),))


def session(name: str = "s", caller: ProxyCaller = DOBBY, at: datetime = NOON) -> ProxySession:
    return ProxySession(
        caller=caller,
        id=SessionId(name),
        at=at,
        head=b"head",
        links=(b"head",),
        recent=frozenset({b"word"}),
        replies=(SessionReply(text="hello", content=b"reply", at=at),),
        blocks={b"anchor": BLOCK},
    )


@pytest.mark.requirement("P-23")
@pytest.mark.parametrize("other", [WINKY, ELSEWHERE])
def test_sessions_of_different_callers_or_spaces_never_meet(other: ProxyCaller):
    sessions = SessionRegistry(most=10, idle=HOUR)
    sessions.put(session())
    sessions.remember_response(DOBBY, "resp_1", SessionId("s"))

    assert sessions.find(other, SessionId("s"), now=NOON) is None
    assert sessions.alike(other, b"head", now=NOON) == []
    assert [*sessions.find_by_contents(other, [b"word", b"reply"], now=NOON)] == []
    assert sessions.newest(other, now=NOON, limit=9) == []
    assert not sessions.is_ours(other, BLOCK.text)
    assert sessions.find_by_response(other, "resp_1") is None


def test_what_is_kept_is_found_by_name_beginning_words_and_block():
    sessions = SessionRegistry(most=10, idle=HOUR)
    kept = sessions.put(session())
    sessions.remember_response(DOBBY, "resp_1", SessionId("s"))

    assert sessions.find(DOBBY, SessionId("s"), now=NOON) == kept
    assert sessions.alike(DOBBY, b"head", now=NOON) == [kept]
    assert [*sessions.find_by_contents(DOBBY, [b"reply"], now=NOON)] == [kept]
    assert sessions.newest(DOBBY, now=NOON, limit=9) == [kept]
    assert sessions.is_ours(DOBBY, BLOCK.text)
    assert sessions.find_by_response(DOBBY, "resp_1") == "s"


def test_an_idle_hour_ends_a_session():
    sessions = SessionRegistry(most=10, idle=HOUR)
    sessions.put(session("old"))
    sessions.put(session("new", at=NOON + HOUR))

    assert sessions.find(DOBBY, SessionId("old"), now=NOON + HOUR) is not None
    later = NOON + HOUR + timedelta(seconds=1)
    assert sessions.find(DOBBY, SessionId("old"), now=later) is None
    assert [each.id for each in sessions.alike(DOBBY, b"head", now=later)] == ["new"]


def test_beyond_the_most_the_least_recently_used_goes():
    sessions = SessionRegistry(most=2, idle=HOUR)
    for name in ("a", "b", "a", "c"):
        sessions.put(session(name))

    assert sessions.find(DOBBY, SessionId("b"), now=NOON) is None
    assert {each.id for each in sessions.newest(DOBBY, now=NOON, limit=9)} == {"a", "c"}


def test_a_session_is_cut_to_its_size_oldest_first():
    large = replace(
        session(),
        replies=tuple(SessionReply(text="x" * 60_000, content=b"%d" % n, at=NOON) for n in range(3)),
        blocks={b"%d" % n: ContextBlock(label="", lines=(ContextLine(text="y" * 60_000),)) for n in range(4)},
    )
    kept = SessionRegistry(most=2, idle=HOUR).put(large)

    assert kept.size <= SESSION_BYTES
    assert [reply.content for reply in kept.replies] in ([], [b"2"])
    assert list(kept.blocks) == [b"0", b"1", b"2", b"3"]
    endless = replace(session(), links=(b"x" * 16,) * 10_000)
    assert SessionRegistry(most=2, idle=HOUR).put(endless).size <= SESSION_BYTES


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from([DOBBY, WINKY]), st.integers(0, 3)), max_size=30))
def test_whatever_comes_and_goes_the_indexes_hold_what_is_kept(steps: list[tuple[str, ProxyCaller, int]]):
    sessions = SessionRegistry(most=3, idle=timedelta(days=1))
    for at, (name, caller, which) in enumerate(steps):
        moment = NOON + at * timedelta(minutes=20)
        sessions.put(replace(session(name, caller, moment), head=b"%d" % which))
        for owner in (DOBBY, WINKY):
            kept = sessions.newest(owner, now=moment, limit=9)
            found = [each for head in range(4) for each in sessions.alike(owner, b"%d" % head, now=moment)]
            assert {each.id for each in found} == {each.id for each in kept}
            assert sessions.is_ours(owner, BLOCK.text) is bool(kept)
        assert max(len(sessions._by_head), len(sessions._by_word)) <= 2 * len(sessions)
    assert len(sessions) <= 3


HASHES = st.sampled_from([b"1", b"2", b"3"])
BLOCKS = st.dictionaries(
    HASHES, st.sampled_from([BLOCK, ContextBlock(label="", lines=(ContextLine(text="d: [b] e"),))]), max_size=3
)
KEPT = st.builds(
    lambda name, caller, head, recent, said, blocks: ProxySession(
        caller=caller,
        id=SessionId(name),
        at=NOON,
        head=head,
        recent=recent,
        replies=tuple(SessionReply(text="", content=content, at=NOON) for content in said),
        blocks=blocks,
    ),
    st.sampled_from("abc"),
    st.sampled_from([DOBBY, WINKY]),
    st.one_of(st.none(), HASHES),
    st.frozensets(HASHES),
    st.lists(HASHES, max_size=2),
    BLOCKS,
)


@given(kept=st.lists(KEPT, max_size=12), most=st.integers(1, 4))
def test_sessions_are_found_by_what_they_are_now_and_by_nothing_that_they_were(kept: list[ProxySession], most: int):
    sessions = SessionRegistry(most=most, idle=HOUR)
    newest: dict[tuple[ProxyCaller, str], ProxySession] = {}
    for each in kept:
        sessions.put(each)
        newest.pop((each.caller, each.id), None)
        newest[each.caller, each.id] = each
    live = [*newest.values()][-most:]

    for caller in (DOBBY, WINKY):
        mine = [each for each in live if each.caller == caller]
        assert sessions.newest(caller, now=NOON, limit=9) == mine[::-1]
        for found in (b"1", b"2", b"3"):
            alike = [each for each in mine if each.head == found]
            said = [each for each in mine if found in each.recent or found in {one.content for one in each.replies}]
            assert sessions.alike(caller, found, now=NOON) == alike[::-1]
            assert {each.id for each in sessions.find_by_contents(caller, [found], now=NOON)} == {
                each.id for each in said
            }
        for text in (BLOCK.text, "other"):
            ours = any(text == block.text for each in mine for block in each.blocks.values())
            assert sessions.is_ours(caller, text) is ours
