"""Which session a request continues, where it does not say."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy.protocols.wire import LABEL, assistant, chat, request_of, system, tool, user

from festinger.ids import MAIN_SPACE, SessionId
from festinger.proxy.loops.keys import ChatMessage, ChatRole
from festinger.proxy.protocols.messages import ChatRequest, RequestKind
from festinger.proxy.sessions.match import SessionMatch, SessionMatchKind, match_session, shared_length
from festinger.proxy.sessions.session import (
    ProxyCaller,
    ProxySession,
    SessionReply,
    build_hash_chain,
    reply_content_hash,
)
from festinger.services.block import ContextBlock, ContextLine

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
DOBBY = ProxyCaller(space=MAIN_SPACE, name="dobby")
LONG = "I restarted gnommoweb on ramanujan and its log is clean now."
OTHER = "The certificate of hilbert expires in nine days; I renewed it."


def session(name: str, *messages: dict[str, Any], at: datetime = NOON, replies: tuple[str, ...] = ()) -> ProxySession:
    request = chat(*messages)
    chain = build_hash_chain(request.turns)
    spoken = zip(request.turns, chain.contents, strict=True)
    return ProxySession(
        caller=DOBBY,
        id=SessionId(name),
        at=at,
        head=chain.head,
        links=chain.links,
        recent=frozenset(content for turn, content in spoken if turn.role in (ChatRole.ASSISTANT, ChatRole.TOOL)),
        replies=tuple(
            SessionReply(text=text, content=reply_content_hash(ChatMessage(role=ChatRole.ASSISTANT, text=text)), at=at)
            for text in replies
        ),
    )


def recognised(request: ChatRequest, *live: ProxySession, now: datetime = NOON + timedelta(seconds=5)) -> SessionMatch:
    return match_session(build_hash_chain(request.turns), request.turns, live=live, now=now)


START = (system("Be brief."), user("hi"))
BLOCK = ContextBlock(label=LABEL, lines=(ContextLine(text="a: [b] c"),)).text


@pytest.mark.requirement("P-23")
def test_the_longest_history_that_goes_on_is_the_one():
    short = session("short", *START)
    long = session("long", *START, assistant("a"), user("b"))

    found = recognised(chat(*START, assistant("a"), user("b"), assistant("c"), user("d")), short, long)

    assert found == SessionMatch(how=SessionMatchKind.CHAIN, session=SessionId("long"))
    assert recognised(chat(*START, assistant("z"), user("b")), short, long).session == "short"


@pytest.mark.requirement("P-23")
def test_a_shared_system_text_is_not_enough():
    one = session("one", system("You are Agent Zero."))

    assert recognised(chat(system("You are Agent Zero."), user("hi")), one).how is SessionMatchKind.NEW


@pytest.mark.requirement("P-23")
def test_the_same_request_again_and_another_model_stay_in_the_session():
    one = session("one", *START)

    assert recognised(chat(*START), one).session == "one"
    assert recognised(chat(*START, assistant("a"), user("b"), model="another"), one).session == "one"


@pytest.mark.requirement("P-23")
def test_of_a_system_text_only_its_beginning_counts():
    head = "You are a helpful agent who works on gnommoweb. Be kind. "
    one = session("one", system(head + "It is Monday."), user("hi"))

    assert (
        recognised(chat(system(head + "It is Tuesday."), user("hi"), assistant("a"), user("b")), one).session == "one"
    )
    assert (
        recognised(chat(system("Other. " + head), user("hi"), assistant("a"), user("b")), one).how
        is SessionMatchKind.NEW
    )


@pytest.mark.requirement("P-23")
def test_our_own_blocks_do_not_count():
    one = session("one", *START)

    assert (
        recognised(chat(system("Be brief."), user(f"{BLOCK}\n\nhi"), assistant("a"), user("b")), one).session == "one"
    )


@pytest.mark.requirement("P-23")
def test_volatile_tails_do_not_count_even_where_they_are_a_whole_message():
    def prompt(text: str) -> ChatRequest:
        return request_of({"prompt": text}, RequestKind.GENERATE)

    first = build_hash_chain(prompt("### User:\ngo\n\n### User:\n[EXTRAS]\n12:00\n\n").turns)
    later = prompt("### User:\ngo\n\n### Assistant:\nok\n\n### User:\n[EXTRAS]\n12:01\n\n")
    one = ProxySession(caller=DOBBY, id=SessionId("one"), at=NOON, head=first.head, links=first.links[:1])

    assert first.links[0] == first.links[1]
    assert recognised(later, one).session == "one"


@pytest.mark.requirement("P-23")
def test_what_leaves_a_known_history_is_a_new_session_beside_it():
    one = session("one", *START, assistant(LONG), user("b"), assistant("c"), user("d"), replies=(LONG,))

    assert recognised(chat(*START, assistant(LONG), user("another way")), one) == SessionMatch(
        how=SessionMatchKind.NEW, parent=SessionId("one")
    )


@pytest.mark.requirement("P-23")
def test_going_back_is_a_rewind_for_ten_minutes():
    one = session("one", *START, assistant("a"), user("b"), assistant("c"), user("d"))
    back = chat(*START, assistant("a"), user("b"))

    assert recognised(back, one, now=NOON + timedelta(minutes=10)) == SessionMatch(
        how=SessionMatchKind.CHAIN, session=SessionId("one")
    )
    assert recognised(back, one, now=NOON + timedelta(minutes=11)) == SessionMatch(how=SessionMatchKind.NEW)


@pytest.mark.requirement("P-23")
def test_after_compaction_the_latest_reply_tells():
    one = session("one", *START, assistant("a"), user("b"), replies=("short", LONG))
    retold = chat(system("Be brief."), user("Summary of what was: …"), assistant(LONG), user("go on"))

    assert recognised(retold, one) == SessionMatch(how=SessionMatchKind.REPLY, session=SessionId("one"))
    assert recognised(chat(user("Summary"), assistant("short"), user("go on")), one).how is SessionMatchKind.NEW


@pytest.mark.requirement("P-23")
def test_after_compaction_two_recent_steps_tell_and_one_does_not():
    one = session("one", *START, assistant("a"), tool("42"), assistant("c"), user("d"))

    assert recognised(chat(user("Summary"), tool("42"), assistant("c"), user("e")), one).session == "one"
    assert recognised(chat(user("Summary"), assistant("c"), user("e")), one).how is SessionMatchKind.NEW


@pytest.mark.requirement("P-23")
def test_compaction_that_keeps_the_beginning_is_no_new_session():
    one = session("one", *START, assistant("a"), user("b"), assistant(LONG), user("c"), replies=(LONG,))

    assert recognised(chat(*START, assistant("(summary)"), assistant(LONG), user("d")), one).session == "one"


@pytest.mark.requirement("P-23")
def test_a_quote_in_what_the_user_says_is_no_history():
    one = session("one", *START, replies=(LONG,))

    assert recognised(chat(user(f"Name this chat: {LONG}")), one).how is SessionMatchKind.NEW


def test_two_contents_are_never_hashed_alike():
    texts = [("ab", "c"), ("a", "bc"), ("abc", ""), ("", "abc"), ("1:a", "b")]
    requests = [chat(user(one), assistant(two)) for one, two in texts]

    assert len({build_hash_chain(request.turns).end for request in requests}) == len(texts)
    assert build_hash_chain(chat(user("a")).turns).end != build_hash_chain(chat(assistant("a")).turns).end


def test_a_call_is_not_hashed_like_a_text_that_spells_it():
    def called(text: str, *names: str) -> dict[str, Any]:
        calls = [{"function": {"name": name, "arguments": "{}"}} for name in names]
        return {"role": "assistant", "content": text, "tool_calls": calls}

    requests = [called("a", "ls"), called("acallls{}"), called("a", "l", "s"), called("a", "lscall"), called("a")]

    assert len({build_hash_chain(chat(request).turns).end for request in requests}) == len(requests)


@given(st.lists(st.sampled_from("ab"), max_size=12), st.lists(st.sampled_from("ab"), max_size=12))
def test_chains_share_exactly_what_histories_share(one: list[str], other: list[str]):
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    chains = [build_hash_chain(chat(*map(user, words)).turns).links for words in (one, other)]

    assert shared_length(*chains) == same


@pytest.mark.requirement("P-23")
def test_a_reply_is_hashed_as_it_will_come_back():
    sent = build_hash_chain(chat(user("a"), assistant(LONG)).turns).contents[1]

    assert reply_content_hash(ChatMessage(role=ChatRole.ASSISTANT, text=LONG + "\n")) == sent
    assert reply_content_hash(ChatMessage(role=ChatRole.ASSISTANT, text=OTHER)) != sent
