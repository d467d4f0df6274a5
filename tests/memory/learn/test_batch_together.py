"""What a batch writes together is what it would have become one by one."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.memory.learn.test_batch import actions, asked_of_the_store, learnt, roomy
from tests.memory.remembering import Mind, known, memories, says

from festinger.errors import BadInput
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.judge.model import Judgement, StatementPair
from festinger.memory.learn import batch, pipeline
from festinger.memory.learn.candidates import PendingMemory
from festinger.memory.learn.pipeline import BATCH, Item, learn
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.learn.store import build_unsaved_memory
from festinger.memory.model import Memory
from festinger.store.pool import Store, Transaction
from festinger.store.repositories.spaces import create_space

ROUND_TRIPS = 40
"""Of a batch, however many statements it brings: found by counting, with a little room."""

STREAM = (
    LearnRequest(text="The server has 16 GB of memory"),
    LearnRequest(text="Carla repairs old radios"),
    LearnRequest(text="The server has 32 GB of memory"),
    LearnRequest(text="carla repairs old radios."),
    LearnRequest(text="The server has 64 GB of memory"),
    LearnRequest(text="The mill grinds on Tuesdays", tags=("mill",), event_time=datetime(2026, 3, 1, tzinfo=UTC)),
    LearnRequest(text="The mill does not grind on Tuesdays"),
    LearnRequest(text="The door of the mill is red", subject="mill door"),
    LearnRequest(text="The door of the mill is red", subject="mill door"),
)


def without_its_marks(memory: Memory) -> dict[str, Any]:
    """A memory but for what two stores of the same can never share."""
    shown = memory.as_json()
    own = ("id", "space_id", "superseded_by", "created_at", "updated_at", "superseded_at", "valid_to", "last_confirmed")
    return {name: value for name, value in shown.items() if name not in own}


@pytest.mark.requirement("M-30")
async def test_a_batch_leaves_behind_what_its_statements_would_have_one_by_one(store: Store):
    mind, other = roomy(store), SpaceId("other")
    async with store.transaction() as transaction:
        await create_space(transaction, other, at=mind.hands.now)

    together_ = await learnt(mind, *STREAM)
    alone = [await learn(mind.deps, mind.place("s1", space=other), given) for given in STREAM]

    assert actions(together_) == actions(alone)
    assert len(set(actions(together_))) >= 3
    assert [len(each.superseded) for each in together_] == [len(each.superseded) for each in alone]
    kept = await memories(store)
    here, there = (
        [without_its_marks(each) for each in kept if each.space_id == space] for space in (MAIN_SPACE, other)
    )
    assert here == there


async def test_what_a_statement_is_about_to_become_is_what_it_became(store: Store, monkeypatch: pytest.MonkeyPatch):
    expected: list[Memory] = []

    def remembered(*given: Any, **more: Any) -> Memory:
        expected.append(build_unsaved_memory(*given, **more))
        return expected[-1]

    monkeypatch.setattr(batch, "build_unsaved_memory", remembered)

    done = await learnt(Mind(store), *STREAM[:2], STREAM[5])

    assert actions(done) == ["stored"] * 3
    assert [replace(each.memory, seq=0) for each in done if each.memory] == expected


async def test_the_round_trips_of_a_batch_do_not_grow_with_its_statements(store: Store):
    mind = roomy(store)
    before = asked_of_the_store()

    done = await learnt(mind, *(f"Depot {number} keeps pallet {number * 7} by the gate" for number in range(BATCH)))

    assert set(actions(done)) == {"stored"}
    assert asked_of_the_store() - before <= ROUND_TRIPS


async def test_what_somebody_stored_meanwhile_is_met_by_a_batch(store: Store, monkeypatch: pytest.MonkeyPatch):
    one, other = "people there drink strong coffee", "folks in that place drink powerful coffee"
    mind = Mind(store, near={one: 1.0, other: 0.97})
    prepare = pipeline._prepare

    async def then_somebody_says_the_same(*given: Any) -> list[Item]:
        monkeypatch.setattr(pipeline, "_prepare", prepare)
        ready = await prepare(*given)
        await mind.learn(one, session="s0")
        return ready

    monkeypatch.setattr(pipeline, "_prepare", then_somebody_says_the_same)

    done = await learnt(mind, "Carla repairs old radios", other)

    assert actions(done) == ["stored", "confirmed"]


async def test_what_a_statement_of_the_batch_replaced_or_became_is_known_to_those_behind_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    old, new = "The account is 11", "The account is 99"
    again, other = "the account equals 99", "some account is somewhere"
    mind = Mind(store, near={old: 1.0, new: 0.93, again: 0.93, other: 0.9})
    first = await mind.learn(old, subject="account")

    async def judged(_space: SpaceId, pairs: Sequence[StatementPair]) -> list[Judgement]:
        said = {new: says("update"), again: says("unrelated"), other: says("unsure")}
        return [said[pair.new.text] for pair in pairs]

    monkeypatch.setattr(mind.judges, "at_once", judged)
    monkeypatch.setattr(
        mind.judges,
        "by_rules",
        lambda pair: says("same" if {pair.old.text, pair.new.text} == {new, again} else "unrelated", 1.0),
    )

    done = await learnt(mind, *(LearnRequest(text=text, subject="account") for text in (new, again, other)))

    assert actions(done) == ["superseded", "confirmed", "stored"]
    assert done[0].superseded == (known(first),)
    assert known(done[1]) == known(done[0])


async def test_what_is_written_by_itself_is_met_by_those_behind_it(store: Store):
    one, other = "people there drink strong coffee", "folks in that place drink powerful coffee"
    mind = Mind(store, near={one: 1.0, other: 0.97})

    done = await learnt(mind, LearnRequest(text=one, key="k1"), other)

    assert actions(done) == ["stored", "confirmed"]
    assert known(done[1]) == known(done[0])


async def test_if_the_store_does_not_take_all_of_them_each_is_written_by_itself(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    async def refused(*_given: Any) -> list[Memory | None]:
        raise BadInput("One of them is bad.")

    monkeypatch.setattr(batch, "store_memories", refused)

    done = await learnt(Mind(store), "Carla repairs old radios", "Basalt is a volcanic rock")

    assert actions(done) == ["stored", "stored"]
    assert all(each.error is None and known(each) for each in done)


async def test_the_very_same_words_that_no_lock_kept_out_are_confirmed(store: Store, monkeypatch: pytest.MonkeyPatch):
    mind = Mind(store)

    async def beaten(deps: Any, transaction: Transaction, many: Sequence[tuple[PendingMemory, bool]]) -> list[Any]:
        return [None for _ in many]

    monkeypatch.setattr(batch, "store_memories", beaten)

    done = await learnt(mind, "Carla repairs old radios", "Basalt is a volcanic rock")

    assert actions(done) == ["stored", "stored"]
