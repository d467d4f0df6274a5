"""A request does not wait for memory, and what comes late is told in the next turn."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.proxy.memory_scene import ANSWER, PATIENT_MS, Knowing, Today, block_of, known, scene, settled, told
from tests.proxy.proxy_server import PATIENCE

from festinger.ids import Scope
from festinger.observability.metrics import PROXY_MEMORY
from festinger.proxy.context.edit import LineUpdate
from festinger.services.block import ContextLine, NoteRef
from festinger.settings.tree import ProxySettings
from festinger.world.recall import SourceText
from festinger.world.recollection import Recollection

B = block_of("ramanujan: [type] server")


@dataclass
class Slow:
    """A mind that answers a question about these words only when it is let."""

    waits_for: str = "ramanujan"
    let: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    called_off: asyncio.Event = field(default_factory=asyncio.Event)

    async def recollect(self, scope: Scope, texts: Sequence[SourceText]) -> Recollection | None:
        found = [said.text for said in texts]
        if any(self.waits_for in text for text in found):
            self.asked.set()
            try:
                await self.let.wait()
            except asyncio.CancelledError:
                self.called_off.set()
                raise
            return known("ramanujan")
        return known("dobby", "agent") if any("dobby" in text for text in found) else Recollection()

    def learn(self, scope: Scope, texts: Sequence[SourceText]) -> None:
        return None


@dataclass
class Deadline:
    """The settings with a deadline that a test can move: only the request that is to be late has a short one."""

    ms: int = PATIENT_MS

    def __call__(self) -> ProxySettings:
        return ProxySettings(memory_deadline_ms=self.ms, first_memory_deadline_ms=self.ms)


@pytest.mark.requirement("P-50", "P-51")
async def test_a_mind_that_hangs_leaves_the_request_as_it_came():
    before = PROXY_MEMORY.labels("late", "")._value.get()
    async with scene(Slow(), memory_deadline_ms=1, first_memory_deadline_ms=1) as at:
        got = await at.chat("open ramanujan")

    assert at.said == ["open ramanujan"]
    assert (told(got), got.body) == ("late", ANSWER)
    assert PROXY_MEMORY.labels("late", "")._value.get() == before + 1


@pytest.mark.requirement("P-50")
async def test_what_comes_late_is_told_in_the_next_turn_and_only_there():
    mind, deadline = Slow(), Deadline(ms=1)
    async with scene(mind, live=deadline) as at:
        await at.chat("open ramanujan")
        deadline.ms = PATIENT_MS
        mind.let.set()
        await settled()
        second = await at.chat("open ramanujan", "thanks")
        said = at.said
        third = await at.chat("open ramanujan", "thanks", "bye")

    assert (told(second), said) == ("injected", ["open ramanujan", "Certainly.", f"{B}\n\nthanks"])
    assert (told(third), at.said[-1]) == ("reused", "bye")


@pytest.mark.requirement("P-23")
async def test_the_same_opening_question_in_a_new_chat_is_a_new_session_with_its_own_notes():
    async with scene(Knowing()) as at:
        first = await at.chat("open ramanujan")
        again = await at.chat("open ramanujan")

    assert (told(first), told(again)) == ("injected", "injected")
    assert first.value("x-festinger-session") != again.value("x-festinger-session")


@pytest.mark.requirement("P-50", "P-35")
async def test_blocks_that_stand_in_the_history_go_in_though_memory_is_late():
    deadline = Deadline()
    async with scene(Slow(), live=deadline) as at:
        first = await at.chat("ask dobby")
        sent = at.said
        deadline.ms = 1
        second = await at.chat("ask dobby", "open ramanujan")

    assert (told(first), told(second)) == ("injected", "late")
    assert at.said == [*sent, "Certainly.", "open ramanujan"]


@pytest.mark.requirement("P-50", "P-36")
@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        (LineUpdate(forgotten=(NoteRef(kind="edge", id="ramanujan [type] server"),)), "thanks"),
        (
            LineUpdate(line=ContextLine(text="ramanujan: [type] laptop")),
            f"{block_of('ramanujan: [type] laptop')}\n\nthanks",
        ),
    ],
    ids=["forgotten", "changed"],
)
async def test_what_is_no_longer_so_when_it_comes_is_not_told(now: LineUpdate, wanted: str):
    mind, today, deadline = Slow(), Today(), Deadline(ms=1)
    async with scene(mind, restate=today, live=deadline) as at:
        await at.chat("open ramanujan")
        deadline.ms = PATIENT_MS
        today.present["ramanujan"] = now
        mind.let.set()
        await settled()
        await at.chat("open ramanujan", "thanks")

    assert at.said[-1] == wanted


async def test_a_question_whose_client_left_is_called_off():
    mind = Slow()
    async with scene(mind) as at:
        _, writer = await asyncio.open_connection("127.0.0.1", at.door.port)
        body = b'{"messages":[{"role":"user","content":"open ramanujan"}]}'
        writer.write(b"POST /api/chat HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        await asyncio.wait_for(mind.asked.wait(), PATIENCE)
        writer.close()
        await asyncio.wait_for(mind.called_off.wait(), PATIENCE)

    assert at.upstream.received == []
