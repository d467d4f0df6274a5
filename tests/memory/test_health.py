"""A space that holds too much puts away what it holds most lightly, and can have it back."""

import pytest
from tests.jobs.deps import rows, run_sql
from tests.memory.remembering import Mind, events, known, texts

from festinger.ids import MAIN_SPACE
from festinger.memory.health import archive_excess
from festinger.memory.model import Status
from festinger.memory.undo import undo
from festinger.store.pool import Store

TEXTS = ["The mill grinds on Tuesdays", "The ferry leaves at nine", "The harbour opens at dawn", "The pier is closed"]


async def filled(mind: Mind) -> None:
    """Four memories: the first is light, the second unbelieved, the third for good, the fourth as it was born."""
    learned = [await mind.learn(text, immutable=place == 2) for place, text in enumerate(TEXTS)]
    weigh = "update memory set weight_alpha = %(alpha)s, confidence = %(confidence)s where id = %(id)s"
    await run_sql(mind.store, weigh, id=known(learned[0]), alpha=0.5, confidence=0.9)
    await run_sql(mind.store, weigh, id=known(learned[1]), alpha=1.0, confidence=0.2)
    await run_sql(mind.store, weigh, id=known(learned[2]), alpha=0.1, confidence=0.1)


@pytest.mark.requirement("M-95")
async def test_the_lightest_then_the_least_believed_are_put_away(store: Store):
    mind = Mind(store, max_active=2)
    await filled(mind)

    gone = await archive_excess(mind.deps, MAIN_SPACE)

    assert len(gone) == 2
    assert set(await texts(store)) == {TEXTS[2], TEXTS[3]}
    assert set(await texts(store, "archived")) == {TEXTS[0], TEXTS[1]}
    told = await events(store, "memory_archived")
    assert {row["payload"]["memory"] for row in told} == {str(each) for each in gone}


@pytest.mark.requirement("M-95")
async def test_what_was_put_away_comes_back_by_undoing(store: Store):
    mind = Mind(store, max_active=3)
    await filled(mind)
    (gone,) = await archive_excess(mind.deps, MAIN_SPACE)
    (change,) = await rows(store, "select id from memory_change where op = 'archive'")

    await undo(mind.deps, MAIN_SPACE, change["id"], by="person:owner")

    assert (await mind.memory(gone)).status is Status.ACTIVE


@pytest.mark.parametrize("most", [0, 4, 5])
@pytest.mark.requirement("M-95")
async def test_a_space_within_its_limit_keeps_everything(store: Store, most: int):
    mind = Mind(store, max_active=most)
    await filled(mind)

    assert await archive_excess(mind.deps, MAIN_SPACE) == []
    assert len(await texts(store)) == 4
