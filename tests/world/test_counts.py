"""How often was each word met, and how do counts get into the database?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import MONDAY
from tests.jobs.deps import rows
from tests.world.worldly import Bench

from festinger.errors import StoreDown
from festinger.ids import MAIN_SPACE, Origin, SessionId, SpaceId
from festinger.store.pool import Store, Transaction
from festinger.store.queries import Query
from festinger.world.counts import EncounterBuffer, flush_all_counts
from festinger.world.edge_statements import apply_statement
from festinger.world.erase import prune_vocabulary, prune_world_data
from festinger.world.recall import split_between_words

SPACE, SESSION = SpaceId("main"), SessionId("s1")


@pytest.mark.requirement("W-25")
def test_a_text_counts_once_a_session_and_system_text_once_a_space():
    seen = EncounterBuffer()

    assert seen.admit(SPACE, SESSION, "hello", origin=Origin.PERSON)
    assert not seen.admit(SPACE, SESSION, "hello", origin=Origin.PERSON)
    assert seen.admit(SPACE, SessionId("s2"), "hello", origin=Origin.PERSON)
    assert seen.admit(SPACE, SESSION, "you are helpful", origin=Origin.SYSTEM)
    assert not seen.admit(SPACE, SessionId("s2"), "you are helpful", origin=Origin.SYSTEM)
    assert seen.admit(SpaceId("work"), SESSION, "you are helpful", origin=Origin.SYSTEM)


@pytest.mark.requirement("W-25")
async def test_a_replayed_conversation_counts_nothing(store: Store):
    bench = await Bench(store).open()
    for _ in range(3):
        for text in ("about gnommoweb", "more about gnommoweb"):
            await bench.hear(text)

    assert bench.encounters.waiting(MAIN_SPACE) == {"gnommoweb": 2}


@pytest.mark.requirement("W-26", "W-21")
async def test_a_message_adds_one_however_often_a_word_stands_in_it_and_common_words_never_count(store: Store):
    bench = await Bench(store).open()

    await bench.hear("gnommoweb gnommoweb and the update of gnommoweb " + "please " * 2000 + " gnommoweb")

    assert bench.encounters.waiting(MAIN_SPACE) == {"gnommoweb": 1}


@pytest.mark.requirement("W-22", "W-24")
async def test_the_read_threshold_is_passed_at_the_fourth_and_the_write_threshold_at_the_sixteenth_encounter(
    store: Store,
):
    bench, saliency = await Bench(store).open(), [0.0]
    for number in range(1, 17):
        await bench.hear(f"gnommoweb {number}")
        await bench.flush()
        saliency.append(bench.world().soas_by_token["gnommoweb"].saliency)

    assert saliency[1] == 0.0
    assert saliency[3] < 0.5 <= saliency[4]
    assert saliency[15] < 1.2 <= saliency[16]


@pytest.mark.requirement("W-27")
async def test_two_processes_add_up_and_each_takes_over_the_sum(store: Store):
    one, other = await Bench(store, seed=1).open(), await Bench(store, seed=2).open()
    for number in range(3):
        await one.hear(f"gnommoweb {number}")
        await other.hear(f"gnommoweb {number} elsewhere")

    await one.flush()
    await other.flush()

    (row,) = await rows(store, "select encounter_count, saliency, last_seen from soas where token = 'gnommoweb'")
    assert row["encounter_count"] == 6
    assert row["last_seen"] == MONDAY
    assert other.world().soas_by_token["gnommoweb"].encounter_count == 6
    assert other.world().soas_by_token["gnommoweb"].saliency == row["saliency"]
    assert 0.77 < row["saliency"] < 0.78


@pytest.mark.requirement("W-27")
async def test_counts_that_could_not_be_written_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch):
    bench = await Bench(store).open()
    await bench.hear("gnommoweb one")
    real = Transaction.all

    async def failing(self: Transaction, query: Query, **parameters):
        if query.name == "add_encounters":
            raise StoreDown
        return await real(self, query, **parameters)

    monkeypatch.setattr(Transaction, "all", failing)
    written = await flush_all_counts(bench.deps, bench.encounters, bench.worlds.find)
    monkeypatch.setattr(Transaction, "all", real)
    await bench.hear("gnommoweb two")
    again = await flush_all_counts(bench.deps, bench.encounters, bench.worlds.find)

    assert (written, again) == (0, 1)
    assert bench.world().soas_by_token["gnommoweb"].encounter_count == 2


@pytest.mark.requirement("W-27")
async def test_all_counts_of_a_space_go_in_one_statement(store: Store, monkeypatch: pytest.MonkeyPatch):
    bench = await Bench(store).open()
    await bench.hear(" ".join(f"name{number}xq" for number in range(300)))
    ran: list[str] = []
    real = Transaction._execute

    async def watched(self: Transaction, query: Query, parameters):
        ran.append(query.name)
        return await real(self, query, parameters)

    monkeypatch.setattr(Transaction, "_execute", watched)
    written = await bench.flush()

    assert written == 300
    assert ran == ["add_encounters"]


@pytest.mark.requirement("W-29")
async def test_words_that_hold_no_statement_are_bounded_and_those_with_edges_stay(store: Store):
    bench = await Bench(store, vocabulary_max_unconfirmed=2).open()
    await apply_statement(bench.deps, MAIN_SPACE, bench.say("gnommoweb repo"))
    for number in range(4):
        bench.hands.forward(bench.hands.now - bench.hands.now.replace(hour=bench.hands.now.hour - 1))
        await bench.hear(f"wordxq{number}")
        await bench.flush()

    gone = await prune_vocabulary(bench.deps, MAIN_SPACE)
    await prune_world_data(bench.deps, MAIN_SPACE)

    left = {row["token"] for row in await rows(store, "select token from soas")}
    assert gone == 2
    assert {"wordxq2", "wordxq3", "gnommoweb", "repo", "type"} <= left
    assert not {"wordxq0", "wordxq1"} & left
    assert not {"wordxq0", "wordxq1"} & bench.world().soas_by_token.keys()


@given(st.text(alphabet="ab \n", max_size=9000))
def test_slices_put_together_are_the_text(text: str):
    assert "".join(split_between_words(text)) == text
