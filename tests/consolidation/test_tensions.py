"""Tensions and narratives: what was done against what is valued, and how the sources of an insight led to it."""

from pathlib import Path
from typing import Any

import pytest
from tests.consolidation.sleeper import DAY, STORY, Sleeper, TalkingModel, insights, numbers_in, sleeping
from tests.consolidation.test_nights import GARDEN, INSIGHT, gardener, plant
from tests.jobs.deps import ask, rows

from festinger.consolidation.apply import undo_night
from festinger.consolidation.reflect import InsightsAnswer, NarrativeAnswer, QuestionsAnswer
from festinger.consolidation.tensions import TensionAnswer
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, Scope, SessionId
from festinger.memory.edit import archive, supersede
from festinger.memory.model import Memory
from festinger.retrieval.query import RecallQuery
from festinger.retrieval.recall import recall

BRIEF = "I answer briefly"
LONG = [
    "I answer Ann with nine pages about bees",
    "I answer Ben with a lecture about wells",
    "I answer Carl at great length about garlic",
]


def candid(*, confidence: float = 0.9) -> TalkingModel:
    """A model that holds every long answer against the value, and cites one note that it was not shown."""

    def judged(prompt: str) -> TensionAnswer:
        long = [number for line in prompt.splitlines() if "about" in line for number in numbers_in(line)]
        return TensionAnswer(reasoning="r", contradicting=[*long, 77], confidence=confidence)

    model = gardener()
    model.answers[InsightsAnswer] = lambda _prompt: insights()
    model.answers[TensionAnswer] = judged
    return model


async def answer_at_length(at: Sleeper) -> Memory:
    """State the value and act against it three times; return the value."""
    value = await at.tell(BRIEF, kind="preference", tags=("value",))
    for text in [*LONG, "I answer letters on Monday"]:
        await at.tell(text, kind="episodic", origin="model")
    assert value.memory is not None
    return value.memory


async def sources_of(at: Sleeper, memory: Memory, relation: str = "derives_from") -> set[Any]:
    found = await rows(
        at.app.store,
        "select to_id from memory_link where from_id = %(id)s and relation = %(relation)s and undone_at is null",
        id=memory.id,
        relation=relation,
    )
    return {row["to_id"] for row in found}


@pytest.mark.requirement("C-40", "C-04", "C-07", "C-14", "C-16")
async def test_a_value_and_three_long_answers_are_one_tension(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        value = await answer_at_length(at)
        before = await at.state()
        preview = await at.night(candid(), dry_run=True)
        assert [each["text_kind"] for each in preview.preview] == ["tension"]
        assert await at.state() == before
        told = await at.night(candid())

        [tension] = await at.memories("tension")
        assert tension.content.startswith(f'"{BRIEF}" is held, and yet: ')
        deeds = {each.id for each in await at.memories("episodic") if each.content in LONG}
        assert await sources_of(at, tension) == {value.id, *deeds}
        assert any(line.startswith("Made the tension") for line in told.lines)
        # It is one memory and nothing more: no weight moved, and nothing is disputed.
        assert [row for row in await at.state() if row["id"] != tension.id] == before
        assert await rows(at.app.store, "select 1 from resolution_queue") == []
        model = candid()
        assert (await at.night(model)).items == ()
        assert (await at.night(None)).items == ()
        at.forward()
        fourth = await at.tell("I answer Dora in chapters about geese", kind="episodic", origin="model")
        again = await at.night(model)
        assert [each.kind.value for each in again.items] == ["cited"]
        assert [each.id for each in await at.memories("tension")] == [tension.id]
        assert fourth.memory is not None
        assert fourth.memory.id in await sources_of(at, tension)
        await undo_night(at.deps, MAIN_SPACE, again.id, by="ada")
        await undo_night(at.deps, MAIN_SPACE, told.id, by="ada")
        assert await at.memories("tension") == []
        assert (await at.night(candid())).items == ()


@pytest.mark.requirement("C-40")
async def test_a_model_that_is_not_sure_makes_no_tension(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await answer_at_length(at)
        told = await at.night(candid(confidence=0.6))

        assert (told.items, told.counts["unsure"]) == ((), 1)


@pytest.mark.requirement("C-40")
async def test_a_tension_that_five_causes_brought_up_is_acknowledged(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await answer_at_length(at)
        assert (await at.night(candid())).survey["tensions"] == 0
        query = RecallQuery(cue=BRIEF, kinds=("tension",), ungated=True)
        for number in range(10):
            # Two recalls of one session and day are one cause.
            scope = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId(f"s{number // 2}"))
            await recall(at.app.recall.deps, scope, query)
            await at.app.afterwards.written()
            if number == 7:
                at_four = await at.night(candid())
                assert (at_four.items, at_four.survey["tensions"]) == ((), 1)
        told = await at.night(candid())

        [tension] = await at.memories("tension")
        assert tension.metadata["status"] == "acknowledged"
        assert tension.metadata["surface_count"] == 5
        assert [each.kind.value for each in told.items] == ["annotated"]
        again = await at.night(candid())
        assert (again.items, again.survey["tensions"]) == ((), 0)
        await undo_night(at.deps, MAIN_SPACE, told.id, by="ada")
        assert "status" not in (await at.memories("tension"))[0].metadata


@pytest.mark.requirement("C-40", "C-54")
@pytest.mark.parametrize("end", ["value replaced", "deeds agree", "a deed denies it"])
async def test_without_a_model_rules_find_a_tension_and_it_ends_with_its_value_or_by_deeds(
    database_url: str, tmp_path: Path, end: str
):
    async with sleeping(database_url, tmp_path, consolidation__derived_share=0.9) as at:
        for day in range(5):
            told_of = await at.tell("I do not work on Sundays", kind="preference", tags=("value",), session=f"s{day}")
            at.forward(4 * DAY)
        deed = await at.tell("I worked on Sundays in March", kind="episodic", origin="model")
        await at.tell("I worked on Mondays in March", kind="episodic", origin="model")
        assert told_of.memory is not None
        assert deed.memory is not None
        value = told_of.memory
        first = await at.night(None)
        [tension] = await at.memories("tension")
        assert await sources_of(at, tension) == {value.id, deed.memory.id}
        # Five causes over two weeks would promote it, but for the tension.
        assert [each.kind.value for each in first.items] == ["learned"]
        at.forward()
        if end == "value replaced":
            new = await at.tell("I rest when I am tired, whatever the day", kind="preference", tags=("value",))
            assert new.memory is not None
            await supersede(at.app.memory.deps, MAIN_SPACE, value.id, new.memory.id, by="ada")
        else:
            await act(at, value, "acted", times=3)
        if end == "a deed denies it":
            await act(at, value, "contradicted")
        second = await at.night(None)

        stands = end == "a deed denies it"
        assert [each.id for each in await at.memories("tension")] == ([tension.id] if stands else [])
        assert ("archived" in second.counts) is not stands
        assert stands or any(line.startswith("Put away the tension") for line in second.lines)
        if end == "deeds agree":
            assert second.counts["reinforced"] == 1
        await undo_night(at.deps, MAIN_SPACE, second.id, by="ada")
        assert [each.id for each in await at.memories("tension")] == [tension.id]


async def act(at: Sleeper, memory: Memory, outcome: str, *, times: int = 1) -> None:
    """Count outcomes of a memory."""
    query = ask(
        "insert into outcome (space_id, id, batch_id, memory_id, agent_id, day, origin, outcome, how, reporter, q, w,"
        " credit, evidence_cap, passive_span, confidence_before, confidence_after, alpha_before, beta_before, alpha_gain,"
        " beta_gain, center_after, cycle_factor, counted, at)"
        " select 'main', gen_random_uuid(), gen_random_uuid(), %(memory)s::uuid, 'default', '2026-01-05', 'person',"
        " %(outcome)s, 'explicit', 'ada', 1, 1, 1, 20, 0.1, 0.5, 0.5, 1, 1, 0, 0, 0.5, 1, true, %(at)s"
        " from generate_series(1, %(times)s::integer)"
    )
    await at.app.store.run(query, memory=memory.id, outcome=outcome, at=at.hands.now, times=times)


@pytest.mark.requirement("C-36", "C-02")
async def test_an_insight_gets_one_story_that_ends_with_it_and_is_told_anew_when_half_its_sources_changed(
    database_url: str, tmp_path: Path
):
    # Without questions one group alone makes the insight, so that its sources are four.
    stories = iter([STORY, f"{STORY} again", *(f"{STORY} {'again ' * 60}" for _ in range(9))])
    model = gardener()
    model.answers[QuestionsAnswer] = lambda _prompt: QuestionsAnswer(reasoning="r", questions=[])
    model.answers[InsightsAnswer] = lambda _prompt: insights((INSIGHT, [1, 2, 3, 4]))
    model.answers[NarrativeAnswer] = lambda _prompt: NarrativeAnswer(reasoning="r", narrative=next(stories))
    async with sleeping(database_url, tmp_path, consolidation__derived_share=0.9) as at:
        await plant(at)
        told = await at.night(model)
        [narrative], [insight] = await at.memories("narrative"), await at.memories("insight")
        cited = await sources_of(at, narrative)
        assert (narrative.content, cited) == (STORY, await sources_of(at, insight))
        assert await sources_of(at, narrative, "about") == {insight.id}
        assert any(line.startswith("Made the narrative") for line in told.lines)
        assert (await at.night(model)).items == ()
        # Sources that are added are no reason to tell it anew until they are half of all.
        for count, expected in ((3, STORY), (1, f"{STORY} again")):
            more = [each.id for each in await at.memories("fact") if each.id not in await sources_of(at, insight)]
            await cite(at, insight, more[:count])
            await at.night(model)
            assert [each.content for each in await at.memories("narrative")] == [expected]
        await archive(at.app.memory.deps, MAIN_SPACE, insight.id, by="ada")
        last = await at.night(None)

        assert await at.memories("narrative") == []
        assert [each.reason for each in last.items] == ["what it is about does not stand any more"]


async def cite(at: Sleeper, memory: Memory, sources: list[Any]) -> None:
    query = ask(
        "insert into memory_link (space_id, from_id, to_id, relation, at)"
        " select 'main', %(memory)s::uuid, s, 'derives_from', %(at)s from unnest(%(sources)s::uuid[]) as s"
    )
    await at.app.store.run(query, memory=memory.id, sources=sources, at=at.hands.now)


@pytest.mark.requirement("C-36", "C-07")
@pytest.mark.parametrize("story", ["", f"{STORY} {'again ' * 60}", "I sold 40 gardens", "Zebulon took the garden"])
async def test_a_story_that_is_too_long_or_says_what_no_source_says_is_dropped(
    database_url: str, tmp_path: Path, story: str
):
    model = gardener()
    model.answers[NarrativeAnswer] = lambda _prompt: NarrativeAnswer(reasoning="r", narrative=story)
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        told = await at.night(model)

        assert await at.memories("narrative") == []
        assert told.counts["unsupported"] >= 1
        assert len(GARDEN) == len(await at.memories("fact"))
