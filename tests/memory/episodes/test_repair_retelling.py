"""A summary in which something forgotten was put into other words: written anew from what is left."""

from pathlib import Path

import pytest
from tests.jobs.deps import rows
from tests.memory.episodes.talking import answered, talk, talked, writing
from tests.memory.oblivion import eraser_of, ledger_in, places_of
from tests.memory.remembering import Mind, known, memories

from festinger.ids import MAIN_SPACE
from festinger.llm.providers.scripted import build_scripted_model
from festinger.memory.episodes.episode import EpisodeState
from festinger.memory.episodes.lessons import summarize_episode
from festinger.memory.episodes.store import find_episode, update_episode
from festinger.memory.erasure.erase import ErasureReport, forget
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.jobs import SUMMARISE
from festinger.store.pool import Store

SECRET = "The spare key hangs behind the quokka painting"
TALK = (
    ("user", "Let us plan the summer house. It must be painted, and the garden gate needs a new hinge. " * 3),
    ("assistant", "The paint dries in two days if the weather holds, and the hinge can be had in the village. " * 4),
    ("user", f"{SECRET}. Please buy the paint before the end of May, and ask Ben for his long ladder."),
    ("assistant", "I note the paint and the ladder. The hinge is for another weekend, when the rain has gone. " * 3),
)  # fmt: skip
PARAPHRASE = "the extra key is kept at the back of the marsupial picture"
BY = {"reason": "she asked", "by": "person:owner"}


async def forgotten(mind: Mind, folder: Path, **more: bool) -> ErasureReport:
    learned = await mind.learn(SECRET, session="s9")
    eraser = eraser_of(mind, ledger_in(folder))
    return await forget(eraser, MAIN_SPACE, ErasureSelector(ids=(known(learned),)), **BY, **more)  # type: ignore[arg-type]


async def kept(store: Store) -> list[tuple[str, str]]:
    found = await rows(store, "select title, summary from episode order by seq")
    return [(row["title"], row["summary"]) for row in found]


@pytest.mark.requirement("M-81", "F-93")
async def test_a_summary_in_other_words_is_written_anew_and_so_is_its_memory(store: Store, tmp_path: Path):
    mind = Mind(store)
    words = " ".join([PARAPHRASE, "and", *["the house is painted in May"] * 18])
    model, _ = build_scripted_model(answered(summary=words))
    episode = await talked(mind, *TALK)
    await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)
    facts = len(await memories(store))

    plan = await forgotten(mind, tmp_path)

    assert plan.retold == (episode.id,)
    assert await places_of(store, "marsupial", "quokka") == []
    [(title, summary)] = await kept(store)
    assert "paint" in summary
    [told] = [each for each in await memories(store, "active") if each.kind == "episodic"]
    assert told.content == f"{title}\n{summary}"
    assert (SUMMARISE, {"space": MAIN_SPACE, "episode": str(episode.id)}) in mind.asked
    assert await rows(store, "select 1 from memory_vector where memory_id = %(id)s", id=told.id) == []
    assert len(await memories(store)) == facts


async def test_a_model_writes_it_once_more_from_what_is_left(store: Store, tmp_path: Path):
    mind = Mind(store)
    model, script = build_scripted_model(answered(), answered(title="The house is painted in the summer"))
    episode = await talked(mind, *TALK)
    await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)
    await forgotten(mind, tmp_path)

    done = await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)

    assert (done.state, done.summarised_by) == (EpisodeState.SUMMARISED, model.name)
    assert "quokka" not in script.asked[-1].messages[0].text


async def test_what_a_caller_wrote_stands_and_what_is_open_has_nothing_to_write_anew(store: Store, tmp_path: Path):
    mind = Mind(store)
    mine = await talked(mind, *TALK)
    await update_episode(mind.deps, MAIN_SPACE, mine.id, title="The house", summary="We planned the summer.")
    await summarize_episode(mind.deps, MAIN_SPACE, mine.id)
    still_open = await talk(mind, *TALK, session="s2")

    plan = await forgotten(mind, tmp_path)

    assert plan.retold == ()
    assert (await kept(store))[0] == ("The house", "We planned the summer.")
    async with store.transaction() as transaction:
        assert (await find_episode(transaction, MAIN_SPACE, still_open.id)).state is EpisodeState.OPEN
    assert await places_of(store, "quokka") == []


async def test_a_plan_writes_nothing_anew(store: Store, tmp_path: Path):
    mind = Mind(store)
    episode = await talked(mind, *TALK)
    await summarize_episode(mind.deps, MAIN_SPACE, episode.id)
    before = await kept(store)

    plan = await forgotten(mind, tmp_path, dry_run=True)

    assert plan.retold == (episode.id,)
    assert await kept(store) == before
