"""What was shown of memories is answered by what stands in its place today, or not at all."""

from pathlib import Path
from uuid import uuid4

import pytest
from tests.memory.oblivion import eraser_of, ledger_in
from tests.memory.remembering import known
from tests.retrieval.recalling import Recaller

from festinger.ids import MAIN_SPACE
from festinger.memory.edit import archive, edit
from festinger.memory.erasure.erase import forget
from festinger.memory.erasure.selector import ErasureSelector
from festinger.retrieval.notes import load_current_memories
from festinger.store.pool import Store

DRIVER = "The printer's driver is {}."


@pytest.mark.requirement("P-36")
async def test_a_memory_stands_for_itself_until_it_is_replaced_and_then_the_last_of_its_line_does(store: Store):
    mind = Recaller(store)
    first = await mind.learn(DRIVER.format("Gutenprint"), subject="printer")
    shown = known(first)
    before = await load_current_memories(mind.searching, mind.place(), [shown])
    for driver in ("Foomatic", "Splix"):
        mind.forward()
        assert (await mind.learn(DRIVER.format(driver), subject="printer")).action == "superseded"

    after = await load_current_memories(mind.searching, mind.place(), [shown])

    assert (before[shown].id, before[shown].text) == (shown, DRIVER.format("Gutenprint"))
    assert (after[shown].id != shown, after[shown].text) == (True, DRIVER.format("Splix"))


@pytest.mark.requirement("M-46")
async def test_a_disputed_memory_stands_in_its_own_words_and_the_held_one_stands_for_nothing(store: Store):
    mind = Recaller(store)
    shown = known(await mind.learn(DRIVER.format("Gutenprint"), subject="printer"))
    held = await mind.learn(DRIVER.format("Foomatic"), subject="printer", origin="model")

    found = await load_current_memories(mind.searching, mind.place(), [shown, known(held)])

    assert held.action == "conflicted"
    assert set(found) == {shown}
    assert (found[shown].disputed, found[shown].text) == (True, DRIVER.format("Gutenprint"))


@pytest.mark.requirement("P-36")
async def test_what_was_edited_reads_as_it_reads_now_and_what_was_put_away_or_forgotten_is_gone(
    store: Store, tmp_path: Path
):
    mind = Recaller(store)
    edited, away, gone = [
        known(await mind.learn(text)) for text in ("Lunch is at noon.", "The vault is green.", "Rana keeps bees.")
    ]
    await edit(mind.deps, MAIN_SPACE, edited, "Lunch is at one.", by="rana")
    await archive(mind.deps, MAIN_SPACE, away, by="rana")
    eraser = eraser_of(mind, ledger_in(tmp_path))
    await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(gone,)), reason="asked", by="rana")

    found = await load_current_memories(mind.searching, mind.place(), [edited, away, gone, uuid4()])

    assert {each: now.text for each, now in found.items()} == {edited: "Lunch is at one."}


async def test_another_agents_own_stands_for_nothing(store: Store):
    mind = Recaller(store)
    own = known(await mind.learn("Rana keeps bees.", agent="dobby", shared=False))

    assert await load_current_memories(mind.searching, mind.place(), [own]) == {}
    assert set(await load_current_memories(mind.searching, mind.place(agent="dobby"), [own])) == {own}
