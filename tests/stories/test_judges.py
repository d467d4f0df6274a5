"""Stories of the judges: a week without a model, and a thousand wordings of thirty pairs from eight writers."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.jobs.deps import drain, rows
from tests.runtime.server import Hands, fixed_tools, opened
from tests.runtime.test_retrieval_outcomes import handle

from festinger.events.outbox import event_history
from festinger.ids import MAIN_SPACE
from festinger.jobs.queue import defer_due_jobs
from festinger.judge.cascade import RelationAnswer
from festinger.judge.records import load_judgements
from festinger.llm.providers.scripted import build_scripted_model
from festinger.memory.model import LearnAction
from festinger.runtime.app import App, StartOptions
from festinger.runtime.review.queue import answer_question

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

        judge, _ = build_scripted_model(
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

    assert {each.action for each in done} == {LearnAction.STORED, LearnAction.PENDING}
    assert asleep == {"memories": LEARNT, "pending": OPEN, "active": LEARNT}
    assert awake == {"memories": LEARNT, "pending": STUBBORN, "active": LEARNT}
    assert len(questions) == STUBBORN


CLUBS, KNIVES = "Ada juggles clubs", "Ada juggles knives"
DAY = timedelta(days=1)


async def days_pass(app: App, hands: Hands, number: int) -> None:
    for _ in range(number):
        hands.forward(DAY)
        await defer_due_jobs(app.jobs)
        await drain(app.jobs)


async def settlements(app: App) -> list[tuple[str, str]]:
    """By whom and how the pairs that once waited were settled, as a reader of the events hears of it."""
    events = await event_history(app.store, space=MAIN_SPACE, names=("judgement_waiting", "judgement_made"))
    waited = {each.payload["judgement"] for each in events if each.name == "judgement_waiting"}
    made = [each.payload for each in reversed(events) if each.name == "judgement_made"]
    return [(each["judge"], each["relation"]) for each in made if each["judgement"] in waited]


@pytest.mark.requirement("J-10")
async def test_a_pair_that_waited_for_two_weeks_is_settled_by_time_and_that_can_be_undone(
    database_url: str, tmp_path: Path
):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands), embedding__model="none:") as app:
        memory = handle(app)
        await memory.learn(CLUBS)
        learned = await memory.learn(KNIVES)
        assert learned.memory is not None
        await days_pass(app, hands, 13)
        early = (await memory.get(learned.memory.id)).pending, (await memory.status())["memory"]["pending pairs"]
        await rows(app.store, "update judgement set current = 'new' where not final returning id")
        await days_pass(app, hands, 2)
        late = await learned.settled(0.0), (await memory.status())["memory"]["pending pairs"]
        why = await memory.why(learned.memory.id)
        told = await settlements(app)
        [change] = why.changes
        await memory.undo(change.id, by="Ada")
        await days_pass(app, hands, 13)
        again = (await memory.get(learned.memory.id)).pending
        await days_pass(app, hands, 2)
        end = await memory.get(learned.memory.id)

    assert learned.action is LearnAction.PENDING
    assert early == (True, 1)
    assert (late[0].action, late[0].pending, late[0].said, late[1]) == (LearnAction.STORED, False, "I keep this.", 0)
    assert [(each.judgement.judge, each.judgement.relation) for each in why.judgements] == [("time", "unrelated")]
    # Which is the later one stays known, so that a prompt that needs both gets that.
    assert [each.judgement.current for each in why.judgements] == ["new"]
    assert (change.by, change.reason) == ("job:settle", "No judge was sure for 14 days; both stay.")
    assert told == [("time", "unrelated")]
    assert again
    assert (end.pending, end.status) == (False, "active")


@pytest.mark.requirement("J-10")
async def test_who_waits_hears_what_a_model_or_a_person_said_of_a_pair(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands), embedding__model="none:") as app:
        memory = handle(app)
        await memory.learn(CLUBS)
        first = await memory.learn(KNIVES)
        [waiting] = await load_judgements(app.memory.judges.deps, MAIN_SPACE, final=False)
        await answer_question(app, MAIN_SPACE, waiting.id, "update", by="Ada")
        second = await memory.learn("Ada juggles torches")
        judge, _ = build_scripted_model(word("unrelated", 0.9))

        async def configured(*_asked: Any) -> object:
            return judge

        monkeypatch.setattr(App, "model", configured)
        await drain(app.jobs)
        done = [await each.settled(0.0) for each in (first, second)]
        told = await settlements(app)

    assert [(each.action, each.pending, len(each.superseded)) for each in done] == [
        (LearnAction.SUPERSEDED, False, 1),
        (LearnAction.STORED, False, 0),
    ]
    assert [(judge.split(":")[0], relation) for judge, relation in told] == [("person", "update"), ("llm", "unrelated")]


@pytest.mark.requirement("J-10")
async def test_a_mark_goes_with_what_the_statement_was_held_against(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands), embedding__model="none:") as app:
        memory = handle(app)
        old, new = await memory.learn(CLUBS), await memory.learn(KNIVES)
        assert old.memory is not None
        assert new.memory is not None
        await drain(app.jobs)
        await memory.archive(old.memory.id)
        # The first look at a schedule only notes it.
        await days_pass(app, hands, 2)

        assert not (await memory.get(new.memory.id)).pending


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
    assert LearnAction.REFUSED not in {each.action for each in done}
    assert len(said) == len({row["gist"] for row in said}) == 2 * TOPICS
    for row in said:
        sides = {side for side in ("regresses", "improves") for told in row["wordings"] if side in told}
        assert len(sides) == 1, row["wordings"]
