"""Memories join what the world knows: what they are asked about, where they stand, what is late, and what changed since."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.proxy.context.test_build_deadline import Deadline, Slow
from tests.proxy.memory_scene import PATIENT_MS, Knowing, Remembering, block_of, remembered, scene, settled, told
from tests.proxy.protocols.wire import assistant, tool, user

from festinger.errors import StoreDown
from festinger.ids import Origin
from festinger.proxy.context.build import MOST_RECALLS
from festinger.proxy.context.edit import LineUpdate
from festinger.proxy.context.memories import find_memory_line_updates
from festinger.proxy.protocols.messages import RequestKind
from festinger.services.block import ContextLine
from festinger.services.recollect import CUE_CHARS, build_cue, memory_note_ids
from festinger.world.recall import SourceText

PORT = remembered(1, "ramanujan listens on port 4022.")
LUNCH = remembered(2, "Lunch is at noon.")
MOVED = remembered(3, "ramanujan listens on port 4044.")
EDGE = "ramanujan: [type] server"


def said(text: str, turn: str = "a", *, origin: Origin = Origin.PERSON, part: int = 0) -> SourceText:
    return SourceText(text=text, origin=origin, message=f"s:{turn}:{part}")


def knowing(**more: Any) -> Remembering:
    return Remembering(words={"ramanujan": PORT, "lunch": LUNCH}, **more)


@pytest.mark.requirement("P-30")
def test_what_a_person_said_last_is_asked_about_and_nothing_else():
    texts = [
        said("It is up.", "d", origin=Origin.MODEL),
        said("and restart it.", "c", part=1),
        said("Look at ramanujan", "c"),
        said("ramanujan is up", "b", origin=Origin.TOOL),
        said("Good morning.", "a"),
    ]

    assert build_cue(texts) == "Look at ramanujan\nand restart it."
    assert build_cue(texts[3:4]) == ""


def test_a_conversation_searches_for_words_alone_and_for_the_end_of_a_long_one():
    assert build_cue([said('why does "it" fail with -v or --help? re-run')]) == (
        "why does  it  fail with  v or  help? re-run"
    )
    assert build_cue([said("\x00 \ud800")]) == ""
    assert build_cue([said("x" * CUE_CHARS + " the end")]).endswith("x the end")
    assert len(build_cue([said("x" * 5000)])) == CUE_CHARS


@pytest.mark.parametrize("pasted", ["It went up. Then it went down. " * 20, "up\ndown\n" * 10_000])
def test_of_a_long_message_it_is_asked_what_the_message_asks(pasted: str):
    assert build_cue([said(f"Which port is it?\n{pasted}")]) == "Which port is it?"
    assert build_cue([said(f"{pasted}\nWhich port? And where?")]) == "Which port? And where?"
    assert build_cue([said(f"{pasted}\nRestart ramanujan now.")]).endswith("Restart ramanujan now.")


@pytest.mark.requirement("P-30", "P-31")
async def test_memories_stand_after_what_the_world_knows_and_before_unknown_names():
    async with scene(memories=knowing()) as at:
        got = await at.chat("open ramanujan after lunch")

    assert at.said == [f"{block_of(EDGE, PORT.text, LUNCH.text)}\n\nopen ramanujan after lunch"]
    assert "; notes=3; " in str(got.value("x-festinger-memory"))


@pytest.mark.requirement("P-30")
async def test_what_this_history_shows_is_left_out_and_what_another_branch_shows_is_not():
    memories = knowing()
    async with scene(Knowing(words={}), memories=memories) as at:
        await at.chat("open ramanujan")
        got = await at.chat("open ramanujan", "close ramanujan")
        await at.chat("ramanujan, please")

    assert told(got) == "reused"
    assert [excluded for _, excluded in memories.asked] == [set(), {UUID(int=1)}, set()]
    assert at.said == [f"{block_of(PORT.text)}\n\nramanujan, please"]


async def test_only_the_first_turn_of_a_conversation_waits_for_what_another_one_has_just_said():
    memories = knowing()
    async with scene(memories=memories) as at:
        await at.chat("open ramanujan")
        await at.chat("open ramanujan", "and after lunch?")

    assert memories.firsts == [True, False]


async def test_a_space_that_holds_nothing_and_words_of_no_person_are_not_asked_about():
    nothing, results = knowing(holds=False), knowing()
    async with scene(memories=nothing) as at:
        await at.chat("open ramanujan")
    async with scene(memories=results) as at:
        await at.send(RequestKind.CHAT, {"messages": [user("ramanujan"), assistant("Yes."), tool("ramanujan is up")]})

    assert (nothing.asked, results.asked) == ([], [])


@pytest.mark.requirement("P-50", "P-51")
async def test_a_late_memory_is_said_to_be_late_and_told_in_the_next_turn():
    memories, deadline = knowing(), Deadline(ms=1)
    memories.let.clear()
    async with scene(memories=memories, live=deadline) as at:
        first = await at.chat("open ramanujan")
        without = at.said
        second = await at.chat("open ramanujan", "thanks", "and lunch")
        deadline.ms = PATIENT_MS
        memories.let.set()
        await settled()
        third = await at.chat("open ramanujan", "thanks", "and lunch", "bye")
        last = at.said[-1]
        fourth = await at.chat("open ramanujan", "thanks", "and lunch", "bye", "bye bye")

    assert without == [f"{block_of(EDGE)}\n\nopen ramanujan"]
    assert (told(first), told(second)) == ("injected; reason=recall", "late; reason=recall")
    assert (told(third), last) == ("injected", f"{block_of(LUNCH.text, PORT.text)}\n\nbye")
    assert (told(fourth), at.said[-1]) == ("reused", "bye bye")


@pytest.mark.requirement("P-50", "P-36")
async def test_what_was_forgotten_or_changed_while_it_was_late_is_not_told_as_it_was():
    memories, deadline = knowing(), Deadline(ms=1)
    memories.let.clear()
    async with scene(Knowing(words={}), memories=memories, live=deadline) as at:
        await at.chat("ramanujan and lunch")
        deadline.ms = PATIENT_MS
        memories.today = {PORT.about: MOVED, MOVED.about: MOVED}
        memories.let.set()
        await settled()
        await at.chat("ramanujan and lunch", "thanks")

    assert at.said[-1] == f"{block_of(MOVED.text)}\n\nthanks"


@pytest.mark.requirement("P-50")
async def test_a_late_world_does_not_keep_memories_from_being_told():
    mind, deadline = Slow(), Deadline(ms=50)
    async with scene(mind, memories=knowing(), live=deadline) as at:
        got = await at.chat("open ramanujan")

    assert at.said == [f"{block_of(PORT.text)}\n\nopen ramanujan"]
    assert told(got) == "injected"


@pytest.mark.requirement("P-52", "P-51")
@pytest.mark.parametrize("fault", [StoreDown("away"), RuntimeError("broken")], ids=["away", "broken"])
async def test_a_memory_that_fails_takes_nothing_of_the_world_with_it_and_is_named(fault: Exception):
    name = type(fault).__name__
    async with scene(memories=knowing(fault=fault)) as at:
        first = await at.chat("open ramanujan")
        said = at.said
        second = await at.chat("open ramanujan", "thanks")

    assert said == [f"{block_of(EDGE)}\n\nopen ramanujan"]
    assert (told(first), told(second)) == (f"injected; reason={name}", f"failed; reason={name}")
    assert at.said == [*said, "Certainly.", "thanks"]


@pytest.mark.requirement("P-50")
async def test_behind_too_many_open_questions_nobody_waits():
    memories, deadline = knowing(), Deadline(ms=1)
    memories.let.clear()
    async with scene(Knowing(words={}), memories=memories, live=deadline) as at:
        for number in range(MOST_RECALLS):
            await at.chat(f"open ramanujan {number}")
        deadline.ms = PATIENT_MS
        got = await at.chat("open ramanujan")

    assert told(got) == "late; reason=busy"
    assert len(memories.asked) == MOST_RECALLS


@pytest.mark.requirement("P-50")
async def test_a_memory_that_was_late_again_and_again_is_asked_and_awaited_all_the_same():
    memories, deadline = knowing(), Deadline(ms=1)
    memories.let.clear()
    async with scene(Knowing(words={}), memories=memories, live=deadline) as at:
        late = [await at.chat(f"open ramanujan {number}") for number in range(MOST_RECALLS)]
        deadline.ms = PATIENT_MS
        memories.let.set()
        got = await at.chat("where is ramanujan?")

    assert {told(each) for each in late} == {"late; reason=recall"}
    assert told(got) == "injected"


@pytest.mark.requirement("P-50")
async def test_while_vectors_are_late_the_memory_answers_by_words_and_tells_the_rest_in_the_next_turn():
    memories = knowing(words_alone=True)
    memories.let.clear()
    async with scene(Knowing(words={}), memories=memories, memory_deadline_ms=600) as at:
        first = await at.chat("open ramanujan after lunch")
        said = at.said
        memories.let.set()
        await settled()
        second = await at.chat("open ramanujan after lunch", "thanks")

    assert (told(first), said) == ("injected; reason=words", [f"{block_of(PORT.text)}\n\nopen ramanujan after lunch"])
    assert (told(second), at.said[-1]) == ("injected", f"{block_of(LUNCH.text)}\n\nthanks")


@pytest.mark.requirement("P-36")
async def test_a_memory_that_changed_is_told_again_and_one_that_is_gone_leaves_the_blocks_also_on_a_tool_turn():
    memories = knowing()
    history = [user("ramanujan and lunch")]
    async with scene(Knowing(words={}), memories=memories) as at:
        await at.send(RequestKind.CHAT, {"messages": history})
        both = at.said
        memories.today = {PORT.about: MOVED, MOVED.about: MOVED}
        history += [assistant("Looking."), tool("up")]
        await at.send(RequestKind.CHAT, {"messages": history})
        on_tool_turn = at.said
        history += [assistant("It is up."), user("thanks")]
        await at.send(RequestKind.CHAT, {"messages": history})
        after = at.said
        history += [assistant("You are welcome."), user("bye")]
        await at.send(RequestKind.CHAT, {"messages": history})

    assert both == [f"{block_of(PORT.text, LUNCH.text)}\n\nramanujan and lunch"]
    assert on_tool_turn == [f"{block_of(PORT.text)}\n\nramanujan and lunch", "Looking.", "up"]
    assert after == [*on_tool_turn, "It is up.", f"{block_of(MOVED.text)}\n\nthanks"]
    assert at.said == [*after, "You are welcome.", "bye"]


@pytest.mark.requirement("P-36", "M-46")
@pytest.mark.parametrize(
    ("shown", "today", "wanted"),
    [
        (PORT, PORT, {}),
        (PORT, MOVED, {PORT.about: LineUpdate(line=MOVED)}),
        (PORT, None, {PORT.about: LineUpdate(forgotten=PORT.notes)}),
    ],
    ids=["as it was", "replaced", "gone"],
)
def test_each_shown_memory_is_held_against_how_it_stands(
    shown: ContextLine, today: ContextLine | None, wanted: dict[str, LineUpdate]
):
    edge = ContextLine(text=EDGE)

    assert find_memory_line_updates({shown.about: shown, "": edge}, {shown.about: today} if today else {}) == wanted


@pytest.mark.requirement("P-36", "M-46")
def test_a_dispute_that_arose_or_ended_is_a_change():
    disputed = remembered(1, "ramanujan listens on port 4022.", disputed=True)

    assert disputed.text.endswith(" (disputed)")
    assert find_memory_line_updates({PORT.about: PORT}, {PORT.about: disputed}) == {
        PORT.about: LineUpdate(line=disputed)
    }
    assert find_memory_line_updates({PORT.about: disputed}, {PORT.about: PORT}) == {PORT.about: LineUpdate(line=PORT)}


def test_a_note_that_got_its_day_with_age_has_not_changed():
    older = replace(PORT, text=f"{PORT.text} (noted 2026-03-02)")

    assert find_memory_line_updates({PORT.about: PORT}, {PORT.about: older}) == {}


def test_the_memories_that_lines_show_are_known_by_their_kind():
    assert memory_note_ids([PORT, ContextLine(text=EDGE), LUNCH]) == [UUID(int=1), UUID(int=2)]
