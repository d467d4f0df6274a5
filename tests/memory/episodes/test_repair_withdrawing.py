"""Episodes in which a bad source was heard: summed up without it, and as before once the repair is undone."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.jobs.deps import rows
from tests.memory.episodes.talking import answered, kept_turns, talked, writing
from tests.memory.oblivion import eraser_of, ledger_in
from tests.memory.remembering import Mind, memories

from festinger.ids import MAIN_SPACE, Origin, SessionId
from festinger.llm.providers.scripted import build_scripted_model
from festinger.memory.episodes.episode import Episode
from festinger.memory.episodes.lessons import summarize_episode
from festinger.memory.episodes.store import append_turn, close_episode, update_episode
from festinger.memory.erasure.repair import RepairReport, repair
from festinger.memory.erasure.selector import ErasureSelector
from festinger.memory.jobs import SUMMARISE
from festinger.memory.undo import undo
from festinger.store.pool import Store

pytestmark = pytest.mark.requirement("M-84")

PAGE = "https://example.org/poisoned"
BY = "person:owner"
LIE = "The harbour bank was closed by the quokka police"
HEARD = UUID(int=7)
TALK = (
    ("user", "Let us plan the summer house. It must be painted, and the garden gate needs a new hinge. " * 3),
    ("tool", f"Opening hours of the village. {LIE}. All shops are open from Monday to Friday. " * 2),
    ("assistant", f"The paint dries in two days if the weather holds. {LIE}. The hinge is in the village. " * 3),
    ("user", "Then buy the paint before the end of May, and ask Ben for his long ladder, which is in the barn. " * 2),
)  # fmt: skip


async def heard(mind: Mind, folder: Path) -> Episode:
    """A talk in which a tool read the bad page, and a lie was learnt of it."""
    for role, content in TALK:
        turn = HEARD if role == "tool" else None
        said = await append_turn(mind.deps, mind.place(), role, content, turn_id=turn)
    await mind.learn(LIE, session="s9", origin="document", source=PAGE, turn_id=HEARD)
    eraser_of(mind, ledger_in(folder))
    return await close_episode(mind.deps, MAIN_SPACE, said.episode.id)


async def repaired(
    mind: Mind, folder: Path, selector: ErasureSelector | None = None, *, dry_run: bool = False
) -> RepairReport:
    eraser = eraser_of(mind, ledger_in(folder))
    return await repair(eraser, MAIN_SPACE, selector or ErasureSelector(source=PAGE), by=BY, dry_run=dry_run)


async def undone(mind: Mind, done: RepairReport) -> None:
    assert done.change is not None
    await undo(mind.deps, MAIN_SPACE, done.change, by=BY)


async def everything(store: Store) -> dict[str, list[dict[str, Any]]]:
    return {
        "episode": await rows(store, "select * from episode order by seq"),
        "turn": await kept_turns(store),
        "memory": await rows(store, "select to_jsonb(m) - 'updated_at' as row from memory m order by seq"),
        "said": await rows(store, "select id, wording from memory_sighting order by id"),
    }


async def test_a_summary_is_made_again_without_what_came_from_there_and_undoing_gives_the_old_one_back(
    store: Store, tmp_path: Path
):
    mind = Mind(store)
    words = "Marsupial officers shut the bank. " + "The house is painted in May. " * 18
    model, _ = build_scripted_model(answered(summary=words))
    episode = await heard(mind, tmp_path)
    await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)
    before = await everything(store)

    done = await repaired(mind, tmp_path)

    assert done.summaries == (episode.id,)
    [(title, summary)] = [(row["title"], row["summary"]) for row in await rows(store, "select * from episode")]
    assert "paint" in summary
    assert not any(word in summary for word in ("Marsupial", "quokka", "shops"))
    [told] = [each for each in await memories(store, "active") if each.kind == "episodic"]
    assert told.content == f"{title}\n{summary}"
    assert (SUMMARISE, {"space": MAIN_SPACE, "episode": str(episode.id)}) in mind.asked
    assert [row["content"] for row in await kept_turns(store)] == [row["content"] for row in before["turn"]]

    await undone(mind, done)
    assert await everything(store) == before


async def test_a_model_that_is_asked_again_sees_nothing_of_it_and_its_words_make_way_for_the_old_ones(
    store: Store, tmp_path: Path
):
    mind = Mind(store)
    model, script = build_scripted_model(answered(), answered(title="The house is painted in the summer"))
    episode = await heard(mind, tmp_path)
    first = await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)
    done = await repaired(mind, tmp_path)

    again = await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)
    shown = script.asked[-1].messages[0].text
    await undone(mind, done)

    assert again.title == "The house is painted in the summer"
    assert "quokka" not in shown
    assert "shops" not in shown
    assert "hinge is in the village" in shown
    [row] = await rows(store, "select title, summary, summarised_by from episode")
    assert row == {"title": first.title, "summary": first.summary, "summarised_by": model.name}
    [told] = [each for each in await memories(store, "active") if each.kind == "episodic"]
    assert told.content == first.told


async def test_what_a_person_wrote_of_an_episode_stands_and_what_ends_later_is_summed_up_without_it(
    store: Store, tmp_path: Path
):
    mind = Mind(store)
    episode = await heard(mind, tmp_path)
    await update_episode(mind.deps, MAIN_SPACE, episode.id, title="The house", summary="We planned the summer.")
    await summarize_episode(mind.deps, MAIN_SPACE, episode.id)
    later = await talked(mind, *TALK, session="s2")

    done = await repaired(mind, tmp_path, ErasureSelector(origin=Origin.TOOL))
    summed = await summarize_episode(mind.deps, MAIN_SPACE, later.id)

    assert done.summaries == ()
    [row] = await rows(store, "select title, summary from episode where id = %(id)s", id=episode.id)
    assert row == {"title": "The house", "summary": "We planned the summer."}
    assert "shops" not in (summed.summary or "")


async def test_a_plan_leaves_nothing_out(store: Store, tmp_path: Path):
    mind = Mind(store)
    episode = await heard(mind, tmp_path)
    await summarize_episode(mind.deps, MAIN_SPACE, episode.id)
    before = await everything(store)

    done = await repaired(mind, tmp_path, dry_run=True)

    assert done.summaries == (episode.id,)
    assert await everything(store) == before


async def test_what_two_repairs_leave_out_comes_back_with_the_last_of_them(store: Store, tmp_path: Path):
    mind = Mind(store)
    episode = await heard(mind, tmp_path)
    await summarize_episode(mind.deps, MAIN_SPACE, episode.id)
    one = await repaired(mind, tmp_path)
    other = await repaired(mind, tmp_path, ErasureSelector(origin=Origin.TOOL))

    await undone(mind, one)
    between = await kept_turns(store)
    await undone(mind, other)

    assert [row["remaining"] for row in between] == [None, "", None, None]
    assert [row["remaining"] for row in await kept_turns(store)] == [None] * len(TALK)


async def test_a_session_that_is_locked_away_whole_takes_its_summary_along_and_brings_it_back(
    store: Store, tmp_path: Path
):
    mind = Mind(store)
    episode = await heard(mind, tmp_path)
    model, _ = build_scripted_model(answered())
    await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)
    [told] = [each for each in await memories(store, "active") if each.kind == "episodic"]
    before = await everything(store)

    done = await repaired(mind, tmp_path, ErasureSelector(session=SessionId("s1")))
    locked = await mind.memory(told.id)
    await undone(mind, done)

    assert (told.id in done.locked, done.summaries) == (True, ())
    assert locked.status == "quarantined"
    assert await everything(store) == before


async def test_what_a_person_wrote_into_the_memory_of_a_summary_since_stays(store: Store, tmp_path: Path):
    mind = Mind(store)
    episode = await heard(mind, tmp_path)
    model, _ = build_scripted_model(answered())
    await summarize_episode(writing(mind.deps, model), MAIN_SPACE, episode.id)
    done = await repaired(mind, tmp_path)
    [told] = [each for each in await memories(store, "active") if each.kind == "episodic"]
    await rows(store, "update memory set content = 'We painted' where id = %(id)s returning id", id=told.id)

    await undone(mind, done)

    assert (await mind.memory(told.id)).content == "We painted"
