"""What learning does with a statement, as the caller sees it."""

import pytest
from tests.memory.remembering import Mind, known, memories, now, says, texts

from festinger.judge.model import Judgement
from festinger.memory.model import LearnAction
from festinger.store.pool import Store

OLD = "people there drink strong coffee"
NEW = "folks in that place drink powerful coffee"


async def test_what_nothing_resembles_is_stored(store: Store):
    mind = Mind(store)

    learned = await mind.learn("The office is in Lyon")

    assert learned.action is LearnAction.STORED
    assert (now(learned).content, now(learned).status) == ("The office is in Lyon", "active")
    assert await texts(store) == ["The office is in Lyon"]


@pytest.mark.requirement("M-24", "M-25")
@pytest.mark.parametrize(
    ("similarity", "verdict", "action", "asked"),
    [
        (0.97, None, LearnAction.CONFIRMED, 1),
        (0.95, None, LearnAction.CONFIRMED, 1),
        (0.90, says("same", 0.9), LearnAction.CONFIRMED, 1),
        (0.85, says("same", 0.9), LearnAction.CONFIRMED, 1),
        (0.90, says("unrelated", 0.9), LearnAction.STORED, 1),
        (0.84, says("unrelated", 0.9), LearnAction.STORED, 1),
        (0.14, says("same", 0.9), LearnAction.STORED, 0),
    ],
    ids=["0.97", "0.95", "0.90 same", "0.85 same", "0.90 different", "0.84 different", "0.14"],
)
async def test_a_second_statement_is_known_by_its_nearness_and_its_judge(
    store: Store, similarity: float, verdict: Judgement | None, action: LearnAction, asked: int
):
    mind = Mind(store, near={OLD: 1.0, NEW: similarity})
    first = await mind.learn(OLD)
    mind.judges.told = verdict
    mind.judges.asked.clear()
    mind.forward()

    second = await mind.learn(NEW)

    assert second.action is action
    assert len(mind.judges.asked) == asked
    stored = await memories(store)
    assert len(stored) == (1 if action is LearnAction.CONFIRMED else 2)
    if action is LearnAction.CONFIRMED:
        assert known(second) == known(first)
        assert (stored[0].confirmation_count, stored[0].last_confirmed) == (1, mind.hands.now)
