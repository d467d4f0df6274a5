"""Notes on the wire: in which place they stand, what is said again, and what comes out."""

import gzip
from itertools import pairwise
from typing import Any

import orjson
import pytest
from tests.proxy.context.test_edit_positions import RESULT, SYSTEMS, TURNS
from tests.proxy.memory_scene import Knowing, Today, block_of, history, known, scene, told
from tests.proxy.protocols.wire import assistant, system, tool, user

from festinger.observability.metrics import PROXY_PREFIX_CHANGED
from festinger.proxy.context.edit import BlockPosition, LineUpdate, Modelfile
from festinger.proxy.protocols.messages import RequestKind
from festinger.proxy.routes import ApiProtocol
from festinger.services.block import ContextLine, NoteRef
from festinger.settings.tree import ProxySettings

RAMANUJAN = known("ramanujan")
B = block_of("ramanujan: [type] server")
MARIO = Modelfile(system="You are Mario.")


def mario(_model: str, _protocol: ApiProtocol, _settings: ProxySettings) -> Modelfile:
    return MARIO


@pytest.mark.requirement("P-33", "P-32")
@pytest.mark.parametrize(
    ("kind", "tree", "wanted"),
    [row for row in TURNS if "messages" not in row[1] or row[1]["messages"][-1] != user([RESULT])],
)
async def test_through_the_door_the_block_stands_before_the_newest_words_of_the_user(
    kind: RequestKind, tree: dict[str, Any], wanted: dict[str, Any]
):
    async with scene(Knowing(always=RAMANUJAN)) as at:
        got = await at.send(kind, {"model": "m", **tree})

    assert at.got == {"model": "m", **wanted}
    assert told(got) == "injected"


@pytest.mark.requirement("P-33", "P-32")
@pytest.mark.parametrize("position", [BlockPosition.SYSTEM_START, BlockPosition.SYSTEM_END])
@pytest.mark.parametrize(("kind", "tree", "at_start", "at_end"), SYSTEMS)
async def test_through_the_door_the_block_stands_at_the_start_or_the_end_of_the_system_text(
    kind: RequestKind, tree: dict[str, Any], at_start: dict[str, Any], at_end: dict[str, Any], position: BlockPosition
):
    async with scene(Knowing(always=RAMANUJAN), modelfile=mario, injection_position=position) as at:
        got = await at.send(kind, {"model": "m", **tree})

    wanted = at_start if position is BlockPosition.SYSTEM_START else at_end
    assert at.got == {"model": "m", **wanted}
    assert told(got) == "injected"


@pytest.mark.requirement("P-33")
@pytest.mark.parametrize("modelfile", [None, Modelfile(system="s", has_messages=True)])
async def test_what_a_model_brings_along_and_nobody_knows_is_not_hidden(modelfile: Modelfile | None):
    async with scene(modelfile=lambda *_: modelfile, injection_position="system_start") as at:
        await at.chat("open ramanujan")

    assert at.said == [f"{B}\n\nopen ramanujan"]


@pytest.mark.requirement("P-33")
async def test_on_a_turn_that_ends_with_a_result_the_words_wait_for_the_user():
    mind = Knowing()
    asked = [user("list servers"), assistant("Looking."), tool("ramanujan is up")]
    async with scene(mind) as at:
        first = await at.send(RequestKind.CHAT, {"messages": asked})
        without = at.said
        second = await at.send(RequestKind.CHAT, {"messages": [*asked, assistant("It is up."), user("restart it")]})

    assert (told(first), without) == ("empty; reason=tool_turn", ["list servers", "Looking.", "ramanujan is up"])
    assert (told(second), at.said[-1]) == ("injected", f"{B}\n\nrestart it")
    assert mind.asked == [["restart it", "It is up.", "ramanujan is up", "Looking.", "list servers"]]


@pytest.mark.requirement("P-33")
async def test_the_newest_result_may_carry_notes_where_that_is_wanted():
    async with scene(inject_into_tool_messages=True) as at:
        await at.send(RequestKind.CHAT, {"messages": [user("look"), assistant("Looking."), tool("ramanujan is up")]})

    assert at.said[-1] == f"{B}\n\nramanujan is up"


async def test_the_mind_is_asked_once_for_what_is_unseen_the_newest_first():
    mind = Knowing()
    async with scene(mind) as at:
        await at.chat("first", "second")
        await at.chat("first", "second", "third")

    assert mind.asked == [["second", "Certainly.", "first"], ["third"]]


async def test_what_a_block_of_this_history_shows_is_not_said_again():
    async with scene() as at:
        await at.chat("open ramanujan")
        got = await at.chat("open ramanujan", "close ramanujan")

    assert at.said == [f"{B}\n\nopen ramanujan", "Certainly.", "close ramanujan"]
    assert told(got) == "reused"


@pytest.mark.requirement("P-36")
async def test_a_note_that_changed_is_told_again_though_nobody_mentions_it():
    today = Today()
    moved = ContextLine(
        text="ramanujan: [type] laptop", notes=(NoteRef(kind="edge", id="ramanujan [type] laptop", version=2),)
    )
    async with scene(restate=today) as at:
        await at.chat("open ramanujan")
        today.present["ramanujan"] = LineUpdate(line=moved)
        await at.chat("open ramanujan", "thanks")
        now = block_of("ramanujan: [type] laptop")
        once = at.said
        await at.chat("open ramanujan", "thanks", "bye")

    assert once == [f"{B}\n\nopen ramanujan", "Certainly.", f"{now}\n\nthanks"]
    assert at.said[:3] == once
    assert at.said[4] == "bye"


@pytest.mark.requirement("P-36", "P-35")
async def test_what_was_forgotten_leaves_the_blocks_at_once_and_is_counted():
    today = Today()
    before = PROXY_PREFIX_CHANGED.labels("forgotten")._value.get()
    async with scene(Knowing(words={"ramanujan": "server", "dobby": "agent"}), restate=today) as at:
        await at.chat("ask dobby to open ramanujan")
        both = at.said[0]
        gone = NoteRef(kind="edge", id="ramanujan [type] server", version=1)
        today.present["ramanujan"] = LineUpdate(forgotten=(gone,))
        await at.chat("ask dobby to open ramanujan", "thanks")

    assert "ramanujan: [type] server" in both
    assert at.said[0] == f"{block_of('dobby: [type] agent')}\n\nask dobby to open ramanujan"
    assert PROXY_PREFIX_CHANGED.labels("forgotten")._value.get() == before + 1


@pytest.mark.requirement("P-35")
async def test_a_block_of_the_system_text_changes_only_when_a_person_speaks_and_there_is_more_to_say():
    mind = Knowing(words={"ramanujan": "server", "dobby": "agent"})
    before = PROXY_PREFIX_CHANGED.labels("notes")._value.get()
    tree: dict[str, Any] = {"messages": [system("Be brief."), user("open ramanujan")]}
    systems = []
    async with scene(mind, injection_position="system_end") as at:
        for more in ([], [assistant("Done."), user("thanks")], [assistant("Yes."), user("ask dobby")]):
            tree["messages"] += more
            await at.send(RequestKind.CHAT, tree)
            systems.append(at.said[0])
            assert at.said[1:] == [message["content"] for message in tree["messages"][1:]]

    both = block_of("dobby: [type] agent", "ramanujan: [type] server")
    assert systems == [f"Be brief.\n\n{B}", f"Be brief.\n\n{B}", f"Be brief.\n\n{both}"]
    assert PROXY_PREFIX_CHANGED.labels("notes")._value.get() == before + 1


@pytest.mark.requirement("P-35")
async def test_in_the_turn_the_prefix_never_changes():
    def changed() -> Any:
        return sum(PROXY_PREFIX_CHANGED.labels(why)._value.get() for why in ("notes", "forgotten", "position"))

    before, sent = changed(), []
    said = ["open ramanujan", "ask dobby", "thanks", "ask dobby about ramanujan"]
    async with scene(Knowing(words={"ramanujan": "server", "dobby": "agent"})) as at:
        for length in range(1, len(said) + 1):
            await at.chat(*said[:length])
            sent.append(at.said)

    assert all(after[: len(one)] == one for one, after in pairwise(sent))
    assert changed() == before


@pytest.mark.requirement("P-41")
async def test_a_message_that_carries_a_block_keeps_it_and_gets_no_other():
    text = f"{block_of('dobby: [type] agent')}\n\nopen ramanujan"
    async with scene() as at:
        got = await at.chat(text)

    assert at.said == [text]
    assert told(got) == "off; reason=already"


@pytest.mark.requirement("P-41")
async def test_an_echo_of_ours_is_taken_out_of_what_the_assistant_said():
    messages = [user("open ramanujan"), assistant(f"{B}\n\nIt is open."), user("thanks")]
    mind = Knowing()
    async with scene(mind) as at:
        await at.send(RequestKind.CHAT, {"messages": messages})

    assert at.said == ["open ramanujan", "It is open.", f"{B}\n\nthanks"]
    assert all("<recollection>" not in text for texts in mind.asked for text in texts)
    assert all("<recollection>" not in text for texts in at.learnt for text in texts)


@pytest.mark.requirement("P-41")
async def test_a_persons_own_use_of_the_tag_is_left_alone():
    own = "<recollection>\nmy holiday\n</recollection>\n\nopen the album"
    async with scene() as at:
        got = await at.chat(own)

    assert at.said == [own]
    assert told(got) == "empty"
    assert at.learnt == [[own]]


@pytest.mark.requirement("P-41")
@pytest.mark.parametrize("position", list(BlockPosition))
async def test_behind_another_door_of_ours_there_is_one_set_of_notes(position: BlockPosition):
    words = {"ramanujan": "server", "dobby": "agent"}
    said = ["open ramanujan", "thanks", "ask dobby about ramanujan"]
    async with scene(Knowing(words=words), injection_position=position) as behind:
        async with scene(Knowing(words=words), injection_position=position, upstream=behind.door.url) as front:
            for length in range(1, len(said) + 1):
                messages = [system("Be brief."), *history(*said[:length])]
                await front.send(RequestKind.CHAT, {"messages": messages})

    everything = "\n".join(behind.said)
    assert everything.count("ramanujan: [type] server") == 1
    assert everything.count("dobby: [type] agent") == 1
    assert all("<recollection>" not in text for texts in behind.learnt for text in texts)


@pytest.mark.requirement("P-13")
async def test_a_compressed_request_gets_its_notes_and_goes_on_plain():
    body = gzip.compress(orjson.dumps({"messages": [user("open ramanujan")]}))
    async with scene() as at:
        got = await at.send(RequestKind.CHAT, body, "Content-Encoding: gzip", "Accept-Encoding: gzip, br")

    received = at.upstream.received[0]
    assert at.said == [f"{B}\n\nopen ramanujan"]
    assert received.values(b"content-encoding") == []
    assert received.values(b"content-length") == [b"%d" % len(received.body)]
    assert received.values(b"accept-encoding") == [b"identity"]
    assert told(got) == "injected"


@pytest.mark.requirement("P-13", "P-08")
@pytest.mark.parametrize(
    ("encoding", "body", "result"),
    [
        ("gzip", gzip.compress(orjson.dumps({"messages": [user("hi")]}), mtime=0), "empty"),
        ("gzip", b"\x1f\x8b\x08broken", "off; reason=encoded"),
        ("br", b"\x0b\x02\x80hi\x03", "off; reason=encoded"),
    ],
    ids=["nothing to add", "broken", "unknown"],
)
async def test_a_compressed_request_without_notes_goes_on_as_it_came(encoding: str, body: bytes, result: str):
    async with scene() as at:
        got = await at.send(RequestKind.CHAT, body, f"Content-Encoding: {encoding}")

    received = at.upstream.received[0]
    assert (received.body, received.values(b"content-encoding")) == (body, [encoding.encode()])
    assert told(got) == result
