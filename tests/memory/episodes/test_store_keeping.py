"""How episodes begin, grow and end."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.deps import run_sql
from tests.memory.episodes.talking import MONDAY, PLAN, kept_episodes, kept_turns, settled, talk, talked
from tests.memory.remembering import Mind, events, known

from festinger.errors import BadInput, NotFound
from festinger.ids import MAIN_SPACE, Origin
from festinger.memory.episodes.episode import EpisodeCloseReason, EpisodeState, episode_from_row
from festinger.memory.episodes.store import (
    append_turn,
    close_episode,
    close_stale_episodes,
    erase_old_turn_texts,
    find_closing_reason,
    load_episode_details,
    load_page_of_episodes,
    open_episode,
    update_episode,
)
from festinger.settings.memory_sections import EpisodesSettings
from festinger.store.pool import Store
from festinger.text.blocks import BlockMarker, strip_blocks

ROW = {
    "space_id": MAIN_SPACE, "id": UUID(int=1), "seq": 1, "agent_id": "default", "session_id": "s1", "title": None,
    "summary": None, "outcome": None, "topics": [], "state": "open", "opened_at": MONDAY, "last_at": None, "closed_at": None, "closed_by": None,
    "summarised_at": None, "summarised_by": None, "skipped": None, "prompt_hash": None, "lessons": [],
    "facts_at": None, "memory_id": None, "continues": None, "turns": 0, "raw_cut_at": None, "evaluation": False,
    "version": 1,
}  # fmt: skip

HELLO = ("user", "Where does the staging cluster stand?")


@pytest.mark.requirement("M-50", "M-51")
async def test_the_first_word_of_a_session_opens_its_episode_and_the_next_goes_into_it(store: Store):
    mind = Mind(store)

    first = await append_turn(mind.deps, mind.place(), *HELLO)
    second = await append_turn(mind.deps, mind.place(), "assistant", "It stands in Oslo.")

    [row] = await kept_episodes(store)
    assert first.episode.id == second.episode.id == row["id"]
    assert (row["state"], row["turns"], row["session_id"]) == ("open", 2, "s1")
    assert [(turn["seq"], turn["role"], turn["origin"]) for turn in await kept_turns(store)] == [
        (1, "user", "person"),
        (2, "assistant", "model"),
    ]
    [told] = await events(store, "episode_opened")
    assert told["payload"] == {"episode": str(row["id"]), "agent": "default", "session": "s1"}


@pytest.mark.requirement("M-51")
async def test_what_is_said_after_the_end_opens_the_next_episode(store: Store):
    mind = Mind(store)
    ended = await talked(mind, HELLO)

    after = await append_turn(mind.deps, mind.place(), *HELLO)

    assert after.episode.continues == ended.id
    assert [row["state"] for row in await kept_episodes(store)] == ["closed", "open"]


@pytest.mark.requirement("M-51")
async def test_sessions_and_agents_have_episodes_of_their_own(store: Store):
    mind = Mind(store)

    made = [
        (await talk(mind, HELLO, session=session, agent=agent)).id
        for session, agent in [("s1", "a"), ("s1", "b"), ("s2", "a")]
    ]

    assert len(set(made)) == 3


@pytest.mark.requirement("M-51")
async def test_many_who_begin_at_once_begin_one_episode(store: Store):
    mind = Mind(store)

    said = await asyncio.gather(
        *(append_turn(mind.deps, mind.place(), "user", f"Line {number} of many.") for number in range(8))
    )

    assert len({each.episode.id for each in said}) == 1
    assert sorted(row["seq"] for row in await kept_turns(store)) == list(range(1, 9))
    assert len(await events(store, "episode_opened")) == 1


@pytest.mark.requirement("M-51")
async def test_our_notes_hidden_characters_and_secrets_are_never_kept(store: Store):
    mind = Mind(store)
    mark = BlockMarker(label="[notes]")
    deps = replace(mind.deps, without_blocks=lambda text: strip_blocks(text, mark))
    text = (
        "<recollection>\n[notes]\nThe vault is in Oslo.\n</recollection>\n\nMy pass\u200bword=hunter2xyz is what I use."
    )

    await append_turn(deps, mind.place(), "user", text)
    nothing = await append_turn(deps, mind.place(), "user", "<recollection>\n[notes]\nA note.\n</recollection>")

    [kept] = await kept_turns(store)
    assert "Oslo" not in kept["content"]
    assert "hunter2xyz" not in kept["content"]
    assert "\u200b" not in kept["content"]
    assert nothing.turn is None


@pytest.mark.requirement("M-51")
async def test_a_note_whose_tags_a_client_took_off_is_cut_from_what_a_person_says(store: Store):
    mind = Mind(store)
    note = known(await mind.learn("The staging cluster of the billing team stands in Oslo."))

    await append_turn(
        mind.deps,
        mind.place(),
        "user",
        "The staging cluster of the billing team stands in Oslo.\nIs that still right?",
        surfaced=[note],
    )

    [kept] = await kept_turns(store)
    assert kept["content"] == "Is that still right?"
    assert kept["surfaced"] == [note]


@pytest.mark.requirement("M-51")
async def test_a_turn_that_comes_twice_is_kept_once_and_reopens_nothing(store: Store):
    mind = Mind(store)
    same = UUID(int=7)
    first = await append_turn(mind.deps, mind.place(), *HELLO, turn_id=same)
    await close_episode(mind.deps, MAIN_SPACE, first.episode.id)

    again = await append_turn(mind.deps, mind.place(), *HELLO, turn_id=same)

    assert again.turn is None
    assert again.episode.id == first.episode.id
    assert len(await kept_episodes(store)) == len(await kept_turns(store)) == 1


@pytest.mark.requirement("M-52")
async def test_closing_twice_is_closing_once(store: Store):
    mind = Mind(store)
    episode = await talk(mind, HELLO)

    first = await close_episode(mind.deps, MAIN_SPACE, episode.id)
    mind.forward()
    second = await close_episode(mind.deps, MAIN_SPACE, episode.id, by=EpisodeCloseReason.SHUTDOWN)

    assert first == second
    [told] = await events(store, "episode_closed")
    assert told["payload"]["closed_by"] == "caller"


@pytest.mark.requirement("M-52")
async def test_a_silent_episode_is_closed_and_one_that_is_spoken_in_is_not(store: Store):
    mind = settled(Mind(store), idle_minutes=30)
    await talk(mind, HELLO, session="quiet")
    mind.forward(timedelta(minutes=29))
    await talk(mind, HELLO, session="alive")
    mind.forward(timedelta(minutes=1))

    closed = await close_stale_episodes(mind.deps, MAIN_SPACE)

    assert [(each.session_id, each.closed_by) for each in closed] == [("quiet", EpisodeCloseReason.IDLE)]
    assert await close_stale_episodes(mind.deps, MAIN_SPACE) == []


@pytest.mark.requirement("M-52")
async def test_an_episode_that_became_too_long_goes_on_as_the_next(store: Store):
    mind = settled(Mind(store), max_turns=3)

    for number in range(7):
        await talk(mind, ("user", f"Line {number} of a very long talk."))

    found = await kept_episodes(store)
    assert [(row["turns"], row["closed_by"]) for row in found] == [(3, "turns"), (3, "turns"), (1, None)]
    assert [row["continues"] for row in found[1:]] == [row["id"] for row in found[:-1]]


@pytest.mark.requirement("M-52")
async def test_a_session_that_lasts_for_days_has_an_episode_a_day(store: Store):
    mind = settled(Mind(store), max_hours=24, idle_minutes=10_000)
    for _ in range(50):
        await talk(mind, HELLO)
        mind.forward(timedelta(hours=1))
    mind.forward(timedelta(hours=24))
    await close_stale_episodes(mind.deps, MAIN_SPACE)

    assert [row["closed_by"] for row in await kept_episodes(store)] == ["hours", "hours", "hours"]


@given(turns=st.integers(0, 30), silence=st.integers(0, 200), age=st.integers(0, 5_000), most=st.integers(2, 20))
def test_an_episode_ends_for_the_first_reason_that_holds(turns: int, silence: int, age: int, most: int):
    terms = EpisodesSettings(max_turns=most, idle_minutes=60, max_hours=48)
    episode = episode_from_row(ROW | {"turns": turns})
    at = episode.opened_at + timedelta(minutes=age)
    spoken = replace(episode, last_at=at - timedelta(minutes=silence))

    ended = find_closing_reason(spoken, at=at, terms=terms)

    reasons = [
        (turns >= most, EpisodeCloseReason.TURNS),
        (silence >= 60, EpisodeCloseReason.IDLE),
        (age >= 48 * 60, EpisodeCloseReason.HOURS),
    ]
    assert ended == next((reason for holds, reason in reasons if holds), None)


@pytest.mark.requirement("M-52")
async def test_a_caller_names_an_episode(store: Store):
    mind = Mind(store)
    episode = await open_episode(mind.deps, mind.place(), title="Moving day")
    same = await open_episode(mind.deps, mind.place(), title="Another name")

    renamed = await update_episode(mind.deps, MAIN_SPACE, episode.id, summary="We moved.")

    assert (same.id, same.title) == (episode.id, "Moving day")
    assert (renamed.title, renamed.summary, renamed.summarised_by) == ("Moving day", "We moved.", "caller")
    assert renamed.version == episode.version + 1
    with pytest.raises(BadInput):
        await update_episode(mind.deps, MAIN_SPACE, episode.id)


async def test_what_cannot_be_a_turn_is_refused_with_what_to_do(store: Store):
    mind = Mind(store)

    with pytest.raises(BadInput, match="role"):
        await append_turn(mind.deps, mind.place(), "oracle", "x")
    with pytest.raises(BadInput, match="session"):
        await append_turn(mind.deps, mind.place(""), *HELLO)
    with pytest.raises(BadInput, match="characters"):
        await append_turn(mind.deps, mind.place(), "user", "a\x00b")
    with pytest.raises(NotFound):
        await close_episode(mind.deps, MAIN_SPACE, UUID(int=1))
    assert await kept_episodes(store) == []


async def test_episodes_are_listed_the_newest_first_and_told_whole(store: Store):
    mind = Mind(store)
    old = await talked(mind, HELLO, session="old")
    new = await talk(mind, *PLAN, session="new")

    listed = await load_page_of_episodes(mind.deps, MAIN_SPACE)
    closed = await load_page_of_episodes(mind.deps, MAIN_SPACE, state=EpisodeState.CLOSED)
    rest = await load_page_of_episodes(mind.deps, MAIN_SPACE, before=listed[0].seq, limit=1)
    told = await load_episode_details(mind.deps, MAIN_SPACE, new.id)

    assert [each.id for each in listed] == [new.id, old.id]
    assert [each.id for each in closed] == [each.id for each in rest] == [old.id]
    assert [turn.content for turn in told.turns] == [content for _, content in PLAN]
    assert told.as_json()["turns"][0]["role"] == "user"


@pytest.mark.requirement("M-59")
async def test_raw_words_are_kept_for_ever_unless_days_are_set(store: Store):
    mind = settled(Mind(store))
    episode = await talked(mind, HELLO)
    await run_sql(store, "update episode set facts_at = now()")
    mind.forward(timedelta(days=400))

    assert await erase_old_turn_texts(mind.deps, MAIN_SPACE) == 0
    settled(mind, keep_raw_days=365)
    assert await erase_old_turn_texts(mind.deps, MAIN_SPACE) == 1

    told = await load_episode_details(mind.deps, MAIN_SPACE, episode.id)
    assert told.turns == ()
    assert told.episode.raw_cut_at == mind.hands.now
    assert told.as_json()["episode"]["raw_cut_at"] is not None


async def test_who_speaks_is_told_by_the_door_where_it_knows_better(store: Store):
    mind = Mind(store)

    await append_turn(mind.deps, mind.place(), "user", "The page says so.", origin=Origin.DOCUMENT)

    assert [turn["origin"] for turn in await kept_turns(store)] == ["document"]
