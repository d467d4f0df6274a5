"""Nothing of what was forgotten is found, counted or told of."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.architecture.tables import OWNERS
from tests.jobs.deps import drain, rows
from tests.memory.oblivion import eraser_of, ledger_in, places_of
from tests.retrieval.recalling import Recaller

from festinger.ids import MAIN_SPACE
from festinger.memory.erasure.erase import forget as forget_memories
from festinger.memory.erasure.selector import ErasureSelector
from festinger.retrieval.log import load_recalls
from festinger.retrieval.maintenance import erase_recall_data
from festinger.store.pool import Store
from festinger.text.blocks import MARK

SECRET = "The heirloom is buried under the quillwort hedge."
AROUND = "x" * 180 + " "


def is_ours(place: str) -> bool:
    """Whether a column is of a table that this room keeps."""
    table = place.partition(":")[0].rpartition(".")[0].removeprefix("public.")
    return OWNERS.get(table) == "retrieval"


async def erase(mind: Recaller, folder: Path, text: str) -> None:
    """Forget what says a text, as the house does it: this room lets go in the same transaction."""
    found = await rows(mind.store, "select id from memory where content = %(text)s", text=text)
    selector = ErasureSelector(ids=tuple(row["id"] for row in found))
    eraser = eraser_of(mind, ledger_in(folder), erase_recall_data)
    await forget_memories(eraser, MAIN_SPACE, selector, reason="", by="test")
    await drain(mind.wired.jobs)


@pytest.mark.requirement("R-74", "R-05")
async def test_no_word_of_it_is_left_in_the_index_the_counts_or_the_recalls(store: Store, tmp_path: Path):
    mind = Recaller(store)
    await mind.learn(SECRET)
    await mind.learn("The hedge is cut in June.")
    await mind.say(f"{AROUND}{SECRET} Remember it.")
    mind.forward(timedelta(minutes=1))
    await mind.say("I will keep it to myself.", role="assistant")
    await mind.settle()
    assert (await mind.recall("quillwort heirloom")).items
    await mind.written()
    assert await places_of(store, "quillwort")

    await erase(mind, tmp_path, SECRET)
    await mind.settle()

    assert [place for place in await places_of(store, "quillwort", "heirloom") if is_ours(place)] == []
    assert await load_recalls(mind.searching, MAIN_SPACE) == []
    assert (await mind.texts("hedge"))[0] == "The hedge is cut in June."
    mind.forget_unwritten()


async def test_what_was_said_beside_it_is_found_again_as_it_is_now(by_words: Recaller, tmp_path: Path):
    await by_words.learn(SECRET)
    await by_words.say(f"The gate squeaks. {SECRET}")
    await by_words.say("Noted, the ferryman knows.", role="assistant")
    await by_words.say("Nobody else was told.")
    await by_words.settle()

    await erase(by_words, tmp_path, SECRET)

    assert "Noted, the ferryman knows." not in await by_words.texts("ferryman")
    await by_words.settle()
    assert (await by_words.texts("squeaking gate"))[0] == f"The gate squeaks. {MARK}."
    assert "Noted, the ferryman knows." in await by_words.texts("ferryman")
    indexed = await rows(by_words.store, "select seq from turn_index order by seq")
    assert [row["seq"] for row in indexed] == [1, 2, 3]


@pytest.mark.requirement("R-74")
async def test_a_recall_that_did_not_tell_it_stays_and_names_it_no_more(by_words: Recaller, tmp_path: Path):
    await by_words.learn(SECRET)
    await by_words.learn("The hedge is cut in June.")
    found = await by_words.recall("when is the hedge cut in June?", limit=1)
    await by_words.written()
    before = await rows(by_words.store, "select ref from recall_hit")

    await erase(by_words, tmp_path, SECRET)

    assert [item.text for item in found.items] == ["The hedge is cut in June."]
    assert len(before) == 2
    assert [row["ref"] for row in await rows(by_words.store, "select ref from recall_hit")] == [found.items[0].id]


async def test_told_twice_it_finds_nothing_more(by_words: Recaller, tmp_path: Path):
    await by_words.learn(SECRET)
    await by_words.settle()
    [memory] = await rows(by_words.store, "select id from memory")
    await erase(by_words, tmp_path, SECRET)

    async with by_words.store.transaction() as transaction:
        await erase_recall_data(transaction, MAIN_SPACE, [memory["id"]])

    assert await rows(by_words.store, "select docs from words_total where docs <> 0") == []
