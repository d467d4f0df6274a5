"""Stories of the judges: a week without a model, and a thousand wordings of thirty pairs from eight writers."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import drain, rows
from tests.runtime.server import Hands, fixed_tools, opened
from tests.runtime.test_retrieval_outcomes import handle

from festinger.jobs.queue import defer_due_jobs
from festinger.judge.llm import RelationAnswer
from festinger.llm.providers.scripted import scripted_model
from festinger.memory.model import Action
from festinger.runtime.app import App, StartOptions

WEEK, MINUTE = timedelta(days=7), timedelta(minutes=1)
LEARNT, OPEN, STUBBORN, TRIES = 500, 37, 4, 3
THINGS = ("clubs", "knives")


def word(relation: str, confidence: float) -> RelationAnswer:
    return RelationAnswer.model_validate(
        {"reasoning": "r", "relation": relation, "current": "both", "confidence": confidence}
    )


async def counts(app: App) -> dict[str, int]:
    [found] = await rows(
        app.store,
        "select count(*) as memories, count(*) filter (where pending) as pending,"
        " count(*) filter (where status = 'active') as active from memory",
    )
    return {name: int(number) for name, number in found.items()}


@pytest.mark.requirement("J-10", "J-12")
async def test_a_judge_that_slept_for_a_week_decides_within_the_hour_what_waited(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    hands = Hands()
    flags: dict[str, Any] = {"embedding__model": "none:", "judge__max_tries": TRIES, "memory__burst_limit": 10_000}
    async with opened(database_url, tmp_path, tools=fixed_tools(hands), **flags) as app:
        memory = handle(app)
        plain = [f"Depot{number} stores crate{number}" for number in range(LEARNT - 2 * OPEN)]
        doubtful = [f"Person{number} juggles {things}{number}" for things in THINGS for number in range(OPEN)]
        done = await memory.learn_many([*plain, *doubtful])
        hands.forward(WEEK)
        await drain(app.jobs)
        asleep = await counts(app)

        judge, _ = scripted_model(
            *[word("unrelated", 0.9)] * (OPEN - STUBBORN), *[word("unsure", 0.5)] * (STUBBORN * TRIES)
        )

        async def configured(*_asked: Any) -> object:
            return judge

        monkeypatch.setattr(App, "model", configured)
        for _ in range(30):
            await defer_due_jobs(app.jobs)
            await drain(app.jobs)
            hands.forward(MINUTE)
        awake = await counts(app)
        questions = await rows(
            app.store, "select 1 from judgement where not final and attempts >= %(tries)s", tries=TRIES
        )

    assert {each.action for each in done} == {Action.STORED, Action.PENDING}
    assert asleep == {"memories": LEARNT, "pending": OPEN, "active": LEARNT}
    assert awake == {"memories": LEARNT, "pending": STUBBORN, "active": LEARNT}
    assert len(questions) == STUBBORN


TOPICS, WRITERS, WORDINGS = 30, 8, 1000
FRAMES = ("{}", "{}.", "  {} !", "{}...", "“{}”")


def wordings(seed: int, number: int) -> list[str]:
    """One writer's words: of any topic either side, in any dress."""
    chance = random.Random(seed)
    said = []
    for _ in range(number):
        topic, side = chance.randrange(TOPICS), chance.choice(("regresses", "improves"))
        plain = f"patch P{topic} {side} the start time"
        dressed = chance.choice(FRAMES).format(plain)
        said.append(dressed.upper() if chance.random() < 0.2 else dressed)
    return said


@pytest.mark.requirement("J-04")
async def test_a_storm_of_wordings_leaves_no_twins_and_merges_no_opposites(database_url: str, tmp_path: Path):
    flags: dict[str, Any] = {"embedding__model": "hashed:64", "memory__burst_limit": 10_000}
    async with opened(database_url, tmp_path, start=StartOptions(providers=True), **flags) as app:
        done = [
            each
            for number in range(WRITERS)
            for each in await handle(app, f"writer {number}").learn_many(wordings(number, WORDINGS // WRITERS))
        ]
        said = await rows(
            app.store,
            "select m.id, m.content, m.gist, array_agg(distinct lower(s.wording)) as wordings"
            " from memory m join memory_sighting s on s.space_id = m.space_id and s.memory_id = m.id"
            " where m.status <> 'merged' group by m.id, m.content, m.gist",
        )

    assert len(done) == WORDINGS
    assert Action.REFUSED not in {each.action for each in done}
    assert len(said) == len({row["gist"] for row in said}) == 2 * TOPICS
    for row in said:
        sides = {side for side in ("regresses", "improves") for told in row["wordings"] if side in told}
        assert len(sides) == 1, row["wordings"]
