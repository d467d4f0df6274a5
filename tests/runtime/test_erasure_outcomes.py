"""What became of a memory stays with it when part of what was said of it is taken back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.memory.remembering import now
from tests.runtime.server import given

import festinger
from festinger.memory.confidence import Belief
from festinger.outcomes.replay import compare_memories_with_logs

SAID = "The mill grinds on Tuesdays only"


@asynccontextmanager
async def remembering(database_url: str, tmp_path: Path) -> AsyncIterator[festinger.Memory]:
    async with festinger.open(given(tmp_path), database=database_url) as memory:
        yield memory


async def tell(memory: festinger.Memory, *sessions: str) -> Any:
    """Say the same in each session, and act on it."""
    told = [now(await memory.for_session(session).learn(SAID)).id for session in sessions]
    await memory.for_session("work").observe({told[0]: "acted"})
    return told[0]


async def belief_of(memory: festinger.Memory, id_: Any) -> Belief:
    return (await memory.get(id_)).belief


TAKEN_BACK = {"the founder": ("bad", "s2", "s3"), "a later voice": ("s2", "bad", "s3")}


@pytest.mark.requirement("M-84", "O-41")
@pytest.mark.parametrize("way", ["repair", "forget"])
@pytest.mark.parametrize("sessions", TAKEN_BACK.values(), ids=TAKEN_BACK.keys())
async def test_a_memory_with_outcomes_is_held_as_if_a_voice_had_never_been(
    database_url: str, tmp_path: Path, way: str, sessions: tuple[str, ...]
):
    async with remembering(database_url, tmp_path) as memory:
        honest = await tell(memory.for_agent("ada"), *(each for each in sessions if each != "bad"))
        heard = await tell(memory.for_agent("bob"), *sessions)
        before = await belief_of(memory.for_agent("bob"), heard)
        change = (await memory.repair(session="bad")).change if way == "repair" else None
        if way == "forget":
            await memory.forget(session="bad")

        expected = await belief_of(memory.for_agent("ada"), honest)
        assert before != expected
        assert await belief_of(memory.for_agent("bob"), heard) == expected
        assert await compare_memories_with_logs(memory._app.outcomes.deps, memory.space) == (2, [])
        if change is not None:
            await memory.undo(change)
            assert await belief_of(memory.for_agent("bob"), heard) == before
            assert await compare_memories_with_logs(memory._app.outcomes.deps, memory.space) == (2, [])


@pytest.mark.requirement("M-84", "O-41")
async def test_a_voice_that_had_no_room_counts_beside_outcomes_once_there_is(database_url: str, tmp_path: Path):
    async with remembering(database_url, tmp_path) as memory:
        sessions = ("s1", "bad", "s3", "s4", "s5")
        honest = await tell(memory.for_agent("ada"), *(each for each in sessions if each != "bad"))
        heard = await tell(memory.for_agent("bob"), *sessions)
        await memory.repair(session="bad")

        assert await belief_of(memory.for_agent("bob"), heard) == await belief_of(memory.for_agent("ada"), honest)
        assert await compare_memories_with_logs(memory._app.outcomes.deps, memory.space) == (2, [])
