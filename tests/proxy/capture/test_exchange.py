"""What is kept of an exchange, and what never is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from tests.proxy.contexts import request_context
from tests.runtime.server import fixed_tools

from festinger.ids import Origin, SessionId
from festinger.proxy.capture.exchange import CUT_MARK, TEXT_CHARS, build_capture, redact_and_truncate, redact_capture
from festinger.proxy.headers import MemoryResult, MemoryStatus
from festinger.proxy.loops.keys import ToolCall
from festinger.proxy.parser import RequestParser
from festinger.proxy.protocols.replies import ReplyContent
from festinger.proxy.request import RequestContext
from festinger.proxy.sessions.match import SessionMatchKind
from festinger.proxy.sessions.session import SessionRegistry, shorten_session_id
from festinger.proxy.transport.streams import StreamEndReason
from festinger.settings.tree import ProxySettings
from festinger.text.secrets import redact

MONDAY = datetime(2026, 1, 5, 12, tzinfo=UTC)
SETTINGS = ProxySettings()


def parsed(*messages: dict[str, Any]) -> RequestContext:
    tools = fixed_tools()
    parser = RequestParser(SessionRegistry(most=10, idle=timedelta(hours=1)), clock=tools.clock, new_id=tools.new_id)
    body = orjson.dumps({"model": "m", "messages": messages})
    ctx = request_context("/api/chat", body, headers=[(b"x-session-id", b"s-1")])
    assert parser.parse(ctx) is None
    return ctx


def exchange(ctx: RequestContext, reply: ReplyContent) -> RequestContext:
    ctx.memory_status = MemoryStatus(result=MemoryResult.EMPTY)
    ctx.reply, ctx.ended = reply, StreamEndReason.WHOLE
    return ctx


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


@pytest.mark.requirement("P-43")
def test_what_a_model_thought_is_kept_only_where_that_is_set():
    thought = exchange(parsed(user("Hi.")), ReplyContent(text="Hello.", thinking="They greet me."))

    plain = build_capture(thought, seen=0, at=MONDAY, settings=SETTINGS)
    set_so = build_capture(thought, seen=0, at=MONDAY, settings=ProxySettings(capture_thinking=True))

    assert plain.exchange.thinking is None
    assert set_so.exchange.thinking == "They greet me."
    assert [words.text for words in plain.exchange.words] == ["Hi.", "Hello."]


@pytest.mark.requirement("P-43")
def test_our_own_notes_are_not_kept_where_a_model_repeats_them():
    label = SETTINGS.label
    echo = f"<recollection>\n{label}\ngnommoweb: [type] repo\n</recollection>\n\nSure."
    found = build_capture(exchange(parsed(user("Hi.")), ReplyContent(text=echo)), seen=0, at=MONDAY, settings=SETTINGS)

    assert found.exchange.reply is not None
    assert found.exchange.reply.text == "Sure."


@pytest.mark.requirement("P-44")
def test_a_reply_has_the_id_that_it_will_have_where_it_comes_back():
    first = build_capture(
        exchange(parsed(user("Hi.")), ReplyContent(text="Hello.")), seen=0, at=MONDAY, settings=SETTINGS
    )
    again = build_capture(
        exchange(parsed(user("Hi."), assistant("Hello."), user("Bye.")), ReplyContent(text="Bye.")),
        seen=0,
        at=MONDAY,
        settings=SETTINGS,
    )

    assert first.exchange.reply is not None
    assert [words.id for words in again.exchange.said[:2]] == [words.id for words in first.exchange.words]
    assert again.exchange.id != first.exchange.id


def test_only_what_was_not_seen_before_is_kept():
    asked = parsed(user("Hi."), assistant("Hello."), user("Bye."))
    found = build_capture(exchange(asked, ReplyContent(text="Bye.")), seen=2, at=MONDAY, settings=SETTINGS)

    assert [words.text for words in found.exchange.said] == ["Bye."]


@pytest.mark.requirement("M-91")
def test_what_tools_say_of_themselves_is_kept_as_a_system_text_that_has_one_id_in_its_session():
    asked = parsed(user("Hi."))
    first, again, other = (
        build_capture(exchange(asked, ReplyContent(text="Hello.")), seen=0, at=MONDAY, settings=SETTINGS, tools=tools)
        for tools in ("Tells the weather.", "Tells the weather.", "Tells the time.")
    )

    kept = first.exchange.said[0]
    assert (kept.role, kept.origin, kept.text) == ("system", Origin.SYSTEM, "Tells the weather.")
    assert [words.text for words in first.exchange.said[1:]] == ["Hi."]
    assert again.exchange.said[0].id == kept.id != other.exchange.said[0].id
    assert again.exchange.id == first.exchange.id == other.exchange.id, "the same words with other tools"


@pytest.mark.requirement("P-43")
def test_calls_are_kept_without_secrets_and_not_longer_than_outputs():
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    calls = (ToolCall(name="run", arguments=f'{{"key":"{secret}"}}'), ToolCall(name="long", arguments="x" * 9000))
    found = build_capture(
        exchange(parsed(user("Hi.")), ReplyContent(calls=calls)), seen=0, at=MONDAY, settings=SETTINGS
    )

    clean = redact_capture(found)

    assert clean.exchange.reply is None
    assert secret not in str(clean)
    assert len(clean.exchange.tool_calls[1]["arguments"]) == 2000


@pytest.mark.requirement("M-93")
def test_a_space_that_keeps_no_details_of_people_captures_none():
    asked = parsed(user("Reach me at ann.b@mail.example.org, please."))
    found = build_capture(exchange(asked, ReplyContent(text="Noted.")), seen=0, at=MONDAY, settings=SETTINGS)

    clean = redact_capture(found, redact=lambda text: redact(text, personal=True))

    assert "ann.b@" in str(redact_capture(found))
    assert "ann.b@" not in str(clean)


def test_what_no_database_takes_is_left_out():
    assert redact_and_truncate("a\x00b") == "ab"
    assert redact_and_truncate("half \ud800 a character").isprintable()


def test_a_long_name_of_a_session_is_shortened_and_told_from_others():
    one, two = SessionId("x" * 200 + "1"), SessionId("x" * 200 + "2")

    assert shorten_session_id(one) != shorten_session_id(two)
    assert len(shorten_session_id(one)) <= 128
    assert shorten_session_id(SessionId("short")) == "short"


@pytest.mark.requirement("P-44")
def test_a_retold_history_brings_only_what_comes_after_the_last_known_word():
    asked = parsed(user("Summary of before."), assistant("Hello."), user("Bye."))
    asked.session = replace(asked.session, recent=frozenset({asked.chain.contents[1]}))
    asked.match = SessionMatchKind.REPLY

    found = build_capture(exchange(asked, ReplyContent(text="Bye.")), seen=0, at=MONDAY, settings=SETTINGS)

    assert [(words.origin, words.text) for words in found.exchange.said] == [(Origin.PERSON, "Bye.")]


@pytest.mark.requirement("P-43")
def test_a_text_that_is_too_long_is_kept_cut_and_says_so():
    whole, longer = "x" * TEXT_CHARS, "x" * (TEXT_CHARS + 1)

    assert redact_and_truncate(whole) == whole
    assert TEXT_CHARS - 1 <= len(redact_and_truncate(longer)) <= TEXT_CHARS
    assert redact_and_truncate(longer).count(CUT_MARK) == 1


@pytest.mark.requirement("P-43")
def test_a_secret_across_the_cut_is_not_kept_in_part():
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
    ends = [("y " * TEXT_CHARS)[: TEXT_CHARS // 2 - offset] for offset in (20, 40, 60)]

    for end in ends:
        assert "sk-proj" not in redact_and_truncate(end + secret + " " + "z " * TEXT_CHARS)
        assert "ABCDEFGH" not in redact_and_truncate("z " * TEXT_CHARS + secret + " " + end)
