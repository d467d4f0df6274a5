"""Nights on a real store: insights with citations, previews, limits, resuming and undo."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.consolidation.sleeper import Sleeper, TalkingModel, insights, numbers_in, sleeping, thinking, with_model
from tests.jobs.deps import drain, rows

from festinger.consolidation import apply
from festinger.consolidation.apply import undo_night
from festinger.consolidation.context import NightContext
from festinger.consolidation.night import (
    NO_MODEL,
    NightItemKind,
    NightStep,
    PlannedChange,
    find_due_agents,
    find_night,
    load_night_report,
)
from festinger.consolidation.reflect import MOST_SHORTENED, InsightsAnswer, QuestionsAnswer, ShortFormAnswer
from festinger.consolidation.run import run_night
from festinger.errors import AlreadyRunning, BadInput, ProviderDown, UndoBlocked
from festinger.ids import MAIN_SPACE
from festinger.memory.edit import archive, edit
from festinger.memory.model import DERIVED
from festinger.retrieval.index.terms import count_words_of_changed_texts, recount_words
from festinger.runtime.consolidation import start_due_nights
from festinger.services.nights import list_nights
from festinger.services.nights import run_night as start

GARDEN = [
    "Ann waters the garden at dawn",
    "The garden of Ann grows tomatoes",
    "Ann sells tomatoes from the garden",
    "Neighbors help in the garden of Ann",
    "The garden feeds the neighbors of Ann",
    "Ann keeps bees beside the garden",
    "The garden of Ann has an old well",
    "Ann reads about the garden in winter",
    "The garden shed of Ann is green",
    "Ann plants garlic in the garden",
]
INSIGHT = "Ann cares for the garden and shares what it gives"


async def plant(at: Sleeper, *, days: int = 5) -> None:
    """Tell of the garden on several days, so that several causes stand behind it."""
    for _ in range(2):
        for number, text in enumerate(GARDEN):
            await at.tell(text, session=f"s{number % days}", subject="garden", origin="model")
        at.forward()


def gardener(text: str = INSIGHT) -> TalkingModel:
    return thinking(lambda _prompt: text)


@pytest.mark.requirement("C-02", "C-07", "C-10", "C-31", "C-33", "C-34", "C-01")
async def test_related_memories_of_several_causes_become_an_insight_with_its_sources(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        before = {each.id: (each.content, each.weight) for each in await at.memories()}
        told = await at.night(gardener())

        made = await at.memories("insight")
        assert [each.content for each in made] == [INSIGHT]
        why = await rows(
            at.app.store,
            "select m.kind, m.status, l.from_id from memory_link l join memory m on m.id = l.to_id"
            " where l.relation = 'derives_from' and l.undone_at is null",
        )
        assert {row["kind"] for row in why} == {"fact"}
        assert sum(row["from_id"] == made[0].id for row in why) >= 2
        after = {each.id: each for each in await at.memories("fact")}
        assert {id_: each.content for id_, each in after.items()} == {id_: text for id_, (text, _) in before.items()}
        assert any(each.weight.center < before[id_][1].center for id_, each in after.items())
        assert all(each.source_tag == "internal_consolidation" for each in made)
        assert len(told.lines) <= 12
        assert any(INSIGHT[:20] in line for line in told.lines)


@pytest.mark.requirement("C-34")
async def test_two_questions_that_recall_the_same_memories_are_both_answered(database_url: str, tmp_path: Path):
    questions = {"What is known of the garden?": INSIGHT, "What is told of the garden?": "The garden keeps Ann busy"}
    model = gardener()
    model.answers[QuestionsAnswer] = lambda _prompt: QuestionsAnswer(reasoning="r", questions=list(questions))
    model.answers[InsightsAnswer] = lambda prompt: insights(
        *(
            (text, numbers_in(prompt)[5 * at :][:3])
            for at, (asked, text) in enumerate(questions.items())
            if asked in prompt
        )
    )
    async with sleeping(database_url, tmp_path, consolidation__derived_share=0.9) as at:
        await plant(at)
        await at.night(model)

        assert {each.content for each in await at.memories("insight")} == set(questions.values())


@pytest.mark.requirement("C-04", "C-03")
async def test_a_second_night_changes_nothing_also_with_a_model_that_words_everything_anew(
    database_url: str, tmp_path: Path
):
    words = iter(f"{INSIGHT}, in words of night {'x' * number}" for number in range(1, 1000))
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        model = thinking(lambda _prompt: next(words))
        await at.night(model)
        before, asked = await at.state(), len(model.asked)
        for _ in range(5):
            at.forward(timedelta(hours=1))
            told = await at.night(model)
            assert told.items == ()
        assert await at.state() == before
        assert len(model.asked) == asked


@pytest.mark.requirement("C-33")
async def test_what_a_person_stated_as_a_fact_does_not_step_back(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        for number, text in enumerate(GARDEN):
            await at.tell(text, session=f"s{number % 5}", subject="garden")
        before = {each.id: each.weight for each in await at.memories()}
        await at.night(gardener())

        assert len(await at.memories("insight")) == 1
        assert {each.id: each.weight for each in await at.memories("fact")} == before


@pytest.mark.requirement("C-23")
async def test_without_a_model_groups_are_shown_and_nothing_is_made(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        before = await at.state()
        told = await at.night(None)

        [group] = told.survey["groups"]
        assert (len(group["members"]), group["causes"]) == (len(GARDEN), 10)
        largest = "the largest of 10 memories from 10 causes."
        assert told.lines[0] == f"Noticed 1 group of memories that belong together, {largest}"
        assert told.lines[1:] == (NO_MODEL, "Nothing was changed.")
        assert await at.state() == before


@pytest.mark.requirement("C-14")
async def test_a_dry_run_lists_what_it_would_make_and_writes_only_its_own_row(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        before = await at.state()
        told = await at.night(gardener(), dry_run=True)

        assert INSIGHT in [each["text"] for each in told.preview]
        assert [line for line in told.lines if INSIGHT in line] == [f'Would make the insight "{INSIGHT}": r']
        assert await at.state() == before
        for table in ("night_unit", "night_item", "safety_event"):
            assert await rows(at.app.store, f"select 1 from {table}") == []
        assert len((await at.night(gardener())).items) > 0


@pytest.mark.requirement("C-16")
async def test_undoing_a_night_leaves_what_stood_before(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        before = await at.state()
        told = await at.night(gardener())
        assert await at.state() != before
        undone = await undo_night(at.deps, MAIN_SPACE, told.id, by="ada")

        assert undone == len(told.items) > 2
        assert await at.state() == before
        again = await load_night_report(at.deps, MAIN_SPACE, told.id)
        assert all(each.is_undone for each in again.items)
        assert await undo_night(at.deps, MAIN_SPACE, told.id, by="ada") == 0
        # What was taken back is not made again, also when something else is learned.
        assert (await at.night(gardener())).items == ()
        for number in range(3):
            await at.tell(f"Ann shows the garden to school number {number}", session=f"school{number}")
        later = await at.night(gardener())
        assert await at.memories("insight") == []
        assert later.counts["taken_back"] >= 1
        assert "because somebody took back the same before" in " ".join(later.lines)


@pytest.mark.requirement("C-16")
async def test_one_item_of_a_night_is_undone_with_what_its_unit_did_and_the_rest_stays(
    database_url: str, tmp_path: Path
):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        await at.tell("Ann told at length how the garden came to be, and what she learned from it. " * 5)
        told = await at.night(gardener())
        [insight] = await at.memories("insight")
        [made] = [each for each in told.items if each.memory == insight.id and each.kind == "learned"]
        await undo_night(at.deps, MAIN_SPACE, told.id, by="ada", item=made.change)

        assert await at.memories("insight") == []
        facts = await at.memories("fact")
        assert {each.weight for each in facts if each.cause_count > 1} == {facts[0].weight}
        assert [each.compressed for each in facts if each.compressed] == ["the garden"]


@pytest.mark.requirement("C-16")
async def test_an_insight_that_learning_replaced_is_back_after_the_undo(database_url: str, tmp_path: Path):
    first, second = "The garden of Ann has an old well", "The garden of Ann has a new well"
    texts = iter([first, second])
    async with sleeping(database_url, tmp_path) as at:
        notes = [
            f"{verb} the garden of Ann has a {age} well" for age in ("old", "new") for verb in ("Ben says", "Carl saw")
        ]
        known = [(await at.tell(note)).memory for note in notes]
        cites = tuple(str(each.id) for each in known if each)
        change = PlannedChange(kind=NightItemKind.LEARNED, text=first, text_kind="insight", cites=cites)
        nights: list[UUID] = []
        for _ in range(2):
            context = await open_context(at)
            plan = [replace(change, text=next(texts))]
            await apply.apply_plan(context, NightStep.REFLECT, f"unit:{len(nights)}", plan)
            nights.append(context.night.id)
            at.forward()
        assert [each.content for each in await at.memories("insight")] == [second]
        await undo_night(at.deps, MAIN_SPACE, nights[1], by="ada")

        assert [each.content for each in await at.memories("insight")] == [first]


@pytest.mark.requirement("C-13")
async def test_what_was_refused_does_not_keep_the_rest_from_being_asked_about(database_url: str, tmp_path: Path):
    model = gardener()
    model.answers[ShortFormAnswer] = lambda _prompt: ShortFormAnswer(reasoning="r", short="the 4242 gardens")
    async with sleeping(database_url, tmp_path) as at:
        for number in range(MOST_SHORTENED + 1):
            await at.tell(f"{'x' * number} how the garden came to be, and what was learned from it. " * 5)
        await at.night(model, only_step="rewrite")
        at.forward()
        model.answers[ShortFormAnswer] = lambda _prompt: ShortFormAnswer(
            reasoning="r", short="how the garden came to be"
        )
        told = await at.night(model, only_step="rewrite")

        assert told.counts["annotated"] == 1
        assert model.asked == [ShortFormAnswer] * (MOST_SHORTENED + 1)


async def open_context(at: Sleeper) -> NightContext:
    night = await find_night(at.deps, MAIN_SPACE, await at.begin(agent=f"n{at.hands.now.day}"))
    return NightContext(deps=at.deps, space=MAIN_SPACE, night=replace(night, agent=""), model=None)


async def test_what_a_night_derives_makes_no_word_more_common(database_url: str, tmp_path: Path):
    counted = "select term, df from words_term where df > 0 order by term"
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        await count_words_of_changed_texts(at.app.recall.deps, MAIN_SPACE)
        before = await rows(at.app.store, counted)
        await at.night(gardener())
        assert len(await at.memories("insight", "narrative")) == 2
        await count_words_of_changed_texts(at.app.recall.deps, MAIN_SPACE)
        assert await rows(at.app.store, counted) == before
        await recount_words(at.app.recall.deps, MAIN_SPACE)

        assert await rows(at.app.store, counted) == before != []


@pytest.mark.requirement("C-10", "C-71")
async def test_a_night_that_goes_on_moves_no_weight_further_than_one_night_may(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        [before, *_] = await at.memories()
        change = PlannedChange(kind=NightItemKind.REINFORCED, memory=str(before.id), gain=2.0, reason="r")
        night = (await open_context(at)).night
        for unit in ("first", "second"):
            context = NightContext(deps=at.deps, space=MAIN_SPACE, night=night, model=None)
            await apply.apply_plan(context, NightStep.PROMOTE, unit, [change])

        [after] = [each for each in await at.memories() if each.id == before.id]
        assert after.weight.center == pytest.approx(before.weight.center + 0.10)
        events = await rows(at.app.store, "select ceiling, enforced from safety_event")
        assert events == [{"ceiling": "rate_limit", "enforced": True}] * 2


@pytest.mark.requirement("C-16")
async def test_what_a_person_built_on_is_not_undone(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        told = await at.night(gardener())
        [insight] = await at.memories("insight")
        await edit(at.app.memory.deps, MAIN_SPACE, insight.id, "Ann loves the garden", by="ada")
        with pytest.raises(UndoBlocked):
            await undo_night(at.deps, MAIN_SPACE, told.id, by="ada")

        assert len(await at.memories("insight")) == 1


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.requirement("C-10")
@pytest.mark.parametrize("where", ["before apply", "after learning", "in the transaction"])
async def test_a_night_that_was_killed_goes_on_to_the_same_rows(
    database_url: str, tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
):
    def die(*_: Any, **__: Any) -> Any:
        raise Killed

    targets = {"before apply": "_learn", "after learning": "_apply", "in the transaction": "_change_weight"}
    words = iter(f"{INSIGHT}, wording {'x' * number}" for number in range(1, 1000))
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        model = thinking(lambda _prompt: next(words))
        deps, night = with_model(at.deps, model), await at.begin()
        with monkeypatch.context() as patch:
            patch.setattr(apply, targets[where], die)
            with pytest.raises(Killed):
                await run_night(deps, MAIN_SPACE, night)
        asked = model.asked.count(InsightsAnswer)
        await run_night(deps, MAIN_SPACE, night)
        await run_night(deps, MAIN_SPACE, night)

        [insight] = await at.memories("insight")
        assert insight.content.endswith("wording x")
        assert model.asked.count(InsightsAnswer) == asked
        told = await load_night_report(deps, MAIN_SPACE, night)
        learned = [each for each in told.items if each.kind == "learned"]
        assert (told.state, [each.memory for each in learned if each.memory == insight.id]) == ("done", [insight.id])


@pytest.mark.requirement("C-13")
async def test_a_night_keeps_its_limits_and_what_is_left_comes_next(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path, consolidation__max_calls=1) as at:
        await plant(at)
        model = gardener()
        first = await at.night(model)
        assert (len(model.asked), await at.memories("insight")) == (1, [])
        assert first.counts["left_over"] > 0
        assert any("Left for the next night" in line for line in first.lines)
        second = await at.night(model)

        # The questions were kept: the one call goes to the insight.
        assert model.asked == [QuestionsAnswer, InsightsAnswer]
        assert (second.counts["made"], len(await at.memories("insight"))) == (1, 1)


@pytest.mark.requirement("C-03", "C-13")
async def test_no_more_is_derived_than_its_share_of_what_stands(database_url: str, tmp_path: Path):
    numbers = iter(range(1000))
    async with sleeping(database_url, tmp_path, consolidation__derived_share=0.1) as at:
        await plant(at)
        await at.night(thinking(lambda prompt: f"Ann {GARDEN[next(numbers) % 10].split()[-1]} garden cares"))

        assert len(await at.memories(*DERIVED)) == 1


@pytest.mark.requirement("C-13", "C-07")
@pytest.mark.parametrize(
    ("answer", "counted"),
    [
        (lambda _: insights((INSIGHT, [77, 99])), "uncited"),
        (lambda _: insights((INSIGHT, [1])), "uncited"),
        (lambda prompt: insights(("Ann has 400 gardens", numbers_in(prompt))), "unsupported"),
        (lambda prompt: insights(("Zebulon owns the garden", numbers_in(prompt))), "unsupported"),
        (lambda prompt: insights(("Ann does not care for the garden", numbers_in(prompt))), "unsupported"),
        (lambda prompt: insights((GARDEN[0], numbers_in(prompt))), "unsupported"),
        (lambda prompt: insights((INSIGHT, numbers_in(prompt)), confidence=0.5), "unsure"),
        (lambda _: insights(), None),
    ],
)
async def test_the_drunk_model_stores_nothing_and_each_fault_is_counted(
    database_url: str, tmp_path: Path, answer: Any, counted: str | None
):
    model = gardener()
    model.answers[InsightsAnswer] = answer
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        before = await at.state()
        told = await at.night(model)

        assert await at.state() == before
        assert counted is None or told.counts[counted] > 0


@pytest.mark.requirement("C-13")
async def test_a_model_that_fails_leaves_its_units_waiting_and_the_night_ends(database_url: str, tmp_path: Path):
    def fail(_prompt: str) -> Any:
        raise ProviderDown("gone")

    model = gardener()
    model.answers[InsightsAnswer] = fail
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        told = await at.night(model)
        assert (told.state, told.counts["left_over"] > 0) == ("done", True)
        assert await at.memories("insight") == []
        await at.night(gardener())

        assert len(await at.memories("insight")) == 1


@pytest.mark.requirement("C-11")
async def test_a_night_is_due_when_something_is_new_and_never_twice_in_ten_minutes(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        assert await find_due_agents(at.deps, MAIN_SPACE) == []
        await at.tell("Ann keeps bees")
        await at.tell("Ben keeps ants", agent="ben")
        assert await find_due_agents(at.deps, MAIN_SPACE) == ["", "ben"]
        assert await find_due_agents(at.deps, MAIN_SPACE, importance=50) == []
        await at.night()
        at.forward(timedelta(minutes=9))
        await at.tell("Carl keeps cats")
        assert await find_due_agents(at.deps, MAIN_SPACE) == ["ben"]
        at.forward(timedelta(minutes=1))
        assert await find_due_agents(at.deps, MAIN_SPACE) == ["", "ben"]
        for number in range(11):
            await at.tell(f"Thing number {'abcdefghijk'[number]} is heavy")
        assert await find_due_agents(at.deps, MAIN_SPACE, importance=50) == [""]
        await at.night()
        at.forward(timedelta(hours=1))
        assert await find_due_agents(at.deps, MAIN_SPACE) == ["ben"]


@pytest.mark.requirement("C-10", "C-11")
async def test_the_jobs_run_one_night_at_a_time_for_each_agent(database_url: str, tmp_path: Path):
    async with sleeping(database_url, tmp_path) as at:
        await at.tell("Ann keeps bees")
        await start_due_nights(at.app, MAIN_SPACE, trigger="schedule")
        [night] = await list_nights(at.app, space=MAIN_SPACE)
        with pytest.raises(AlreadyRunning):
            await at.begin()
        await drain(at.app.jobs)
        told = await load_night_report(at.deps, MAIN_SPACE, night.id)

        assert (told.state, told.trigger) == ("done", "schedule")
        assert {"consolidate", "light_tick"} <= {each.name for each in at.app.jobs.periodic}


@pytest.mark.requirement("C-11")
async def test_a_night_that_nobody_ended_keeps_no_other_from_beginning_for_ever(database_url: str, tmp_path: Path):
    async def stop(_done: int, _total: int, _note: str) -> None:
        raise Killed

    async with sleeping(database_url, tmp_path) as at:
        await at.tell("Ann keeps bees")
        lost = await at.begin()
        with pytest.raises(AlreadyRunning):
            await at.begin()
        at.forward(timedelta(hours=7))
        assert await find_due_agents(at.deps, MAIN_SPACE) == [""]
        with pytest.raises(Killed):
            await start(at.app, space=MAIN_SPACE, report=stop)
        await at.night()

        states = [each.state for each in await list_nights(at.app, space=MAIN_SPACE)]
        assert states == ["done", "failed", "failed"]
        assert (await load_night_report(at.deps, MAIN_SPACE, lost)).error == "It was not ended."


async def test_long_memories_get_a_short_form_that_says_nothing_new(database_url: str, tmp_path: Path):
    long = "Ann told at length how the garden came to be, and what she learned from it. " * 5
    shorts = iter(["Ann and 70 gardens", "Ann told how the garden came to be"])
    model = gardener()
    model.answers[ShortFormAnswer] = lambda _: ShortFormAnswer(reasoning="r", short=next(shorts))
    async with sleeping(database_url, tmp_path) as at:
        first = await at.tell(long)
        told = await at.night(model)
        assert told.counts["unsupported"] == 1
        assert first.memory is not None
        await edit(at.app.memory.deps, MAIN_SPACE, first.memory.id, f"{long} She smiled.", by="ada")
        told = await at.night(model)

        [memory] = await at.memories()
        assert memory.compressed == "Ann told how the garden came to be"
        await undo_night(at.deps, MAIN_SPACE, told.id, by="ada")
        [memory] = await at.memories()
        assert memory.compressed is None


async def test_an_insight_that_lost_its_ground_is_put_away_and_one_that_keeps_it_stays(
    database_url: str, tmp_path: Path
):
    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        model = gardener()
        model.answers[InsightsAnswer] = lambda _: insights((INSIGHT, [1, 2, 3]))
        await at.night(model)
        [insight] = await at.memories("insight")
        cited = await rows(at.app.store, "select to_id from memory_link where from_id = %(id)s", id=insight.id)
        *rest, last, _ = [row["to_id"] for row in cited]
        for each in rest:
            await archive(at.app.memory.deps, MAIN_SPACE, each, by="ada")
        await at.night(None)
        assert len(await at.memories("insight")) == 1
        await archive(at.app.memory.deps, MAIN_SPACE, last, by="ada")
        told = await at.night(None)

        assert await at.memories("insight") == []
        assert {each.kind.value for each in told.items} == {"archived"}


@pytest.mark.requirement("C-14")
async def test_one_failing_unit_does_not_stop_the_others(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def refuse(*_: Any, **__: Any) -> Any:
        raise BadInput("no")

    async with sleeping(database_url, tmp_path) as at:
        await plant(at)
        await at.tell("Ann told at length how the garden came to be, and what she learned from it. " * 5)
        monkeypatch.setattr(apply, "_learn", refuse)
        model = gardener()
        model.answers[ShortFormAnswer] = lambda _: ShortFormAnswer(reasoning="r", short="Ann told of the garden")
        told = await at.night(model)

        assert told.counts["failed"] >= 1
        assert told.counts["annotated"] == 1
        assert replace(told, lines=()).state == "done"
