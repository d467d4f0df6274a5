"""Episodes and censors in the whole house: through the library's handle, the jobs and the end of a process."""

from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.jobs.deps import drain, rows, run_sql
from tests.memory.episodes.talking import PLAN
from tests.memory.oblivion import places_of
from tests.runtime.server import Hands, fixed_tools, given, opened

import festinger
from festinger.client.memory import Memory
from festinger.errors import BadInput, NotFound
from festinger.ids import DEFAULT_AGENT, MAIN_SPACE, AgentId, Origin, Scope, SessionId
from festinger.memory.episodes.store import append_turn, load_page_of_episodes
from festinger.retrieval.index.turns import index_turns
from festinger.runtime.app import App
from festinger.runtime.memory import CLOSE_IDLE, CUT, MOST_SESSIONS, track_session
from festinger.store.cache_invalidation import load_cache_versions
from festinger.store.repositories.exchanges import ExchangeMessage, StoredExchange, session_messages, write_exchanges

HASHED = {"embedding__model": "hashed:64"}
LEARNT = "update episode set state = 'closed', closed_by = 'idle', closed_at = opened_at, facts_at = opened_at"
PLACE = Scope(space=MAIN_SPACE, agent=DEFAULT_AGENT, session=SessionId("s1"))


def handle(app: App, session: str = "s1") -> Memory:
    return Memory(space=MAIN_SPACE, agent=AgentId("default"), session=None, _app=app).for_session(session)


@pytest.mark.requirement("M-51", "M-52", "M-59")
async def test_a_program_holds_a_conversation_and_finds_it_summed_up_at_the_end(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        memory = handle(app)
        async with memory.episode("talk-1", title="Moving billing") as talk:
            for role, text in PLAN:
                await talk.say(role, text)
            begun = talk.episode
        ended = talk.episode
        listed = await memory.episodes(state="summarised")
        renamed = await memory.update_episode(ended.id, summary="We chose Postgres.")

        assert begun.state == "open"
        assert (ended.state, ended.title, ended.summarised_by) == ("summarised", "Moving billing", "extract")
        assert [each.id for each in listed] == [ended.id]
        assert renamed.summary == "We chose Postgres."
        assert isinstance(ended, festinger.Episode)
        assert ended.memory_id is None, "what is cut from a transcript is no memory"


async def test_a_conversation_that_is_used_before_it_begins_says_how(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        memory = handle(app)
        with pytest.raises(BadInput, match="not begun"):
            _ = memory.episode("x").episode
        with pytest.raises(BadInput, match="session"):
            async with Memory(space=MAIN_SPACE, agent=AgentId("a"), session=None, _app=app).episode():
                raise AssertionError("it has no session")
        with pytest.raises(BadInput, match="state"):
            await memory.episodes(state="odd")


@pytest.mark.requirement("M-52", "M-53")
async def test_silence_closes_an_episode_and_jobs_sum_it_up(database_url: str, tmp_path: Path):
    hands = Hands()
    async with opened(database_url, tmp_path, tools=fixed_tools(hands)) as app:
        place = Scope(space=MAIN_SPACE, agent=AgentId("default"), session=handle(app).session or "")  # type: ignore[arg-type]
        for role, text in PLAN:
            await append_turn(app.memory.deps, place, role, text)
        hands.forward(timedelta(minutes=31))
        await app.jobs.run_now(CLOSE_IDLE)
        await drain(app.jobs)
        [episode] = await load_page_of_episodes(app.memory.deps, MAIN_SPACE)
        waiting = await rows(
            app.store, "select scheduled_at from procrastinate_jobs where task_name = 'sum_up_episode'"
        )

    assert (episode.closed_by, episode.state, episode.summarised_by) == ("idle", "summarised", "extract")
    assert [row["scheduled_at"] for row in waiting] == [hands.now + timedelta(seconds=20)]


@pytest.mark.requirement("M-52")
async def test_a_process_that_ends_closes_the_episodes_that_it_kept(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        place = Scope(space=MAIN_SPACE, agent=AgentId("default"), session="kept")  # type: ignore[arg-type]
        other = Scope(space=MAIN_SPACE, agent=AgentId("default"), session="of another")  # type: ignore[arg-type]
        for each in (place, other):
            await append_turn(app.memory.deps, each, *PLAN[0])
        track_session(app.memory, MAIN_SPACE, "kept")
    async with opened(database_url, tmp_path) as app:
        found = await load_page_of_episodes(app.memory.deps, MAIN_SPACE)

    assert {each.session_id: each.closed_by for each in found} == {"kept": "shutdown", "of another": None}


async def test_only_so_many_sessions_are_remembered_for_the_end(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path) as app:
        for number in range(MOST_SESSIONS + 5):
            track_session(app.memory, MAIN_SPACE, f"s{number}")
        kept = list(app.memory.sessions)
        app.memory.sessions.clear()

    assert len(kept) == MOST_SESSIONS
    assert kept[-1] == (MAIN_SPACE, f"s{MOST_SESSIONS + 4}")


@pytest.mark.requirement("M-66", "M-69")
async def test_a_program_makes_asks_and_corrects_censors(database_url: str, tmp_path: Path):
    async with opened(database_url, tmp_path, memory__censor_escalation="auto") as app:
        memory = handle(app)
        made = await memory.censor(r"drop\s+table", reason="Ask first.", threshold=2)
        first = await memory.check("drop  table users")
        await memory.check("DROP TABLE users")
        await drain(app.jobs)
        app.memory.watch.forget(MAIN_SPACE)
        stopped = await memory.check("drop table again")
        trigger = first.triggered[0].trigger
        assert trigger is not None
        wrong = await memory.false_positive(trigger)
        off = await memory.update_censor(made.id, active=False)
        silent = await memory.check("drop table again")
        assert off.change is not None
        back = await memory.undo_censor(off.change)
        counted = {each.room for each in await load_cache_versions(app.store)}

    assert isinstance(made, festinger.Censor)
    assert (first.blocked, first.guidance, stopped.blocked) == (False, "Ask first.", True)
    assert wrong.counted
    assert off.censor.standing == "off"
    assert silent.triggered == ()
    assert back.censor.standing == "block"
    assert "censors" in counted


async def test_what_is_not_there_is_not_found_through_the_handle(database_url: str, tmp_path: Path):
    nobody = "018f3a5e-0000-7000-8000-000000000000"
    async with opened(database_url, tmp_path) as app:
        memory = handle(app)
        with pytest.raises(NotFound):
            await memory.update_censor(nobody, active=False)
        with pytest.raises(NotFound):
            await memory.false_positive(nobody)
        with pytest.raises(NotFound):
            await memory.update_episode(nobody, title="x")
        assert await run_sql(app.store, "delete from censor") == 0


@pytest.mark.requirement("M-59")
async def test_words_that_were_kept_long_enough_stand_nowhere_any_more(database_url: str, tmp_path: Path):
    hands = Hands()
    reply = ExchangeMessage(id=UUID(int=2), role="assistant", origin=Origin.MODEL, text="Quillwort it is.")
    exchange = StoredExchange(
        id=UUID(int=1),
        session=SessionId("s1"),
        agent=DEFAULT_AGENT,
        request="r1",
        at=hands.now,
        said=(ExchangeMessage(id=UUID(int=3), role="user", origin=Origin.PERSON, text="Plant a quillwort."),),
        reply=reply,
        tool_calls=[{"id": "1", "name": "sow", "arguments": '{"seed": "quillwort"}'}],
        thinking="They want a quillwort.",
        ended="whole",
        model="m",
        tokens_read=None,
        tokens_written=None,
        recollection=None,
    )
    async with opened(
        database_url, tmp_path, tools=fixed_tools(hands), episodes__keep_raw_days=30, embedding__model="hashed:64"
    ) as app:
        async with app.store.transaction() as transaction:
            await write_exchanges(transaction, MAIN_SPACE, [exchange])
        for words in exchange.words:
            await append_turn(app.memory.deps, PLACE, words.role, words.text, at=hands.now)
        await index_turns(app.recall.deps, MAIN_SPACE)
        await run_sql(app.store, LEARNT)
        await app.jobs.run_now(CUT)
        await drain(app.jobs)
        before = set(await places_of(app.store, "quillwort"))

        hands.forward(timedelta(days=31))
        await app.jobs.run_now(CUT)
        await drain(app.jobs)
        after = await places_of(app.store, "quillwort")
        kept = await session_messages(app.store, MAIN_SPACE, SessionId("s1"))

    assert {place.split(".")[1] for place in before} >= {"exchange", "exchange_message", "turn_index", "episode_turn"}
    assert after == []
    assert [message.id for message in kept] == [UUID(int=3), UUID(int=2)]


SMALL_TALK = (
    "The cherry blossom festival in Kawazu drew quite a crowd last weekend, with lanterns along the whole river.",
    "Yesterday's documentary on Antarctic krill trawlers was gorgeous, all fluorescent orange hulls and petrels.",
    "The vintage typewriter exhibition downtown closes tonight, somebody at the bakery mentioned it this morning.",
    "Thunderstorms rolled over the vineyards around midnight and the neighbour's accordion kept us all awake.",
    "That crossword yesterday was fiendish, seventeen across was an obscure Byzantine empress apparently.",
    "The marathon closed half of downtown, tambourines and vuvuzelas everywhere, an absolute cacophony.",
    "Grandmother's gramophone finally gave up in the middle of a Shostakovich waltz, smoke and everything.",
    "There was a peculiar zeppelin-shaped cloud over the observatory, everybody photographed it.",
)
BINDING = {3: "Never restart the broker between 11 and 14.", 6: "I am allergic to horses."}


@pytest.mark.requirement("M-55")
async def test_rules_and_preferences_are_told_before_small_talk(database_url: str, tmp_path: Path):
    async with festinger.open(given(tmp_path, model="onnx:all-minilm-l6-v2"), database=database_url) as memory:
        async with memory.episode("long") as talk:
            for number, chat in enumerate(SMALL_TALK):
                for said in (BINDING.get(number), chat):
                    if said:
                        await talk.say("user", said)
                await talk.say("assistant", f"How marvellous! {chat}")
        episode = talk.episode

    assert episode.summarised_by == "extract"
    assert all(rule in (episode.summary or "") for rule in BINDING.values())
    assert f"{episode.title}." in BINDING.values()
