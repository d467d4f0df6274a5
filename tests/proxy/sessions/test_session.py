"""Requests of one session run side by side, and neither undoes what the other left."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tests.proxy.protocols.wire import LABEL, assistant, chat, user

from festinger.ids import MAIN_SPACE, SessionId
from festinger.proxy.sessions.session import (
    RECENT,
    REPLY_TEXT,
    ProxyCaller,
    ProxySession,
    SessionReply,
    advance_session,
    build_hash_chain,
    truncate_last_replies,
)
from festinger.services.block import ContextBlock, ContextLine

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
BLOCK = ContextBlock(label=LABEL, lines=(ContextLine(text="a: [type] b"),))
SESSION = ProxySession(caller=ProxyCaller(space=MAIN_SPACE, name="dobby"), id=SessionId("s"), at=NOON, asked=b"x")


def test_a_request_leaves_its_history_and_its_blocks():
    request = chat(user("hi"), assistant("yes"), user("go on"))
    chain = build_hash_chain(request.turns)
    given = replace(SESSION, blocks={b"1": BLOCK})

    after = advance_session(given, None, turns=request.turns, chain=chain, at=NOON + timedelta(minutes=1))

    assert (after.links, after.head, after.at) == (chain.links, chain.head, NOON + timedelta(minutes=1))
    assert after.recent == {chain.contents[1]}
    assert (after.blocks, after.asked) == ({b"1": BLOCK}, b"x")


def test_what_another_request_put_down_meanwhile_stays():
    request = chat(user("hi"))
    said = SessionReply(text="yes", content=b"r", at=NOON)
    beside = replace(SESSION, replies=(said,), blocks={b"2": BLOCK})
    given = replace(SESSION, blocks={b"1": BLOCK})

    after = advance_session(given, beside, turns=request.turns, chain=build_hash_chain(request.turns), at=NOON)

    assert after.replies == (said,)
    assert after.blocks == {b"1": BLOCK, b"2": BLOCK}


def test_a_session_knows_only_the_latest_of_what_was_said():
    request = chat(*(assistant(f"answer {n}") for n in range(RECENT + 10)), user("go on"))
    chain = build_hash_chain(request.turns)

    after = advance_session(SESSION, None, turns=request.turns, chain=chain, at=NOON)

    assert after.recent == frozenset(chain.contents[10:-1])


def test_of_a_long_reply_only_what_may_be_quoted_is_kept():
    long = SessionReply(text="x" * 10_000, content=b"r", at=NOON)

    assert [len(reply.text) for reply in truncate_last_replies([long])] == [REPLY_TEXT]
    assert truncate_last_replies([long])[0].content == b"r"
