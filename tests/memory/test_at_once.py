"""Many who learn at the same moment, in tasks and in processes, and those that die while they do."""

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.jobs.deps import rows
from tests.memory.remembering import Mind, memories
from tests.soundness import assert_sound

from festinger.clock import system_clock
from festinger.ids import SpaceId, id_maker
from festinger.memory.learn.pipeline import learn
from festinger.memory.learn.statement import LearnRequest
from festinger.memory.model import LearnAction
from festinger.store.pool import Store
from festinger.store.repositories.spaces import create_space

ROOT = Path(__file__).parents[2]
STEPS = (
    "checked", "cleaned", "taken in", "twins", "not forgotten", "embedded", "candidates", "judged", "locked",
    "decided", "written", "committed",
)  # fmt: skip
TEXTS = (
    "The lighthouse has a red roof",
    "Carla repairs old radios",
    "The ferry leaves before noon",
    "Basalt is a volcanic rock",
)


EACH = 40
"""Statements that each process learns."""

DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"
DOUBLES = (
    "select fold from memory where status in ('active', 'held', 'quarantined')"
    " group by agent_id, kind, fold, event_day having count(*) > 1"
)


async def learners(*runs: Sequence[str]) -> list[tuple[int, list[str]]]:
    """What processes that learn at once ended with, and what they said."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.memory.learner", json.dumps(runs)), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return [(code, said) for code, said in json.loads(out)]


@pytest.mark.requirement("U-05")
async def test_fifty_tasks_in_three_processes_learn_one_statement_once(store: Store, database_url: str):
    shares = [17, 17, 16]

    done = await learners(
        *([database_url, "main", str(seed), "-", "0", *["Ann keeps bees"] * share] for seed, share in enumerate(shares))
    )

    assert Counter(action for _, actions in done for action in actions) == {"stored": 1, "confirmed": 49}
    (kept,) = await memories(store)
    assert kept.confirmation_count == 49
    assert kept.cause_count == 3
    assert len(await rows(store, "select 1 from event where name = 'fact_learned'")) == 1


@pytest.mark.requirement("M-29")
async def test_mixed_learning_in_three_processes_never_waits_in_a_ring(store: Store, database_url: str):
    """The small form of what `festinger bench run learn` does with ten thousand."""
    done = await learners(*([database_url, "main", str(seed), "mixed", str(EACH)] for seed in (1, 2, 3)))

    assert [code for code, _ in done] == [0, 0, 0]
    actions = Counter(action for _, told in done for action in told)
    assert actions.total() == 3 * EACH
    assert set(actions) <= set(LearnAction)
    assert await rows(store, DEADLOCKS) == [{"deadlocks": 0}]
    assert await rows(store, DOUBLES) == []
    counts = await rows(store, "select count(*) as n from memory_sighting")
    assert counts[0]["n"] == actions.total() - actions[LearnAction.REFUSED] - actions[LearnAction.ECHOED]
    await assert_sound(store, besides=("conflicts_can_be_decided", "pending_pairs_match"))


async def test_near_twins_learnt_at_once_become_one(store: Store):
    wordings = ["people there drink strong coffee", "folks in that place drink powerful coffee"]
    mind = Mind(store, near=dict.fromkeys(wordings, 1.0))

    done = await asyncio.gather(*(mind.learn(text, session=f"s{n % 7}") for n, text in enumerate(wordings * 10)))

    stored = await memories(store)
    assert Counter(each.action for each in done)[LearnAction.STORED] == len(
        [memory for memory in stored if memory.status == "active"]
    )
    assert len(stored) == 1


async def test_mixed_learning_of_agents_and_shared_never_stands_in_its_own_way(store: Store):
    mind = Mind(store)
    texts = [f"The {thing} has {n} GB" for n in range(6) for thing in ("server", "router", "printer")]

    done = await asyncio.gather(
        *(
            mind.learn(text, agent=agent, session=f"{agent}{n}")
            for n, text in enumerate(texts)
            for agent in ("default", "a", "b")
        )
    )

    assert len(done) == len(texts) * 3
    for owner in (None, "a", "b"):
        active = [m for m in await memories(store, "active") if m.agent_id == owner]
        assert len({m.subject_key for m in active}) == len(active)


@pytest.mark.requirement("M-23")
async def test_a_process_killed_at_any_step_loses_nothing_it_acknowledged(store: Store, database_url: str):
    spaces = [SpaceId(f"step-{number}") for number in range(len(STEPS))]
    mind = Mind(store, new_id=id_maker(system_clock, random.Random(99)))
    for space in spaces:
        async with store.transaction() as transaction:
            await create_space(transaction, space, at=mind.hands.now)

    ends = await learners(
        *(
            [database_url, space, str(number), step, "3", *TEXTS]
            for number, (space, step) in enumerate(zip(spaces, STEPS, strict=True))
        )
    )

    assert [code for code, _ in ends] == [-9] * len(STEPS)
    for (_, acknowledged), space in zip(ends, spaces, strict=True):
        found = await rows(store, "select content, id from memory where space_id = %(space)s", space=space)
        kept = Counter(row["content"] for row in found)
        assert acknowledged == ["0", "1"]
        assert all(kept[TEXTS[int(place)]] == 1 for place in acknowledged)
        told = await rows(
            store, "select subject from event where space_id = %(space)s and name = 'fact_learned'", space=space
        )
        assert sorted(row["subject"] for row in told) == sorted(f"memory:{row['id']}" for row in found)
        place = mind.place("after", space=space)
        for number, text in enumerate(TEXTS):
            await learn(mind.deps, place, LearnRequest(text=text, key=f"k{number}"))
        after = await rows(store, "select content from memory where space_id = %(space)s", space=space)
        assert sorted(row["content"] for row in after) == sorted(TEXTS)
