"""Titles, tags and summaries are the client's own business."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.protocols.wire import assistant, chat, system, user

from festinger.ids import MAIN_SPACE, SessionId
from festinger.proxy.sessions.match import QUOTE_CHARS, is_side_request, quotes_a_reply, starts_with_pattern
from festinger.proxy.sessions.session import ProxyCaller, ProxySession, SessionReply
from festinger.settings.tree import SIDE_PATTERNS

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
REPLY = "".join(f"sentence {n} about gnommoweb. " for n in range(40))
LIVE = ProxySession(
    caller=ProxyCaller(space=MAIN_SPACE, name="dobby"),
    id=SessionId("s"),
    at=NOON,
    replies=(SessionReply(text=REPLY, content=b"", at=NOON),),
)


@pytest.mark.parametrize(
    "text",
    [
        "### Task:\nGenerate a concise title with an emoji.\n### Guidelines: …",
        "  ### Task:\nGenerate 1-3 broad tags for the chat",
        "### Task:\nSuggest follow-up questions",
        "Please write a 5-10 word title for the following conversation: …",
        "Summarize this coding conversation in under 50 characters.",
    ],
)
def test_known_texts_are_known(text: str):
    assert is_side_request(chat(user(text)), SIDE_PATTERNS)
    assert is_side_request(chat(system(text), user("hello")), SIDE_PATTERNS)


@pytest.mark.parametrize(
    "text", ["hello", "my task: find a title for my book", "what does '### Task: title' mean?", ""]
)
def test_a_person_may_speak_of_titles(text: str):
    assert not is_side_request(chat(system("Be brief."), user(text)), SIDE_PATTERNS)


def test_only_the_first_system_and_the_last_user_text_are_asked():
    text = "### Task:\nGenerate tags"

    assert not is_side_request(chat(user(text), assistant(text), user("now go on")), SIDE_PATTERNS)


@given(st.integers(0, 900), st.integers(QUOTE_CHARS, 200), st.text(max_size=30), st.text(max_size=30))
def test_a_long_quote_of_what_was_just_said_is_found_wherever_it_stands(
    start: int, length: int, before: str, after: str
):
    request = chat(user(before + REPLY[start : start + length] + after))

    assert quotes_a_reply(request, [LIVE], now=NOON + timedelta(minutes=1))


def test_a_short_quote_an_old_one_and_a_history_are_none():
    quote = REPLY[100 : 100 + QUOTE_CHARS]
    soon, late = NOON + timedelta(minutes=1), NOON + timedelta(hours=1)

    assert quotes_a_reply(chat(user(quote)), [LIVE], now=soon)
    assert not quotes_a_reply(chat(user("§" + quote[1:])), [LIVE], now=soon)
    assert not quotes_a_reply(chat(user(quote)), [LIVE], now=late)
    assert not quotes_a_reply(chat(user("hi"), assistant(REPLY), user("go on")), [LIVE], now=soon)
    assert not quotes_a_reply(chat(user(quote)), [], now=soon)


@pytest.mark.parametrize(
    ("text", "pattern", "fits"),
    [
        ("abc", "a", True),
        ("abc", "b", False),
        ("abc", "*b", True),
        ("abc", "a*c", True),
        ("acb", "a*b*c", False),
        (" \nabc", "abc", True),
        ("a" * 5000, "*a*a*a*a*b", False),
    ],
)
def test_a_star_stands_for_anything(text: str, pattern: str, fits: bool):
    assert starts_with_pattern(text, pattern) is fits
