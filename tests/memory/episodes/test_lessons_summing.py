"""How episodes are summed up: by a model, by their own words, in time and once."""

import asyncio
import json
from datetime import timedelta

import pytest
from tests.memory.episodes.talking import PLAN, answered, fact, kept_episodes, settled, talk, talked, writing
from tests.memory.remembering import Mind, events, memories, texts

from festinger.errors import ProviderDown
from festinger.events.catalogue import Event
from festinger.ids import MAIN_SPACE
from festinger.llm.providers.scripted import FailStep, HangStep, build_scripted_model
from festinger.memory.episodes.episode import EpisodeState
from festinger.memory.episodes.lessons import (
    enqueue_summary_jobs,
    requeue_unfinished_episodes,
    summarize_episode,
    summarize_episode_by_extract,
    summarize_episode_within,
)
from festinger.memory.episodes.store import close_episode, update_episode
from festinger.memory.jobs import SUM_UP, SUMMARISE
from festinger.store.pool import Store

OSLO = fact("The staging cluster stands in Oslo", 3)


@pytest.mark.requirement("M-54", "M-56", "M-59")
async def test_a_model_gives_title_summary_and_facts(store: Store):
    mind = Mind(store)
    model, script = build_scripted_model(answered(OSLO))
    episode = await talked(mind)

    done = await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)

    assert (done.state, done.title, done.outcome) == (
        EpisodeState.SUMMARISED,
        "Billing moves from MySQL to Postgres",
        "partial",
    )
    assert (done.summarised_by, done.topics) == (model.name, ("billing", "postgres"))
    assert done.prompt_hash is not None
    assert "The staging cluster stands in Oslo" in await texts(store)
    [asked] = script.asked
    assert "[3] user (person): " in asked.messages[0].text
    [told] = await events(store, "episode_summarised")
    assert told["payload"] == {"episode": str(episode.id), "memory": str(done.memory_id), "by": model.name, "facts": 1}


@pytest.mark.requirement("M-54")
@pytest.mark.parametrize(
    "bad",
    [
        {"title": "Too short a title"},
        {"words": 99},
        {"words": 151},
        {"title": "One two three four five six seven eight nine ten eleven"},
    ],
    ids=["short title", "short summary", "long summary", "long title"],
)
async def test_an_answer_out_of_range_is_mended_once_and_told_its_fault(store: Store, bad: dict[str, object]):
    mind = Mind(store)
    wrong = answered().model_dump()
    if "title" in bad:
        wrong["title"] = bad["title"]
    else:
        wrong["summary"] = "word " * int(str(bad["words"]))

    model, script = build_scripted_model(json.dumps(wrong), answered())
    episode = await talked(mind)

    done = await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)

    assert done.summarised_by == model.name
    assert "words; it has" in script.asked[1].messages[-1].text


@pytest.mark.requirement("M-54", "M-55")
async def test_a_model_that_talks_nonsense_twice_leaves_the_episode_to_its_own_words(store: Store):
    mind = Mind(store)
    model, script = build_scripted_model("banana", "banana")
    episode = await talked(mind)

    done = await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)

    assert len(script.asked) == 2
    assert done.summarised_by == "extract"
    assert 100 <= len((done.summary or "").split()) <= 150


@pytest.mark.requirement("M-55")
async def test_without_a_model_there_are_title_and_summary_all_the_same(store: Store):
    mind = Mind(store)
    episode = await talked(mind)

    done = await summarize_episode(mind.deps, MAIN_SPACE, episode.id)

    assert done.state is EpisodeState.SUMMARISED
    assert (bool(done.title), bool(done.summary), done.lessons) == (True, True, ())


@pytest.mark.requirement("M-53")
async def test_twenty_that_end_at_once_have_their_summaries_though_the_model_never_answers(store: Store):
    mind = Mind(store)
    model, _script = build_scripted_model(*[HangStep()] * 20)
    deps = writing(mind.deps, model)
    ended = [await talked(mind, session=f"s{number}") for number in range(20)]
    asking = [asyncio.create_task(summarize_episode(deps, MAIN_SPACE, each.id)) for each in ended]

    done = [await summarize_episode_by_extract(deps, MAIN_SPACE, each.id) for each in ended]
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)

    assert all(each.title and each.summary and each.state is EpisodeState.SUMMARISED for each in done)
    assert {each.summarised_by for each in done} == {"extract"}


@pytest.mark.requirement("M-53")
async def test_the_model_is_asked_at_once_and_its_own_words_are_taken_when_it_has_had_its_time(store: Store):
    mind = settled(Mind(store), model_wait_s=20)
    episode = await talked(mind)
    event = Event(
        id=episode.id,  # type: ignore[arg-type]
        seq=1, name="episode_closed", version=1, space=MAIN_SPACE, subject="x", agent=None, session=None, trace=None,
        caused_by=None, payload={"episode": str(episode.id)}, at=mind.hands.now,
    )  # fmt: skip

    async with store.transaction() as transaction:
        await enqueue_summary_jobs(mind.deps, transaction, event)

    which = {"space": MAIN_SPACE, "episode": str(episode.id)}
    assert mind.asked == [(SUMMARISE, which), (SUM_UP, {"at": mind.hands.now + timedelta(seconds=20), **which})]


@pytest.mark.requirement("M-53")
async def test_a_late_answer_takes_the_place_of_the_episodes_own_words_once(store: Store):
    mind = Mind(store)
    model, _script = build_scripted_model(answered(OSLO), answered(title="A second and very different title"))
    deps = writing(mind.deps, model)
    episode = await talked(mind)
    first = await summarize_episode_by_extract(deps, MAIN_SPACE, episode.id)

    second = await summarize_episode(deps, MAIN_SPACE, episode.id)
    third = await summarize_episode(deps, MAIN_SPACE, episode.id)

    assert first.summarised_by == "extract"
    assert (second.summarised_by, second.title) == (model.name, "Billing moves from MySQL to Postgres")
    assert third == second
    kept = await mind.memory(second.memory_id)  # type: ignore[arg-type]
    assert kept.content == f"{second.title}\n{second.summary}"
    assert len(await events(store, "episode_summarised")) == 1
    assert "The staging cluster stands in Oslo" not in await texts(store)


@pytest.mark.requirement("M-53")
async def test_at_once_means_the_model_if_it_answers_and_its_own_words_if_not(store: Store):
    mind = Mind(store)
    model, _script = build_scripted_model(answered(), HangStep())
    deps = writing(mind.deps, model)
    quick, slow = await talked(mind, session="quick"), await talked(mind, session="slow")

    by_model = await summarize_episode_within(deps, MAIN_SPACE, quick.id, seconds=600)
    by_words = await summarize_episode_within(deps, MAIN_SPACE, slow.id, seconds=0)

    assert by_model.summarised_by == model.name
    assert by_words.summarised_by == "extract"


@pytest.mark.requirement("M-54", "M-58")
async def test_what_a_caller_says_of_an_episode_stands_and_facts_are_learnt_all_the_same(store: Store):
    mind = Mind(store)
    model, _script = build_scripted_model(answered(OSLO))
    episode = await talked(mind)
    await update_episode(mind.deps, MAIN_SPACE, episode.id, title="Ours", summary="We spoke of billing.")

    done = await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)

    assert (done.title, done.summary, done.summarised_by) == ("Ours", "We spoke of billing.", "caller")
    assert "The staging cluster stands in Oslo" in await texts(store)


@pytest.mark.requirement("M-52", "M-59")
async def test_the_memory_of_a_summary_follows_what_a_caller_says_later(store: Store):
    mind = Mind(store)
    episode = await talked(mind)
    await summarize_episode_by_extract(mind.deps, MAIN_SPACE, episode.id)

    await update_episode(mind.deps, MAIN_SPACE, episode.id, summary="We chose Postgres after all.")
    assert mind.asked[-1] == (SUM_UP, {"space": MAIN_SPACE, "episode": str(episode.id)})
    done = await summarize_episode_by_extract(mind.deps, MAIN_SPACE, episode.id)

    assert done.memory_id is not None
    assert (await mind.memory(done.memory_id)).content == f"{done.title}\nWe chose Postgres after all."


@pytest.mark.requirement("M-54")
async def test_an_episode_with_hardly_a_word_is_skipped_and_teaches_nothing(store: Store):
    mind = Mind(store)
    episode = await talked(mind, ("user", "hm"))

    done = await summarize_episode(mind.deps, MAIN_SPACE, episode.id)

    assert (done.state, done.skipped, done.title) == (EpisodeState.CLOSED, "too short", None)
    assert done.facts_at is not None
    assert await memories(store) == []
    assert await events(store, "episode_summarised") == []


async def test_an_open_episode_is_not_summed_up(store: Store):
    mind = Mind(store)
    episode = await talk(mind, *PLAN)

    assert (await summarize_episode(mind.deps, MAIN_SPACE, episode.id)).state is EpisodeState.OPEN


@pytest.mark.requirement("M-55")
async def test_a_provider_that_is_down_is_done_without(store: Store):
    mind = Mind(store)
    model, _script = build_scripted_model(FailStep(error=ProviderDown("Nobody answers.")))
    episode = await talked(mind)

    assert (await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)).summarised_by == "extract"


@pytest.mark.requirement("M-58")
async def test_run_twice_and_by_two_at_once_gives_the_rows_of_once(store: Store):
    mind = Mind(store)
    episode = await talked(mind)

    await asyncio.gather(*(summarize_episode_by_extract(mind.deps, MAIN_SPACE, episode.id) for _ in range(4)))
    once = await kept_episodes(store), [(each.id, each.confirmation_count) for each in await memories(store)]
    await summarize_episode_by_extract(mind.deps, MAIN_SPACE, episode.id)
    await summarize_episode(mind.deps, MAIN_SPACE, episode.id)

    assert (await kept_episodes(store), [(each.id, each.confirmation_count) for each in await memories(store)]) == once
    assert all(count == 0 for _, count in once[1])
    assert len(await events(store, "episode_summarised")) == 1


class Killed(BaseException):
    """As if the process were gone."""


@pytest.mark.requirement("M-58")
@pytest.mark.parametrize("step", ["summed up", "summary kept", "committed", "lessons learnt"])
async def test_who_is_killed_midway_is_followed_by_somebody_who_makes_the_same_rows(store: Store, step: str):
    def deadly(at: str) -> None:
        if at == step:
            raise Killed

    mind, heir = Mind(store, step=deadly), Mind(store, seed=2)
    model, _script = build_scripted_model(answered(OSLO))
    episode = await talked(heir)

    with pytest.raises(Killed):
        await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)
    other, _ = build_scripted_model(answered(fact("We decided to use Postgres for billing", 3, is_decision=True)))
    done = await summarize_episode(writing(heir.deps, other), MAIN_SPACE, episode.id)

    kept = [(each.kind, each.confirmation_count) for each in await memories(store)]
    assert sorted(kept) == [("episodic", 0), ("fact", 0)]
    assert done.facts_at is not None
    assert len(await events(store, "episode_summarised")) == 1


@pytest.mark.requirement("M-58")
async def test_what_was_left_behind_is_taken_up(store: Store):
    mind = Mind(store)
    episode = await talked(mind)

    assert await requeue_unfinished_episodes(mind.deps, MAIN_SPACE) == 0
    mind.forward(timedelta(minutes=11))
    assert await requeue_unfinished_episodes(mind.deps, MAIN_SPACE) == 1
    assert mind.asked[-1] == (SUM_UP, {"space": MAIN_SPACE, "episode": str(episode.id)})
    await summarize_episode_by_extract(mind.deps, MAIN_SPACE, episode.id)
    assert await requeue_unfinished_episodes(mind.deps, MAIN_SPACE) == 0


async def test_closing_again_after_the_summary_changes_nothing(store: Store):
    mind = Mind(store)
    episode = await talked(mind)
    done = await summarize_episode_by_extract(mind.deps, MAIN_SPACE, episode.id)

    assert await close_episode(mind.deps, MAIN_SPACE, episode.id) == done
