"""Conflicts of memories in a run: what decides itself, what the judges may decide, and what waits."""

import pytest
from tests.memory.remembering import Mind, known, now, says, texts
from tests.memory.test_conflicts import NEW, OLD, wired

from festinger.consolidation.resolution import (
    ResolutionRun,
    begin_run,
    decide_by_judgement,
    find_resolution_run,
    judge_memories,
    run_conflict_resolution,
)
from festinger.ids import MAIN_SPACE, SpaceId
from festinger.judge.model import Judgement
from festinger.memory.learn.result import Learned
from festinger.store.pool import Store
from festinger.world.conflicts import Conflict, load_conflicts


async def disputed(store: Store, *, old: str = "person", new: str = "person") -> tuple[Mind, Learned, Learned]:
    mind = wired(Mind(store, near={OLD: 1.0, NEW: 0.97}))
    mind.judges.told = says("contradicts", 0.7)
    return mind, await mind.learn(OLD, origin=old), await mind.learn(NEW, origin=new)


async def run(mind: Mind) -> ResolutionRun:
    async def of_memories(space: SpaceId, conflict: Conflict, run_of):
        return await judge_memories(mind.deps, space, conflict, run=run_of)

    async def no_model(_space: SpaceId) -> None:
        return None

    async with mind.store.transaction() as transaction:
        made = await begin_run(mind.world, transaction, MAIN_SPACE)
    await run_conflict_resolution(mind.world, MAIN_SPACE, made, model_for=no_model, judge_memories=of_memories)
    return await find_resolution_run(mind.world, MAIN_SPACE, made)


@pytest.mark.requirement("M-47")
async def test_a_persons_word_against_nobodys_decides_itself(store: Store):
    mind, old, new = await disputed(store, old="model")

    done = await run(mind)

    assert (done.resolved, done.waiting) == (1, 0)
    assert await texts(store) == [NEW]
    assert (await mind.memory(old)).superseded_by == known(new)


@pytest.mark.requirement("M-47")
@pytest.mark.parametrize(
    ("verdict", "active", "resolved"),
    [
        (says("update", 0.9), [NEW], 1),
        (says("update", 0.7), [OLD], 0),
        (says("unrelated", 0.7), [OLD, NEW], 1),
        (says("contradicts", 0.95), [OLD], 0),
        (says("unsure", 0.5), [OLD], 0),
        (says("same", 0.9), [OLD], 1),
    ],
    ids=["update", "unsure update", "both hold", "contradicts", "unsure", "same"],
)
async def test_the_judges_decide_only_what_they_may(store: Store, verdict: Judgement, active: list[str], resolved: int):
    mind, _, _ = await disputed(store)
    mind.judges.later = verdict

    done = await run(mind)

    assert (done.resolved, done.waiting) == (resolved, 1 - resolved)
    assert await texts(store) == active
    (item,) = await load_conflicts(mind.world, MAIN_SPACE)
    assert item.attempts == 1 - resolved


@pytest.mark.requirement("M-47")
async def test_no_run_overturns_what_a_person_said(store: Store):
    mind, old, new = await disputed(store, new="model")
    mind.judges.later = says("update", 0.99)

    done = await run(mind)

    assert (done.resolved, await texts(store)) == (0, [OLD])
    assert decide_by_judgement(says("update", 0.99), old=now(old), new=now(new))[0] is None
