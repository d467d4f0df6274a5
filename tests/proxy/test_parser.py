"""What a request says, in which session, and what of it is new, through the door."""

import pytest
from tests.proxy.memory_scene import Knowing, scene, told
from tests.proxy.protocols.wire import assistant, system, user
from tests.runtime.server import Hands

from festinger.proxy.protocols.messages import RequestKind

REPLY = "Ramanujan was a mathematician from Erode who filled his notebooks with thousands of results."
ANSWER = b'{"message":{"role":"assistant","content":"%b"},"done":true}' % REPLY.encode()


@pytest.mark.requirement("P-24")
async def test_a_tail_that_is_written_anew_at_each_step_is_neither_asked_about_nor_learnt():
    mind = Knowing()
    tail = "\n\n[EXTRAS]\nramanujan, at 12:00"
    async with scene(mind) as at:
        first = await at.send(RequestKind.CHAT, {"messages": [user(f"open the door{tail}")]})
        later = [user("open the door"), assistant("Certainly."), user(f"close it{tail}1")]
        second = await at.send(RequestKind.CHAT, {"messages": later})

    assert mind.asked == [["open the door"], ["close it"]]
    assert at.learnt == [["open the door"], ["close it"]]
    assert (told(first), told(second)) == ("empty", "empty")
    assert at.said[-1] == f"close it{tail}1"
    sessions = [(got.value("x-festinger-session") or "").partition(";") for got in (first, second)]
    assert sessions[0][0] == sessions[1][0]
    assert sessions[1][2] == " how=chain"


@pytest.mark.requirement("P-24")
async def test_which_lines_begin_such_a_tail_can_be_set():
    mind = Knowing()
    async with scene(mind, volatile_markers=("--- state ---",)) as at:
        await at.send(RequestKind.CHAT, {"messages": [user("go\n--- state ---\nramanujan"), user("[EXTRAS]\nwhy")]})

    assert mind.asked == [["[EXTRAS]\nwhy", "go"]]


@pytest.mark.requirement("P-26")
@pytest.mark.parametrize(
    "aside",
    [
        [user(f"Suggest three follow-ups to this chat: {REPLY}")],
        [system("You write titles."), user(f"Chat:\nUser: who?\nAssistant: {REPLY[:90]}")],
    ],
    ids=["follow-ups", "a title"],
)
async def test_a_request_that_quotes_what_was_just_said_is_the_clients_own_business(aside: list[dict[str, str]]):
    mind = Knowing()
    async with scene(mind, answer=ANSWER) as at:
        await at.chat("who was ramanujan?")
        got = await at.send(RequestKind.CHAT, {"messages": aside})

    assert told(got) == "off; reason=side"
    assert at.got == {"messages": aside}
    assert len(mind.asked) == 1
    assert at.learnt == [["who was ramanujan?"]]
    assert got.value("x-festinger-loop") is None


@pytest.mark.requirement("P-26")
async def test_a_conversation_that_goes_on_is_no_side_request_though_it_quotes():
    async with scene(answer=ANSWER) as at:
        await at.chat("who was he?")
        messages = [user("who was he?"), assistant(REPLY), user(f"You said: {REPLY} Is ramanujan his name?")]
        got = await at.send(RequestKind.CHAT, {"messages": messages})

    assert told(got) == "injected"


@pytest.mark.requirement("P-26")
@pytest.mark.parametrize(
    ("headers", "minutes", "quoted"),
    [(("X-Festinger-Agent: dobby",), 0, REPLY), ((), 11, REPLY), ((), 0, REPLY[:79])],
    ids=["another caller", "long ago", "too short"],
)
async def test_only_a_long_fresh_quote_of_the_same_caller_makes_a_side_request(
    headers: tuple[str, ...], minutes: int, quoted: str
):
    hands = Hands()
    async with scene(answer=ANSWER, clock=hands.clock) as at:
        await at.chat("who was he?")
        hands.now = hands.now.replace(minute=minutes)
        got = await at.send(RequestKind.CHAT, {"messages": [user(f"About ramanujan: {quoted}")]}, *headers)

    assert told(got) == "injected"


@pytest.mark.requirement("P-26")
async def test_a_side_request_by_its_words_is_not_asked_about():
    mind = Knowing()
    async with scene(mind) as at:
        got = await at.send(RequestKind.CHAT, {"messages": [user("Generate tags categorizing ramanujan")]})

    assert (told(got), mind.asked, at.learnt) == ("off; reason=side", [], [])
